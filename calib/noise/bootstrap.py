"""Bootstrap intervals for every reported number, alone or as the difference of two methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import sparse

from calib.binning import BinaryProblems, BinStatistics, Strategy, bin_statistics
from calib.exceptions import InputError
from calib.metrics.errors import row_values
from calib.noise.draws import Progress, adder, resample
from calib.notions import Notion
from calib.reductions import reduce_to_binary
from calib.validation import check_level, check_norm

Metric = Literal["ece", "mce", "accuracy", "brier", "log_loss"]

#: A metric of each column of (n, R) row weights that sum to n, and its value where all weights are 1.
Statistic = tuple[float, Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True, eq=False)
class Interval:
    """A reported number with its bootstrap interval.

    Attributes
    ----------
    metric : str
        What was measured.
    estimate : float
        The number on the rows as they are.
    lower, upper : float
        Ends of the interval.
    level : float
        Its nominal coverage.
    samples : (R,) float64 array
        The number on each resample of the rows.
    """

    metric: str
    estimate: float
    lower: float
    upper: float
    level: float
    samples: np.ndarray

    @property
    def corrected(self) -> float:
        """Estimate less its bootstrap bias, near the interval's middle; can be below 0 near zero error."""
        return float(2.0 * self.estimate - self.samples.mean())

    def frame(self) -> pd.DataFrame:
        """Return one row: metric, estimate, corrected, lower, upper, level, n_resamples."""
        return _one_row(self, "metric", "estimate", "corrected", "lower", "upper", "level")


@dataclass(frozen=True, eq=False)
class PairedInterval:
    """The difference of a number between two methods on the same rows, b minus a.

    Attributes
    ----------
    metric : str
        What was measured.
    estimate_a, estimate_b : float
        The number of each method.
    difference, lower, upper : float
        Their difference b - a and the ends of its interval.
    level : float
        Nominal coverage.
    samples : (R,) float64 array
        The difference on each resample; both methods see the same rows.
    """

    metric: str
    estimate_a: float
    estimate_b: float
    difference: float
    lower: float
    upper: float
    level: float
    samples: np.ndarray

    def words(self, name_a: str, name_b: str) -> str:
        """Say whether the two differ by more than chance, for example in a caption."""
        if self.lower <= 0.0 <= self.upper:
            return (
                f"{name_b} and {name_a} are not distinguishable "
                f"({100 * self.level:g} % interval of the difference {self.lower:+.4f} to {self.upper:+.4f})"
            )
        direction = "lower" if self.difference < 0 else "higher"
        near, far = sorted((abs(self.lower), abs(self.upper)))
        return (
            f"{name_b} is {direction} than {name_a} by {abs(self.difference):.4f} "
            f"({100 * self.level:g} % interval {near:.4f} to {far:.4f})"
        )

    def frame(self) -> pd.DataFrame:
        """Return one row with every number."""
        return _one_row(self, "metric", "estimate_a", "estimate_b", "difference", "lower", "upper", "level")


def bootstrap_interval(
    y_true: Any,
    scores: Any,
    *,
    metric: Metric = "ece",
    notion: Notion = "top-label",
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    norm: float = 1,
    aggregate: str = "cell",
    top_k: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Interval:
    """Bootstrap a reported number over rows.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        Scores in [0, 1].
    metric : {"ece", "mce", "accuracy", "brier", "log_loss"}
        As `calib.ece`, `calib.mce` and so on; the last three ignore `notion` and the bins.
    notion, n_bins, strategy, norm, aggregate, top_k
        As for `calib.ece` and `calib.mce`.
    n_resamples : int
        Resamples of n rows with replacement.
    level : float in (0, 1)
        Nominal coverage.
    random_state, progress
        As for `calib.noise_floor`.

    Raises
    ------
    InputError
        If an argument cannot be used.

    Notes
    -----
    The interval is the basic ("reverse percentile") one, estimate minus the bootstrap quantiles of the
    error (Davison & Hinkley 1997, section 5.2), cut to the range of the metric. A plug-in calibration error
    is biased upwards, each resample adds about the same bias again, and reflecting takes it off, so that the
    interval can lie below the estimate. It is for the error with these bins; cells of "quantile" and
    "discrete" stay as they are in every resample.

    For calibration errors the coverage is below nominal where noise is a large part of the error. In
    simulations with 1,000 rows and 15 bins, 95 % intervals held the true error in 93 % of samples where it
    was 3 times its floor, in 84 to 89 % near twice, in 30 % for a small top-label error over 10 classes, and
    anywhere from seldom to 60 % at zero error, where no bootstrap works: what to ask there is
    `calib.noise_floor`. (The percentile interval held it in 0 to 95 %.)
    """
    estimate, statistic = _statistic(y_true, scores, metric, notion, n_bins, strategy, norm, aggregate, top_k)
    n_samples = len(np.asarray(y_true))
    samples = _resampled(n_samples, [statistic], n_resamples, random_state, progress)[0]
    lower, upper = _basic(estimate, samples, level)
    top = {"brier": 2.0, "log_loss": np.inf}.get(metric, 1.0)
    return Interval(metric, estimate, max(lower, 0.0), min(upper, top), level, samples)


def paired_interval(
    y_true: Any,
    scores_a: Any,
    scores_b: Any,
    *,
    metric: Metric = "ece",
    notion: Notion = "top-label",
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    strategy_b: Strategy | None = None,
    norm: float = 1,
    aggregate: str = "cell",
    top_k: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> PairedInterval:
    """Bootstrap the difference b - a of a number between two methods on the same rows.

    Parameters are those of `bootstrap_interval`; `strategy_b` is the strategy for `scores_b` where it
    differs (histogram-binned scores are assessed "discrete").
    """
    options = (norm, aggregate, top_k)
    a, statistic_a = _statistic(y_true, scores_a, metric, notion, n_bins, strategy, *options)
    b, statistic_b = _statistic(y_true, scores_b, metric, notion, n_bins, strategy_b or strategy, *options)
    n_samples = len(np.asarray(y_true))
    both = _resampled(n_samples, [statistic_a, statistic_b], n_resamples, random_state, progress)
    samples = both[1] - both[0]
    lower, upper = _basic(b - a, samples, level)
    return PairedInterval(metric, a, b, b - a, lower, upper, level, samples)


def _one_row(interval: Interval | PairedInterval, *names: str) -> pd.DataFrame:
    row = {name: [getattr(interval, name)] for name in names}
    return pd.DataFrame(row).assign(n_resamples=len(interval.samples))


def _statistic(
    y_true: Any,
    scores: Any,
    metric: str,
    notion: Notion,
    n_bins: int,
    strategy: Strategy,
    norm: float,
    aggregate: str,
    top_k: int | None,
) -> Statistic:
    if metric in ("ece", "mce"):
        problems = reduce_to_binary(y_true, scores, notion, top_k=top_k)
        cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy)
        return _cell_statistic(problems, cells, metric, norm, aggregate)
    if metric not in get_args(Metric):
        raise InputError(f"metric must be {', '.join(get_args(Metric))}; got {metric!r}")
    losses = row_values(y_true, scores, metric)
    # As a sparse row: a dense product would start threads of its own in each of ours.
    row = sparse.csr_array(losses[None] / len(losses))
    return float(losses.mean()), lambda weights: (row @ weights)[0]


def _cell_statistic(
    problems: BinaryProblems, cells: BinStatistics, metric: str, norm: float, aggregate: str
) -> Statistic:
    """Binned error under row weights: the sorted structure is a sparse (cells x rows) matrix as it stands."""
    n_cells, n_samples = len(cells.count), problems.n_samples
    bounds = np.append(cells.start, len(problems.scores))
    shape = (n_cells, n_samples)

    def matrix(values: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array((values, problems.rows, bounds), shape=shape)

    errors = matrix(problems.outcomes - problems.scores.astype(np.float64))
    estimate = cells.ece(check_norm(norm)) if metric == "ece" else cells.mce(aggregate)
    if metric == "ece" and norm == 1:
        return estimate, lambda weights: np.abs(errors @ weights).sum(axis=0) / (n_samples * cells.n_claims)
    counter = matrix(np.ones(len(problems.scores)))
    ones = np.ones(n_cells)
    by_claim, by_bin = adder(cells.claim, ones, cells.n_claims), adder(cells.bin, ones, cells.n_bins)

    def statistic(weights: np.ndarray) -> np.ndarray:
        counts, totals = counter @ weights, np.abs(errors @ weights)
        if metric == "mce" and aggregate == "bin":
            counts, totals = by_bin @ counts, by_bin @ totals
        gaps = np.divide(totals, counts, out=np.zeros_like(totals), where=counts > 0)
        if metric == "mce":
            return gaps.max(axis=0)
        return np.mean((by_claim @ (counts / n_samples * gaps**norm)) ** (1.0 / norm), axis=0)

    return estimate, statistic


def _resampled(
    n_samples: int,
    statistics: list[Callable[[np.ndarray], np.ndarray]],
    n_resamples: int,
    random_state: int | np.random.Generator | None,
    progress: Progress | None,
) -> np.ndarray:
    """Each statistic on each resample, (len(statistics), R)."""

    def block(generator: np.random.Generator, size: int) -> np.ndarray:
        weights = np.empty((n_samples, size))
        for column in range(size):
            drawn = generator.integers(0, n_samples, n_samples)
            weights[:, column] = np.bincount(drawn, minlength=n_samples)
        return np.stack([statistic(weights) for statistic in statistics])

    width = 2 * n_samples
    drawn = resample(block, width, n_resamples=n_resamples, random_state=random_state, progress=progress)
    return np.concatenate(drawn, axis=1)


def _basic(estimate: float, samples: np.ndarray, level: float) -> tuple[float, float]:
    check_level(level)
    low, high = np.quantile(samples, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(2.0 * estimate - high), float(2.0 * estimate - low)
