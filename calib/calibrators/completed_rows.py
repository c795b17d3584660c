"""Whole rows from calibrated scores: divided by their sums, or completed around the predicted class."""

import numpy as np

#: Rows of smaller calibrated scores count as zeros: histogram binning separates bins of value 0 by less.
NOTHING = 1e-9

#: Least sum of the other classes that their shares are taken from.
LEAST_REST = 1e-300


def normalised(scores: np.ndarray) -> np.ndarray:
    """Divide each row of (n, L) scores by its sum; rows of zeros become 1/L."""
    sums = _sums(scores)
    empty = sums <= NOTHING * scores.shape[1]
    if empty.any():
        scores = np.where(empty[:, None], scores.dtype.type(1.0), scores)
        sums[empty] = scores.shape[1]
    return scores / sums[:, None]


def completed(proba: np.ndarray, label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Give `label` its confidence; the others share the rest in proportion to `proba`, or evenly."""
    rows = np.arange(len(proba))
    rest = proba.astype(np.float64)
    rest[rows, label] = 0.0
    sums = _sums(rest)
    empty = sums < LEAST_REST
    rest[empty] = 1.0
    rest[rows[empty], label[empty]] = 0.0
    sums[empty] = proba.shape[1] - 1
    rest *= ((1.0 - confidence) / sums)[:, None]
    rest[rows, label] = confidence
    return rest


def _sums(rows: np.ndarray) -> np.ndarray:
    """Use einsum, because `sum` takes ten times as long for few columns."""
    return np.einsum("ij->i", rows, dtype=np.float64).astype(rows.dtype)
