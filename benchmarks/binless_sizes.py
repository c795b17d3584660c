"""How often tests without bins reject a calibrated model at 5 %, and intervals of slope and intercept miss.

``python -m benchmarks.binless_sizes``: scores and outcomes are drawn anew. Three tables: p-values by
redraws of the outcomes and by the limits for many rows; the line in log-odds of weighted rows; the kernel
test of whole vectors, also of models that are not calibrated (its power). Of 100 rows the first has four
times the draws, of the kernel test half as many.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from benchmarks.populations import draw_labels
from benchmarks.simulation import Draws, Table, main, rate
from calib import TopLabelPrediction, calibration_slope, calibration_test

#: Confidences of one class: even, sure, rare, and of five values.
SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "even": lambda generator, n: generator.random(n),
    "sure": lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n),
    "rare": lambda generator, n: generator.beta(1.0, 60.0, n),
    "five values": lambda generator, n: generator.integers(1, 6, n) / 6.0,
}
#: Weights of rows, given their confidence.
WEIGHTS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "exponential": lambda generator, scores: generator.exponential(size=len(scores)),
    "1, and 10 of every tenth": lambda generator, scores: np.where(
        generator.random(len(scores)) < 0.1, 10, 1
    ),
    "growing with the score": lambda generator, scores: 0.1 + scores,
}
TESTS: dict[str, Any] = {"Kuiper": "kuiper", "KS": "ks", "Spiegelhalter": "spiegelhalter"}


def rows(name: str, n: int, generator: np.random.Generator) -> tuple[np.ndarray, TopLabelPrediction]:
    """Draw outcomes and confidences of one class."""
    scores = SCORES[name](generator, n)
    return np.where(generator.random(n) < scores, 0, 1), TopLabelPrediction(np.zeros(n, dtype=int), scores)


def line_misses(y: np.ndarray, top: TopLabelPrediction, weights: np.ndarray | None = None) -> dict[str, bool]:
    """Return whether intervals miss slope 1, intercept 0, and 0 in the large, and p for both is up to 5 %."""
    line = calibration_slope(y, top, sample_weight=weights)
    return {
        "slope": not line.slope_lower <= 1.0 <= line.slope_upper,
        "intercept": not line.intercept_lower <= 0.0 <= line.intercept_upper,
        "in the large": not line.in_the_large_lower <= 0.0 <= line.in_the_large_upper,
        "both": line.p_value <= 0.05,
    }


def rejections(name: str, n: int, by: str, n_resamples: int = 199) -> Draws:
    """Yield which tests reject, and which intervals miss."""
    generator = np.random.default_rng([list(SCORES).index(name), n])
    for seed in count():
        y, top = rows(name, n, generator)
        options = {"n_resamples": n_resamples if by == "redraws" else 0, "random_state": seed}
        p = {head: calibration_test(y, top, test=test, **options).p_value for head, test in TESTS.items()}
        yield {head: value <= 0.05 for head, value in p.items()} | line_misses(y, top)


def weighted(name: str, weights: str, n: int) -> Draws:
    """Yield which intervals of weighted rows miss."""
    generator = np.random.default_rng([list(SCORES).index(name), n])
    while True:
        y, top = rows(name, n, generator)
        yield line_misses(y, top, WEIGHTS[weights](generator, top.confidence))


def kernel(n: int, n_classes: int, truth: str, exponent: float, n_resamples: int = 199) -> Draws:
    """Yield whether the kernel test rejects where the truth is the scores to a power (1: calibrated)."""
    generator = np.random.default_rng(0)
    for seed in count():
        logits = generator.normal(0.0, 1.5, (n, n_classes))
        proba, chances = (np.exp(power * logits) for power in (1.0, exponent))
        proba, chances = (vectors / vectors.sum(axis=1, keepdims=True) for vectors in (proba, chances))
        y = draw_labels(chances, generator)
        found = calibration_test(y, proba, test="skce", n_resamples=n_resamples, random_state=seed)
        yield {"rejects": found.p_value <= 0.05}


def rates(*names: str) -> dict[str, Any]:
    return {f"{name} (5 %)": (name, rate) for name in names}


TABLES = [
    Table(
        ("scores", "n", "p-values"),
        [(name, n, by) for n in (100, 1_000, 5_000) for name in SCORES for by in ("redraws", "limit")],
        rejections,
        rates(*TESTS, "slope", "intercept", "both"),
        times=lambda name, n, by: 4 if n == 100 else 1,
    ),
    Table(
        ("scores", "weights", "n"),
        [(name, weights, n) for n in (100, 1_000) for name in SCORES for weights in WEIGHTS],
        weighted,
        rates("slope", "intercept", "in the large", "both"),
    ),
    Table(
        ("n", "L", "truth"),
        [
            (*size, *truth)
            for size in ((150, 3), (300, 10), (2_000, 10))
            for truth in (("the scores", 1.0), ("their power 0.7", 0.7))
        ],
        kernel,
        {"kernel test rejects (5 % of the scores)": ("rejects", rate)},
        times=lambda *setting: 0.5,
    ),
]

if __name__ == "__main__":
    main(1_000)
