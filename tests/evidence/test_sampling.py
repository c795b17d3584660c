"""Redrawn outcome sums: their means, variances and correlations are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calib.evidence.sampling import draw_sums, semidefinite_factor


def test_cells_of_few_rows_are_drawn_with_their_mean_and_variance():
    """Cells of 1 to 8 rows with known chances have their mean, and nearly their variance."""
    random = np.random.default_rng(5)
    chances = [random.uniform(low, low + 0.02, n) for n in range(1, 9) for low in (0.02, 0.3, 0.9)]
    count = np.array([len(item) for item in chances])
    expected = np.array([item.sum() for item in chances])
    variance = np.array([item @ (1 - item) for item in chances])
    cells = SimpleNamespace(count=count, weight=count, mean_score=expected / count, is_weighted=False)
    cells.variance = variance
    draw, _ = draw_sums(cells)
    drawn = draw(np.random.default_rng(0), 40_000)
    assert (np.abs(drawn.mean(axis=1) - expected) < 5 * np.sqrt(variance / 40_000)).all()
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.06)


def test_weighted_cells_are_drawn_with_their_mean_and_variance():
    random = np.random.default_rng(6)
    weights = [random.choice([0.2, 1.0, 5.0], n) for n in (1, 2, 5, 30, 200) for _ in range(3)]
    chances = [
        random.uniform(low, low + 0.02, len(w)) for w, low in zip(weights, [0.02, 0.4, 0.97] * 5, strict=True)
    ]
    pairs = list(zip(weights, chances, strict=True))
    weight = np.array([w.sum() for w in weights])
    mean, variance = (np.array([w @ p for w, p in pairs]), np.array([w**2 @ (p * (1 - p)) for w, p in pairs]))
    count = np.array([len(w) for w in weights])
    cells = SimpleNamespace(count=count, weight=weight, mean_score=mean / weight, is_weighted=True)
    cells.variance = variance
    draw, _ = draw_sums(cells)
    drawn = draw(np.random.default_rng(0), 40_000)
    assert (np.abs(drawn.mean(axis=1) - mean) < 5 * drawn.std(axis=1) / 200).all()
    enough = weight**2 / np.array([w @ w for w in weights]) > 4
    np.testing.assert_allclose(drawn.var(axis=1)[enough], variance[enough], rtol=0.1)


@pytest.mark.parametrize("share", [0.1, 0.9], ids=["rare", "frequent"])
@pytest.mark.parametrize("count", [400, 40_000], ids=["from the distribution", "rounded normal numbers"])
def test_dependent_sums_have_the_correlations_of_their_factor(share, count):
    """Sums of a rare and of a frequent outcome, too: a frequent one is drawn by its opposite."""
    mean_score, correlation = np.array([0.1, share]), np.array([[1.0, -0.6], [-0.6, 1.0]])
    counts = np.full(2, count)
    variance = count * mean_score * (1.0 - mean_score)
    cells = SimpleNamespace(
        count=counts, weight=counts, mean_score=mean_score, is_weighted=False, variance=variance
    )
    draw, _ = draw_sums(cells, semidefinite_factor(correlation))
    drawn = draw(np.random.default_rng(0), 40_000)
    assert (np.abs(drawn.mean(axis=1) - count * mean_score) < 5 * np.sqrt(variance / 40_000)).all()
    np.testing.assert_allclose(np.cov(drawn), correlation * np.sqrt(np.outer(variance, variance)), rtol=0.05)
