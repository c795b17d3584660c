"""Many methods at once: critical values with known truth, identical methods, how often the best is in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm as normal

from calib import ConfidencePrediction, InputError, best_set, paired_interval
from calib.evidence.rows import Rows, as_evidence
from calib.stats import improvements
from calib.stats.bootstrap import paired_intervals_of


def compared(losses, **options):
    """Methods on unweighted, independent rows."""
    values = np.array(losses)
    n = values.shape[1]
    rows = Rows(ConfidencePrediction(np.linspace(0.1, 0.9, n), np.arange(n) % 2 == 0))
    return improvements(values, rows, **options)


def test_one_difference_has_the_paired_normal_interval():
    random = np.random.default_rng(0)
    losses = random.normal(size=(2, 500))
    result = compared(losses)
    difference = losses[0] - losses[1]
    error = difference.std(ddof=1) / np.sqrt(500)
    assert result.improvement[1] == pytest.approx(difference.mean())
    assert result.standard_error[1] == pytest.approx(error)
    # The quantile of |N(0, 1)| from 5,000 draws; its standard error is about 0.03.
    assert (result.upper[1] - result.improvement[1]) / error == pytest.approx(normal.ppf(0.975), abs=0.1)
    assert (result.improvement[0], result.lower[0], result.upper[0]) == (0.0, 0.0, 0.0)


def test_independent_differences_have_sidaks_value():
    """A constant reference leaves m independent differences: P(all |z| <= c) = (2 Phi(c) - 1)^m."""
    losses = np.vstack([np.zeros(4_000), np.random.default_rng(1).normal(size=(10, 4_000))])
    result = compared(losses)
    critical = (result.upper - result.improvement)[1:] / result.standard_error[1:]
    np.testing.assert_allclose(critical, normal.ppf((1.0 + 0.95**0.1) / 2.0), atol=0.15)


def test_identical_methods_share_and_a_constant_worse_one_is_out():
    rows = np.random.default_rng(2).normal(size=300)
    assert best_set([rows, rows, rows + 1e-3]).tolist() == [True, True, False]
    assert best_set([rows]).tolist() == [True]


def test_order_of_methods_does_not_matter():
    losses = np.random.default_rng(3).gamma(2.0, size=(6, 200)) + np.linspace(0.0, 0.6, 6)[:, None]
    order = np.random.default_rng(4).permutation(6)
    np.testing.assert_array_equal(best_set(losses)[order], best_set(losses[order]))


def test_the_best_method_is_in_the_set_in_95_of_100_samples():
    """Equally good methods are the hardest case. Binomial(80, 0.05) is above 10 once in 500."""
    random = np.random.default_rng(5)
    lost = sum(not best_set(random.normal(size=(8, 200))).all() for _ in range(80))
    assert lost <= 10


def test_losses_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match="at least 2 rows; got 1"):
        best_set([[1.0], [2.0]])
    with pytest.raises(InputError, match="losses"):
        best_set([[1.0, np.nan], [2.0, 3.0]])


def test_intervals_of_many_are_the_paired_intervals_of_each():
    random = np.random.default_rng(6)
    proba = random.dirichlet(np.ones(3), 200)
    labels = random.integers(0, 3, 200)
    others = [proba**power / (proba**power).sum(axis=1, keepdims=True) for power in (0.5, 0.8)]
    right = np.eye(3)[labels]
    losses = [((item - right) ** 2).sum(axis=1) for item in (proba, *others)]
    rows = as_evidence(labels, proba)
    unseen = np.array([as_evidence(labels, item).unseen_error("brier", rows) for item in (proba, *others)])
    more = unseen[1:] - unseen[0]
    together = paired_intervals_of(losses[0], np.array(losses[1:]), "brier", rows, unseen=more)
    for item, interval in zip(others, together, strict=True):
        alone = paired_interval(labels, proba, item, metric="brier")
        got = (interval.difference, interval.lower, interval.upper)
        np.testing.assert_allclose(got, (alone.difference, alone.lower, alone.upper), atol=1e-12)


def test_unseen_errors_widen_only_the_end_that_they_move():
    """Every row of the second method loses 1 less, so that the difference has no standard error.

    At the level 0.95, -log(0.025) = 3.6889 unseen errors may be expected, at 0.90 -log(0.05) = 2.9957.
    """
    losses = [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
    for level, errors in ((0.95, 3.6888795), (0.90, 2.9957323)):
        result = compared(losses, unseen=[0.1, 0.3], level=level)
        assert result.improvement.tolist() == [0.0, 1.0]
        assert result.lower[1] == pytest.approx(1.0 - 0.2 * errors)
        assert result.upper[1] == pytest.approx(1.0)
        result = compared(losses, unseen=[0.3, 0.1], level=level)
        assert result.lower[1] == pytest.approx(1.0)
        assert result.upper[1] == pytest.approx(1.0 + 0.2 * errors)


def test_unseen_errors_keep_a_method_in_the_set_by_hand():
    """A method is worse by 1 in every row: out, unless the better one's unseen errors may cost that 1.

    They may if they cost 1 / 3.6889 = 0.2711 more than the other's at the level 0.95, and 1 / 2.9957 = 0.3338
    at the level 0.90.
    """
    losses = [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    assert best_set(losses).tolist() == [True, False]
    assert best_set(losses, unseen=[0.270, 0.0]).tolist() == [True, False]
    assert best_set(losses, unseen=[0.272, 0.0]).tolist() == [True, True]
    assert best_set(losses, unseen=[0.372, 0.1]).tolist() == [True, True]
    assert best_set(losses, unseen=[0.0, 0.272]).tolist() == [True, False]
    assert best_set(losses, unseen=[0.333, 0.0], level=0.9).tolist() == [True, False]
    assert best_set(losses, unseen=[0.335, 0.0], level=0.9).tolist() == [True, True]
