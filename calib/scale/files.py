"""Summary files: compressed JSON that anyone can read, nobody can execute, and that is checked before use."""

from __future__ import annotations

import gzip
import os
from typing import Any, BinaryIO

import numpy as np

from calib.base.exceptions import CalibratorFileError, InputError
from calib.base.outputs import write_whole
from calib.base.version import __version__
from calib.evidence.cell_sums import CELLS, MOST_BINS, PLAIN, WEIGHTED, CellSums
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.readers.source import Limits, Source, open_source, whole
from calib.files.saved.document import MAX_VALUES, read_document, write_document
from calib.files.saved.fields import Array, Field, Record, choice, closed, mismatch, naming_file, text
from calib.files.saved.fields import whole as whole_number
from calib.files.saved.origin import today
from calib.scale.layout import STREAMED
from calib.scale.partial import MOST_GROUPS
from calib.scale.summary import Summary

FORMAT = "calib-summary"
VERSION = 1
KEYS = (
    *("format", "version", "calib_version", "date", "source", "findings", "parts", "bins"),
    *("kind", "classes", "rows", "true", "losses", "top", "class_wise", "by", "checksum"),
)
#: First bytes of a file, uncompressed, by which it is recognised.
HEAD = b'{\n"format": "calib-summary"'

#: Most values in a file: 1,000 classes with class-wise sums have about 8 million.
MOST_VALUES = 4 * MAX_VALUES
#: Characters of the longest text, and most texts of a kind.
LONGEST = 1_000
MOST_PARTS = 1_000_000

_ROWS = {name: whole_number(0) for name in ("n_samples", "n_abstained", "n_faulty")}
_TEXT = text(f"a text of at most {LONGEST} characters", lambda line: len(line) <= LONGEST)
_DIGEST = text("16 hex digits", lambda line: len(line) == 16 and not set(line) - set("0123456789abcdef"))


def _sums_record(n_sums: int) -> Record:
    fields: dict[str, Field] = {
        "place": Array(("C",), low=0, order="increasing", whole=True),
        "count": Array(("C",), low=1, whole=True),
    }
    names = (PLAIN if n_sums == len(PLAIN) else WEIGHTED)[:n_sums]
    for name in names:
        fields |= {name: Array(("C",), low=0.0), f"{name}_low": Array(("C",))}
    return Record(fields)


def dumps(summary: Summary) -> bytes:
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "calib_version": __version__,
        "date": today(),
        "source": summary.source[:LONGEST],
        "findings": [line[:LONGEST] for line in summary.findings],
        "parts": list(summary.parts),
        "bins": MOST_BINS,
        "kind": summary.kind,
        "classes": list(summary.class_names),
        "rows": {name: getattr(summary, name) for name in _ROWS},
        "true": summary.true_rows.tolist(),
        "losses": {name: list(pair) for name, pair in summary.losses.items()},
        "top": _encoded(summary.top),
        "class_wise": None if summary.class_wise is None else _encoded(summary.class_wise),
        "by": [
            {"column": column, "groups": list(groups), "sums": _encoded(cells)}
            for column, (groups, cells) in summary.by.items()
        ],
    }
    _decoded(document)
    return gzip.compress(write_document(document), compresslevel=6, mtime=0)


def save(summary: Summary, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a summary to a file; by custom its name ends in ``.calib.json.gz``."""
    write_whole(file, dumps(summary))


def load(file: Any, *, limits: Limits | None = None) -> Summary:
    """Read a summary file, check all of it, and only then build the summary.

    `file` is a path, bytes or a binary file object; `limits` bound sizes while reading.
    """
    limits = (limits or Limits()).begun()
    source = open_source(file, limits)
    if not is_summary(source, limits):
        raise InputError(
            f"{source.name!r} is not a summary file; give the file that `calib summarize` or scale.save wrote"
        )
    with naming_file("summary file"):
        return _decoded(read_document(whole(source, limits), FORMAT, VERSION, KEYS, n_values=MOST_VALUES))


def is_summary(source: Source, limits: Limits) -> bool:
    """Return whether a file is a summary, by its first bytes."""
    if source.head(2) != b"\x1f\x8b":
        return False
    try:
        with source.expanded(limits) as file:
            return file.read(len(HEAD)) == HEAD
    except InputError:
        return False


def _encoded(sums: CellSums) -> dict[str, Any]:
    names = WEIGHTED if sums.weighted else PLAIN
    columns: dict[str, Any] = {"place": sums.place.tolist(), "count": sums.count.tolist()}
    for row, name in enumerate(names):
        columns |= {name: sums.high[row].tolist(), f"{name}_low": sums.low[row].tolist()}
    return columns


def _decoded(document: dict[str, Any]) -> Summary:
    if document["bins"] != MOST_BINS:
        raise mismatch("bins", str(MOST_BINS), document["bins"])
    kind = choice(*STREAMED).decode(document["kind"], "kind", {})
    names = _texts(document["classes"], "classes", _TEXT, MOST_VALUES)
    if len(set(names)) != len(names):
        raise CalibratorFileError("calibrator file: classes must be distinct; a name occurs twice")
    rows = Record(dict(_ROWS)).decode(document["rows"], "rows", {})
    true = Array(("L",), low=0, whole=True).decode(document["true"], "true", {})
    if len(true) != len(names):
        raise mismatch("true", f"a number for each of {len(names)} classes", document["true"])
    losses = closed(document["losses"], LOSSES, "losses")
    pairs = {name: Array(("pair",)).decode(losses[name], f"losses.{name}", {"pair": 2}) for name in LOSSES}
    n_keys = len(names) if kind in ("vectors", "top-label") else 1
    top = _cells(document["top"], "top", n_keys, rows["n_samples"])
    class_wise = None
    if document["class_wise"] is not None:
        class_wise = _cells(document["class_wise"], "class_wise", n_keys, rows["n_samples"] * n_keys)
    by = {}
    if not isinstance(document["by"], list):
        raise mismatch("by", "a list", document["by"])
    for index, entry in enumerate(document["by"]):
        where = f"by[{index}]"
        closed(entry, ("column", "groups", "sums"), where)
        column = _TEXT.decode(entry["column"], f"{where}.column", {})
        groups = _texts(entry["groups"], f"{where}.groups", _TEXT, MOST_GROUPS)
        if column in by or len(set(groups)) != len(groups):
            raise CalibratorFileError(f"calibrator file: {where} names a column or a group twice")
        by[column] = groups, _cells(entry["sums"], f"{where}.sums", len(groups), rows["n_samples"])
    if len({table.weighted for table in (top, *(cells for _, cells in by.values()))}) > 1:
        raise CalibratorFileError("calibrator file: only some of the sums have weights")
    sums = SummedRows(
        kind=kind,
        class_names=names,
        **rows,
        top=top,
        class_wise=class_wise,
        by=by,
        true_rows=true,
        losses={name: (float(pair[0]), float(pair[1])) for name, pair in pairs.items()},
    )
    return Summary.of(
        sums,
        _texts(document["parts"], "parts", _DIGEST, MOST_PARTS),
        _texts(document["findings"], "findings", _TEXT, MOST_PARTS),
        _TEXT.decode(document["source"], "source", {}),
    )


def _texts(raw: Any, where: str, field: Field, most: int) -> tuple[str, ...]:
    if not isinstance(raw, list) or len(raw) > most:
        raise mismatch(where, f"a list of at most {most:,} texts", raw)
    return tuple(field.decode(line, f"{where}[{index}]", {}) for index, line in enumerate(raw))


def _cells(raw: Any, where: str, n_keys: int, n_rows: int) -> CellSums:
    """Return checked sums: known places, counts that add up, sums that scores in [0, 1] can have."""
    weighted = isinstance(raw, dict) and "weight" in raw
    names = WEIGHTED if weighted else PLAIN
    values = _sums_record(len(names)).decode(raw, where, {})
    place, count = values["place"], values["count"]
    if len(place) and place[-1] >= n_keys * CELLS * 2:
        raise mismatch(f"{where}.place", f"places below {n_keys * CELLS * 2:,}", int(place[-1]))
    if int(count.sum()) != n_rows:
        raise mismatch(f"{where}.count", f"counts that sum to {n_rows:,}", int(count.sum()))
    high, low = (np.stack([values[name + end] for name in names]) for end in ("", "_low"))
    most = high[2] if weighted else count
    if (high[0] > most * (1.0 + 1e-9)).any() or (high[1] > high[0] * (1.0 + 1e-9) + 1e-9).any():
        raise CalibratorFileError(f"calibrator file: {where} holds sums that scores in [0, 1] cannot have")
    return CellSums(place, count, high, low)
