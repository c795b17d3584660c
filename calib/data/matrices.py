"""Large matrices of scores: looked at, copied and digested in blocks, on threads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from calib.base.parallel import BUSY, busy_slices, cached_slices, map_row_blocks, map_threads, row_slices

#: A row of probabilities may miss 1 by this much before it is refused. Softmax in float16 over 1,000
#: classes misses by about 5e-4; probabilities printed with two or three digits miss by more, and
#: `calib.examine` explains and repairs those.
ROW_SUM_TOLERANCE = 1e-3

#: Columns up to which single precision sums a row well enough to compare it with 1.
MOST_SUMMED = 4_000

#: Bytes that are copied at a time: into new memory, 16 MB take four fifths of the time of eight times 2 MB.
COPIED = 2**24

#: In rows of up to so many classes, too short for a loop each, the highest is found from columns.
NARROW = 32

#: Bytes of an array up to which it is digested as a whole, and of the blocks of larger ones.
DIGESTED = 2**24


def highest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column of the highest score of each row of an (n, L) matrix, ties to the lowest, and that score."""
    return highest_and_checked(scores)[:2]


def highest_and_checked(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return `highest`, and whether all scores were seen to be in [0, 1]."""
    label = np.empty(len(scores), dtype=np.int64)
    top = np.empty(len(scores), dtype=scores.dtype)

    def look(rows: slice) -> bool:
        block, of, best = scores[rows], label[rows], top[rows]
        find = _find_by_columns if scores.shape[1] <= NARROW else _find_in_rows
        if find(block, of, best):
            return True
        np.argmax(block, axis=1, out=of)  # NaN if any is: it counts as highest
        best[:] = block[np.arange(len(block)), of]
        return bool(block.min() >= 0.0 and best.max() <= 1.0)

    seen = map_threads(look, busy_slices(len(scores), scores.shape[1], scores.itemsize))
    return label, top, all(seen)


def _find_in_rows(block: np.ndarray, label: np.ndarray, top: np.ndarray) -> bool:
    """Fill in `highest` of rows; False if it is not surely that, or not all scores are in [0, 1]."""
    bits = _bits(np.ascontiguousarray(block))  # the columns of a table lie one after another
    np.argmax(bits, axis=1, out=label)
    best = bits[np.arange(len(block)), label]
    top[:] = best.view(block.dtype)
    return bool(best.max() <= _bits(np.ones(1, block.dtype)))


def _find_by_columns(block: np.ndarray, label: np.ndarray, top: np.ndarray) -> bool:
    """Do what `_find_in_rows` does, from columns that are laid one after the other."""
    n_rows, n_columns = block.shape
    columns = np.empty((n_columns, n_rows), dtype=block.dtype)
    for rows in cached_slices(n_rows, n_columns):
        columns[:, rows] = block[rows].T
    bits = _bits(columns)
    best = bits.max(axis=0, out=_bits(top))
    place = (bits == best).view(np.uint8)
    place *= np.arange(n_columns, 0, -1, dtype=np.uint8)[:, np.newaxis]  # earlier columns count more
    np.subtract(n_columns, place.max(axis=0), out=label, dtype=np.int64)
    return bool(best.max() <= _bits(np.ones(1, block.dtype)))


def _bits(scores: np.ndarray) -> np.ndarray:
    """Return floats as whole numbers of the same bits.

    Floats of [0, 1] order like their bits; those of negative ones, -0.0 among them, and NaN are larger. So
    the highest bits tell whether all scores are in [0, 1].
    """
    return scores.view(f"u{scores.itemsize}")


def row_sums(matrix: np.ndarray) -> np.ndarray:
    """Return the sums of rows in float64, (n,)."""

    def sums(block: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):  # inside: threads do not inherit it
            return block.sum(axis=1, dtype=np.float64)

    return map_row_blocks(sums, matrix)


def softmax_rows(block: np.ndarray) -> np.ndarray:
    """Return the softmax of each row of finite numbers, (m, L) float64."""
    with np.errstate(over="ignore"):  # -1e308 - 1e308 is minus infinity, and its exp 0, as it should
        exps = np.exp(block.astype(np.float64) - block.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def taken_over(array: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the array as `owned` does, and whether all its rows are seen to be probabilities of classes.

    Blocks are copied, and looked at in parts that stay in the cache. Sums are taken in the type of the
    scores, whose rounding half the tolerance covers.
    """
    n_rows, n_columns = array.shape
    shared = array.flags.c_contiguous and not may_change(array)
    matrix = array if shared else np.empty(array.shape, array.dtype)
    summed = 2 <= n_columns <= MOST_SUMMED

    def take(rows: slice) -> bool:
        block = matrix[rows]
        if shared:
            return look(block)
        np.copyto(block, array[rows])
        return all([look(block[part]) for part in busy_slices(len(block), n_columns, array.itemsize)])

    def look(block: np.ndarray) -> bool:
        if not summed or _bits(block).max() > _bits(np.ones(1, block.dtype)):
            return False
        sums = np.einsum("ij->i", block)
        return bool(max(sums.max() - 1.0, 1.0 - sums.min()) <= ROW_SUM_TOLERANCE / 2)

    together = BUSY if shared else COPIED
    return matrix, all(map_threads(take, busy_slices(n_rows, n_columns, array.itemsize, together)))


def may_change(array: np.ndarray) -> bool:
    """Whether somebody can still write to an array, or to the one that it is a view of."""
    base = array.base
    return array.flags.writeable or (isinstance(base, np.ndarray) and base.flags.writeable)


def owned(array: np.ndarray) -> np.ndarray:
    """Return the array itself if nobody can write to it any more, else a copy; C-contiguous."""
    if may_change(array):
        copy = np.empty(array.shape, array.dtype)
        map_threads(lambda rows: np.copyto(copy[rows], array[rows]), row_slices(len(array), copy[:1].size))
        return copy
    return np.ascontiguousarray(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view through which, as through the array, nothing can be written."""
    array.flags.writeable = False
    return array.view()


def digest_of(header: Any, arrays: Iterable[np.ndarray]) -> str:
    """Return the hex digest (BLAKE2b, 128 bit) of a header and of every value of arrays.

    An array of more than `DIGESTED` bytes is digested in blocks, and the blocks' digests are digested.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(header).encode())
    for array in arrays:
        data = np.ascontiguousarray(array).data.cast("B")
        digest.update(data if len(data) <= DIGESTED else b"".join(_block_digests(data)))
    return digest.hexdigest()


def _block_digests(data: memoryview) -> list[bytes]:
    starts = range(0, len(data), DIGESTED)
    return map_threads(lambda start: hashlib.blake2b(data[start : start + DIGESTED]).digest(), starts)
