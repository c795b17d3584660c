"""Many users at once: what each waits for, and whether every answer is about the user's own data.

    python -m benchmarks.load.users mix          30 light sessions beside 3 heavy ones
    python -m benchmarks.load.users light        30 light sessions alone, to compare with
    python -m benchmarks.load.users downloads    one that downloads beside 6 that move sliders

Sessions upload, move the slider of bins on several pages, fit, download, and now and then upload other data,
with pauses of people in a hurry, with others by --pause, or in "downloads" without. Each upload has a name
and a number of rows of its own, and an accuracy that is computed here: every answer must show them, and
none of another session's. Prints median, 95 % and worst seconds of each kind of click, to the end of the
page's run, and beside them those until a page has the recommendation that it awaits, for which its session
waits before it goes on; exits with 1 after any error, and in "mix" if clicks of light sessions take more
than 0.5 s (median) or 3 s (95 %). Stops by itself.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import threading
import time
import traceback

import numpy as np

from benchmarks.load import visitor
from benchmarks.load.visitor import Visitor, as_npz, resident, served
from calib import Predictions, accuracy

#: Rows and classes of the sessions, by whether they count as light.
LIGHT = 5 * [(1_000, 3), (5_000, 10), (10_000, 10), (2_000, 30), (8_000, 5), (10_000, 10)]
HEAVY = [(100_000, 10), (1_000_000, 10), (50_000, 1_000)]
#: Longest wait for a light click in "mix": median and 95 %.
LIMITS = (0.5, 3.0)
#: Pages with the slider of bins, and what a session does, by how often.
SLIDING = ("overview", "reliability", "noise", "classes")
ACTIONS = {"slide": 12, "fit": 2, "download": 3, "upload": 1}
#: Seconds between two actions, shortest and longest, and between the page and the click of a person far away.
HURRY, LATENCY = (1.0, 4.0), 0.1
#: What the log calls the time until a page has the recommendation.
AWAITED = "(recommendation awaited)"
NAME = re.compile(r"s\d+-\d+\.npz")


class User:
    """One session and what it must be shown."""

    actions, pause = ACTIONS, HURRY

    def __init__(self, url: str, number: int, size: tuple[int, int], light: bool, log: Log) -> None:
        self.number, self.size, self.light, self.log = number, size, light, log
        self.random = np.random.default_rng(number)
        self.uploads = 0
        self.visitor = Visitor(url, "data")

    def upload(self) -> None:
        """Upload data that no other session has, and put them to use."""
        n_rows, n_classes = self.size
        n_rows += 2 * self.number + 100 * self.uploads
        self.uploads += 1
        proba = self.random.dirichlet(np.full(n_classes, 3.0 / n_classes), n_rows).astype(np.float32)
        proba = np.maximum(proba, 1e-6)
        proba /= proba.sum(axis=1, keepdims=True)
        labels = (self.random.random((n_rows, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
        rows = Predictions(proba, labels).split(0.5, random_state=0)[1]
        self.name = f"s{self.number}-{self.uploads}.npz"
        self.rows, self.accuracy = f"{rows.n_samples:,} evaluation rows", f"{accuracy(rows.labels, rows):.3f}"
        self.visitor.page, self.visitor.query, self.visitor.widgets = "data", "", {}
        self.visitor.run()
        content, begin = as_npz(proba, labels), time.perf_counter()
        self.visitor.upload("Predictions", self.name, content)
        self.log.add(self.light, "upload", time.perf_counter() - begin)
        self.check()
        shown = [
            item.body
            for kind, item, _ in self.visitor.elements
            if kind == "metric" and item.label == "Accuracy"
        ]
        if shown != [self.accuracy]:
            raise AssertionError(f"accuracy {shown}, not {self.accuracy}")

    def slide(self) -> None:
        """Move the slider of bins on some page."""
        self.go(SLIDING[self.random.integers(len(SLIDING))], f"bins={self.random.integers(5, 40)}")
        query = f"bins={self.random.integers(5, 40)}"
        self.visitor.query = query
        begin = time.perf_counter()
        self.visitor.run()
        self.log.add(self.light, f"slide on {self.visitor.page}", time.perf_counter() - begin)
        self.check()

    def fit(self) -> None:
        """Fit the calibrator that the page proposes."""
        self.go("calibrate")
        begin = time.perf_counter()
        self.visitor.press("Fit")
        self.log.add(self.light, "fit", time.perf_counter() - begin)
        self.check()

    def download(self) -> None:
        """Make a figure, and fetch all files on offer."""
        self.go("reliability")
        begin = time.perf_counter()
        self.visitor.open("Save")
        self.visitor.press("Figure (HTML)")
        time.sleep(LATENCY)
        for label, status, size in self.visitor.downloads():
            if status != 200 or not size:
                raise AssertionError(f"download {label}: status {status}, {size} bytes")
        self.log.add(self.light, "download", time.perf_counter() - begin)

    def go(self, page: str, query: str = "") -> None:
        """Open a page."""
        if self.visitor.page != page:
            self.visitor.page, self.visitor.widgets = page, {}
        self.visitor.query = query
        begin = time.perf_counter()
        self.visitor.run()
        self.log.add(self.light, f"open {page}", time.perf_counter() - begin)
        self.check()
        if self.visitor.repeated:
            self.visitor.wait()
            self.log.add(self.light, AWAITED, time.perf_counter() - begin)
            self.check()

    def check(self) -> None:
        """Raise AssertionError unless the page is about this session's data, without an error."""
        texts = [item.body for kind, item, _ in self.visitor.elements if kind == "markdown"]
        if self.visitor.errors():
            raise AssertionError(f"{self.visitor.page}: {self.visitor.errors()}")
        alerts = [item.body for kind, item, _ in self.visitor.elements if kind == "alert"]
        if any("Not " in text or "not finished" in text for text in alerts):
            raise AssertionError(f"{self.visitor.page}: {alerts}")
        named = {name for text in texts for name in NAME.findall(text)}
        if named != {self.name} or not any(self.rows in text and self.name in text for text in texts):
            raise AssertionError(
                f"{self.visitor.page}: shows {named or 'no data'}, not {self.name}, {self.rows}"
            )

    def live(self, until: float) -> None:
        """Do one thing after another, with pauses."""
        names = list(self.actions)
        weights = np.array(list(self.actions.values()), dtype=float)
        try:
            self.upload()
            while time.monotonic() < until:
                time.sleep(self.random.uniform(*self.pause))
                getattr(self, names[self.random.choice(len(names), p=weights / weights.sum())])()
        except Exception:
            if time.monotonic() > until:
                return  # the tab was closed in the middle of a click
            self.log.fail(f"session {self.number} ({self.size}): {traceback.format_exc(limit=-2)}")
        finally:
            self.visitor.close()


class Log:
    """Seconds of every click, and errors."""

    def __init__(self) -> None:
        self.seconds = collections.defaultdict[tuple[bool, str], list[float]](list)
        self.errors: list[str] = []

    def add(self, light: bool, action: str, seconds: float) -> None:
        """Note one click."""
        self.seconds[light, action].append(seconds)

    def fail(self, words: str) -> None:
        """Note an error, and print it now."""
        self.errors.append(words)
        print(words, flush=True)

    def table(self) -> None:
        """Print median, 95 % and worst of each kind of click."""
        print(f"{'':34}{'clicks':>8}{'median':>9}{'95 %':>9}{'worst':>9}")
        for (light, action), seconds in sorted(self.seconds.items(), reverse=True):
            self._line(f"{'light' if light else 'heavy'}: {action}", seconds)
        for light in (True, False):
            self._line(f"{'light' if light else 'heavy'}: all", self.all(light))

    def all(self, light: bool) -> list[float]:
        """Seconds of all clicks of light or heavy sessions."""
        return [
            value
            for (item, action), seconds in self.seconds.items()
            if item == light and action != AWAITED
            for value in seconds
        ]

    def _line(self, name: str, seconds: list[float]) -> None:
        if seconds:
            median, high = np.quantile(seconds, [0.5, 0.95])
            print(f"{name:34}{len(seconds):8d}{median:9.2f}{high:9.2f}{max(seconds):9.2f}")


def main() -> int:
    kinds = {"mix": (LIGHT, HEAVY), "light": (LIGHT, []), "downloads": (LIGHT[:7], [])}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=kinds)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, nargs=2, default=HURRY, metavar=("SHORTEST", "LONGEST"))
    options = parser.parse_args()
    what, minutes = options.what, options.minutes
    light, heavy = kinds[what]
    User.pause = options.pause
    visitor.PATIENCE = 60 * max(minutes, 5.0)
    log = Log()
    with served() as (url, pid):
        sizes = [*((size, True) for size in light), *((size, False) for size in heavy)]
        users = [User(url, number, size, is_light, log) for number, (size, is_light) in enumerate(sizes)]
        if what == "downloads":
            for user in users:
                user.actions, user.pause = {"slide" if user.number else "download": 1}, (0.0, 0.0)
        until = time.monotonic() + 60 * minutes
        threads = [threading.Thread(target=user.live, args=(until,)) for user in users]
        for thread in threads:
            thread.start()
        for thread, user in zip(threads, users, strict=True):
            thread.join(max(until - time.monotonic(), 0.0))
            user.visitor.close()
        for thread in threads:
            thread.join()
        print(f"{len(users)} sessions, {minutes:g} minutes; the server holds {resident(pid):.0f} MB")
    log.table()
    print(f"{len(log.errors)} errors")
    median, high = np.quantile(log.all(True), [0.5, 0.95])
    slow = what == "mix" and (median > LIMITS[0] or high > LIMITS[1])
    return 1 if log.errors or slow else 0


if __name__ == "__main__":
    sys.exit(main())
