"""Time the core against plain NumPy, scikit-learn and, where installed, torchmetrics.

    python benchmarks/core_speed.py [--rows 1000000] [--wide 50000]

Every row of the table times both sides in the same run, best of a few repeats, on the same simulated
predictions, and checks first that they agree. Ratios carry over to other machines; milliseconds do not.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss as sklearn_log_loss

import calib
from calib.evidence.reductions import ranked_classes

NUMPY = "NumPy, digitize and bincount"


def simulated(rows: int, classes: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated softmax scores and labels drawn from them."""
    rng = np.random.default_rng(0)
    logits = 2.5 * rng.standard_normal((rows, classes), dtype=np.float32)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba = proba.astype(dtype)
    proba /= proba.sum(axis=1, keepdims=True)
    y = (proba.cumsum(axis=1) > rng.random((rows, 1), dtype=np.float32)).argmax(axis=1)
    return proba, y


def best(function: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of a few calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def report(
    task: str,
    ours: Callable[[], float],
    peer: str,
    theirs: Callable[[], float] | None,
    *,
    tolerance: float = 1e-6,
    repeats: int = 5,
) -> None:
    """Print one row; refuse to compare results that differ."""
    seconds = best(ours, repeats)
    if theirs is None:
        print(f"{task:52} {seconds * 1e3:9.1f} ms")
        return
    assert abs(ours() - theirs()) <= tolerance, (task, ours(), theirs())
    other = best(theirs, max(repeats // 2, 1))
    print(f"{task:52} {seconds * 1e3:9.1f} ms  {peer:34} {other * 1e3:9.1f} ms  x {other / seconds:.1f}")


def numpy_ece(problem: np.ndarray, score: np.ndarray, hit: np.ndarray, n_bins: int) -> float:
    """ECE over (problem, bin) cells with NumPy: digitize and three bincounts."""
    cell = problem * n_bins + np.digitize(score.astype(np.float64), np.arange(1, n_bins) / n_bins)
    sums = np.bincount(cell, weights=score), np.bincount(cell, weights=hit)
    return float(np.abs(sums[0] - sums[1]).sum() / len(score))


def numpy_top_label_ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    label = proba.argmax(axis=1)
    return numpy_ece(label, proba.max(axis=1), label == y, n_bins)


def numpy_confidence_ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    label = proba.argmax(axis=1)
    return numpy_ece(np.zeros_like(label), proba.max(axis=1), label == y, n_bins)


def numpy_class_wise_ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    zero = np.zeros(len(y), dtype=int)
    return float(np.mean([numpy_ece(zero, column, y == code, n_bins) for code, column in enumerate(proba.T)]))


def masked_top_label_ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    """Compute TL-ECE the usual way, with a mask per class and bin."""
    label, score = proba.argmax(axis=1), proba.max(axis=1).astype(np.float64)
    edges, total = np.arange(n_bins + 1) / n_bins, 0.0
    for code in range(proba.shape[1]):
        for b in range(n_bins):
            upper = score <= 1.0 if b == n_bins - 1 else score < edges[b + 1]
            rows = (label == code) & (score >= edges[b]) & upper
            if rows.any():
                total += rows.sum() * abs(np.mean(y[rows] == code) - score[rows].mean())
    return total / len(y)


def scikit_learn_curve(y: np.ndarray, proba: np.ndarray) -> float:
    """Largest gap of scikit-learn's curve of the confidence, which has no counts to make an ECE of."""
    frequency, mean = calibration_curve(proba.argmax(axis=1) == y, proba.max(axis=1), n_bins=15)
    return float(np.abs(frequency - mean).max())


def torch_metric(y: np.ndarray, proba: np.ndarray) -> Callable[[], float] | None:
    if importlib.util.find_spec("torchmetrics") is None:
        return None
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    target, predicted = torch.from_numpy(y), torch.from_numpy(proba)
    return lambda: float(multiclass_calibration_error(predicted, target, proba.shape[1], n_bins=15))


def many_rows(rows: int, dtype: type) -> None:
    proba, y = simulated(rows, 10, dtype)
    print(f"\n{rows:,} rows x 10 classes, {np.dtype(dtype).name}")
    predictions = calib.Predictions(proba, y)
    assert predictions.label is not None
    report("check the input (Predictions)", lambda: calib.Predictions(proba, y).n_samples, "", None)
    numpy_tl, numpy_conf = (lambda: numpy_top_label_ece(y, proba)), (lambda: numpy_confidence_ece(y, proba))
    report("TL-ECE, B = 15", lambda: calib.ece(y, proba), NUMPY, numpy_tl)
    report(
        "TL-ECE, B = 15",
        lambda: calib.ece(y, proba),
        "NumPy, a mask per class and bin",
        lambda: masked_top_label_ece(y, proba),
        repeats=3,
    )
    report("TL-ECE of Predictions", lambda: calib.ece(y, predictions), NUMPY, numpy_tl)
    conf = {"notion": "confidence"}
    report("conf-ECE, B = 15", lambda: calib.ece(y, proba, **conf), NUMPY, numpy_conf)
    report(
        "conf-MCE, B = 15",
        lambda: calib.mce(y, proba, **conf),
        "scikit-learn calibration_curve",
        lambda: scikit_learn_curve(y, proba),
    )
    torch = torch_metric(y, proba)
    if torch is not None:  # its bins are closed on the right, so values differ where scores sit on edges
        report("conf-ECE, B = 15", lambda: calib.ece(y, proba, **conf), "torchmetrics", torch, tolerance=1e-4)
    class_wise = {"notion": "class-wise"}
    report(
        "CW-ECE, B = 15",
        lambda: calib.ece(y, proba, **class_wise),
        NUMPY,
        lambda: numpy_class_wise_ece(y, proba),
        repeats=3,
    )
    problems = calib.reduce_to_binary(y, proba, "top-label")
    sweep = range(2, 51)
    report(
        "TL-ECE for B = 2..50, sorted before",
        lambda: sum(calib.bin_statistics(problems, n_bins=b).ece() for b in sweep),
        NUMPY,
        lambda: sum(numpy_top_label_ece(y, proba, b) for b in sweep),
        repeats=2,
    )
    report("log loss", lambda: calib.log_loss(y, proba), "scikit-learn", lambda: sklearn_log_loss(y, proba))
    calibrator = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100))
    report("TL-HB fit", lambda: len(calibrator.fit(predictions, y).calibrators_), "", None, repeats=3)
    report("TL-HB predict", lambda: len(calibrator.predict_top(proba)), "", None)


def many_classes(rows: int) -> None:
    proba, y = simulated(rows, 1000, np.float32)
    print(f"\n{rows:,} rows x 1,000 classes, float32")

    def ours() -> float:
        return calib.ece(y, proba, notion="class-wise")

    report(
        "TL-ECE, B = 15", lambda: calib.ece(y, proba), NUMPY, lambda: numpy_top_label_ece(y, proba), repeats=3
    )
    report("CW-ECE, B = 15", ours, NUMPY, lambda: numpy_class_wise_ece(y, proba), repeats=2)
    tracemalloc.start()
    ours()
    print(f"{'CW-ECE, memory beyond the scores':52} {tracemalloc.get_traced_memory()[1] / 1e6:9.1f} MB")
    tracemalloc.stop()
    report(
        "five highest classes",
        lambda: float(ranked_classes(proba, 5)[0].sum()),
        "NumPy argsort",
        lambda: float(np.argsort(-proba, axis=1, kind="stable")[:, :5].sum()),
        repeats=2,
    )
    calibrator = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=1000), notion="class-wise")
    report("CW-HB fit", lambda: len(calibrator.fit(proba, y).calibrators_), "", None, repeats=1)
    report("CW-HB predict", lambda: len(calibrator.predict_proba(proba)), "", None, repeats=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the 10-class data")
    parser.add_argument("--wide", type=int, default=50_000, help="rows of the 1,000-class data")
    chosen = parser.parse_args()
    print(f"calib {calib.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, ", end="")
    print(
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; x = how many times faster than the peer"
    )
    for kind in (np.float32, np.float64):
        many_rows(chosen.rows, kind)
    many_classes(chosen.wide)
