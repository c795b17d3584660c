"""Cutting columns into groups."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from calib import InputError
from calib.answers import cut_column
from calib.answers.cuts import parse_cuts


def rows(cut):
    """Row numbers by name of group."""
    return {name: np.flatnonzero(cut.code == at).tolist() for at, name in enumerate(cut.groups)}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], {"a": [1], "b": [0, 2]}),
        ([True, False, True], {"False": [1], "True": [0, 2]}),
        ([2, 10, 2], {"2": [0, 2], "10": [1]}),  # numbers in their order, not that of their digits
        ([1.0, np.nan, 1.0], {"1": [0, 2], "(missing)": [1]}),
        (["a", None, "a"], {"a": [0, 2], "(missing)": [1]}),
        ([None, None], {"(missing)": [0, 1]}),
        (pd.Categorical(["low", "high", "low"], ["low", "mid", "high"]), {"low": [0, 2], "high": [1]}),
        (["2024-03-05", "2023-12-31T23:59:59", "2024-03-31"], {"2023-12": [1], "2024-03": [0, 2]}),
        (["05.03.2024", "", "31.12.2023 8:15"], {"2023-12": [2], "2024-03": [0], "(missing)": [1]}),
        (["3/5/2024", "3/25/2024"], {"2024-03": [0, 1]}),
        (["5/3/2024", "25/3/2024"], {"2024-03": [0, 1]}),
        (["2024/3/5", "2024/12/05 10:00"], {"2024-03": [0], "2024-12": [1]}),
        (["3/5/2024", "4/6/2024"], {"3/5/2024": [0], "4/6/2024": [1]}),  # month or day first: not said
        (["2024-02-31", "2024-03-01"], {"2024-02-31": [0], "2024-03-01": [1]}),
        ([date(2024, 3, 5), None, date(2024, 4, 1)], {"2024-03": [0], "2024-04": [2], "(missing)": [1]}),
        (pd.to_datetime(["2024-03-05", None, "2024-03-31"]), {"2024-03": [0, 2], "(missing)": [1]}),
    ],
)
def test_values_and_months(values, expected):
    assert rows(cut_column(values)) == expected


def test_numbers_are_cut_at_quartiles_or_where_one_says():
    values = np.arange(40.0)
    cut = cut_column([*values, *values])  # whole numbers that come once each are ids
    assert cut.how == "numbers"
    assert np.bincount(cut.code).tolist() == [20, 20, 20, 20]
    assert cut.groups == ("below 10", "10 to 20", "20 to 30", "30 and more")
    at_edges = cut_column(values, at=[5, 35])
    assert rows(at_edges)["5 to 35"] == list(range(5, 35))
    assert len(cut_column(values, at=2).groups) == 2
    assert cut_column(np.repeat([0.0, 1.0], [90, 10]), at=20).groups == ("below 1", "1 and more")
    assert cut_column(np.repeat([0.0, 1.0], [90, 10]), at=4).groups == ("all",)
    assert len(cut_column(np.arange(40) % 20, codes=True).groups) == 20
    assert cut_column([*values, 0.5, np.nan]).groups[-1] == "(missing)"
    assert cut_column(values, at=[-5, 100]).groups == ("-5 to 100",)  # only groups with rows


@pytest.mark.parametrize(
    ("values", "at", "words"),
    [
        (np.zeros((2, 2)), None, "one value per row"),
        ([], None, "one value per row"),
        ([1, 2], [2, 1], "increasing numbers"),
        ([1, 2], 1, "at least 2"),
        (["a", "b"], [1], "only numbers can be cut"),
        ([f"id {at}" for at in range(30)], None, "30 values in 30 rows"),
        ([*range(1_000, 1_030), None], None, "30 different whole numbers in 31 rows"),
    ],
)
def test_what_cannot_be_cut_is_refused(values, at, words):
    with pytest.raises(InputError, match=words):
        cut_column(values, at=at)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("year", ("2024", "2025")),
        ("quarter", ("2024-Q1", "2024-Q4", "2025-Q1")),
        ("month", ("2024-02", "2024-12", "2025-01")),
        ("week", ("2024-W05", "2025-W01", "2025-W03")),
        ("day", ("2024-02-01", "2024-12-31", "2025-01-16")),
        ("weekday", ("2 Tue", "4 Thu")),
        ("hour", ("00:00", "13:00")),
    ],
)
def test_dates_are_cut_by_part(part, expected):
    days = ["2024-02-01T13:20", "2024-12-31", "2025-01-16"]
    assert cut_column(days, at=part).groups == expected
    assert cut_column(np.array(days, dtype="datetime64[m]"), at=part).groups == expected


def test_cuts_are_read():
    assert parse_cuts(["a=b=3,4"], ["a=b"]) == {"a=b": (3.0, 4.0)}
    for text in ("age=x", "size=3", "age"):
        with pytest.raises(InputError):
            parse_cuts([text], ["age"])
