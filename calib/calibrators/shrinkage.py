"""Frequencies of few rows, shrunk towards many rows': the empirical Bayes estimate of a beta-binomial."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln

#: Range of the prior's strength, in rows.
LEAST_STRENGTH, MOST_STRENGTH = 0.1, 1e5

#: Least distance of prior frequencies from 0 and 1.
INSIDE = 1e-6


def shrunken(right: np.ndarray, count: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, float]:
    """Shrink frequencies towards their priors, more if there are few rows.

    The chance of each cell is drawn from a beta distribution with mean `prior` and a common strength a + b
    (Robbins 1956; Casella 1985). If cells differ by no more than chance, all get their priors.

    >>> estimate, strength = shrunken(np.array([4, 1, 16]), np.array([4, 4, 20]), np.full(3, 0.5))
    >>> estimate.round(2).tolist(), round(strength, 1)
    ([0.84, 0.33, 0.77], 1.9)
    """
    mean = np.clip(prior, INSIDE, 1.0 - INSIDE)
    seen = count > 0

    def loss(log_strength: float) -> float:
        a, b = np.exp(log_strength) * mean[seen], np.exp(log_strength) * (1.0 - mean[seen])
        return -float((betaln(a + right[seen], b + (count - right)[seen]) - betaln(a, b)).sum())

    strength = MOST_STRENGTH
    if seen.any():
        bounds = np.log([LEAST_STRENGTH, MOST_STRENGTH])
        strength = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
    return (right + strength * mean) / (count + strength), strength


def moved_to(mean: float, old: float, values: np.ndarray) -> np.ndarray:
    """Move probabilities so that their mean over some rows changes from `old` to `mean`, in proportion.

    To lower the mean, values are multiplied; to raise it, their distances to 1 are. They stay in [0, 1].

    >>> [moved_to(mean, 0.5, np.array([0.25, 0.75])).round(3).tolist() for mean in (0.4, 0.6)]
    [[0.2, 0.6], [0.4, 0.8]]
    """
    if mean <= old:
        return values * (mean / max(old, INSIDE))
    return 1.0 - (1.0 - values) * ((1.0 - mean) / max(1.0 - old, INSIDE))
