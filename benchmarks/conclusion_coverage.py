"""How often what the Overview page concludes is wrong, where the truth is known.

    python -m benchmarks.conclusion_coverage --draws 400

Scores stay fixed and labels are drawn anew from a known truth, whose TL-ECE (ECE of P(Y = 1) for one score)
is a multiple of the noise floor. A draw is wrong if the interval of any gap that `calib.conclude` states does
not hold the true mean gap of its rows, or if, where it states none, the page claims an error above noise of a
model whose scores are the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
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
from calib import BinaryPrediction, conclude, noise_floor, reduce_to_binary
from calib.answers.conclusion import Gap
from calib.stats.floors import ABOVE_NOISE

#: Rounding of a mean of chances that is an end of its interval.
ROUNDING = 1e-12

Pattern = Callable[[np.ndarray, float], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """Scores, how their truth differs, and by how many noise floors."""

    name: str
    n: int
    n_classes: int
    pattern: Pattern
    floors: float
    make: Callable[[int, int, int], np.ndarray] = scores
    weighted: bool = False


def _agreed(proba: np.ndarray, size: float) -> np.ndarray:
    return decided(overconfident(proba, size), 0.8)


SETTINGS = (
    Setting("calibrated", 300, 3, overconfident, 0.0),
    Setting("calibrated", 1_000, 10, overconfident, 0.0),
    Setting("calibrated", 10_000, 10, overconfident, 0.0),
    Setting("calibrated", 5_000, 100, overconfident, 0.0),
    Setting("calibrated, votes of 20 trees", 3_000, 5, overconfident, 0.0, few_scores),
    Setting("calibrated, lognormal weights", 3_000, 5, overconfident, 0.0, weighted=True),
    Setting("calibrated, one score", 2_000, 2, overconfident, 0.0),
    Setting("overconfident", 1_000, 10, overconfident, 0.5),
    Setting("overconfident", 1_000, 10, overconfident, 2.0),
    Setting("overconfident", 10_000, 10, overconfident, 2.0),
    Setting("overconfident", 5_000, 100, overconfident, 1.0),
    Setting("overconfident, lognormal weights", 3_000, 5, overconfident, 2.0, weighted=True),
    Setting("overconfident, one score", 2_000, 2, overconfident, 2.0),
    Setting("one class", 1_000, 10, one_class, 0.9),
    Setting("one class", 10_000, 10, one_class, 1.6),
    Setting("every second class too modest", 3_000, 5, biased, 1.0),
    Setting("every second class too modest", 10_000, 10, biased, 2.0),
    Setting("labels mostly agreed on", 3_000, 5, _agreed, 0.5),
)


@dataclass
class Tally:
    """Draws, and in how many of them something was stated, and stated falsely."""

    draws: int = 0
    stated: int = 0
    missed: int = 0
    wrong_direction: int = 0
    wrong_excess: int = 0


def true_gap(gap: Gap, label: np.ndarray, score: np.ndarray, chance: np.ndarray, weight: np.ndarray) -> float:
    """Return the true mean score minus chance of the rows that a gap is about."""
    inside = (score >= gap.lower) & ((score < gap.upper) | (gap.upper >= 1.0))
    if gap.label is not None:
        inside &= label == gap.label
    return float(np.average((score - chance)[inside], weights=weight[inside]))


def tally(setting: Setting, draws: int, n_bins: int = 15) -> Tally:
    """Return how often conclusions about a population are wrong."""
    proba = setting.make(1, setting.n, setting.n_classes)
    generator = np.random.default_rng(2)
    weights = generator.lognormal(0.0, 1.0, setting.n) if setting.weighted else None
    event = "one score" in setting.name
    notion: Any = "class-wise" if event else "top-label"
    truth = at_error(
        setting.name, proba, setting.pattern, setting.floors, notion, n_bins=n_bins, weights=weights
    ).truth
    label = np.ones(setting.n, dtype=np.int64) if event else proba.argmax(axis=1)
    score, chance = (matrix[np.arange(setting.n), label] for matrix in (proba, truth))
    counted = Tally(draws)
    for _ in range(draws):
        y = draw_labels(truth, generator)
        given = BinaryPrediction(score, y) if event else proba
        said = conclude(y, given, n_bins=n_bins, sample_weight=weights)
        gaps = (*said.pooled, *said.classes)
        weight = np.ones(setting.n) if weights is None else weights
        true = [true_gap(gap, label, score, chance, weight) for gap in gaps]
        counted.stated += bool(gaps)
        counted.missed += any(
            not gap.least - ROUNDING <= value <= gap.most + ROUNDING
            for gap, value in zip(gaps, true, strict=True)
        )
        counted.wrong_direction += any(
            gap.least * value <= 0.0 for gap, value in zip(gaps, true, strict=True)
        )
        if not gaps and setting.floors == 0.0:
            problems = reduce_to_binary(y, given, notion, sample_weight=weights)
            floor = noise_floor(None, problems, n_bins=n_bins, n_resamples=200, random_state=generator)
            counted.wrong_excess += floor.verdict == ABOVE_NOISE
    return counted


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    print(
        "| population | n | L | truth / floor | draws | a direction is said | an interval misses "
        "| a direction is wrong | error wrongly above noise |"
    )
    print("| :-- | --: | --: | --: | --: | --: | --: | --: | --: |")
    for setting in SETTINGS:
        found = tally(setting, draws)
        shares = [found.stated, found.missed, found.wrong_direction]
        cells = [f"{count / draws:.1%}".replace("%", " %") for count in shares]
        cells.append(f"{found.wrong_excess / draws:.1%}".replace("%", " %") if setting.floors == 0.0 else "")
        print(
            f"| {setting.name} | {setting.n:,} | {setting.n_classes} | {setting.floors:g} | {draws} | "
            + " | ".join(cells)
            + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
