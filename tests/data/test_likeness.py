"""Rows that are right or wrong together: how often the test says so, if it is true and if it is not."""

from __future__ import annotations

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
