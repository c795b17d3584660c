"""Summary files: compressed JSON that anyone can read, nobody can execute, and that is checked before use."""

from __future__ import annotations

import gzip
import os
from typing import Any, BinaryIO

import numpy as np

from calib.base.exceptions import CalibratorFileError, InputError
from calib.base.outputs import write_whole
from calib.base.version import __version__
from calib.evidence.cell_sums import CELLS, EDGES, MOST_BINS, PLAIN, WEIGHTED, CellSums
from calib.evidence.sums import LOSSES
from calib.files.readers.source import Limits, Source, open_source, whole
from calib.files.saved.document import (
    DATE,
    MAX_VALUES,
    VERSION_NUMBER,
    memory_of_json,
    most_memory,
    read_document,
    today,
    write_document,
)
from calib.files.saved.fields import ANY, Array, Field, Listed, Record, choice, mismatch, naming_file, text
from calib.files.saved.fields import whole as whole_number
from calib.files.saved.members import EXPANSION, FREE_BYTES, NAME, tightened
from calib.scale.batches import STREAMED
from calib.scale.summary import MOST_GROUPS, Summary

FORMAT = "calib-summary"
VERSION = 1
#: First bytes of a file, uncompressed, by which it is recognised.
HEAD = b'{\n"format": "calib-summary"'
#: Most values in a file: 1,000 classes with class-wise sums have about 8 million.
MOST_VALUES = 4 * MAX_VALUES
#: Characters of the longest text, and most texts of a kind.
LONGEST = 1_000
MOST_PARTS = 1_000_000

_DIGEST = text("16 hex digits", lambda line: len(line) == 16 and not set(line) - set("0123456789abcdef"))
_GROUPS = Record({"column": NAME, "groups": Listed(NAME, most=MOST_GROUPS, distinct=True), "sums": ANY})
#: The content of a file; `_cells` checks sums.
_CONTENT = Record(
    {
        "calib_version": VERSION_NUMBER,
        "date": DATE,
        "source": NAME,
        "findings": Listed(NAME, most=MOST_PARTS),
        "parts": Listed(_DIGEST, most=MOST_PARTS),
        "bins": whole_number(MOST_BINS, MOST_BINS),
        "kind": choice(*STREAMED),
        "classes": Listed(NAME, most=MOST_VALUES, distinct=True, size="L"),
        "rows": Record({name: whole_number(0) for name in ("n_samples", "n_abstained", "n_faulty")}),
        "true": Array(("L",), low=0, whole=True),
        "losses": Record({name: Array(("pair",)) for name in LOSSES}),
        "top": ANY,
        "class_wise": ANY,
        "by": Listed(ANY),
    }
)
KEYS = ("format", "version", *_CONTENT.fields, "checksum")


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
        "rows": {name: getattr(summary, name) for name in ("n_samples", "n_abstained", "n_faulty")},
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
    data = write_document(document)
    for level in (6, 0):  # uncompressed if it would take more memory than `load` allows for the file
        content = gzip.compress(data, compresslevel=level, mtime=0)
        is_small = len(data) <= max(FREE_BYTES, EXPANSION * len(content))
        if is_small and memory_of_json(data) <= most_memory(len(content)):
            break
    return content


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
        data = whole(source, tightened(limits))
        document = read_document(data, FORMAT, VERSION, KEYS, n_values=MOST_VALUES, stored=source.size)
        return _decoded(document)


def is_summary(source: Source, limits: Limits) -> bool:
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
    content = _CONTENT.decode({key: document[key] for key in _CONTENT.fields}, "", {"pair": 2})
    rows, names, class_wise = content["rows"], content["classes"], content["class_wise"]
    n_rows, n_keys = rows["n_samples"], len(names) if content["kind"] in ("vectors", "top-label") else 1
    top = _cells(content["top"], "top", n_keys, n_rows)
    by = {}
    for index, entry in enumerate(content["by"]):
        groups = _GROUPS.decode(entry, f"by[{index}]", {})
        if groups["column"] in by:
            raise CalibratorFileError(f"calibrator file: by[{index}] names a column twice")
        cells = _cells(groups["sums"], f"by[{index}].sums", len(groups["groups"]), n_rows)
        by[groups["column"]] = groups["groups"], cells
    if len({cells.weighted for cells in (top, *(cells for _, cells in by.values()))}) > 1:
        raise CalibratorFileError("calibrator file: only some of the sums have weights")
    if class_wise is not None:
        class_wise = _cells(class_wise, "class_wise", n_keys, n_rows * n_keys)
    losses = {name: (float(high), float(low)) for name, (high, low) in content["losses"].items()}
    weight = top.total("weight")
    least = {} if content["kind"] == "binary" else {"accuracy": weight[top.outcome == 1].sum()}
    most = {"brier": 2.0 * weight.sum(), "accuracy": weight.sum()} | least
    for name, pair in losses.items():
        if min(sum(pair) - least.get(name, 0.0), most.get(name, np.inf) - sum(pair)) < -1e-6 * weight.sum():
            raise mismatch(f"losses.{name}", "a sum of losses that the rows can have", sum(pair))
    return Summary(
        content["kind"],
        names,
        **rows,
        top=top,
        class_wise=class_wise,
        by=by,
        true_rows=content["true"],
        losses=losses,
        parts=content["parts"],
        findings=content["findings"],
        source=content["source"],
    )


def _cells(raw: Any, where: str, n_keys: int, n_rows: int) -> CellSums:
    """Return checked sums: known places, counts that add up, sums that scores in [0, 1] can have."""
    weighted = isinstance(raw, dict) and "weight" in raw
    names = WEIGHTED if weighted else PLAIN
    fields: dict[str, Field] = {
        "place": Array(("C",), low=0, order="increasing", whole=True),
        "count": Array(("C",), low=1, whole=True),
    }
    for name in names:
        fields |= {name: Array(("C",), low=0.0), f"{name}_low": Array(("C",))}
    values = Record(fields).decode(raw, where, {})
    place, count = values["place"], values["count"]
    if len(place) and place[-1] >= n_keys * CELLS * 2:
        raise mismatch(f"{where}.place", f"places below {n_keys * CELLS * 2:,}", int(place[-1]))
    if int(count.sum()) != n_rows:
        raise mismatch(f"{where}.count", f"counts that sum to {n_rows:,}", int(count.sum()))
    high, low = (np.stack([values[name + end] for name in names]) for end in ("", "_low"))
    sums = CellSums(place, count, high, low)
    weight, score, square = map(sums.total, ("weight", "score", "square"))
    edges, slack = np.concatenate([[0.0], EDGES, [1.0]]), 1e-9 * weight
    below, above = score - weight * edges[sums.cell], weight * edges[sums.cell + 1] - score
    if any((part < -slack).any() for part in (below, above, score - square, slack - abs(low[0]))):
        raise CalibratorFileError(f"calibrator file: {where} holds sums that scores in [0, 1] cannot have")
    return sums
