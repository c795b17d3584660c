"""One pool of threads for row blocks and items: NumPy releases the GIL inside its loops."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Elements of a block of rows: it fits a processor's cache, and thread switching costs little beside it.
BLOCK = 131_072
#: Bytes of a line of a processor's cache.
LINE = 64
#: Threads at a time, one per processor that this process may run on.
WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Shared:
    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):  # threads do not live on in a forked child
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.executor = ThreadPoolExecutor(max(WORKERS - 1, 1), thread_name_prefix="calib")
        self.inside = threading.local()
        self.lock, self.users, self.limit = threading.Lock(), 0, ExitStack()


_shared = _Shared()


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply `function` to every item on several threads and return the results in order.

    The calling thread works along with one shared pool, so no call waits for another to end. Calls from
    inside `function` do their items one by one. The first error stops the call and reaches the caller.
    """
    listed = list(items)
    workers = min(WORKERS, len(listed))
    if workers <= 1 or getattr(_shared.inside, "a_call", False):
        return [function(item) for item in listed]
    results: list[Any] = [None] * len(listed)
    stops = [None] * workers
    waiting: deque[tuple[int, Item] | None] = deque([*enumerate(listed), *stops])

    def work() -> None:
        _shared.inside.a_call = True
        try:
            for index, item in iter(waiting.popleft, None):
                results[index] = function(item)
        except BaseException:
            waiting.extendleft(stops)
            raise
        finally:
            _shared.inside.a_call = False

    helpers: list[Future[None]] = []
    with suppress(RuntimeError):  # at the end of the program, or of all threads: the caller goes on
        for _ in range(workers - 1):
            helpers.append(_shared.executor.submit(work))
    try:
        work()
    finally:
        started = wait([helper for helper in helpers if not helper.cancel()]).done
    for helper in started:
        helper.result()
    return results


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while calib's threads work on blocks of rows.

    Threads of BLAS wait by spinning: on a busy machine a fit of 0.1 s took 10 s. The setting is the
    process's: it stays until its last user leaves, whether users are nested or in several threads.
    """
    with _shared.lock:
        if not _shared.users:
            _shared.limit.enter_context(blas_libraries().limit(limits=1, user_api="blas"))
        _shared.users += 1
    try:
        yield
    finally:
        with _shared.lock:
            _shared.users -= 1
            if not _shared.users:
                _shared.limit.close()


@cache
def blas_libraries() -> Any:
    """Return the BLAS libraries of the process; kept, because the search takes longer than many fits."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def row_blocks(n_rows: int, row_width: int = 1, n_elements: int = BLOCK) -> list[slice]:
    """Cut `n_rows` into blocks of at most `n_elements` elements, at least one row each; never no block."""
    step = max(1, n_elements // max(row_width, 1))
    return [slice(first, min(first + step, n_rows)) for first in range(0, max(n_rows, 1), step)]


def map_row_blocks(function: Callable[[np.ndarray], np.ndarray], matrix: np.ndarray) -> np.ndarray:
    width = matrix[0].size if matrix.ndim > 1 and len(matrix) else 1
    slices = row_blocks(len(matrix), width)
    first = function(matrix[slices[0]])
    if len(slices) == 1:
        return first
    joined = np.empty((len(matrix), *first.shape[1:]), dtype=first.dtype)
    joined[slices[0]] = first

    def fill(rows: slice) -> None:
        joined[rows] = function(matrix[rows])

    map_threads(fill, slices[1:])
    return joined
