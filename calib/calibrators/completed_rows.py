"""Whole rows from scores: softmax, divided by their sums, or completed around the predicted class."""

import numpy as np

from calib.data.matrices import row_max

#: Rows of smaller calibrated scores count as zeros: histogram binning separates bins of value 0 by less.
NOTHING = 1e-9
#: Least sum of the other classes that their shares are taken from.
LEAST_REST = 1e-300


def softmax(z: np.ndarray) -> np.ndarray:
    """Return exp(z) of (n, L) floats divided by the sums of its rows, of the type of z.

    >>> softmax(np.log([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    if not isinstance(z, np.ndarray):  # a value of a program of calib.export
        return z.softmax()
    p = z - row_max(z)[:, None]
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


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
