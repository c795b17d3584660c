"""Calibration errors, proper scores and areas under the ROC curve: numbers without noise or interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from scipy.fft import dct, idct

from calib.base.exceptions import InputError
from calib.base.parallel import WORKERS, map_threads
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_BINS
from calib.data.notions import TOP_NOTIONS, Notion, Strategy
from calib.data.predictions import BasePrediction, Scores, TopLabelPrediction, Values
from calib.data.validation import check_choice, check_norm, check_order, n_axes, plain
from calib.evidence.binning import BinaryProblems, bin_statistics
from calib.evidence.rows import Source, as_evidence
from calib.stats.bootstrap import Interval
from calib.stats.intervals import measure_interval
from calib.stats.measures import MEASURES

#: Points of the grid on which SmoothECE is computed, as in the authors' package.
GRID = 1000
#: Largest error of SmoothECE.
SMOOTH_TOLERANCE = 1e-10


def ece(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    norm: float = 1,
    top_k: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Estimate the ECE per predicted class (top-label), not the confidence ECE of other libraries.

    Their ECE pools all classes in a bin: ``notion="confidence"``, which is never greater than top-label.
    conf-ECE (eq. 3), TL-ECE (eq. 4) and CW-ECE (section 4) of the paper: with cells (l, b), shares w and gaps
    ``|accuracy - confidence|``, the sum of w * gap for "confidence" and "top-label", else the mean over
    classes (over ranks for the top-K notions) of the ECE of each.

    Parameters
    ----------
    y_true : (n,) array_like, or labelled predictions, a summary or evidence
        True class codes 0..L-1, or names of columns; if columns have no names, they are in the ascending
        order of the labels. For 1-D scores, whether the event happened: 0 and 1, or two labels of which the
        greater is the event. Predictions that hold their labels come alone: ``ece(predictions)``.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores in [0, 1]. 1-D scores are one binary problem: P(Y = 1), or the confidence, with whether it is
        right as `y_true`.
    notion : {"confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"}, optional
        What to condition on; see `reduce_to_binary`. By default "top-label" if rows have a predicted class,
        "confidence" for a `ConfidencePrediction`, "class-wise" for P(Y = 1) and a `MultilabelPrediction`.
    n_bins : int
        Bins B per binary problem.
    strategy : {"uniform", "quantile", "discrete"} or PerClass, optional
        Equal width, equal mass, or one bin per distinct score. By default the strategy of the predictions:
        "discrete" for histogram-binned scores of `calibrated_scores`, else "uniform" (Remark 1 of the paper).
    norm : float
        p of the l_p calibration error, 1 or more; 1 is the ECE, 2 the root mean square error.
    top_k : int, optional
        K of the top-K notions, by default min(L, 5). Other functions take `reduce_to_binary` with a `top_k`.
    sample_weight : (n,) array_like of float, optional
        Weights, 0 or more. Only their ratios matter, and a row of weight 0 is left out.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to, such as a patient. Errors and means do not depend on it; their noise,
        intervals and tests do.

    Returns
    -------
    float
        In [0, 1]. It is above 0 even for a perfect model; see `calib.noise_floor`.

    Raises
    ------
    InputError
        If an argument cannot be used, as for all functions of calib.

    Examples
    --------
    Example 1 of the paper: confidence is 0.6 in all rows; accuracy is 0.2 for class 0, 1 for class 1.

    >>> from calib.data.predictions import TopLabelPrediction
    >>> top = TopLabelPrediction(np.repeat([0, 1], 5), np.full(10, 0.6))
    >>> y = np.array([0, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    >>> round(ece(y, top, notion="confidence"), 12), round(ece(y, top), 12)
    (0.0, 0.4)
    """
    check_norm(norm)
    evidence = as_evidence(y_true, scores, sample_weight, cluster, notion in (None, *TOP_NOTIONS))
    cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy, top_k=top_k, effects=False)
    return cells.ece(norm)


def mce(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    aggregate: str = "cell",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Estimate the maximum calibration error of a notion over bins, in [0, 1]. A sparse cell can decide it.

    Other parameters as for `ece`.

    Parameters
    ----------
    aggregate : {"cell", "bin"}
        "cell" is the definition, eq. (TL-MCE): the largest ``|accuracy - confidence|`` over (class, bin).
        "bin" is what the paper's tables print: the largest Delta_b of section 2.1, with classes averaged
        inside each bin by their share; for histogram binning, bin b is the b-th distinct value of each class.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    return evidence.cells(notion, n_bins=n_bins, strategy=strategy, effects=False).mce(aggregate)


def sharpness(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Estimate the sharpness E[E[Z | score]^2] of the binary outcomes Z (Gupta & Ramdas 2021, section 2).

    It is between E[Z]^2 (scores do not separate rows) and E[Z] (scores determine the outcomes), averaged over
    claims.
    Parameters as for `ece`.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy, effects=False)
    return float(np.sum(cells.share * cells.mean_outcome**2))


def accuracy(
    y_true: Source,
    predicted: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Share of rows, or of their weight, whose predicted class is the true class.

    Parameters
    ----------
    y_true, sample_weight, cluster
        As for `ece`.
    predicted : (n,) class codes or names, (n, L) or (n,) scores, or predictions of any kind
        The class of the highest score, ties to the lowest index; for P(Y = 1) whether it is above 0.5; for a
        `ConfidencePrediction` whether it is right.
    """
    if predicted is not None and not isinstance(predicted, BasePrediction) and n_axes(predicted) == 1:
        check_order(y_true, predicted)
        given = np.asarray(plain(predicted))
        if given.dtype.kind != "f" or not ((given > 0) & (given < 1)).any():
            predicted = TopLabelPrediction(given, np.ones(len(given)))
    return as_evidence(y_true, predicted, sample_weight, cluster, tops=True).mean("accuracy").value


def brier_score(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Mean squared distance between prediction and outcome (Brier 1950).

    For (n, L) scores or `Predictions`, the mean over rows of sum_l (h_l - 1{Y = l})^2, in [0, 2]. For a
    `TopLabelPrediction` or the first rank of a `TopKPrediction`, the mean of (h - 1{Y = c})^2; for 1-D
    scores, of (p - 1{Y = 1})^2; for a `MultilabelPrediction`, the mean of this over the classes. Parameters
    as for `ece`.
    """
    return as_evidence(y_true, scores, sample_weight, cluster).mean("brier").value


def log_loss(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Mean negative log probability of what happened, in nats.

    For (n, L) scores, of the true class; for a `TopLabelPrediction` or a `TopKPrediction`, of the event Y = c
    or Y != c; for 1-D scores, of the event or its absence; for a `MultilabelPrediction`, the mean of this
    over the classes. Probabilities are clipped at 2.2e-16. Parameters as for `ece`.
    """
    return as_evidence(y_true, scores, sample_weight, cluster).mean("log_loss").value


@overload
def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: Literal[False] = False,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float: ...


@overload
def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: Literal[True],
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Interval: ...


def auc(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    interval: bool = False,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float | Interval:
    """Area under the ROC curve: the chance that a row with the event has a higher score than a row without.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`.
    notion : {"class-wise", "confidence"}, optional
        "class-wise" (default if every class has a score): of P(Y = 1), or the mean over classes of each class
        against the rest, without classes that are never true. "confidence": of the confidence for being
        right.
    interval, level : bool, float
        Whether to return an `Interval`, and its coverage.

    Notes
    -----
    The variance is DeLong, DeLong & Clarke-Pearson's (1988), for clusters Obuchowski's (1997); the interval
    is `calib.stats.intervals.area_limits`.

    Examples
    --------
    Of the four pairs of a 1 and a 0, one is in order and one is a tie.

    >>> auc([0, 0, 1, 1], [0.2, 0.6, 0.6, 0.1])
    0.375
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    missing = {key: MEASURES[key].missing(evidence) for key in ("auc", "cw_auc", "top_auc")}
    available = {MEASURES[key].notion: key for key in missing if missing[key] is None}
    if not available:
        raise InputError(str(missing["top_auc"]))
    notion = check_choice(next(iter(available)) if notion is None else notion, list(available), "notion")
    measure = MEASURES[available[notion]]
    value = measure.value(evidence)
    if np.isnan(value):
        raise InputError(f"{measure.title} needs rows of both outcomes; all of these have the same outcome")
    if not interval:
        return value
    ends = measure_interval(evidence, measure.key, level=level)
    return Interval("auc", value, *ends, level)


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
