"""How often 95 % intervals of calibration errors hold the true error.

``python -m benchmarks.interval_coverage``: scores stay fixed, labels are drawn anew from the known truth.
Rows that cover in less than 95 % get five times as many draws, the first ones among them.
"""

from __future__ import annotations

from typing import Any

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
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import error_interval

AGREED = "labels mostly agreed on"


def coverage(population: Population, norm: int) -> Draws:
    """Yield whether the interval holds the truth, lies above or below, and its width."""
    truth, generator = population.error(norm), np.random.default_rng(0)
    options: Any = {"notion": population.notion, "n_bins": population.n_bins, "strategy": population.strategy}
    while True:
        labels = draw_labels(population.truth, generator)
        found = error_interval(labels, population.proba, norm=norm, **options)
        above, below = found.lower > truth + 1e-12, found.upper < truth - 1e-12
        width = found.upper - found.lower
        yield {"coverage": not above and not below, "too_high": above, "too_low": below, "width": width}


def of_setting(name: str, n: int, classes: int, norm: int, notion: Any, bins: Any, more: tuple) -> Draws:
    """Yield the draws of a row of the table, and the true error in noise floors."""
    pattern, floors, make, seed = more
    proba = make(seed, n, classes)
    if name == AGREED:
        population = Population(name, proba, decided(proba, 0.8), notion, bins, 15)
        floors = population.error(1) / population.floor()
    else:
        population = at_error(name, proba, pattern, floors, notion, bins)
    for found in coverage(population, norm):
        yield found | {"floors": floors}


def settings() -> list[tuple[Any, ...]]:
    """Return the rows of the table."""
    top, made = ("top-label", "uniform"), []
    for n, multiples in ((1_000, (0.0, 0.2, 0.5, 0.9)), (10_000, (0.0, 0.6, 1.6, 2.9))):
        for floors in multiples:
            made.append(("overconfident", n, 10, *top, (overconfident, floors, scores, 1)))
            if floors:
                made.append(("one class", n, 10, *top, (one_class, floors, scores, 1)))
        for notion in ("confidence", "top-label", "class-wise"):
            made.append((AGREED, n, 10, notion, "uniform", (decided, 0.0, scores, 1)))
    for floors in (0.0, 1.0, 3.0):
        made += [
            ("two classes", 2_000, 2, "class-wise", "uniform", (biased, floors, scores, 2)),
            ("two classes", 2_000, 2, "confidence", "quantile", (overconfident, floors, scores, 2)),
            ("100 classes", 5_000, 100, *top, (biased, floors, scores, 3)),
            ("votes of 20 trees", 3_000, 5, "top-label", "discrete", (biased, floors, few_scores, 4)),
            ("10 classes", 1_000, 10, "class-wise", "uniform", (biased, floors, scores, 5)),
        ]
    return [(*one[:3], norm, *one[3:]) for one in made for norm in (1, 2)]


TABLES = [
    Table(
        ("population", "n", "L", "norm", "notion", "bins"),
        settings(),
        of_setting,
        {
            "truth / floor": ("floors", lambda values: f"{values.mean().round(1):g}"),
            "coverage (95 %)": ("coverage", rate),
            "interval too high": ("too_high", rate),
            "too low": ("too_low", rate),
            "mean width": ("width", mean(".4f")),
        },
        doubtful=("coverage", 0.95),
    )
]

if __name__ == "__main__":
    main(400)
