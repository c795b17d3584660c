"""Many methods at once: identical methods, how often the best is in, unseen errors."""

from __future__ import annotations

import numpy as np
import pytest

from calib import InputError, best_set, paired_interval
from calib.evidence.rows import as_evidence
from calib.stats.bootstrap import paired_intervals_of


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
