"""Parts of data on storage, such as row groups of Parquet files, read batch by batch in bounded memory."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads

from calib.base.exceptions import InputError
from calib.files.readers.tables import repeated
from calib.files.readers.text import HEAD, dialect_of

#: Fewest and most rows of a batch, and most values of a batch with more than the fewest rows.
LEAST_ROWS, MOST_ROWS, MOST_VALUES = 64_000, 256_000, 700_000
#: Formats by the ending of a file; any other ending means Parquet. Texts may also be packed by gzip.
FEATHER = (".feather", ".arrow")
DELIMITED = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
TEXTS = (*DELIMITED, *JSON_LINES)
#: Endings of the files that are read in folders; texts are read only if there are no others.
ENDINGS = (".parquet", ".pq", *FEATHER)
#: A file, an address, a pattern or a folder, or several of these.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Part:
    """A row group of a file, or a whole file that has none."""

    path: str  #: The file
    row_group: int  #: Its number in the file; 0 for a file without row groups
    first: int  #: Row of the file that it starts with
    n_rows: int  #: Its rows
    fragment: Any  #: Its reader

    @property
    def name(self) -> str:
        return f"{self.path}, row group {self.row_group}"

    def batches(self, columns: Sequence[str], *, further: bool = False) -> Iterator[pa.RecordBatch]:
        """Read its rows in order, with these columns, or with `further` columns that the file has."""
        names = self.fragment.physical_schema.names
        for name in columns:
            if name not in names:
                raise InputError(
                    f"{self.path} has no column {name!r}, which the first file has; all files need the same "
                    "columns"
                )
        chosen = names if further else list(columns)
        size = min(max(MOST_VALUES // len(chosen), LEAST_ROWS), MOST_ROWS)
        options: dict[str, Any] = {"batch_size": size, "batch_readahead": 1, "use_threads": False}
        with _named_failure(self.path):
            yield from self.fragment.to_batches(columns=chosen, **options)


def find_files(paths: Paths) -> list[str]:
    """Return the files that paths, addresses, patterns (``data/*.parquet``) and folders name, in order."""
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: list[str] = []
    for named in [os.fspath(each) for each in listed]:
        if os.path.isdir(named):
            below = sorted(glob.glob(os.path.join(glob.escape(named), "**", "*"), recursive=True))
            found = [name for name in below if name.endswith(ENDINGS)]
            found = found or [name for name in below if name.removesuffix(".gz").endswith(TEXTS)]
        else:
            is_file = "://" in named or os.path.exists(named)
            found = [named] if is_file else sorted(glob.glob(named, recursive=True))
        if not found:
            raise InputError(
                f"{named!r} names no file; give files, a folder, or a pattern such as 'data/*.parquet'"
            )
        files += found
    if not files:
        raise InputError("no paths were given")
    twice = repeated(file if "://" in file else os.path.realpath(file) for file in files)
    if twice is not None:
        raise InputError(f"{twice!r} is named twice; its rows would count twice")
    return files


def find_parts(files: Sequence[str], coded: Sequence[str] = ()) -> list[Part]:
    """Return the row groups of files, in order; columns of `coded` are read as codes of their values."""
    parts: list[Part] = []
    for path in files:
        with _named_failure(path):
            parts += _parts_of(path, coded)
    return parts


@contextmanager
def _named_failure(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: cannot be read as {_format_of(path)[0]}: {reason}") from None


def _format_of(path: str, coded: Sequence[str] = ()) -> tuple[str, Any]:
    if path.endswith(FEATHER):
        return "Feather", pads.IpcFileFormat()
    text = path.removesuffix(".gz")
    if text.endswith(JSON_LINES):
        return "JSON lines", pads.JsonFileFormat()
    if text.endswith(DELIMITED):
        return "CSV", pads.CsvFileFormat() if "://" in path else _delimited(path)
    if text.endswith((".json", ".npy", ".npz")):
        raise InputError(
            f"{path!r} is no Parquet, Feather, CSV or JSON lines; read other formats with calib.read"
        )
    return "Parquet", pads.ParquetFileFormat(dictionary_columns=set(coded))


def _delimited(path: str) -> pads.CsvFileFormat:
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        dialect = dialect_of(file.read(HEAD), path)
    return pads.CsvFileFormat(
        pacsv.ParseOptions(delimiter=dialect.delimiter),
        convert_options=pacsv.ConvertOptions(decimal_point=dialect.decimal),
        read_options=pacsv.ReadOptions(
            column_names=list(dialect.names), skip_rows=dialect.skipped, encoding=dialect.encoding
        ),
    )


def _parts_of(path: str, coded: Sequence[str]) -> list[Part]:
    name, kind = _format_of(path, coded)
    found = []
    for fragment in pads.dataset(path, format=kind).get_fragments():
        if name != "Parquet":
            found.append(Part(path, 0, 0, fragment.count_rows(), fragment))
            continue
        first = 0
        for group in fragment.split_by_row_group():
            described = group.row_groups[0]
            if described.num_rows:
                found.append(Part(path, described.id, first, described.num_rows, group))
            first += described.num_rows
    return found


def first_rows(parts: Sequence[Part], n_rows: int) -> pa.RecordBatch:
    """Return the first rows with all columns, of several parts if a part has fewer."""
    found: list[pa.RecordBatch] = []
    for batch in (batch for part in parts for batch in part.batches((), further=True)):
        if found and batch.schema != found[0].schema:
            break
        found.append(batch)
        if sum(map(len, found)) >= n_rows:
            break
    if not sum(map(len, found)):
        raise InputError("the files have no rows")
    return (found[0] if len(found) == 1 else pa.concat_batches(found)).slice(0, n_rows)
