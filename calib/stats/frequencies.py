"""Frequencies of outcomes in cells beside the scores: intervals, p-values, and gaps of a perfect model."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln, ndtri, xlog1py, xlogy

from calib.data.defaults import LEVEL


def chance_of_gap(rate: np.ndarray, count: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Two-sided binomial p-value of each frequency, with the score as chance; counts may be fractions.

    >>> chance_of_gap(np.array([1.0]), np.array([4.0]), np.array([0.5])).round(4).tolist()
    [0.125]
    """
    right, wrong = rate * count, (1.0 - rate) * count
    chance = np.clip(score, 1e-12, 1.0 - 1e-12)
    more = np.where(right > 1e-9, betainc(np.maximum(right, 1e-9), wrong + 1.0, chance), 1.0)
    less = np.where(wrong > 1e-9, betainc(np.maximum(wrong, 1e-9), right + 1.0, 1.0 - chance), 1.0)
    return np.minimum(2.0 * np.minimum(more, less), 1.0)


def wilson_interval(
    rate: np.ndarray, count: np.ndarray, *, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson score interval (Wilson 1927) of observed frequencies and (effective) numbers of trials."""
    z = ndtri(0.5 + level / 2.0)
    scale = 1.0 + z**2 / count
    centre = (rate + z**2 / (2.0 * count)) / scale
    half = z / scale * np.sqrt(rate * (1.0 - rate) / count + z**2 / (4.0 * count**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def expected_gap(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Mean gap between score and frequency in cells of a perfect model.

    The mean absolute deviation of a binomial (de Moivre 1730; Diaconis & Zabell 1991), as if all rows of a
    cell had its mean score. Scores that differ inside a bin make it a little smaller.
    """
    n = np.maximum(np.rint(count), 1.0)
    above = np.minimum(np.floor(n * score) + 1.0, n)
    return 2.0 * above * (1.0 - score) * np.exp(_log_binomial(above, n, score)) / n


def _log_binomial(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
