"""Further columns cut into groups of rows: categories, ranges of numbers, months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.times import dates_of
from calib.data.validation import MISSING, check_count, group_name, plain, refuse_unequal

#: Most values of a column of numbers that counts as categories.
MOST_CODES = 10

#: Groups that numbers are cut into by default.
QUANTILES = 4

#: Fewest rows with which a column of mostly different values is refused.
LEAST_ROWS = 20

#: How dates can be cut, the names of `at`, and how `pandas` writes each.
DATE_PARTS = {
    "year": "%Y",
    "quarter": "",
    "month": "%Y-%m",
    "week": "%G-W%V",
    "day": "%Y-%m-%d",
    "weekday": "%u %a",
    "hour": "%H:00",
}


@dataclass(frozen=True, eq=False, repr=False)
class Cut(Result):
    """A column cut into groups."""

    name: str  #: Name of the column
    #: {"values", "numbers", "dates"}: groups are values, ranges of numbers, or months and the like
    how: str
    code: np.ndarray  #: (n,) int64: Group of each row, 0..G-1
    groups: tuple[str, ...]  #: Names of the groups; ranges and months ascend
    #: Where numbers were cut; a value on an edge is in the group above. Empty for the others.
    edges: tuple[float, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return the group of each row, in a column with the name of the cut."""
        return pd.DataFrame({self.name: np.array(self.groups, dtype=object)[self.code]})


def cross_cuts(first: Cut, second: Cut) -> Cut:
    """Return the groups of two columns at once: a group for each pair of groups that has rows."""
    pair, code = np.unique(first.code * len(second.groups) + second.code, return_inverse=True)
    names = [divmod(joint, len(second.groups)) for joint in pair.tolist()]
    groups = tuple(f"{first.groups[left]}, {second.groups[right]}" for left, right in names)
    return Cut(f"{first.name}, {second.name}", "values", code.astype(np.int64), groups)


def cut_column(
    values: Any, *, name: str = "group", at: int | Sequence[float] | str | None = None, codes: bool = False
) -> Cut:
    """Cut a column into groups; rows without a value are a group of their own.

    Parameters
    ----------
    values : (n,) array_like
        Text, categories, numbers, truth values or dates. Dates may be text such as "2024-03-05", "05.03.2024"
        (day first) or "3/25/2024", if some value shows the order of day and month.
    name : str
        Name of the column.
    at : int, sequence of float or str, optional
        For numbers: how many groups of about equal size, or the edges. By default at most `MOST_CODES` values
        are groups, else quartiles. For dates: one of `DATE_PARTS`, "month" by default.
    codes : bool
        Whether whole numbers are codes of groups, however many, unless `at` is given.

    Examples
    --------
    >>> cut_column([1.5, 2.0, 7.0, 9.0], name="age", at=[5]).groups
    ('below 5', '5 and more')
    >>> cut_column(["2024-03-05", "2024-03-31", "2024-04-01"]).groups
    ('2024-03', '2024-04')
    """
    values = plain(values)
    if np.ndim(values) != 1 or not len(values):
        raise InputError(f"groups must hold one value per row; got shape {np.shape(values)}")
    with refuse_unequal(name):
        column = pd.Series(values).reset_index(drop=True)
        pd.factorize(column)
        if column.dtype == object or pd.api.types.is_string_dtype(column.dtype):
            column = column.mask(column == "")
    known = column.dropna()
    kind = known.dtype
    numeric = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) and len(known) > 0
    if numeric and not isinstance(at, str):
        whole = bool((known == known.round()).all())
        few = known.nunique() <= MOST_CODES or (codes and whole)
        if at is None and not few and whole and len(known) >= LEAST_ROWS and known.is_unique:
            raise InputError(
                f"column {name!r} has {len(known):,} different whole numbers in {len(column):,} rows, as ids "
                "do; if they are quantities, say where to cut them"
            )
        if at is not None or not few:
            return _cut_numbers(column, name, QUANTILES if at is None else at)
    elif (times := dates_of(known)) is not None and (at is None or at in DATE_PARTS):
        part = "month" if at is None else str(at)
        quarters = times.strftime("%Y-Q") + times.quarter.astype(str)
        texts = quarters if part == "quarter" else times.strftime(DATE_PARTS[part])
        return _cut_values(texts.reindex(column.index), name, "dates")
    elif at is not None:
        raise InputError(
            f"only numbers can be cut at edges or quantiles, and dates by {', '.join(DATE_PARTS)}; column "
            f"{name!r} holds {known.dtype}, and at is {at!r}"
        )
    return _cut_values(column, name, "values")


def parse_cuts(texts: Sequence[str], columns: Sequence[str]) -> dict[str, int | tuple[float, ...] | str]:
    """Read cuts of columns: "age=30,50", "age==4" for 4 groups of equal size, "day=quarter".

    >>> parse_cuts(["age=30,50", "size==4", "day=month"], ["age", "size", "day"])
    {'age': (30.0, 50.0), 'size': 4, 'day': 'month'}
    """
    found: dict[str, int | tuple[float, ...] | str] = {}
    for text in texts:
        name = next((column for column in columns if text.startswith(f"{column}=")), None)
        if name is None:
            raise InputError(f"write a cut as COLUMN=AT, for a requested column; got {text!r}")
        where = text[len(name) + 1 :]
        try:
            numbers = int(where[1:]) if where.startswith("=") else tuple(map(float, where.split(",")))
        except ValueError:
            if where not in DATE_PARTS:
                raise InputError(
                    f"cut {name!r} at numbers such as 30,50, a number of groups such as =4, or by one of "
                    f"{', '.join(DATE_PARTS)}; got {where!r}"
                ) from None
        found[name] = where if where in DATE_PARTS else numbers
    return found


def _cut_values(column: pd.Series, name: str, how: str) -> Cut:
    """Return a group for each value: numbers and categories in their order, texts by the alphabet."""
    texts = keys = column.map(group_name, na_action="ignore").astype(object)
    if isinstance(column.dtype, pd.CategoricalDtype):
        keys = column.cat.codes.mask(column.isna())
    elif pd.api.types.is_numeric_dtype(column):
        keys = column
    code = pd.factorize(keys, sort=True)[0]
    names = texts[code >= 0].groupby(code[code >= 0]).first().tolist()
    if len(column) >= LEAST_ROWS and 2 * len(names) > len(column) and how == "values":
        raise InputError(
            f"column {name!r} has {len(names):,} values in {len(column):,} rows, so that most groups would "
            "be one row; pass a column that repeats its values"
        )
    missing = code < 0
    code[missing] = len(names)
    return Cut(name, how, code, (*names, *[MISSING] * bool(missing.any())))


def _cut_numbers(column: pd.Series, name: str, at: int | Sequence[float]) -> Cut:
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = numbers[~np.isnan(numbers)]
    if np.ndim(at) == 0:
        parts = check_count(at, "the number of groups", 2)
        edges = np.unique(np.quantile(known, np.arange(1, parts) / parts, method="higher"))
        edges = edges[edges > known.min()]
    else:
        edges = np.asarray(at, dtype=np.float64)
        if not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise InputError(f"edges must be increasing numbers; got {at!r} for column {name!r}")
    code = np.searchsorted(edges, numbers, side="right").astype(np.int64)
    code[np.isnan(numbers)] = len(edges) + 1
    texts = [f"{edge:.6g}" for edge in edges]
    between = [f"{low} to {high}" for low, high in zip(texts, texts[1:], strict=False)]
    names = [f"below {texts[0]}", *between, f"{texts[-1]} and more"] if texts else ["all"]
    used, code = np.unique(code, return_inverse=True)
    return Cut(name, "numbers", code, tuple([*names, MISSING][at] for at in used), tuple(edges.tolist()))
