"""JSON records, JSON lines and JSON objects of columns to a `Table`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.conventions import is_called
from calib.files.readers.nested import flattened
from calib.files.readers.source import Limits, Source, whole
from calib.files.readers.tables import Table, as_float_column, as_text, check_words, repeated, whole_column

#: Objects inside objects in which rows are looked for.
DEEPEST = 3
#: Bytes of memory for an object, a list, and a value or key.
OBJECT_BYTES = {b"{": 184, b"[": 64, b",": 32, b":": 32}


def read_json(source: Source, limits: Limits, unwrap: Callable[[Any], Any] | None = None) -> Table:
    """Read records, one record a line, or an object of equally long lists."""
    if source.size > limits.json_bytes or len(raw := whole(source, limits)) > limits.json_bytes:
        raise InputError(f"JSON of more than {limits.json_bytes >> 20} MiB (limit json_bytes); use Parquet")
    # The memory that objects take, counted by their signs.
    objects = sum(size * raw.count(mark) for mark, size in OBJECT_BYTES.items())
    limits.check_expanded(objects, limits.expanded_bytes)
    text = raw.decode("utf-8-sig")
    try:
        content = json.loads(text, object_pairs_hook=_record)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if not (error.msg == "Extra data" and lines[0].lstrip().startswith(("{", "["))):
            raise InputError(f"the JSON is not valid: {error}") from None
        content = [json.loads(line, object_pairs_hook=_record) for line in lines]
    return _table_of_json(content if unwrap is None else unwrap(content), limits)


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = repeated(name for name, _ in pairs) or ""
        values = [repr(value)[:40] for name, value in pairs if name == twice][:2]
        raise InputError(
            f"{twice[:60]!r} occurs twice in one JSON object, with {', '.join(values)}; keep one of them"
        )
    return record


def _records_in(content: Any, depth: int = 0) -> list[Any]:
    members = list(content.values()) if type(content) is dict and depth <= DEEPEST else []
    lists = [member for member in members if type(member) is list and member and type(member[0]) is dict]
    return lists + [found for member in members for found in _records_in(member, depth + 1)]


def _unwrapped(content: Any) -> Any:
    """Return the rows inside the wrappers that pandas and evaluation logs write."""
    if type(content) is not dict or not content:
        return content
    if content.keys() >= {"columns", "data"}:
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]
    columns = list(content.values())
    if all(type(column) is dict for column in columns):
        plain = not any(type(cell) in (list, dict) for column in columns for cell in column.values())
        if all(name.isdigit() for name in content) and plain:
            return columns
        if len(columns) > max(map(len, columns)):
            return [{"id": name, **record} for name, record in content.items()]
        if plain and all(column.keys() == columns[0].keys() for column in columns):
            return {name: list(values.values()) for name, values in content.items()}
    found = [] if all(type(column) is list for column in columns) else _records_in(content)
    return max(found, key=len, default=content)


def _table_of_json(content: Any, limits: Limits) -> Table:
    content = _unwrapped(content)
    rows = content if isinstance(content, list) else []
    if rows and all(isinstance(row, dict) for row in rows):
        limits.check_rows(len(rows))
        names = list(dict.fromkeys(name for row in rows for name in row))
        limits.check_columns(len(names))
        limits.check_filled(len(rows) * len(names), sum(map(len, rows)))
        content = {name: [row.get(name) for row in rows] for name in names}
    elif rows and all(isinstance(row, list) for row in rows):
        objects = any(isinstance(cell, dict) for row in rows for cell in row)
        content = {"predictions" if objects else "array": rows}
    if not (isinstance(content, dict) and content and all(isinstance(v, list) for v in content.values())):
        raise InputError(
            'JSON must be a list of records, [{"cat": 0.7, "label": "cat"}, ...], or an object of lists'
        )
    check_words(content, "a name in the JSON")
    return table_of_lists(content, "json", limits)


def table_of_lists(lists: Mapping[str, Sequence[Any] | np.ndarray], format: str, limits: Limits) -> Table:
    """Make a table of columns of JSON values; lists and objects in cells become columns of their own."""
    if len({len(values) for name, values in lists.items() if not is_called(name, "classes")}) == 1:
        lists = flattened(lists, limits)
        limits.check_columns(len(lists))
        limits.check_expanded(8 * sum(map(len, lists.values())), limits.expanded_bytes)
    arrays: dict[str, np.ndarray] = {}
    for name, values in lists.items():
        limits.check_rows(len(values))
        arrays[name] = values if isinstance(values, np.ndarray) else _json_array(values, name, limits)
    sizes = {len(values) for values in arrays.values()}
    if not any(sizes):
        raise InputError("the JSON holds no rows")
    if len(sizes) > 1 and not any(is_called(name, "classes") for name in arrays):
        raise InputError("the lists of the JSON object have different lengths; one entry per row is needed")
    return Table.of(format, arrays)


def _json_array(values: Sequence[Any], name: str, limits: Limits) -> np.ndarray:
    if not values or not all(isinstance(value, list) for value in values):
        return _json_column(values, name)
    width = {len(value) for value in values}
    if len(width) != 1 or not 0 < max(width) <= limits.columns:
        raise InputError(f"{name!r} holds lists of different lengths; give one number per class")
    flat = [cell for value in values for cell in value]
    return as_float_column(_json_column(flat, name), name).reshape(len(values), -1)


def _json_column(values: Sequence[Any], name: str) -> np.ndarray:
    kinds = {type(value) for value in values}
    if kinds <= {int, type(None)}:
        return whole_column(values)
    if kinds <= {int, float, type(None)}:
        try:
            return np.array([np.nan if value is None else float(value) for value in values])
        except OverflowError:
            raise InputError(f"{name[:60]!r} holds an integer beyond 1e308; give numbers") from None
    if kinds & {dict, list}:
        raise InputError(f"{name!r} mixes lists or objects with single values; give one value per row")
    return as_text(values)
