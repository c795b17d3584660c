"""Engines that work on the parts: threads of this process, or a Dask cluster.

Results come and are added in the order of the parts: neither the number of workers nor a lost worker changes
a bit of the sum.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from calib.base.exceptions import InputError
from calib.scale.parts import Part

Found = TypeVar("Found")
#: How often a part is tried before its error is raised.
ATTEMPTS = 3
#: Seconds before it is tried again, and the errors after which it is: of storage or memory.
PAUSE = 0.2
PASSING = (OSError, MemoryError, pa.ArrowException)


@runtime_checkable
class Engine(Protocol):
    """A way to call a function on every part."""

    def map(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
        """Yield the results in the order of the parts."""


class Threads:
    """Threads of this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
        waiting: deque[Future[Found]] = deque()
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="calib-scale")
        try:
            for part in parts:
                if len(waiting) >= 2 * self.workers:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(_tried, function, part))
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _tried(function: Callable[[Part], Found], part: Part) -> Found:
    attempt = 1
    while True:
        try:
            return function(part)
        except PASSING as error:
            if attempt == ATTEMPTS:
                raise _failed(part, error) from error
            attempt += 1
            time.sleep(PAUSE)


def _failed(part: Part, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return InputError(f"{part.name} failed {ATTEMPTS} times: {reason}")


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
