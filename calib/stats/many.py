"""Many methods compared on the same rows: which may be the best.

The answer holds for all methods at once, by the largest standardised difference ("max-t") of normal draws
with the covariance of the row values (Hothorn, Bretz & Westfall 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.predictions import Values
from calib.data.validation import as_clusters, as_finite, check_level, random_generator
from calib.data.weights import row_weights
from calib.evidence.clusters import Clusters, even_clusters
from calib.evidence.rows import Rows
from calib.stats.bootstrap import with_unseen_errors

#: Draws of the largest difference: the standard error of its tail is 0.3 %.
DRAWS = 5_000

#: A difference with a smaller relative standard error is rounding.
ROUNDING = 1e-12


def best_set(
    losses: Values,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    unseen: Values | None = None,
    level: float = LEVEL,
    random_state: int = RANDOM_STATE,
) -> np.ndarray:
    """Return which methods may be the best, (m,) bool: methods that no other method clearly beats.

    Parameters
    ----------
    losses : (m, n) array_like of float
        Value of each row for each of m methods, for example squared errors; lower is better.
    sample_weight, cluster
        As for `calib.noise_floor`.
    unseen : (m,) array_like of float, optional
        Change of each mean by one more wrong row; the answer then allows for unseen errors.
    level : float in (0, 1)
        Chance that the method with the lowest expected loss is in the set.
    random_state : int
        Seed of the draws for the critical value.

    Notes
    -----
    Multiple comparisons with the best: a method is out if its mean exceeds any other mean by more than the
    critical value of all pairs.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=400)
    >>> best_set([rows, rows + 0.001 * rows**2, rows + 1.0 + 0.1 * np.sin(rows)]).tolist()
    [True, False, False]
    """
    values = as_finite(losses, ndim=2, what="losses")
    n_given = values.shape[1]
    counts, weights, _ = row_weights(sample_weight, n_given)
    clusters = Clusters.of(None if cluster is None else as_clusters(cluster, n_given), n_given).take(counts)
    return _best(np.ascontiguousarray(values[:, counts]), weights, clusters, unseen, level, random_state)


def best_of(losses: np.ndarray, rows: Rows, unseen: np.ndarray) -> np.ndarray:
    """Return `best_set` of (m, n) losses of rows of evidence."""
    return _best(losses, rows.weights, rows.clusters, unseen, LEVEL, RANDOM_STATE)


def _best(
    losses: np.ndarray,
    weights: np.ndarray,
    clusters: Clusters,
    unseen: Values | None,
    level: float,
    random_state: int,
) -> np.ndarray:
    values, mean, error, free = _differences(losses, weights, clusters)
    reach = _critical_value(values, error, level, random_state, free) * error
    more = np.zeros(len(mean)) if unseen is None else np.asarray(unseen, dtype=np.float64)
    above = mean[:, None] - mean
    lower = with_unseen_errors(above, above - reach, above + reach, more[:, None] - more, 1.0 - level)[0]
    return ~(lower > ROUNDING * np.abs(mean).max()).any(axis=1)


def _differences(
    values: np.ndarray, weights: np.ndarray, clusters: Clusters
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float | None]:
    """Return values minus their mean, over sqrt(n), (m, n); means, (m,); errors of differences, (m, m)."""
    n_samples = values.shape[1]
    if n_samples < 2:
        raise InputError(f"comparing methods needs at least 2 rows; got {n_samples}")
    mean = values @ weights / weights.sum()
    values = (values - mean[:, None]) * weights  # what each row adds to the error of a ratio of sums
    n_units: float = n_samples
    if not clusters.independent:
        values = np.array([clusters.sums(value) for value in values])
        if values.shape[1] < 2:
            raise InputError("comparing methods needs at least 2 clusters; got 1")
        n_units = max(even_clusters(np.bincount(clusters.code), 1.0), 2.0)
    values = values * np.sqrt(n_units / (n_units - 1.0)) / n_samples

    def squared_distance(pair: tuple[Any, Any]) -> float:
        apart = values[pair[0]] - values[pair[1]]
        return np.einsum("i,i", apart, apart)

    above = np.triu_indices(len(values), 1)
    error = np.zeros((len(values), len(values)))
    error[above] = np.sqrt(map_threads(squared_distance, zip(*above, strict=True)))
    error += error.T
    error[error <= ROUNDING * np.abs(mean).max()] = 0.0
    return values, mean, error, None if clusters.independent else n_units - 1.0


def _critical_value(
    values: np.ndarray, error: np.ndarray, level: float, random_state: int, free: float | None
) -> float:
    """Quantile of the largest standardised difference of two methods, all expectations being equal."""
    check_level(level)
    eigenvalues, axes = np.linalg.eigh(values @ values.T)
    generator = random_generator(random_state)
    drawn = generator.normal(size=(DRAWS, len(values)))
    if free is not None:
        drawn /= np.sqrt(generator.chisquare(free, (DRAWS, 1)) / free)
    drawn = drawn @ (axes * np.sqrt(np.maximum(eigenvalues, 0.0))).T
    largest = np.zeros(DRAWS)
    for first in range(len(values) - 1):
        differs = np.flatnonzero((error[first] > 0.0) & (np.arange(len(values)) > first))
        ratio = np.abs(drawn[:, [first]] - drawn[:, differs]) / error[first, differs]
        np.maximum(largest, ratio.max(axis=1, initial=0.0), out=largest)
    return float(np.quantile(largest, level))
