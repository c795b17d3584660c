"""Anything that may be examined, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.exceptions import InputError
from calib.formats.drafts import Draft, divide, draft_of, with_labels
from calib.formats.reading import read_table
from calib.formats.roles import Roles
from calib.formats.source import Limits, Progress
from calib.formats.tables import Table, as_numbers, table_from_columns, table_from_frame
from calib.predictions import Predictions


def draft_from(
    data: Any,
    labels: Any,
    class_names: Sequence[str] | None,
    ids: Any,
    roles: Roles | None,
    limits: Limits | None,
    progress: Progress | None,
) -> tuple[Draft, Draft | None]:
    """Bring any accepted input to (draft, calibration draft or None)."""
    if isinstance(data, tuple) and len(data) == 2 and labels is None and np.ndim(data[0]) == 2:
        data, labels = data
    other: Draft | None = None
    if isinstance(data, Draft):
        draft = data
    elif isinstance(data, Predictions):
        draft = Draft(data.proba, data.labels, data.class_names, scale="probabilities")
    elif (table := _table_from(data, limits, progress)) is not None:
        drafts = {"evaluation": draft_of(table, roles)} if roles else divide(table)
        draft = drafts.get("evaluation") or next(iter(drafts.values()))
        other = drafts.get("calibration") if len(drafts) > 1 else None
    else:
        draft = Draft(_matrix(data))
    if labels is not None:
        draft = with_labels(draft, labels, limits=limits)
    if class_names is not None:
        names = tuple(str(name) for name in class_names)
        if len(names) not in (draft.n_classes, draft.n_classes - 1) or len(set(names)) != len(names):
            raise InputError(
                f"class_names needs {draft.n_classes} distinct names, one per column; got {len(names)}"
            )
        draft = replace(draft, class_names=names if len(names) == draft.n_classes else None)
    if ids is not None:
        draft = replace(draft, ids=np.asarray(ids))
    return draft, other


def _table_from(data: Any, limits: Limits | None, progress: Progress | None) -> Table | None:
    if isinstance(data, Table):
        return data
    if isinstance(data, pd.DataFrame):
        return table_from_frame(data)
    if isinstance(data, Mapping):
        arrays = {str(name): np.asarray(values) for name, values in data.items()}
        flat = {
            name: a.astype(object) if a.dtype.kind in "USO" else a
            for name, a in arrays.items()
            if a.ndim == 1
        }
        wide = {name: as_numbers(a) for name, a in arrays.items() if a.ndim == 2}
        return Table("npz", flat, wide) if wide else table_from_columns(flat, format="frame")
    if isinstance(data, (str, bytes, bytearray)) or hasattr(data, "read") or hasattr(data, "__fspath__"):
        return read_table(data, limits=limits, progress=progress)
    return None


def _matrix(data: Any) -> np.ndarray:
    try:
        array = np.asarray(data)
        if array.dtype.kind == "c":
            raise ValueError("they are complex")
        matrix = as_numbers(array)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers: {' '.join(str(error).split())[:120]}") from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(f"scores must be an (n, L) matrix with at least one row; got shape {matrix.shape}")
    return matrix
