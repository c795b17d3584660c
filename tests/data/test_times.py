"""Blocks of time that can be clusters, by the calendar and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from calib import InputError
from calib.data.times import blocks_of, is_time

#: A Sunday, the Monday after it, the Sunday and the Monday after that, and a Tuesday.
DATES = ["2023-12-31 23:59", "2024-01-01 00:00", "2024-01-07 12:30", "2024-01-08 12:59", "2024-02-27 13:00"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("month", ["2023-12", "2024-01", "2024-01", "2024-01", "2024-02"]),
        ("week", ["2023-W52", "2024-W01", "2024-W01", "2024-W02", "2024-W09"]),  # of ISO 8601: from Monday
        ("day", ["2023-12-31", "2024-01-01", "2024-01-07", "2024-01-08", "2024-02-27"]),
        ("hour", ["2023-12-31T23", "2024-01-01T00", "2024-01-07T12", "2024-01-08T12", "2024-02-27T13"]),
    ],
)
def test_blocks_of_dates_are_those_of_the_calendar(block, expected):
    assert blocks_of(DATES, block).tolist() == expected
    order = [3, 0, 4, 2, 1]
    assert blocks_of([DATES[at] for at in order], block).tolist() == [expected[at] for at in order]


def test_a_missing_date_has_no_block():
    assert blocks_of([DATES[0], None, DATES[3]], "week").tolist() == ["2023-W52", "", "2024-W02"]


def test_times_in_numbers_are_cut_into_blocks_of_equal_rank():
    assert blocks_of([50, 10, 30, 20], "2").tolist() == [1, 0, 1, 0]
    assert blocks_of(np.arange(40.0) ** 2, "20").tolist() == np.repeat(np.arange(20), 2).tolist()
    assert blocks_of([1, 1, 1, 9], "4").tolist() == [0, 0, 0, 3]  # equal times share a block
    for block in ("1", "week"):
        with pytest.raises(InputError, match="number of blocks"):
            blocks_of([1, 2], block)
    with pytest.raises(InputError, match="blocks of time"):
        blocks_of(DATES, "year")


def test_columns_of_numbers_are_times_by_their_names():
    assert [name for name in ("timestamp", "day_time", "t", "estimate", "total") if is_time(name)] == [
        "timestamp",
        "day_time",
        "t",
    ]
