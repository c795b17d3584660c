"""The cell of the probability simplex of each row (App. G of the paper)."""

import numpy as np


def sierpinski_cells(proba: np.ndarray, depth: int) -> np.ndarray:
    """Cell of each row after `depth` halvings of the corners; a middle cell follows its corners."""
    n_classes = proba.shape[1]
    cells = np.zeros(len(proba), dtype=np.int64)
    rows, local = np.arange(len(proba)), proba.astype(np.float64)
    for level in range(depth - 1, -1, -1):
        cells_in_corner = (n_classes ** (level + 1) - 1) // (n_classes - 1)
        corner = local.argmax(axis=1)
        inside = local[np.arange(len(rows)), corner] > 0.5
        cells[rows[~inside]] += n_classes * cells_in_corner
        rows, corner = rows[inside], corner[inside]
        cells[rows] += corner * cells_in_corner
        local = 2.0 * local[inside]
        local[np.arange(len(rows)), corner] -= 1.0
    return cells


def grid_tuples(proba: np.ndarray, side: int) -> np.ndarray:
    """Tuple k of each row's grid cell, (n, L) int64: side * s_l in [k_l - 1, k_l], the smallest such k."""
    wide = proba.astype(np.float64)
    scaled = wide / np.einsum("ij->i", wide)[:, None] * side
    whole = np.rint(scaled)
    on_face = np.abs(scaled - whole) <= 4 * side * np.finfo(proba.dtype).eps
    tuples = np.maximum(np.where(on_face, whole, np.ceil(scaled)).astype(np.int64), 1)
    # The smallest candidates sum to the side only if every side * s_l is whole and positive; the missing
    # step raises the order least in the last entry.
    tuples[tuples.sum(axis=1) == side, -1] += 1
    return tuples


def grid_ranks(tuples: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Lexicographic rank of each tuple, from 0, without listing any.

    `left[column, spent]` counts the tuples from a column on if the entries before it sum to `spent`.
    """
    rank = np.zeros(len(tuples), dtype=np.int64)
    spent = np.zeros(len(tuples), dtype=np.int64)
    for column in range(tuples.shape[1]):
        after = spent + tuples[:, column] - 1
        rank += left[column][spent] - left[column][after]
        spent = after
    return rank


def project(proba: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return `proba @ direction` row by row, because BLAS may round a row differently in another batch."""
    total = np.zeros(len(proba))
    for column in np.flatnonzero(direction):
        total += proba[:, column] * direction[column]
    return total


def projection_cells(proba: np.ndarray, directions: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """First cut that contains each row; the last cell holds the rest."""
    last = len(thresholds) - 1
    cells, rows = np.full(len(proba), last, dtype=np.int64), np.arange(len(proba))
    for cell in range(last):
        taken = project(proba[rows], directions[cell]) < thresholds[cell]
        cells[rows[taken]] = cell
        rows = rows[~taken]
    return cells


def find_cells(cells: np.ndarray, occupied: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of each cell among the ascending `occupied` cells, and whether it is occupied."""
    index = np.searchsorted(occupied, cells)
    present = index < len(occupied)
    present[present] = occupied[index[present]] == cells[present]
    return index, present
