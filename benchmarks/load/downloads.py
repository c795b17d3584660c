"""Downloads of one session while six others move sliders: how many fail.

    python -m benchmarks.load.downloads [downloads] [others]

400 downloads and 6 others by default; each waits 100 ms between the page and the click, as a person far away
does. Stops by itself; exits with 1 if a download failed.
"""

from __future__ import annotations

import collections
import sys
import threading
import time

from benchmarks.load.visitor import Visitor, served

LATENCY = 0.1
#: Of the visitor who downloads.
PAGE, FIGURE = "reliability", "Figure (HTML)"


def keep_busy(url: str, stop: threading.Event, runs: collections.Counter[str]) -> None:
    """Run a page again and again, each time with another number of bins, until told to stop."""
    visitor = Visitor(url, PAGE)
    while not stop.is_set():
        runs["others"] += 1
        visitor.query = f"bins={5 + runs['others'] % 30}"
        visitor.run()
    visitor.close()


def main() -> int:
    wanted, others = (int(word) for word in (sys.argv[1:] + ["400", "6"][len(sys.argv) - 1 :])[:2])
    stop, runs, failed, done = threading.Event(), collections.Counter[str](), [], 0
    with served() as (url, _):
        visitor = Visitor(url, PAGE)
        busy = [threading.Thread(target=keep_busy, args=(url, stop, runs)) for _ in range(others)]
        for thread in busy:
            thread.start()
        try:
            while done < wanted:
                visitor.run()
                visitor.open("Save")
                visitor.press(FIGURE)
                time.sleep(LATENCY)
                for label, status, size in visitor.downloads():
                    done += 1
                    if status != 200 or not size:
                        failed.append((label, status, size))
        finally:
            stop.set()
            for thread in busy:
                thread.join()
    print(f"{done} downloads beside {others} sessions ({runs['others']} runs): {len(failed)} failed")
    print(*failed[:5], sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
