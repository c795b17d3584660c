"""Canonical calibration error: how far mean predicted vectors are from label frequencies, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.predictions import weighted_rows
from calib.data.validation import as_class_scores, as_labels, check_order


@dataclass(frozen=True, eq=False, repr=False)
class CellMeans(Result):
    """Mean prediction and label frequencies of each occupied cell."""

    cell: np.ndarray  #: (m,) int64 array: cell numbers, ascending
    count: np.ndarray  #: (m,) int64 array: rows in each
    weight: np.ndarray  #: (m,) array: sum of their weights; `count` if rows are unweighted
    predicted: np.ndarray  #: (m, L) float64 array: mean predicted vector
    observed: np.ndarray | None  #: (m, L) float64 array: label frequencies; None without labels
    position: np.ndarray  #: (n,) int64 array: index of every row's cell in these arrays
    #: (n,) float64 array: weights of the rows, with mean 1. Rows of weight 0 do not count.
    row_weights: np.ndarray | None = None

    @property
    def share(self) -> np.ndarray:
        return self.weight / self.weight.sum()

    def distance(self, norm: int = 1) -> np.ndarray:
        """Return the L1 or L2 distance between label frequencies and mean prediction, (m,)."""
        if self.observed is None:
            raise InputError("the calibration error needs the true labels; got None")
        if norm not in (1, 2):
            raise InputError(f"norm must be 1 (L1) or 2 (Euclidean); got {norm!r}")
        return np.linalg.norm(self.observed - self.predicted, ord=norm, axis=1)

    def error(self, norm: int = 1) -> float:
        """Return the mean distance over rows: the canonical calibration error."""
        return float(self.distance(norm) @ self.weight / self.weight.sum())


def cell_means(y_true: Any, proba: Any, cells: Any, sample_weight: Any = None) -> CellMeans:
    """Average predictions, (n, L), and labels (or None) over the rows of each of the (n,) cells."""
    check_order(y_true, proba)
    matrix = as_class_scores(proba, "proba")
    numbers = as_labels(cells, len(matrix), None)
    numbers, matrix, weights = weighted_rows(numbers, matrix, sample_weight)
    if y_true is not None:
        y_true = weighted_rows(y_true, y_true, sample_weight)[0]
    cell, position, count = np.unique(numbers, return_inverse=True, return_counts=True)
    weight, weighted = count, matrix
    if weights is not None:
        weight, weighted = np.bincount(position, weights), matrix * weights[:, None]
    sums = np.column_stack([np.bincount(position, column, len(cell)) for column in weighted.T])
    observed = None
    if y_true is not None:
        labels = as_labels(y_true, *matrix.shape)
        table = np.bincount(position * sums.shape[1] + labels, weights, minlength=sums.size)
        observed = table.reshape(sums.shape) / weight[:, None]
    return CellMeans(cell, count, weight, sums / weight[:, None], observed, position, weights)


def canonical_ece(y_true: Any, proba: Any, cells: Any, *, norm: int = 1, sample_weight: Any = None) -> float:
    """Estimate the canonical calibration error E ||E[Y | cell] - E[g(X) | cell]|| over cells.

    Parameters
    ----------
    y_true, sample_weight
        As for `calib.ece`.
    proba : (n, L) array_like
        Predicted vectors.
    cells : (n,) array_like of int
        Cell of each row, as from `CanonicalBinning.assign`; the same for base and calibrated predictions.
    norm : {1, 2}
        L1 distance (at most 2) or Euclidean distance (at most sqrt 2) between the vectors (Widmann et al.
        2019). Distances are averaged over rows, not squared.

    Examples
    --------
    >>> canonical_ece([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 0])
    0.5
    """
    return cell_means(y_true, proba, cells, sample_weight).error(norm)
