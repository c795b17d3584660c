"""Whether rows belong together: what is taken for known, what is suspected, and what a monitor does.

accused: independent rows of files without a column. How often calib takes rows for copies, and how often a
test makes it suspect that rows belong together. Some populations are not calibrated.

copied: rows that occur several times, with the same digits or with others. How often calib finds it.

columns: 15 countries with 200 independent rows each, of which some are overconfident. How often a direction
is stated, country is suspected, and groups by country are above noise. Then 60 patients of a perfect model.

streams: the same patients come every week, with a perfect model; and rows of days whose outcomes are less
frequent from day 60 on. How often a monitor raises an alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr, softmax

import calib
from benchmarks.populations import draw_labels
from benchmarks.simulation import Draws, Table, main
from calib.answers.gate import gate
from calib.evidence.rows import Rows

Generator = np.random.Generator


def with_temperature(logits: np.ndarray, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and a truth that is flatter if the temperature is above 1."""
    return softmax(logits, axis=1), softmax(logits / temperature, axis=1)


def event(logit: np.ndarray, temperature: float = 1.0, decimals: int = 12) -> tuple[np.ndarray, np.ndarray]:
    chance = expit(logit / temperature)
    return expit(logit).round(decimals), np.column_stack([1.0 - chance, chance])


def leaves(random: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    proba = random.dirichlet(np.ones(3), 150)[random.integers(0, 150, n)]
    return proba, proba


def rounded(random: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    truth = softmax(3.0 * random.standard_normal((n, 4)), axis=1)
    proba = truth.round(2)
    proba[:, -1] = np.abs(1.0 - proba[:, :-1].sum(axis=1))
    return proba / proba.sum(axis=1, keepdims=True), truth


def heavy(random: Generator, n: int, classes: int, temperature: float = 1.0) -> tuple[Any, Any]:
    """Draw logits of classes whose frequencies are Zipf's, one of them pushed by a heavy-tailed number."""
    logits, frequency = random.normal(size=(n, classes)), 1.0 / np.arange(1, classes + 1.0)
    pushed = random.choice(classes, n, p=frequency / frequency.sum())
    logits[np.arange(n), pushed] += 4.0 * random.exponential(size=n) ** 2
    return with_temperature(logits, temperature)


#: Scores, and the true chances of all classes, of n rows.
POPULATIONS: dict[str, Callable[[Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "100 heavy-tailed classes": lambda random, n: heavy(random, n, 100),
    "100 heavy-tailed classes, overconfident": lambda random, n: heavy(random, n, 100, 1.7),
    "100 heavy-tailed classes, underconfident": lambda random, n: heavy(random, n, 100, 0.6),
    "10 saturated classes": lambda random, n: with_temperature(30.0 * random.standard_normal((n, 10))),
    "10 saturated classes, underconfident": lambda random, n: with_temperature(
        9.0 * random.standard_normal((n, 10)), 0.6
    ),
    "5 classes, nearly all above 0.9999": lambda random, n: with_temperature(
        100.0 * random.standard_normal((n, 5))
    ),
    "1,000 classes": lambda random, n: with_temperature(4.0 * random.standard_normal((n, 1000))),
    "saturated event": lambda random, n: event(6.0 * random.standard_normal(n)),
    "saturated event, 4 decimals": lambda random, n: event(5.0 * random.standard_normal(n), decimals=4),
    "rare event": lambda random, n: event(1.5 * random.standard_normal(n) - 6.0),
    "underconfident event, 3 decimals": lambda random, n: event(
        2.0 * random.standard_normal(n), 0.5, decimals=3
    ),
    "150 leaves": leaves,
    "two decimals": rounded,
}
#: Larger files, of which fewer are drawn.
LARGE = ("100 heavy-tailed classes", "5 classes, nearly all above 0.9999", "saturated event", "rare event")


def share(name: str) -> Any:
    return {name: lambda values: f"{values.sum():.0f} of {len(values):,}"}


KNOWN, SUSPECTED = "taken for copies (0.1 %)", "suspected (0.1 %)"


def labelled(random: Generator, population: str, n: int) -> Any:
    scores, truth = POPULATIONS[population](random, n)
    labels = draw_labels(truth, random)
    return calib.BinaryPrediction(scores, labels) if scores.ndim == 1 else calib.Predictions(scores, labels)


@Table(
    ("population", "n"),
    [*((name, 3_000) for name in POPULATIONS), *((name, 300_000) for name in LARGE)],
    share(KNOWN) | share(SUSPECTED),
    times=lambda population, n: 0.01 if n > 3_000 else 0.1 if population == "1,000 classes" else 1.0,
)
def accused(population: str, n: int) -> Draws:
    for seed in count():
        rows = Rows(labelled(np.random.default_rng(seed), population, n))
        known = not rows.clusters.independent
        yield {KNOWN: known, SUSPECTED: not known and rows.suspected is not None}


@Table(
    ("population", "times each", "other digits"),
    [(name, 3, digits) for name in ("100 heavy-tailed classes", "saturated event, 4 decimals", "two decimals")
     for digits in (0.0, 1e-4)],
    times=lambda *setting: 0.05,
)  # fmt: skip
def copied(population: str, times: int, digits: float) -> Draws:
    for seed in count():
        random = np.random.default_rng(seed)
        rows = labelled(random, population, 1_000).take(np.tile(np.arange(1_000), times))
        if digits:
            scores = rows.score if rows.kind == "binary" else rows.proba
            moved = np.clip(scores * (1.0 + digits * random.uniform(-1.0, 1.0, scores.shape)), 0.0, 1.0)
            if rows.kind == "binary":
                rows = calib.BinaryPrediction(moved, rows.labels)
            else:
                rows = calib.Predictions(moved / moved.sum(axis=1, keepdims=True), rows.labels)
        found = Rows(rows)
        known = not found.clusters.independent
        yield {"taken for copies": known, "suspected": not known and found.suspected is not None}


def of_groups(random: Generator, groups: int, each: int, off: float, correlation: float) -> Any:
    """Draw a confidence; in every fifth group it is too high by `off`, and rows of a group depend."""
    group = np.repeat(np.arange(groups), each)
    confidence = random.uniform(0.6, 0.95, len(group))
    common, own = random.standard_normal(groups)[group], random.standard_normal(len(group))
    drawn = ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own)
    right = drawn < confidence - off * (group % 5 == 0)
    names = pd.DataFrame({"country": [f"C{number:02}" for number in group]})
    return calib.ConfidencePrediction(confidence, right, metadata=names)


@Table(
    ("groups", "rows each", "off", "correlation"),
    [(15, 200, 0.0, 0.0), (15, 200, 0.125, 0.0), (60, 40, 0.0, 0.3)],
    times=lambda *setting: 0.1,
)
def columns(groups: int, each: int, off: float, correlation: float) -> Draws:
    for seed in count():
        rows = of_groups(np.random.default_rng(seed), groups, each, off, correlation)
        found = calib.conclude(rows)
        then = found.suspected
        table = calib.slices(rows, groups="country", notion="confidence", n_resamples=199)
        limits = gate(rows, most={"conf_ece": 0.02}, n_resamples=0)
        yield {
            "a direction": found.direction != "not distinguishable",
            "country is suspected": then is not None,
            "a direction if together": then is not None and bool(then.conclusion.pooled),
            "a group above noise": bool(table.above_noise.any()),
            "a limit is broken": limits.answer == "broken",
        }


def week(random: Generator, patients: np.ndarray, off: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return outcomes and scores of rows whose patients have latent numbers (0: none)."""
    score = random.uniform(0.05, 0.95, len(patients))
    drawn = ndtr(np.sqrt(0.4) * patients + np.sqrt(0.6) * random.standard_normal(len(patients)))
    return drawn < score - off, score


@Table(
    ("stream", "rows"),
    [("the same 40 patients every week", 2_000), ("other patients every week", 2_000)],
    {"rows left out": ".0f"},
    times=lambda *setting: 0.1,
)
def streams(stream: str, rows: int) -> Draws:
    for seed in count():
        random, monitor = np.random.default_rng(seed), calib.Monitor(notion="confidence")
        latent, left_out = random.standard_normal(40 * 26), 0
        for number in range(26):
            place = np.repeat(np.arange(40), rows // 26 // 40 + 1)
            place = place + (0 if stream.startswith("the same") else 40 * number)
            outcome, score = week(random, latent[place])
            try:
                monitor.update(outcome, score, np.full(len(place), number), cluster=place)
            except calib.InputError:
                left_out += len(place)
        yield {"alarm (5 %)": monitor.alarm, "rows left out": left_out + monitor.n_returned}


@Table(
    ("gap", "rows"),
    [(0.0, 4_000), (0.081, 10_000), (0.14, 4_000)],
    times=lambda *setting: 0.1,
)
def drifts(gap: float, rows: int) -> Draws:
    """Yield whether rows of 120 days, off by a gap from day 60 on, raise an alarm; dates are a column."""
    for seed in count():
        random = np.random.default_rng(seed)
        day = np.sort(random.integers(0, 120, rows))
        score = random.uniform(0.3, 0.99, rows)
        right = random.random(rows) < np.clip(score - gap * (day >= 60), 0.0, 1.0)
        dates = (np.datetime64("2026-01-01") + day).astype(str)
        given = calib.ConfidencePrediction(score, right, metadata=pd.DataFrame({"scored_at": dates}))
        monitor = calib.Monitor(notion="confidence").update(given, time=dates)
        suspected = calib.conclude(given).suspected is not None
        yield {"alarm": monitor.alarm, "time is suspected as clusters (0.1 %)": suspected}


if __name__ == "__main__":
    main()
