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
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from benchmarks.load.visitor import Visitor, as_npz, served
from benchmarks.timing import ROOT, put_table, simulated

#: Seconds that the calls of a row and size may take at each turn; one is made, however long it takes.
BUDGET = 0.25
#: Turns of each tree; and of a row whose calls take longer than the budget.
TURNS, LONG_TURNS = 4, 2

SIZES = {"small": (1_000, 10), "middle": (100_000, 10), "wide": (5_000, 300), "large": (1_000_000, 10)}

#: Gets a call ready that is timed.
Ready = Callable[[], Callable[[], Any]]
#: Makes it for the calib of a tree, scores, labels and a temporary folder.
Make = Callable[[Any, np.ndarray, np.ndarray, Path], Ready]


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Ready:
    return lambda: partial(function, *arguments, **options)


def on_rows(name: str, **options: Any) -> Make:
    """Call `calib.name(y, proba)`."""
    return lambda calib, proba, y, folder: call(getattr(calib, name), y, proba, **options)


def fit(name: str, **options: Any) -> Make:
    """Fit a calibrator of whole vectors."""
    return lambda calib, proba, y, folder: call(getattr(calib, name)(**options).fit, proba, y)


def binary(name: str, notion: str, *, predict: bool = False, rows: int | None = None) -> Make:
    """Fit a binary calibrator class by class, or predict with it, all rows or the first ones."""

    def make(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
        model = calib.MulticlassToBinary(getattr(calib, name)(), notion=notion)
        if not predict:
            return call(model.fit, proba, y)
        return call(model.fit(proba, y).predict_proba, proba[:rows].copy())

    return make


def fingerprint(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
    return lambda: lambda: calib.Predictions(proba, y).fingerprint


def table(proba: Any, y: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({f"p{code}": column for code, column in enumerate(proba.T)} | {"label": y})


def read_csv(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
    table(proba, y).to_csv(folder / "rows.csv", index=False)
    return call(calib.read, folder / "rows.csv")


def summarize(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
    table(proba, y).to_parquet(folder / "rows.parquet")
    return call(calib.scale.summarize, folder / "rows.parquet")


def started(*words: str) -> Make:
    """Run Python in a new process, with the calib of the tree, in a folder that holds the rows."""

    def make(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
        environment = os.environ | {"PYTHONPATH": str(Path(calib.__file__).parents[1])}
        (folder / "rows.npz").write_bytes(as_npz(proba, y))
        options: Any = {"check": True, "env": environment, "cwd": folder, "stdout": subprocess.DEVNULL}
        return call(subprocess.run, [sys.executable, *words], **options)

    return make


#: Servers of the tree, kept while its process lives.
open_servers = ExitStack()


@cache
def address(tree: Path) -> str:
    return open_servers.enter_context(served(root=tree, PYTHONPATH=str(tree)))[0]


def page(name: str, query: str = "") -> Make:
    """Look at a page of the app in a new session that uploaded the rows; with a query, change it there."""

    def make(calib: Any, proba: Any, y: Any, folder: Path) -> Ready:
        file = as_npz(proba, y)
        url = address(Path(calib.__file__).parents[1])

        def ready() -> Callable[[], None]:
            visitor = Visitor(url, "data")
            visitor.use("rows.npz", file)
            if visitor.named("button", "Use these files"):  # before the redesign
                visitor.press("Use these files")
            if query:
                visitor.look_at(name)
                visitor.query = query

            def look() -> None:
                visitor.look_at(name)
                visitor.close()

            return look

        return ready

    return make


ALL = ("small", "middle", "wide", "large")
SOME = ("small", "middle", "wide")
TWO = ("small", "middle")
ONE = ("small",)
#: By name: what it is, in which sizes, and what gets it ready.
ROWS: dict[str, tuple[str, tuple[str, ...], Make]] = {
    "import": ("start of Python and import", ONE, started("-c", "import calib")),
    "command": ("`calib metrics` of a file", TWO, started("-m", "calib", "metrics", "rows.npz")),
    "check": ("check the input", ALL, lambda calib, proba, y, folder: call(calib.Predictions, proba, y)),
    "fingerprint": ("check and fingerprint", ALL, fingerprint),
    "reduce": ("reduction, class-wise", SOME, on_rows("reduce_to_binary", notion="class-wise")),
    "conf-ece": ("conf-ECE", ALL, on_rows("ece", notion="confidence")),
    "ece": ("TL-ECE", ALL, on_rows("ece", notion="top-label")),
    "cw-ece": ("class-wise ECE", ALL, on_rows("ece", notion="class-wise")),
    "floor": ("noise floor, top-label", ALL, on_rows("noise_floor", random_state=0)),
    "cw-floor": ("noise floor, class-wise", ALL, on_rows("noise_floor", notion="class-wise", random_state=0)),
    "interval": ("interval of l1 TL-ECE", SOME, on_rows("error_interval")),
    "cw-interval": ("interval, class-wise", SOME, on_rows("error_interval", notion="class-wise")),
    "test": (
        "Kuiper's test, 199 redraws",
        SOME,
        on_rows("calibration_test", n_resamples=199, random_state=0),
    ),
    "classes": ("table of classes", SOME, on_rows("class_table", random_state=0)),
    "conclude": ("conclusion", SOME, on_rows("conclude")),
    "band": ("honest band", TWO, on_rows("calibration_band")),
    "diagram": ("reliability diagram", SOME, on_rows("reliability_diagram")),
    "hb": ("histogram binning, fit", ALL, binary("HistogramBinning", "top-label")),
    "cw-hb": ("the same class-wise", ALL, binary("HistogramBinning", "class-wise")),
    "predict": ("its predictions", SOME, binary("HistogramBinning", "class-wise", predict=True)),
    "row": ("its prediction of one row", ONE, binary("HistogramBinning", "class-wise", predict=True, rows=1)),
    "isotonic": ("isotonic calibration, fit", SOME, binary("IsotonicCalibration", "class-wise")),
    "ts": ("temperature scaling, fit", ALL, fit("TemperatureScaling")),
    "ets": ("ensemble temperature scaling, fit", TWO, fit("EnsembleTemperatureScaling")),
    "vs": ("vector scaling, fit", SOME, fit("VectorScaling")),
    "ds": ("Dirichlet scaling, fit", TWO, fit("DirichletScaling")),
    "recommend": ("recommendation", ONE, lambda calib, proba, y, folder: call(calib.recommend, proba, y)),
    "read": ("read a CSV file", TWO, read_csv),
    "summarize": ("summarize a Parquet file", ALL, summarize),
    "overview": ("app: Overview of a new file", ALL, page("overview")),
    "reliability": ("app: Reliability of a new file", SOME, page("reliability")),
    "slider": ("app: Reliability, another number of bins", ALL, page("reliability", "bins=23")),
    "noise": ("app: Noise of a new file", SOME, page("noise")),
    "classes-page": ("app: Classes of a new file", SOME, page("classes")),
    "simplex": ("app: Simplex of a new file", SOME, page("simplex")),
}


def serve(tree: Path) -> None:
    """Read rows and sizes; answer the fastest seconds with the calib of a tree, or what it lacks."""
    sys.path.insert(0, str(tree))
    import calib

    if not Path(calib.__file__).is_relative_to(tree):
        raise RuntimeError(f"calib must come from {tree}; got {calib.__file__}")
    data = cache(lambda size: simulated(*SIZES[size]))
    with open_servers, tempfile.TemporaryDirectory() as name:

        @cache
        def ready(row: str, size: str) -> Ready:
            folder = Path(name, row, size)
            folder.mkdir(parents=True)
            return ROWS[row][2](calib, *data(size), folder)

        for asked in sys.stdin:
            seconds: list[float] = []
            try:
                while not seconds or (sum(seconds) < BUDGET and len(seconds) < 20):
                    work = ready(*asked.split())()
                    start = time.perf_counter()
                    work()
                    seconds.append(time.perf_counter() - start)
            except (AttributeError, TypeError) as error:
                print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
                continue
            print(json.dumps(min(seconds)), flush=True)


@contextmanager
def asked(tree: Path) -> Iterator[Callable[[str, str], Any]]:
    """Have a process with the calib of a tree; give what asks it for a row and size."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed", "--serve", str(tree)]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as worker:
        sent, received = cast("tuple[IO[str], IO[str]]", (worker.stdin, worker.stdout))

        def ask(name: str, size: str) -> Any:
            print(name, size, file=sent, flush=True)
            if not (answer := received.readline()):
                raise RuntimeError(f"{name}, {size}: the process with the calib of {tree} ended; see above")
            return json.loads(answer)

        yield ask


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


def measured(name: str, size: str, before: Callable[..., Any], now: Callable[..., Any]) -> str:
    """Return a row of the table."""
    start, turns = f"| {ROWS[name][0]} | {SIZES[size][0]:,} x {SIZES[size][1]:,} |", []
    while len(turns) < (LONG_TURNS if turns and max(turns[0]) > BUDGET else TURNS):
        turns.append((before(name, size), now(name, size)))
        if lacks := [answer for answer in turns[0] if isinstance(answer, str)]:
            return f"{start} {lacks[0]} | | |"
    then, today = (1e3 * min(times) for times in zip(*turns, strict=True))
    return f"{start} {then:,.1f} | {today:,.1f} | {today / then:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; by default all")
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--page", action="store_true", help="write the table into docs/speed.md")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"rows are {', '.join(ROWS)}; got {', '.join(sorted(unknown))}")
    commit, begin = options.against or previous(), time.monotonic()
    short = git("rev-parse", "--short", commit).decode().strip()
    lines = [
        f"| work | rows x classes | {short}, ms | work tree, ms | ratio |",
        "| :-- | --: | --: | --: | --: |",
    ]
    print("\n".join(lines), flush=True)
    with files_of(commit) as other, asked(other) as before, asked(ROOT) as now:
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
