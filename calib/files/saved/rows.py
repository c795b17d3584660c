"""Predictions in a project file: arrays and further columns as Parquet, with the type of each column.

Version 1 of the file held arrays as NPY, and texts in the manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from calib.base.exceptions import CalibratorFileError
from calib.data.kinds import KINDS
from calib.data.notions import PerClass
from calib.data.predictions import Announcement
from calib.files.readers.arrow import read_parquet
from calib.files.readers.numpy import read_array
from calib.files.readers.reading import refuse_unreadable
from calib.files.readers.source import Limits, Source
from calib.files.readers.tables import check_distinct, frozen
from calib.files.saved.fields import (
    ANY,
    SURROGATE,
    Field,
    Listed,
    Maybe,
    Named,
    Record,
    WordOr,
    choice,
    mismatch,
    real,
    text,
    whole,
)
from calib.files.saved.members import NAME, Content, Members

#: Smallest share above 0.
LEAST = np.nextafter(0.0, 1.0).item()
#: A type of NumPy's, or pandas's types of text; mixed values are texts as JSON.
DTYPE = text(
    "a type of numbers, times or texts",
    re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<[mM]8\[(s|ms|us|ns)\]|(object|str)( as JSON)?").fullmatch,
)
_PER_CLASS = Record(
    {"others": Listed(whole(0)), "other_strategy": choice("uniform", "quantile")}, make=PerClass
)
#: Fields of predictions that are no columns.
VALUES: dict[str, Field] = {
    "class_names": Maybe(Listed(NAME)),
    "coverage": real(LEAST, 1.0),
    "columns": Named(NAME, NAME),
    "strategy": WordOr(choice("uniform", "quantile", "discrete"), _PER_CLASS),
}

#: Arrays that rows may lack are null among their values.
_MISSING = dict.fromkeys(("labels", "correct", "sample_weight", "cluster", "voted"), Maybe(choice()))
_LATER: dict[str, Any] = {"class_names": None, "coverage": 1.0, "columns": {}, "strategy": "uniform"}

#: A column as it is given and read.
Column = np.ndarray | pd.Series


def rows_field(members: Members) -> Record:
    """Return the field of predictions that `described` describes."""
    types = Named(NAME, DTYPE, Limits().columns)

    def read(file: bytes, types: Mapping[str, str]) -> dict[str, Column]:
        with refuse_unreadable("the project file", "parquet"):
            table = read_parquet(Source("the rows", len(file), file), members.limits)
        held = {**table.columns, **table.matrices}
        members.count_arrays(sum(array.nbytes for array in held.values()))
        if held.keys() != types.keys():
            raise mismatch("types of columns", "one for each of the rows' columns", list(types))
        return {name: _decoded(held[name], dtype, name) for name, dtype in types.items()}

    columns = Record({"file": Content(members, ".parquet"), "types": types}, make=read)
    own: dict[str, Field] = {"arrays": columns, "metadata": Maybe(columns)}
    return Record({"kind": choice(*KINDS), **VALUES, **own}, make=predictions_of)


def described(rows: Announcement | None) -> SimpleNamespace | None:
    if rows is None:
        return None
    state = {"class_names": None, **rows.__getstate__(), "kind": rows.kind}
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    table = None if rows.metadata is None or rows.metadata.empty else _described(rows.metadata)
    return SimpleNamespace(**{**state, "arrays": _described(arrays), "metadata": table})


def _described(columns: Mapping[str, Column] | pd.DataFrame) -> SimpleNamespace:
    """Return columns as Parquet, and the type of each."""
    names = [str(name) for name in columns]
    check_distinct(names)
    cells, types = zip(*(_encoded(column) for _, column in columns.items()), strict=True)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(list(cells), names), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    return SimpleNamespace(file=content, types=dict(zip(names, types, strict=True)))


def predictions_of(
    kind: str, arrays: Mapping[str, Column], metadata: Mapping[str, Column] | None, **values: Any
) -> Any:
    """Return the checked predictions of values that were read."""
    made_of: Any = KINDS[kind].type
    own = {field.name: field for field in fields(made_of)}
    needed = {name for name, f in own.items() if f.default is MISSING and f.default_factory is MISSING}
    possible = own.keys() - VALUES.keys() - {"metadata"}
    numeric = {name for name, array in arrays.items() if isinstance(array, np.ndarray)}
    if not needed <= numeric <= possible or len(numeric) < len(arrays):
        expected = f"numbers with some of the names {', '.join(sorted(possible))}"
        raise mismatch(f"the arrays of rows of kind {kind!r}", expected, list(arrays))
    if len(lengths := {len(column) for column in (metadata or {}).values()}) > 1:
        raise mismatch("metadata", "columns of one length", sorted(lengths))
    given = {name: value for name, value in values.items() if name in own}
    return made_of(**given, **arrays, metadata=None if metadata is None else pd.DataFrame(metadata))


def _encoded(values: Column) -> tuple[pa.Array, str]:
    """Return a column as Parquet holds it, and its type."""
    if isinstance(values.dtype, np.dtype) and DTYPE.is_sound(values.dtype.newbyteorder("<").str):
        dtype = values.dtype.newbyteorder("<")
        array = np.ascontiguousarray(values, dtype=dtype)
        stored = array.view({"b": np.uint8, "m": np.int64, "M": np.int64}.get(dtype.kind, dtype))
        cells = pa.array(stored.ravel())
        if array.ndim == 2:
            cells = pa.FixedSizeListArray.from_arrays(cells, array.shape[1])
        return cells, dtype.str
    given, kind = values.tolist(), "str" if isinstance(values.dtype, pd.StringDtype) else "object"
    if not all(type(value) is str for value in given) or any(map(SURROGATE.search, set(given))):
        given, kind = list(map(_word, given)), f"{kind} as JSON"
    return pa.array(given, pa.string()).dictionary_encode(), kind


def _decoded(values: np.ndarray, dtype: str, name: str) -> Column:
    kind, _, as_json = dtype.partition(" as ")
    if kind in ("object", "str"):
        if values.dtype != object:
            raise mismatch(f"column {name[:60]!r}", "texts", str(values.dtype))
        if as_json:
            codes, words = pd.factorize(values, use_na_sentinel=False)
            values = np.empty(len(words), dtype=object)
            values[:] = [value_of(word) for word in words]
            values = values[codes]
        return pd.Series(values, dtype=kind)
    wanted = np.dtype(dtype)
    if values.dtype.kind not in ("f" if wanted.kind == "f" else "iu" if values.ndim == 1 else "fiu"):
        raise mismatch(f"column {name[:60]!r}", f"numbers of type {dtype}", str(values.dtype))
    stored = np.dtype(np.int64) if wanted.kind in "mM" else wanted
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that are not of their type
        return frozen(np.ascontiguousarray(values.astype(stored, copy=False)).view(wanted))


def _word(value: Any) -> str:
    """Return a value of a column as JSON: texts, numbers and missing values as they are, else as text."""
    if value is pd.NA or value is pd.NaT:
        value = np.nan
    return json.dumps(value if value is None or type(value) in (bool, int, float, str) else str(value))


def value_of(word: str) -> Any:
    """Return a value that was written as JSON; version 1 wrote numbers that are not finite as lists."""
    try:
        value = json.loads(word)
        value = float(value[0]) if isinstance(value, list) else value
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError):
        value = {}
    if isinstance(value, dict):
        raise CalibratorFileError(f"the project file: metadata holds {word[:40]!r}, which is no value")
    return value


def earlier_rows_field(members: Members) -> Record:
    """Return the field of predictions in version 1, several of which may name the same arrays."""
    held: dict[str, np.ndarray] = {}

    def array(name: str) -> np.ndarray:
        if name not in held:
            with members.opened(name) as (file, _):
                held[name] = read_array(file, members.limits, f"array {name!r}")
        members.count_arrays(held[name].nbytes)
        held[name].flags.writeable = False
        return held[name]

    def rows(kind: str, values: Any, arrays: Any, metadata: Any) -> Any:
        given = {name: values[name] for name in VALUES}
        columns = [_earlier_column(array(column.pop("array")), **column) for column in metadata or ()]
        check_distinct([name for name, _ in columns])
        found = {name: array(at) for name, at in arrays.items()}
        return predictions_of(kind, found, dict(columns) or None, **given)

    column = Record({"name": NAME, "dtype": DTYPE, "array": NAME, "words": ANY}, {"words": None})
    own: dict[str, Field] = {
        "values": Record({**VALUES, **_MISSING}, {**_LATER, **dict.fromkeys(_MISSING)}),
        "arrays": Named(NAME, NAME),
        "metadata": Maybe(Listed(column, most=members.limits.columns)),
    }
    return Record({"kind": choice(*KINDS), **own}, make=rows)


def _earlier_column(array: np.ndarray, name: str, dtype: str, words: Any) -> tuple[str, Column]:
    """Return a column of numbers, of times as whole numbers, or of codes of words."""
    if array.ndim != 1 or (words is None and array.dtype.kind not in "biuf"):
        raise mismatch(f"column {name[:60]!r}", "one column of numbers", str(array.dtype))
    if words is None:
        is_time = dtype[1] in "mM" and array.dtype == np.int64
        return name, array.view(dtype) if is_time else array
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise mismatch(f"the words of column {name[:60]!r}", "a list of texts", words)
    if array.dtype != np.int64 or not len(array) or array.min() < 0 or array.max() >= len(words):
        raise mismatch(f"column {name[:60]!r}", f"codes of {len(words):,} words", str(array.dtype))
    distinct = np.empty(len(words), dtype=object)
    distinct[:] = [value_of(word) for word in words]
    return name, pd.Series(distinct[array], dtype="str" if dtype == "str" else object)
