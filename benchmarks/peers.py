"""The same rows in calib and in other libraries: `python -m benchmarks.peers [TABLE ...]` prints tables.

errors, decomposition and repairs stand in docs/compare.md; ``--page`` writes times into docs/speed.md.
Peers are the libraries of the extra `bench`; one that is not installed is left out. Times are the fastest
of a few calls by turns, each row in a process of its own. Milliseconds belong to the machine; what carries
over is the ratio.
"""

from __future__ import annotations

import argparse
import os
import warnings
from typing import Any

import numpy as np

import calib
from benchmarks.timing import Found, Work, alone, fastest, machine, put_table, simulated, started, table_head
from calib.datasets import load_example, perfect

LIBRARIES = ("scikit-learn", "netcal", "mapie", "probmetrics", "torchmetrics", "model-diagnostics")
#: Seconds that calls by turns may take; each is made at least once.
BUDGET = 20.0

warnings.simplefilter("ignore")


def announced(method: str, proba: np.ndarray, y: np.ndarray) -> Any:
    """Return scikit-learn's calibration of a classifier that announces what it is given."""
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

    return CalibratedClassifierCV(FrozenEstimator(Announced().fit(proba, y)), method=method).fit(proba, y)


def recommended(proba: np.ndarray, y: np.ndarray, test: np.ndarray) -> Any:
    """Return the scores that calib's recommended calibrator gives to test rows."""
    chosen = calib.recommend(proba, y).calibrator
    return test if chosen is None else calib.calibrated_scores(chosen, test)


def timed(works: dict[str, Work], turns: int = 7, **names: Any) -> Found:
    known = {"calib": calib, "announced": announced, "recommended": recommended, "started": started}
    return fastest(works, BUDGET, turns, **known, **names)


NETCAL_ECE = Work("float(ECE(bins=15).measure(proba, y))", "from netcal.metrics import ECE")
TORCH_ECE = Work(
    "float(multiclass_calibration_error(scores, target, proba.shape[1], n_bins=15))",
    f"""
import torch
from torchmetrics.functional.classification import multiclass_calibration_error
torch.set_num_threads({len(os.sched_getaffinity(0))})
scores, target = torch.from_numpy(proba), torch.from_numpy(y)
""",
)
NETCAL_SCALING = "from netcal.scaling import TemperatureScaling"
PROBMETRICS = "from probmetrics.calibrators import get_calibrator"
MAPIE = "from mapie.metrics.calibration import expected_calibration_error, top_label_ece"
#: Calibration errors of the predicted class's confidence, by library and function.
ERRORS = {
    "calib-diagnostics | `ece, confidence`": Work("calib.ece(y, proba, notion='confidence')"),
    "calib-diagnostics | `ece, top-label`": Work("calib.ece(y, proba)"),
    "calib-diagnostics | `ece, confidence, one bin less`": Work(
        "calib.ece(y, proba, notion='confidence', n_bins=14)"
    ),
    "netcal | `ECE`": NETCAL_ECE,
    "torchmetrics | `multiclass_calibration_error`": TORCH_ECE,
    "mapie | `expected_calibration_error`": Work(
        "expected_calibration_error((y == proba.argmax(1)).astype(int), proba.max(1), num_bins=15)", MAPIE
    ),
    "mapie | `top_label_ece`": Work("top_label_ece(y, proba, num_bins=15)", MAPIE),
}
#: Calibrated probabilities of test rows, by library and method.
REPAIRS = {
    "calib-diagnostics: `TemperatureScaling`": Work(
        "calib.TemperatureScaling().fit(proba, y).predict_proba(test)"
    ),
    "calib-diagnostics: `recommend`": Work("recommended(proba, y, test)"),
    "netcal: `TemperatureScaling`": Work(
        "TemperatureScaling().fit(proba, y).transform(test)", NETCAL_SCALING
    ),
}
for name in ("temp-scaling", "ts-mix", "isotonic", "svs"):
    REPAIRS[f"probmetrics: `{name}`"] = Work(
        f"get_calibrator('{name}').fit(proba, y).predict_proba(test)", PROBMETRICS
    )
for name in ("sigmoid", "isotonic", "temperature"):
    REPAIRS[f"scikit-learn: `CalibratedClassifierCV, {name}`"] = Work(
        f"announced('{name}', proba, y).predict_proba(test)"
    )
#: The Brier score of the confidence in its parts, by isotonic regression.
DECOMPOSITIONS = {
    "calib-diagnostics | `corp_curve`": Work("calib.corp_curve(problems).brier"),
    "model-diagnostics | `decompose`": Work(
        "decompose(right, score, scoring_function=SquaredError()).select(parts).row(0)",
        "from model_diagnostics.scoring import SquaredError, decompose",
    ),
}
PARTS = ("miscalibration", "discrimination", "uncertainty")


def table(columns: str, lines: list[str]) -> list[str]:
    return [*table_head(columns), *(f"| {line} |" for line in lines)]


def errors() -> list[str]:
    """Return the errors that each library gives for the same rows, and how long it takes."""
    data = {
        "simulated network": load_example("resnet").evaluation,
        "perfect model": perfect(10_000, 10).evaluation,
        "digits": load_example("digits").evaluation,
    }
    found = []
    for rows in data.values():
        proba = np.array(rows.proba, dtype=np.float64)
        proba /= proba.sum(axis=1, keepdims=True)
        found.append(timed(ERRORS, proba=proba, y=rows.labels))
    lines = [
        f"{name} | {' | '.join(f'{each[name][1]:.4f}' for each in found)} | "
        f"{1e3 * max(each[name][0] for each in found):.1f}"
        for name in found[0]
    ]
    return table(f"library | function | {' | '.join(data)} | ms", lines)


def repairs() -> list[str]:
    """Return proper scores and TL-ECE of the test rows after each library's calibrators."""
    lines = []
    for example in ("resnet", "digits"):
        parts = load_example(example)
        y, test = parts.evaluation.labels, np.asarray(parts.evaluation.proba, np.float64)
        lines.append(f"{example} | no calibrator | {numbers(y, test)} | -")
        proba = np.asarray(parts.calibration.proba, np.float64)
        found = timed(REPAIRS, 1, proba=proba, y=parts.calibration.labels, test=test)
        lines += [
            f"{example} | {method} | {numbers(y, scores)} | {seconds:.2f}"
            for method, (seconds, scores) in found.items()
        ]
    return table("data | calibrator | Brier | log loss | accuracy | l2 TL-ECE | s", lines)


def numbers(y: np.ndarray, scores: Any) -> str:
    """Return Brier score, log loss, accuracy and the debiased l2 error with its interval."""
    interval = calib.error_interval(y, scores, norm=2)
    ends = f"{interval.estimate:.3f} ({interval.lower:.3f} to {interval.upper:.3f})"
    means = (calib.brier_score(y, scores), calib.log_loss(y, scores), calib.accuracy(y, scores))
    return " | ".join([*(f"{value:.4f}" for value in means), ends])


def decomposition() -> list[str]:
    rows = load_example("resnet").evaluation
    found = timed(
        DECOMPOSITIONS,
        problems=calib.reduce_to_binary(rows.labels, rows, "confidence"),
        right=(rows.label == rows.labels).astype(float),
        score=np.asarray(rows.confidence, dtype=np.float64),
        parts=PARTS,
    )
    lines = [
        f"{name} | {' | '.join(f'{part:.6f}' for part in parts)} | {1e3 * seconds:.1f}"
        for name, (seconds, parts) in found.items()
    ]
    return table(f"library | function | {' | '.join(PARTS)} | ms", lines)


ERROR_PEERS = {"torchmetrics": TORCH_ECE, "netcal": NETCAL_ECE}
CONFIDENCE = {"calib": Work("calib.ece(y, proba, notion='confidence')"), **ERROR_PEERS}
TOP_LABEL = {"calib": Work("calib.ece(y, proba)"), **ERROR_PEERS}
NETCAL_BINNING = "from netcal.binning import HistogramBinning\nother = HistogramBinning(bins=15)"
BINNING = "model = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100), notion={!r})"
FIT_TOP_LABEL, FIT_CLASS_WISE = (
    {
        "calib": Work("model.fit(proba, y)", BINNING.format(notion)),
        "netcal": Work("other.fit(proba, y)", NETCAL_BINNING),
    }
    for notion in ("top-label", "class-wise")
)
PREDICTIONS = {
    "calib": Work("model.predict_top(proba)", BINNING.format("top-label") + ".fit(proba, y)"),
    "netcal": Work("other.transform(proba)", NETCAL_BINNING + ".fit(proba, y)"),
}
TEMPERATURE = {
    "calib": Work("calib.TemperatureScaling().fit(proba, y)"),
    "netcal": Work("TemperatureScaling().fit(proba, y)", NETCAL_SCALING),
    "probmetrics": Work("get_calibrator('temp-scaling').fit(proba, y)", PROBMETRICS),
    "scikit-learn": Work("announced('temperature', proba, y)"),
}
SINGLE_ROWS = {
    "calib": Work(
        "[top.predict_top(row) for _ in range(100)]",
        "top, row = calib.MulticlassToBinary(calib.HistogramBinning()).fit(proba, y), proba[:1].copy()",
    ),
    "scikit-learn": Work(
        "[model.predict_proba(row) for _ in range(100)]",
        "model, row = announced('isotonic', proba, y), proba[:1].copy()",
    ),
}
IMPORTS = {
    "calib": Work("started('-c', 'import calib')"),
    "torchmetrics": Work("started('-c', 'import torchmetrics')", "import torchmetrics"),
    "netcal": Work("started('-c', 'import netcal.metrics')", "import netcal.metrics"),
}
#: What is timed, rows and classes, and the calls.
TIMED = [
    ("conf-ECE", (1_000_000, 10), CONFIDENCE),
    ("TL-ECE (peers: conf-ECE)", (1_000_000, 10), TOP_LABEL),
    ("conf-ECE", (50_000, 1_000), CONFIDENCE),
    ("TL-ECE (peers: conf-ECE)", (50_000, 1_000), TOP_LABEL),
    ("top-label histogram binning, fit (netcal: class-wise)", (1_000_000, 10), FIT_TOP_LABEL),
    ("its predictions", (1_000_000, 10), PREDICTIONS),
    ("class-wise histogram binning, fit", (1_000_000, 10), FIT_CLASS_WISE),
    ("class-wise histogram binning, fit", (50_000, 1_000), FIT_CLASS_WISE),
    ("temperature scaling, fit", (1_000_000, 10), TEMPERATURE),
    ("temperature scaling, fit", (50_000, 1_000), TEMPERATURE),
    ("100 single rows through a calibrator", (50_000, 10), SINGLE_ROWS),
    ("100 single rows through a calibrator", (20_000, 1_000), SINGLE_ROWS),
    ("start of Python and import", (1, 2), IMPORTS),
]


def line_of_times(place: int) -> str:
    """Return a line of the table of times, measured in this process."""
    what, (rows, classes), works = TIMED[place]
    proba, y = simulated(rows, classes)
    seconds = {name: took for name, (took, _) in timed(works, proba=proba, y=y).items()}
    own = seconds.pop("calib")
    beside = ", ".join(f"{name} {1e3 * took:,.1f}" for name, took in seconds.items())
    ratio = f"{own / min(seconds.values()):.2g} x" if seconds else ""
    size = "" if works is IMPORTS else f"{rows:,} x {classes:,}"
    return f"{what} | {size} | {1e3 * own:,.1f} | {beside} | {ratio}"


def times() -> list[str]:
    lines = [alone(line_of_times, place) for place in range(len(TIMED))]
    return table("work | rows x classes | calib, ms | beside it, ms | calib takes", lines)


TABLES = {"errors": errors, "decomposition": decomposition, "repairs": repairs, "times": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--page", action="store_true", help="write the table of times into docs/speed.md")
    options = parser.parse_args()
    print(machine(*LIBRARIES))
    for name in options.tables:
        lines = TABLES[name]()
        print("\n" + "\n".join(lines), flush=True)
        if options.page and name == "times":
            put_table("speed.md", "Beside other libraries", lines, *LIBRARIES)


if __name__ == "__main__":
    main()
