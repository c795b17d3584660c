"""Weights of rows: which rows count, and by how much."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from calib.base.exceptions import InputError
from calib.data.validation import as_weights

Number = TypeVar("Number", float, np.ndarray)

_ONE = np.float64(1.0).tobytes()


class RowWeights(NamedTuple):
    counts: np.ndarray | slice  #: (n,) bool: Whether the weight is above 0; a slice if it is in all rows
    each: np.ndarray  #: (m,) float64: Weights above 0, divided by their mean
    differ: bool  #: Whether the weights differ; if not, `each` is 1


def row_weights(sample_weight: ArrayLike | None, n_samples: int) -> RowWeights:
    """Return checked weights of (n,) rows; None gives each row the weight 1."""
    everything = slice(None)
    if sample_weight is None:
        return RowWeights(everything, equal_weights(n_samples), False)
    weights = as_weights(sample_weight, n_samples)
    counts = weights > 0.0
    weights = weights[counts]
    if weights.min() < 1e-100 * weights.max():  # whose square would be 0
        raise InputError("sample_weight must not differ by more than 1e+100 times")
    chosen = everything if len(weights) == n_samples else counts
    if weights.min() == weights.max():
        return RowWeights(chosen, equal_weights(len(weights)), False)
    weights = weights / weights.max()
    return RowWeights(chosen, weights / weights.mean(), True)


def equal_weights(n: int) -> np.ndarray:
    return np.ndarray(n, np.float64, _ONE, strides=(0,))


def effective_rows(weight: Number, square: Number) -> Number:
    """Return the rows of equal weight whose mean is as noisy (Kish 1965), from sums of weights and squares.

    >>> effective_rows(1.0 + 1.0 + 2.0, 1.0 + 1.0 + 4.0)
    2.6666666666666665
    """
    return weight * (weight / square)
