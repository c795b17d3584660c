"""Columns of dates, and blocks of time that can be clusters."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError

#: Dates as text: 2024-03-05, 2024/3/5, 05.03.2024, 3/5/2024, each with or without a time.
_TIME = r"(?:[T ,]+(?P<time>\d{1,2}:\d{2}.*))?"
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<a>\d{{1,2}})(?P=mark)(?P<b>\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(?P<a>\d{{1,2}})(?P<mark>[./-])(?P<b>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}")
#: Words in the name of a column of numbers that hold times.
_CLOCK = re.compile(r"(?i)(?:.*[^a-z])?(?:time|timestamp|date|datetime|epoch|step|ts|t)(?:[^a-z].*)?")
#: Blocks of time, from the longest, and how `pandas` writes each.
BLOCKS = {"month": "%Y-%m", "week": "%G-W%V", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H"}
#: Number of blocks into which numeric times are cut.
N_BLOCKS = 20


def dates_of(known: pd.Series) -> Any:
    """Return the pandas `dt` accessor of a column of dates without missing values; else None."""
    if isinstance(known.dtype, pd.CategoricalDtype) or not len(known):
        return None
    texts: Any = known.astype(object)
    if not pd.api.types.is_datetime64_any_dtype(known):
        first = str(known.iloc[0]).strip()
        if not (_YEAR_FIRST.fullmatch(first) or _YEAR_LAST.fullmatch(first)):
            return None  # before other rows are looked at
        if not known.map(lambda value: isinstance(value, (str, date))).all():
            return None
        written = _iso_dates([str(value) for value in known.drop_duplicates()])
        if written is None:
            return None
        texts = known.map(lambda value: written[str(value)])
    with contextlib.suppress(ValueError):
        return pd.to_datetime(texts, format="ISO8601", utc=True).dt
    return None


def _iso_dates(texts: list[str]) -> dict[str, str] | None:
    """Read dates from texts as (year, month, day); None if any date is unclear."""
    found = [_YEAR_FIRST.fullmatch(text.strip()) or _YEAR_LAST.fullmatch(text.strip()) for text in texts]
    parts = [match.groupdict() for match in found if match is not None]
    if len(parts) < len(texts):
        return None
    first, second = (max(int(parsed[part]) for parsed in parts) for part in "ab")
    year_first = {match.re is _YEAR_FIRST for match in found if match is not None}
    if len(year_first) > 1:
        return None
    if year_first == {True}:
        order = "ab"
    elif all(parsed["mark"] == "." for parsed in parts) or (first > 12 and second <= 12):
        order = "ba"
    elif second > 12:
        order = "ab"
    else:
        return None
    days = (f"{part['year']}-{int(part[order[0]]):02}-{int(part[order[1]]):02}" for part in parts)
    times = ("" if part["time"] is None else f"T{part['time'].strip():0>5}" for part in parts)
    return {text: day + time for text, day, time in zip(texts, days, times, strict=True)}


def is_time(name: str) -> bool:
    return _CLOCK.fullmatch(name.strip()) is not None


def are_dates(values: np.ndarray) -> bool:
    """Whether a column holds dates; cells without text do not count."""
    if values.dtype.kind in "biufcMSV":
        return values.dtype.kind == "M" and not np.isnat(values).all()
    column = pd.Series(values, dtype=values.dtype)
    return dates_of(column.mask(column == "").dropna()) is not None


def column_of_block(name: str, columns: Container[str]) -> str:
    """Return the column that clusters come from: `name`, or the column of times in COLUMN=BLOCK."""
    return name if name in columns or "=" not in name else name.rpartition("=")[0]


def blocks_of(values: Any, block: str) -> np.ndarray:
    """Return the block of time of each row, (n,) object, or int64 if the times are numbers."""
    column = pd.Series(values)
    if pd.api.types.is_numeric_dtype(column.dtype) and not column.isna().any():
        if not block.isdigit() or int(block) < 2:
            raise InputError(f"times in numbers are cut into a number of blocks, such as 20; got {block!r}")
        return np.asarray(column.rank(method="min") - 1.0).astype(np.int64) * int(block) // len(column)
    column = column.mask(column == "") if column.dtype.kind == "O" else column
    times = dates_of(column.dropna())
    if times is None or block not in BLOCKS:
        raise InputError(
            f"blocks of time are {', '.join(BLOCKS)} of a column of dates; got {block!r} of "
            f"{str(column.iloc[0])[:60]!r}"
        )
    clock = times.tz_localize(None)
    unit = {"month": "M", "hour": "h"}.get(block, "D")
    starts = clock.to_numpy("datetime64[s]").astype(f"datetime64[{unit}]")
    if block == "week":
        starts = starts - (starts.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    distinct, code = np.unique(starts, return_inverse=True)
    names = pd.DatetimeIndex(distinct.astype("datetime64[s]")).strftime(BLOCKS[block]).to_numpy(dtype=object)
    return pd.Series(names[code], index=clock.index).reindex(column.index).fillna("").to_numpy(dtype=object)
