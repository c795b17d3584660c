"""Softmax of rows, of arrays and of values of a program."""

from __future__ import annotations

import numpy as np

from calib.data.matrices import row_max


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
