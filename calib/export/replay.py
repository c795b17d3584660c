"""Compare a scorer or an ONNX graph with the calibrator it was made from, on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from calib.calibrators.binary import BinaryCalibrator
from calib.data.notions import TOP_NOTIONS
from calib.data.predictions import BinaryPrediction, ConfidencePrediction, TopLabelPrediction

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
    given = {} if groups is None else {"groups": groups}
    rule = getattr(calibrator, "rule_", None)
    values: dict[str, np.ndarray] = {}
    rows: Any = None
    if isinstance(calibrator, BinaryCalibrator):
        values["scores"] = calibrator.predict(proba)
        of_event = rule is not None and rule.of_event
        rows = BinaryPrediction(values["scores"]) if of_event else ConfidencePrediction(values["scores"])
    elif hasattr(calibrator, "predict_top_k"):
        values["labels"], values["confidences"] = calibrator.predict_top_k(proba)
        rows = TopLabelPrediction(values["labels"][:, 0], values["confidences"][:, 0])
    else:
        if hasattr(calibrator, "predict_proba"):
            rows = values["probabilities"] = calibrator.predict_proba(proba, **given)
            values["label"] = rows.argmax(axis=1)
        if getattr(calibrator, "notion", None) in TOP_NOTIONS:
            rows = calibrator.predict_top(proba, **given)
            values |= {"label": rows.label, "confidence": rows.confidence}
    return values if rule is None else values | {"accept": rule.accept(rows)}


def largest_difference(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Return the largest absolute difference between two sets of outputs, infinite if they disagree."""
    if actual.keys() != expected.keys() or any(actual[name].shape != expected[name].shape for name in actual):
        return float("inf")
    return max(_difference(name, actual[name], values, expected) for name, values in expected.items())


def _difference(name: str, actual: np.ndarray, values: np.ndarray, expected: dict[str, np.ndarray]) -> float:
    """Compare an output; of predicted classes, by their probabilities if these are an output."""
    if name not in ("label", "labels"):
        return float(np.abs(actual.astype(np.float64) - values).max(initial=0.0))
    rows = np.flatnonzero((actual != values).reshape(len(values), -1).any(axis=1))
    if not len(rows):
        return 0.0
    if "probabilities" not in expected or "confidence" in expected:
        return float("inf")
    matrix = expected["probabilities"]
    return max(0.0, float((matrix[rows, values[rows]] - matrix[rows, actual[rows]]).max()))
