"""Intervals of calibration errors: parts against loops and closed forms, coverage against known truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm
from scipy.stats import t as student

import calib
from benchmarks.intervals import error_coverage
from benchmarks.populations import (
    Population,
    at_error,
    biased,
    decided,
    draw_labels,
    few_scores,
    one_class,
    overconfident,
    scores,
)
from benchmarks.simulation import means
from calib import ConfidencePrediction, InputError, Predictions, ece, error_interval, reduce_to_binary
from calib.evidence.binning import bin_statistics
from calib.evidence.clusters import Clusters
from calib.evidence.rows import as_evidence
from calib.stats.frequencies import binomial_deviation
from calib.stats.intervals import ClusterSquares, SquaredGaps, jeffreys_limits, measure_interval
from tests import oracles


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_deviation_of_a_binomial_is_the_sum_over_its_values(count):
    for mean in (0.0, 0.05, 0.5, 0.61, 0.999, 1.0):
        values = np.arange(count + 1)
        expected = float(binom.pmf(values, count, mean) @ np.abs(values / count - mean))
        assert binomial_deviation(np.array([count]), np.array([mean]))[0] == pytest.approx(
            expected, abs=1e-14
        )


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0])
def test_deviation_of_a_weighted_row_whose_effective_count_is_rounded(mean):
    count = np.nextafter(1.0, 0.0)
    assert binomial_deviation(np.array([count]), np.array([mean])) == pytest.approx(2 * mean * (1 - mean))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), st.floats(0.0, 1.0))
def test_noise_adds_no_more_to_a_gap_than_the_binomial_deviation(chances, score):
    """E|Y/n - s| <= |mean chance - s| + binomial deviation at s, whatever the chances of the rows."""
    n = len(chances)
    expected = 0.0
    for outcomes in itertools.product((0, 1), repeat=n):
        weight = math.prod(p if y else 1.0 - p for p, y in zip(chances, outcomes, strict=True))
        expected += weight * abs(sum(outcomes) / n - score)
    bias = float(binomial_deviation(np.array([n]), np.array([score]))[0])
    assert expected <= abs(sum(chances) / n - score) + bias + 1e-12


@pytest.mark.parametrize("notion", oracles.NOTIONS)
def test_squared_error_is_the_mean_over_pairs_of_rows(notion):
    proba, y = oracles.random_predictions(np.random.default_rng(3), 60, 3, digits=2)
    problems = reduce_to_binary(y, proba, notion)
    table = SquaredGaps.of(problems, bin_statistics(problems, n_bins=4))
    residuals = problems.outcomes - problems.scores.astype(float)
    total, pairs_of_cells, entries = 0.0, 0.0, 0
    for cell in range(len(table.count)):
        in_cell = residuals[table.cell == cell]
        assert len(in_cell) > 1
        products = [a * b for a, b in itertools.permutations(in_cell, 2)]
        total += len(in_cell) * sum(products) / len(products)
        entries += len(in_cell)
        pairs_of_cells += len(products)
    assert pairs_of_cells > 0
    assert table.squared == pytest.approx(total / entries, abs=1e-12)


@pytest.mark.parametrize("n_claims", [1, 2, 3])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_ends_of_a_squared_error_solve_their_equations(level, n_claims):
    """Two scores, 48 of 64 rows right at 0.5 and 18 of 36 at 0.8: gaps of 1/4 and -3/10, loops over cells.

    Two claims are about both classes: each cell comes twice, with half of its share and the other sign. A
    third claim is about a class that has no probability and no row; its gap is 0.

    A squared error t has the variance B + a t + b t^2 and a third moment c + d t; its ends are where the
    estimate is as far from t as the quantile, which Cornish & Fisher correct for the skewness.
    """
    cells, n = ((64, 0.5, 48), (36, 0.8, 18)), 100
    z = norm.ppf((1.0 + level) / 2.0)
    copies = min(n_claims, 2)
    plugged = copies / n_claims * (0.64 * 0.25**2 + 0.36 * 0.3**2)
    squared = degenerate = linear = fourth = c = d = 0.0
    for count, score, right in cells:
        share, gap = count / n / n_claims, right / count - score
        residuals = [1.0 - score] * right + [-score] * (count - right)
        pairs = count * (count - 1)
        squared += copies * share * (sum(residuals) ** 2 - sum(e * e for e in residuals)) / pairs
        shrunk = (right + score) / (count + 1)  # its variance is unbiased if the chance is the score
        variance = shrunk * (1.0 - shrunk) * (count + 1) ** 2 / ((count + 1) ** 2 - count)
        # Both copies have the noise of the same row: a sum over them counts twice, its cube four times.
        degenerate += 2.0 * copies**2 * (share * variance) ** 2 / pairs
        seen = right / count * (1.0 - right / count) if copies == 2 else variance
        linear += (2.0 * copies * share * gap) ** 2 * seen / count  # the delta method
        fourth += copies * share * gap**4
        noise = share * variance / count
        c += 8.0 * copies**3 * noise**3
        d += 24.0 * copies**3 * noise**2 * share * gap**2 / plugged
    of_rows = (fourth / plugged**2 - 1.0) / n  # the rows are a sample of the scores, too
    ends = []
    for between in (0.0, 0.25, 0.5, 0.75, 1.0):  # share of the variance that lies between the rows of a cell
        left = 1.0 - between
        estimate = squared + between * (plugged - squared)

        def quantile(t, side, left=left):
            at_zero = degenerate * left**2 + (z**3 / n**2 / n_claims) ** 2
            unseen = copies * (z / n / n_claims) ** 2
            variance = at_zero + (linear / plugged * left + 4.0 * unseen) * t + of_rows * t**2
            skewness = min((c * left**3 + d * left**2 * t) / variance**1.5, 2.0)
            return (z + side * (z * z - 1.0) / 6.0 * skewness) * variance**0.5

        lower = brentq(lambda t, e=estimate, q=quantile: e - t - q(t, 1.0), 0.0, estimate)
        upper = brentq(lambda t, e=estimate, q=quantile: t - e - q(t, -1.0), estimate, 1.0)
        ends.append((lower, upper))
    scores = np.repeat([0.5, 0.8], [64, 36])
    outcomes = np.repeat([1, 0, 1, 0], [48, 16, 18, 18])
    options = {"norm": 2, "strategy": "discrete", "level": level}
    if n_claims == 1:
        found = error_interval(outcomes, ConfidencePrediction(scores), notion="confidence", **options)
    else:
        proba = np.column_stack([1.0 - scores, scores, *[np.zeros(n)] * (n_claims - 2)])
        found = error_interval(outcomes, proba, notion="class-wise", **options)
    assert (found.observed, found.estimate) == pytest.approx((plugged**0.5, squared**0.5), abs=1e-12)
    expected = min(lower for lower, _ in ends) ** 0.5, max(upper for _, upper in ends) ** 0.5
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-6)  # calib repeats four times


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "discrete"])
@given(seed=st.integers(0, 10**6), n_samples=st.integers(1, 60), n_classes=st.integers(2, 12))
def test_no_pool_has_a_single_row(strategy, seed, n_samples, n_classes):
    proba, y = oracles.random_predictions(np.random.default_rng(seed), n_samples, n_classes, digits=2)
    problems = reduce_to_binary(y, proba, "top-label")
    table = SquaredGaps.of(problems, bin_statistics(problems, strategy=strategy))
    assert table.count.sum() == n_samples
    assert (table.count > 1).all() or n_samples == 1


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("notion", oracles.NOTIONS)
@given(seed=st.integers(0, 10**6), n_samples=st.integers(1, 80), n_classes=st.integers(2, 5))
def test_interval_is_ordered_and_knows_no_order_of_rows(norm, notion, seed, n_samples, n_classes):
    generator = np.random.default_rng(seed)
    proba, y = oracles.random_predictions(generator, n_samples, n_classes, digits=1)
    result = error_interval(y, proba, notion=notion, norm=norm)
    assert 0.0 <= result.lower <= result.estimate <= result.upper <= 1.0
    order = generator.permutation(n_samples)
    again = error_interval(y[order], proba[order], notion=notion, norm=norm)
    assert (again.lower, again.upper) == pytest.approx((result.lower, result.upper), abs=1e-9)
    if norm == 1:
        assert result.observed == pytest.approx(ece(y, proba, notion=notion), abs=1e-12)
        assert result.estimate <= result.observed + 1e-12 or result.estimate == result.lower


def test_one_cell_by_hand():
    """100 rows that say 0.8, 50 of them right: gap 0.3, standard error 0.05; a little more is allowed for."""
    result = error_interval(np.repeat([0, 1], [50, 50]), np.tile([0.8, 0.2], (100, 1)), notion="confidence")
    assert result.observed == pytest.approx(0.3)
    assert result.estimate == pytest.approx(0.3, abs=1e-6)
    exact, widest = norm.ppf(0.975) * 0.05, norm.ppf(0.975) * 0.06
    assert 0.3 - widest < result.lower < 0.3 - exact
    assert 0.3 + exact < result.upper < 0.3 + widest


@pytest.mark.parametrize(
    ("proba", "pattern", "floors", "options"),
    [
        (scores(1, 1_000, 10), overconfident, 0.0, {}),
        (scores(1, 1_000, 10), one_class, 0.5, {}),
        (scores(1, 5_000, 10), overconfident, 1.6, {}),
        (scores(2, 2_000, 2), biased, 1.5, {"notion": "class-wise"}),
        (few_scores(4, 1_500, 5), biased, 1.0, {"strategy": "discrete"}),
        (scores(3, 2_000, 100), biased, 1.0, {}),
    ],
)
@pytest.mark.parametrize("norm", [1, 2])
def test_interval_holds_the_true_error(proba, pattern, floors, options, norm):
    """At least 93 % of draws, less three standard errors of 200 draws at 95 %."""
    result = means(error_coverage(at_error(proba, pattern, floors, **options), norm), 200)
    assert result["coverage (95 %)"] >= 0.93 - 3.0 * math.sqrt(0.95 * 0.05 / 200)


def test_interval_says_what_cannot_be_used():
    proba, y = oracles.random_predictions(np.random.default_rng(0), 20, 3)
    with pytest.raises(InputError, match="norm must be 1"):
        error_interval(y, proba, norm=3)
    with pytest.raises(InputError, match="level must be inside"):
        error_interval(y, proba, level=95)
    assert error_interval(y, Predictions(proba, y)).frame().shape[0] == 1


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
@pytest.mark.parametrize("n_samples", [7, 60, 900])
def test_interval_holds_the_plug_in_error_which_is_the_truth_where_rows_decide_their_labels(
    norm, notion, n_samples
):
    """If each row has one possible label, drawing labels anew changes nothing: the plug-in error is exact."""
    proba = scores(n_samples, n_samples, 4)
    labels = draw_labels(proba, np.random.default_rng(1))
    interval = error_interval(labels, proba, notion=notion, norm=norm)
    assert interval.lower - 1e-9 <= interval.observed <= interval.upper + 1e-9


@pytest.mark.parametrize("norm", [1, 2])
def test_interval_covers_where_people_mostly_agree_on_a_label(norm):
    """Chances of rows in a cell differ: 80 % of each is a class that the scores do not show."""
    proba = scores(5, 600, 5)
    population = Population(proba, decided(proba, 0.8))
    truth, generator, missed = population.error(norm), np.random.default_rng(0), 0
    for _ in range(40):
        interval = error_interval(draw_labels(population.truth, generator), proba, norm=norm)
        missed += not interval.lower <= truth <= interval.upper
    assert missed <= 5


def test_a_cell_whose_weight_is_in_a_single_row_adds_nothing_to_a_squared_error():
    """It has no pair of rows: the weight of its other row is 1e-12 of the cell's."""
    scores, outcomes = np.repeat([0.5, 0.8], 10), np.tile([1, 1, 1, 1, 0], 4)
    options = {"notion": "confidence", "norm": 2, "strategy": "discrete"}
    without = error_interval(outcomes, ConfidencePrediction(scores), sample_weight=np.ones(20), **options)
    scores, outcomes = np.append(scores, [0.2, 0.2]), np.append(outcomes, [1, 1])
    weights = np.append(np.ones(20), [1.0, 1e-12])
    with_cell = error_interval(outcomes, ConfidencePrediction(scores), sample_weight=weights, **options)
    assert with_cell.estimate == pytest.approx(without.estimate, rel=1e-9)
    assert with_cell.observed > without.observed


def test_the_upper_end_has_the_variance_of_its_own_error():
    """One cell at 0.99, p = 6 / 200 wrong: the end is x away, x^2 = z^2 (p (1 - p) + (1 - 2 p) x) / n."""
    found = error_interval(np.arange(200) >= 6, ConfidencePrediction(np.full(200, 0.99)), notion="confidence")
    p, z = (200 * 0.03 + 0.01) / 201, norm.ppf(0.975)
    reach = brentq(lambda x: x * x - z * z * (p * (1 - p) + (1 - 2 * p) * x) / 200, 1e-9, 1.0)
    assert found.observed == pytest.approx(0.02)
    assert found.upper == pytest.approx(0.02 + reach, abs=2e-4)  # the mean of |N(d, 1)| is a little above d


def test_the_upper_end_of_few_clusters_counts_each_as_a_row():
    """3 of 50 clusters of 4 rows are wrong as a whole, 0.06 of the rows: as uncertain as 3 of 50 rows."""
    y = np.repeat(np.arange(50) >= 3, 4)
    found = error_interval(y, ConfidencePrediction(np.full(200, 0.99)), cluster=np.repeat(np.arange(50), 4))
    t = student.ppf(0.975, 49)
    alone = brentq(lambda x: x * x - t * t * (0.06 + x) * (0.94 - x) / 50, 1e-9, 0.4)
    assert found.upper == pytest.approx(0.05 + alone, abs=0.01)


def test_few_clusters_widen_the_interval_of_the_accuracy_by_hand():
    """Five clusters of four rows each, all right: five outcomes, made fewer by (z / t)^2.

    z = 1.95996 and t = 2.77645, with 4 degrees of freedom, leave 5 * 0.49833 = 2.49166 outcomes. Clopper &
    Pearson's lower end of n of n is (alpha / 2)^(1 / n) = 0.025^(1 / 2.49166) = 0.22753.
    """
    cluster, proba = np.repeat(np.arange(5), 4), np.tile([0.9, 0.1], (20, 1))
    found = measure_interval(as_evidence(np.zeros(20, int), proba, None, cluster), "accuracy")
    assert found == pytest.approx((0.22753, 1.0), abs=1e-5)


def test_one_light_wrong_row_does_not_show_that_wrong_rows_are_light():
    """99 rows of weight 1 are right, one of weight 0.1 is wrong: p = 0.1 / 99.1.

    Its variance alone would be worth p / variance > 900 rows. -log(0.025) = 3.689 rows of the average share,
    1 / n for n = 99.1^2 / 99.01 rows, count as seen, with the variance that their weights have.
    """
    weights, p = np.append(np.ones(99), 0.1), 0.1 / 99.1
    labels = np.append(np.zeros(99, int), 1)
    variance = (99 * p**2 + (0.1 * (1 - p)) ** 2) / 99.1**2
    found, n = p * (1 - p) / variance, 99.1**2 / 99.01
    assert found > 900
    rows = (p + 3.68888 / n) / (p / found + 3.68888 / n**2)
    evidence = as_evidence(labels, np.tile([0.9, 0.1], (100, 1)), weights)
    upper = beta.ppf(0.975, p * rows + 1, (1 - p) * rows)
    assert measure_interval(evidence, "accuracy")[0] == pytest.approx(1 - upper, abs=1e-6)
    assert upper > 0.03  # 900 rows would give 0.005
    event = calib.observed_expected(labels, np.full(100, 0.02), sample_weight=weights)
    assert event.upper == pytest.approx(beta.ppf(0.975, p * n + 1, (1 - p) * n) / 0.02)  # rows > n


def test_clusters_that_are_all_right_are_no_proof_of_a_squared_error():
    """30 right rows at 0.9 have no spread between clusters, but a calibrated model shows them in 4 %."""
    found = error_interval(
        np.ones(30, int), ConfidencePrediction(np.full(30, 0.9)), norm=2, cluster=np.arange(30) // 3
    )
    assert found.observed == pytest.approx(0.1)
    assert found.lower == 0.0
    assert found.upper > 0.1


def test_squared_error_of_clusters_by_hand():
    """Two cells of 2 and 3 clusters of one size: pairs of different clusters, n / (n - 1) for each mean."""
    score, cluster = np.repeat([0.4, 0.9], [4, 6]), np.repeat(np.arange(5), 2)
    y = np.array([1, 1, 0, 1, 1, 1, 1, 0, 0, 1])
    problems = reduce_to_binary(y, ConfidencePrediction(score))
    cells = bin_statistics(problems, n_bins=2)
    table = ClusterSquares.of(problems, cells, Clusters.of(cluster, 10))
    sums = [[1.2, 0.2], [0.2, -0.8, -0.8]]
    squared, variance = 0.0, 0.0
    for own, share in zip(sums, (0.4, 0.6), strict=True):
        n, pairs = len(own), list(itertools.permutations(range(len(own)), 2))
        squared += share * sum(own[g] * own[h] for g, h in pairs) / (4 * len(pairs))
        away = np.sqrt(n / (n - 1)) * (np.array(own) - np.mean(own))
        variance += sum(2 * (share * away[g] * away[h] / (4 * len(pairs))) ** 2 for g, h in pairs)
    assert table.squared == pytest.approx(squared)
    assert table.covariance(table) == pytest.approx(variance)


def test_jeffreys_limits_are_quantiles_of_a_beta_distribution():
    """At 0 of 10 and 10 of 10 an end is 0 or 1 (Brown, Cai & DasGupta 2001, section 4.1.1)."""
    right, count = np.array([3.0, 0.0, 10.0, 0.0]), np.array([10.0, 10.0, 10.0, 0.0])
    low, high = jeffreys_limits(right, count, 0.1)
    expected = beta(3.5, 7.5).ppf([0.05, 0.95]), [0.0, beta(0.5, 10.5).ppf(0.95)]
    np.testing.assert_allclose(np.column_stack([low, high])[:2], expected, rtol=1e-12)
    np.testing.assert_allclose([low[2], high[2]], [beta(10.5, 0.5).ppf(0.05), 1.0], rtol=1e-12)
    assert (low[3], high[3]) == (0.0, 1.0)
