"""The binning lesson: histogram binning of a known curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.answers.theorems import Guarantee, guarantee
from calib.calibrators.histogram import HistogramBinning
from calib.data.predictions import TopLabelPrediction
from calib.stats.errors import sharpness

#: Fresh rows on which binned curves are assessed.
FRESH = 20_000
#: Points per bin for which the trade-off is drawn.
POINTS_GRID = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000)


@dataclass(frozen=True, eq=False)
class Curve:
    """Scores and outcomes of one binary problem whose truth is known.

    Attributes
    ----------
    scores : (n,) float64 array
        Scores in [0, 1].
    outcomes : (n,) bool array
        Drawn with probability `truth`.
    truth : (n,) float64 array
        P(outcome | score).
    """

    scores: np.ndarray
    outcomes: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True, eq=False)
class BinnedCurve:
    """Histogram binning fitted to a curve, assessed on fresh rows.

    Attributes
    ----------
    edges : (b + 1,) float64 array
        Edges of the bins, from 0 to 1.
    value : (b,) float64 array
        Calibrated score of each bin: the frequency among its calibration rows.
    true_mean : (b,) float64 array
        Mean truth of each bin's fresh rows (the curve is known); NaN where none fell in.
    count : (b,) int64 array
        Calibration rows per bin.
    promise : Guarantee
        Guarantee of Theorem 1 for the smallest bin.
    error : float
        ECE of the calibrated scores against the known truth, over fresh rows.
    sharpness : float
        Sharpness of the calibrated scores on fresh rows.
    """

    edges: np.ndarray
    value: np.ndarray
    true_mean: np.ndarray
    count: np.ndarray
    promise: Guarantee
    error: float
    sharpness: float

    def frame(self) -> pd.DataFrame:
        """Return one row per bin."""
        return pd.DataFrame(
            {
                "lower": self.edges[:-1],
                "upper": self.edges[1:],
                "count": self.count,
                "value": self.value,
                "true_mean": self.true_mean,
            }
        )


def true_curve(scores: np.ndarray) -> np.ndarray:
    """P(outcome | score) of `bent_curve`."""
    return 0.05 + 0.85 / (1.0 + np.exp(-12.0 * (np.asarray(scores) - 0.6)))


def bent_curve(n_samples: int, seed: int = 0) -> Curve:
    """Draw a binary problem of a miscalibrated model: the truth is an S of the score."""
    random = np.random.default_rng(seed)
    scores = random.beta(1.6, 1.1, n_samples)
    truth = true_curve(scores)
    return Curve(scores, random.random(n_samples) < truth, truth)


def bin_curve(curve: Curve, points_per_bin: int, *, alpha: float = 0.1, seed: int = 1) -> BinnedCurve:
    """Fit histogram binning with `points_per_bin` points (2 or more) and assess it on `FRESH` new rows."""
    binning = HistogramBinning(points_per_bin=points_per_bin).fit(curve.scores, curve.outcomes)
    fresh = bent_curve(FRESH, seed)
    calibrated = binning.predict(fresh.scores)
    position = np.searchsorted(binning.edges_, fresh.scores, side="right")
    n_bins = len(binning.values_)
    rows = np.bincount(position, minlength=n_bins)
    sums = np.bincount(position, weights=fresh.truth, minlength=n_bins)
    true_mean = np.divide(sums, rows, out=np.full(n_bins, np.nan), where=rows > 0)
    top = TopLabelPrediction(np.zeros(FRESH, dtype=np.int64), calibrated)
    smallest = max(int(binning.counts_.min()), 2)
    return BinnedCurve(
        edges=np.concatenate(([0.0], binning.edges_, [1.0])),
        value=binning.values_,
        true_mean=true_mean,
        count=binning.counts_,
        promise=guarantee(points_per_bin=smallest, n_samples=len(curve.scores), alpha=alpha),
        error=float(np.nansum(rows * np.abs(true_mean - binning.values_)) / FRESH),
        sharpness=sharpness(np.where(fresh.outcomes, 0, 1), top, notion="confidence", strategy="discrete"),
    )


def trade_off(curve: Curve, *, alpha: float = 0.1) -> pd.DataFrame:
    """Return guarantee, error and sharpness of `bin_curve` for each of `POINTS_GRID` that the rows allow."""
    rows = []
    for k in POINTS_GRID:
        if k <= len(curve.scores):
            binned = bin_curve(curve, k, alpha=alpha)
            rows.append(
                {
                    "points_per_bin": k,
                    "n_bins": len(binned.value),
                    "marginal": binned.promise.marginal,
                    "expected_ece": binned.promise.expected_ece,
                    "error": binned.error,
                    "sharpness": binned.sharpness,
                }
            )
    return pd.DataFrame(rows)
