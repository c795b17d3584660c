"""The same rows in calib and in other libraries: `python -m benchmarks.peers [TABLE ...]` prints tables.

errors, decomposition and repairs stand in docs/compare.md; ``--page`` writes times into docs/speed.md.
Peers are the libraries of the extra `bench`; one that is not installed is left out. Times are the fastest
of a few calls by turns, each row in a process of its own. Milliseconds belong to the machine; what carries
over is the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

import calib
from benchmarks.timing import ROOT, Calls, alone, fastest, machine, put_table, simulated
from calib.datasets import load_example, perfect

N_BINS = 15
LIBRARIES = ("scikit-learn", "netcal", "mapie", "probmetrics", "torchmetrics", "model-diagnostics")
#: Seconds that calls by turns may take; each is made at least once.
BUDGET = 20.0

Call = Callable[[], Any]
#: By library and function, or by library.
Found = dict[str, Call]


def errors_of(proba: np.ndarray, y: np.ndarray) -> Found:
    """Return calls of the calibration error of the predicted class's confidence."""
    found: Found = {
        "calib-diagnostics | `ece, confidence`": partial(calib.ece, y, proba, notion="confidence"),
        "calib-diagnostics | `ece, top-label`": partial(calib.ece, y, proba),
        "calib-diagnostics | `ece, confidence, one bin less`": partial(
            calib.ece, y, proba, notion="confidence", n_bins=N_BINS - 1
        ),
    }
    with suppress(ImportError):
        from netcal.metrics import ECE

        found["netcal | `ECE`"] = lambda: float(ECE(bins=N_BINS).measure(proba, y))
    with suppress(ImportError):
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        scores, target = torch.from_numpy(proba), torch.from_numpy(y)
        found["torchmetrics | `multiclass_calibration_error`"] = lambda: float(
            multiclass_calibration_error(scores, target, proba.shape[1], n_bins=N_BINS)
        )
    with suppress(ImportError):
        from mapie.metrics.calibration import expected_calibration_error, top_label_ece

        found["mapie | `expected_calibration_error`"] = lambda: float(
            expected_calibration_error((y == proba.argmax(1)).astype(int), proba.max(1), num_bins=N_BINS)
        )
        found["mapie | `top_label_ece`"] = lambda: float(top_label_ece(y, proba, num_bins=N_BINS))
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


Fit = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], Any]]


def calibrators() -> dict[str, Fit]:
    """Return by library and method what fits it and gives its calibrated probabilities."""

    def recommended(proba: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Any]:
        chosen = calib.recommend(proba, y).calibrator
        return (lambda new: new) if chosen is None else partial(calib.calibrated_scores, chosen)

    found: dict[str, Fit] = {
        "calib-diagnostics: `TemperatureScaling`": lambda p, y: (
            calib.TemperatureScaling().fit(p, y).predict_proba
        ),
        "calib-diagnostics: `recommend`": recommended,
    }
    with suppress(ImportError):
        from netcal.scaling import TemperatureScaling

        found["netcal: `TemperatureScaling`"] = lambda p, y: TemperatureScaling().fit(p, y).transform
    with suppress(ImportError):
        from probmetrics.calibrators import get_calibrator

        for name in ("temp-scaling", "ts-mix", "isotonic", "svs"):
            found[f"probmetrics: `{name}`"] = lambda p, y, name=name: (
                get_calibrator(name).fit(p, y).predict_proba
            )
    for method in ("sigmoid", "isotonic", "temperature"):
        found[f"scikit-learn: `CalibratedClassifierCV, {method}`"] = lambda p, y, method=method: (
            announced(method)(p, y).predict_proba
        )
    return found


def rows_of(head: str, lines: list[str]) -> list[str]:
    """Return a Markdown table; what has no letter in the head is aligned right."""
    names = head.split(" | ")
    return [
        f"| {head} |",
        f"|{' --- |' * 2}{' --: |' * (len(names) - 2)}",
        *(f"| {line} |" for line in lines),
    ]


def errors() -> list[str]:
    """Return the errors that each library gives for the same rows, and how long it takes."""
    data = {
        "simulated network": load_example("resnet").evaluation,
        "perfect model": perfect(10_000, 10).evaluation,
        "digits": load_example("digits").evaluation,
    }
    cells: dict[str, list[str]] = {}
    longest: dict[str, float] = {}
    for rows in data.values():
        proba = np.array(rows.proba, dtype=np.float64)
        proba /= proba.sum(axis=1, keepdims=True)
        for name, run in errors_of(proba, rows.labels).items():
            seconds, values = fastest({"": run}, 60.0, 5)
            cells.setdefault(name, []).append(f"{values['']:.4f}")
            longest[name] = max(seconds[""], longest.get(name, 0.0))
    lines = [f"{name} | {' | '.join(values)} | {1e3 * longest[name]:.1f}" for name, values in cells.items()]
    return rows_of(f"library | function | {' | '.join(data)} | ms", lines)


def repairs() -> list[str]:
    """Return proper scores and TL-ECE of the test rows after each library's calibrators."""
    lines = []
    for name in ("resnet", "digits"):
        example = load_example(name)
        y, test = example.evaluation.labels, np.asarray(example.evaluation.proba, np.float64)
        fitted_on = np.asarray(example.calibration.proba, np.float64)
        lines.append(f"{name} | no calibrator | {numbers(y, test)} | -")
        for method, fit in calibrators().items():
            begin = time.perf_counter()
            scores = fit(fitted_on, example.calibration.labels)(test)
            seconds = time.perf_counter() - begin
            lines.append(f"{name} | {method} | {numbers(y, scores)} | {seconds:.2f}")
    return rows_of("data | calibrator | Brier | log loss | accuracy | l2 TL-ECE | s", lines)


def numbers(y: np.ndarray, scores: Any) -> str:
    """Return Brier score, log loss, accuracy and the debiased l2 error with its interval."""
    interval = calib.error_interval(y, scores, norm=2)
    ends = f"{interval.estimate:.3f} ({interval.lower:.3f} to {interval.upper:.3f})"
    means = (calib.brier_score(y, scores), calib.log_loss(y, scores), calib.accuracy(y, scores))
    return " | ".join([*(f"{value:.4f}" for value in means), ends])


def decomposition() -> list[str]:
    """Return the Brier score of the confidence in its parts, by isotonic regression."""
    rows = load_example("resnet").evaluation
    right, score = rows.label == rows.labels, np.asarray(rows.confidence, dtype=np.float64)
    problems = calib.reduce_to_binary(rows.labels, rows, "confidence")
    calls: Found = {"calib-diagnostics | `corp_curve`": lambda: calib.corp_curve(problems).brier}
    with suppress(ImportError):
        from model_diagnostics.scoring import SquaredError, decompose

        parts = ("miscalibration", "discrimination", "uncertainty")
        calls["model-diagnostics | `decompose`"] = lambda: [
            decompose(right.astype(float), score, scoring_function=SquaredError())[part][0] for part in parts
        ]
    seconds, values = fastest(calls, 60.0, 5)
    lines = [
        f"{name} | {' | '.join(f'{part:.6f}' for part in values[name])} | {1e3 * seconds[name]:.1f}"
        for name in calls
    ]
    return rows_of("library | function | miscalibration | discrimination | uncertainty | ms", lines)


def time_errors(notion: str) -> Callable[..., Calls]:
    def calls(proba: np.ndarray, y: np.ndarray) -> Calls:
        others = {
            name.split()[0]: run
            for name, run in errors_of(proba, y).items()
            if "torch" in name or "ECE`" in name
        }
        return {"calib": lambda: calib.ece(y, proba, notion=notion), **others}

    return calls


def time_binning(notion: str, *, predict: bool = False) -> Callable[..., Calls]:
    def calls(proba: np.ndarray, y: np.ndarray) -> Calls:
        model = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100), notion=notion)
        found: Found = {"calib": partial(model.fit, proba, y)}
        if predict:
            found = {"calib": partial(model.fit(proba, y).predict_top, proba)}
        with suppress(ImportError):
            from netcal.binning import HistogramBinning

            other = HistogramBinning(bins=N_BINS)
            found["netcal"] = partial(other.fit, proba, y)
            if predict:
                found["netcal"] = partial(other.fit(proba, y).transform, proba)
        return found

    return calls


def time_temperature(proba: np.ndarray, y: np.ndarray) -> Calls:
    wanted = ("TemperatureScaling", "temp-scaling", "temperature")
    fits = {name: fit for name, fit in calibrators().items() if name.strip("`").endswith(wanted)}
    return {
        name.split(":")[0].replace("-diagnostics", ""): partial(fit, proba, y) for name, fit in fits.items()
    }


def time_row(proba: np.ndarray, y: np.ndarray) -> Calls:
    """Return calls with a hundred single rows."""
    row = proba[:1].copy()

    def hundred(predict: Callable[[Any], Any]) -> Call:
        return lambda: [predict(row) for _ in range(100)]

    top = calib.MulticlassToBinary(calib.HistogramBinning()).fit(proba, y)
    return {
        "calib": hundred(top.predict_top),
        "scikit-learn": hundred(announced("isotonic")(proba, y).predict_proba),
    }


def time_import(proba: np.ndarray, y: np.ndarray) -> Calls:
    def start(name: str) -> Call:
        return partial(subprocess.run, [sys.executable, "-c", f"import {name}"], check=True, cwd=ROOT)

    found = {"calib": start("calib")}
    for name in ("torchmetrics", "netcal.metrics"):
        with suppress(ImportError):
            __import__(name)
            found[name.partition(".")[0]] = start(name)
    return found


#: What is timed, rows and classes, and what makes the calls.
TIMED: list[tuple[str, tuple[int, int], Callable[..., Calls]]] = [
    ("conf-ECE", (1_000_000, 10), time_errors("confidence")),
    ("TL-ECE (peers: conf-ECE)", (1_000_000, 10), time_errors("top-label")),
    ("conf-ECE", (50_000, 1_000), time_errors("confidence")),
    ("TL-ECE (peers: conf-ECE)", (50_000, 1_000), time_errors("top-label")),
    ("top-label histogram binning, fit (netcal: class-wise)", (1_000_000, 10), time_binning("top-label")),
    ("its predictions", (1_000_000, 10), time_binning("top-label", predict=True)),
    ("class-wise histogram binning, fit", (1_000_000, 10), time_binning("class-wise")),
    ("class-wise histogram binning, fit", (50_000, 1_000), time_binning("class-wise")),
    ("temperature scaling, fit", (1_000_000, 10), time_temperature),
    ("temperature scaling, fit", (50_000, 1_000), time_temperature),
    ("100 single rows through a calibrator", (50_000, 10), time_row),
    ("100 single rows through a calibrator", (20_000, 1_000), time_row),
    ("start of Python and import", (1, 2), time_import),
]


def timed(place: int) -> str:
    """Return a line of the table of times, measured in this process."""
    what, (rows, classes), make = TIMED[place]
    seconds, _ = fastest(make(*simulated(rows, classes)), BUDGET)
    own = seconds.pop("calib")
    beside = ", ".join(f"{name} {1e3 * took:,.1f}" for name, took in seconds.items())
    ratio = f"{own / min(seconds.values()):.2g} x" if seconds else ""
    return f"{what} | {rows:,} x {classes:,} | {1e3 * own:,.1f} | {beside} | {ratio}"


def times() -> list[str]:
    """Return the table of times."""
    lines = [alone("benchmarks.peers", "--one", place) for place in range(len(TIMED))]
    return rows_of("work | rows x classes | calib, ms | beside it, ms | calib takes", lines)


TABLES = {"errors": errors, "decomposition": decomposition, "repairs": repairs, "times": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--page", action="store_true", help="write the table of times into docs/speed.md")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one is not None:
        print(json.dumps(timed(options.one)))
        return
    print(machine(*LIBRARIES))
    for name in options.tables:
        lines = TABLES[name]()
        print("\n" + "\n".join(lines), flush=True)
        if options.page and name == "times":
            put_table("speed.md", "Beside other libraries", lines, *LIBRARIES)


if __name__ == "__main__":
    main()
