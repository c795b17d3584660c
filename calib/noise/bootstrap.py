"""Bootstrap intervals of accuracy, Brier score and log loss, alone or as the difference of two methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from calib.exceptions import InputError
from calib.metrics.errors import row_values, weighted_mean
from calib.noise.draws import Progress, resample
from calib.predictions import weighted_rows
from calib.validation import check_level

Metric = Literal["accuracy", "brier", "log_loss"]


@dataclass(frozen=True, eq=False)
class Interval:
    """A reported number with its bootstrap interval.

    Attributes
    ----------
    metric : str
        The metric.
    estimate : float
        The number on all rows.
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

    def frame(self) -> pd.DataFrame:
        """Return one row: metric, estimate, lower, upper, level, n_resamples."""
        return _one_row(self, "metric", "estimate", "lower", "upper", "level")


@dataclass(frozen=True, eq=False)
class PairedInterval:
    """The difference of a number between two methods on the same rows, b minus a.

    Attributes
    ----------
    metric : str
        The metric.
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
            interval = f"interval of the difference {self.lower:+.4f} to {self.upper:+.4f}"
            return f"{name_b} and {name_a} are not distinguishable ({100 * self.level:g} % {interval})"
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
    metric: Metric = "brier",
    sample_weight: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Interval:
    """Bootstrap accuracy, Brier score or log loss over rows.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        Scores in [0, 1].
    metric : {"accuracy", "brier", "log_loss"}
        As `calib.accuracy`, `calib.brier_score` and `calib.log_loss`. Calibration errors have
        `error_interval`: a bootstrap of the plug-in error counts its bias as error and covers too rarely.
    sample_weight : (n,) array_like of float, optional
        As for `calib.ece`. A row is drawn with its weight.
    n_resamples : int
        Resamples of n rows with replacement.
    level : float in (0, 1)
        Coverage.
    random_state, progress
        As for `calib.noise_floor`.

    Raises
    ------
    InputError
        If an argument cannot be used.

    Notes
    -----
    The interval is the basic ("reverse percentile") one, estimate minus the bootstrap quantiles of the
    error (Davison & Hinkley 1997, section 5.2), cut to the range of the metric.
    """
    options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state, "progress": progress}
    y_true, scores, weights = weighted_rows(y_true, scores, sample_weight)
    losses = _checked_losses(y_true, scores, metric)
    ((estimate, lower, upper, level, samples),) = _bootstrap(losses[None], level, weights, **options)
    top = {"brier": 2.0, "log_loss": np.inf}.get(metric, 1.0)
    return Interval(metric, estimate, max(lower, 0.0), min(upper, top), level, samples)


def paired_interval(
    y_true: Any,
    scores_a: Any,
    scores_b: Any,
    *,
    metric: Metric = "brier",
    sample_weight: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> PairedInterval:
    """Bootstrap the difference b - a of accuracy, Brier score or log loss on the same rows.

    Parameters are those of `bootstrap_interval`. Calibration errors have `paired_difference`.
    """
    (y_a, kept_a, weights), (y_b, kept_b, _) = (
        weighted_rows(y_true, scores, sample_weight) for scores in (scores_a, scores_b)
    )
    losses_a, losses_b = _checked_losses(y_a, kept_a, metric), _checked_losses(y_b, kept_b, metric)
    options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state, "progress": progress}
    (interval,) = paired_intervals_of(losses_a, losses_b[None], metric, level, weights, **options)
    return interval


def paired_intervals_of(
    losses_a: np.ndarray,
    losses_b: np.ndarray,
    metric: str,
    level: float = 0.95,
    weights: np.ndarray | None = None,
    **options: Any,
) -> list[PairedInterval]:
    """Compute `paired_interval` of several methods b, (m, n) values of the rows, against one, (n,) values.

    All are resampled together; `options` are n_resamples, random_state and progress of `paired_interval`.
    """
    a, of_b = weighted_mean(losses_a, weights), [weighted_mean(losses, weights) for losses in losses_b]
    changes = _bootstrap(losses_b - losses_a, level, weights, **options)
    return [PairedInterval(metric, a, b, *change) for b, change in zip(of_b, changes, strict=True)]


def _checked_losses(y_true: Any, scores: Any, metric: str) -> np.ndarray:
    if metric not in get_args(Metric):
        hint = "; calibration errors have error_interval and paired_difference" * (metric in ("ece", "mce"))
        raise InputError(f"metric must be {', '.join(get_args(Metric))}; got {metric!r}{hint}")
    return row_values(y_true, scores, metric)


def _one_row(interval: Interval | PairedInterval, *names: str) -> pd.DataFrame:
    row = {name: [getattr(interval, name)] for name in names}
    return pd.DataFrame(row).assign(n_resamples=len(interval.samples))


def _bootstrap(
    losses: np.ndarray, level: float, weights: np.ndarray | None, **options: Any
) -> list[tuple[float, float, float, float, np.ndarray]]:
    """Mean of each row of (m, n) losses, the ends of its basic interval, level, (R,) means of resamples."""
    check_level(level)
    n_methods, n_samples = losses.shape

    def block(generator: np.random.Generator, size: int) -> np.ndarray:
        means = np.empty((n_methods, size))
        for column in range(size):
            times = np.bincount(generator.integers(0, n_samples, n_samples), minlength=n_samples)
            if weights is None:
                means[:, column] = losses @ times.astype(np.float64) / n_samples
            else:
                drawn = times * weights
                means[:, column] = losses @ drawn / drawn.sum()
        return means

    samples = np.concatenate(resample(block, 2 * n_samples, **options), axis=1)
    ends = np.quantile(samples, [(1.0 + level) / 2.0, (1.0 - level) / 2.0], axis=1)
    mean = np.array([weighted_mean(values, weights) for values in losses])
    lower, upper = 2.0 * mean - ends
    return list(zip(mean.tolist(), lower.tolist(), upper.tolist(), [level] * n_methods, samples, strict=True))
