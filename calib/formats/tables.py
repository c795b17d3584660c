"""What a file holds before anything is decided about it: named columns and matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from calib.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Table:
    """Named content of one file, untouched.

    Attributes
    ----------
    format : str
        "csv", "parquet", "feather", "npy", "npz", "json" or "frame".
    columns : dict of str to (n,) array
        One-dimensional content in file order: floats, integers, or text as object arrays of str.
    matrices : dict of str to (n, m) float array
        Two-dimensional content: arrays of NPY and NPZ, list columns of Parquet, nested lists of JSON.
    packed : (n, m) array or None
        The floats of a file of columns side by side: `columns` are views into it, and matrices of
        neighbouring columns are cut out of it without touching the others.
    packed_names : tuple of str
        Names of the columns of `packed`.
    ignored : tuple of str
        Columns of types that hold neither numbers nor text.
    """

    format: str
    columns: Mapping[str, np.ndarray]
    matrices: Mapping[str, np.ndarray] = field(default_factory=dict)
    packed: np.ndarray | None = None
    packed_names: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def tabular(self) -> bool:
        """Whether rows of all content belong together (false for NPZ, where sizes may differ)."""
        return self.format not in ("npz", "npy")

    @property
    def n_rows(self) -> int:
        """Rows of the first column or matrix; 0 when there is none."""
        return next((len(values) for values in (*self.columns.values(), *self.matrices.values())), 0)

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Return the named numeric columns side by side, (n, len(names)), float32 or float64."""
        position = {name: j for j, name in enumerate(self.packed_names)}
        if self.packed is not None and all(name in position for name in names):
            chosen = [position[name] for name in names]
            if chosen == list(range(chosen[0], chosen[0] + len(chosen))):
                return frozen(np.ascontiguousarray(self.packed[:, chosen[0] : chosen[0] + len(chosen)]))
            return frozen(self.packed[:, chosen])
        return frozen(np.stack([as_float_column(self.columns[name], name) for name in names], axis=1))

    def frame(self, max_rows: int | None = None) -> pd.DataFrame:
        """Return columns and matrices as one frame for preview; matrices become name[0], name[1], ..."""
        data: dict[str, np.ndarray] = {name: values[:max_rows] for name, values in self.columns.items()}
        for name, values in self.matrices.items():
            data |= {f"{name}[{j}]": values[:max_rows, j] for j in range(values.shape[1])}
        return pd.DataFrame({name: pd.Series(values) for name, values in data.items()})


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array and what it is a view of read-only, so that `Predictions` shares it without a copy."""
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
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "iubf":
        return values.astype(np.float64)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.isnan(numbers) & np.array([str(v).strip().lower() not in ("nan", "") for v in values])
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"column {name!r} must hold numbers; row {row} holds {str(values[row])[:40]!r}")
    return numbers


def table_from_columns(
    columns: Mapping[str, np.ndarray], *, format: str, matrices: Mapping[str, np.ndarray] | None = None
) -> Table:
    """Make a `Table`, laying its float columns side by side (float32 when all of them are)."""
    floats = [name for name, values in columns.items() if values.dtype.kind == "f"]
    if len(floats) < 2:
        return Table(format, dict(columns), dict(matrices or {}))
    wide = any(columns[name].dtype.itemsize > 4 for name in floats)
    packed = np.empty((len(columns[floats[0]]), len(floats)), np.float64 if wide else np.float32)
    for start in range(0, len(packed), 8192):
        for j, name in enumerate(floats):
            packed[start : start + 8192, j] = columns[name][start : start + 8192]
    return packed_table(packed, floats, columns, format=format, matrices=matrices)


def packed_table(
    packed: np.ndarray,
    packed_names: Sequence[str],
    columns: Mapping[str, np.ndarray | None],
    *,
    format: str,
    matrices: Mapping[str, np.ndarray] | None = None,
) -> Table:
    """Make a `Table` whose float columns are views into `packed`; `columns` gives the file order."""
    views = {name: packed[:, j] for j, name in enumerate(packed_names)}
    arrays = {name: views[name] if name in views else np.asarray(v) for name, v in columns.items()}
    return Table(format, arrays, dict(matrices or {}), packed, tuple(packed_names))


def table_from_frame(frame: pd.DataFrame) -> Table:
    """Make a `Table` of a pandas DataFrame; column names become str."""
    names = [str(name) for name in frame.columns]
    check_distinct(names)
    columns: dict[str, np.ndarray] = {}
    for j, name in enumerate(names):
        series = frame.iloc[:, j]
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            columns[name] = series.to_numpy()
        elif pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
            columns[name] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            columns[name] = as_text(series.tolist())
    return table_from_columns(columns, format="frame")


def as_text(values: Sequence[Any]) -> np.ndarray:
    """Return an object array of str; missing values become the empty string."""
    return np.array(
        [v if type(v) is str else "" if v is None or v != v else str(v) for v in values], dtype=object
    )


def some_names(names: Iterable[str]) -> str:
    """Return the first names, quoted, for a message."""
    names = list(names)
    return ", ".join(repr(name[:40]) for name in names[:5]) + (", ..." if len(names) > 5 else "")


def check_distinct(names: Sequence[str]) -> None:
    """Refuse column names that appear twice: roles go by name."""
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"column name {twice[:60]!r} appears more than once; give every column its own name")
