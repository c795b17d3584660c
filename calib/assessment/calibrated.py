"""Scores of a fitted calibrator, the binning that assesses them, and a table to save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.binning import Strategy
from calib.predictions import Predictions, TopLabelPrediction
from calib.reductions import top_label


def calibrated_scores(calibrator: Any, proba: Any) -> TopLabelPrediction | np.ndarray:
    """Return the scores of a fitted calibrator for (n, L) base probabilities.

    These are (n, L) scores if it gives one per class, else the predicted class and its confidence (of rank 1
    for the top-K notions).
    """
    matrix = getattr(proba, "proba", proba)
    if hasattr(calibrator, "predict_proba"):
        return calibrator.predict_proba(matrix)
    if hasattr(calibrator, "predict_top"):
        return calibrator.predict_top(matrix)
    labels, confidences = calibrator.predict_top_k(matrix)
    return TopLabelPrediction(labels[:, 0], confidences[:, 0])


def assessment_strategy(calibrator: Any) -> Strategy:
    """Choose how to bin calibrated scores: "discrete" for one value per bin, else "uniform" (Remark 1).

    Normalised and completed scores mix the values of several bins and are assessed with equal-width bins,
    as the paper does for N-HB.
    """
    if not hasattr(calibrator, "notion"):
        return "discrete" if hasattr(calibrator, "scheme") else "uniform"
    if calibrator.normalize or calibrator.complete is not None or calibrator.fallbacks_:
        return "uniform"
    binned = all(getattr(binary, "is_binned", False) for binary in calibrator.calibrators_)
    return "discrete" if binned else "uniform"


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
