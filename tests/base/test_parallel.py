"""Threads change the time things take and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calib.base.parallel import WORKERS, map_row_blocks, map_threads, row_blocks
from tests import ROOT


def run(script: str) -> list[str]:
    """Lines that a script prints in its own process, which imports one module and not all of calib."""
    command = [sys.executable, "-c", script]
    place = ROOT / "calib/base"
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("n_items", [0, 1, 2, 5, 1000])
def test_results_come_in_order(n_items):
    assert map_threads(lambda item: item**2, iter(range(n_items))) == [item**2 for item in range(n_items)]


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(item):
        if item == 700:
            raise ValueError("item 700")
        return item

    with pytest.raises(ValueError, match="item 700"):
        map_threads(fail, range(1000))


def test_threads_do_not_start_threads():
    def inner(item):
        return threading.get_ident()

    def outer(item):
        return {threading.get_ident(), *map_threads(inner, range(50))}

    assert all(len(identities) == 1 for identities in map_threads(outer, range(20)))


def test_all_calls_share_one_pool():
    names = {name for _ in range(20) for name in map_threads(lambda _: threading.current_thread(), range(50))}
    assert len(names) <= max(WORKERS, 2)  # the caller and the pool, whatever the number of calls


def test_a_call_does_not_wait_for_another_to_end():
    second_done = threading.Event()

    def first(item):
        return second_done.wait(30)

    def second(item):
        return item

    with ThreadPoolExecutor(1) as session:
        waiting = session.submit(map_threads, first, range(2 * WORKERS))
        assert map_threads(second, range(100)) == list(range(100))
        second_done.set()
        assert waiting.result() == [True] * 2 * WORKERS


def test_an_error_stops_the_call():
    done = []

    def fail_at_once(item):
        done.append(item)
        raise IndexError("at once")

    with pytest.raises(IndexError, match="at once"):
        map_threads(fail_at_once, range(1000))
    assert len(done) <= WORKERS
    assert map_threads(abs, range(100)) == list(range(100))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no processor affinity on this system")
def test_workers_are_the_processors_this_process_may_use():
    restrict = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    assert run(restrict + "import parallel; print(parallel.WORKERS)") == ["1"]
    assert len(os.sched_getaffinity(0)) == WORKERS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_makes_threads_of_its_own():
    script = """
import os
import parallel
from parallel import map_threads
parallel.WORKERS = 3
print(sum(map_threads(abs, range(100))), flush=True)

def in_child(item):
    if item == 5:  # fork in the middle of a call, in whatever thread this is
        child = os.fork()
        if child == 0:
            print(sum(map_threads(abs, range(200))), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    return item

print(sum(map_threads(in_child, range(50))))
"""
    assert run(script) == ["4950", "19900", "1225"]


def test_a_call_at_the_end_of_the_program_is_done_by_its_caller():
    script = """
import atexit
import parallel
from parallel import map_threads
parallel.WORKERS = 3
atexit.register(lambda: print(sum(map_threads(abs, range(10)))))
print(sum(map_threads(abs, range(100))))
"""
    assert run(script) == ["4950", "45"]


@pytest.mark.parametrize("n_rows", [0, 1, 43_690, 43_691, 70_001])
@pytest.mark.parametrize("width", [0, 1, 3, 10**6])
def test_blocks_cover_every_row_once(n_rows, width):
    blocks = row_blocks(min(n_rows, 50_000_000 // max(width, 1)), width)
    assert blocks[0].start == 0
    assert [block.stop for block in blocks[:-1]] == [block.start for block in blocks[1:]]
    assert blocks[-1].stop == min(n_rows, 50_000_000 // max(width, 1))


def test_blocks_of_rows_are_joined_along_rows():
    matrix = np.random.default_rng(0).random((100_000, 3))
    assert (map_row_blocks(lambda block: block.max(axis=1), matrix) == matrix.max(axis=1)).all()
    assert (map_row_blocks(lambda block: block * 2, matrix) == matrix * 2).all()
