"""Canonical calibration (App. G of the paper): mean labels in the cells of the probability simplex."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks
from calib.calibrators.calibrator import Fittable, VectorCalibrator
from calib.data.kinds import check_equal_rows
from calib.data.notions import PerClass, Strategy
from calib.data.predictions import Predictions, Scores, Values, labelled, names_given, score_matrix
from calib.data.validation import as_finite, check_choice, check_columns, check_count, random_generator

#: Most cells of a scheme: they are numbered in int64.
MOST_CELLS = 2**62


class SimplexScheme(Fittable):
    """A partition of the probability simplex into `n_bins_` numbered cells; the base of the three schemes."""

    def fit(self, proba: Scores, y: Any = None) -> SimplexScheme:
        """Learn the partition from (n, L) probabilities; the labels are not used.

        Raises
        ------
        InputError
            If `proba` has no probabilities or fewer than 3 columns, an option is out of range, or there would
            be more than `MOST_CELLS` cells.
        """
        matrix = Predictions(score_matrix(proba, "proba")).proba
        if matrix.shape[1] < 3:
            raise InputError(
                f"binning the simplex needs at least 3 classes; got {matrix.shape[1]} columns. "
                "For two classes use HistogramBinning on the score of one of them."
            )
        self.n_classes_ = matrix.shape[1]
        self._fit(matrix)
        return self

    def assign(self, proba: Scores) -> np.ndarray:
        """Return the cell of each row, (n,) int64 in 0..n_bins_-1."""
        return map_row_blocks(self._assign, self._checked(proba))

    def interior(self, proba: Scores) -> np.ndarray:
        """Return which rows count in the means of cells, (n,) bool: all, except rows on cuts."""
        return map_row_blocks(self._interior, self._checked(proba))

    def _checked(self, proba: Scores) -> np.ndarray:
        check_is_fitted(self, "n_bins_")
        return check_columns(Predictions(score_matrix(proba, "proba")).proba, self.n_classes_)

    def count_cells(self, n_classes: int) -> int:
        """Return the number of cells for L classes, if the parameters fix it."""
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

    Depth 1 has a corner cell {s_l > 1/2} for each class and a middle cell. Each further level divides the
    corner cells again after mapping them to the whole simplex, t_l = 2 s_l - 1 and t_u = 2 s_u. There are
    (L^(q+1) - 1) / (L - 1) cells at depth q.

    Parameters
    ----------
    depth : int
        Depth q >= 1.

    Notes
    -----
    Cells are numbered corner by corner; the middle cell is last. For L = 3 and q = 2 the formula gives 13
    cells; the paper's text prints 14.

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
        n_classes = self.n_classes_
        cells = np.zeros(len(block), dtype=np.int64)
        rows, local = np.arange(len(block)), block.astype(np.float64)
        for level in range(self.depth - 1, -1, -1):
            cells_in_corner = (n_classes ** (level + 1) - 1) // (n_classes - 1)
            corner = local.argmax(axis=1)
            inside = local[np.arange(len(rows)), corner] > 0.5
            cells[rows[~inside]] += n_classes * cells_in_corner
            rows, corner = rows[inside], corner[inside]
            cells[rows] += corner * cells_in_corner
            local = 2.0 * local[inside]
            local[np.arange(len(rows)), corner] -= 1.0
        return cells


class GridScheme(SimplexScheme):
    """Grid of cells with side 1/K (App. G.2).

    Cell k = (k_1, ..., k_L), max(L, K+1) <= sum k <= K+L-1, holds the rows with K s_l in [k_l - 1, k_l] for
    every l. Cells are numbered in lexicographic order of k; a row on a shared face belongs to the first. For
    L = 3 there are K^2 triangles of equal size.

    Parameters
    ----------
    cells : int
        K >= 1, the number of cells along an edge.

    Examples
    --------
    >>> scheme = GridScheme(cells=5).fit([[1.0, 0.0, 0.0]])
    >>> scheme.n_bins_, scheme.assign([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]]).tolist()
    (25, [2, 24])
    """

    def __init__(self, cells: int = 5) -> None:
        self.cells = cells

    def rank(self, tuples: np.ndarray) -> np.ndarray:
        """Return the cell numbers, (n,) int64, of (n, L) tuples k."""
        check_is_fitted(self, "n_bins_")
        left = self.ways_left()
        rank, spent = np.zeros((2, len(tuples)), dtype=np.int64)
        for ways, sides in zip(left, np.asarray(tuples).T, strict=True):
            after = spent + sides - 1
            rank += ways[spent] - ways[after]
            spent = after
        return rank

    def ways_left(self) -> np.ndarray:
        """Count the tuples from a column on, by the sum of the entries before it, (L, cells) int64."""
        low, high = max(0, self.cells + 1 - self.n_classes_), self.cells - 1

        def ways(width: int, spent: int) -> int:
            return _bounded_sums(width, high - spent) - _bounded_sums(width, low - 1 - spent)

        widths = range(self.n_classes_, 0, -1)
        table = [[ways(width, spent) for spent in range(self.cells)] for width in widths]
        return np.array(table, dtype=np.int64)

    def count_cells(self, n_classes: int) -> int:
        """Return the number of cells for L classes."""
        cells = check_count(self.cells, "cells")
        return _bounded_sums(n_classes, cells - 1) - _bounded_sums(n_classes, cells - n_classes)

    def _assign(self, block: np.ndarray) -> np.ndarray:
        side, wide = self.cells, block.astype(np.float64)
        scaled = wide / np.einsum("ij->i", wide)[:, None] * side
        whole = np.rint(scaled)
        on_face = np.abs(scaled - whole) <= 4 * side * np.finfo(block.dtype).eps
        tuples = np.maximum(np.where(on_face, whole, np.ceil(scaled)).astype(np.int64), 1)
        # A tuple that sums to the side is on a face: every side * s_l is whole. The first of the cells there
        # has 1 more in the last entry.
        tuples[tuples.sum(axis=1) == side, -1] += 1
        return self.rank(tuples)


class ProjectionScheme(SimplexScheme):
    """Projection histogram binning, Algorithm 10 of the paper (App. G.3).

    Bin b < B holds the rows with q_b^T s < T_b that are in no earlier bin; T_b is the floor((n+1)/B)-th
    smallest projection of the rows in no earlier bin. The last bin holds the rest.

    Parameters
    ----------
    n_bins : int
        B >= 1.
    directions : {"rotating", "random"} or (D, L) array_like of float
        "rotating": -e_1, ..., -e_L, -e_1, ... (each cut takes the largest scores of a class); "random":
        uniform directions. Your own vectors are scaled to unit length and taken in turn.
    random_state : int, Generator or None
        Seed of the random directions.

    Attributes
    ----------
    directions_, thresholds_ : (`n_bins_`, L) and (`n_bins_`,) float64 arrays
        Unit vectors q_b and cuts T_b; the last is 1.01, above every projection.

    Notes
    -----
    Rows on a cut are left out of the bin means, which leaves at least floor((n+1)/B) - 1 rows inside every
    bin if no two rows share a projection. With ties, cuts stop before the last bin gets fewer, and `n_bins_`
    is smaller than `n_bins`.
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
            projection = _project(left, directions[len(thresholds)])
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
        normal = random_generator(self.random_state).standard_normal((n_bins, self.n_classes_))
        return normal / np.linalg.norm(normal, axis=1, keepdims=True)

    def _assign(self, block: np.ndarray) -> np.ndarray:
        last = self.n_bins_ - 1
        cells, rows = np.full(len(block), last, dtype=np.int64), np.arange(len(block))
        for cell in range(last):
            taken = _project(block[rows], self.directions_[cell]) < self.thresholds_[cell]
            cells[rows[taken]] = cell
            rows = rows[~taken]
        return cells

    def _interior(self, block: np.ndarray) -> np.ndarray:
        inside = np.ones(len(block), dtype=bool)
        for direction, threshold in zip(self.directions_, self.thresholds_, strict=True):
            inside &= _project(block, direction) != threshold
        return inside


class CanonicalBinning(VectorCalibrator):
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
    cells_, counts_ : (m,) int64 arrays
        Numbers of the cells that hold calibration rows, ascending, and these rows.
    values_ : (m, L) float64 array
        Mean label vector of each. Other cells predict 1/L (the paper prints 1/B, which does not sum to 1).
    n_boundary_ : int
        Calibration rows left out because they lie on a cut (projection scheme).

    Examples
    --------
    >>> proba = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.6, 0.2, 0.2]]
    >>> calibrator = CanonicalBinning(SierpinskiScheme(depth=1)).fit(proba, [0, 0, 2])
    >>> calibrator.predict_proba([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]]).round(3).tolist()
    [[0.667, 0.0, 0.333], [0.333, 0.333, 0.333]]
    """

    def __init__(self, scheme: SimplexScheme) -> None:
        self.scheme = scheme

    def fit(self, proba: Scores, y: Values | None = None) -> CanonicalBinning:
        """Fit the scheme on (n, L) probabilities and average the (n,) labels in each cell.

        Labelled predictions need no labels beside them.

        Raises
        ------
        InputError
            If the data are not probabilities and class codes of 3 or more classes, or the scheme refuses
            them.
        """
        if not isinstance(self.scheme, SimplexScheme):
            raise InputError(
                "scheme must be a SierpinskiScheme, GridScheme or ProjectionScheme; "
                f"got {type(self.scheme).__name__}"
            )
        check_equal_rows(proba, "Canonical binning")
        self.class_names_ = names_given(proba)
        rows = labelled(y, proba, what="proba")
        data = Predictions(score_matrix(rows, "proba"), rows.truth)
        self.scheme_ = clone(self.scheme).fit(data.proba)
        self.n_classes_, self.n_bins_ = data.n_classes, self.scheme_.n_bins_
        inside = self.scheme_.interior(data.proba)
        self.n_boundary_ = int(data.n_samples - np.count_nonzero(inside))
        self.cells_, index = np.unique(self.scheme_.assign(data.proba)[inside], return_inverse=True)
        table = np.zeros((len(self.cells_), self.n_classes_), dtype=np.int64)
        np.add.at(table, (index, data.truth[inside]), 1)
        self.counts_ = table.sum(axis=1)
        self.values_ = table / self.counts_[:, None]
        return self

    def assign(self, proba: Scores) -> np.ndarray:
        """Return the cell of each row, (n,) int64 in 0..n_bins_-1."""
        matrix = self._checked(proba)
        return self.scheme_.assign(matrix)

    def value_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the vectors predicted in the (n,) numbered cells, (n, L)."""
        even = np.full(self.n_classes_, 1.0 / self.n_classes_)
        return np.vstack([self.values_, even])[self._find(cells)]

    def count_of(self, cells: np.ndarray) -> np.ndarray:
        """Return the calibration rows of the (n,) numbered cells, (n,) int64."""
        return np.append(self.counts_, 0)[self._find(cells)]

    def _find(self, cells: np.ndarray) -> np.ndarray:
        """Place of each cell among `cells_`, m for a cell without calibration rows."""
        check_is_fitted(self, "values_")
        index = np.searchsorted(self.cells_, cells)
        return np.where(np.append(self.cells_, -1)[index] == cells, index, len(self.cells_))

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        return self.value_of(self.scheme_.assign(matrix))

    def _strategy(self, whole: bool) -> Strategy:
        return PerClass()


def _project(proba: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return `proba @ direction` row by row, because BLAS may round a row differently in another batch."""
    total = np.zeros(len(proba))
    for column in np.flatnonzero(direction):
        total += proba[:, column] * direction[column]
    return total


def _bounded_sums(width: int, largest: int) -> int:
    """Count the tuples of `width` integers >= 0 that sum to at most `largest`."""
    return comb(largest + width, width) if largest >= 0 else 0
