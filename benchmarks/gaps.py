"""How often what is said about gaps is wrong: the conclusion on Overview, and the gaps of groups.

Scores, groups and weights stay fixed, labels are drawn anew from a known truth.

conclusion: the truth's TL-ECE (ECE of P(Y = 1) for one score) is a multiple of the noise floor. A draw is
wrong if the interval of a gap that `calib.conclude` states does not hold the true mean gap of its rows; or
if it states none, and the page claims an error above noise of a model whose scores are the truth.

slices: random groups of a calibrated model and of one that is overconfident everywhere, or one group that
is more overconfident by 10 points; rows are independent, or of 40 clusters with a correlation of 0.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.populations import (
    at_error,
    biased,
    correlated,
    decided,
    draw_labels,
    few_scores,
    one_class,
    overconfident,
    scores,
)
from benchmarks.simulation import Draws, Table, main
from calib import BinaryPrediction, TopLabelPrediction, conclude, noise_floor, reduce_to_binary
from calib import slices as assess
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


#: Cluster of each row, and group of each row, from the row numbers of a cluster or of the file.
DEPENDENCE = ("independent", "clusters across groups", "clusters inside groups")


@Table(
    ("model", "n", "groups", "off", "rows"),
    [
        (model, 2_000, n_groups, off, rows)
        for model in ("calibrated", "15 points off")
        for n_groups, off in ((4, "none"), (40, "none"), (4, "one"))
        for rows in (DEPENDENCE if n_groups == 4 else DEPENDENCE[:1])
    ],
    {"width": ".3f"},
)
def slices(model: str, n: int, n_groups: int, off: str, rows: str) -> Draws:
    generator = np.random.default_rng(n_groups)
    number, n_clusters = np.arange(n), 40
    cluster = None if rows == "independent" else number % n_clusters
    group = (cluster if rows == "clusters inside groups" else generator.integers(0, n_groups, n)) % n_groups
    while True:
        score, label = generator.uniform(0.5, 1.0, n), generator.integers(0, 4, n)
        chance = (
            score
            - (0.15 if model != "calibrated" else 0.0)
            - np.where((group == 0) & (off == "one"), 0.1, 0.0)
        )
        drawn = generator.random(n)
        if cluster is not None:
            common = generator.normal(size=n_clusters)[cluster]
            drawn = correlated(0.2, common, generator.normal(size=n))
        top = TopLabelPrediction(label, score)
        truth = np.where(drawn < chance, label, (label + 1) % 4)
        table = assess(
            truth, top, group.astype(str), cluster=cluster, n_resamples=200, random_state=generator
        )
        gap = [np.mean((chance - score)[group == code]) for code in range(n_groups)]
        rest = [np.mean((chance - score)[group != code]) for code in range(n_groups)]
        true = np.subtract(gap, rest)[table.group.astype(int)]
        missed = (true < table.lower - ROUNDING) | (true > table.upper + ROUNDING)
        wrong = (np.abs(true) > 0.05) & table.differs
        yield {
            "any differs, of groups alike (5 %)": table.differs.any() if off == "none" else None,
            "share of wrong intervals of those that differ (5 %)": (missed & table.differs).sum()
            / max(table.differs.sum(), 1),
            "found": wrong.any() if off != "none" else None,
            "above noise by itself": table.above_noise.mean(),
            "width": (table.upper - table.lower).mean(),
        }


if __name__ == "__main__":
    main()
