"""How often calib says something about perfect models whose rows belong together.

``python -m benchmarks.cluster_coverage``: labels follow the scores exactly, and the latent numbers of the
rows of a cluster depend on each other. Every statement is wrong. The first table passes the clusters on, the
second one does not: what the same files show if rows count as independent.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.simulation import Draws, Table, main, rate
from calib import (
    Predictions,
    calibration_slope,
    calibration_test,
    conclude,
    error_interval,
    noise_floor,
    reduce_to_binary,
)
from calib.stats.floors import SIGNIFICANCE
from calib.stats.intervals import measure_interval

N_CLASSES = 3


def perfect(
    random: np.random.Generator, n_clusters: int, n_rows: int, correlation: float, *, alike: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, labels and clusters of a perfect model; `alike` says that a cluster shares one score.

    The latent number of a row picks its class, the predicted one first.
    """
    n_samples = n_clusters * n_rows
    logits = 2.0 * random.standard_normal((n_clusters if alike else n_samples, N_CLASSES))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if alike:
        proba = np.repeat(proba, n_rows, axis=0)
    cluster = np.repeat(np.arange(n_clusters), n_rows)
    common, own = random.standard_normal(n_clusters)[cluster], random.standard_normal(n_samples)
    uniform = ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own)
    order = np.argsort(-proba, axis=1, kind="stable")
    reach = np.take_along_axis(proba, order, axis=1).cumsum(axis=1)
    place = (reach < uniform[:, None]).sum(axis=1).clip(0, N_CLASSES - 1)
    return proba, np.take_along_axis(order, place[:, None], axis=1)[:, 0], cluster


def rates(
    name: str,
    n_clusters: int,
    n_rows: int,
    correlation: float,
    alike: bool,
    told: bool = True,
    n_resamples: int = 199,
) -> Draws:
    """Yield what is said about each file; `told` says that calib is given the clusters."""
    for seed in count():
        random = np.random.default_rng(seed)
        proba, labels, cluster = perfect(random, n_clusters, n_rows, correlation, alike=alike)
        rows = Predictions(proba, labels, cluster=cluster if told else None)
        options: Any = {"n_resamples": n_resamples, "random_state": random}
        confidence = proba.max(axis=1)
        expected = {"accuracy": confidence.mean(), "top_brier": (confidence * (1.0 - confidence)).mean()}
        top = reduce_to_binary(labels, rows, "confidence")
        found = {
            "conf_ece": noise_floor(labels, rows, notion="confidence", **options).p_value <= SIGNIFICANCE,
            "tl_ece": noise_floor(labels, rows, **options).p_value <= SIGNIFICANCE,
            "direction": bool(len(conclude(labels, rows).frame())),
            "interval": error_interval(labels, rows, notion="confidence").lower > 0.0,
            "kuiper": calibration_test(None, top, test="kuiper", **options).p_value <= SIGNIFICANCE,
            "slope": calibration_slope(None, top).p_value <= SIGNIFICANCE,
        }
        for key, truth in expected.items():
            low, high = measure_interval(labels, rows, key)
            found[key] = not low <= truth <= high
        yield found


SETTINGS = [
    ("patients", 20, 100, 0.3, False),
    ("patients", 50, 20, 0.3, False),
    ("questions, one score each", 200, 10, 0.8, True),
    ("pairs", 500, 2, 0.5, False),
    ("clusters without dependence", 40, 25, 0.0, False),
]

COLUMNS = {
    "conf-ECE above noise (5 %)": ("conf_ece", rate),
    "TL-ECE above noise (5 %)": ("tl_ece", rate),
    "a direction (5 %)": ("direction", rate),
    "conf-ECE interval above 0 (2.5 %)": ("interval", rate),
    "Kuiper (5 %)": ("kuiper", rate),
    "slope (5 %)": ("slope", rate),
    "accuracy interval misses (5 %)": ("accuracy", rate),
    "Brier interval misses (5 %)": ("top_brier", rate),
}

HEADS = ("population", "clusters", "rows each", "correlation")
TABLES = [
    Table(HEADS, SETTINGS, rates, COLUMNS),
    Table(HEADS, [(*setting, False) for setting in SETTINGS], rates, COLUMNS),
]

if __name__ == "__main__":
    main(100)
