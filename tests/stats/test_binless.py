"""Tests of calibration without bins: statistics against loops, tails against simulation, sizes and power."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from benchmarks import sizes
from benchmarks.simulation import means
from calib import (
    ConfidencePrediction,
    InputError,
    Predictions,
    TopLabelPrediction,
    calibration_slope,
    calibration_test,
    reduce_to_binary,
)
from calib.evidence.rows import as_evidence
from calib.stats import binless
from calib.stats.binless import (
    REJECTED,
    calibration_frame,
    calibration_tests,
    combined_test,
    largest_tail,
    range_tail,
)
from tests.populations import population


def binary(scores, outcomes):
    """Labels and predictions of one class whose event has these outcomes."""
    return np.where(outcomes, 0, 1), TopLabelPrediction(np.zeros(len(scores), int), np.asarray(scores, float))


def test_statistics_by_hand():
    """Scores 0.2, 0.5, 0.5, 0.8 with outcomes 1, 0, 1, 0: differences 0.8, (-0.5 + 0.5), -0.8.

    Sums at the ends of groups are 0.8, 0.8, 0; the spread is sqrt(0.16 + 0.25 + 0.25 + 0.16) = sqrt(0.82).
    z: (0.8 * 0.6 - 0.8 * -0.6) / sqrt(2 * 0.16 * 0.36) = 0.96 / 0.33941.
    """
    y, top = binary([0.2, 0.5, 0.5, 0.8], [1, 0, 1, 0])
    found = {test: calibration_test(y, top, test=test) for test in ("kuiper", "ks", "spiegelhalter")}
    assert found["kuiper"].statistic == pytest.approx(0.8 / np.sqrt(0.82))
    assert found["ks"].statistic == pytest.approx(0.8 / np.sqrt(0.82))
    assert found["spiegelhalter"].statistic == pytest.approx(2.828427, abs=1e-6)
    # All 16 outcomes by hand: chance of a range (from 0 on) of at least 0.8.
    chance = 0.0
    for outcomes in itertools.product((0, 1), repeat=4):
        weight = np.prod([s if o else 1 - s for s, o in zip((0.2, 0.5, 0.5, 0.8), outcomes, strict=True)])
        path = np.cumsum([outcomes[0] - 0.2, outcomes[1] + outcomes[2] - 1.0, outcomes[3] - 0.8])
        chance += weight * (max(path.max(), 0) - min(path.min(), 0) >= 0.8 - 1e-9)
    assert calibration_test(y, top, n_resamples=20_000).p_value == pytest.approx(chance, abs=0.012)


def test_cumulative_sums_run_through_one_class_after_the_other():
    proba, y = population(300, 3)
    label, confidence = proba.argmax(axis=1), proba.max(axis=1)
    path = [0.0]
    for row in sorted(range(300), key=lambda row: (label[row], confidence[row])):
        path.append(path[-1] + (y[row] == label[row]) - confidence[row])
    spread = np.sqrt(np.sum(confidence * (1 - confidence)))
    assert calibration_test(y, proba).statistic == pytest.approx((max(path) - min(path)) / spread)
    largest = calibration_test(y, proba, test="ks", n_resamples=0)
    assert largest.statistic == pytest.approx(max(map(abs, path)) / spread)
    assert largest.n_resamples == 0
    ready = reduce_to_binary(y, proba, "top-label")
    assert calibration_test(ready).p_value == calibration_test(y, proba).p_value


@pytest.mark.parametrize("tail", [largest_tail, range_tail])
def test_both_series_of_a_tail_agree_where_they_meet(tail):
    at = 1.5 if tail is largest_tail else 2.0
    assert tail(at - 1e-9) == pytest.approx(tail(at), abs=1e-8)
    assert tail(0.0) == 1.0
    assert tail(0.2) == pytest.approx(1.0)
    assert tail(10.0) == pytest.approx(0.0, abs=1e-12)


def test_tails_are_those_of_random_walks():
    """4,000 walks of 2,000 steps: chances to about 0.02, as the walk is a little lower than the motion."""
    steps = np.random.default_rng(0).choice([-1.0, 1.0], (2000, 4000)) / np.sqrt(2000)
    path = np.cumsum(steps, axis=0)
    largest = np.abs(path).max(axis=0)
    spread = np.maximum(path.max(axis=0), 0) - np.minimum(path.min(axis=0), 0)
    for x in (0.8, 1.3, 2.0):
        assert np.mean(largest > x) == pytest.approx(largest_tail(x), abs=0.03)
    for x in (1.2, 1.8, 2.5):
        assert np.mean(spread > x) == pytest.approx(range_tail(x), abs=0.03)


def test_kernel_estimate_is_the_mean_over_pairs():
    """Widmann et al. (2019), their unbiased estimator, by loops; the width is the median distance."""
    proba, y = population(60, 3)
    distance = np.linalg.norm(proba[:, None] - proba[None], axis=2)
    width = np.median(distance[np.triu_indices(60, 1)])
    residual = np.eye(3)[y] - proba
    pairs = [
        np.exp(-distance[i, j] / width) * (residual[i] @ residual[j])
        for i, j in itertools.permutations(range(60), 2)
    ]
    found = calibration_test(y, proba, test="skce")
    assert found.statistic == pytest.approx(np.mean(pairs), abs=1e-12)
    assert (found.notion, found.n_resamples) == ("canonical", 199)


@pytest.mark.parametrize("n_classes", [2, 40, 900])
def test_pairs_of_equal_labels_are_summed(n_classes):
    """Of labels that are frequent, rare, or both, in single precision."""
    random = np.random.default_rng(n_classes)
    kernel = random.random((120, 120))
    kernel += kernel.T
    drawn = np.where(random.random((120, 7)) < 0.3, 1, random.integers(0, n_classes, (120, 7)))
    pairs = [
        sum(kernel[i, j] for i, j in itertools.combinations(range(120), 2) if column[i] == column[j])
        for column in drawn.T
    ]
    assert binless._alike(kernel, drawn) == pytest.approx(pairs, rel=1e-6)


def test_sums_of_redrawn_labels_are_those_of_their_pairs():
    """Blocks are redrawn in single precision; the labels given are summed in double precision."""
    proba, y = population(30, 3)
    proba, y = np.tile(proba, (2, 1)), np.tile(y, 2)  # of rows that are equal, the distance is 1e-8
    sure = np.eye(3)[proba.argmax(axis=1)]  # whose redrawn labels are known
    for rows, labels in ((proba, y), (sure, sure.argmax(axis=1))):
        distance = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        kernel = np.exp(-distance / 0.5) * (1.0 - np.eye(60))
        residual = np.eye(3)[labels] - rows
        sums = binless._kernel_sums(rows, labels, 0.5, 5, np.random.default_rng(0))
        assert sums[0] == pytest.approx(np.sum(kernel * (residual @ residual.T)), abs=1e-6)
        assert sums[-1] == pytest.approx(np.sum(kernel * (labels[:, None] == labels)), rel=1e-8)
        if rows is sure:
            assert sums[1:-1] == pytest.approx(np.zeros(5), abs=1e-3)


@pytest.mark.parametrize("scores", ["sure", "five values"])
def test_redrawn_p_values_reject_as_often_as_they_say(scores):
    """200 draws of 100 rows: 5 % has a standard error of 1.5 %; equal scores may make p too large."""
    rates = means(sizes.binless(scores, 100, "redraws", n_resamples=99), 200)
    for test in ("Kuiper", "KS", "Spiegelhalter"):
        assert 0.01 <= rates[f"{test} (5 %)"] <= 0.09
    assert rates["slope (5 %)"] <= 0.1
    assert rates["intercept (5 %)"] <= 0.1


def test_kernel_test_rejects_as_often_as_it_says():
    """200 draws: 5 % has a standard error of 1.5 %."""
    (calibrated,) = means(sizes.kernel(100, 3, "", 1.0, n_resamples=99), 200).values()
    assert 0.01 <= calibrated <= 0.1
    (flatter,) = means(sizes.kernel(300, 3, "", 0.4, n_resamples=99), 30).values()
    assert flatter > 0.6


def test_overconfidence_is_found():
    proba, y = population(1500, 4)
    sharper = proba**2 / (proba**2).sum(axis=1, keepdims=True)
    for test in ("kuiper", "ks", "spiegelhalter", "skce"):
        found = calibration_test(y, sharper, test=test)
        assert found.p_value == pytest.approx(1 / (1 + found.n_resamples))
        assert REJECTED in found.words
    line = calibration_slope(y, sharper)
    assert line.slope_upper < 1.0
    assert line.p_value < 1e-6


def test_slope_is_that_of_logistic_regression():
    proba, y = population(2000, 5)
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == y
    log_odds = np.log(confidence / (1 - confidence))
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds[:, None], right)
    line = calibration_slope(y, proba)
    assert line.slope == pytest.approx(peer.coef_[0, 0], abs=1e-4)
    assert line.intercept == pytest.approx(peer.intercept_[0], abs=1e-4)
    assert line.determined
    # In the large: the intercept at which the chances sum to the outcomes.
    chances = 1 / (1 + np.exp(-(log_odds + line.in_the_large)))
    assert chances.sum() == pytest.approx(right.sum())
    chance = 1 / (1 + np.exp(-(line.intercept + line.slope * log_odds)))
    design = np.column_stack([np.ones(2000), log_odds])
    error = np.sqrt(np.linalg.inv((design * (chance * (1 - chance))[:, None]).T @ design)[1, 1])
    assert line.slope_upper - line.slope == pytest.approx(1.959964 * error, rel=1e-5)
    assert calibration_slope(y, proba, notion="top-label").slope == pytest.approx(line.slope)


def test_a_last_step_that_changes_only_rounding_converges():
    """In draw 326 of this population the last step raised the sum of the losses by its rounding."""
    random = np.random.default_rng(5)
    for _ in range(327):
        off, score = random.normal(0, 0.1, 6), random.beta(1, 4, (6, 1_000))
        happened = random.random((6, 1_000)) < expit(logit(score) + off[:, None])
    assert calibration_slope(happened[2].astype(int), score[2]).determined


@pytest.mark.parametrize(
    ("scores", "outcomes"), [([0.2, 0.3, 0.8, 0.9], [0, 0, 1, 1]), ([0.7] * 5, [1, 1, 0, 1, 0])]
)
def test_lines_that_data_do_not_determine_have_no_bounds(scores, outcomes):
    line = calibration_slope(*binary(scores, np.array(outcomes, bool)))
    assert not line.determined
    assert line.slope_upper == np.inf
    assert "cannot be estimated" in line.words


def test_scores_of_0_and_1_leave_no_noise():
    right = calibration_test(*binary([0.0, 1.0, 1.0], np.array([False, True, True])))
    wrong = calibration_test(*binary([0.0, 1.0, 1.0], np.array([True, True, True])))
    assert (right.statistic, right.p_value) == (0.0, 1.0)
    assert wrong.statistic == np.inf
    assert wrong.p_value == pytest.approx(1 / 1000)


def test_many_distinct_scores_take_the_limit():
    random = np.random.default_rng(0)
    scores = random.random(25_000)
    y, top = binary(scores, random.random(25_000) < scores)
    found = calibration_test(y, top)
    assert found.n_resamples == 0
    assert found.p_value == pytest.approx(calibration_test(y, top, n_resamples=300).p_value, abs=0.1)
    z = calibration_test(y, top, test="spiegelhalter")
    assert z.p_value == pytest.approx(2 * stats.norm.sf(abs(z.statistic)))


def test_the_rows_that_are_compared_are_enough(monkeypatch):
    monkeypatch.setattr(binless, "MOST_KERNEL_ROWS", 200)
    proba, y = population(500, 3)
    few = binless.compared_rows(as_evidence(y, proba))
    assert [len(item) for item in few] == [200, 200]
    assert binless.kernel_test(*few, 500) == calibration_test(y, proba, test="skce")
    assert binless.compared_rows(as_evidence(y, proba, np.arange(1.0, 501.0))) is None
    tops = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
    assert binless.compared_rows(as_evidence(y, tops)) is None


def test_all_tests_at_once():
    proba, y = population(200, 3)
    found = calibration_tests(y, Predictions(proba))
    assert [item.test for item in found] == ["kuiper", "ks", "spiegelhalter", "skce"]
    assert [item.test for item in calibration_tests(y, 0.9 * proba)] == ["kuiper", "ks", "spiegelhalter"]
    top = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
    assert len(calibration_tests(y, top)) == 3
    assert calibration_frame(found)["p"].between(0, 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "cox"}, "test must be "),
        ({"notion": "class-wise"}, "notion must be "),
        ({"n_resamples": -1}, "n_resamples must be a whole number"),
        ({"test": "skce", "n_resamples": 0}, "n_resamples must be at least 1"),
    ],
)
def test_errors(options, message):
    proba, y = population(50, 3)
    with pytest.raises(InputError, match=message):
        calibration_test(y, proba, **options)
    with pytest.raises(InputError, match="each with sum 1"):
        calibration_test(y, 0.5 * proba, test="skce")
    with pytest.raises(InputError, match="one claim per row"):
        calibration_test(reduce_to_binary(y, proba, "class-wise"))


def test_rounded_scores_of_0_and_1_have_no_log_odds():
    """Scores of two decimals: the rows of 0.00 and 1.00 are left out, and the slope stays 1."""
    random = np.random.default_rng(0)
    chance = 1.0 - random.beta(0.4, 3.0, 20_000)
    y = random.random(20_000) < chance
    exact, rounded, single = (
        calibration_slope(y, ConfidencePrediction(score))
        for score in (chance, np.round(chance, 2), np.round(chance, 2).astype(np.float32))
    )
    assert (exact.n_left_out, single.n_left_out) == (0, rounded.n_left_out)
    assert rounded.n_left_out == ((chance < 0.005) | (chance > 0.995)).sum()
    for line in (exact, rounded, single):
        assert line.slope_lower < 1.0 < line.slope_upper
        assert line.p_value > 0.01


def test_one_answer_of_several_tests_keeps_the_level():
    """7 tests that depend on each other with correlation 0.5: 5 % of 4,000, standard error 0.3 %."""
    random = np.random.default_rng(0)
    z = np.sqrt(0.5) * (random.standard_normal((4_000, 1)) + random.standard_normal((4_000, 7)))
    chances = 2.0 * stats.norm.sf(np.abs(z))
    assert np.mean([combined_test(item).p_value <= 0.05 for item in chances]) <= 0.07
    assert np.mean((chances <= 0.05).any(axis=1)) >= 0.15
    assert combined_test([0.03]).p_value == pytest.approx(0.03)
    assert combined_test([1e-6, 1.0, 1.0, 1.0]).verdict == REJECTED
    assert "too few clusters" in combined_test([1e-6], "too few clusters").verdict


def test_a_row_that_counts_twice_in_its_cluster_is_two_rows_there():
    """The slope and its interval, which clusters widen: outcomes of a cluster depend on each other."""
    random = np.random.default_rng(8)
    cluster = np.repeat(np.arange(80), 25)
    score = random.uniform(0.05, 0.95, len(cluster))
    outcome = random.random(len(cluster)) < expit(logit(score) + np.repeat(random.normal(size=80), 25))
    times = random.integers(1, 3, len(cluster))
    weighted = binless.calibration_slope(outcome, score, sample_weight=times, cluster=cluster)
    rows = np.repeat(np.arange(len(cluster)), times)
    repeated = binless.calibration_slope(outcome[rows], score[rows], cluster=cluster[rows])
    assert (weighted.slope, weighted.in_the_large) == pytest.approx((repeated.slope, repeated.in_the_large))
    for end in ("lower", "upper"):
        one, other = (getattr(each, f"slope_{end}") for each in (weighted, repeated))
        assert one == pytest.approx(other, rel=0.02)  # by how many clusters they count for
