"""Softmax of rows, and what it is made of: fast also for few classes."""

from __future__ import annotations

import numpy as np

#: Columns up to which rows are reduced otherwise than by NumPy's reductions along an axis.
NARROW = 16


def highest_of_rows(z: np.ndarray) -> np.ndarray:
    """Return the highest of each row of an (n, L) array, (n,)."""
    if z.shape[1] > NARROW:
        return z.max(axis=1)
    highest = z[:, 0].copy()
    for column in z.T[1:]:
        np.maximum(highest, column, out=highest)
    return highest


def softmax(z: np.ndarray) -> np.ndarray:
    """Return exp(z) of (n, L) floats divided by the sums of its rows, of the type of z.

    >>> softmax(np.log([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    if not isinstance(z, np.ndarray):  # a value of a program of calib.export
        return z.softmax()
    p = z - highest_of_rows(z)[:, None]
    np.exp(p, out=p)
    sums = p.sum(axis=1) if p.shape[1] > NARROW else np.einsum("ij->i", p)
    p /= sums[:, None]
    return p
