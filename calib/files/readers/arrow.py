"""Parquet and Feather to a `Table`, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from calib.files.readers.expanded_sizes import size_of_message, size_of_pages
from calib.files.readers.json import table_of_lists
from calib.files.readers.source import Limits, Source, whole
from calib.files.readers.tables import Table, as_numbers, as_text, check_distinct, whole_column

#: Bytes of a Python object, for values inside lists and objects.
OBJECT_BYTES = 100
#: Types whose bytes must be text, beside bytes of a fixed number.
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.string_view())


def read_parquet(source: Source, limits: Limits) -> Table:
    """Read a Parquet file, batch by batch; its footer is checked first."""
    data = whole(source, limits)
    file = pq.ParquetFile(pa.BufferReader(data))
    schema, n_rows = file.schema_arrow, file.metadata.num_rows
    limits.check_expanded(size_of_pages(data), len(data))
    # Columns of other types are not decoded, and text stays dictionary-coded: repeats take no memory.
    coded = [field.name for field in schema if is_text(field.type)]
    file, usable = pq.ParquetFile(pa.BufferReader(data), read_dictionary=coded), _usable(schema)
    batches = file.iter_batches(batch_size=65_536, use_threads=False, columns=usable)
    return table_of_batches(schema, batches, "parquet", limits, n_rows)


def read_feather(source: Source, limits: Limits) -> Table:
    """Read a Feather (Arrow IPC) file, batch by batch, after adding up what it expands to."""
    data = whole(source, limits)
    stream = pa.py_buffer(data).slice(8)  # behind the magic bytes, a file is a stream
    expanded = sum(size_of_message(message) for message in pa_ipc.MessageReader.open_stream(stream))
    limits.check_expanded(expanded, len(data))
    reader = pa_ipc.open_stream(stream)
    return table_of_batches(reader.schema, reader, "feather", limits)


def table_of_batch(batch: pa.RecordBatch) -> Table:
    """Return the columns of one batch that hold numbers, text or lists of these."""
    return table_of_batches(batch.schema, [batch], "parquet", Limits())


def table_of_batches(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    format: str,
    limits: Limits,
    total: int | None = None,
) -> Table:
    limits.check_columns(len(schema))
    check_distinct(schema.names)
    usable = _usable(schema)
    kept: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        batch = batch.select(usable)
        batch.validate(full=True)
        batch = pa.record_batch([_as_stored(column) for column in batch.columns], names=usable)
        n_rows += batch.num_rows
        n_bytes += batch.nbytes + sum(map(_further_bytes, batch.columns))
        limits.check_rows(n_rows)
        limits.check_expanded(n_bytes, limits.expanded_bytes)
        kept.append(batch)
        if total:
            limits.step(n_rows / total, "reading")
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
    return Table.of(format, held, ignored)


def is_text(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind)


def _as_stored(column: pa.Array) -> pa.Array:
    """Return what extensions, runs, views and bytes hold."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _as_stored(column.storage)
    if types.is_run_end_encoded(column.type):
        return _as_stored(pc.run_end_decode(column))
    if types.is_dictionary(column.type):  # small codes could not hold the words of all batches
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), _as_stored(column.dictionary))
    of_one_size = types.is_fixed_size_binary(column.type)
    if not of_one_size and column.type not in BYTES:
        return column
    try:
        return (column.cast(pa.large_binary()) if of_one_size else column).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise InputError(f"a column of type {column.type} holds bytes that are no text") from None


def _is_list(kind: pa.DataType) -> bool:
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _is_number(kind: pa.DataType) -> bool:
    return types.is_floating(kind) or types.is_integer(kind)


def _usable(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if _conversion(field.type) is not None]


@cache
def _conversion(kind: pa.DataType) -> Callable[[pa.Array], Any] | None:
    """Return what makes values of a column that is `_as_stored`; None for types that are not read."""
    kind = _as_stored(pa.nulls(0, kind)).type
    if types.is_dictionary(kind):
        single = _conversion(kind.value_type) not in (None, _matrix_of_lists, _objects)
        return _decoded if single else None
    if types.is_floating(kind):
        return lambda column: as_numbers(column.to_numpy(zero_copy_only=False))
    if types.is_integer(kind):
        return _integers
    if types.is_decimal(kind) or types.is_null(kind):
        return lambda column: column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if is_text(kind) or types.is_boolean(kind):
        return lambda column: as_text(column.to_pylist())
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
        return lambda column: as_text(column.cast(pa.string()).to_pylist())
    if types.is_map(kind):
        return _objects if is_text(kind.key_type) and _is_number(kind.item_type) else None
    if not (_is_list(kind) or types.is_struct(kind)):
        return None
    if any(_conversion(kind.field(at).type) is None for at in range(kind.num_fields)):
        return None
    return _matrix_of_lists if _is_list(kind) and _is_number(kind.value_type) else _objects


def _cells(array: Any) -> list[Any]:
    if isinstance(array, list):
        return array
    cells: list[Any] = array.tolist()
    return [None if cell == "" else cell for cell in cells] if array.dtype == object else cells


def column_values(column: pa.Array) -> Any:
    """Return a NumPy array of numbers, (n, m) for lists; object array of text; None for any other type."""
    column = _as_stored(column)
    convert = _conversion(column.type)
    return None if convert is None else convert(column)


def _integers(column: pa.Array) -> np.ndarray:
    return whole_column(column.to_pylist()) if column.null_count else column.to_numpy(zero_copy_only=False)


def _decoded(column: pa.DictionaryArray) -> np.ndarray:
    words = column_values(column.dictionary)
    if words.dtype.kind in "iu":
        words = whole_column([*words.tolist(), None])[:-1]
    missing, dtype = ("", object) if words.dtype == object else (np.nan, np.float64)
    words = np.append(words.astype(dtype), missing)
    return words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False).astype(np.int64)]


def _objects(column: pa.Array) -> list[Any]:
    return column.to_pylist(maps_as_pydicts="strict")


def _matrix_of_lists(column: pa.Array) -> Any:
    """Return the (n, m) matrix of lists of m numbers; the lists if they differ in length."""
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return column.to_pylist()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return as_numbers(flat).reshape(len(column), lengths[0])


def _further_bytes(column: pa.Array) -> int:
    """Count the bytes of repeated text, row by row, and of Python objects in cells with lists or objects."""
    kind = column.type
    if types.is_dictionary(kind) and is_text(kind.value_type):
        return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if _is_list(kind) and not _is_number(kind.value_type):
        flat = column.flatten()
        return OBJECT_BYTES * len(flat) + _further_bytes(flat)
    if types.is_struct(kind):
        return sum(OBJECT_BYTES * len(column) + _further_bytes(part) for part in column.flatten())
    return OBJECT_BYTES * 2 * len(column.keys) if types.is_map(kind) else 0
