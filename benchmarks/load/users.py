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
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd

from benchmarks.load import visitor
from benchmarks.load.visitor import Visitor, as_npz, resident, served
from benchmarks.timing import simulated
from calib import Predictions, accuracy

#: Rows and classes of the sessions.
LIGHT = 5 * [(1_000, 3), (5_000, 10), (10_000, 10), (2_000, 30), (8_000, 5), (10_000, 10)]
HEAVY = [(100_000, 10), (1_000_000, 10), (50_000, 1_000)]
KINDS = {"mix": (LIGHT, HEAVY), "light": (LIGHT, []), "downloads": (LIGHT[:7], [])}
#: Longest wait for a light click in "mix": median and 95 %.
LIMITS = (0.5, 3.0)
#: Pages with the slider of bins, and what a session does, by how often.
SLIDING = ("overview", "reliability")
ACTIONS = {"slide": 12, "fit": 2, "download": 3, "upload": 1}
#: Seconds between two actions, shortest and longest, and between the page and the click of a person far away.
HURRY, LATENCY = (1.0, 4.0), 0.1
#: What stands in place of a click for the time until a page has the recommendation.
AWAITED = "(recommendation awaited)"
NAME = re.compile(r"s\d+-\d+\.npz")

#: Kind of session, click and seconds of each click of all sessions; and what went wrong.
clicks: list[tuple[str, str, float]] = []
faults: list[str] = []


class User:
    """One session and what it must be shown."""

    def __init__(self, url: str, number: int, size: tuple[int, int], kind: str) -> None:
        self.number, self.size, self.kind = number, size, kind
        self.random = np.random.default_rng(number)
        self.uploads = 0
        self.visitor = Visitor(url, "data")

    @contextmanager
    def clicking(self, what: str) -> Iterator[None]:
        """Note what a click takes, and check the page."""
        begin = time.perf_counter()
        yield
        clicks.append((self.kind, what, time.perf_counter() - begin))
        self.check()

    def upload(self) -> None:
        """Upload data that no other session has, and put them to use."""
        n_rows, n_classes = self.size
        n_rows += 2 * self.number + 100 * self.uploads
        self.uploads += 1
        proba, labels = simulated(n_rows, n_classes, seed=1_000 * self.number + self.uploads)
        rows = Predictions(proba, labels)
        self.name = f"s{self.number}-{self.uploads}.npz"
        self.rows, expected = f"{rows.n_samples:,} evaluation rows", f"{accuracy(rows):.3f}"
        self.visitor.query = ""
        self.visitor.look_at("data")
        content = as_npz(proba, labels)
        with self.clicking("upload"):
            self.visitor.use(self.name, content)
        if not any(f"accuracy **{expected}**" in text for text in self.visitor.texts("markdown")):
            raise AssertionError(f"no accuracy of {expected} is shown")

    def slide(self) -> None:
        """Move the slider of bins on some page."""
        page = SLIDING[self.random.integers(len(SLIDING))]
        self.go(page, f"bins={self.random.integers(5, 40)}")
        self.visitor.query = f"bins={self.random.integers(5, 40)}"
        with self.clicking(f"slide on {page}"):
            self.visitor.run()

    def fit(self) -> None:
        """Look at the calibrator that the page proposes, which is fitted."""
        self.go("repair")

    def download(self) -> None:
        """Make a figure, and fetch all files on offer."""
        self.go("reliability")
        with self.clicking("download"):
            self.visitor.open("Save")
            self.visitor.press("Picture (HTML)")
            time.sleep(LATENCY)
            for button, _ in self.visitor.named("download_button"):
                answer = self.visitor.web.get(self.visitor.url + button.url, timeout=visitor.PATIENCE)
                if not button.url or not answer.ok or not answer.content:
                    raise AssertionError(f"download {button.label}: status {answer.status_code}")

    def go(self, page: str, query: str = "") -> None:
        """Open a page."""
        self.visitor.query = query
        begin = time.perf_counter()
        with self.clicking(f"open {page}"):
            self.visitor.look_at(page)
        if self.visitor.repeated:
            self.visitor.wait()
            clicks.append((self.kind, AWAITED, time.perf_counter() - begin))
            self.check()

    def check(self) -> None:
        """Raise AssertionError unless the page is about this session's data."""
        page, texts, alerts = self.visitor.page, self.visitor.texts("markdown"), self.visitor.texts("alert")
        if any("Not " in text or "not finished" in text for text in alerts):
            raise AssertionError(f"{page}: {alerts}")
        named = {name for text in texts for name in NAME.findall(text)}
        said = "evaluation rows" if page == "repair" else self.rows  # Repair shows the half that checks
        if named != {self.name} or not any(said in text and self.name in text for text in texts):
            raise AssertionError(f"{page}: shows {named or 'no data'}, not {self.name}, {self.rows}")

    def live(self, actions: dict[str, int], pause: tuple[float, float], until: float) -> None:
        """Do one thing after another, with pauses."""
        weights = np.array(list(actions.values()), dtype=float)
        try:
            self.upload()
            while time.monotonic() < until:
                time.sleep(self.random.uniform(*pause))
                getattr(self, self.random.choice(list(actions), p=weights / weights.sum()))()
        except Exception:
            if time.monotonic() > until:
                return  # the tab was closed in the middle of a click
            faults.append(f"session {self.number} ({self.size}): {traceback.format_exc(limit=-2)}")
            print(faults[-1], flush=True)
        finally:
            self.visitor.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=KINDS)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, nargs=2, default=HURRY, metavar=("SHORTEST", "LONGEST"))
    options = parser.parse_args()
    visitor.PATIENCE = 60 * max(options.minutes, 5.0)
    light, heavy = KINDS[options.what]
    with served() as (url, pid):
        users = [
            User(url, number, size, "light" if number < len(light) else "heavy")
            for number, size in enumerate([*light, *heavy])
        ]
        until = time.monotonic() + 60 * options.minutes
        threads = []
        for user in users:
            actions, pause = ACTIONS, options.pause
            if options.what == "downloads":
                actions, pause = {"slide" if user.number else "download": 1}, (0.0, 0.0)
            threads.append(threading.Thread(target=user.live, args=(actions, pause, until)))
            threads[-1].start()
        for thread, user in zip(threads, users, strict=True):
            thread.join(max(until - time.monotonic(), 0.0))
            user.visitor.close()
        for thread in threads:
            thread.join()
        print(f"{len(users)} sessions, {options.minutes:g} minutes; the server holds {resident(pid):.0f} MB")
    noted = pd.DataFrame(clicks, columns=["sessions", "click", "seconds"])
    together = noted[noted["click"] != AWAITED].assign(click="all")
    groups = pd.concat([noted, together]).groupby(["sessions", "click"], sort=False)["seconds"]
    print(groups.describe(percentiles=[0.5, 0.95])[["count", "50%", "95%", "max"]].round(2).to_string())
    print(f"{len(faults)} errors")
    waits = together.loc[together["sessions"] == "light", "seconds"].quantile([0.5, 0.95])
    slow = options.what == "mix" and (waits.to_numpy() > LIMITS).any()
    return 1 if faults or slow else 0


if __name__ == "__main__":
    sys.exit(main())
