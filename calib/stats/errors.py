"""Calibration errors and proper scores, computed on the binary problems of an M2B notion."""

from __future__ import annotations

import numpy as np

from calib.data.defaults import N_BINS
from calib.data.notions import Notion, Strategy
from calib.data.predictions import Announcement, Scores, TopLabelPrediction, Values
from calib.data.validation import check_norm, check_order, n_axes, plain
from calib.evidence.rows import Source, as_evidence


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
        True class codes 0..L-1; for 1-D scores, whether the event happened: 0 and 1, or two labels of which
        the greater is the event. Predictions that hold their labels come alone: ``ece(predictions)``.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores in [0, 1]. 1-D scores are one binary problem: P(Y = 1), or confidence with correct or not.
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
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
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
    if predicted is not None and not isinstance(predicted, Announcement) and n_axes(predicted) == 1:
        check_order(y_true, predicted)
        predicted = _as_classes(predicted)
    return as_evidence(y_true, predicted, sample_weight, cluster).mean("accuracy").value


def _as_classes(predicted: Values) -> Scores:
    """Return (n,) class codes or names as predictions, and numbers between 0 and 1 as they are."""
    given = np.asarray(plain(predicted))
    if given.dtype.kind == "f" and ((given > 0) & (given < 1)).any():
        return predicted
    return TopLabelPrediction(given, np.ones(len(given)))


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
