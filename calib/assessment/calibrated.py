"""Scores of a fitted calibrator, the binning that assesses them, and a table to save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.binning import PerClass, Strategy
from calib.calibrators.completed_rows import completed, normalised
from calib.metrics.errors import row_values
from calib.notions import POOLED_NOTIONS
from calib.parallel import map_threads, row_slices
from calib.predictions import Predictions, TopLabelPrediction
from calib.reductions import top_label
from calib.validation import as_labels


def calibrated_scores(calibrator: Any, proba: Any, *, groups: Any = None) -> TopLabelPrediction | np.ndarray:
    """Return the scores of a fitted calibrator for (n, L) base probabilities.

    `groups` holds the group of each row, for a calibrator that conditions on it.

    These are (n, L) scores if it gives one per class, else the predicted class and its confidence (of rank 1
    for the top-K notions).
    """
    matrix = getattr(proba, "proba", proba)
    given = {} if groups is None else {"groups": groups}
    if hasattr(calibrator, "predict_proba"):
        return calibrator.predict_proba(matrix, **given)
    if hasattr(calibrator, "predict_top"):
        return calibrator.predict_top(matrix, **given)
    labels, confidences = calibrator.predict_top_k(matrix)
    return TopLabelPrediction(labels[:, 0], confidences[:, 0])


def vector_losses(y_true: Any, scores: Any, proba: Any) -> dict[str, np.ndarray]:
    """Return the values of each row whose means are the Brier score and the log loss of whole vectors.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        Output of the base model or of `calibrated_scores`. Where it is a confidence only, the other classes
        share the rest in proportion to `proba`; where rows do not sum to 1, they are divided by their sums.
    proba : (n, L) array_like or Predictions
        Probabilities of the base model.

    Returns
    -------
    dict of str to (n,) float64 array
        "brier" and "log_loss". Every method has both, so that all can be compared. Where only the confidence
        changes, the difference in log loss from the base model is that of the event that the predicted class
        is right: the shares of the other classes cancel.
    """
    matrix = getattr(proba, "proba", proba)
    vectors = getattr(scores, "proba", scores)
    n_samples, n_classes = np.shape(matrix)
    labels = as_labels(y_true, n_samples, n_classes)
    losses = {"brier": np.empty(n_samples), "log_loss": np.empty(n_samples)}

    def fill(rows: slice) -> None:
        if isinstance(scores, TopLabelPrediction):
            whole = completed(matrix[rows], scores.label[rows], scores.confidence[rows])
        else:
            whole = normalised(np.asarray(vectors[rows], dtype=np.float64))
        for metric, values in losses.items():
            values[rows] = row_values(labels[rows], whole, metric)

    map_threads(fill, row_slices(n_samples, n_classes))
    return losses


def assessment_strategy(calibrator: Any) -> Strategy:
    """Choose the bins in which scores of a fitted calibrator are assessed (Remark 1 of the paper).

    Calibrators that predict one value per bin are assessed at each value: "discrete" where one curve serves
    all classes, else `PerClass`, which keeps equal-width bins for classes that are not binned (a fallback to
    scores as they were) and for what pools the classes (conf-ECE). All others, and normalised and completed
    scores, which mix the values of several bins, are assessed with equal-width bins, as the paper does for
    N-HB: "uniform".
    """
    if not hasattr(calibrator, "notion"):
        return PerClass() if hasattr(calibrator, "scheme") else "uniform"
    if calibrator.normalize or calibrator.complete is not None:
        return "uniform"
    binned: list[bool] = [getattr(binary, "is_binned", False) for binary in calibrator.everyone_]
    if calibrator.has_groups:  # a class is binned if it is in every group
        shape = calibrator.shape_
        if not shape.by_class:
            return PerClass() if all(binned) else "uniform"
        binned = [all(binned[label :: shape.n_classes]) for label in range(shape.n_classes)]
    if calibrator.notion in POOLED_NOTIONS:
        return "discrete" if binned[0] else "uniform"
    others = tuple(label for label in range(calibrator.n_classes_) if not binned[label])
    return PerClass(others) if len(others) < calibrator.n_classes_ else "uniform"


def applied_frame(
    calibrator: Any, predictions: Predictions, class_names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return each row before and after calibration, as a table to save.

    Columns: `predicted` and `confidence` of the base model, `true` if labels are known, then
    `calibrated` (the calibrated confidence of the same class) for confidence and top-label calibrators;
    `label_k` and `calibrated_k` for ranks k = 1..K; or `announced` (the class predicted after
    calibration), `calibrated` and a column `p(class)` per class if the calibrator scores every class.

    Raises
    ------
    InputError
        If the numbers of classes of predictions and calibrator differ.
    """
    names = np.asarray(class_names or predictions.class_names, dtype=object)
    columns: dict[str, Any] = {"predicted": names[predictions.label], "confidence": predictions.confidence}
    if predictions.labels is not None:
        columns["true"] = names[predictions.labels]
    if hasattr(calibrator, "predict_top_k"):
        labels, confidences = calibrator.predict_top_k(predictions.proba)
        for rank in range(labels.shape[1]):
            columns[f"label_{rank + 1}"] = names[labels[:, rank]]
            columns[f"calibrated_{rank + 1}"] = confidences[:, rank]
        return pd.DataFrame(columns)
    scores = calibrated_scores(calibrator, predictions)
    if isinstance(scores, TopLabelPrediction):
        columns["calibrated"] = scores.confidence
        return pd.DataFrame(columns)
    label, confidence = top_label(scores)
    columns |= {"announced": names[label], "calibrated": confidence}
    table = pd.DataFrame(scores, columns=[f"p({name})" for name in names])
    return pd.concat([pd.DataFrame(columns), table], axis=1)
