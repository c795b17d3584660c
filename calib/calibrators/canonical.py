"""Canonical calibration (App. G of the paper): mean labels in the cells of the probability simplex."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

import calib.calibrators.simplex_cells as simplex_cells
from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks
from calib.data.kinds import check_equal_rows
from calib.data.predictions import Predictions, TopLabelPrediction, check_same_classes, names_given
from calib.data.validation import as_finite, check_choice, check_columns, check_count, check_labelled

#: Cells are numbered in int64; schemes with more cells than this are refused.
MOST_CELLS = 2**62


class SimplexScheme(BaseEstimator):
    """A partition of the probability simplex into numbered cells; the base of the three schemes.

    Attributes
    ----------
    n_classes_ : int
        Number of classes L the scheme was fitted for.
    n_bins_ : int
        Number of cells; `assign` returns numbers in 0..n_bins_-1.
    """

    def fit(self, proba: Any, y: Any = None) -> SimplexScheme:
        """Learn the partition from (n, L) probabilities, L >= 3; the labels are not used.

        Raises
        ------
        InputError
            If `proba` is not a matrix of probabilities or has fewer than 3 columns, an option is out of
            range, or the scheme would have more than `MOST_CELLS` cells.
        """
        matrix = Predictions(proba).proba
        if matrix.shape[1] < 3:
            raise InputError(
                f"binning the simplex needs at least 3 classes; got {matrix.shape[1]} columns. "
                "For two classes use HistogramBinning on the score of one of them."
            )
        self.n_classes_ = matrix.shape[1]
        self._fit(matrix)
        return self

    def assign(self, proba: Any) -> np.ndarray:
        """Return the (n,) int64 cell number of every row of the (n, L) probabilities."""
        return map_row_blocks(self._assign, self._checked(proba))

    def interior(self, proba: Any) -> np.ndarray:
        """Return an (n,) mask of the rows that count in the bin means; the fixed schemes leave none out."""
        return map_row_blocks(self._interior, self._checked(proba))

    def _checked(self, proba: Any) -> np.ndarray:
        check_is_fitted(self, "n_bins_")
        return check_columns(Predictions(proba).proba, self.n_classes_)

    def count_cells(self, n_classes: int) -> int:
        """Return the number of cells for L classes, where the parameters of the scheme fix it."""
        raise NotImplementedError

    def _fit(self, matrix: np.ndarray) -> None:
        self.n_bins_ = self.count_cells(self.n_classes_)
        if self.n_bins_ > MOST_CELLS:
            raise InputError(
                f"{self!r} has more than {MOST_CELLS:.1e} cells for {self.n_classes_} classes, too many to "
                "number. Lower its resolution, merge classes with merge_classes, or use ProjectionScheme, "
                "whose number of bins you choose."
            )

    def _assign(self, block: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _interior(self, block: np.ndarray) -> np.ndarray:
        return np.ones(len(block), dtype=bool)


class SierpinskiScheme(SimplexScheme):
    """Recursive halving of the corners of the simplex (App. G.1).

    Depth 1 has a corner cell {s_l > 1/2} per class and one middle cell; every further level divides the
    corner cells again after mapping them onto the whole simplex, t_l = 2 s_l - 1 and t_u = 2 s_u. Middle
    cells stay whole. There are (L^(q+1) - 1) / (L - 1) cells at depth q.

    Parameters
    ----------
    depth : int
        Depth q >= 1.

    Notes
    -----
    Cells are numbered corner by corner, each with all cells it is divided into; the middle cell is the last.
    Doubling and subtracting 1 are exact in floating point, so membership is exact. For L = 3 and q = 2 the
    formula gives 13 cells; the paper's text prints 14.

    Examples
    --------
    >>> scheme = SierpinskiScheme(depth=2).fit([[0.9, 0.05, 0.05]])
    >>> scheme.n_bins_, scheme.assign([[0.9, 0.05, 0.05], [0.5, 0.5, 0.0], [0.6, 0.4, 0.0]]).tolist()
    (13, [0, 12, 1])
    """

    def __init__(self, depth: int = 2) -> None:
        self.depth = depth

    def count_cells(self, n_classes: int) -> int:
        """Return the number of cells for L classes."""
        return (n_classes ** (check_count(self.depth, "depth") + 1) - 1) // (n_classes - 1)

    def _assign(self, block: np.ndarray) -> np.ndarray:
        return simplex_cells.sierpinski_cells(block, self.depth)


class GridScheme(SimplexScheme):
    """Grid of cells with side tau = 1/K (App. G.2).

    Cell k = (k_1, ..., k_L), max(L, K+1) <= sum k <= K+L-1, holds the rows with K s_l in [k_l - 1, k_l] for
    every l; a row on a shared face belongs to the lexicographically smallest such k. Cells are numbered
    in that order. For L = 3 there are K^2 triangles of equal size.

    Parameters
    ----------
    cells : int
        K >= 1, the number of cells along an edge.

    Notes
    -----
    Rows are first divided by their sum. K s_l within 4 K machine epsilons (of the dtype of `proba`) of a
    whole number counts as that number: 0.6 is on its face although 0.6 has no exact binary form.

    Examples
    --------
    >>> scheme = GridScheme(cells=5).fit([[1.0, 0.0, 0.0]])
    >>> scheme.n_bins_, scheme.tuples([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]]).tolist()
    (25, [[1, 2, 3], [5, 1, 1]])
    """

    def __init__(self, cells: int = 5) -> None:
        self.cells = cells

    def tuples(self, proba: Any) -> np.ndarray:
        """Return the (n, L) int64 tuple k of every row's cell."""
        return map_row_blocks(lambda rows: simplex_cells.grid_tuples(rows, self.cells), self._checked(proba))

    def rank(self, tuples: np.ndarray) -> np.ndarray:
        """Return the (n,) int64 cell numbers of (n, L) tuples k: their lexicographic ranks from 0."""
        check_is_fitted(self, "n_bins_")
        return simplex_cells.grid_ranks(np.asarray(tuples), self.ways_left())

    def ways_left(self) -> np.ndarray:
        """Return the (L, cells) int64 counts of ways to go on from a column, by the sum spent before it."""
        low, high = max(0, self.cells + 1 - self.n_classes_), self.cells - 1
        return np.array(
            [
                [
                    _bounded_sums(width, high - spent) - _bounded_sums(width, low - 1 - spent)
                    for spent in range(self.cells)
                ]
                for width in range(self.n_classes_, 0, -1)
            ],
            dtype=np.int64,
        )

    def count_cells(self, n_classes: int) -> int:
        """Return the number of cells for L classes."""
        cells = check_count(self.cells, "cells")
        return _bounded_sums(n_classes, cells - 1) - _bounded_sums(n_classes, cells - n_classes)

    def _assign(self, block: np.ndarray) -> np.ndarray:
        return simplex_cells.grid_cells(block, self.cells, self.ways_left())


class ProjectionScheme(SimplexScheme):
    """Projection histogram binning, Algorithm 10 of the paper (App. G.3).

    Bin b < B is what the cut q_b^T s < T_b takes from the rows left over by the cuts before; T_b is the
    floor((n+1)/B)-th smallest projection of those rows. The last bin is the rest.

    Parameters
    ----------
    n_bins : int
        B >= 1.
    directions : {"rotating", "random"} or (D, L) array_like of float
        "rotating": -e_1, ..., -e_L, -e_1, ... (each cut takes the largest scores of one class);
        "random": unit vectors with uniform direction. Vectors of your own are scaled to unit length and
        taken in turn, from the first again after the last.
    random_state : int, Generator or None
        Seed of the random directions.

    Attributes
    ----------
    directions_ : (`n_bins_`, L) float64 array
        Unit vectors q_b.
    thresholds_ : (`n_bins_`,) float64 array
        Cuts T_b; the last is 1.01, above every projection.

    Notes
    -----
    Rows with q_s^T g = T_s for any s are left out of the bin means (`interior`), which leaves at least
    floor((n+1)/B) - 1 rows inside every bin when no two rows share a projection. With tied rows a cut can
    take more than its share; the cuts then stop as soon as another would leave fewer than that for the
    last bin (the printed algorithm would ask for an order statistic of too few rows), and `n_bins_` is
    smaller than `n_bins`.
    """

    def __init__(
        self,
        n_bins: int = 27,
        directions: str | ArrayLike = "rotating",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.directions = directions
        self.random_state = random_state

    def _fit(self, matrix: np.ndarray) -> None:
        n_bins = check_count(self.n_bins, "n_bins")
        share = (len(matrix) + 1) // n_bins
        if share < 1:
            raise InputError(
                f"n_bins={n_bins} needs at least {n_bins - 1} calibration rows; got {len(matrix)}. "
                "Lower n_bins or bring more rows."
            )
        directions = self._directions(n_bins)
        left = matrix
        thresholds: list[float] = []
        while len(thresholds) < n_bins - 1 and len(left) >= share:
            projection = simplex_cells.project(left, directions[len(thresholds)])
            threshold = np.partition(projection, share - 1)[share - 1]
            beyond = projection > threshold
            if np.count_nonzero(beyond) < share - 1:
                break
            thresholds.append(float(threshold))
            left = left[beyond]
        self.thresholds_ = np.array([*thresholds, 1.01])
        self.directions_ = directions[: len(self.thresholds_)]
        self.n_bins_ = len(self.thresholds_)

    def _directions(self, n_bins: int) -> np.ndarray:
        if not isinstance(self.directions, str):
            vectors = as_finite(self.directions, ndim=2, what="directions")
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            if vectors.shape[1] != self.n_classes_ or not (lengths > 0.0).all():
                raise InputError(
                    f"directions must be 'rotating', 'random' or rows of {self.n_classes_} numbers, "
                    f"not all 0; got {len(vectors)} rows of {vectors.shape[1]}"
                )
            return (vectors / lengths)[np.arange(n_bins) % len(vectors)]
        if check_choice(self.directions, ("rotating", "random"), "directions") == "rotating":
            return -np.eye(self.n_classes_)[np.arange(n_bins) % self.n_classes_]
        normal = np.random.default_rng(self.random_state).standard_normal((n_bins, self.n_classes_))
        return normal / np.linalg.norm(normal, axis=1, keepdims=True)

    def _assign(self, block: np.ndarray) -> np.ndarray:
        return simplex_cells.projection_cells(block, self.directions_, self.thresholds_)

    def _interior(self, block: np.ndarray) -> np.ndarray:
        inside = np.ones(len(block), dtype=bool)
        for direction, threshold in zip(self.directions_, self.thresholds_, strict=True):
            inside &= simplex_cells.project(block, direction) != threshold
        return inside


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

    def __init__(self, scheme: SimplexScheme) -> None:
        self.scheme = scheme

    def fit(self, proba: Any, y: Any) -> CanonicalBinning:
        """Fit the scheme on (n, L) probabilities and average the labels (n,) in each of its cells.

        Raises
        ------
        InputError
            If the data are not probabilities and class codes of 3 or more classes, or the scheme cannot be
            fitted to them.
        """
        if not isinstance(self.scheme, SimplexScheme):
            raise InputError(
                "scheme must be a SierpinskiScheme, GridScheme or ProjectionScheme; "
                f"got {type(self.scheme).__name__}"
            )
        check_equal_rows(proba, "Simplex")
        self.class_names_ = names_given(proba)
        data = Predictions(getattr(proba, "proba", proba), y)
        labels = check_labelled(data.labels, "fit")
        self.scheme_ = clone(self.scheme).fit(data.proba)
        self.n_classes_, self.n_bins_ = data.n_classes, self.scheme_.n_bins_
        inside = self.scheme_.interior(data.proba)
        self.n_boundary_ = int(data.n_samples - np.count_nonzero(inside))
        self.cells_, index = np.unique(self.scheme_.assign(data.proba)[inside], return_inverse=True)
        entries = index * self.n_classes_ + labels[inside]
        table = np.bincount(entries, minlength=len(self.cells_) * self.n_classes_)
        table = table.reshape(-1, self.n_classes_)
        self.counts_ = table.sum(axis=1)
        self.values_ = table / self.counts_[:, None]
        return self

    def assign(self, proba: Any) -> np.ndarray:
        """Return the (n,) int64 cell number, 0..n_bins_-1, of every row of the (n, L) probabilities."""
        check_is_fitted(self, "values_")
        check_same_classes(self, proba)
        return self.scheme_.assign(getattr(proba, "proba", proba))

    def value_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the (n, L) vectors predicted in the (n,) numbered cells; 1/L in cells without rows."""
        index, occupied = self._find(cells)
        values = np.full((len(cells), self.n_classes_), 1.0 / self.n_classes_)
        values[occupied] = self.values_[index[occupied]]
        return values

    def count_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the (n,) int64 numbers of calibration rows behind the (n,) numbered cells."""
        index, occupied = self._find(cells)
        counts = np.zeros(len(cells), dtype=np.int64)
        counts[occupied] = self.counts_[index[occupied]]
        return counts

    def _find(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "values_")
        return simplex_cells.find_cells(np.asarray(cells), self.cells_)

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


def _bounded_sums(width: int, largest: int) -> int:
    """Count the tuples of `width` integers >= 0 that sum to at most `largest`."""
    return comb(largest + width, width) if largest >= 0 else 0
