"""The same predictions in calib and in other libraries: `python -m benchmarks.peers` prints tables.

They stand in docs/compare.md. Peers are those of the extra `bench`; one that is not installed is left out.
Times of errors are the fastest of five calls, those of calibrators of one call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import calib
from benchmarks.side_by_side import announced
from benchmarks.timing import fastest, machine
from calib.datasets import load_example, perfect

N_BINS = 15


def timed(call: Callable[[], Any], turns: int = 5) -> tuple[Any, float]:
    """Return what a call gives, and its shortest time in seconds."""
    seconds, values, _ = fastest({"": call}, 60.0, turns)
    return values[""], seconds[""]


def estimators() -> dict[tuple[str, str], Callable[[np.ndarray, np.ndarray], float]]:
    """Return the calibration error of a (n, L) matrix by each installed library, by library and function."""
    found: dict[tuple[str, str], Callable[[np.ndarray, np.ndarray], float]] = {
        ("calib-diagnostics", "ece, confidence"): lambda y, p: calib.ece(
            y, p, notion="confidence", n_bins=N_BINS
        ),
        ("calib-diagnostics", "ece, top-label"): lambda y, p: calib.ece(y, p, n_bins=N_BINS),
        ("calib-diagnostics", "ece, confidence, one bin less"): lambda y, p: calib.ece(
            y, p, notion="confidence", n_bins=N_BINS - 1
        ),
    }
    try:
        from netcal.metrics import ECE

        found["netcal", "ECE"] = lambda y, p: float(ECE(bins=N_BINS).measure(p, y))
    except ImportError:
        pass
    try:
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        found["torchmetrics", "multiclass_calibration_error"] = lambda y, p: float(
            multiclass_calibration_error(
                torch.from_numpy(p), torch.from_numpy(y), num_classes=p.shape[1], n_bins=N_BINS
            )
        )
    except ImportError:
        pass
    try:
        from mapie.metrics.calibration import expected_calibration_error, top_label_ece

        found["mapie", "expected_calibration_error"] = lambda y, p: float(
            expected_calibration_error((y == p.argmax(1)).astype(int), p.max(1), num_bins=N_BINS)
        )
        found["mapie", "top_label_ece"] = lambda y, p: float(top_label_ece(y, p, num_bins=N_BINS))
    except ImportError:
        pass
    return found


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table whose columns after the second are aligned right."""
    line = ["---" if i < 2 else "--:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, tuple(line), *rows))


def errors() -> str:
    """Return the errors that each library gives for the same rows, and how long it takes."""
    data = {
        "simulated network": load_example("resnet").evaluation,
        "perfect model": perfect(10_000, 10).evaluation,
        "digits": load_example("digits").evaluation,
    }
    rows = []
    for (library, name), estimate in estimators().items():
        cells = []
        seconds = 0.0
        for one in data.values():
            proba = np.array(one.proba, dtype=np.float64)
            proba /= proba.sum(axis=1, keepdims=True)
            value, taken = timed(partial(estimate, one.labels, proba))
            cells.append(f"{value:.4f}")
            seconds = max(seconds, taken)
        rows.append((library, f"`{name}`", *cells, f"{1000 * seconds:.1f}"))
    return table(("library", "function", *data, "ms"), rows)


def calibrators() -> dict[tuple[str, str], Callable[[Any, Any], np.ndarray]]:
    """Return temperature scaling of each installed library: probabilities of the test rows after a fit."""

    def scaled(fit: Any, test: Any) -> np.ndarray:
        return calib.TemperatureScaling().fit(fit.proba, fit.labels).predict_proba(test.proba)

    def recommended(fit: Any, test: Any) -> np.ndarray:
        advice = calib.recommend(fit.proba, fit.labels)
        return (
            calib.calibrated_scores(advice.calibrator, test) if advice.calibrator is not None else test.proba
        )

    found: dict[tuple[str, str], Callable[[Any, Any], np.ndarray]] = {
        ("calib-diagnostics", "TemperatureScaling"): scaled,
        ("calib-diagnostics", "recommend"): recommended,
    }
    try:
        from netcal.scaling import TemperatureScaling as NetcalTemperature

        def netcal(fit: Any, test: Any) -> np.ndarray:
            scaling = NetcalTemperature()
            scaling.fit(np.asarray(fit.proba, np.float64), fit.labels)
            return np.asarray(scaling.transform(np.asarray(test.proba, np.float64)))

        found["netcal", "TemperatureScaling"] = netcal
    except ImportError:
        pass
    try:
        from probmetrics.calibrators import get_calibrator

        def probmetrics(name: str) -> Callable[[Any, Any], np.ndarray]:
            def run(fit: Any, test: Any) -> np.ndarray:
                calibrator = get_calibrator(name)
                calibrator.fit(np.asarray(fit.proba, np.float64), fit.labels)
                return np.asarray(calibrator.predict_proba(np.asarray(test.proba, np.float64)))

            return run

        for name in ("temp-scaling", "ts-mix", "isotonic", "svs"):
            found["probmetrics", name] = probmetrics(name)
    except ImportError:
        pass

    def sklearn(method: str) -> Callable[[Any, Any], np.ndarray]:
        def run(fit: Any, test: Any) -> np.ndarray:
            return announced(method)(fit.proba, fit.labels).predict_proba(test.proba)

        return run

    for method in ("sigmoid", "isotonic", "temperature"):
        found["scikit-learn", f"CalibratedClassifierCV, {method}"] = sklearn(method)
    return found


def repairs() -> str:
    """Return proper scores and TL-ECE of the test rows after each library's calibrators."""
    rows = []
    for name in ("resnet", "digits"):
        example = load_example(name)
        fit, test = example.calibration, example.evaluation
        y = test.labels
        rows.append((name, "no calibrator", *numbers(y, np.asarray(test.proba)), "-"))
        for (library, method), run in calibrators().items():
            after, seconds = timed(lambda run=run, fit=fit, test=test: run(fit, test), 1)
            rows.append((name, f"{library}: `{method}`", *numbers(y, after), f"{seconds:.2f}"))
    return table(("data", "calibrator", "Brier", "log loss", "accuracy", "l2 TL-ECE", "s"), rows)


def numbers(y: np.ndarray, scores: Any) -> tuple[str, ...]:
    """Return Brier score, log loss, accuracy and the debiased l2 error with its interval."""
    interval = calib.error_interval(y, scores, norm=2)
    whole = [f"{calib.brier_score(y, scores):.4f}", f"{calib.log_loss(y, scores):.4f}"]
    ends = f"{interval.estimate:.3f} ({interval.lower:.3f} to {interval.upper:.3f})"
    return *whole, f"{calib.accuracy(y, scores):.4f}", ends


def decompositions() -> str:
    """Return the Brier score of the confidence in its parts, by isotonic regression."""
    rows = load_example("resnet").evaluation
    right, score = rows.label == rows.labels, np.asarray(rows.confidence, dtype=np.float64)
    problems = calib.reduce_to_binary(rows.labels, rows, "confidence")
    curve, taken = timed(lambda: calib.corp_curve(problems))
    parts = curve.brier
    lines = [("calib-diagnostics", "`corp_curve`", *(f"{part:.6f}" for part in parts), f"{1000 * taken:.1f}")]
    try:
        from model_diagnostics.scoring import SquaredError, decompose

        found, taken = timed(lambda: decompose(right.astype(float), score, scoring_function=SquaredError()))
        cells = [f"{found[part][0]:.6f}" for part in ("miscalibration", "discrimination", "uncertainty")]
        lines.append(("model-diagnostics", "`decompose`", *cells, f"{1000 * taken:.1f}"))
    except ImportError:
        pass
    return table(("library", "function", "miscalibration", "discrimination", "uncertainty", "ms"), lines)


def versions() -> str:
    """Say which versions ran."""
    peers = ("scikit-learn", "netcal", "mapie", "probmetrics", "torchmetrics", "model-diagnostics")
    found = machine(*peers)["versions"]
    return ", ".join(f"{name} {found.get(name, 'not installed')}" for name in ("calib-diagnostics", *peers))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in (versions, errors, decompositions, repairs):
        print(f"{part()}\n", flush=True)
