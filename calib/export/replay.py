"""Replaying a scorer or an ONNX graph beside the calibrator it was made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calib.calibrators.binary import BinaryCalibrator

#: Rows replayed at a time.
BLOCK = 10_000


def replay(run: Callable[[np.ndarray], dict[str, np.ndarray]], calibrator: Any, rows: np.ndarray) -> float:
    """Return the largest difference over all outputs between `run` and the calibrator on the rows."""
    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return max((largest_difference(run(block), outputs(calibrator, block)) for block in blocks), default=0.0)


def outputs(calibrator: Any, proba: np.ndarray) -> dict[str, np.ndarray]:
    """Return what the calibrator itself says, under the names that scorers and ONNX graphs use.

    "label" and "confidence" (n,); "labels" and "confidences" (n, K); "probabilities" (n, L) and "label"; or
    "scores" (n,) for a binary calibrator.
    """
    if isinstance(calibrator, BinaryCalibrator):
        return {"scores": calibrator.predict(proba)}
    if hasattr(calibrator, "predict_top_k"):
        labels, confidences = calibrator.predict_top_k(proba)
        return {"labels": labels, "confidences": confidences}
    notion = getattr(calibrator, "notion", None)
    found = {}
    if hasattr(calibrator, "predict_proba"):
        found["probabilities"] = calibrator.predict_proba(proba)
        found["label"] = found["probabilities"].argmax(axis=1)
    if notion in ("confidence", "top-label"):
        top = calibrator.predict_top(proba)
        found |= {"label": top.label, "confidence": top.confidence}
    return found


def largest_difference(said: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """Return the largest absolute difference between two sets of outputs, infinite where they disagree.

    Labels taken from a matrix may differ where two of its probabilities do by rounding; they count with
    the difference of those two.
    """
    if said.keys() != wanted.keys() or any(said[name].shape != wanted[name].shape for name in wanted):
        return float("inf")
    largest = 0.0
    for name, values in wanted.items():
        if name in ("label", "labels"):
            other = np.flatnonzero((said[name] != values).reshape(len(values), -1).any(axis=1))
            if len(other) and ("probabilities" not in wanted or "confidence" in wanted):
                return float("inf")
            if len(other):
                matrix = wanted["probabilities"][other]
                rows = np.arange(len(other))
                gaps = matrix[rows, values[other]] - matrix[rows, said[name][other]]
                largest = max(largest, float(gaps.max()))
        elif values.size:
            largest = max(largest, float(np.abs(said[name] - values).max()))
    return largest
