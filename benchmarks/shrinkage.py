"""What classes with too few rows should fall back to: ``python -m benchmarks.shrinkage``.

Classes differ by a normal shift of their chance of being right; top-label histogram binning has no bin of
its own for any of them. Prints, as a Markdown table, the root mean squared distance of the calibrated
confidence from the true chance on fresh rows; ``--draws`` sets the draws of each row (default 20).
"""

from __future__ import annotations

import argparse

import numpy as np

from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.announcements import TopLabelPrediction

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


def distances(n_classes: int, per_class: int, spread: float, draws: int) -> list[float]:
    """Return the root mean squared distance from the truth of each fallback."""
    squares = np.zeros(len(FALLBACKS))
    for draw in range(draws):
        generator = np.random.default_rng(draw)
        shift = generator.normal(size=n_classes)
        rows, labels, _ = population(n_classes, per_class, spread, generator, shift)
        fresh, _, chance = population(n_classes, 20, spread, generator, shift)
        for position, fallback in enumerate(FALLBACKS):
            binary = HistogramBinning(points_per_bin=POINTS)
            fitted = MulticlassToBinary(binary, fallback=fallback).fit(rows, labels)
            squares[position] += np.mean((fitted.predict_top(fresh).confidence - chance) ** 2) / draws
    return np.sqrt(squares).tolist()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    print("| classes | rows of a class | spread of the log-odds | " + " | ".join(FALLBACKS) + " |")
    print("| --: | --: | --: |" + " --: |" * len(FALLBACKS))
    for n_classes in (20, 200, 1_000):
        for per_class in (3, 10, 30):
            for spread in (0.0, 0.3, 1.0):
                found = distances(n_classes, per_class, spread, draws)
                best = min(found)
                cells = [f"**{one:.4f}**" if one == best else f"{one:.4f}" for one in found]
                print(f"| {n_classes:,} | {per_class} | {spread:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
