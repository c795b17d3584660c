"""Matrices of scores: checked and copied in blocks, on threads; rows made to sum to 1."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks, map_threads, row_blocks

#: Largest distance of a row's sum from 1; softmax in float16 over 1,000 classes misses by about 5e-4.
ROW_SUM_TOLERANCE = 1e-3
#: The whole numbers that hold the bits of a float, by its type.
BITS: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.uint64),
}
ONE = {kind: np.ones(1, kind).view(bits)[0] for kind, bits in BITS.items()}
#: Most columns for which the highest score is searched column by column, which is faster for short rows.
NARROW = 24
#: Rows of smaller calibrated scores count as zeros: histogram binning separates bins of value 0 by less.
NOTHING = 1e-9
#: Least sum of the other classes that their shares are taken from.
LEAST_REST = 1e-300


def highest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column of the highest score of each row of an (n, L) matrix, ties to the lowest, and that score."""
    return highest_checked(scores)[:2]


def highest_checked(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return `highest`, and whether the same pass has shown that all scores are in [0, 1]."""
    n_columns = scores.shape[1]
    label = np.empty(len(scores), dtype=np.int64)
    top = np.empty(len(scores), dtype=scores.dtype)
    backwards = np.arange(n_columns, 0, -1, dtype=np.uint8)[:, None] if n_columns <= NARROW else None

    def find_in_rows(block: np.ndarray, order: np.ndarray, place: np.ndarray, best: np.ndarray) -> None:
        place[:] = order.argmax(axis=1)
        best[:] = block[np.arange(len(block)), place]

    def look(rows: slice) -> bool:
        block, place, best = scores[rows], label[rows], top[rows]
        if backwards is None:
            find_in_rows(block, bits_of(np.ascontiguousarray(block)), place, best)
        else:
            columns = bits_of(np.ascontiguousarray(block.T))
            highest_bits = columns.max(axis=0, out=bits_of(best))
            first = (columns == highest_bits).view(np.uint8)
            first *= backwards
            np.subtract(n_columns, first.max(axis=0), out=place, dtype=np.int64)
        if not (checked := are_shares(best)):
            find_in_rows(block, block, place, best)  # NaN if any is: it counts as highest
        return checked

    return label, top, all(map_threads(look, row_blocks(len(scores), n_columns)))


def bits_of(scores: np.ndarray) -> np.ndarray:
    """Return floats as whole numbers of the same bits.

    Floats of [0, 1] order like their bits; the bits of negative floats, -0.0 among them, and NaN are larger.
    """
    return scores.view(BITS[scores.dtype])


def are_shares(scores: np.ndarray) -> bool:
    """Return True if all floats are in [0, 1] and none is -0.0."""
    return bool(bits_of(scores).max(initial=0) <= ONE[scores.dtype])


def row_max(block: np.ndarray) -> np.ndarray:
    """Return the highest number of each row, column by column: this is faster for short rows."""
    return np.asfortranarray(block).max(axis=1)


def row_sums(matrix: np.ndarray) -> np.ndarray:
    def sums(block: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):  # inside: threads do not inherit it
            return block.sum(axis=1, dtype=np.float64)

    return map_row_blocks(sums, matrix)


def check_sums(matrix: np.ndarray, what: str, advice: str) -> np.ndarray:
    """Return the `row_sums` of probabilities, or raise `InputError` if one is not 1."""
    sums = row_sums(matrix)
    off = np.abs(sums - 1.0)
    worst = int(off.argmax())
    if off[worst] > ROW_SUM_TOLERANCE:
        raise InputError(
            f"{int((off > ROW_SUM_TOLERANCE).sum()):,} of {len(matrix):,} rows of {what} do not sum to 1; "
            f"row {worst} sums to {sums[worst]:.6g}. {advice}"
        )
    return sums


def softmax(z: np.ndarray) -> np.ndarray:
    """Return exp(z) of (n, L) floats divided by the sums of its rows, of the type of z.

    >>> softmax(np.log([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    if not isinstance(z, np.ndarray):  # a value of a program of calib.export
        return z.softmax()
    p = z - row_max(z)[:, None]
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


def softmax_rows(block: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # -1e308 - 1e308 is minus infinity, and its exp 0, as it should
        return softmax(block.astype(np.float64))


def normalised(scores: np.ndarray) -> np.ndarray:
    """Divide each row of (n, L) scores by its sum; rows of zeros become 1/L."""
    sums = _sums(scores)
    empty = sums <= NOTHING * scores.shape[1]
    if empty.any():
        scores = np.where(empty[:, None], scores.dtype.type(1.0), scores)
        sums[empty] = scores.shape[1]
    return scores / sums[:, None]


def completed(proba: np.ndarray, label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Give `label` its confidence; the others share the rest in proportion to `proba`, or evenly."""
    rows = np.arange(len(proba))
    rest = proba.astype(np.float64)
    rest[rows, label] = 0.0
    sums = _sums(rest)
    empty = sums < LEAST_REST
    rest[empty] = 1.0
    rest[rows[empty], label[empty]] = 0.0
    sums[empty] = proba.shape[1] - 1
    rest *= ((1.0 - confidence) / sums)[:, None]
    rest[rows, label] = confidence
    return rest


def _sums(rows: np.ndarray) -> np.ndarray:
    """Use einsum, because `sum` takes ten times as long for few columns."""
    return np.einsum("ij->i", rows, dtype=np.float64).astype(rows.dtype)


def taken_over(array: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the array as from `owned`, and whether all its rows are probabilities of classes."""
    n_rows, n_columns = array.shape
    shared = array.flags.c_contiguous and not may_change(array)
    matrix = array if shared else np.empty(array.shape, array.dtype)
    off = ROW_SUM_TOLERANCE - n_columns * float(np.finfo(array.dtype).eps)

    def take(rows: slice) -> bool:
        block = matrix[rows]
        if not shared:
            np.copyto(block, array[rows])
        if n_columns < 2 or not are_shares(block):
            return False
        sums = np.einsum("ij->i", block)
        return bool(max(sums.max() - 1.0, 1.0 - sums.min()) <= off)

    return matrix, all(map_threads(take, row_blocks(n_rows, n_columns)))


def may_change(array: np.ndarray) -> bool:
    base = array.base
    return array.flags.writeable or (isinstance(base, np.ndarray) and base.flags.writeable)


def owned(array: np.ndarray) -> np.ndarray:
    """Return the array itself if it cannot be changed, else a copy; C-contiguous."""
    if may_change(array):
        copy = np.empty(array.shape, array.dtype)
        map_threads(lambda rows: np.copyto(copy[rows], array[rows]), row_blocks(len(array), copy[:1].size))
        return copy
    return np.ascontiguousarray(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, and make the array read-only, too."""
    array.flags.writeable = False
    return array.view()


def digest_of(header: Any, arrays: Iterable[np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(header).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data.cast("B"))
    return digest.hexdigest()
