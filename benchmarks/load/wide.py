"""Two sessions of 20,000 x 1,000 probabilities: what the server holds, beside the bytes of the matrices.

    python -m benchmarks.load.wide [sessions]

Each session uploads a file of its own and opens the pages in turn. Prints the server's memory at the start,
after each page, and the largest ever (Linux); exits with 1 above twice the matrices and 300 MB.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.load.visitor import Visitor, resident, served
from benchmarks.side_by_side import simulated

ROWS, CLASSES = 20_000, 1_000
PAGES = ("overview", "reliability", "classes", "noise", "simplex")
#: Megabytes beyond twice the matrices.
ALLOWED = 300.0


def largest(pid: int) -> float:
    """Megabytes that a process held at most (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def main() -> int:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    matrices, visitors = 0.0, []
    with served() as (url, pid):
        time.sleep(8)  # the server loads what its pages need
        print(f"started: {resident(pid):.0f} MB")
        for number in range(sessions):
            proba, labels = simulated(ROWS + 10 * number, CLASSES)
            matrices += proba.nbytes / 1e6
            file = io.BytesIO()
            np.savez(file, proba=proba, labels=labels)
            visitor = Visitor(url, "data")
            visitor.use(f"{number}.npz", file.getvalue())
            for page in PAGES:
                visitor.look_at(page)
                print(f"session {number + 1}, {page}: {resident(pid):.0f} MB", flush=True)
            visitors.append(visitor)
        most = 2 * matrices + ALLOWED
        time.sleep(12)  # the server gives back what is free every 10 s
        held = resident(pid)
        print(
            f"{sessions} sessions, matrices of {matrices:.0f} MB: {held:.0f} MB, at most {largest(pid):.0f}"
        )
        print(f"twice the matrices and {ALLOWED:.0f} MB: {most:.0f} MB")
        for visitor in visitors:
            visitor.close()
    return 1 if held > most else 0


if __name__ == "__main__":
    sys.exit(main())
