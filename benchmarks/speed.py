"""Time calib in the work tree and at another commit, and print the ratio of each row.

``python -m benchmarks.speed [ROW ...] [--against COMMIT] [--sizes small middle] [--minutes 5]``, or ``make
speed``. A process with each tree measures each row and size by turns, with the same Python and packages;
the fastest call counts. Rows call public names alone, which must mean the same in both trees; a row that
one of them does not have says so. The other commit is by default where the branch left `main`, on `main`
the one before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.timing import HERE, fastest, simulated

ROOT = HERE.parent
#: Seconds that the calls of a row and size may take at each turn; one is made, however long it takes.
BUDGET = 0.3
#: Turns of each tree.
TURNS = 4

SIZES = {"small": (1_000, 10), "middle": (100_000, 10), "wide": (5_000, 300), "large": (1_000_000, 10)}


def on_rows(name: str, **options: Any) -> Callable[..., Callable[[], Any]]:
    """Return what makes calls `calib.name(y, proba)`."""
    return lambda calib, proba, y, folder: partial(getattr(calib, name), y, proba, **options)


def fit(name: str, **options: Any) -> Callable[..., Callable[[], Any]]:
    """Return what makes fits of a calibrator of whole vectors."""
    return lambda calib, proba, y, folder: partial(getattr(calib, name)(**options).fit, proba, y)


def binary(name: str, notion: str, *, predict: str = "") -> Callable[..., Callable[[], Any]]:
    """Return what makes fits, or predictions, of a binary calibrator class by class."""

    def call(calib: Any, proba: Any, y: Any, folder: Path) -> Callable[[], Any]:
        model = calib.MulticlassToBinary(getattr(calib, name)(), notion=notion)
        return (
            partial(getattr(model.fit(proba, y), predict), proba) if predict else partial(model.fit, proba, y)
        )

    return call


def table(proba: Any, y: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({f"p{code}": column for code, column in enumerate(proba.T)} | {"label": y})


def read_csv(calib: Any, proba: Any, y: Any, folder: Path) -> Callable[[], Any]:
    table(proba, y).to_csv(folder / "rows.csv", index=False)
    return partial(calib.read, folder / "rows.csv")


def summarize(calib: Any, proba: Any, y: Any, folder: Path) -> Callable[[], Any]:
    table(proba, y).to_parquet(folder / "rows.parquet")
    return partial(calib.scale.summarize, folder / "rows.parquet")


def imported(calib: Any, proba: Any, y: Any, folder: Path) -> Callable[[], Any]:
    environment = os.environ | {"PYTHONPATH": str(Path(calib.__file__).parents[1])}
    return lambda: subprocess.run([sys.executable, "-c", "import calib"], check=True, env=environment)


ALL = ("small", "middle", "wide", "large")
SOME = ("small", "middle", "wide")
#: By name: what it is, in which sizes, and what makes the call.
ROWS: dict[str, tuple[str, tuple[str, ...], Callable[..., Callable[[], Any]]]] = {
    "import": ("start of Python and import", ("small",), imported),
    "check": ("check the input", ALL, lambda calib, proba, y, folder: partial(calib.Predictions, proba, y)),
    "reduce": ("reduction, class-wise", SOME, on_rows("reduce_to_binary", notion="class-wise")),
    "ece": ("TL-ECE", ALL, on_rows("ece", notion="top-label")),
    "cw-ece": ("class-wise ECE", ALL, on_rows("ece", notion="class-wise")),
    "floor": ("noise floor, top-label", ALL, on_rows("noise_floor", random_state=0)),
    "cw-floor": (
        "noise floor, class-wise",
        SOME,
        on_rows("noise_floor", notion="class-wise", random_state=0),
    ),
    "interval": ("interval of l1 TL-ECE", SOME, on_rows("error_interval")),
    "cw-interval": ("interval, class-wise", SOME, on_rows("error_interval", notion="class-wise")),
    "test": (
        "calibration test, 199 redraws",
        SOME,
        on_rows("calibration_test", n_resamples=199, random_state=0),
    ),
    "classes": ("table of classes", SOME, on_rows("class_table", random_state=0)),
    "conclude": ("conclusion", SOME, on_rows("conclude")),
    "band": ("honest band", ("small", "middle"), on_rows("calibration_band")),
    "diagram": ("reliability diagram", SOME, on_rows("reliability_diagram")),
    "hb": ("histogram binning, fit", ALL, binary("HistogramBinning", "top-label")),
    "cw-hb": ("the same class-wise", SOME, binary("HistogramBinning", "class-wise")),
    "predict": ("its predictions", SOME, binary("HistogramBinning", "class-wise", predict="predict_proba")),
    "isotonic": ("isotonic calibration, fit", SOME, binary("IsotonicCalibration", "class-wise")),
    "ts": ("temperature scaling, fit", ALL, fit("TemperatureScaling")),
    "ets": ("ensemble temperature scaling, fit", ("small", "middle"), fit("EnsembleTemperatureScaling")),
    "vs": ("vector scaling, fit", SOME, fit("VectorScaling")),
    "ds": ("Dirichlet scaling, fit", ("small", "middle"), fit("DirichletScaling")),
    "read": ("read a CSV file", ("small", "middle"), read_csv),
    "summarize": ("summarize a Parquet file", SOME, summarize),
}


def serve(tree: Path) -> None:
    """Read rows and sizes; answer the fastest seconds with the calib of a tree, or what it lacks."""
    sys.path.insert(0, str(tree))
    import calib

    if not Path(calib.__file__).is_relative_to(tree):
        raise RuntimeError(f"calib must come from {tree}; got {calib.__file__}")
    data = cache(lambda size: simulated(*SIZES[size]))
    for asked in sys.stdin:
        name, size = asked.split()
        with tempfile.TemporaryDirectory() as folder:
            try:
                call = ROWS[name][2](calib, *data(size), Path(folder))
            except AttributeError as error:
                print(json.dumps(str(error)), flush=True)
                continue
            print(json.dumps(fastest({"": call}, BUDGET, 20)[0][""]), flush=True)


@contextmanager
def served(tree: Path) -> Iterator[Callable[[str, str], Any]]:
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


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()  # noqa: S607


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Have the files of a commit in a temporary work tree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def previous() -> str:
    """Return where the branch left `main`, or the commit before the last."""
    left = git("merge-base", "HEAD", "main")
    return left if left != git("rev-parse", "HEAD") else "HEAD~1"


def line(name: str, size: str, before: tuple[Any, ...], now: tuple[Any, ...]) -> str:
    """Return a row of the table."""
    start = f"| {ROWS[name][0]} | {SIZES[size][0]:,} x {SIZES[size][1]:,} |"
    lacks = [one for one in (*before, *now) if isinstance(one, str)]
    if lacks:
        return f"{start} {lacks[0]} | | |"
    then, today = 1e3 * min(before), 1e3 * min(now)
    return f"{start} {then:,.1f} | {today:,.1f} | {today / then:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; by default all")
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--minutes", type=float, default=5.0, help="after these, no further row begins")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"rows are {', '.join(ROWS)}; got {', '.join(sorted(unknown))}")
    commit, end, left = options.against or previous(), time.monotonic() + 60 * options.minutes, []
    with checked_out(commit) as other, served(other) as before, served(ROOT) as now:
        print(
            f"| work | rows x classes | {git('rev-parse', '--short', commit)}, ms | work tree, ms | ratio |"
        )
        print("| :-- | --: | --: | --: | --: |", flush=True)
        for name in options.rows or ROWS:
            for size in ROWS[name][1]:
                if size not in options.sizes:
                    continue
                if time.monotonic() > end:
                    left.append(f"{name} ({size})")
                    continue
                turns = [(before(name, size), now(name, size)) for _ in range(TURNS)]
                print(line(name, size, *zip(*turns, strict=True)), flush=True)
    if left:
        print(f"\nNot measured within {options.minutes:g} minutes: {', '.join(left)}.")


if __name__ == "__main__":
    main()
