"""Intervals of means over rows, alone or as the difference of two methods, and which methods may be the best.

The best are found for all methods at once, by the largest standardised difference ("max-t") of normal draws
with the covariance of the row values (Hothorn, Bretz & Westfall 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtrit

from calib.base.exceptions import InputError
from calib.base.interval_words import hidden_words, interval_words, size_with_interval
from calib.base.parallel import map_threads
from calib.base.results import Result
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.predictions import Scores, Values
from calib.data.validation import as_clusters, as_finite, check_level, random_generator
from calib.data.weights import effective_rows, row_weights
from calib.evidence.clusters import Clusters, even_clusters, even_clusters_of
from calib.evidence.row_scores import TINY, row_values, weighted_mean
from calib.evidence.rows import Known, Rows, Source, as_pair, single_rows
from calib.stats.effective import rows_with_unseen

Metric = Literal["accuracy", "brier", "log_loss"]
#: A value and the ends of its interval.
Ends = tuple[float, float, float]
#: The largest value of each metric.
MOST: dict[str, float] = {"accuracy": 1.0, "brier": 2.0, "log_loss": -np.log(TINY)}
#: Draws of the largest difference: the standard error of its tail is 0.3 %.
DRAWS = 5_000
#: A difference with a smaller relative standard error is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Estimated(Result):
    """A number with its interval."""

    value: float  #: The number; NaN if the rows do not tell
    lower: float
    upper: float


@dataclass(frozen=True, eq=False, repr=False)
class Interval(Result):
    """A reported number with its interval."""

    metric: str  #: The metric
    estimate: float  #: The number on all rows
    #: Ends of the interval
    lower: float
    upper: float
    level: float  #: Its nominal coverage


@dataclass(frozen=True, eq=False, repr=False)
class PairedInterval(Result):
    """The difference of a number between two methods on the same rows, b minus a."""

    metric: str  #: The metric
    #: The number of each method
    estimate_a: float
    estimate_b: float
    #: Their difference b - a and the ends of its interval
    difference: float
    lower: float
    upper: float
    level: float  #: Nominal coverage

    def words(self, name_a: str = "a", name_b: str = "b") -> str:
        """Say whether the two differ by more than chance, for example in a caption."""
        if self.lower <= 0.0 <= self.upper:
            interval = f"interval of the difference {interval_words(self.lower, self.upper, sign='+')}"
            interval += f"; {hidden_words(self.lower, self.upper, self.level)}"
            return f"{name_b} and {name_a} are not distinguishable ({100 * self.level:g} % {interval})"
        direction = "lower" if self.difference < 0 else "higher"
        what = f"{100 * self.level:g} % interval"
        size = size_with_interval(self.difference, self.lower, self.upper, what)
        return f"{name_b} is {direction} than {name_a} by {size}"


def bootstrap_interval(
    y_true: Source,
    scores: Scores | None = None,
    *,
    metric: Metric = "brier",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> Interval:
    """Return accuracy, Brier score or log loss with its interval over rows.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`; with clusters the interval is over them.
    metric : {"accuracy", "brier", "log_loss"}
        Calibration errors have `error_interval`.
    level : float in (0, 1)
        Coverage.
    """
    rows = single_rows(y_true, scores, sample_weight, cluster, "The interval of a mean over rows")
    losses = _checked_losses(rows, metric)
    unseen = np.array([rows.unseen_error(metric)])
    ((estimate, lower, upper),) = limits_of_means(losses[None], level, MOST[metric], rows, unseen)
    return Interval(metric, estimate, max(lower, 0.0), upper, level)


def paired_interval(
    y_true: Source,
    scores_a: Scores | Known,
    scores_b: Scores | None = None,
    *,
    metric: Metric = "brier",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> PairedInterval:
    """Return the difference b - a of accuracy, Brier score or log loss on the same rows, with its interval.

    Parameters as for `bootstrap_interval`. Calibration errors have `paired_difference`. If rows differ in
    accuracy in one direction only, the interval allows for further rows that differ in the other one.
    """
    a, b = as_pair(y_true, scores_a, scores_b, sample_weight, cluster)
    if a.kind != b.kind:  # a Brier score of all classes and one of the top label differ
        a, b = a.tops(), b.tops()
    losses_a, losses_b = _checked_losses(a, metric), _checked_losses(b, metric)
    unseen = np.array([b.unseen_error(metric, a) - a.unseen_error(metric)])
    (interval,) = paired_intervals_of(losses_a, losses_b[None], metric, a, level, unseen)
    return interval


def paired_intervals_of(
    losses_a: np.ndarray,
    losses_b: np.ndarray,
    metric: str,
    rows: Rows,
    level: float = LEVEL,
    unseen: np.ndarray | None = None,
) -> list[PairedInterval]:
    """Compute `paired_interval` of several methods b, (m, n) values of the rows, against one, (n,) values.

    `rows` are evidence of these rows, `unseen` is the change of each difference, (m,), by one more wrong row.
    """
    a, *means_b = (weighted_mean(losses, rows.weights) for losses in (losses_a, *losses_b))
    differences, is_share = losses_b - losses_a, metric == "accuracy"
    changes = limits_of_means(differences, level, MOST[metric], rows, None if is_share else unseen)
    if is_share:
        changes = [
            with_unseen_changes(values, change, (1.0, -1.0), rows, level) if values.any() else change
            for values, change in zip(differences, changes, strict=True)
        ]
    return [PairedInterval(metric, a, b, *change, level) for b, change in zip(means_b, changes, strict=True)]


def _checked_losses(rows: Rows, metric: str) -> np.ndarray:
    if metric not in get_args(Metric):
        hint = "; calibration errors have error_interval and paired_difference" * (metric in ("ece", "mce"))
        raise InputError(f"metric must be {', '.join(get_args(Metric))}; got {metric!r}{hint}")
    return row_values(rows.predictions, metric)


def with_unseen_errors(
    middle: np.ndarray, lower: np.ndarray, upper: np.ndarray, unseen: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals of means that also allow for unseen errors.

    If no row is wrong, the values do not show how large the loss of a wrong row is. If -log(alpha / 2) errors
    are expected (3.7 at 95 %), no error is seen with a chance of alpha / 2. Their part and the half-width are
    independent, so squares are added.
    """
    change = -np.log(alpha / 2.0) * unseen
    down, up = np.minimum(change, 0.0), np.maximum(change, 0.0)
    return middle - np.hypot(middle - lower, down), middle + np.hypot(upper - middle, up)


def with_unseen_changes(
    values: np.ndarray, ends: Ends, sizes: Sequence[float], rows: Rows, level: float
) -> Ends:
    """Return mean and ends, also allowing for further rows with values of these sizes that no row has.

    Without rows that differ in one direction, the values do not show that such rows exist.
    """
    not_seen = np.array([size for size in sizes if not (values == size).any()])
    n_units = rows.n_samples if rows.clusters.independent else rows.clusters.n_clusters
    mean, lower, upper = map(np.array, ends)
    for unseen in (not_seen.max(initial=0.0), not_seen.min(initial=0.0)):
        lower, upper = with_unseen_errors(mean, lower, upper, unseen / n_units, 1.0 - level)
    return ends[0], float(lower), float(upper)


def mean_limits(
    values: np.ndarray, level: float, clusters: Clusters | None = None, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of an interval of the mean of each row of (m, n) values; infinite for one cluster.

    The studentised mean T is made normal by a cubic transformation, T + a (T^2 / 3 + 1 / 6) + a^2 T^3 / 27
    with a the skewness of the values over sqrt(n) (Hall 1992, "On the removal of skewness by
    transformation"); the ends are where it reaches Student's quantiles. With clusters or weights, the values'
    skewness is weighted, and n in a is divided by the design effect: the skewness of a few sums, or of a few
    heavy rows, would be noise. With weights, n is the number of effective rows (`rows_with_unseen`).
    """
    check_level(level)
    clusters = clusters or Clusters.of(None, values.shape[1])
    if weights is not None and np.ptp(weights) == 0.0:
        weights = None
    moments = [_moments(row, clusters, weights, 1.0 - level) for row in values]
    mean, error, bend, free = np.array(moments).T
    quantile = stdtrit(free, (1.0 + level) / 2.0)

    def studentised(at: np.ndarray) -> np.ndarray:
        """Invert the transformation."""
        moved = at - bend / 6.0
        curved = np.abs(bend) > 1e-8
        divisor = np.where(curved, bend, 1.0)
        return np.where(curved, 3.0 / divisor * (np.cbrt(1.0 + divisor * moved) - 1.0), moved)

    return mean - studentised(quantile) * error, mean - studentised(-quantile) * error


def _moments(
    values: np.ndarray, clusters: Clusters, weights: np.ndarray | None, alpha: float
) -> tuple[float, float, float, float]:
    n, factor = len(values), 1.0
    mean = values.mean() if weights is None else weighted_mean(values, weights)
    if clusters.n_clusters == 1:
        return mean, np.inf, 0.0, 1.0
    away = values - mean
    square, worth = away * away, float(n)
    if weights is not None:
        weights = weights / weights.mean()
        worth = float(effective_rows(float(n), weights @ weights))
        away = weights * away
        factor = _unseen_weights(square, weights, worth, alpha)
    sums = clusters.sums(away)
    alone = float(square.sum() if weights is None else weights @ square)
    by_cluster = factor * float(sums @ sums)
    if not clusters.independent:
        worth = min(worth, even_clusters_of(sums, away, clusters.code))
    free = max(worth, 2.0) - 1.0
    bend = np.einsum("i,i", square, away) * np.sqrt(by_cluster) / alone**2 if alone**2 > 0.0 else 0.0
    return mean, np.sqrt(by_cluster * (1.0 + 1.0 / free)) / n, bend, free


def _unseen_weights(square: np.ndarray, weights: np.ndarray, by_weight: float, alpha: float) -> float:
    """Return the factor on the variance of a weighted mean for rows far from it, with weights not seen."""
    spread, varied, variance = weights @ square, weights @ square**2, weights**2 @ square
    if varied <= 0.0:
        return 1.0
    rows = len(square) * spread / variance
    return float(rows / rows_with_unseen(rows, spread**2 / varied / len(square), by_weight, alpha))


def limits_of_means(
    losses: np.ndarray, level: float, most: float, rows: Rows, unseen: np.ndarray | None
) -> list[Ends]:
    """Return (mean, lower, upper) of each row of losses, with ends in [-most, most]."""
    mean = np.array([weighted_mean(values, rows.weights) for values in losses])
    ends = mean_limits(losses, level, rows.clusters, rows.weights)
    if unseen is not None:
        ends = with_unseen_errors(mean, *ends, unseen, 1.0 - level)
    lower, upper = (np.clip(end, -most, most) for end in ends)
    return list(zip(mean.tolist(), lower.tolist(), upper.tolist(), strict=True))


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
