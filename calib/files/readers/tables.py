"""What a file holds before anything is decided about it: named columns and matrices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.validation import check_characters

T = TypeVar("T")
#: The lookbehind lets a match begin only at the start of a run of spaces, so time is linear.
LINE_BREAK = re.compile(r"(?<! ) *(?:\r\n|\r|\n) *")
#: Characters in the longest name of a class, column, row or split.
LONGEST_NAME = 1_000

#: Decorates what meets untrusted numbers: huge, infinite and signalling ones are tested, and need no warning.
any_numbers = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class Table:
    """Named content of one file, untouched."""

    format: str  #: "csv", "parquet", "feather", "npy", "npz", "json" or "frame"
    #: One-dimensional content in file order, (n,): floats, integers, or text as object arrays of str
    columns: Mapping[str, np.ndarray]
    #: Two-dimensional content, (n, m) float: arrays of NPY and NPZ, list columns of Parquet, nested lists of
    #: JSON
    matrices: Mapping[str, np.ndarray] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  #: Columns of types that hold neither numbers nor text

    def __post_init__(self) -> None:
        """Put names on one line, as cells are, in every format."""
        held = [*self.columns, *self.matrices]
        if any("\n" in name or "\r" in name for name in (*held, *self.ignored)):
            check_distinct([one_line(name) for name in held])
            for part in ("columns", "matrices"):
                named = {one_line(name): values for name, values in getattr(self, part).items()}
                object.__setattr__(self, part, named)
            object.__setattr__(self, "ignored", tuple(map(one_line, self.ignored)))

    @classmethod
    def of(cls, format: str, arrays: Mapping[str, np.ndarray], ignored: tuple[str, ...] = ()) -> Table:
        """Return a table of arrays of one and two dimensions."""
        columns, matrices = (
            {name: values for name, values in arrays.items() if values.ndim == axes} for axes in (1, 2)
        )
        return cls(format, columns, matrices, ignored)

    @property
    def tabular(self) -> bool:
        """Whether all columns and matrices have the same rows; arrays of NPZ files may not."""
        return self.format not in ("npz", "npy")

    @property
    def n_rows(self) -> int:
        """Rows of the first column or matrix; 0 when there is none."""
        return next((len(values) for values in (*self.columns.values(), *self.matrices.values())), 0)

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Return the named numeric columns side by side, (n, len(names)), float32 or float64."""
        columns = [as_float_column(self.columns[name], name) for name in names]
        if len(sizes := {len(values) for values in columns}) > 1:
            raise InputError(f"the scores {some_names(names)} have {min(sizes):,} to {max(sizes):,} rows")
        with np.errstate(invalid="ignore"):  # of a signalling NaN, which becomes a quiet one
            return frozen(np.stack(columns, axis=1))

    def frame(self, max_rows: int | None = None) -> pd.DataFrame:
        """Return columns and matrices as one frame for preview; matrices become name[0], name[1], ..."""
        data: dict[str, np.ndarray] = {name: values[:max_rows] for name, values in self.columns.items()}
        for name, values in self.matrices.items():
            data |= {f"{name}[{j}]": values[:max_rows, j] for j in range(values.shape[1])}
        return pd.DataFrame({name: pd.Series(values) for name, values in data.items()})


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array, and any array it is a view of, read-only: `Predictions` then needs no copy."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base
    return array


def as_numbers(array: np.ndarray) -> np.ndarray:
    """Return float32 for float16 and float32, else float64; integers too."""
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def as_float_column(values: np.ndarray, name: str) -> np.ndarray:
    """Return a column as float32 or float64, or raise `InputError` naming its first bad cell."""
    if values.dtype.kind in "iubf":
        return as_numbers(values)
    positions, words = words_in(values)
    numbers = np.array([as_float(word) for word in words])
    for word, number in zip(words, numbers, strict=True):
        if np.isnan(number) and word.lower() not in ("nan", ""):
            row = int((positions == words.index(word)).argmax())
            raise InputError(f"column {name!r} must hold numbers; row {row} holds {word[:40]!r}")
    return numbers[positions]


def as_float(word: str) -> float:
    try:
        return float(word) if word.isascii() and "_" not in word else np.nan
    except ValueError:
        return np.nan


def one_line(cell: str) -> str:
    return LINE_BREAK.sub(" ", cell) if "\n" in cell or "\r" in cell else cell


def words_in(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return (codes, words) of a column: its distinct cells as stripped text, whole floats as integers."""
    if values.dtype == object:
        distinct: Any = {}  # a dict looks at a text once, pandas at every row
        codes = np.fromiter((distinct.setdefault(v, len(distinct)) for v in values.tolist()), np.int64)
        texts = ["" if v is None or v != v else one_line(str(v)).strip() for v in distinct]
    elif values.dtype.kind == "f":
        codes, distinct = pd.factorize(values, use_na_sentinel=False)
        texts = ["" if v != v else str(int(v)) if v.is_integer() else repr(v) for v in distinct.tolist()]
    else:
        codes, distinct = pd.factorize(values)
        texts = [str(v) for v in distinct.tolist()]
    words = list(dict.fromkeys(texts))
    code_of = {word: code for code, word in enumerate(words)}
    return np.array([code_of[text] for text in texts], dtype=np.int64)[codes], words


def by_word(values: np.ndarray, of: Callable[[str], Any], dtype: Any = None) -> np.ndarray:
    """Apply a function to each cell of a column; it is called once for each distinct value."""
    codes, words = words_in(values)
    return np.array([of(word) for word in words], dtype=dtype)[codes]


def as_keys(values: np.ndarray) -> np.ndarray:
    """Return the cells of a column as texts, to compare them between files: an object array of str."""
    return by_word(values, str, object)


def check_words(words: Iterable[str], what: str) -> None:
    """Refuse text that is too long for a name or cannot be written: labels, ids, names of columns."""
    for word in words:
        if len(word) > LONGEST_NAME:
            raise InputError(
                f"{what} holds a text of {len(word):,} characters, {word[:40]!r}...; names of classes, ids "
                f"and splits have at most {LONGEST_NAME:,}"
            )
        check_characters(word, what)


def table_from_frame(frame: pd.DataFrame) -> Table:
    """Make a `Table` of a pandas DataFrame; column names become str."""
    names = [str(name) for name in frame.columns]
    check_distinct(names)
    columns: dict[str, np.ndarray] = {}
    for j, name in enumerate(names):
        series = frame.iloc[:, j]
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            columns[name] = series.to_numpy()
        elif pd.api.types.is_integer_dtype(series.dtype):
            columns[name] = whole_column(series.astype(object).where(series.notna(), None).tolist())
        elif pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
            columns[name] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            columns[name] = as_text(series.tolist())
    return Table("frame", columns)


def whole_column(values: Sequence[int | None]) -> np.ndarray:
    """Return integers as int64, as float64 if some are missing, as text if float64 would change a digit."""
    present = [value for value in values if value is not None]
    if len(present) == len(values) and all(abs(value) < 2**63 for value in present):
        return np.array(values, dtype=np.int64)
    if any(abs(value) > 2**53 for value in present):  # beyond, float64 does not hold each of them
        return as_text(values)
    return np.array([np.nan if value is None else float(value) for value in values])


def as_text(values: Sequence[Any]) -> np.ndarray:
    """Return an object array of str; missing values become the empty string."""
    return np.array(
        [v if type(v) is str else "" if v is None or v != v else str(v) for v in values], dtype=object
    )


def some_names(names: Iterable[str]) -> str:
    """Return the first names, quoted, for a message."""
    names = list(names)
    return ", ".join(repr(name[:40]) for name in names[:5]) + (", ..." if len(names) > 5 else "")


def repeated(names: Iterable[T]) -> T | None:
    """Return the first name that occurs twice; None if there is none."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def check_distinct(names: Sequence[str]) -> None:
    """Refuse column names that appear twice: roles go by name."""
    if (twice := repeated(names)) is not None:
        raise InputError(f"column name {twice[:60]!r} appears more than once; give every column its own name")
    check_words(names, "a column name")
