"""Time calib in the work tree and at another commit, and print the ratio of each row.

``python -m benchmarks.speed [ROW ...] [--against COMMIT] [--sizes small middle] [--page]``, or ``make
speed``. A process with each tree measures each row and size by turns, with the same Python and packages;
the fastest call counts. Rows call public names, or look at a page of the served app; a row that one of the
trees does not have says so. The other commit is by default where the branch left `main`, on `main` the one
before. ``--page`` writes the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, chdir, contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.load.visitor import Visitor, as_npz, served
from benchmarks.timing import ROOT, Work, put_table, simulated, started, table_head

#: Seconds that the calls of a row and size may take at each turn; one is made, however long it takes.
BUDGET = 0.25
#: Turns of each tree; and of a row whose calls take longer than the budget.
TURNS, LONG_TURNS = 4, 2

SIZES = {"small": (1_000, 10), "middle": (100_000, 10), "wide": (5_000, 300), "large": (1_000_000, 10)}
ALL = ("small", "middle", "wide", "large")
SOME = ("small", "middle", "wide")
TWO = ("small", "middle")
ONE = ("small",)

NPZ = "Path('rows.npz').write_bytes(as_npz(proba, y))"
TABLE = """
import pandas as pd
table = pd.DataFrame({f"p{code}": column for code, column in enumerate(proba.T)} | {"label": y})
"""
TOP_LABEL = "model = calib.MulticlassToBinary(calib.HistogramBinning(), notion='top-label')"
CLASS_WISE = "model = calib.MulticlassToBinary(calib.HistogramBinning(), notion='class-wise')"
ISOTONIC = "model = calib.MulticlassToBinary(calib.IsotonicCalibration(), notion='class-wise')"
VISITOR = "visitor = visit(url, proba, y)"

#: By name: what it is, in which sizes, and what is timed in a temporary folder.
ROWS = {
    "import": ("start of Python and import", ONE, "started('-c', 'import calib')"),
    "command": ("`calib metrics` of a file", TWO, "started('-m', 'calib', 'metrics', 'rows.npz')", NPZ),
    "check": ("check the input", ALL, "calib.Predictions(proba, y)"),
    "fingerprint": ("check and fingerprint", ALL, "calib.Predictions(proba, y).fingerprint"),
    "reduce": ("reduction, class-wise", SOME, "calib.reduce_to_binary(y, proba, notion='class-wise')"),
    "conf-ece": ("conf-ECE", ALL, "calib.ece(y, proba, notion='confidence')"),
    "ece": ("TL-ECE", ALL, "calib.ece(y, proba, notion='top-label')"),
    "cw-ece": ("class-wise ECE", ALL, "calib.ece(y, proba, notion='class-wise')"),
    "floor": ("noise floor, top-label", ALL, "calib.noise_floor(y, proba, random_state=0)"),
    "cw-floor": (
        "noise floor, class-wise",
        ALL,
        "calib.noise_floor(y, proba, notion='class-wise', random_state=0)",
    ),
    "interval": ("interval of l1 TL-ECE", SOME, "calib.error_interval(y, proba)"),
    "cw-interval": (
        "interval, class-wise",
        SOME,
        "calib.error_interval(y, proba, notion='class-wise')",
    ),
    "test": (
        "Kuiper's test, 199 redraws",
        SOME,
        "calib.calibration_test(y, proba, n_resamples=199, random_state=0)",
    ),
    "classes": ("table of classes", SOME, "calib.class_table(y, proba, random_state=0)"),
    "conclude": ("conclusion", SOME, "calib.conclude(y, proba)"),
    "band": ("honest band", TWO, "calib.calibration_band(y, proba)"),
    "diagram": ("reliability diagram", SOME, "calib.reliability_diagram(y, proba)"),
    "hb": ("histogram binning, fit", ALL, "model.fit(proba, y)", TOP_LABEL),
    "cw-hb": ("the same class-wise", ALL, "model.fit(proba, y)", CLASS_WISE),
    "predict": (
        "its predictions",
        SOME,
        "model.predict_proba(new)",
        f"{CLASS_WISE}.fit(proba, y)\nnew = proba.copy()",
    ),
    "row": (
        "its prediction of one row",
        ONE,
        "model.predict_proba(new)",
        f"{CLASS_WISE}.fit(proba, y)\nnew = proba[:1].copy()",
    ),
    "isotonic": ("isotonic calibration, fit", SOME, "model.fit(proba, y)", ISOTONIC),
    "ts": ("temperature scaling, fit", ALL, "calib.TemperatureScaling().fit(proba, y)"),
    "ets": ("ensemble temperature scaling, fit", TWO, "calib.EnsembleTemperatureScaling().fit(proba, y)"),
    "vs": ("vector scaling, fit", SOME, "calib.VectorScaling().fit(proba, y)"),
    "ds": ("Dirichlet scaling, fit", TWO, "calib.DirichletScaling().fit(proba, y)"),
    "recommend": ("recommendation", ONE, "calib.recommend(proba, y)"),
    "read": (
        "read a CSV file",
        TWO,
        "calib.read('rows.csv')",
        TABLE + "table.to_csv('rows.csv', index=False)",
    ),
    "summarize": (
        "summarize a Parquet file",
        ALL,
        "calib.scale.summarize('rows.parquet')",
        TABLE + "table.to_parquet('rows.parquet')",
    ),
    "overview": ("app: Overview of a new file", ALL, "look(visitor, 'overview')", VISITOR),
    "reliability": ("app: Reliability of a new file", SOME, "look(visitor, 'reliability')", VISITOR),
    "slider": (
        "app: Reliability, another number of bins",
        ALL,
        "look(visitor, 'reliability')",
        f"{VISITOR}\nvisitor.look_at('reliability')\nvisitor.query = 'bins=23'",
    ),
    "noise": ("app: Noise of a new file", SOME, "look(visitor, 'noise')", VISITOR),
    "classes-page": ("app: Classes of a new file", SOME, "look(visitor, 'classes')", VISITOR),
    "simplex": ("app: Simplex of a new file", SOME, "look(visitor, 'simplex')", VISITOR),
}

drawn = cache(simulated)


def visit(url: str, proba: Any, y: Any) -> Visitor:
    """Upload the rows in a new session of the app."""
    visitor = Visitor(url, "data")
    visitor.use("rows.npz", as_npz(proba, y))
    if visitor.named("button", "Use these files"):  # before version 0.2
        visitor.press("Use these files")
    return visitor


def look(visitor: Visitor, page: str) -> None:
    """Look at a page, and leave."""
    visitor.look_at(page)
    visitor.close()


def import_calib(tree: Path) -> None:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(tree))
    import calib

    if not Path(calib.__file__).is_relative_to(tree):
        raise RuntimeError(f"calib must come from {tree}; got {calib.__file__}")


def fastest(name: str, size: str, url: str) -> float:
    """Return the fastest seconds of a row and size in this process, or at the app of an address."""
    import calib

    seconds: list[float] = []
    proba, y = drawn(*SIZES[size])
    names = {"Path": Path, "as_npz": as_npz, "started": started, "visit": visit, "look": look}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        while not seconds or (sum(seconds) < BUDGET and len(seconds) < 20):
            call = Work(*ROWS[name][2:]).ready(calib=calib, proba=proba, y=y, url=url, **names)
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return min(seconds)


class Tree:
    """A process that has the calib of a folder, and a server of its app as soon as a row needs it."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self.opened, self.url = folder, opened, ""
        pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=import_calib, initargs=(folder,)
        )
        self.pool = opened.enter_context(pool)

    def fastest(self, name: str, size: str) -> float:
        """Return the seconds of the fastest call of a row, in the process of this tree."""
        if VISITOR in ROWS[name][-1] and not self.url:
            server = served(root=self.folder, PYTHONPATH=str(self.folder))
            self.url = self.opened.enter_context(server)[0]
        return self.pool.submit(fastest, name, size, self.url).result()


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S607


@contextmanager
def files_of(commit: str) -> Iterator[Path]:
    """Have the files of a commit in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder).resolve()


def previous() -> str:
    """Return where the branch left `main`, or the commit before the last."""
    left = git("merge-base", "HEAD", "main")
    return left.decode().strip() if left != git("rev-parse", "HEAD") else "HEAD~1"


def measured(name: str, size: str, before: Tree, now: Tree) -> str:
    """Return a row of the table."""
    start, turns = f"| {ROWS[name][0]} | {SIZES[size][0]:,} x {SIZES[size][1]:,} |", []
    try:
        while len(turns) < (LONG_TURNS if turns and max(turns[0]) > BUDGET else TURNS):
            turns.append((before.fastest(name, size), now.fastest(name, size)))
    except (AttributeError, TypeError) as error:
        return f"{start} {type(error).__name__}: {error} | | |"
    then, today = (1e3 * min(times) for times in zip(*turns, strict=True))
    return f"{start} {then:,.1f} | {today:,.1f} | {today / then:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; by default all")
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--page", action="store_true", help="write the table into docs/speed.md")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"rows are {', '.join(ROWS)}; got {', '.join(sorted(unknown))}")
    commit, begin = options.against or previous(), time.monotonic()
    short = git("rev-parse", "--short", commit).decode().strip()
    lines = table_head(f"work | rows x classes | {short}, ms | work tree, ms | ratio", 1)
    print("\n".join(lines), flush=True)
    with files_of(commit) as other, ExitStack() as opened:
        before, now = Tree(other, opened), Tree(ROOT, opened)
        for name in options.rows or ROWS:
            for size in ROWS[name][1]:
                if size in options.sizes:
                    lines.append(measured(name, size, before, now))
                    print(lines[-1], flush=True)
    print(f"\n{(time.monotonic() - begin) / 60:.1f} minutes")
    if options.page:
        put_table("speed.md", "Since another commit", lines)


if __name__ == "__main__":
    main()
