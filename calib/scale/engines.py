"""Engines that work on the parts: threads, processes or a Dask cluster.

Results come and are added in the order of the parts: neither the number of workers nor a lost worker changes
a bit of the sum.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from calib.base.exceptions import InputError
from calib.scale.parts import Part

Found = TypeVar("Found")

#: How often a part is tried before its error is raised.
ATTEMPTS = 3

#: Seconds before it is tried again.
PAUSE = 0.2


@runtime_checkable
class Engine(Protocol):
    """A way to call a function on every part."""

    def map(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
        """Yield the results in the order of the parts."""


class Threads:
    """Threads of this process, or, with `processes`, processes of this machine.

    Processes that end early are replaced, and their parts are done again.
    """

    def __init__(self, workers: int, *, processes: bool = False) -> None:
        self.workers, self.processes = workers, processes

    def map(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
        window: deque[tuple[Part, Executor, Future[Found], int]] = deque()
        waiting, pool = iter(parts), self._pool()
        try:
            while True:
                while len(window) < 2 * self.workers and (part := next(waiting, None)) is not None:
                    window.append((part, pool, _submitted(pool, function, part), 1))
                if not window:
                    return
                part, used, future, attempt = window.popleft()
                try:
                    yield future.result()
                except Exception as error:
                    if not is_passing(error):
                        raise
                    if attempt >= ATTEMPTS:
                        raise _failed(part, error) from error
                    if isinstance(error, BrokenProcessPool) and used is pool:
                        pool.shutdown(wait=False)
                        pool = self._pool()
                    time.sleep(PAUSE)
                    window.appendleft((part, pool, _submitted(pool, function, part), attempt + 1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _pool(self) -> Executor:
        if self.processes:
            return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        return ThreadPoolExecutor(self.workers, thread_name_prefix="calib-scale")


def is_passing(error: Exception) -> bool:
    """Whether another attempt may help: lost processes, errors of storage or memory, not of the input."""
    passing = (BrokenProcessPool, OSError, MemoryError, pa.ArrowException)
    return isinstance(error, passing) and not isinstance(error, InputError)


def _failed(part: Part, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    reason = "the process that read it ended" if isinstance(error, BrokenProcessPool) else reason
    return InputError(f"{part.name} failed {ATTEMPTS} times: {reason}")


def _submitted(pool: Executor, function: Callable[[Part], Found], part: Part) -> Future[Found]:
    """Submit a part; if the pool refuses because its process has just ended, the part counts as lost."""
    try:
        return pool.submit(function, part)
    except BrokenProcessPool as error:
        refused: Future[Found] = Future()
        refused.set_exception(error)
        return refused


class DaskCluster:
    """Workers of a Dask cluster, such as a `LocalCluster`.

    Workers of the client need calib, and must see the files under the same paths.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def dashboard(self) -> str:
        """Address of Dask's dashboard."""
        return str(self.client.dashboard_link)

    def map(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
        futures = self.client.map(function, list(parts), pure=False, retries=ATTEMPTS - 1)
        for part, future in zip(parts, futures, strict=True):
            try:
                yield future.result()
            except InputError:
                raise
            except Exception as error:
                raise _failed(part, error) from error
            future.release()
