"""Canonical calibration by binning the whole probability vector (App. G of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.schemes import GridScheme, ProjectionScheme, SierpinskiScheme, SimplexScheme
from calib.calibrators.simplex_cells import find_cells
from calib.exceptions import InputError
from calib.predictions import Predictions, TopLabelPrediction

__all__ = ["CanonicalBinning", "GridScheme", "ProjectionScheme", "SierpinskiScheme", "SimplexScheme"]


class CanonicalBinning(BaseEstimator):
    """Predict the mean label vector of the simplex cell a prediction falls in (App. G).

    Parameters
    ----------
    scheme : SierpinskiScheme, GridScheme or ProjectionScheme
        How the simplex is divided.

    Attributes
    ----------
    scheme_ : SimplexScheme
        The fitted scheme.
    n_classes_, n_bins_ : int
        Number of classes L and of cells.
    cells_ : (m,) int64 array
        Numbers of the cells that hold calibration rows, ascending; all other cells predict 1/L.
    counts_ : (m,) int64 array
        Calibration rows behind each of them.
    values_ : (m, L) float64 array
        Mean label vector of each of them.
    n_boundary_ : int
        Calibration rows left out of the means because they lie on a cut (projection scheme only).

    Notes
    -----
    An empty cell predicts 1/L; the paper prints 1/B, which does not sum to 1 over the classes.

    Examples
    --------
    >>> proba = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.6, 0.2, 0.2]]
    >>> calibrator = CanonicalBinning(SierpinskiScheme(depth=1)).fit(proba, [0, 0, 2])
    >>> calibrator.predict_proba([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]]).round(3).tolist()
    [[0.667, 0.0, 0.333], [0.333, 0.333, 0.333]]
    """

    scheme_: SimplexScheme
    n_classes_: int
    n_bins_: int
    cells_: np.ndarray
    counts_: np.ndarray
    values_: np.ndarray
    n_boundary_: int

    def __init__(self, scheme: SimplexScheme) -> None:
        self.scheme = scheme

    def fit(self, proba: Any, y: Any) -> CanonicalBinning:
        """Fit the scheme on (n, L) probabilities and average the labels (n,) in each of its cells.

        Raises
        ------
        InputError
            If the data are not probabilities and class codes of 3 or more classes, or the scheme
            refuses them.
        """
        if not isinstance(self.scheme, SimplexScheme):
            raise InputError(
                "scheme must be a SierpinskiScheme, GridScheme or ProjectionScheme; "
                f"got {type(self.scheme).__name__}"
            )
        data = Predictions(getattr(proba, "proba", proba), y)
        if data.labels is None:
            raise InputError("fit needs the true labels; got y=None")
        self.scheme_ = clone(self.scheme).fit(data.proba)
        self.n_classes_, self.n_bins_ = data.n_classes, self.scheme_.n_bins_
        inside = self.scheme_.interior(data.proba)
        self.n_boundary_ = int(data.n_samples - np.count_nonzero(inside))
        self.cells_, index = np.unique(self.scheme_.assign(data.proba)[inside], return_inverse=True)
        table = np.bincount(
            index * self.n_classes_ + data.labels[inside], minlength=len(self.cells_) * self.n_classes_
        ).reshape(-1, self.n_classes_)
        self.counts_ = table.sum(axis=1)
        self.values_ = table / self.counts_[:, None]
        return self

    def assign(self, proba: Any) -> np.ndarray:
        """Return the (n,) int64 cell number, 0..n_bins_-1, of every row of the (n, L) probabilities."""
        check_is_fitted(self, "values_")
        return self.scheme_.assign(getattr(proba, "proba", proba))

    def value_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the (n, L) vectors predicted in the (n,) numbered cells; 1/L in cells without rows."""
        at, known = self._find(cells)
        values = np.full((len(cells), self.n_classes_), 1.0 / self.n_classes_)
        values[known] = self.values_[at[known]]
        return values

    def count_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the (n,) int64 numbers of calibration rows behind the (n,) numbered cells."""
        at, known = self._find(cells)
        counts = np.zeros(len(cells), dtype=np.int64)
        counts[known] = self.counts_[at[known]]
        return counts

    def _find(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "values_")
        return find_cells(np.asarray(cells), self.cells_)

    def predict_proba(self, proba: Any) -> np.ndarray:
        """Return the (n, L) float64 recalibrated vectors of the (n, L) probabilities; rows sum to 1."""
        return self.value_of(self.assign(proba))

    def predict(self, proba: Any) -> np.ndarray:
        """Return the (n,) int64 class with the largest recalibrated probability.

        It can differ from the class with the largest probability in `proba`.
        """
        return self.predict_top(proba).label

    def predict_top(self, proba: Any) -> TopLabelPrediction:
        """Return the class with the largest recalibrated probability, and that probability."""
        return Predictions(self.predict_proba(proba)).top
