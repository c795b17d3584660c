"""Frequencies of outcomes in cells beside the scores: intervals, p-values, and gaps of a perfect model."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln, ndtr, ndtri, xlogy

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


def binomial_deviation(count: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Mean of |Y/n - p| of a binomial Y: the mean gap of a perfect model's cell whose scores are all p.

    De Moivre's 2 p (1 - p) P(Bin(n - 1, p) = floor(n p)) (Diaconis & Zabell 1991); counts may be fractions.
    """
    count, mean = np.maximum(count, 1.0), np.clip(mean, 0.0, 1.0)
    k = np.minimum(np.floor(count * mean), count - 1.0)
    log_chance = gammaln(count) - gammaln(k + 1.0) - gammaln(count - k)
    log_chance += xlogy(k, mean) + xlogy(count - 1.0 - k, 1.0 - mean)
    return 2.0 * mean * (1.0 - mean) * np.exp(log_chance)


#: Distances d, and the mean of |N(d, 1)| there, to invert it by interpolation.
_DISTANCES = np.linspace(0.0, 6.0, 3001)
_FOLDED_MEANS = np.sqrt(2.0 / np.pi) * np.exp(-(_DISTANCES**2) / 2.0)
_FOLDED_MEANS += _DISTANCES * (2.0 * ndtr(_DISTANCES) - 1.0)


def folded_inverse(mean: np.ndarray) -> np.ndarray:
    """Distance d >= 0 at which |N(d, 1)| has this mean; 0 below its smallest mean, sqrt(2 / pi)."""
    return np.where(mean >= _FOLDED_MEANS[-1], mean, np.interp(mean, _FOLDED_MEANS, _DISTANCES))
