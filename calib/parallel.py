"""Thread pools over row blocks and items: NumPy releases the GIL inside its loops."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Arrays below this many elements are done in one piece: starting threads would cost more.
SMALL = 200_000

#: Threads at a time, one per processor.
WORKERS = os.cpu_count() or 1

_thread = threading.local()


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply `function` to every item on a thread pool and return the results in order.

    Each task takes every p-th item, so a thousand small items cost no more than a few large ones. Inside
    a worker the items are done one by one: the processors are busy already.
    """
    listed = list(items)
    workers = min(WORKERS, len(listed))
    if workers <= 1 or getattr(_thread, "is_worker", False):
        return [function(item) for item in listed]
    pieces = min(4 * workers, len(listed))
    results: list[Any] = [None] * len(listed)

    def work(piece: int) -> None:
        results[piece::pieces] = [function(item) for item in listed[piece::pieces]]

    with ThreadPoolExecutor(workers, initializer=setattr, initargs=(_thread, "is_worker", True)) as pool:
        list(pool.map(work, range(pieces)))
    return results


def row_slices(n_rows: int, row_width: int = 1) -> list[slice]:
    """Cut `n_rows` into a few slices per processor; one slice when the whole is small."""
    if n_rows * row_width <= SMALL:
        return [slice(0, n_rows)]
    pieces = min(4 * WORKERS, n_rows)
    edges = np.linspace(0, n_rows, pieces + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]


def map_row_blocks(function: Callable[[np.ndarray], np.ndarray], matrix: np.ndarray) -> np.ndarray:
    """Apply `function` to blocks of rows of `matrix` in parallel and join the results along rows."""
    width = matrix[0].size if matrix.ndim > 1 and len(matrix) else 1
    slices = row_slices(len(matrix), width)
    if len(slices) == 1:
        return function(matrix)
    return np.concatenate(map_threads(lambda rows: function(matrix[rows]), slices))
