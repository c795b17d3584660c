"""Threads change the time things take and nothing else."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from calib.parallel import SMALL, map_row_blocks, map_threads, row_slices


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


@pytest.mark.parametrize(
    ("n_rows", "width"), [(0, 3), (1, 1), (SMALL, 1), (SMALL + 1, 1), (70_001, 3), (3, SMALL)]
)
def test_slices_cover_every_row_once(n_rows, width):
    covered = np.concatenate([np.arange(n_rows)[part] for part in row_slices(n_rows, width)])
    assert covered.tolist() == list(range(n_rows))
    assert (len(row_slices(n_rows, width)) == 1) == (n_rows * width <= SMALL)


def test_blocks_of_rows_are_joined_along_rows():
    matrix = np.random.default_rng(0).random((100_000, 3))
    assert (map_row_blocks(lambda block: block.max(axis=1), matrix) == matrix.max(axis=1)).all()
    assert (map_row_blocks(lambda block: block * 2, matrix) == matrix * 2).all()
