"""How often 95 % intervals of calibration errors hold the true error.

``python -m benchmarks.interval_coverage``: scores stay fixed, labels are drawn anew from the known truth.
Prints a Markdown table and, with ``--json FILE``, writes the same as JSON. ``--draws`` sets the draws of
labels for each row (default 400); rows that cover in less than `DOUBTFUL` get five times as many, the first
ones among them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.populations import (
    Population,
    at_error,
    biased,
    decided,
    draw_labels,
    few_scores,
    one_class,
    overconfident,
    scores,
)
from calib.data.notions import NOTIONS
from calib.stats.intervals import error_interval

#: Coverage below which a row is drawn more often.
DOUBTFUL = 0.95


def populations() -> list[tuple[float, Population]]:
    """Return the multiples of the floor and the populations."""
    made = []
    for n_samples, floors in ((1_000, (0.0, 0.2, 0.5, 0.9)), (10_000, (0.0, 0.6, 1.6, 2.9))):
        proba = scores(1, n_samples, 10)
        for multiple in floors:
            made.append((multiple, at_error("overconfident", proba, overconfident, multiple)))
            if multiple:
                made.append((multiple, at_error("one class", proba, one_class, multiple)))
        for notion in NOTIONS[:3]:
            agreed = decided(proba, 0.8)
            population = Population("labels mostly agreed on", proba, agreed, notion, "uniform", 15)
            made.append((round(population.error(1) / population.floor(), 1), population))
    for multiple in (0.0, 1.0, 3.0):
        two, many, ties = scores(2, 2_000, 2), scores(3, 5_000, 100), few_scores(4, 3_000, 5)
        made.append((multiple, at_error("two classes", two, biased, multiple, "class-wise")))
        made.append(
            (multiple, at_error("two classes", two, overconfident, multiple, "confidence", "quantile"))
        )
        made.append((multiple, at_error("100 classes", many, biased, multiple)))
        made.append(
            (multiple, at_error("votes of 20 trees", ties, biased, multiple, "top-label", "discrete"))
        )
        made.append((multiple, at_error("10 classes", scores(5, 1_000, 10), biased, multiple, "class-wise")))
    return made


def coverage(population: Population, norm: int, draws: int) -> dict[str, float]:
    """Return coverage, share above and below, and mean width over draws of the labels."""
    truth, generator = population.error(norm), np.random.default_rng(0)
    ends = np.empty((draws, 2))
    for draw in range(draws):
        labels = draw_labels(population.truth, generator)
        interval = error_interval(
            labels,
            population.proba,
            notion=population.notion,
            n_bins=population.n_bins,
            strategy=population.strategy,
            norm=norm,
        )
        ends[draw] = interval.lower, interval.upper
    above, below = np.mean(ends[:, 0] > truth + 1e-12), np.mean(ends[:, 1] < truth - 1e-12)
    return {
        "truth": truth,
        "coverage": 1.0 - above - below,
        "too_high": above,
        "too_low": below,
        "width": float(np.mean(ends[:, 1] - ends[:, 0])),
    }


def main() -> None:
    """Print the table of coverages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    heads = "population", "n", "L", "error", "truth / floor", "draws", "coverage", "interval too high"
    print(f"| {' | '.join(heads)} | too low | mean width |")
    print("| :-- | --: | --: | :-- | --: | --: | --: | --: | --: | --: |")
    for multiple, population in populations():
        for norm in (1, 2):
            n_samples, n_classes = population.proba.shape
            draws = options.draws
            found = coverage(population, norm, draws)
            if found["coverage"] < DOUBTFUL:
                draws *= 5
                found = coverage(population, norm, draws)
            error = f"l{norm} {population.notion}, {population.strategy}"
            row = {"population": population.name, "n": n_samples, "classes": n_classes, "error": error}
            rows.append(row | {"floors": multiple, "draws": draws} | found)
            print(
                f"| {population.name} | {n_samples:,} | {n_classes} | {error} | {multiple:g} | {draws:,} | "
                f"{100 * found['coverage']:.1f} % | {100 * found['too_high']:.1f} % | "
                f"{100 * found['too_low']:.1f} % | {found['width']:.4f} |",
                flush=True,
            )
    if options.json:
        options.json.write_text(
            json.dumps({"draws": options.draws, "rows": rows}, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
