"""How often 95 % intervals about P(Y = 1) hold the true number.

events: O/E, in the large, slope and Brier skill of a risk whose log-odds are off by a line. Scores are drawn
anew. Clusters have ten rows with the correlation 0.2; weights are uniform between 0.2 and 2, or
lognormal.

centres: log-odds of each centre are off by a normal number with the standard deviation tau. Intervals of the
mean and of a new centre.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

import calib
from benchmarks.simulation import Draws, Table, main


def large_of(chance: np.ndarray, log_odds: np.ndarray, weight: np.ndarray) -> float:
    """Return the shift of the log-odds at which the expected events are the true ones."""
    return float(brentq(lambda shift: weight @ (expit(log_odds + shift) - chance), -10.0, 10.0))


@Table(
    ("rows are", "n", "mean log-odds", "true slope"),
    [
        *[
            ("independent", 100, -2.0, 1.0),
            ("independent", 500, -2.0, 0.7),
            ("independent", 5_000, -4.0, 1.0),
        ],
        *[("independent", 500, 0.0, 1.3), ("clusters", 500, -1.0, 1.0), ("clusters", 2_000, -1.0, 0.7)],
        ("weighted", 500, -1.0, 1.0),
        ("unequal weights", 300, -4.5, 1.0),
    ],
    {"width of O/E": ".2f"},
)
def events(dependence: str, n: int, middle: float, slope: float) -> Draws:
    random, cluster = np.random.default_rng(n), np.arange(n) // 10
    while True:
        log_odds = random.normal(middle, 1.0, n)
        chance, score = expit(0.2 + slope * log_odds), expit(log_odds)
        weight = np.ones(n)
        if dependence == "weighted":
            weight = random.uniform(0.2, 2.0, n)
        elif dependence == "unequal weights":
            weight = random.lognormal(size=n)
        shared = 0.2 if dependence == "clusters" else 0.0
        latent = np.sqrt(shared) * random.standard_normal(cluster.max() + 1)[cluster]
        latent += np.sqrt(1.0 - shared) * random.standard_normal(n)
        happened = (ndtr(latent) < chance).astype(int)
        found = calib.risk(
            happened,
            score,
            cluster=cluster if shared else None,
            sample_weight=weight,
        )
        base = weight @ chance / weight.sum()
        brier = weight @ (chance * (1.0 - score) ** 2 + (1.0 - chance) * score**2) / weight.sum()
        truth = {
            "O/E": (found.events.lower, weight @ chance / (weight @ score), found.events.upper),
            "in the large": (
                found.line.in_the_large_lower,
                large_of(chance, log_odds, weight),
                found.line.in_the_large_upper,
            ),
            "slope": (found.line.slope_lower, slope, found.line.slope_upper),
            "skill": (found.skill.lower, 1.0 - brier / (base * (1.0 - base)), found.skill.upper),
        }
        held = {f"{name} (95 %)": low <= true <= high for name, (low, true, high) in truth.items()}
        yield held | {"width of O/E": found.events.upper - found.events.lower}


@Table(
    ("centres", "rows each", "tau"),
    [(5, 200, 0.0), (5, 200, 0.3), (5, 1_000, 0.1), (5, 1_000, 0.5), (10, 200, 0.3), (20, 200, 0.3)],
    {"width of a new O/E": ".2f"},
)
def centres(n_centres: int, n: int, tau: float) -> Draws:
    random = np.random.default_rng(n_centres)
    centre = np.repeat(np.arange(n_centres), n)
    while True:
        off = random.normal(0.0, tau, n_centres + 1)
        score = random.beta(1.0, 4.0, (n_centres + 1, n))
        chance = expit(logit(score) + off[:, None])
        happened = random.random(chance.shape) < chance
        found = calib.calibration_by_centre(happened[:-1].ravel().astype(int), score[:-1].ravel(), centre)
        ratio, large, slope = found.across
        new = chance[-1].mean() / score[-1].mean()
        yield {
            "mean in the large (95 %)": large.lower <= 0.0 <= large.upper,
            "mean slope (95 %)": slope.lower <= 1.0 <= slope.upper,
            "new in the large (95 %)": large.new_lower <= off[-1] <= large.new_upper,
            "new O/E (95 %)": ratio.new_lower <= new <= ratio.new_upper,
            "width of a new O/E": ratio.new_upper - ratio.new_lower,
        }


if __name__ == "__main__":
    main()
