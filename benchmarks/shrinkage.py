"""What classes with too few rows should fall back to.

``python -m benchmarks.shrinkage``: classes differ by a normal shift of their chance of being right;
top-label histogram binning has no bin of its own for any of them. Shown is the root mean squared distance
of the calibrated confidence from the true chance on fresh rows.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from benchmarks.simulation import Draws, Table, main
from calib import HistogramBinning, MulticlassToBinary, TopLabelPrediction

FALLBACKS = ("identity", "pooled", "shrink")
POINTS = 50


def population(
    n_classes: int, per_class: int, spread: float, generator: np.random.Generator, shift: np.ndarray
) -> tuple[TopLabelPrediction, np.ndarray, np.ndarray]:
    """Return predictions of uneven classes, labels, and the true chance of each row to be right."""
    shares = generator.dirichlet(np.full(n_classes, 3.0)) if per_class else np.ones(n_classes)
    label = generator.choice(n_classes, n_classes * per_class, p=shares)
    score = generator.beta(4.0, 2.0, len(label))
    log_odds = 0.8 * np.log(score / (1.0 - score)) - 0.3 + spread * shift[label]
    chance = 1.0 / (1.0 + np.exp(-log_odds))
    right = generator.random(len(label)) < chance
    names = tuple(f"class {code}" for code in range(n_classes))
    return (
        TopLabelPrediction(label, score, class_names=names),
        np.where(right, label, (label + 1) % n_classes),
        chance,
    )


def distances(n_classes: int, per_class: int, spread: float) -> Draws:
    """Yield the mean squared distance from the truth of each fallback."""
    for seed in count():
        generator = np.random.default_rng(seed)
        shift = generator.normal(size=n_classes)
        rows, labels, _ = population(n_classes, per_class, spread, generator, shift)
        fresh, _, chance = population(n_classes, 20, spread, generator, shift)
        found = {}
        for fallback in FALLBACKS:
            binary = HistogramBinning(points_per_bin=POINTS)
            fitted = MulticlassToBinary(binary, fallback=fallback).fit(rows, labels)
            found[fallback] = np.mean((fitted.predict_top(fresh).confidence - chance) ** 2)
        yield found


TABLES = [
    Table(
        ("classes", "rows of a class", "spread of the log-odds"),
        [
            (size, rows, spread)
            for size in (20, 200, 1_000)
            for rows in (3, 10, 30)
            for spread in (0.0, 0.3, 1.0)
        ],
        distances,
        {name: (name, lambda squares: f"{np.sqrt(squares.mean()):.4f}") for name in FALLBACKS},
    )
]

if __name__ == "__main__":
    main(20)
