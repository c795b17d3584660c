"""How good choices among calibrators are: `calib.recommend`, and the methods marked as best.

``python -m benchmarks.choosing``: calibration rows are drawn anew from populations whose truth is known,
and the choice is assessed on 20,000 fresh rows by its expected Brier score and log loss. The first table
has ten times the draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count

import numpy as np

from benchmarks.populations import biased, draw_labels, one_class, overconfident, scores
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import TopLabelPrediction, best_set, calibrated_scores, recommend
from calib.calibrators.completed_rows import completed, normalised

Truth = Callable[[np.ndarray], np.ndarray]

#: Rows on which a choice is assessed.
FRESH_ROWS = 20_000

#: Populations: name, and true probabilities behind the scores.
TRUTHS: dict[str, Truth] = {
    "calibrated": lambda proba: proba,
    "overconfident": lambda proba: overconfident(proba, 0.4),
    "every second class too low": lambda proba: biased(proba, 0.3),
    "class 0 is wrong": lambda proba: one_class(proba, 0.4),
}


def expected_losses(vectors: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return the expected Brier score and log loss of announced vectors, given the true probabilities."""
    brier = (vectors**2).sum(axis=1) - 2.0 * (truth * vectors).sum(axis=1) + 1.0
    log_loss = -(truth * np.log(np.maximum(vectors, np.finfo(float).eps))).sum(axis=1)
    return float(brier.mean()), float(log_loss.mean())


def vectors_of(calibrator: object, proba: np.ndarray) -> np.ndarray:
    """Return what a calibrator announces, as whole vectors."""
    if calibrator is None:
        return proba
    announced = calibrated_scores(calibrator, proba)
    if isinstance(announced, TopLabelPrediction):
        return completed(proba, announced.label, announced.confidence)
    return normalised(announced)


def recommendations(name: str, n_classes: int, n: int) -> Draws:
    """Yield what is recommended, and by how much it changes the expected losses."""
    fresh = scores(99, FRESH_ROWS, n_classes)
    truth = TRUTHS[name](fresh)
    base = np.array(expected_losses(fresh, truth))
    for seed in count():
        proba = scores(1_000 + seed, n, n_classes)
        labels = draw_labels(TRUTHS[name](proba), np.random.default_rng(seed))
        advice = recommend(proba, labels)
        brier, log_loss = np.array(expected_losses(vectors_of(advice.calibrator, fresh), truth)) - base
        worse = {"Brier is worse": brier > 1e-9, "log loss is worse": log_loss > 1e-9}
        yield {
            "name": advice.name,
            "none": advice.name == "none",
            "Brier": brier,
            "log loss": log_loss,
        } | worse


def best_sets(n: int, methods: int, score: str) -> Draws:
    """Yield whether the method with the lowest expected score is in the best set, and its size."""
    generator, proba = np.random.default_rng(0), scores(5, FRESH_ROWS, 5)
    announced = [
        normalised(proba ** (1.0 + 0.05 * step)) for step in range(methods)
    ]  # the first is the truth
    expected = [expected_losses(vectors, proba)[score == "log loss"] for vectors in announced]
    while True:
        rows = generator.integers(FRESH_ROWS, size=n)
        labels = draw_labels(proba[rows], generator)
        at_label = np.array([vectors[rows, labels] for vectors in announced])
        losses = -np.log(at_label)
        if score == "Brier score":
            squares = np.array([(vectors[rows] ** 2).sum(axis=1) for vectors in announced])
            losses = squares - 2.0 * at_label + 1.0
        in_set = best_set(losses)
        yield {"inside": in_set[int(np.argmin(expected))], "size": in_set.sum()}


TABLES = [
    Table(
        ("rows", "methods", "score"),
        [
            (n, methods, score)
            for n in (200, 2_000)
            for methods in (5, 20)
            for score in ("Brier score", "log loss")
        ],
        best_sets,
        {"best one in the set (95 %)": ("inside", rate), "mean size of the set": ("size", mean(".1f"))},
        times=lambda *setting: 10,
    ),
    Table(
        ("population", "L", "n"),
        [(name, *size) for name in TRUTHS for size in ((3, 300), (5, 1_000))],
        recommendations,
        {
            "none": ("none", rate),
            "most often": ("name", lambda names: Counter(names.tolist()).most_common(1)[0][0]),
            "worse than base, Brier": ("Brier is worse", rate),
            "worse than base, log loss": ("log loss is worse", rate),
            "mean change in Brier": ("Brier", mean("+.5f")),
            "in log loss": ("log loss", mean("+.5f")),
        },
    ),
]

if __name__ == "__main__":
    main(40)
