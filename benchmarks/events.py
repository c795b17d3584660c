"""How often what calib says of one event holds: promises of thresholds, and intervals of net benefit.

Scores are a beta distribution with the given mean, P(Y = 1) is the score moved by 0.5 in log-odds: a model
that is too low. With clusters, 5 rows share a normal shift of the log-odds of size 0.7. The truth is taken
from many further rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.simulation import Draws, Table, main, sides
from calib import decide, decision_curve, metrics
from calib.answers import EventRule, benefit_difference
from calib.answers.gate import gate
from calib.evidence.rows import as_evidence

#: Rows that the truth is taken from, and the size of a cluster.
MANY, SIZE = 400_000, 5
ASKED = {
    "sensitivity": {"sensitivity": 0.8},
    "precision": {"precision": 0.3},
    "false positive rate": {"false_positive_rate": 0.1},
    "sensitivity and precision": {"sensitivity": 0.5, "precision": 0.2},
}


def drawn(random: np.random.Generator, n: int, mean: float, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw outcomes and scores; rows of a cluster of `size` share a shift."""
    p = random.beta(1.0, 1.0 / mean - 1.0, n)
    shift = 0.7 * np.repeat(random.standard_normal(-(-n // size)), size)[:n] if size > 1 else 0.0
    return (random.random(n) < expit(logit(p) + 0.5 + shift)).astype(int), p


@Table(
    ("targets", "rows", "mean score", "rows of a cluster"),
    [
        *((name, n, 0.1, 1) for name in ASKED for n in (500, 3_000)),
        *((name, 3_000, 0.1, SIZE) for name in ASKED),
        ("sensitivity", 3_000, 0.02, 1),
    ],
    {"rows acted on": ".3f"},
)
def targets(name: str, n: int, mean: float, size: int) -> Draws:
    """Yield whether the rule of `decide` misses any of its targets."""
    random, asked = np.random.default_rng(0), ASKED[name]
    truth, many = drawn(np.random.default_rng(1), MANY, mean, size)
    while True:
        y, p = drawn(random, n, mean, size)
        rule = decide(y, p, **asked, cluster=np.arange(n) // size if size > 1 else None)
        assert isinstance(rule, EventRule)
        acted = rule.act(many)
        found = {
            "sensitivity": truth[acted].sum() / truth.sum(),
            "precision": truth[acted].mean() if acted.any() else 1.0,
            "false_positive_rate": 1.0 - (1 - truth)[~acted].sum() / (1 - truth).sum(),
        }
        signs = {"false_positive_rate": -1.0}
        missed = any(signs.get(key, 1.0) * (found[key] - value) < 0.0 for key, value in asked.items())
        promised = rule.guarantee is not None
        yield {
            "missed (up to 10 %)": promised and missed,
            "promised": promised,
            "rows acted on": acted.mean(),
        }


@Table(
    ("limits at the truth", "rows", "rows of a cluster"), [("5", 500, 1), ("5", 5_000, 1), ("5", 5_000, SIZE)]
)
def limits(_: str, n: int, size: int) -> Draws:
    """Yield whether a gate with five limits at the true numbers is red, and each limit at its own 95 %."""
    random, most, least = np.random.default_rng(0), ("ece", "brier", "log_loss"), ("accuracy", "auc")
    true = metrics(*drawn(np.random.default_rng(1), MANY, 0.3, size)).values
    bounds = {"most": {key: true[key] for key in most}, "least": {key: true[key] for key in least}}
    while True:
        y, p = drawn(random, n, 0.3, size)
        rows = as_evidence(y, p, cluster=np.arange(n) // size if size > 1 else None)
        each = [
            gate(rows, **{side: {key: limit}}, n_resamples=0).passed
            for side, asked in bounds.items()
            for key, limit in asked.items()
        ]
        yield {"red (5 %)": not gate(rows, **bounds, n_resamples=0).passed, "red, each alone": not all(each)}


@Table(
    ("threshold", "rows", "rows of a cluster"),
    [*((t, n, 1) for t in (0.05, 0.2, 0.5) for n in (300, 3_000)), (0.05, 3_000, SIZE), (0.2, 3_000, SIZE)],
    {"mean width": ".4f", "width of avoided": ".4f"},
    times=lambda *setting: 4.0,
)
def benefits(threshold: float, n: int, size: int) -> Draws:
    """Yield whether the intervals of a net benefit, avoided actions and a difference hold the truth.

    The other scores are noisy: their log-odds move by a normal number of size 0.5.
    """

    def noisy(random: np.random.Generator, p: np.ndarray) -> np.ndarray:
        return expit(logit(p) + 0.5 * random.standard_normal(len(p)))

    random, further = np.random.default_rng(0), np.random.default_rng(1)
    y, p = drawn(further, MANY, 0.1, size)
    q, cost = noisy(further, p), threshold / (1.0 - threshold)
    worth = np.where(y == 1, 1.0, -cost)
    truth = worth @ (p >= threshold) / MANY
    avoided = np.where(y == 1, -1.0 / cost, 1.0) @ (p < threshold) / MANY
    apart = worth @ (q >= threshold) / MANY - truth
    while True:
        y, p = drawn(random, n, 0.1, size)
        q = noisy(random, p)
        options: dict[str, Any] = {
            "thresholds": [threshold],
            "cluster": np.arange(n) // size if size > 1 else None,
        }
        curve, change = decision_curve(y, p, **options), benefit_difference(y, p, q, **options)
        yield {
            **sides(float(curve.lower[0]), float(curve.upper[0]), truth),
            "mean width": curve.upper[0] - curve.lower[0],
            "avoided, coverage (95 %)": curve.avoided_lower[0] <= avoided <= curve.avoided_upper[0],
            "width of avoided": curve.avoided_upper[0] - curve.avoided_lower[0],
            "difference, coverage (95 %)": change.lower[0] <= apart <= change.upper[0],
        }


if __name__ == "__main__":
    main()
