"""What all timings share: calls, arrays, the fastest of calls by turns, own processes, tables of pages."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

#: Seconds and value by name.
Found = dict[str, tuple[float, Any]]


class Work(NamedTuple):
    """An expression that is timed, and statements that run before it, as for `timeit`."""

    call: str
    setup: str = ""

    def ready(self, **names: Any) -> Callable[[], Any]:
        """Run the setup with these names, and return the call."""
        exec(self.setup, names)
        return eval(f"lambda: {self.call}", names)


def simulated(rows: int, classes: int, seed: int = 17) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 scores of a softmax and labels drawn from them."""
    rng = np.random.default_rng(seed)
    proba = 2.5 * rng.standard_normal((rows, classes), dtype=np.float32)
    proba -= proba.max(axis=1, keepdims=True)
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    drawn = rng.random((rows, 1), dtype=np.float32)
    parts = (slice(at, at + 5_000) for at in range(0, rows, 5_000))
    return proba, np.concatenate([(proba[at].cumsum(axis=1) > drawn[at]).argmax(axis=1) for at in parts])


def fastest(works: Mapping[str, Work], budget: float, turns: int = 7, **names: Any) -> Found:
    """Make calls by turns; return the fastest seconds and the value of each whose library is installed.

    Each is made at least once; together they may take `budget` seconds. A call that takes over a quarter of
    them is made once and does not count.
    """
    calls, found, spent = {}, Found(), 0.0
    for name, work in works.items():
        with suppress(ImportError):
            calls[name] = work.ready(**names)
    for _ in range(turns):
        for name, call in calls.items():
            before = found[name][0] if name in found else np.inf
            if budget / 4 < before < np.inf:
                continue
            start = time.perf_counter()
            value = call()
            seconds = time.perf_counter() - start
            found[name] = min(seconds, before), value
            spent += seconds if seconds <= budget / 4 else 0.0
        if spent > budget:
            break
    return found


def alone(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function in a new process; return what it returns."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def started(*words: str) -> None:
    """Run Python in a new process, with the calib of this process."""
    environment = os.environ | {"PYTHONPATH": sys.path[0]}
    subprocess.run([sys.executable, *words], check=True, env=environment, stdout=subprocess.DEVNULL)


def machine(*peers: str) -> str:
    """Say what ran when, and on how many processors."""
    from calib.base.version import __version__  # not before benchmarks.speed has chosen between two trees

    versions = [f"calib-diagnostics {__version__}"]
    for name in ("numpy", *peers):
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    processors = f"{len(os.sched_getaffinity(0))} processors, Python {platform.python_version()}"
    return f"{date.today().isoformat()}, {processors}; {', '.join(versions)}."


def table_head(columns: str, n_texts: int = 2) -> list[str]:
    """Return the first lines of a Markdown table; columns after the first ones are aligned right."""
    n_numbers = columns.count("|") + 1 - n_texts
    return [f"| {columns} |", f"|{n_texts * ' --- |'}{n_numbers * ' --: |'}"]


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
