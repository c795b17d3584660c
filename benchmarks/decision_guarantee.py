"""How often accepted predictions are right less often than `calib.decide` promised.

``python -m benchmarks.decision_guarantee``: confidence c is right with probability `right(c)`, so that the
risk above a threshold is an average over a large fixed sample of confidences. A draw misses if the true
accuracy of what its rule accepts, of any predicted class where each has its threshold, is below the target.
In the second table the accuracy is the highest of `ACCURACIES` that anything passes at, chosen on the same
rows. In the third an accuracy of 0.9 is promised with a recall. In the fourth rows belong together, and
calib is given the clusters, or is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import TopLabelPrediction, decide
from calib.answers.decision_rules import ACCURACIES

N_CLASSES = 5


def calibrated(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return confidence


def overconfident(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return confidence - 0.6 * (confidence - 0.5) * (1 - confidence) - 0.02


def constant(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return an accuracy a little below the target everywhere: whatever is accepted is a miss."""
    return np.full(len(confidence), 0.895)


def one_bad_class(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    return np.where(label == 0, 0.85 * confidence, confidence)


def bumpy(label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Right too rarely near the top: risk does not fall with confidence."""
    return np.where(confidence > 0.97, 0.88, confidence)


#: Name, rows, target, thresholds, and the chance to be right; ten values are those of one digit.
SETTINGS: list[tuple[Any, ...]] = [
    ("calibrated", 2_000, 0.95, "one", calibrated),
    ("overconfident", 2_000, 0.95, "one", overconfident),
    ("just below the target everywhere", 1_000, 0.9, "one", constant),
    ("just below the target everywhere", 3_000, 0.9, "per class", constant),
    ("just below the target everywhere", 3_000, 0.9, "together", constant),
    ("one bad class", 5_000, 0.95, "per class", one_bad_class),
    ("one bad class", 5_000, 0.9, "together", one_bad_class),
    ("wrong at the top", 3_000, 0.9, "one", bumpy),
    ("ten distinct values", 2_000, 0.9, "one", overconfident),
]


def highest(name: str, n: int, right: Any) -> Draws:
    """Yield whether the highest accuracy that anything passes at is missed."""
    random = np.random.default_rng(0)
    many = 0.5 + 0.5 * random.beta(4.0, 1.0, 50_000)
    truth = right(None, many)
    while True:
        told = 0.5 + 0.5 * random.beta(4.0, 1.0, n)
        hit = random.random(n) < right(None, told)
        rules = (decide(hit, told, accuracy=value, choices=len(ACCURACIES)) for value in ACCURACIES)
        rule = next((rule for rule in rules if rule.coverage), None)
        accepted = np.zeros(len(many), dtype=bool) if rule is None else rule.accept(many)
        yield {
            "missed": rule is not None and accepted.any() and truth[accepted].mean() < rule.value - 1e-3,
            "accuracy": float("nan") if rule is None else rule.value,
            "accepted": 0.0 if rule is None else rule.coverage,
        }


def both(name: str, n: int, recall: float, right: Any) -> Draws:
    """Yield whether an accuracy of 0.9, or a recall, is missed if both are promised."""
    random = np.random.default_rng(0)
    many = 0.5 + 0.5 * random.beta(4.0, 1.0, 50_000)
    truth = right(None, many)
    while True:
        told = 0.5 + 0.5 * random.beta(4.0, 1.0, n)
        rule = decide(random.random(n) < right(None, told), told, accuracy=0.9, recall=recall)
        accepted = rule.accept(many)
        kept = truth[accepted].sum() / truth.sum()
        missed = accepted.any() and (truth[accepted].mean() < 0.9 - 1e-3 or kept < recall - 1e-3)
        yield {"missed": missed, "passed": rule.coverage > 0}


def misses(name: str, n: int, accuracy: float, thresholds: str, right: Any) -> Draws:
    """Yield whether a rule accepts what is right less often than it promises."""
    random, by = np.random.default_rng(0), None if thresholds == "one" else "class"
    promise = "each" if thresholds == "per class" else "overall"

    def confidences(n: int) -> tuple[np.ndarray, np.ndarray]:
        confidence = np.round(
            0.5 + 0.5 * random.beta(4.0, 1.0, n), 1 if name == "ten distinct values" else 15
        )
        return random.integers(0, N_CLASSES, n), confidence

    label, confidence = confidences(50_000)
    truth = right(label, confidence)
    while True:
        predicted, told = confidences(n)
        hit = random.random(n) < right(predicted, told)
        y = np.where(hit, predicted, (predicted + 1) % N_CLASSES)
        rule = decide(
            y, TopLabelPrediction(predicted, told), accuracy=accuracy, by=by, promise=promise, alpha=0.1
        )
        accepted = rule.accept(TopLabelPrediction(label, confidence))
        groups = label if promise == "each" else np.zeros_like(label)
        sums = np.bincount(groups[accepted], truth[accepted] - accuracy, minlength=N_CLASSES)
        counts = np.maximum(np.bincount(groups[accepted], minlength=N_CLASSES), 1)
        yield {"missed": (sums / counts < -1e-3).any()}  # what 50,000 rows tell of the truth


def clustered(name: str, n_clusters: int, n_rows: int, correlation: float, right: Any, alike: bool) -> Draws:
    """Yield whether a rule for rows that belong together misses 0.9, told of the clusters and not.

    The latent numbers of the rows of a cluster have one correlation; `alike` says they share a confidence.
    """
    random, cluster = np.random.default_rng(0), np.repeat(np.arange(n_clusters), n_rows)

    def confidences(n: int) -> np.ndarray:
        return 0.5 + 0.5 * random.beta(4.0, 1.0, n)

    many = confidences(50_000)
    truth = right(None, many)
    while True:
        told = confidences(n_clusters)[cluster] if alike else confidences(len(cluster))
        common = random.standard_normal(n_clusters)[cluster]
        own = random.standard_normal(len(cluster))
        hit = ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own) < right(None, told)
        found = {}
        for key, ids in (("told", cluster), ("untold", None)):
            rule = decide(hit, told, accuracy=0.9, cluster=ids)
            accepted = rule.accept(many)
            found[key] = accepted.any() and truth[accepted].mean() < 0.9 - 1e-3
            found[f"{key}, accepted"] = rule.coverage
        yield found


CLUSTERED: list[tuple[Any, ...]] = [
    (name, n_clusters, n_rows, correlation, right, alike)
    for n_clusters, n_rows, correlation in ((20, 200, 0.1), (20, 200, 0.3), (50, 200, 0.3), (200, 10, 0.5))
    for name, right, alike in (
        ("overconfident", overconfident, False),
        ("just below the target everywhere", constant, False),
        ("overconfident, one confidence each", overconfident, True),
    )
]

TABLES = [
    Table(
        ("population", "n", "accuracy", "thresholds"),
        SETTINGS,
        misses,
        {"missed (up to 10 %)": ("missed", rate)},
    ),
    Table(
        ("population", "n"),
        [
            (name, n, right)
            for n in (500, 3_000)
            for name, right in (
                ("calibrated", calibrated),
                ("overconfident", overconfident),
                ("just below 0.9 everywhere", constant),
                ("wrong at the top", bumpy),
            )
        ],
        highest,
        {
            "missed (up to 10 %)": ("missed", rate),
            "accuracy": ("accuracy", mean(".3f")),
            "accepted": ("accepted", mean(".3f")),
        },
    ),
    Table(
        ("population", "n", "recall"),
        [
            (name, 3_000, recall, right)
            for recall in (0.5, 0.75)
            for name, right in (("calibrated", calibrated), ("overconfident", overconfident))
        ],
        both,
        {"missed (up to 10 %)": ("missed", rate), "a rule is found": ("passed", rate)},
    ),
    Table(
        ("population", "clusters", "rows each", "correlation"),
        CLUSTERED,
        clustered,
        {
            "missed (up to 10 %)": ("told", rate),
            "accepted": ("told, accepted", mean(".3f")),
            "missed if clusters are not told": ("untold", rate),
        },
    ),
]

if __name__ == "__main__":
    main(300)
