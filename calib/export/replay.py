"""Compare a scorer or an ONNX graph with the calibrator it was made from, on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from calib.calibrators.binary import BinaryCalibrator
from calib.data.notions import TOP_NOTIONS
from calib.data.predictions import TopLabelPrediction

#: Rows replayed at a time.
BLOCK = 10_000


def replay(
    run: Callable[..., dict[str, np.ndarray]],
    calibrator: BaseEstimator,
    rows: np.ndarray,
    groups: Any = None,
    *,
    logits: bool = False,
) -> float:
    """Return the largest difference over all outputs between `run` and the calibrator on the rows."""
    given = () if groups is None else (calibrator.group_codes(groups, len(rows)),)
    largest = 0.0
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        scores = rows[block]
        if logits:
            wide = scores.astype(np.float64)
            scores = softmax(wide, axis=1) if wide.ndim == 2 else expit(wide)
        expected = outputs(calibrator, scores, None if groups is None else np.asarray(groups)[block])
        actual = run(rows[block], *(codes[block] for codes in given))
        largest = max(largest, largest_difference(actual, expected))
    return largest


def outputs(calibrator: BaseEstimator, proba: np.ndarray, groups: Any = None) -> dict[str, np.ndarray]:
    """Return the outputs of the calibrator itself, under the names of `calib.export.to_onnx`."""
    values, rule = _fitted_outputs(calibrator, proba, groups), getattr(calibrator, "rule_", None)
    if rule is None:
        return values
    if "scores" in values:
        score = values["scores"]
        both = np.column_stack([1.0 - score, score])
        announced: Any = both if rule.of_event else score
    elif "labels" in values:
        announced = TopLabelPrediction(values["labels"][:, 0], values["confidences"][:, 0])
    elif "confidence" in values:
        announced = TopLabelPrediction(values["label"], values["confidence"])
    else:
        announced = values["probabilities"]
    return values | {"accept": rule.accept(announced)}


def _fitted_outputs(calibrator: BaseEstimator, proba: np.ndarray, groups: Any) -> dict[str, np.ndarray]:
    if isinstance(calibrator, BinaryCalibrator):
        return {"scores": calibrator.predict(proba)}
    if hasattr(calibrator, "predict_top_k"):
        labels, confidences = calibrator.predict_top_k(proba)
        return {"labels": labels, "confidences": confidences}
    values, given = {}, {} if groups is None else {"groups": groups}
    if hasattr(calibrator, "predict_proba"):
        values["probabilities"] = calibrator.predict_proba(proba, **given)
        values["label"] = values["probabilities"].argmax(axis=1)
    if getattr(calibrator, "notion", None) in TOP_NOTIONS:
        top = calibrator.predict_top(proba, **given)
        values |= {"label": top.label, "confidence": top.confidence}
    return values


def largest_difference(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Return the largest absolute difference between two sets of outputs, infinite if they disagree."""
    if actual.keys() != expected.keys() or any(actual[name].shape != expected[name].shape for name in actual):
        return float("inf")
    largest = 0.0
    for name, values in expected.items():
        if name in ("label", "labels"):
            rows = np.flatnonzero((actual[name] != values).reshape(len(values), -1).any(axis=1))
            if len(rows) and ("probabilities" not in expected or "confidence" in expected):
                return float("inf")
            if len(rows):
                matrix = expected["probabilities"]
                gaps = matrix[rows, values[rows]] - matrix[rows, actual[name][rows]]
                largest = max(largest, float(gaps.max()))
        elif name == "accept":
            largest = max(largest, float((actual[name].astype(bool) != values).any()))
        elif values.size:
            largest = max(largest, float(np.abs(actual[name] - values).max()))
    return largest
