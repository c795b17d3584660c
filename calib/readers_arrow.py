"""Parquet and Feather to a `Table`, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from calib.delimited import whole
from calib.predictions import InputError
from calib.tables import (
    Limits,
    Progress,
    Source,
    Table,
    as_numbers,
    as_text,
    check_distinct,
    table_from_columns,
)


def read_parquet(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read a Parquet file, batch by batch; its footer is checked first."""
    data = whole(source, limits)
    file = pq.ParquetFile(pa.BufferReader(data))
    schema, described = file.schema_arrow, file.metadata
    limits.check_rows(described.num_rows)
    limits.check_columns(described.num_columns)
    limits.check_expanded(described.num_rows * len(schema) * 8, limits.expanded_bytes)
    groups = (described.row_group(g).total_byte_size for g in range(described.num_row_groups))
    limits.check_expanded(sum(groups), len(data))
    # Text stays dictionary-coded: a long string repeated a million times must not be written out.
    coded = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=coded)
    batches = file.iter_batches(batch_size=65_536, use_threads=False)
    return _table_of_batches(batches, file.schema_arrow, described.num_rows, "parquet", limits, progress)


def read_feather(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read a Feather (Arrow IPC) file, batch by batch."""
    data = whole(source, limits)
    file = pa_ipc.open_file(pa.BufferReader(data))
    limits.check_columns(len(file.schema))
    batches = (file.get_batch(i) for i in range(file.num_record_batches))
    return _table_of_batches(batches, file.schema, None, "feather", limits, progress)


def _table_of_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    total: int | None,
    format: str,
    limits: Limits,
    progress: Progress | None,
) -> Table:
    check_distinct(schema.names)
    parts: list[list[Any]] = [[] for _ in schema]
    n_rows = n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_rows += batch.num_rows
        n_bytes += batch.nbytes
        limits.check_rows(n_rows)
        limits.check_expanded(n_bytes, limits.expanded_bytes)
        for j, column in enumerate(batch.columns):
            parts[j].append(_plain(column))
        if progress is not None and total:
            progress(n_rows / total, "reading")
    if n_rows == 0:
        raise InputError("the file has no rows")
    columns: dict[str, np.ndarray] = {}
    matrices: dict[str, np.ndarray] = {}
    ignored: list[str] = []
    for j, name in enumerate(schema.names):
        pieces, parts[j] = parts[j], []
        if any(piece is None for piece in pieces):
            ignored.append(name)
            continue
        if len({piece.shape[1:] for piece in pieces}) > 1:
            raise InputError(
                f"column {name!r} holds lists of different lengths; one number per class is needed"
            )
        (columns if pieces[0].ndim == 1 else matrices)[name] = np.concatenate(pieces)
    table = table_from_columns(columns, format=format, matrices=matrices)
    return replace(table, ignored=tuple(ignored))


def _plain(column: pa.Array) -> Any:
    """NumPy array of numbers, (n, m) for lists; object array of text; None for any other type."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        words = _plain(column.dictionary)
        if words is None or words.ndim != 1:
            return None
        missing = "" if words.dtype == object else np.nan
        words = np.append(words.astype(object if words.dtype == object else np.float64), missing)
        return words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False).astype(np.int64)]
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and column.null_count == 0):
        values = column.to_numpy(zero_copy_only=False)
        return as_numbers(values) if values.dtype.kind == "f" else values
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix_of_lists(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        return as_text(column.to_pylist())
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_interval(kind):
        return as_text(pc.cast(column, pa.string()).to_pylist())
    return None


def _matrix_of_lists(column: pa.Array) -> np.ndarray | None:
    inner = column.type.value_type
    if not (pa.types.is_floating(inner) or pa.types.is_integer(inner)):
        return None
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        raise InputError("a column holds lists of different lengths; one number per class is needed")
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return as_numbers(flat).reshape(len(column), lengths[0])
