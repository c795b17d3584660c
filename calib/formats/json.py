"""JSON records, JSON lines and JSON objects of columns to a `Table`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from calib.exceptions import InputError
from calib.formats.source import Limits, Progress, Source, whole
from calib.formats.tables import Table, as_float_column, as_text, table_from_columns


def read_json(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read records, one record a line, or an object of equally long lists."""
    if source.size > limits.json_bytes or len(raw := whole(source, limits)) > limits.json_bytes:
        raise InputError(f"JSON of more than {limits.json_bytes >> 20} MiB (limit json_bytes); use Parquet")
    text = raw.decode("utf-8-sig")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if not (error.msg == "Extra data" and lines[0].lstrip().startswith("{")):
            raise InputError(f"the JSON is not valid: {error}") from None
        content = [json.loads(line) for line in lines]
    return _table_of_json(content, limits)


def _table_of_json(content: Any, limits: Limits) -> Table:
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        limits.check_rows(len(content))
        names = list(dict.fromkeys(name for row in content for name in row))
        limits.check_columns(len(names))
        limits.check_expanded(len(content) * len(names) * 8, limits.expanded_bytes)
        lists = {name: [row.get(name) for row in content] for name in names}
    elif isinstance(content, list) and content and all(isinstance(row, list) for row in content):
        lists = {"array": content}
    elif isinstance(content, dict) and content and all(isinstance(v, list) for v in content.values()):
        lists = content
    else:
        raise InputError(
            'JSON must be a list of records, [{"cat": 0.7, "dog": 0.3, "label": "cat"}, ...], or an object '
            "of equally long lists"
        )
    columns: dict[str, np.ndarray] = {}
    matrices: dict[str, np.ndarray] = {}
    for name, values in lists.items():
        limits.check_rows(len(values))
        if values and all(isinstance(value, list) for value in values):
            width = {len(value) for value in values}
            if len(width) != 1 or not width <= set(range(1, limits.columns + 1)):
                raise InputError(f"{name!r} holds lists of different lengths; give one number per class")
            flat = [cell for value in values for cell in value]
            matrices[name] = as_float_column(_json_column(flat, name), name).reshape(len(values), -1)
        else:
            columns[name] = _json_column(values, name)
    if not any(len(values) for values in (*columns.values(), *matrices.values())):
        raise InputError("the JSON holds no rows")
    if "class_names" not in columns and len({len(v) for v in (*columns.values(), *matrices.values())}) > 1:
        raise InputError("the lists of the JSON object have different lengths; one entry per row is needed")
    return table_from_columns(columns, format="json", matrices=matrices)


def _json_column(values: list[Any], name: str) -> np.ndarray:
    kinds = {type(value) for value in values}
    if kinds <= {int}:
        if all(abs(value) < 2**63 for value in values):
            return np.array(values, dtype=np.int64)
        return as_text(values)
    if kinds <= {int, float, type(None)}:
        return np.array([np.nan if value is None else float(value) for value in values])
    if kinds & {dict, list}:
        raise InputError(f"{name!r} mixes lists or objects with single values; give one value per row")
    return as_text(values)
