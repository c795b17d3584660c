"""What all timings share: arrays, the fastest of calls by turns, own processes, and tables of pages."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

Calls = Mapping[str, Callable[[], Any]]


def simulated(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 scores of a softmax and labels drawn from them."""
    rng = np.random.default_rng(17)
    proba = 2.5 * rng.standard_normal((rows, classes), dtype=np.float32)
    proba -= proba.max(axis=1, keepdims=True)
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    drawn = rng.random((rows, 1), dtype=np.float32)
    parts = (slice(at, at + 5_000) for at in range(0, rows, 5_000))
    return proba, np.concatenate([(proba[at].cumsum(axis=1) > drawn[at]).argmax(axis=1) for at in parts])


def fastest(calls: Calls, budget: float, turns: int = 7) -> tuple[dict[str, float], dict[str, Any]]:
    """Make calls by turns; return the fastest seconds and the value of each.

    Each is made at least once; together they may take `budget` seconds. A call that takes over a quarter of
    them is made once and does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    values, spent = {}, 0.0
    for _ in range(turns):
        for name, call in calls.items():
            if min(seconds[name], default=0.0) > budget / 4:
                continue
            start = time.perf_counter()
            values[name] = call()
            seconds[name].append(time.perf_counter() - start)
            spent += seconds[name][-1] if seconds[name][-1] <= budget / 4 else 0.0
        if spent > budget:
            break
    return {name: min(times) for name, times in seconds.items()}, values


def alone(module: str, *arguments: object) -> Any:
    """Run a module in a process of its own; return what its last line says, in JSON."""
    command = [sys.executable, "-W", "ignore", "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def machine(*peers: str) -> str:
    """Say what ran when, and on how many processors."""
    from calib.base.version import __version__  # not before benchmarks.speed has chosen between two trees

    versions = [f"calib-diagnostics {__version__}"]
    for name in ("numpy", *peers):
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    processors = f"{len(os.sched_getaffinity(0))} processors, Python {platform.python_version()}"
    return f"{date.today().isoformat()}, {processors}; {', '.join(versions)}."


def put_table(page: str, heading: str, lines: list[str], *peers: str) -> None:
    """Write a table, and what was measured when, into the section of a page of docs, in place of the last."""
    path = ROOT / "docs" / page
    before, head, rest = path.read_text(encoding="utf-8").partition(f"## {heading}\n")
    if not head:
        raise ValueError(f"{path} must have the heading {heading!r}")
    section, *after = rest.split("\n## ")
    kept = [part for part in section.strip().split("\n\n") if not part.startswith(("|", "Measured "))]
    filled = "\n\n".join(["", *kept, f"Measured {machine(*peers)}", "\n".join(lines)]) + "\n"
    path.write_text(before + head + "\n## ".join([filled[1:], *after]), encoding="utf-8")
