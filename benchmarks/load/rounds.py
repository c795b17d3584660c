"""Rounds of sessions that upload 100,000 x 10 probabilities, look around and leave: what the server holds.

    python -m benchmarks.load.rounds [rounds] [sessions] [seconds to wait after a round]

3 rounds of 10 sessions and 120 s by default. Prints the server's memory before, at the end of each round and
after the wait; exits with 1 if 100 MB more than before the first round are held after the last (Linux). One
session visits beforehand, so that what is imported and cached once does not count.
"""

from __future__ import annotations

import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.load.visitor import Visitor, resident, served

ROWS, CLASSES = 100_000, 10
ALLOWED = 100.0
PAGES = ("overview", "reliability", "simplex")


def upload() -> bytes:
    """Return an NPZ file of calibrated predictions."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(CLASSES, 0.3), ROWS).astype(np.float32)
    proba /= proba.sum(axis=1, keepdims=True)
    labels = (random.random((ROWS, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(0, CLASSES - 1)
    file = io.BytesIO()
    np.savez(file, proba=proba, labels=labels)
    return file.getvalue()


def visit(url: str, content: bytes) -> Visitor:
    """Open a session, use the upload and look at pages; the session stays open."""
    visitor = Visitor(url, "data")
    visitor.use("rows.npz", content)
    for page in PAGES:
        visitor.look_at(page)
    return visitor


def main() -> int:
    words = sys.argv[1:]
    rounds, sessions, wait = (int(word) for word in [*words, *["3", "10", "120"][len(words) :]])
    content = upload()
    with served() as (url, pid):
        print(f"started: {resident(pid):.0f} MB")
        visit(url, content).close()
        time.sleep(wait)
        before = resident(pid)
        print(f"after one session: {before:.0f} MB")
        for number in range(1, rounds + 1):
            with ThreadPoolExecutor(min(sessions, 4)) as pool:
                visitors = list(pool.map(lambda _: visit(url, content), range(sessions)))
            full = resident(pid)
            for visitor in visitors:
                visitor.close()
            time.sleep(wait)
            now = resident(pid)
            print(f"round {number}: {full:.0f} MB with {sessions} sessions, {now:.0f} MB {wait} s later")
    return 1 if now > before + ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
