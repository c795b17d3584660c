"""What calib says of calibrated models with few wrong rows, and of copied rows.

``python -m benchmarks.few_errors``: labels follow the scores exactly. The first table counts how often the
interval of each score lies below or above its expectation, and how often a limit that the expectation breaks
is called kept. The second one recommends a calibrator for rows of which each is there some times, and takes
the expected losses on 20,000 fresh rows.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from benchmarks.choosing import TRUTHS, expected_losses, vectors_of
from benchmarks.populations import draw_labels, scores
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import Predictions, recommend
from calib.stats.intervals import measure_interval

N_CLASSES, FRESH_ROWS = 3, 20_000


def sure(random: np.random.Generator, name: str, n: int) -> np.ndarray:
    """Return probabilities (n, 3) of a population of confident rows."""
    confidence = {
        "above 0.99": lambda: 1.0 - 0.01 * random.random(n),
        "half at 0.6, half above 0.998": lambda: np.where(
            random.random(n) < 0.5, 0.6, 1.0 - 0.002 * random.random(n)
        ),
    }[name]()
    rest = (1.0 - confidence)[:, None] * random.dirichlet(np.ones(N_CLASSES - 1), n)
    proba = np.column_stack([confidence, rest])
    shift = (np.arange(N_CLASSES) - random.integers(0, N_CLASSES, n)[:, None]) % N_CLASSES
    return np.take_along_axis(proba, shift, axis=1)


def intervals(name: str, n: int) -> Draws:
    """Yield whether intervals miss, and whether a limit 5 % below the expectation is kept."""
    fresh = sure(np.random.default_rng(99), name, 100 * FRESH_ROWS)
    expected = dict(zip(("brier", "log_loss"), expected_losses(fresh, fresh), strict=True))
    expected["accuracy"] = fresh.max(axis=1).mean()
    for seed in count():
        random = np.random.default_rng(seed)
        proba = sure(random, name, n)
        labels = draw_labels(proba, random)
        found = {"no error": bool((proba.argmax(axis=1) == labels).all())}
        for key, truth in expected.items():
            low, high = measure_interval(labels, Predictions(proba, labels), key)
            found |= {
                f"{key} low": high < truth,
                f"{key} high": low > truth,
                f"{key} kept": high < 0.95 * truth,
            }
        yield found


def recommendations(name: str, copies: int, n: int) -> Draws:
    """Yield whether a calibrator is recommended, and by how much it changes the expected losses."""
    confident = name not in TRUTHS
    fresh = (
        sure(np.random.default_rng(99), name, FRESH_ROWS) if confident else scores(99, FRESH_ROWS, N_CLASSES)
    )
    truth = fresh if confident else TRUTHS[name](fresh)
    base = np.array(expected_losses(fresh, truth))
    for seed in count():
        random = np.random.default_rng(seed)
        proba = sure(random, name, n) if confident else scores(1_000 + seed, n, N_CLASSES)
        labels = draw_labels(proba if confident else TRUTHS[name](proba), random)
        order = random.permutation(n * copies)
        rows = np.repeat(proba, copies, axis=0)[order], np.repeat(labels, copies)[order]
        advice = recommend(*rows)
        brier, log_loss = np.array(expected_losses(vectors_of(advice.calibrator, fresh), truth)) - base
        yield {
            "some": advice.name != "none",
            "hurts": brier > 1e-9 or log_loss > 1e-9,
            "brier": brier,
            "log_loss": log_loss,
        }


NAMES = ("above 0.99", "half at 0.6, half above 0.998")
TABLES = [
    Table(
        ("confidences", "n"),
        [(name, n) for name in NAMES for n in (200, 1_000)],
        intervals,
        {
            "no wrong row": ("no error", rate),
            "Brier interval too low (2.5 %)": ("brier low", rate),
            "too high (2.5 %)": ("brier high", rate),
            "log loss too low (2.5 %)": ("log_loss low", rate),
            "log loss too high (2.5 %)": ("log_loss high", rate),
            "accuracy too high (2.5 %)": ("accuracy high", rate),
            "a broken limit of log loss is kept (2.5 %)": ("log_loss kept", rate),
        },
    ),
    Table(
        ("population", "times each", "n"),
        [("above 0.99", 1, 200), ("above 0.99", 1, 1_000), ("calibrated", 5, 300), ("overconfident", 5, 300)],
        recommendations,
        {
            "a calibrator": ("some", rate),
            "it hurts": ("hurts", rate),
            "mean change in Brier": ("brier", mean("+.5f")),
            "in log loss": ("log_loss", mean("+.5f")),
        },
        times=lambda *setting: 0.2,
    ),
]

if __name__ == "__main__":
    main(200)
