"""Calibration errors that depend less on noise or on the choice of bins than the plug-in estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct, idct

from calib.base.parallel import WORKERS, map_threads
from calib.base.results import Result
from calib.data.defaults import N_BINS
from calib.data.notions import Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.evidence.binning import BinaryProblems, bin_statistics
from calib.evidence.rows import Source, as_evidence

#: Points of the grid on which SmoothECE is computed, as in the authors' package.
GRID = 1000

#: Largest error of SmoothECE.
SMOOTH_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class SmoothEstimate(Result):
    """SmoothECE: calibration error without bins."""

    notion: str  #: Notion of the problems
    value: float  #: The estimate, in [0, 1]
    problem: np.ndarray  #: (Q,) int64: Problems that have entries
    #: (Q,) float64: SmoothECE of each problem, which is also the width of the kernel it was smoothed with
    ece: np.ndarray


def debiased_l2(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy = "quantile",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Estimate the l2 calibration error without the upward bias of the plug-in estimate.

    Parameters
    ----------
    y_true, scores, notion, n_bins, sample_weight
        As for `calib.ece`; or `BinaryProblems` alone.
    strategy : {"uniform", "quantile", "discrete"} or PerClass
        Bins; equal mass by default, as in the authors' package.

    Returns
    -------
    float
        Square root of the estimate, 0 if that is negative.

    Notes
    -----
    Kumar, Liang & Ma (2019), "Verified uncertainty calibration", definition 5.1: each squared gap minus the
    estimated variance f (1 - f) / (count - 1) of the outcome frequency, with the effective count (sum w)^2 /
    sum w^2. Cells with one row add nothing. The square is unbiased if scores are constant in a cell, else a
    little too small.
    """
    problems = as_evidence(y_true, scores, sample_weight, cluster).problems(notion)
    cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy)
    several = (cells.count > 1) & (cells.effective > 1.0 + 1e-9)
    less_one = np.where(several, cells.effective - 1.0, 1.0)
    squares = cells.gap**2 - cells.mean_outcome * (1.0 - cells.mean_outcome) / less_one
    squares = np.where(several, squares, 0.0)
    weights = cells.weight / cells.n_samples
    return float(np.sqrt(max(float(weights @ squares) / cells.n_claims, 0.0)))


def smooth_ece(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion = "confidence",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> SmoothEstimate:
    """Estimate calibration error without bins (SmoothECE).

    Parameters as for `calib.ece`; or `BinaryProblems` alone.

    Notes
    -----
    Blasiok & Nakkiran (2024), "Smooth ECE: principled reliability diagrams via kernel smoothing": residuals
    outcome - score are smoothed with a Gaussian kernel of width sigma, reflected at 0 and 1; the integral of
    their absolute value is smECE_sigma, which falls with sigma, and SmoothECE is the sigma at which
    smECE_sigma = sigma.
    """
    problems = as_evidence(y_true, scores, sample_weight, cluster).problems(notion)
    owners = np.flatnonzero(np.diff(problems.offsets))
    parts = np.array_split(owners, min(len(owners), 4 * WORKERS))
    errors = np.concatenate(map_threads(lambda part: _smooth_problems(problems, part), parts))
    weights = np.diff(problems.weight_sums[problems.offsets])[owners]
    return SmoothEstimate(problems.notion, float(errors @ weights / weights.sum()), owners, errors)


def _smooth_problems(problems: BinaryProblems, owners: np.ndarray) -> np.ndarray:
    residuals = np.stack(
        [_residual_grid(*problems.problem(owner), problems.weights_of(owner)) for owner in owners.tolist()]
    )
    spectrum = dct(residuals, axis=1, norm="ortho")
    decay = 0.5 * (np.pi * np.arange(GRID)) ** 2

    def excess(sigma: np.ndarray, which: np.ndarray) -> np.ndarray:
        kernel = np.exp(-decay * sigma[:, None] ** 2)
        smoothed = idct(spectrum[which] * kernel, axis=1, norm="ortho", overwrite_x=True)
        return np.abs(smoothed).sum(axis=1) - sigma

    ends = np.stack([np.zeros(len(owners)), np.ones(len(owners))])  # sigma with a function above 0, and below
    values = np.stack([np.abs(residuals).sum(axis=1), excess(ends[1], np.arange(len(owners)))])
    found, last = ends[0].copy(), np.full(len(owners), -1)
    open_ = np.flatnonzero(values[0] > SMOOTH_TOLERANCE)
    while len(open_):
        (low, high), (above, below) = ends[:, open_], values[:, open_]
        found[open_] = sigma = (low * below - high * above) / (below - above)
        value = excess(sigma, open_)
        side = (value <= 0.0).astype(int)
        ends[side, open_], values[side, open_] = sigma, value
        again = side == last[open_]
        values[1 - side[again], open_[again]] /= 2.0
        last[open_] = side
        open_ = open_[np.abs(value) > SMOOTH_TOLERANCE]
    return found


def _residual_grid(scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Spread each residual over the two nearest midpoints (i + 1/2) / GRID; the sum is the mean residual."""
    position = np.clip(scores.astype(np.float64) * GRID - 0.5, 0.0, GRID - 1.0)
    left = np.minimum(position.astype(np.int64), GRID - 2)
    residual = (outcomes - scores.astype(np.float64)) / len(scores)
    residual *= weights / weights.mean()
    to_right = residual * (position - left)
    grid = np.bincount(left, weights=residual - to_right, minlength=GRID)
    grid[1:] += np.bincount(left, weights=to_right, minlength=GRID)[:-1]
    return grid
