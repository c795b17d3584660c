"""What the server holds while sessions upload and look around, and after they left, in MB (Linux).

    python -m benchmarks.load.memory rounds [rounds] [sessions] [seconds to wait after a round]
    python -m benchmarks.load.memory wide [sessions]

rounds: sessions of 100,000 x 10 come and leave; exits with 1 if 100 MB more than after one session are held
after the last round of 3 (10 sessions each, 120 s). wide: two sessions of 20,000 x 1,000 stay; exits with 1
above twice their matrices and 300 MB.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.load.visitor import Visitor, as_npz, resident, served
from benchmarks.timing import simulated

PAGES = ("overview", "reliability", "simplex")
#: Megabytes that may be held after rounds beyond what one session left, and beyond twice the matrices.
LEFT, BESIDE = 100.0, 300.0


def visit(url: str, content: bytes, pages: tuple[str, ...] = PAGES) -> Visitor:
    """Open a session, use the upload and look at pages; the session stays open."""
    visitor = Visitor(url, "data")
    visitor.use("rows.npz", content)
    for page in pages:
        visitor.look_at(page)
    return visitor


def rounds(turns: int = 3, sessions: int = 10, wait: int = 120) -> bool:
    content = as_npz(*simulated(100_000, 10))
    with served() as (url, pid):
        visit(url, content).close()  # so that what is imported and kept once does not count
        time.sleep(wait)
        before = resident(pid)
        print(f"after one session: {before:.0f} MB")
        for number in range(1, turns + 1):
            with ThreadPoolExecutor(min(sessions, 4)) as pool:
                visitors = list(pool.map(lambda _: visit(url, content), range(sessions)))
            full = resident(pid)
            for visitor in visitors:
                visitor.close()
            time.sleep(wait)
            now = resident(pid)
            print(f"round {number}: {full:.0f} MB with {sessions} sessions, {now:.0f} MB {wait} s later")
    return now <= before + LEFT


def wide(sessions: int = 2, rows: int = 20_000, classes: int = 1_000) -> bool:
    with served() as (url, pid):
        time.sleep(8)  # the server loads what its pages need
        print(f"started: {resident(pid):.0f} MB")
        # each session has a file of its own
        files = [as_npz(*simulated(rows + 10 * number, classes)) for number in range(sessions)]
        visitors = [visit(url, file, (*PAGES, "classes", "noise")) for file in files]
        time.sleep(12)  # the server gives back what is free every 10 s
        held, allowed = resident(pid), 2 * sessions * rows * classes * 4e-6 + BESIDE
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6
        print(f"{len(visitors)} sessions: {held:.0f} MB, at most {most:.0f}; allowed are {allowed:.0f}")
    return held <= allowed


if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    sys.exit(not {"rounds": rounds, "wide": wide}[kind](*map(int, numbers)))
