"""Delimited text (CSV, TSV and relatives) to a `Table`: a look at its first lines, then pyarrow."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import threading
import weakref
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from calib.base.exceptions import InputError
from calib.files.readers.arrow import column_values
from calib.files.readers.source import Expander, Limits, Source
from calib.files.readers.tables import Table, check_distinct, one_line

#: Bytes parsed at a time; tables of `MANY_COLUMNS` take `WIDE` times as much.
BLOCK, WIDE, MANY_COLUMNS = 1 << 20, 8, 100
#: Bytes looked at to find delimiter, decimal sign, header and column types.
HEAD = 4 << 20
#: Cells looked at for column types, below the header.
SNIFFED_CELLS = 100_000
DELIMITERS = ",;\t| :^~#&\x1f\x01"
NULLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NAN", "null", "NULL", "None", "#N/A", "<NA>"]
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
#: By decimal sign, cells in which the other sign may separate thousands: 1,234 is 1234 or 1.234.
THOUSANDS = {
    mark: rf"^[+-]?[1-9]\d{{0,2}}(\{other}\d{{3}})+\s*%?$" for mark, other in ((".", ","), (",", "."))
}
#: Seconds to wait until pyarrow lets go of a file; it takes less than a millisecond.
LONGEST_WAIT = 2.0
#: Most digits of an integer that float64 holds exactly; longer integers are text.
EXACT_DIGITS = 15


@dataclass(frozen=True)
class Dialect:
    """How a text is laid out: what its first lines show."""

    encoding: str
    delimiter: str
    decimal: str
    names: tuple[str, ...]
    #: Lines before the first row: `sep=`, blank ones, the header.
    skipped: int
    numeric: tuple[bool, ...]


class TrimmedText(Expander):
    """Text of a file without blanks after its last line break: pyarrow would take them for one more row."""

    def __init__(self, file: BinaryIO, stored: int, limits: Limits) -> None:
        super().__init__(file, stored, limits)
        self._blanks: list[bytes] = []

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes` and the blanks held back before; empty at the end."""
        while chunk := super().read(n_bytes):
            begin = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            end = begin if chunk[begin:].isspace() else len(chunk)
            data = b"".join([*self._blanks, chunk[:end]]) if end else b""
            self._blanks = [chunk[end:]] if end else [*self._blanks, chunk]
            if data:
                return data
        return b""


def read_delimited(source: Source, limits: Limits, dialect: Dialect | None = None) -> Table:
    """Read delimited text with any delimiter, decimal sign, BOM and quoting, gzipped or not."""
    if dialect is None:
        with source.expanded(limits) as file:
            dialect = dialect_of(file.read(HEAD), source.name)
        limits.check_columns(len(dialect.names))
    try:
        return _columns(source, limits, dialect)
    except pa.ArrowInvalid as error:
        if "conversion error" in str(error):
            # A column that looked numeric is not: read all as text, then convert column by column.
            return read_delimited(source, limits, replace(dialect, numeric=(False,) * len(dialect.names)))
        if "straddling object" in str(error):
            raise InputError(
                f"a line is longer than {BLOCK >> 20} MiB, or a quote is opened and never closed; "
                "this is not a table of predictions"
            ) from None
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"the text cannot be read as a table: {reason}") from None
    except UnicodeDecodeError as error:
        reason = f"the text is not valid {dialect.encoding}: {error.reason}"
        raise InputError(f"{reason}; save it as UTF-8") from None


def dialect_of(head: bytes, name: str) -> Dialect:
    """Return how a text is delimited, and its columns, by its first `HEAD` bytes."""
    encoding = _encoding(head)
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    if "\x00" in text[:4096]:
        raise InputError(
            f"{name!r} is neither text nor a format that can be read; use CSV, Parquet, Feather, NPY, NPZ or "
            "JSON"
        )
    if len(head) == HEAD:  # the last line may be cut
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    dialect = _sniff(text, encoding)
    check_distinct(dialect.names)
    return dialect


def _encoding(head: bytes) -> str:
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf8"  # the one name that pyarrow reads without a detour


def _sniff(text: str, encoding: str) -> Dialect:
    match = re.match(r'"?sep=([^\r\n])"?(\r\n|\n|\r|$)', text)
    if match:
        text = text[match.end() :]
    comments = _comments(text)
    text = text[len(comments) :]
    delimiter = match[1] if match else max(DELIMITERS, key=lambda d: _fit(_records(text, d, 30)[0]))
    rows, through_first = _records(text, delimiter, 200)
    if not rows:
        raise InputError("the file holds no rows")
    rows = rows[: max(20, SNIFFED_CELLS // len(rows[0]))]
    body = rows[1:] or rows
    cells = [cell for row in body[:50] for cell in row]
    numbers = [cell.strip() for cell in cells if _is_number(cell)]
    commas = sum("," in cell and not re.match(THOUSANDS["."], cell, re.ASCII) for cell in numbers)
    decimal = "," if commas > sum("." in cell for cell in numbers) else "."
    header = _has_header(rows)
    names = [one_line(cell).strip() for cell in rows[0]] if header else [str(j) for j in range(len(rows[0]))]
    if header:
        names[0] = re.sub(r"^#\s*", "", names[0])
        if names.count("") > 1 and names[-1] == "" and not any(row[-1].strip() for row in body):
            raise InputError("every line ends with a delimiter, which makes an empty last column; remove it")
        body = rows[1:]
        if not body:
            raise InputError("the file has a header but no rows")
        before = [name for name in names if name]
        width = max(map(len, body))
        if before[-1:] == ["distribution"] and width > (at := names.index("distribution")) + 1:  # Weka
            names = names[:at] + [f"probability_{k + 1}" for k in range(width - at)]
    numeric = tuple(all(_is_number(row[j]) for row in body if j < len(row)) for j in range(len(names)))
    skipped = bool(match) + comments.count("\n") + (through_first if header else 0)
    return Dialect(encoding, delimiter, decimal, tuple(names), skipped, numeric)


def _comments(text: str) -> str:
    """Return the lines of comment above a table: they begin with #, and the line after them does not."""
    match = re.match(r"((?:#[^\n]*\n)*(#[^\n]*\n))([^#\n][^\n]*)", text)
    if match is None:
        return ""
    marks = [mark for mark in DELIMITERS if mark != "#" and mark in match[3]]
    return match[1] if marks and all(match[2].count(mark) != match[3].count(mark) for mark in marks) else ""


def _records(text: str, delimiter: str, most: int) -> tuple[list[list[str]], int]:
    """First rows that are not blank, and the number of lines through the first of them."""
    csv.field_size_limit(HEAD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    through_first = 0
    try:
        for row in reader:
            if "".join(row).strip():
                rows.append(row)
                through_first = through_first or reader.line_num
            if len(rows) == most:
                break
    except csv.Error as error:
        raise InputError(f"the text cannot be read as a table: {error}") from None
    return rows, through_first


def _fit(rows: list[list[str]]) -> tuple[float, float, int]:
    """How well a delimiter explains the rows: same number of fields, numbers in them, many of them."""
    if not rows:
        return (0.0, 0.0, 0)
    width = len(rows[0])
    even = sum(len(row) == width for row in rows) / len(rows)
    cells = [cell for row in rows[1:] or rows for cell in row]
    numbers = sum(_is_number(cell) for cell in cells) / max(len(cells), 1)
    return (even if width > 1 else 0.0, numbers, width)


def _is_number(cell: str) -> bool:
    if len(cell) <= EXACT_DIGITS and NUMBER.fullmatch(cell):
        return True
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
    codes = sorted(int(cell) if cell.isdigit() else -1 for cell in first if cell)
    run = len(codes) > 1 and codes[0] in (0, 1) and codes == [*range(codes[0], codes[0] + len(codes))]
    return run and any(not cell.strip().lstrip("+-").isdigit() for row in rows[1:] for cell in row)


def _columns(source: Source, limits: Limits, dialect: Dialect) -> Table:
    # Positions as names inside pyarrow: real names may hold anything.
    kinds = {str(j): pa.float64() if number else pa.string() for j, number in enumerate(dialect.numeric)}
    options = (
        pa_csv.ReadOptions(
            column_names=list(kinds),
            skip_rows=dialect.skipped,
            encoding=dialect.encoding,
            block_size=BLOCK if len(kinds) < MANY_COLUMNS else WIDE * BLOCK,
        ),
        pa_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        pa_csv.ConvertOptions(
            column_types=kinds,
            null_values=NULLS,
            decimal_point=dialect.decimal if dialect.decimal != dialect.delimiter else ".",
        ),
    )
    batches: list[pa.RecordBatch] = []
    n_rows = 0
    with source.open() as file:
        lines = TrimmedText(file, source.size, limits)
        let_go = threading.Event()
        weakref.finalize(lines, let_go.set)
        for batch in pa_csv.open_csv(lines, *options):
            n_rows += batch.num_rows
            limits.check_rows(n_rows)
            limits.check_expanded(n_rows * len(kinds) * 8, source.size)
            batches.append(batch)
            limits.step(min(lines.position(), 1.0), "reading")
        del lines
    # A thread of pyarrow lets go of it last. If Python ended meanwhile, it would abort the process.
    let_go.wait(LONGEST_WAIT)
    cells = pa.Table.from_batches(batches, pa.schema(kinds)).columns[::-1]
    del batches
    columns: dict[str, np.ndarray] = {}
    for name, is_number in zip(dialect.names, dialect.numeric, strict=True):
        column = cells.pop()  # which frees it
        columns[name] = column.to_numpy() if is_number else _text_or_numbers(column, dialect.decimal, name)
    return Table("csv", columns)


def _text_or_numbers(column: pa.ChunkedArray, decimal: str, name: str) -> np.ndarray:
    """Numbers if every cell is one (percent signs and decimal commas are understood), else text."""
    if name.startswith("probability_"):  # Weka marks the highest
        column = pc.utf8_ltrim(column, characters="*")
    sample = [cell.strip() for cell in column.slice(0, 50).to_pylist() if cell is not None]
    if sample and all(_is_number(cell.removesuffix("%")) for cell in sample):
        trimmed = pc.utf8_rtrim(pc.utf8_trim_whitespace(column), characters="%")
        digits = pc.replace_substring(pc.utf8_trim_whitespace(trimmed), pattern=",", replacement=".")
        missing = pc.is_in(digits, value_set=pa.array(NULLS))
        _refuse_thousands(column, decimal, name)
        if (pc.max(pc.utf8_length(digits)).as_py() or 0) <= 25:
            with contextlib.suppress(pa.ArrowInvalid):
                return pc.if_else(missing, pa.scalar(None, pa.string()), digits).cast(pa.float64()).to_numpy()
    return np.asarray(column_values(column.dictionary_encode().combine_chunks()))


def _refuse_thousands(column: pa.ChunkedArray, decimal: str, name: str) -> None:
    """Refuse a cell such as "1,234" in a file of decimal points: it is 1234 or 1.234."""
    matches = pc.match_substring_regex(pc.utf8_trim_whitespace(column), pattern=THOUSANDS[decimal])
    if (row := pc.index(matches, True).as_py()) >= 0:
        kind = "comma" if decimal == "." else "point"
        raise InputError(
            f"column {name[:60]!r} holds {column[row].as_py().strip()!r} in row {row}, which is thousands or "
            f"has a decimal {kind}; write it without marks between thousands, and with {decimal!r} for the "
            "decimals"
        )
