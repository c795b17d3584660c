"""How often what the Overview page concludes is wrong.

``python -m benchmarks.conclusion_coverage``: scores stay fixed and labels are drawn anew from a known
truth, whose TL-ECE (ECE of P(Y = 1) for one score) is a multiple of the noise floor. A draw is wrong if the
interval of any gap that `calib.conclude` states does not hold the true mean gap of its rows, or if, where
it states none, the page claims an error above noise of a model whose scores are the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.populations import (
    at_error,
    biased,
    decided,
    draw_labels,
    few_scores,
    one_class,
    overconfident,
    scores,
)
from benchmarks.simulation import Draws, Table, main, rate
from calib import BinaryPrediction, conclude, noise_floor, reduce_to_binary
from calib.answers.conclusion import Gap
from calib.stats.floors import ABOVE_NOISE

#: Rounding of a mean of chances that is an end of its interval.
ROUNDING = 1e-12

Pattern = Callable[[np.ndarray, float], np.ndarray]


def agreed(proba: np.ndarray, size: float) -> np.ndarray:
    return decided(overconfident(proba, size), 0.8)


def true_gap(gap: Gap, label: np.ndarray, score: np.ndarray, chance: np.ndarray, weight: np.ndarray) -> float:
    """Return the true mean score minus chance of the rows that a gap is about."""
    inside = (score >= gap.lower) & ((score < gap.upper) | (gap.upper >= 1.0))
    if gap.label is not None:
        inside &= label == gap.label
    return float(np.average((score - chance)[inside], weights=weight[inside]))


def conclusions(name: str, n: int, n_classes: int, floors: float, pattern: Pattern) -> Draws:
    """Yield whether something is said, and whether it is wrong."""
    event = "one score" in name
    proba = (few_scores if "votes" in name else scores)(1, n, n_classes)
    generator = np.random.default_rng(2)
    weights = generator.lognormal(0.0, 1.0, n) if "weights" in name else None
    notion: Any = "class-wise" if event else "top-label"
    truth = at_error(name, proba, pattern, floors, notion, weights=weights).truth
    label = np.ones(n, dtype=np.int64) if event else proba.argmax(axis=1)
    score, chance = (matrix[np.arange(n), label] for matrix in (proba, truth))
    weight = np.ones(n) if weights is None else weights
    while True:
        y = draw_labels(truth, generator)
        given = BinaryPrediction(score, y) if event else proba
        said = conclude(y, given, n_bins=15, sample_weight=weights)
        gaps = [(gap, true_gap(gap, label, score, chance, weight)) for gap in (*said.pooled, *said.classes)]
        found = {
            "stated": bool(gaps),
            "missed": any(not gap.least - ROUNDING <= true <= gap.most + ROUNDING for gap, true in gaps),
            "wrong": any(gap.least * true <= 0.0 for gap, true in gaps),
        }
        if floors == 0.0:
            found["excess"] = False
            if not gaps:
                problems = reduce_to_binary(y, given, notion, sample_weight=weights)
                floor = noise_floor(None, problems, n_bins=15, n_resamples=200, random_state=generator)
                found["excess"] = floor.verdict == ABOVE_NOISE
        yield found


TABLES = [
    Table(
        ("population", "n", "L", "truth / floor"),
        [
            ("calibrated", 300, 3, 0.0, overconfident),
            ("calibrated", 1_000, 10, 0.0, overconfident),
            ("calibrated", 10_000, 10, 0.0, overconfident),
            ("calibrated", 5_000, 100, 0.0, overconfident),
            ("calibrated, votes of 20 trees", 3_000, 5, 0.0, overconfident),
            ("calibrated, lognormal weights", 3_000, 5, 0.0, overconfident),
            ("calibrated, one score", 2_000, 2, 0.0, overconfident),
            ("overconfident", 1_000, 10, 0.5, overconfident),
            ("overconfident", 1_000, 10, 2.0, overconfident),
            ("overconfident", 10_000, 10, 2.0, overconfident),
            ("overconfident", 5_000, 100, 1.0, overconfident),
            ("overconfident, lognormal weights", 3_000, 5, 2.0, overconfident),
            ("overconfident, one score", 2_000, 2, 2.0, overconfident),
            ("one class", 1_000, 10, 0.9, one_class),
            ("one class", 10_000, 10, 1.6, one_class),
            ("every second class too modest", 3_000, 5, 1.0, biased),
            ("every second class too modest", 10_000, 10, 2.0, biased),
            ("labels mostly agreed on", 3_000, 5, 0.5, agreed),
        ],
        conclusions,
        {
            "a direction is said": ("stated", rate),
            "an interval misses (up to 5 %)": ("missed", rate),
            "a direction is wrong (up to 5 %)": ("wrong", rate),
            "error wrongly above noise (5 %)": ("excess", rate),
        },
    )
]

if __name__ == "__main__":
    main(400)
