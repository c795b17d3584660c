"""Rows that are right or wrong together: how often the test says so, if it is true and if it is not."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from calib.data.likeness import Residuals
from calib.evidence.clusters import Dependence

#: 1,500 rows of 5 predicted classes; group i of 30 has scores and classes of its own.
CLUSTER = np.repeat(np.arange(30), 50)


def p_value(random: np.random.Generator, correlation: float) -> float:
    """Test rows of a model that is far too sure of itself, and most of one class."""
    predicted = (CLUSTER // 10 + random.integers(0, 3, len(CLUSTER))) % 5
    score = 0.5 + 0.5 * random.random(len(CLUSTER)) ** (1 + CLUSTER % 3)
    chance = np.where(predicted == 3, 0.4, 0.6) * score
    outcome = Dependence(CLUSTER, correlation).uniform(random) < chance
    return Residuals.of(score, outcome, predicted).together(CLUSTER)


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_independent_rows_of_a_bad_model_are_rarely_alike(level):
    random = np.random.default_rng(0)
    said = sum(p_value(random, 0.0) < level for _ in range(400))
    assert said <= stats.binom.ppf(0.9999, 400, level)
    assert said >= stats.binom.ppf(0.0001, 400, level)


def test_dependent_rows_are_alike():
    random = np.random.default_rng(1)
    assert max(p_value(random, 0.3) for _ in range(20)) < 1e-3


def test_products_of_a_stratum_have_mean_zero():
    """Three of six rows came true: over 1,500 random orders the statistic is 0 on average."""
    random, cluster = np.random.default_rng(2), np.array([0, 0, 1, 1, 1, 2])
    outcomes = np.array([1, 1, 1, 0, 0, 0])
    found = [
        Residuals.of(np.full(6, 0.5), random.permutation(outcomes)).products(cluster) for _ in range(1_500)
    ]
    assert np.mean(found) == pytest.approx(0.0, abs=5 * np.std(found) / np.sqrt(1_500))


def test_p_value_is_of_a_gamma_distribution_with_the_moments_of_the_statistic():
    """Loops over pairs and triples of rows of a cluster; a row weighs 1 / sqrt(size of its cluster).

    Independent residuals have the moments m2 and m3 of the nine rows. The statistic's variance is then the
    sum of w^4 m2^2 over pairs. Its third moment is the sum of w^6 m3^2 over pairs, and six times the sum of
    w^6 m2^3 over triples. The sample's own mean gives two residuals the mean product -m2 / 8.
    """
    cluster, outcomes = [0, 0, 0, 0, 1, 1, 1, 2, 2], [1, 1, 1, 1, 0, 0, 1, 1, 0]
    value = np.array(outcomes) - 6 / 9
    m2, m3 = np.mean(value**2), np.mean(value**3)
    assert (m2, m3) == pytest.approx((2 / 9, -2 / 27))  # 6 of 1/9 and 3 of 4/9; 6 of 1/27 and 3 of -8/27
    statistic = variance = third = 0.0
    for size, rows in ((4, range(4)), (3, range(4, 7)), (2, range(7, 9))):
        for a, b in combinations(rows, 2):
            statistic += (value[a] * value[b] + m2 / 8) / size
            variance += m2**2 / size**2
            third += m3**2 / size**3
        third += 6 * len(list(combinations(rows, 3))) * m2**3 / size**3
    residuals = Residuals.of(np.full(9, 0.5), np.array(outcomes))
    skewness = third / variance**1.5
    expected = stats.pearson3.sf(statistic / variance**0.5, skewness)  # a gamma distribution with mean 0
    assert residuals.together(np.array(cluster)) == pytest.approx(expected, rel=1e-9)


def test_design_effect_and_shares_by_hand():
    """Six rows, half of them right, so that residuals are +-1/2: squares sum to 6/4.

    Cluster 0 is (+, +, -), with products 1/4 - 1/4 - 1/4; cluster 1 is (+, -, -), with the same sum -1/4.
    Two residuals of one stratum have the mean product -(1/4) / 5, over six pairs -6/20. So the clusters'
    products exceed chance by -1/2 + 6/20 = -1/5, and the effect is 1 - 2 (1/5) / (6/4).
    """
    residuals = Residuals.of(np.full(6, 0.5), np.array([1, 1, 0, 1, 0, 0]))
    cluster = np.array([0, 0, 0, 1, 1, 1])
    assert residuals.products(cluster) == pytest.approx(-1 / 5)
    assert residuals.effect(cluster) == pytest.approx(1 - 4 / 15)
    assert residuals.share_of_stratum(np.array([0, 0, 0, 0, 1, 1])).tolist() == [4 / 6] * 4 + [2 / 6] * 2


def test_a_step_and_a_slope_are_removed_by_hand():
    """Four times of two rows, with the residuals 0, 0, 1 and 1 minus their mean 1/2: a step explains all.

    Residuals -3, -1, 1, 3 have the sums -6, -8, -6 up to splits of 2, 4 or 6 of 8 rows: the squares, times
    1/2 + 1/6, 1/4 + 1/4 and 1/6 + 1/2, are 24, 32 and 24. The step in the middle, from -2 to 2, leaves -1, 1,
    -1, 1. Times the places -1.5, -0.5, 0.5, 1.5 these sum to 2, over squares of 5: a slope of 0.4.
    """
    time = np.repeat(np.arange(4), 2)
    plain = Residuals.of(np.full(8, 0.5), np.zeros(8))
    step = replace(plain, value=np.repeat([-0.5, -0.5, 0.5, 0.5], 2)).without_trend(time)
    assert step.value == pytest.approx(np.zeros(8))
    slope = replace(plain, value=np.repeat([-3.0, -1.0, 1.0, 3.0], 2)).without_trend(time)
    left = np.array([-1.0, 1.0, -1.0, 1.0]) - 0.4 * np.array([-1.5, -0.5, 0.5, 1.5])
    assert slope.value == pytest.approx(np.repeat(left, 2))
