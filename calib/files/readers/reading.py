"""Any supported file to a `Table`: the format is recognised, every failure is one `InputError`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.data.validation import n_axes, plain
from calib.files.readers.arrow import read_feather, read_parquet, table_of_batches
from calib.files.readers.json import read_json, table_of_lists
from calib.files.readers.long_format import wide
from calib.files.readers.nested import as_json, lists_in_texts, writes_lists
from calib.files.readers.numpy import read_npy, read_npz, table_of_arrays
from calib.files.readers.source import Limits, Progress, Source, open_source, whole
from calib.files.readers.tables import Table, any_numbers, frozen, table_from_frame
from calib.files.readers.text import read_delimited

NPY_MAGIC = b"\x93NUMPY"
#: First bytes of files that people pass by mistake, and what to do instead.
FOREIGN: dict[bytes | tuple[bytes, ...], str] = {
    (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"): (
        "a Python pickle, which can run code and is never read; save with np.savez or to_parquet"
    ),
    b"\x89HDF": "an HDF5 file; save the arrays with np.savez",
    b"MATLAB": "a MATLAB file; save the arrays as CSV",
    b"%PDF": "a PDF document",
    (b"\x89PNG", b"\xff\xd8\xff"): "a picture",
    (b"<!DOCTYPE html", b"<!doctype html", b"<html"): (
        "an HTML page, such as one that says why a download failed; download the file itself"
    ),
    b"version https://git-lfs": "a Git LFS pointer, and the file itself is elsewhere; run git lfs pull",
    (b"@relation", b"@RELATION"): "an ARFF file; save it as CSV",
    b"FEA1": "a Feather file of version 1; write it again with a current pandas or pyarrow",
}


@any_numbers
def read_table(
    source: Any,
    *,
    format: str | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    unwrap: Callable[[Any], Any] | None = None,
) -> Table:
    """Read a file into named columns and matrices, without deciding what they mean.

    Parameters
    ----------
    source : str, path, bytes, binary file object or Table
        CSV or TSV (any delimiter, decimal comma, BOM, UTF-16, gzip), Parquet, Feather, NPY, NPZ, JSON
        records, JSON lines or a JSON object of columns. A `Table` is returned as it is.
    format : {"csv", "parquet", "feather", "npy", "npz", "json"}, optional
        Recognised from the content by default.
    limits : Limits, optional
        Bounds enforced while reading.
    progress : callable, optional
        Called with the share done, 0 to 1, and a word about the step.
    unwrap : callable, optional
        Gives the records in the content of a JSON file. Lines and lists in cells then stay as they are.
    """
    if isinstance(source, Table):
        return source
    limits = (limits or Limits()).begun(progress)
    opened = open_source(source, limits)
    recognised = _recognise(opened, limits)
    chosen = (format or recognised).lower().removeprefix(".")
    chosen = _OTHER_NAMES.get(chosen, chosen)
    if chosen not in _READERS:
        raise InputError(f"format must be one of {', '.join(_READERS)}; got {format!r}")
    with refuse_unreadable(opened.name, chosen):
        if chosen in ("npy", "npz") and opened.head(2) == b"\x1f\x8b":
            opened = open_source(whole(opened, limits), limits)
        read = partial(read_json, unwrap=unwrap) if chosen == "json" else _READERS[chosen]
        table = read(opened, limits)
        if unwrap is None:
            table = wide(_with_lists(table, limits), limits)
    for array in (*table.columns.values(), *table.matrices.values()):
        frozen(array)
    limits.step(1.0, "reading")
    return table


@contextmanager
def refuse_unreadable(name: str, format: str) -> Iterator[None]:
    """Turn every error of a reader into an `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(_named(name, str(error))) from None
    except (MemoryError, OverflowError, RecursionError):
        raise InputError(_named(name, "it is too large or too deeply nested to be read")) from None
    except (pa.ArrowException, OSError, ValueError, EOFError, KeyError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"{name!r} cannot be read as {format}: {reason}") from None


@any_numbers
def table_from(data: Any, limits: Limits | None = None, format: str | None = None) -> Table | None:
    """Return a table of a file, a frame (pandas, or Arrow's batches) or a mapping of arrays; else None."""
    limits = limits or Limits()
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # a LazyFrame of polars
        data = data.collect()
    is_frame = isinstance(data, pd.DataFrame)
    if is_frame or isinstance(data, Mapping):
        ragged = _is_nested if is_frame else _is_ragged
        if any(ragged(values) for _, values in data.items()):
            lists = {str(name): [as_json(cell) for cell in values] for name, values in data.items()}
            table = table_of_lists(lists, "frame", limits)
        else:
            table = table_from_frame(data) if is_frame else _table_of_arrays(data)
        return wide(_with_lists(table, limits), limits)
    if hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "schema")):
        with refuse_unreadable(type(data).__name__, "batches of Arrow"):
            stream = pa.RecordBatchReader.from_stream(data)
            table = table_of_batches(stream.schema, stream, "frame", limits)
            return wide(_with_lists(table, limits), limits)
    if isinstance(data, (Table, str, bytes, bytearray, os.PathLike)) or hasattr(data, "read"):
        return read_table(data, format=format, limits=limits)
    return None


def _table_of_arrays(data: Mapping[str, Any]) -> Table:
    arrays = {str(name): np.asarray(plain(values)) for name, values in data.items()}
    for name, array in arrays.items():
        if n_axes(array) > 2:
            raise InputError(f"{name!r} has shape {array.shape}; one or two dimensions are needed")
    table = table_of_arrays(arrays, "npz")
    return table if table.matrices else replace(table, format="frame")


def _with_lists(table: Table, limits: Limits) -> Table:
    """Read lists of scores that a table holds as text; return any other table as it is."""
    text = {name: values for name, values in table.columns.items() if values.dtype == object}
    if table.matrices or not any(writes_lists(name, values[:100].tolist()) for name, values in text.items()):
        return table
    if sum(len(cell) for values in text.values() for cell in values) > limits.json_bytes:
        raise InputError(
            f"lists written as text of more than {limits.json_bytes >> 20} MiB (limit json_bytes); use "
            "Parquet with columns of lists"
        )
    columns = {name: values.tolist() for name, values in table.columns.items()}
    return table_of_lists(lists_in_texts(columns), table.format, limits)


def _is_nested(values: Any) -> bool:
    plain_column = isinstance(values, pd.Series) and values.dtype.kind != "O"
    if plain_column or isinstance(values, np.ndarray):
        return False
    cells = values if np.iterable(values) else ()
    return any(isinstance(cell, (list, tuple, dict, np.ndarray)) for cell in cells)


def _is_ragged(values: Any) -> bool:
    """Whether nested cells make no matrix: objects, or lists that differ in length or hold objects."""
    if not _is_nested(values):
        return False
    cells = list(values)
    sizes = {len(cell) if isinstance(cell, (list, tuple, np.ndarray)) else None for cell in cells}
    several = len(sizes) > 1 or None in sizes
    return several or any(isinstance(entry, (dict, list)) for cell in cells for entry in cell)


def _named(name: str, message: str) -> str:
    return message if repr(name) in message else f"{name!r}: {message}"


def _recognise(source: Source, limits: Limits) -> str:
    with refuse_unreadable(source.name, "a file"), source.expanded(limits) as file:
        head = file.read(64)
    if head.startswith(b"\x1f\x8b"):
        raise InputError(f"{source.name!r} is gzip inside gzip; decompress it once")
    if not head:
        raise InputError(f"{source.name!r} holds nothing once decompressed")
    for magic, what in FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"{source.name!r} is {what}; CSV, Parquet, Feather, NPY, NPZ and JSON are read")
    for magic, name in ((NPY_MAGIC, "npy"), (b"PK", "npz"), (b"PAR1", "parquet"), (b"ARROW1", "feather")):
        if head.startswith(magic):
            return name
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if text[:1] in (b"{", b"[") else "csv"


_READERS: dict[str, Callable[[Source, Limits], Table]] = {
    "csv": read_delimited,
    "parquet": read_parquet,
    "feather": read_feather,
    "npy": read_npy,
    "npz": read_npz,
    "json": read_json,
}
_OTHER_NAMES = {"tsv": "csv", "txt": "csv", "jsonl": "json", "ndjson": "json", "arrow": "feather"}
