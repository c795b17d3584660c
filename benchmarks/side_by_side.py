"""Time the work of calib beside that of other libraries on the same arrays, in one run.

    python -m benchmarks.side_by_side [ROW ...] [--json benchmarks/side_by_side.json]

Each row of the table is measured in a process of its own, calib and its peers by turns, the fastest of a few
calls; peers that are not installed are left out. The results are kept in the JSON file, from which
`docs/speed.md` is made: ``--page`` writes it without measuring. Milliseconds belong to the machine; what
carries over is the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import HERE, Calls, alone, fastest, machine, simulated

RESULTS = HERE / "side_by_side.json"
PAGE = HERE.parent / "docs" / "speed.md"
PEERS = ("torchmetrics", "netcal", "scikit-learn", "probmetrics")

#: Seconds that calls by turns may take; each is made at least once.
BUDGET = 20.0


def error(notion: str) -> Callable[[Any, Any, Any], Calls]:
    def calls(calib: Any, proba: Any, y: Any) -> Calls:
        found: dict[str, Any] = {"calib": lambda: calib.ece(y, proba, notion=notion)}
        with suppress(ImportError):
            import torch
            from torchmetrics.functional.classification import multiclass_calibration_error

            torch.set_num_threads(len(os.sched_getaffinity(0)))
            target, scores = torch.from_numpy(y), torch.from_numpy(proba)
            found["torchmetrics"] = lambda: multiclass_calibration_error(
                scores, target, proba.shape[1], n_bins=15
            )
        with suppress(ImportError):
            from netcal.metrics import ECE

            found["netcal"] = lambda: ECE(bins=15).measure(proba, y)
        return found

    return calls


def class_wise(calib: Any, proba: Any, y: Any) -> Calls:
    return {"calib": lambda: calib.ece(y, proba, notion="class-wise"), "one read": lambda: float(proba.max())}


def floor(calib: Any, proba: Any, y: Any) -> Calls:
    return {"calib": lambda: calib.noise_floor(y, proba, notion="class-wise", random_state=0)}


def histogram_fit(notion: str) -> Callable[[Any, Any, Any], Calls]:
    def calls(calib: Any, proba: Any, y: Any) -> Calls:
        model = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100), notion=notion)
        found: dict[str, Any] = {"calib": lambda: model.fit(proba, y)}
        with suppress(ImportError):
            from netcal.binning import HistogramBinning

            found["netcal"] = lambda: HistogramBinning(bins=15).fit(proba, y)
        return found

    return calls


def histogram_predict(calib: Any, proba: Any, y: Any) -> Calls:
    model = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100)).fit(proba, y)
    found: dict[str, Any] = {"calib": lambda: model.predict_top(proba)}
    with suppress(ImportError):
        from netcal.binning import HistogramBinning

        other = HistogramBinning(bins=15).fit(proba, y)
        found["netcal"] = lambda: other.transform(proba)
    return found


def announced(method: str) -> Any:
    """Return scikit-learn's unfitted calibration of a classifier that announces what it is given."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Announced(ClassifierMixin, BaseEstimator):
        def fit(self, X: np.ndarray, y: np.ndarray) -> Announced:
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return X

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.classes_[X.argmax(axis=1)]

    def fitted(proba: np.ndarray, y: np.ndarray) -> Any:
        return CalibratedClassifierCV(FrozenEstimator(Announced().fit(proba, y)), method=method).fit(proba, y)

    return fitted


def temperature(calib: Any, proba: Any, y: Any) -> Calls:

    def loss_of(apply: Callable[[np.ndarray], Any]) -> Callable[[], float]:
        return lambda: calib.log_loss(y, np.asarray(apply(proba), np.float64))

    found: dict[str, Any] = {
        "calib": lambda: loss_of(calib.TemperatureScaling().fit(proba, y).predict_proba),
        "scikit-learn": lambda: loss_of(announced("temperature")(proba, y).predict_proba),
    }
    with suppress(ImportError):
        from netcal.scaling import TemperatureScaling

        found["netcal"] = lambda: loss_of(TemperatureScaling().fit(proba, y).transform)
    with suppress(ImportError):
        from probmetrics.calibrators import get_calibrator

        found["probmetrics"] = lambda: loss_of(get_calibrator("temp-scaling").fit(proba, y).predict_proba)
    return found


def vector(calib: Any, proba: Any, y: Any) -> Calls:
    return {"calib": lambda: calib.VectorScaling().fit(proba, y)}


def one_row(calib: Any, proba: Any, y: Any) -> Calls:
    top = calib.MulticlassToBinary(calib.HistogramBinning()).fit(proba, y)
    whole = calib.MulticlassToBinary(calib.HistogramBinning(), notion="class-wise").fit(proba, y)
    other = announced("isotonic")(proba, y)
    row = proba[:1].copy()

    def hundred(call: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: [call(row) for _ in range(100)]

    return {
        "calib": hundred(top.predict_top),
        "calib, class-wise": hundred(whole.predict_proba),
        "scikit-learn": hundred(other.predict_proba),
    }


def check(calib: Any, proba: Any, y: Any) -> Calls:
    shared = proba.copy()
    shared.flags.writeable = False
    return {
        "calib": lambda: calib.Predictions(proba, y),
        "calib, read-only": lambda: calib.Predictions(shared, y),
        "one read": lambda: float(proba.max()),
        "one copy": proba.copy,
    }


def fingerprint(calib: Any, proba: Any, y: Any) -> Calls:
    return {
        "calib": lambda: calib.Predictions(proba, y).fingerprint,
        "one read": lambda: float(proba.max()),
    }


def imported(calib: Any, proba: Any, y: Any) -> Calls:
    def start(name: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", f"import {name}"], check=True, cwd=HERE.parent)

    found = {"calib": start("calib"), "no import": start("sys")}
    for peer, name in (("torchmetrics", "torchmetrics"), ("netcal", "netcal.metrics")):
        with suppress(PackageNotFoundError):
            version(peer)
            found[peer] = start(name)
    return found


#: By the name of a row: what it is, its size, and what makes the calls.
ROWS: dict[str, tuple[str, tuple[int, int], Callable[[Any, Any, Any], Calls]]] = {
    "conf-ece": ("conf-ECE from an array", (1_000_000, 10), error("confidence")),
    "tl-ece": ("TL-ECE from an array (peers: conf-ECE)", (1_000_000, 10), error("top-label")),
    "conf-ece-wide": ("conf-ECE from an array", (50_000, 1_000), error("confidence")),
    "tl-ece-wide": ("TL-ECE from an array (peers: conf-ECE)", (50_000, 1_000), error("top-label")),
    "cw-ece": ("class-wise ECE", (50_000, 1_000), class_wise),
    "floor": ("class-wise noise floor, 1,000 redraws", (1_000_000, 10), floor),
    "floor-wide": ("class-wise noise floor, 1,000 redraws", (50_000, 1_000), floor),
    "tl-hb": (
        "top-label histogram binning, fit (netcal: class-wise)",
        (1_000_000, 10),
        histogram_fit("top-label"),
    ),
    "tl-hb-predict": ("its predictions", (1_000_000, 10), histogram_predict),
    "cw-hb": ("class-wise histogram binning, fit", (1_000_000, 10), histogram_fit("class-wise")),
    "cw-hb-wide": ("class-wise histogram binning, fit", (50_000, 1_000), histogram_fit("class-wise")),
    "temperature": ("temperature scaling, fit", (1_000_000, 10), temperature),
    "temperature-wide": ("temperature scaling, fit", (50_000, 1_000), temperature),
    "vector": ("vector scaling, fit", (50_000, 200), vector),
    "vector-wide": ("vector scaling, fit", (50_000, 1_000), vector),
    "row": ("100 single rows through a calibrator", (50_000, 10), one_row),
    "row-wide": ("100 single rows through a calibrator", (20_000, 1_000), one_row),
    "check": ("check the input: `Predictions(...)`", (50_000, 1_000), check),
    "fingerprint": ("check and fingerprint", (50_000, 1_000), fingerprint),
    "import": ("start of Python and import", (0, 0), imported),
}


def measure(name: str) -> dict[str, Any]:
    """Make the calls of a row by turns; return the fastest seconds of each, and the memory it took."""
    import calib

    _, (rows, classes), make = ROWS[name]
    arrays = simulated(rows, classes) if rows else (None, None)
    seconds, values, memory = fastest(make(calib, *arrays), BUDGET)
    found: dict[str, Any] = {"seconds": seconds}
    if make is temperature:
        found["log_loss"] = {peer: loss() for peer, loss in values.items()}
    if rows:
        found["memory"] = memory / (4 * rows * classes)
    return found


def page(results: dict[str, Any]) -> str:
    """Return the documentation page of the results."""
    told = results["machine"]
    versions = ", ".join(f"{name} {one}" for name, one in told["versions"].items())
    lines = [
        "# Speed",
        "",
        "`python -m benchmarks.side_by_side` measures calib and other libraries on the same arrays",
        "(float32, scores of a softmax with labels drawn from them), by turns, in a process of its own",
        "for each row, and writes this page. Given is the fastest call. Milliseconds belong to the",
        "machine, which also does other work at times; what carries over is the ratio.",
        "",
        f"{told['date']}, {told['processors']} processors, Python {told['python']}; {versions}.",
        "",
        "| work | rows x classes | calib, ms | beside it, ms | calib takes |",
        "| --- | --- | --: | --- | --: |",
        *(_line(name, results["rows"][name]) for name in ROWS if name in results["rows"]),
        "",
        "*One read* is a maximum over the matrix, *one copy* copies it: `Predictions` keeps a copy of an",
        "array that could still be changed, and shares one that is read-only. Temperature scaling ends at",
        "a log loss of " + _losses(results["rows"]) + ".",
        "",
    ]
    return "\n".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    what, (rows, classes), _ = ROWS[name]
    own = row["seconds"]["calib"]
    others = {peer: one for peer, one in row["seconds"].items() if peer != "calib"}
    beside = ", ".join(f"{peer} {_ms(one)}" for peer, one in others.items())
    rivals = [one for peer, one in others.items() if peer in PEERS]
    ratio = f"{own / min(rivals):.2g} x" if rivals else ""
    return f"| {what} | {f'{rows:,} x {classes:,}' if rows else ''} | {_ms(own)} | {beside} | {ratio} |"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}" if seconds < 0.1 else f"{1000 * seconds:,.0f}"


def _losses(rows: dict[str, Any]) -> str:
    return "; ".join(
        ", ".join(f"{loss:.8f} ({peer})" for peer, loss in rows[name]["log_loss"].items())
        for name in rows
        if "log_loss" in rows[name]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; by default all")
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--one", choices=ROWS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    results: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {"rows": {}}
    if not options.page:
        for name in options.rows or list(ROWS):
            row = alone("benchmarks.side_by_side", "--one", name)
            print(name, json.dumps(row), flush=True)
            results["rows"][name] = row
            results["machine"] = machine(*PEERS)
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.json == RESULTS:
        PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
