"""How often intervals, differences and tests hold where rows have weights.

``python -m benchmarks.weighted_coverage``: scores and weights stay fixed, labels are drawn anew from the
known truth. Weights are known before the labels: those of a sample of unequal chances ("lognormal"), of a
class that counts nine times ("one class"), of the score ("by score"), or few large ones among small ones
("1 in 50").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.populations import Population, at_error, draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main, rate
from calib import calibration_test, error_interval, noise_floor, paired_difference
from calib.stats.intervals import measure_interval


def kinds_of_weights(proba: np.ndarray) -> dict[str, np.ndarray]:
    """Return weights of the rows by the name of their kind."""
    generator, n_samples = np.random.default_rng(7), len(proba)
    return {
        "lognormal": np.exp(generator.normal(size=n_samples)),
        "one class": np.where(proba.argmax(axis=1) == 0, 9.0, 1.0),
        "by score": 0.05 + (1.0 - proba.max(axis=1)) ** 2,
        "1 in 50": np.where(generator.random(n_samples) < 0.02, 30.0, 1.0),
    }


def holds(kind: str, wrong: str, n: int, notion: Any, floors: float) -> Draws:
    """Yield whether each statement holds."""
    proba = scores(1, n, 10)
    weights = kinds_of_weights(proba)[kind]
    pattern = one_class if wrong == "one class" else overconfident
    population = at_error(wrong, proba, pattern, floors, notion, weights=weights)
    generator, truth, flat = np.random.default_rng(0), population.truth, overconfident(proba, 0.2)
    other = Population("", flat, truth, notion, "uniform", 15, weights)
    errors = {norm: population.error(norm) for norm in (1, 2)}
    apart = errors[2] ** 2 - other.error(2) ** 2
    accuracy = float(truth[np.arange(n), proba.argmax(axis=1)] @ weights / weights.sum())
    largest = np.abs(population.gaps()).max()
    options: Any = {"notion": notion, "sample_weight": weights}
    while True:
        labels, held = draw_labels(truth, generator), {}
        for norm in (1, 2):
            ends = error_interval(labels, proba, norm=norm, **options)
            held[f"l{norm}"] = ends.lower <= errors[norm] <= ends.upper
        both = paired_difference(labels, proba, flat, **options)
        held["difference"] = both.lower <= apart <= both.upper
        low, high = measure_interval(labels, proba, "accuracy", sample_weight=weights)
        held["accuracy"] = low <= accuracy <= high
        if notion == "top-label":
            low, high = measure_interval(labels, proba, "tl_mce_cell", sample_weight=weights)
            held["MCE"] = low <= largest <= high
        floor = noise_floor(labels, proba, n_resamples=99, random_state=generator, **options)
        held["floor"] = floor.p_value > 0.05
        if notion != "class-wise":
            test = calibration_test(labels, proba, n_resamples=99, random_state=generator, **options)
            held["Kuiper"] = test.p_value > 0.05
        yield held


CASES = (
    ("calibrated", "top-label", 0.0),
    ("all", "top-label", 1.0),
    ("one class", "top-label", 1.0),
    ("all", "confidence", 1.0),
    ("all", "class-wise", 1.0),
)
TABLES = [
    Table(
        ("weights", "truth", "n", "notion", "truth / floor"),
        [
            (kind, wrong, n, notion, floors)
            for n in (1_000, 5_000)
            for kind in ("lognormal", "one class", "by score", "1 in 50")
            for wrong, notion, floors in CASES
            if (n, notion) != (5_000, "class-wise")
        ],
        holds,
        {
            f"{name} (95 %)": (name, rate)
            for name in ("l1", "l2", "difference", "accuracy", "MCE", "floor", "Kuiper")
        },
    )
]

if __name__ == "__main__":
    main(400)
