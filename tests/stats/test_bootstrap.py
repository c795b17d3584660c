"""Intervals of mean scores: closed forms and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, skew
from scipy.stats import t as student

from calib import (
    InputError,
    Predictions,
    TopLabelPrediction,
    accuracy,
    bootstrap_interval,
    brier_score,
    log_loss,
    paired_difference,
    paired_interval,
)
from calib.answers.decision_curves import benefit_difference
from calib.base.interval_words import smallest_difference
from calib.evidence.clusters import Clusters
from calib.stats.bootstrap import PairedInterval, mean_limits


def model_of(n, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(n_classes), n)
    labels = (proba.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(0, n_classes - 1)
    return Predictions(proba, labels)


PLAIN = {"accuracy": accuracy, "brier": brier_score, "log_loss": log_loss}


@pytest.mark.parametrize("metric", list(PLAIN))
@pytest.mark.parametrize("top", [False, True])
def test_estimate_is_the_metric(metric, top):
    model = model_of(60, seed=1)
    scores = TopLabelPrediction(model.label, model.confidence) if top else model.proba
    interval = bootstrap_interval(model.labels, scores, metric=metric)
    assert interval.estimate == pytest.approx(PLAIN[metric](model.labels, scores), abs=1e-12)
    assert interval.lower <= interval.upper


def test_intervals_hold_errors_that_were_not_seen():
    """200 rows at 0.99, all right. 3.69 errors = -log(0.025) are not seen with a chance of 2.5 %.

    An error costs 0.99^2 - 0.01^2 = 0.98 of the Brier score, and log(0.99 / 0.01) = 4.595 of the log loss.
    """
    sure, cluster = TopLabelPrediction(np.zeros(200, int), np.full(200, 0.99)), np.arange(200) // 4
    unseen = -np.log(0.025) / 200
    for metric, right, loss in (("brier", 0.0001, 0.98), ("log_loss", -np.log(0.99), np.log(99.0))):
        interval = bootstrap_interval(np.zeros(200, int), sure, metric=metric)
        assert (interval.lower, interval.upper) == pytest.approx((right, right + unseen * loss))
        together = bootstrap_interval(np.zeros(200, int), sure, metric=metric, cluster=cluster)
        assert together.upper == pytest.approx(right + 4 * unseen * loss)  # a cluster's 4 rows at once
    accuracy = bootstrap_interval(np.zeros(200, int), sure, metric="accuracy")
    assert accuracy.lower == pytest.approx(1.0 - unseen)


def test_accuracy_interval_is_binomial():
    """80 of 100 right: the standard error is sqrt(0.8 * 0.2 / 100) = 0.04."""
    top = TopLabelPrediction(np.zeros(100, int), np.full(100, 0.8))
    y = np.repeat([0, 1], [80, 20])
    interval = bootstrap_interval(y, top, metric="accuracy")
    assert interval.lower == pytest.approx(0.8 - 1.96 * 0.04, abs=0.015)
    assert interval.upper == pytest.approx(0.8 + 1.96 * 0.04, abs=0.015)


@pytest.mark.parametrize("metric", list(PLAIN))
def test_interval_covers_the_mean(metric):
    """Everyone hears 0.9 and 70 % are right: the true accuracy, Brier score and log loss are known."""
    truth = {
        "accuracy": 0.7,
        "brier": 0.7 * 0.1**2 + 0.3 * 0.9**2,
        "log_loss": -0.7 * np.log(0.9) - 0.3 * np.log(0.1),
    }[metric]
    covered = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        y = (random.random(300) >= 0.7).astype(int)
        top = TopLabelPrediction(np.zeros(300, int), np.full(300, 0.9))
        interval = bootstrap_interval(y, top, metric=metric)
        covered += interval.lower <= truth <= interval.upper
    assert 52 <= covered <= 60


def test_paired_difference_of_a_method_with_itself_is_zero():
    model = model_of(100)
    paired = paired_interval(model.labels, model, model)
    assert paired.difference == 0.0
    assert "not distinguishable" in paired.words("A", "B")


def test_paired_is_narrower_than_the_two_apart():
    model = model_of(500, seed=3)
    warmer = model.proba**0.8 / (model.proba**0.8).sum(axis=1, keepdims=True)
    paired = paired_interval(model.labels, model, warmer, metric="brier")
    alone = bootstrap_interval(model.labels, model, metric="brier")
    assert paired.upper - paired.lower < 0.5 * (alone.upper - alone.lower)
    assert paired.estimate_b - paired.estimate_a == pytest.approx(paired.difference)
    assert paired.difference == pytest.approx(
        brier_score(model.labels, warmer) - brier_score(model.labels, model)
    )


def test_words_name_the_direction():
    paired = PairedInterval("brier", 0.05, 0.02, -0.03, -0.04, -0.02, 0.95)
    assert (
        paired.words("Base", "TL-HB") == "TL-HB is lower than Base by 0.0300 (95 % interval 0.0200 to 0.0400)"
    )


def test_errors():
    model = model_of(20)
    with pytest.raises(InputError, match="metric must be accuracy, brier, log_loss; got 'auc'"):
        bootstrap_interval(model.labels, model, metric="auc")
    with pytest.raises(InputError, match="calibration errors have error_interval and paired_difference"):
        paired_interval(model.labels, model, model, metric="ece")
    with pytest.raises(InputError, match="level"):
        bootstrap_interval(model.labels, model, level=95)


def test_ends_are_where_the_corrected_mean_reaches_the_quantiles():
    """Skewed values: T + a (T^2 / 3 + 1 / 6) + a^2 T^3 / 27 at the ends, T the studentised mean, is +-t."""
    values = np.random.default_rng(2).exponential(size=(3, 40)) ** 2
    quantile, error = student.ppf(0.95, 39), values.std(axis=1, ddof=1) / np.sqrt(40)
    for end, at in zip(mean_limits(values, 0.9), (quantile, -quantile), strict=True):
        a, t = skew(values, axis=1) / np.sqrt(40), (values.mean(axis=1) - end) / error
        assert t + a * (t**2 / 3 + 1 / 6) + a**2 * t**3 / 27 == pytest.approx(at)


def test_copies_in_clusters_have_the_interval_of_the_rows_alone():
    """Three copies of each value are worth one: mean, variance, skewness and degrees of freedom."""
    values = np.random.default_rng(2).exponential(size=(3, 40)) ** 2
    copied = mean_limits(np.repeat(values, 3, axis=1), 0.9, Clusters.of(np.repeat(np.arange(40), 3), 120))
    np.testing.assert_allclose(copied, mean_limits(values, 0.9))


def test_weights_have_the_skewness_of_the_values_and_unseen_rows_by_hand():
    """Skewness and variance are weighted; -log(alpha / 2) rows of the average weight may be unseen."""
    random = np.random.default_rng(3)
    values, weights = random.exponential(size=(2, 30)) ** 2, random.lognormal(size=30)
    share = weights / weights.sum()
    n = 1.0 / (share @ share)
    for value, *ends in zip(values, *mean_limits(values, 0.9, weights=weights), strict=True):
        mean = share @ value
        moments = [share @ (value - mean) ** power for power in (2, 3, 4)]
        found, seen = moments[0] / (share**2 @ (value - mean) ** 2), moments[0] ** 2 / moments[2]
        more = -np.log(0.05)
        rows = min(found, (seen + more / n) / (seen / found + more / n**2))
        error = np.sqrt(moments[0] / rows * (1 + 1 / (n - 1)))
        a = moments[1] / moments[0] ** 1.5 / np.sqrt(rows)
        for end, sign in zip(ends, (1, -1), strict=True):
            t = (mean - end) / error
            left = t + a * (t**2 / 3 + 1 / 6) + a**2 * t**3 / 27
            assert left == pytest.approx(sign * student.ppf(0.95, n - 1))


def test_equal_weights_change_nothing():
    values = np.random.default_rng(2).exponential(size=(3, 40)) ** 2
    np.testing.assert_array_equal(
        mean_limits(values, 0.9, weights=np.full(40, 2.0)), mean_limits(values, 0.9)
    )


def test_rows_that_differ_in_one_direction_only_do_not_show_that_no_row_differs_in_the_other():
    """2 of 60 rows are right only by b: a fair coin does that in every fourth sample.

    -log(0.025) = 3.689 rows right only by a may be unseen; squares of both parts are added.
    """
    y, a, b = np.zeros(60, int), np.tile([0.9, 0.1], (60, 1)), np.tile([0.9, 0.1], (60, 1))
    a[:2] = [0.4, 0.6]
    found = paired_interval(y, a, b, metric="accuracy")
    (low,), (high,) = mean_limits(np.append(np.ones(2), np.zeros(58))[None], 0.95)
    assert low > 0.0  # what these rows alone show
    reach = np.hypot(2 / 60 - low, -np.log(0.025) / 60)
    assert (found.lower, found.upper) == pytest.approx((2 / 60 - reach, high))
    assert found.lower < 0.0
    same = paired_interval(y, a, a**1.1 / (a**1.1).sum(axis=1, keepdims=True), metric="accuracy")
    assert (same.lower, same.upper) == (0.0, 0.0)  # no row differs


def test_symmetric_values_have_the_interval_of_student():
    values = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]])
    half = student.ppf(0.975, 4) * np.sqrt(2.5 / 5)
    assert np.concatenate(mean_limits(values, 0.95)) == pytest.approx([-half, half])


def test_intervals_of_skewed_means_hold_the_truth_on_both_sides():
    """Square of an exponential, mean 2: of 600 intervals 30 miss if each does in 5 %."""
    values = np.random.default_rng(0).exponential(size=(600, 100)) ** 2
    lower, upper = mean_limits(values, 0.95)
    assert (lower > 2.0).sum() + (upper < 2.0).sum() <= 70
    plain = values.mean(axis=1) + student.ppf(0.975, 99) * values.std(axis=1, ddof=1) / 10.0
    assert (upper < 2.0).sum() < 0.7 * (plain < 2.0).sum()


def test_one_row_says_nothing():
    interval = bootstrap_interval([0], TopLabelPrediction(np.array([0]), np.array([0.9])))
    assert (interval.lower, interval.upper) == (0.0, 2.0)


def test_the_smallest_difference_shows_in_80_of_100_samples():
    """Half-width z s of a 95 % interval: a difference of (z + z_0.8) s leaves 0 out with chance 0.8."""
    least = smallest_difference(-1.0, 3.0, 0.95)
    error = 2.0 / norm.ppf(0.975)
    assert norm.sf((2.0 - least) / error) == pytest.approx(0.8)


def test_scores_of_different_kinds_are_not_compared():
    event = np.array([0.2, 0.7, 0.9, 0.4])
    y, both = np.array([0, 1, 1, 0]), np.column_stack([1 - event, event])
    for compare in (paired_interval, paired_difference, benefit_difference):
        with pytest.raises(InputError, match="one kind"):
            compare(y, event, both)


@pytest.mark.parametrize("metric", ["accuracy", "brier", "log_loss"])
def test_vectors_are_compared_with_top_labels_by_their_top_labels(metric):
    model = model_of(60, seed=1)
    top = TopLabelPrediction(model.label, model.confidence, model.labels)
    for pair in ((model, top), (top, model)):
        assert paired_interval(*pair, metric=metric).difference == pytest.approx(0.0, abs=1e-12)
