"""What all timings share: arrays, the fastest of calls by turns, memory, and processes of their own."""

from __future__ import annotations

import json
import os
import platform
import resource
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

HERE = Path(__file__).resolve().parent

Calls = Mapping[str, Callable[[], Any]]


def simulated(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 scores of a softmax and labels drawn from them."""
    rng = np.random.default_rng(17)
    proba = 2.5 * rng.standard_normal((rows, classes), dtype=np.float32)
    proba -= proba.max(axis=1, keepdims=True)
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    drawn = rng.random((rows, 1), dtype=np.float32)
    labels = np.concatenate(
        [
            (proba[at : at + 5_000].cumsum(axis=1) > drawn[at : at + 5_000]).argmax(axis=1)
            for at in range(0, rows, 5_000)
        ]
    )
    return proba, labels


def fastest(calls: Calls, budget: float, turns: int = 7) -> tuple[dict[str, float], dict[str, Any], float]:
    """Make calls by turns; return the fastest seconds and the value of each, and the memory of the first.

    Each is made at least once; together they may take `budget` seconds. A call that takes over a quarter of
    them is made once and does not count. Memory is what the first call took in bytes beyond what was held.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    values, taken, spent = {}, 0.0, 0.0
    with suppress(OSError):  # Linux can forget the former peak; elsewhere it stays
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    for _ in range(turns):
        for name, call in calls.items():
            if min(seconds[name], default=0.0) > budget / 4:
                continue
            before, start = _status("VmRSS"), time.perf_counter()
            values[name] = call()
            seconds[name].append(time.perf_counter() - start)
            spent += seconds[name][-1] if seconds[name][-1] <= budget / 4 else 0.0
            if len(values) == len(seconds[name]) == 1:
                taken = max(_status("VmHWM") - before, 0.0)
        if spent > budget:
            break
    return {name: min(times) for name, times in seconds.items()}, values, taken


def _status(field: str) -> float:
    """Return the memory that this process holds (VmRSS) or held at most (VmHWM), in bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return 1024.0 * int(line.split()[1])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def alone(module: str, *arguments: object, root: Path = HERE.parent) -> Any:
    """Run a module in a process of its own, in the tree `root`; return what its last line says, in JSON."""
    command = [sys.executable, "-W", "ignore", "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def machine(*peers: str) -> dict[str, Any]:
    """Say what ran where."""
    versions = {}
    for name in ("calib-diagnostics", "numpy", *peers):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "date": date.today().isoformat(),
        "processors": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions,
    }
