"""Canonical calibration error: how far mean predicted vectors are from label frequencies, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.exceptions import InputError
from calib.validation import as_labels, as_scores


@dataclass(frozen=True, eq=False)
class CellMeans:
    """Mean prediction and label frequencies of each occupied cell.

    Attributes
    ----------
    cell : (m,) int64 array
        Cell numbers, ascending.
    count : (m,) int64 array
        Rows in each.
    predicted : (m, L) float64 array
        Mean predicted vector.
    observed : (m, L) float64 array or None
        Label frequencies; None without labels.
    position : (n,) int64 array
        Index of every row's cell in these arrays.
    """

    cell: np.ndarray
    count: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray | None
    position: np.ndarray

    def distance(self, norm: int = 1) -> np.ndarray:
        """Return the L1 or L2 distance between label frequencies and mean prediction, (m,)."""
        if self.observed is None:
            raise InputError("the calibration error needs the true labels; got None")
        if norm not in (1, 2):
            raise InputError(f"norm must be 1 (L1) or 2 (Euclidean); got {norm!r}")
        return np.linalg.norm(self.observed - self.predicted, ord=norm, axis=1)


def cell_means(y_true: Any, proba: Any, cells: Any) -> CellMeans:
    """Average predictions and labels over the rows of each cell.

    Parameters
    ----------
    y_true : (n,) array_like of int or None
        True class codes.
    proba : (n, L) array_like
        Predicted vectors.
    cells : (n,) array_like of int
        Cell number of each row, as from `CanonicalBinning.assign`.

    Raises
    ------
    InputError
        If shapes disagree or values are out of range.
    """
    matrix = as_scores(proba, ndim=2, what="proba")
    numbers = as_labels(cells, len(matrix), None)
    cell, position, count = np.unique(numbers, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(position, column, len(cell)) for column in matrix.T])
    observed = None
    if y_true is not None:
        labels = as_labels(y_true, *matrix.shape)
        table = np.bincount(position * sums.shape[1] + labels, minlength=sums.size)
        observed = table.reshape(sums.shape) / count[:, None]
    return CellMeans(cell, count, sums / count[:, None], observed, position)


def canonical_ece(y_true: Any, proba: Any, cells: Any, *, norm: int = 1) -> float:
    """Estimate the canonical calibration error E ||E[Y | cell] - E[g(X) | cell]|| over cells.

    Parameters
    ----------
    y_true, proba, cells
        As for `cell_means`. Use the same cells for base and recalibrated predictions.
    norm : {1, 2}
        L1 distance (at most 2; twice the total variation) or Euclidean distance (at most sqrt 2) between the
        vectors (Widmann et al. 2019). The distances are averaged over rows, not squared.

    Examples
    --------
    >>> canonical_ece([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 0])
    0.5
    """
    means = cell_means(y_true, proba, cells)
    return float(means.distance(norm) @ means.count / means.count.sum())
