"""Canonical calibration error: how far mean predicted vectors are from label frequencies, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.predictions import BasePrediction, Predictions, Scores, Values
from calib.data.validation import as_labels
from calib.data.weights import row_weights
from calib.evidence.rows import Source, known_rows


@dataclass(frozen=True, eq=False, repr=False)
class CellMeans(Result):
    cell: np.ndarray  #: (m,) int64 array: cell numbers, ascending
    count: np.ndarray  #: (m,) int64 array: rows in each
    weight: np.ndarray  #: (m,) array: sum of their weights; `count` if rows are unweighted
    predicted: np.ndarray  #: (m, L) float64 array: mean predicted vector
    observed: np.ndarray | None  #: (m, L) float64 array: label frequencies; None without labels
    position: np.ndarray  #: (n,) int64 array: index of the cell of every row that counts in these arrays

    @property
    def share(self) -> np.ndarray:
        return self.weight / self.weight.sum()

    def distance(self, norm: int = 1) -> np.ndarray:
        if self.observed is None:
            raise InputError("the calibration error needs the true labels; got None")
        if norm not in (1, 2):
            raise InputError(f"norm must be 1 (L1) or 2 (Euclidean); got {norm!r}")
        return np.linalg.norm(self.observed - self.predicted, ord=norm, axis=1)

    def error(self, norm: int = 1) -> float:
        """Return the mean distance over rows: the canonical calibration error."""
        return float(self.distance(norm) @ self.weight / self.weight.sum())


def vectors_of(rows: BasePrediction) -> np.ndarray:
    if not isinstance(rows, Predictions):
        raise InputError(
            f"canonical calibration is about a probability for every class; got a {type(rows).__name__}"
        )
    return rows.proba


def cell_means(rows: BasePrediction, cells: Values | None) -> CellMeans:
    """Average predictions, and labels if they are known, over the rows of each of the (n,) cells."""
    if cells is None:
        raise InputError("cells are missing: pass the cell of each row, as from CanonicalBinning.assign")
    matrix = vectors_of(rows)
    numbers = as_labels(cells, len(matrix), None, "cells")
    counts, weights, differ = row_weights(rows.sample_weight, len(matrix))
    matrix, numbers = matrix[counts], numbers[counts]
    cell, position, count = np.unique(numbers, return_inverse=True, return_counts=True)
    weight = np.bincount(position, weights) if differ else count
    sums = np.column_stack([np.bincount(position, column * weights, len(cell)) for column in matrix.T])
    observed = None
    if rows.labels is not None:
        place = position * sums.shape[1] + rows.labels[counts]
        observed = np.bincount(place, weights, sums.size).reshape(sums.shape) / weight[:, None]
    return CellMeans(cell, count, weight, sums / weight[:, None], observed, position)


def canonical_ece(
    y_true: Source,
    proba: Scores | None = None,
    cells: Values | None = None,
    *,
    norm: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> float:
    """Estimate the canonical calibration error E ||E[Y | cell] - E[g(X) | cell]|| over cells.

    Parameters
    ----------
    y_true, sample_weight, cluster
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
    return cell_means(known_rows(y_true, proba, sample_weight, cluster), cells).error(norm)
