"""Rows of project files of version 1: arrays as NPY, and texts in the manifest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib.data.kinds import KINDS
from calib.files.readers.numpy import read_array
from calib.files.readers.tables import check_distinct
from calib.files.saved.fields import ANY, Field, Listed, Maybe, Named, Record, choice, mismatch
from calib.files.saved.members import NAME, Members
from calib.files.saved.rows import DTYPE, VALUES, Column, predictions_of, value_of

#: Arrays that rows may lack are null among their values.
_MISSING = dict.fromkeys(("labels", "correct", "sample_weight", "cluster", "voted"), Maybe(choice()))
_LATER: dict[str, Any] = {"class_names": None, "coverage": 1.0, "columns": {}, "strategy": "uniform"}


def earlier_rows_field(members: Members) -> Record:
    """Return the field of predictions in version 1, several of which may name the same arrays."""
    held: dict[str, np.ndarray] = {}

    def array(name: str) -> np.ndarray:
        if name not in held:
            with members.opened(name) as (file, size):
                held[name] = read_array(file, size, members.limits, f"array {name!r}")
        members.count_arrays(held[name].nbytes)
        held[name].flags.writeable = False
        return held[name]

    def rows(kind: str, values: Any, arrays: Any, metadata: Any) -> Any:
        given = {name: values[name] for name in VALUES}
        columns = [_column(array(column.pop("array")), **column) for column in metadata or ()]
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


def _column(array: np.ndarray, name: str, dtype: str, words: Any) -> tuple[str, Column]:
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
