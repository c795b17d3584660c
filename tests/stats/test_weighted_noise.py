"""Weights in floors, intervals, differences and tests: against literal sums and redraws."""

import math

import numpy as np
import pytest

import calib
from calib import InputError, TopLabelPrediction, reduce_to_binary
from calib.stats import canonical_ece, canonical_noise_floor
from calib.stats.binless import calibration_tests
from calib.stats.intervals import SquaredGaps, outcome_limits
from tests.populations import drawn

N, L = 240, 3
RANDOM = np.random.default_rng(3)
PROBA = RANDOM.dirichlet(np.full(L, 0.8), N)
Y = drawn(PROBA, RANDOM)
WEIGHTS = np.where(RANDOM.random(N) < 0.2, 0.0, RANDOM.exponential(size=N))


@pytest.mark.parametrize("many", [False, True])
def test_floor_is_that_of_rows_redrawn_one_by_one(many):
    """300 rows are drawn entry by entry; the one cell of 20,000 rows by its normal limit."""
    random = np.random.default_rng(5)
    n, n_bins = (20_000, 1) if many else (300, 4)
    score, weights = random.uniform(0.5, 1.0, n), random.exponential(size=n)
    top = TopLabelPrediction(np.zeros(n, int), score)
    y = (random.random(n) > score).astype(int)
    options = {"n_bins": n_bins, "notion": "confidence", "sample_weight": weights}
    floor = calib.noise_floor(y, top, n_resamples=400, random_state=0, **options)
    redrawn = [calib.ece((random.random(n) > score).astype(int), top, **options) for _ in range(200)]
    error = np.std(redrawn) * math.sqrt(1 / 200 + 1 / 400)
    assert abs(floor.mean - np.mean(redrawn)) < 4 * error
    assert floor.quantile(0.9) == pytest.approx(np.quantile(redrawn, 0.9), rel=0.2)
    assert floor.observed == calib.ece(y, top, **options)


def test_class_wise_floor_draws_one_class_per_row_with_its_weight():
    random = np.random.default_rng(6)
    options = {"notion": "class-wise", "n_bins": 4, "sample_weight": WEIGHTS}
    floor = calib.noise_floor(Y, PROBA, n_resamples=300, random_state=0, **options)
    redrawn = [calib.ece(drawn(PROBA, random), PROBA, **options) for _ in range(150)]
    assert abs(floor.mean - np.mean(redrawn)) < 4 * np.std(redrawn) * math.sqrt(1 / 150 + 1 / 300)
    cells = np.arange(N) % 3
    floor = canonical_noise_floor(Y, PROBA, cells, n_resamples=300, random_state=0, sample_weight=WEIGHTS)
    redrawn = [canonical_ece(drawn(PROBA, random), PROBA, cells, sample_weight=WEIGHTS) for _ in range(150)]
    assert abs(floor.mean - np.mean(redrawn)) < 4 * np.std(redrawn) * math.sqrt(1 / 150 + 1 / 300)


def test_squared_error_is_the_mean_over_pairs_of_different_rows():
    """The sum over i != j of w_i w_j r_i r_j, over the sum of w_i w_j, cell by cell, by the cell's share."""
    problems = reduce_to_binary(Y, PROBA, "confidence", sample_weight=WEIGHTS)
    cells = calib.bin_statistics(problems, n_bins=3)
    table, total = SquaredGaps.of(problems, cells), 0.0
    for cell in range(len(cells.count)):
        rows = slice(cells.start[cell], cells.stop[cell])
        w, r = problems.weights[rows], problems.outcomes[rows] - problems.scores[rows]
        pairs = [(i, j) for i in range(len(w)) for j in range(len(w)) if i != j]
        square = math.fsum(w[i] * w[j] * r[i] * r[j] for i, j in pairs)
        total += w.sum() / N * square / math.fsum(w[i] * w[j] for i, j in pairs)
    assert table.squared == pytest.approx(total * N / problems.n_samples, abs=1e-13)


def test_statistics_of_tests_without_bins_are_weighted_sums():
    kept = WEIGHTS > 0
    score, right = PROBA.max(axis=1)[kept], (PROBA.argmax(axis=1) == Y)[kept]
    weights = WEIGHTS[kept] / WEIGHTS[kept].mean()
    above = (weights * (right - score) * (1 - 2 * score)).sum()
    spread = math.sqrt((weights**2 * score * (1 - score) * (1 - 2 * score) ** 2).sum())
    options = {"notion": "confidence", "sample_weight": WEIGHTS}
    z = calib.calibration_test(Y, PROBA, test="spiegelhalter", **options)
    assert z.statistic == pytest.approx(above / spread)
    order = np.argsort(score)
    path = np.append(0.0, np.cumsum((weights * (right - score))[order]))
    spread = math.sqrt((weights**2 * score * (1 - score)).sum())
    found = calib.calibration_test(Y, PROBA, test="kuiper", **options)
    assert found.statistic == pytest.approx((path.max() - path.min()) / spread)


def test_weighted_tests_reject_calibrated_models_as_rarely_as_they_say():
    random, below = np.random.default_rng(8), {"kuiper": 0, "spiegelhalter": 0}
    weights = np.where(np.arange(N) % 10 == 0, 12.0, 1.0)
    for _ in range(120):
        y = drawn(PROBA, random)
        for test in below:
            options = {"test": test, "n_resamples": 99, "random_state": random, "sample_weight": weights}
            below[test] += calib.calibration_test(y, PROBA, notion="confidence", **options).p_value <= 0.1
    assert all(3 <= count <= 24 for count in below.values())  # 12 expected, standard deviation 3.3


def test_limits_of_a_weighted_cell_are_those_of_hoeffding():
    problems = reduce_to_binary(Y, PROBA, "confidence", sample_weight=WEIGHTS)
    cells = calib.bin_statistics(problems, n_bins=1)
    low, high = outcome_limits(cells, 0.05)
    reach = math.sqrt(math.log(40) * (WEIGHTS**2).sum() / (2 * WEIGHTS.sum() ** 2))
    assert (high - cells.mean_outcome)[0] == pytest.approx(reach)
    assert (cells.mean_outcome - low)[0] == pytest.approx(reach)


def test_line_in_log_odds_is_that_of_repeated_rows_and_varies_as_weighted_sums_do():
    """Weights of 1, 2, 3: the line of repeated rows, the intervals of weighted sums, not of more rows."""
    random = np.random.default_rng(8)
    score = random.uniform(0.5, 0.99, 400)
    top = TopLabelPrediction(np.zeros(400, int), score)
    y, weights = (random.random(400) > score).astype(int), random.integers(1, 4, 400)
    line = calib.calibration_slope(y, top, sample_weight=weights)
    again = np.repeat(np.arange(400), weights)
    repeated = calib.calibration_slope(y[again], TopLabelPrediction(np.zeros(len(again), int), score[again]))
    for name in ("slope", "intercept", "in_the_large"):
        assert getattr(line, name) == pytest.approx(getattr(repeated, name), abs=1e-6)
    log_odds = np.log(score / (1 - score))
    design = np.column_stack([np.ones(400), log_odds])
    chance = 1 / (1 + np.exp(-(line.intercept + line.slope * log_odds)))
    rows = list(zip(weights, design, chance, strict=True))
    information = sum(w * c * (1 - c) * np.outer(x, x) for w, x, c in rows)
    of_sums = sum(w**2 * c * (1 - c) * np.outer(x, x) for w, x, c in rows)
    covariance = np.linalg.inv(information) @ of_sums @ np.linalg.inv(information)
    assert line.slope_upper - line.slope == pytest.approx(1.959964 * covariance[1, 1] ** 0.5, rel=1e-5)
    away = (weights * ((y == 0) - score)) @ design
    spread = np.linalg.inv((design * (weights**2 * score * (1 - score))[:, None]).T @ design)
    assert line.p_value == pytest.approx(math.exp(-away @ spread @ away / 2), rel=1e-6)


def test_what_has_no_weights_says_so():
    problems = reduce_to_binary(Y, PROBA, "confidence", sample_weight=WEIGHTS)
    with pytest.raises(InputError, match="consistency_band takes weights"):
        calib.calibration_band(problems)
    with pytest.raises(InputError, match='"kuiper", "ks" and "spiegelhalter" can'):
        calib.calibration_test(Y, PROBA, test="skce", sample_weight=WEIGHTS)
    assert "skce" not in {item.test for item in calibration_tests(Y, PROBA, sample_weight=WEIGHTS)}
