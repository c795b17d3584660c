"""Files of monitors: JSON that anyone can read, and that is checked before use, as calibrator files are."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np

from calib.files.saved.document import read_document, write_document
from calib.files.saved.fields import (
    SURROGATE,
    Array,
    Listed,
    Maybe,
    Record,
    choice,
    mismatch,
    naming_file,
    real,
    text,
    whole,
)
from calib.stats.bets import CELLS, CLOCKS, LARGEST_HASH, REMEMBERED, STAKE, Level
from calib.stats.monitor import CHANGING, LONGEST_LINE, MOST_BLOCKS, Block, Count, Monitor

FORMAT, VERSION = "calib-monitor", 1
KEYS = ("format", "version", "params", "state", "blocks", "levels", "start", "checksum")
#: A quotation mark inside a JSON text is escaped, so this is a key and its value.
_NAMED = re.compile(rb'"format"\s*:\s*"' + FORMAT.encode() + rb'"')

_LINE = text(
    "a text of one line",
    lambda line: len(line) < LONGEST_LINE and "\n" not in line and not SURROGATE.search(line),
)
_PARAMS = Record(
    {
        "notion": choice("top-label", "confidence", "class-wise"),
        "by": Maybe(_LINE),
        "tolerance": real(0.0),
        "alpha": real(0.0, 1.0),
    }
)
_STATE = Record(
    {
        "clock": choice(*CLOCKS),
        "largest": real(0.0),
        "n_rows": whole(0),
        "n_unlabelled": whole(0),
        "seen": Array(("s",), 0, whole=True),
        "hashes": Array(("h",), 0, LARGEST_HASH, "increasing", whole=True),
        "n_returned": whole(0),
        "clusters": Maybe(Array(("c",), 0, LARGEST_HASH, "increasing", whole=True)),
        "batches": Listed(_LINE, distinct=True),
        "ended": Listed(
            Record(
                {"note": _LINE, "n_rows": whole(0), "evidence": real(0.0), "since": Maybe(_LINE)}, make=Count
            )
        ),
    },
    later={"n_returned": 0, "clusters": None, "batches": (), "ended": ()},
)
_BLOCKS = Record(
    {
        "first": Array(("B",)),
        "last": Array(("B",)),
        "n_rows": Array(("B",), 1, whole=True),
        "log_evidence": Array(("B",)),
        "batch": Listed(_LINE, size="B"),
    },
    later={"batch": None},
)
_LEVEL = Record(
    {
        "names": Listed(_LINE, 1, distinct=True, size="U"),
        "n_first": whole(1),
        "weights": Array(("U",), 0.0, 1.0),
        "n_bets": Array(("U",), 0, whole=True),
        "mixed": Array(("U", "K")),
        "best": Array(("U", "K")),
        "begun": Array(("U", "K"), 0, MOST_BLOCKS - 1, whole=True),
        "cells": Array(("m", "two"), 0, whole=True),
        "sums": Array(("m", "three")),
    }
)
_BOUND = Array(("C",), -1.0, 1.0)
_START = Listed(
    Record({"level": choice("all", "class", "group"), "name": _LINE, "lower": _BOUND, "upper": _BOUND})
)


def monitor_bytes(monitor: Monitor) -> bytes:
    """Return the state of a monitor as the bytes of its file; see `calib.save`."""
    with CHANGING:
        blocks = {name: [getattr(each, name) for each in monitor.blocks] for name in _BLOCKS.fields}
        levels = {}
        for level, of in monitor.levels.items():
            sums = {"cells": np.array([*of.sums]), "sums": np.array([*of.sums.values()])}
            levels[level] = _LEVEL.encode(SimpleNamespace(**{**vars(of), **sums}))
        document = {
            "format": FORMAT,
            "version": VERSION,
            "params": _PARAMS.encode(monitor),
            "state": _STATE.encode(monitor),
            "blocks": _BLOCKS.encode(SimpleNamespace(**blocks)),
            "levels": levels,
            "start": _START.encode(
                SimpleNamespace(level=level, name=name, lower=low, upper=high)
                for (level, name), (low, high) in monitor.start.items()
            ),
        }
        return write_document(document)


def is_monitor(data: Any) -> bool:
    """Return whether JSON names the format of monitors; other files have no such key inside."""
    return isinstance(data, bytes) and _NAMED.search(data) is not None


def monitor_of(data: bytes) -> Monitor:
    """Check all of the state of a monitor in the bytes of its file, and only then build the monitor."""
    with naming_file("monitor file"):
        return _built(read_document(data, FORMAT, VERSION, KEYS))


def _built(document: dict[str, Any]) -> Monitor:
    sizes: dict[str, int] = {}
    params = _PARAMS.decode(document["params"], "params", sizes)
    if params["alpha"] in (0, 1) or (params["by"] is not None and params["notion"] == "class-wise"):
        raise mismatch("params", "what Monitor takes", params)
    monitor = Monitor(**params)
    for name, value in _STATE.decode(document["state"], "state", sizes).items():
        setattr(monitor, name, value)
    monitor.seen = monitor.seen.tolist()  # type: ignore[attr-defined]
    blocks = _BLOCKS.decode(document["blocks"], "blocks", sizes)
    if sizes["B"] > MOST_BLOCKS or sizes["h"] > REMEMBERED:
        raise mismatch("blocks", f"at most {MOST_BLOCKS} blocks and {REMEMBERED} hashes", sizes["B"])
    names = blocks.pop("batch") or [f"row {int(first) + 1:,}" for first in blocks["first"]]
    monitor.blocks = [
        Block(*cells) for cells in zip(*(values.tolist() for values in blocks.values()), names, strict=True)
    ]
    if monitor.n_rows != sum(block.n_rows for block in monitor.blocks):
        raise mismatch("state.n_rows", "the rows of all blocks", monitor.n_rows)
    allowed = {"all", "class"} | ({"group"} if monitor.by else set())
    levels = document["levels"]
    needed = set() if monitor.notion == "class-wise" or not monitor.blocks else {"all"}
    is_whole = isinstance(levels, dict) and needed <= set(levels) <= allowed
    if not is_whole or bool(levels) != bool(monitor.blocks):
        raise mismatch("levels", f"an object with some of {', '.join(sorted(allowed))}", levels)
    monitor.levels = {level: _level(raw, f"levels.{level}", sizes["B"]) for level, raw in levels.items()}
    for bounds in _START.decode(document["start"], "start", {"C": CELLS}):
        unit, ends = (bounds["level"], bounds["name"]), np.array([bounds["lower"], bounds["upper"]])
        if unit[0] not in allowed or unit in monitor.start or (ends[0] > ends[1]).any():
            raise mismatch("start", "lower and upper bounds of distinct units of the monitor", unit[0])
        monitor.start[unit] = ends
    return monitor


def _level(raw: Any, where: str, n_blocks: int) -> Level:
    found = _LEVEL.decode(raw, where, {"K": len(STAKE), "two": 2, "three": 3})
    names, cells, sums = list(found.pop("names")), found.pop("cells"), found.pop("sums")
    if (cells >= (n_blocks, len(names))).any() or (found["begun"] >= n_blocks).any():
        raise mismatch(f"{where}.cells", f"one of {n_blocks} blocks and {len(names)} units", cells.tolist())
    if (
        (found["weights"] <= 0.0).any()
        or found["weights"].sum() > 1.0 + 1e-9
        or found["n_first"] > len(names)
    ):
        raise mismatch(f"{where}.weights", "positive shares that sum to at most 1", found["weights"].sum())
    level = Level(
        names,
        **found,
        sums={
            (block, unit): block_sums for (block, unit), block_sums in zip(cells.tolist(), sums, strict=True)
        },
    )
    counted = np.bincount(cells[:, 1], sums[:, 0], len(names))
    if not np.array_equal(counted, level.n_bets):
        raise mismatch(f"{where}.n_bets", "the bets of all blocks", level.n_bets.tolist())
    return level
