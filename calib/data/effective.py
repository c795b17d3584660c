"""What weighted rows are worth."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Number = TypeVar("Number", float, np.ndarray)


def effective_rows(weight: Number, square: Number) -> Number:
    """Return the rows of equal weight whose mean is as noisy (Kish 1965), from sums of weights and squares.

    >>> effective_rows(1.0 + 1.0 + 2.0, 1.0 + 1.0 + 4.0)
    2.6666666666666665
    """
    return weight * (weight / square)
