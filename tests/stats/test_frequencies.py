"""Intervals, p-values and expected gaps of frequencies, beside SciPy and the binomial distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from calib.stats.frequencies import binomial_deviation, chance_of_gap, wilson_interval


@pytest.mark.parametrize(("right", "count"), [(0, 5), (3, 3), (7, 20), (250, 400)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_interval_is_wilsons(right, count, level):
    expected = binomtest(right, count).proportion_ci(level, method="wilson")
    found = wilson_interval(np.array([right / count]), np.array([count]), level=level)
    assert (found[0][0], found[1][0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("right", "count", "score"), [(0, 5, 0.5), (3, 3, 0.4), (7, 20, 0.6), (2, 4, 0.5)])
def test_p_value_is_twice_the_smaller_tail(right, count, score):
    tails = [binomtest(right, count, score, alternative=side).pvalue for side in ("less", "greater")]
    found = chance_of_gap(*(np.array([item]) for item in (right / count, float(count), score)))
    assert found[0] == pytest.approx(min(1.0, 2 * min(tails)))


@pytest.mark.parametrize(
    ("score", "count"), [(0.0, 5), (0.3, 1), (0.5, 4), (0.93, 17), (1.0, 6), (0.61, 400)]
)
def test_gap_of_a_perfect_cell_is_the_mean_of_the_binomial(score, count):
    hits = np.arange(count + 1)
    expected = binom.pmf(hits, count, score) @ np.abs(hits / count - score)
    assert binomial_deviation(np.array([count]), np.array([score]))[0] == pytest.approx(expected, abs=1e-12)
