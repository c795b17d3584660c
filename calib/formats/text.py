"""Delimited text (CSV, TSV and relatives) to a `Table`, a few megabytes at a time."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from calib.exceptions import InputError
from calib.formats.quotes import breaks_lines, on_one_line
from calib.formats.source import Expander, Limits, Progress, Source, whole
from calib.formats.tables import Table, check_distinct, packed_table

#: Bytes parsed at a time: enough to keep the threads of pyarrow busy, small beside the result.
CHUNK = 8 << 20
#: Bytes looked at to find delimiter, decimal sign, header and column types: 20,000 long names fit in.
HEAD = 4 << 20
#: Cells looked at for that, once the header is known.
SNIFFED_CELLS = 100_000
DELIMITERS = ",;\t| :^~#&\x1f\x01"
NULLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NAN", "null", "NULL", "None", "#N/A", "<NA>"]
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
#: Integers longer than this do not survive a float64 (2**53 has 16 digits) and are kept as text.
EXACT_DIGITS = 15


@dataclass(frozen=True)
class Dialect:
    """How a text is laid out: what its first lines show."""

    delimiter: str
    decimal: str
    names: tuple[str, ...]
    header: bool
    numeric: tuple[bool, ...]


def read_delimited(source: Source, limits: Limits, progress: Progress | None = None) -> Table:
    """Read delimited text with any delimiter, decimal sign, BOM, quoting; plain or gzip.

    Raises
    ------
    InputError
        If the text is not a table, or a limit is met.
    """
    with source.open() as file:
        head = Expander(file, source.size, limits).read(HEAD)
    encoding = _encoding(head)
    text = head.decode(encoding, errors="replace")
    if "\x00" in text[:4096]:
        raise InputError(
            f"{source.name!r} is neither text nor a format that can be read; use CSV, Parquet, Feather, NPY, "
            "NPZ or JSON"
        )
    if breaks_lines(text):
        joined = on_one_line(whole(source, limits).decode(encoding, errors="replace")).encode()
        source, encoding = replace(source, size=len(joined), content=joined), "utf-8"
        text = joined[:HEAD].decode(errors="replace")
    dialect = _sniff(text, complete=len(head) < HEAD)
    limits.check_columns(len(dialect.names))
    check_distinct(dialect.names)
    try:
        return _read(source, limits, dialect, encoding, dialect.numeric, progress)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise InputError(_sentence(error)) from None
    # A column that looked numeric at first is not: read all as text, then convert column by column.
    try:
        return _read(source, limits, dialect, encoding, (False,) * len(dialect.names), progress)
    except pa.ArrowInvalid as error:
        raise InputError(_sentence(error)) from None


def _encoding(head: bytes) -> str:
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _sniff(text: str, complete: bool) -> Dialect:
    lines = text.removeprefix("\ufeff").splitlines()
    if not complete and len(lines) > 1:
        lines = lines[:-1]
    delimiter = None
    if lines and (match := re.fullmatch(r'"?sep=(.)"?', lines[0])):
        delimiter = match[1]
        lines = lines[1:]
    lines = [line for line in lines[:200] if line.strip()]
    if not lines:
        raise InputError("the file holds no rows")
    delimiter = delimiter or max(DELIMITERS, key=lambda d: _fit(lines[:30], d))
    rows = _split(lines, delimiter)
    rows = rows[: max(20, SNIFFED_CELLS // len(rows[0]))]
    body = rows[1:] or rows
    cells = [cell for row in body[:50] for cell in row]
    commas = sum("," in cell and _is_number(cell) for cell in cells)
    points = sum("." in cell and _is_number(cell) for cell in cells)
    decimal = "," if commas > points else "."
    header = _has_header(rows)
    names = [cell.strip() for cell in rows[0]] if header else [str(j) for j in range(len(rows[0]))]
    if header:
        names[0] = re.sub(r"^#\s*", "", names[0])
        if names.count("") > 1 and names[-1] == "" and not any(row[-1].strip() for row in body):
            raise InputError("every line ends with a delimiter, which makes an empty last column; remove it")
        body = rows[1:]
    numeric = tuple(
        all(_is_number(row[j]) for row in body if j < len(row)) and bool(body) for j in range(len(names))
    )
    return Dialect(delimiter, decimal, tuple(names), header, numeric)


def _split(lines: list[str], delimiter: str) -> list[list[str]]:
    csv.field_size_limit(HEAD)
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row] or [[""]]
    except csv.Error as error:
        raise InputError(f"the text cannot be read as a table: {error}") from None


def _fit(lines: list[str], delimiter: str) -> tuple[float, float, int]:
    """How well a delimiter explains the lines: same number of fields, numbers in them, many of them."""
    rows = _split(lines, delimiter)
    width = len(rows[0])
    even = sum(len(row) == width for row in rows) / len(rows)
    cells = [cell for row in rows[1:] or rows for cell in row]
    numbers = sum(_is_number(cell) for cell in cells) / max(len(cells), 1)
    return (even if width > 1 else 0.0, numbers, width)


def _is_number(cell: str) -> bool:
    cell = cell.strip().removesuffix("%")
    if cell in NULLS:
        return True
    return NUMBER.fullmatch(cell) is not None and (len(cell) <= EXACT_DIGITS or not cell.isdigit())


def _has_header(rows: list[list[str]]) -> bool:
    first = [cell.strip() for cell in rows[0]]
    if any(re.search(r"\d[.,]\d", cell) and _is_number(cell) for cell in first):
        return False
    if any(cell and not _is_number(cell) for cell in first):
        return True
    # Names such as 0, 1, 2 or 1, 10, 2: a run of distinct integers over rows that are not.
    if not all(cell.isdigit() for cell in first if cell) or len(rows) < 2:
        return False
    codes = sorted(int(cell) for cell in first if cell)
    run = len(codes) > 1 and codes in (list(range(len(codes))), list(range(1, len(codes) + 1)))
    return run and any(not cell.strip().lstrip("+-").isdigit() for row in rows[1:] for cell in row)


def _chunks(reader: Expander, encoding: str, dialect: Dialect) -> Iterator[bytes]:
    """Whole lines in UTF-8, without BOM, `sep=` line and header."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    rest, first = b"", True
    while True:
        raw = reader.read(CHUNK)
        data = raw if decoder is None else decoder.decode(raw, final=not raw).encode()
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
        data = rest + data if rest else data
        if first and raw:
            skip = data[:8].lstrip(b'"').startswith(b"sep=")
            data = _drop_lines(data, int(skip) + int(dialect.header))
            first = False
        if not raw:
            if data and not data.isspace():
                yield data
            return
        cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        if cut == 0 and len(data) > 4 * CHUNK:
            raise InputError(
                f"the file has a line of more than {4 * CHUNK >> 20} MiB: it is not a table of predictions"
            )
        lines, rest = data[:cut], data[cut:]
        if lines and not lines.isspace():
            yield lines


def _drop_lines(data: bytes, n_lines: int) -> bytes:
    start = 0
    while n_lines > 0:
        match = re.compile(rb"\r\n|\n|\r").search(data, start)
        if match is None:
            return b""
        n_lines -= bool(data[start : match.start()].strip())
        start = match.end()
    return data[start:]


def _read(
    source: Source,
    limits: Limits,
    dialect: Dialect,
    encoding: str,
    numeric: tuple[bool, ...],
    progress: Progress | None,
) -> Table:
    # Positions as names inside pyarrow: real names may hold anything.
    keys = [str(j) for j in range(len(dialect.names))]
    floats = [key for key, is_number in zip(keys, numeric, strict=True) if is_number]
    texts = [key for key, is_number in zip(keys, numeric, strict=True) if not is_number]
    types = dict.fromkeys(floats, pa.float64()) | dict.fromkeys(texts, pa.string())
    # Few columns are converted side by side in small blocks; many columns give each thread its own.
    block = 1 << 20 if len(keys) < 100 else 2 * CHUNK
    options: dict[str, Any] = {
        "read_options": pa_csv.ReadOptions(column_names=keys, block_size=block),
        "parse_options": pa_csv.ParseOptions(delimiter=dialect.delimiter),
        "convert_options": pa_csv.ConvertOptions(
            column_types=types,
            null_values=NULLS,
            decimal_point=dialect.decimal if dialect.decimal != dialect.delimiter else ".",
        ),
    }
    blocks: list[np.ndarray] = []
    strings: dict[str, list[pa.ChunkedArray]] = {key: [] for key in texts}
    n_rows = 0
    with source.open() as file:
        reader = Expander(file, source.size, limits)
        for chunk in _chunks(reader, encoding, dialect):
            part = pa_csv.read_csv(pa.BufferReader(chunk), **options)
            n_rows += part.num_rows
            limits.check_rows(n_rows)
            limits.check_expanded(n_rows * len(keys) * 8, source.size)
            blocks.append(_side_by_side(part, floats))
            for key in texts:
                strings[key].append(part.column(key))
            if progress is not None:
                progress(min(reader.position(), 1.0), "reading")
    if n_rows == 0:
        raise InputError("the file has a header but no rows")
    packed = np.concatenate(blocks)
    del blocks
    name_of = dict(zip(keys, dialect.names, strict=True))
    columns: dict[str, np.ndarray | None] = dict.fromkeys(dialect.names)
    extra: list[tuple[str, np.ndarray]] = []
    for key in texts:
        parts = [chunk for column in strings.pop(key) for chunk in column.chunks]
        values = _text_or_numbers(pa.chunked_array(parts, pa.string()))
        if values.dtype.kind == "f":
            extra.append((name_of[key], values))
        else:
            columns[name_of[key]] = values
    names = [name_of[key] for key in floats]
    if extra:
        packed = np.column_stack([packed, *(values for _, values in extra)])
        names += [name for name, _ in extra]
    return packed_table(packed, names, columns, format="csv")


def _side_by_side(part: pa.Table, keys: list[str]) -> np.ndarray:
    blocks = [
        np.array([column.to_numpy(zero_copy_only=False) for column in batch.columns], ndmin=2).T
        for batch in part.select(keys).to_batches()
    ]
    return np.concatenate(blocks) if keys and blocks else np.empty((part.num_rows, len(keys)))


def _text_or_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers if every cell is one (percent signs and decimal commas are understood), else text."""
    sample = [str(v).strip() for v in column.slice(0, 50).to_pylist() if v is not None]
    if sample and all(_is_number(cell.removesuffix("%")) for cell in sample):
        trimmed = pc.utf8_rtrim(pc.utf8_trim_whitespace(column), characters="%")
        plain = pc.replace_substring(pc.utf8_trim_whitespace(trimmed), pattern=",", replacement=".")
        missing = pc.is_in(plain, value_set=pa.array(NULLS))
        try:
            numbers = pc.if_else(missing, pa.scalar(None, pa.string()), plain).cast(pa.float64())
        except pa.ArrowInvalid:
            pass
        else:
            if not (pc.max(pc.utf8_length(plain)).as_py() or 0) > 25:
                return numbers.to_numpy()
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    values = np.array([*(v for v in coded.dictionary.to_pylist()), ""], dtype=object)
    codes = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return values[codes]


def _sentence(error: Exception) -> str:
    return "the text cannot be read as a table: " + " ".join(str(error).split())[:200]
