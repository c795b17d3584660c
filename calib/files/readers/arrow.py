"""Parquet and Feather to a `Table`, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq
from pyarrow import types

from calib.base.exceptions import InputError
from calib.files.readers.arrow_messages import expanded_size
from calib.files.readers.json import table_of_lists
from calib.files.readers.parquet_pages import size_of_pages
from calib.files.readers.source import Limits, Progress, Source, whole
from calib.files.readers.tables import (
    Table,
    as_numbers,
    as_text,
    check_distinct,
    whole_column,
)

#: Bytes of a Python object, for values inside lists and objects.
OBJECT_BYTES = 100
#: Types of single values beside numbers and text, and types whose bytes must be text.
SINGLE = (types.is_boolean, types.is_decimal, types.is_null, types.is_date, types.is_time, types.is_timestamp)
BYTES = (
    types.is_binary,
    types.is_large_binary,
    types.is_fixed_size_binary,
    types.is_binary_view,
    types.is_string_view,
)


def read_parquet(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read a Parquet file, batch by batch; its footer is checked first."""
    data = whole(source, limits)
    file = pq.ParquetFile(pa.BufferReader(data))
    schema, n_rows = file.schema_arrow, file.metadata.num_rows
    limits.check_rows(n_rows)
    limits.check_columns(file.metadata.num_columns)
    limits.check_expanded(size_of_pages(data), len(data))
    # Columns of other types are not decoded, and text stays dictionary-coded: repeats take no memory.
    usable = [field.name for field in schema if _is_usable(field.type)]
    coded = [field.name for field in schema if is_text(field.type)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=coded)
    batches = file.iter_batches(batch_size=65_536, use_threads=False, columns=usable)
    return _table_of_batches(schema, batches, "parquet", limits, progress, n_rows)


def read_feather(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read a Feather (Arrow IPC) file, batch by batch, after adding up what it expands to."""
    data = whole(source, limits)
    stream = pa.py_buffer(data).slice(8)  # behind the magic bytes, a file is a stream
    expanded = sum(expanded_size(message) for message in pa_ipc.MessageReader.open_stream(stream))
    limits.check_expanded(expanded, len(data))
    reader = pa_ipc.open_stream(stream)
    return _table_of_batches(reader.schema, reader, "feather", limits)


def table_of_batch(batch: pa.RecordBatch) -> Table:
    """Return the columns of one batch that hold numbers, text or lists of these."""
    return _table_of_batches(batch.schema, [batch], "parquet", Limits())


def gives_batches(data: Any) -> bool:
    """Whether an object gives named columns by Arrow's PyCapsule interface: a frame, table or relation."""
    return hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "schema"))


def table_of_stream(data: Any, limits: Limits, progress: Progress | None = None) -> Table:
    """Return a table of what `gives_batches`, such as a frame of polars or a relation of DuckDB."""
    try:
        reader = pa.RecordBatchReader.from_stream(data)
        return _table_of_batches(reader.schema, reader, "frame", limits, progress)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"the {type(data).__name__} cannot be read by Arrow: {reason}") from None


def _table_of_batches(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    format: str,
    limits: Limits,
    progress: Progress | None = None,
    total: int | None = None,
) -> Table:
    limits.check_columns(len(schema))
    check_distinct(schema.names)
    usable = [field.name for field in schema if _is_usable(field.type)]
    kept: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        batch = batch.select(usable)
        batch.validate(full=True)
        batch = pa.record_batch([_as_stored(column) for column in batch.columns], names=usable)
        n_rows += batch.num_rows
        n_bytes += batch.nbytes + sum(map(_repeated_bytes, batch.columns))
        n_bytes += OBJECT_BYTES * sum(map(_cells_within, batch.columns))
        limits.check_rows(n_rows)
        limits.check_expanded(n_bytes, limits.expanded_bytes)
        kept.append(batch)
        if progress is not None and total:
            progress(n_rows / total, "reading")
    if n_rows == 0:
        raise InputError("the file has no rows")
    cells = pa.Table.from_batches(kept).columns[::-1]
    del kept
    held: dict[str, Any] = {}
    for name in usable:
        held[name] = column_values(cells.pop().combine_chunks())  # whose memory is then free
    ignored = tuple(name for name in schema.names if name not in held)
    if any(isinstance(values, list) for values in held.values()):
        lists = {name: _cells(values) for name, values in held.items()}
        return replace(table_of_lists(lists, format, limits), ignored=ignored)
    columns = {name: values for name, values in held.items() if values.ndim == 1}
    matrices = {name: values for name, values in held.items() if values.ndim == 2}
    return Table(format, columns, matrices, ignored)


def is_text(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind)


@cache
def _stored(kind: pa.DataType) -> pa.DataType:
    """Return the plain type that a column is read as: of extensions, runs, views and bytes what they hold."""
    if isinstance(kind, pa.BaseExtensionType):
        return _stored(kind.storage_type)
    if types.is_run_end_encoded(kind):
        return _stored(kind.value_type)
    return pa.large_string() if any(is_kind(kind) for is_kind in BYTES) else kind


def _as_stored(column: pa.Array) -> pa.Array:
    while isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if types.is_run_end_encoded(column.type):
        return _as_stored(pc.run_end_decode(column))
    if types.is_dictionary(column.type):  # small codes could not hold the words of all batches
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), _as_stored(column.dictionary))
    try:
        if types.is_fixed_size_binary(column.type):
            column = column.cast(pa.large_binary())
        return column if _stored(column.type) == column.type else column.cast(_stored(column.type))
    except pa.ArrowInvalid:
        raise InputError(f"a column of type {column.type} holds bytes that are no text") from None


def _is_list(kind: pa.DataType) -> bool:
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _is_nested(kind: pa.DataType) -> bool:
    if _is_list(kind):
        return _is_usable(kind.value_type)
    if types.is_struct(kind):
        return all(_is_usable(kind.field(at).type) for at in range(kind.num_fields))
    return bool(types.is_map(kind)) and is_text(kind.key_type) and _is_number(kind.item_type)


def _is_number(kind: pa.DataType) -> bool:
    return types.is_floating(kind) or types.is_integer(kind)


@cache
def _is_usable(kind: pa.DataType) -> bool:
    kind = _stored(kind)
    if types.is_dictionary(kind):
        return _is_usable(kind.value_type) and not _is_nested(kind.value_type)
    return _is_nested(kind) or _is_number(kind) or is_text(kind) or any(is_kind(kind) for is_kind in SINGLE)


def _cells(array: Any) -> list[Any]:
    if isinstance(array, list):
        return array
    cells: list[Any] = array.tolist()
    return [None if cell == "" else cell for cell in cells] if array.dtype == object else cells


def _repeated_bytes(column: pa.Array) -> int:
    """Bytes of the text of a dictionary-coded column, written out row by row."""
    if not types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return 0
    lengths = np.append(pc.binary_length(column.dictionary).fill_null(0).to_numpy(zero_copy_only=False), 0)
    rows = column.indices.fill_null(len(lengths) - 1).to_numpy(zero_copy_only=False)
    return int(lengths[rows.astype(np.int64)].sum(dtype=np.int64))


def column_values(column: pa.Array) -> Any:
    """Return a NumPy array of numbers, (n, m) for lists; object array of text; None for any other type."""
    column = _as_stored(column)
    kind = column.type
    if types.is_dictionary(kind):
        words = column_values(column.dictionary)
        if words is None or words.ndim != 1:
            return None
        if words.dtype.kind in "iu":
            words = whole_column([*words.tolist(), None])[:-1]
        missing = "" if words.dtype == object else np.nan
        words = np.append(words.astype(object if words.dtype == object else np.float64), missing)
        return words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False).astype(np.int64)]
    if not _is_usable(kind):
        return None
    if types.is_floating(kind) or (types.is_integer(kind) and column.null_count == 0):
        values = column.to_numpy(zero_copy_only=False)
        return as_numbers(values) if values.dtype.kind == "f" else values
    if types.is_integer(kind):
        return whole_column(column.to_pylist())
    if types.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if _is_list(kind) and _is_number(kind.value_type):
        return _matrix_of_lists(column)
    if _is_nested(kind):
        return column.to_pylist(maps_as_pydicts="strict")
    return as_text((column.cast(pa.string()) if types.is_temporal(kind) else column).to_pylist())


def _matrix_of_lists(column: pa.Array) -> Any:
    """Return the (n, m) matrix of lists of m numbers; the lists if they differ in length."""
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return column.to_pylist()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return as_numbers(flat).reshape(len(column), lengths[0])


def _cells_within(column: pa.Array) -> int:
    """Count the values in cells that hold lists or objects, all of which become Python objects."""
    kind = column.type
    if _is_list(kind) and not _is_number(kind.value_type):
        flat = column.flatten()
        return len(flat) + _cells_within(flat)
    if types.is_struct(kind):
        return sum(len(column) + _cells_within(part) for part in column.flatten())
    return 2 * len(column.keys) if types.is_map(kind) else 0
