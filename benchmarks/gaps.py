"""How often what is said about gaps is wrong: the conclusion on Overview, and the gaps between groups.

Scores, groups and weights stay fixed, labels are drawn anew from a known truth.

conclusion: the truth's TL-ECE (ECE of P(Y = 1) for one score) is a multiple of the noise floor. A draw is
wrong if the interval of a gap that `calib.conclude` states does not hold the true mean gap of its rows; or
if it states none, and the page claims an error above noise of a model whose scores are the truth.

slices: groups are of uneven sizes, the largest ten times the smallest; one of them, or every second, is
overconfident. Intervals of all groups hold at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.populations import (
    Population,
    at_error,
    biased,
    decided,
    draw_labels,
    few_scores,
    labels_of,
    one_class,
    overconfident,
    scores,
)
from benchmarks.simulation import Draws, Table, main
from calib import BinaryPrediction, conclude, noise_floor, reduce_to_binary, slice_gaps
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


@Table(
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
)
def conclusion(name: str, n: int, n_classes: int, floors: float, pattern: Pattern) -> Draws:
    event = "one score" in name
    proba = (few_scores if "votes" in name else scores)(1, n, n_classes)
    generator = np.random.default_rng(2)
    weights = generator.lognormal(0.0, 1.0, n) if "weights" in name else None
    notion: Any = "class-wise" if event else "top-label"
    truth = at_error(proba, pattern, floors, notion=notion, weights=weights).truth
    label = np.ones(n, dtype=np.int64) if event else proba.argmax(axis=1)
    score, chance = (matrix[np.arange(n), label] for matrix in (proba, truth))
    weight = np.ones(n) if weights is None else weights
    while True:
        y = draw_labels(truth, generator)
        given = BinaryPrediction(score, y) if event else proba
        said = conclude(y, given, n_bins=15, sample_weight=weights)
        gaps = [(gap, true_gap(gap, label, score, chance, weight)) for gap in (*said.pooled, *said.classes)]
        excess = None if floors else False
        if not floors and not gaps:
            problems = reduce_to_binary(y, given, notion, sample_weight=weights)
            floor = noise_floor(problems, n_bins=15, n_resamples=200, random_state=generator)
            excess = floor.verdict == ABOVE_NOISE
        yield {
            "a direction is said": bool(gaps),
            "an interval misses (up to 5 %)": any(
                not gap.least - ROUNDING <= true <= gap.most + ROUNDING for gap, true in gaps
            ),
            "a direction is wrong (up to 5 %)": any(gap.least * true <= 0.0 for gap, true in gaps),
            "error wrongly above noise (5 %)": excess,
        }


#: By how much the groups that are off are overconfident.
SIZES = {"none": 0.0, "one": 1.0, "every second": 0.5}


def true_gaps(proba: np.ndarray, truth: np.ndarray, group: np.ndarray, weights: Any) -> np.ndarray:
    """Return the true differences of bias and of error of each group from all other rows, (G, 2)."""
    rows, top = np.arange(len(proba)), proba.argmax(axis=1)
    residual, found = truth[rows, top] - proba[rows, top], []
    for name in np.unique(group):
        sides = []
        for mask in (group == name, group != name):
            inside = None if weights is None else weights[mask]
            population = Population(proba[mask], truth[mask], weights=inside)
            sides.append((np.average(residual[mask], weights=inside), population.error(1)))
        found.append(np.subtract(*sides))
    return np.array(found)


@Table(
    ("n", "groups", "off", "weights"),
    [
        (n, n_groups, off, kind)
        for n in (600, 5_000)
        for n_groups in (3, 20)
        for off in SIZES
        for kind in (("none", "lognormal") if n_groups == 3 else ("none",))
    ],
    {"width": ".3f"},
)
def slices(n: int, n_groups: int, off: str, kind: str) -> Draws:
    generator = np.random.default_rng(n_groups)
    proba, shares = scores(2, n, 5), np.geomspace(10.0, 1.0, n_groups)
    group = generator.choice(n_groups, n, p=shares / shares.sum())
    wrong = {"none": group < 0, "one": group == n_groups // 2, "every second": group % 2 == 1}[off]
    truth = np.where(wrong[:, None], overconfident(proba, SIZES[off]), proba)
    weights = np.exp(np.random.default_rng(7).normal(size=n)) if kind == "lognormal" else None
    true = true_gaps(proba, truth, group, weights)
    for labels in labels_of(truth):
        gaps = slice_gaps(labels, proba, group, sample_weight=weights)
        low = np.column_stack([gaps.bias_lower, gaps.error_lower])
        high = np.column_stack([gaps.bias_upper, gaps.error_upper])
        biases, errors = ((low <= true) & (true <= high)).all(axis=0)
        bias, error = ((low > 0) | (high < 0)).mean(axis=0)
        wrong_side = ((low > 0) & (true <= 0)) | ((high < 0) & (true >= 0))
        yield {
            "all biases held (95 %)": biases,
            "all errors held (95 %)": errors,
            "wrong direction (up to 5 %)": wrong_side.any(),
            "bias found": bias,
            "error found": error,
            "width": (high - low)[:, 0].mean(),
        }


if __name__ == "__main__":
    main()
