"""How often 95 % intervals of mean scores and of the AUC hold the true number, on either side.

``python -m benchmarks.mean_coverage``: confidences are mostly sure, with outcomes drawn from them; the mean
is that of the log loss, of the Brier score, or of how much the log loss rises where confidences are
sharpened. Beside `calib.stats.bootstrap.mean_limits` stands Student's interval.

Scores whose AUC is known are normal, of one spread or three times as wide if Y is 1, or rounded. Clusters
have five rows with Y = 1 each, and half of the variance of a score is its cluster's. Beside the interval
stands DeLong's normal interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student

from benchmarks.simulation import Cell, Draws, Table, main, mean, rate
from calib.evidence.rows import Rows
from calib.stats.bootstrap import mean_limits
from calib.stats.intervals import measure_interval

#: Rows from which the true mean is taken.
TRUTH_ROWS = 4_000_000


def log_loss(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    return -np.log(np.where(right, sure, 1.0 - sure))


def sharpened(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the log loss less that of confidences with 1.3 times the log-odds."""
    return log_loss(sure, right) - log_loss(np.clip(expit(1.3 * logit(sure)), 1e-12, 1 - 1e-12), right)


def brier(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (right - sure) ** 2


VALUES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log loss": log_loss,
    "log loss, difference": sharpened,
    "Brier score": brier,
}


def coverage(name: str, n: int) -> Draws:
    """Yield whether each interval holds the mean, or lies above or below."""

    def values(rows: int, generator: np.random.Generator) -> np.ndarray:
        sure = np.clip(1.0 - generator.beta(0.3, 6.0, rows), 1e-9, 1.0 - 1e-9)
        return VALUES[name](sure, generator.random(rows) < sure)

    truth, generator = values(TRUTH_ROWS, np.random.default_rng(1)).mean(), np.random.default_rng(n)
    while True:
        drawn = values(n, generator)
        half = student.ppf(0.975, n - 1) * drawn.std(ddof=1) / np.sqrt(n)
        lower, upper = (end.item() for end in mean_limits(drawn[None], 0.95))
        found = {}
        for of, low, high in (("", lower, upper), ("Student's, ", drawn.mean() - half, drawn.mean() + half)):
            found |= {f"{of}covers": low <= truth <= high, f"{of}high": low > truth, f"{of}low": high < truth}
        yield found


def of_area(shape: str, area: float, n_true: int, n_false: int) -> Draws:
    """Yield whether each interval of the AUC holds it, or lies above or below."""
    generator, wide = np.random.default_rng(n_true), 3.0 if shape == "wide" else 1.0
    apart, steps = norm.ppf(area) * np.sqrt(1.0 + wide**2), np.arange(-20, 21)
    if shape == "rounded":
        true, false = (np.diff(norm.cdf(steps - at - 0.5), append=1.0) for at in (apart, 0.0))
        area = float(true @ (false.cumsum() - false / 2.0))
    y = np.repeat([1, 0], [n_true, n_false])
    cluster = np.concatenate([np.arange(n_true) // 5, np.arange(n_false) * n_true // n_false // 5])
    while True:
        score = generator.standard_normal(len(y))
        if shape == "clusters":
            shared = generator.standard_normal(cluster.max() + 1)[cluster]
            score = np.sqrt(0.5) * (shared + score)
        score = score * np.where(y == 1, wide, 1.0) + apart * y
        score = norm.cdf(score.round() if shape == "rounded" else score)
        rows = Rows(y, score, cluster=cluster if shape == "clusters" else None)
        lower, upper = measure_interval(None, rows, "auc")
        found, variance, _ = rows.area("class-wise", variance=True)
        half = norm.ppf(0.975) * np.sqrt(variance)
        held = {}
        for of, low, high in (("", lower, upper), ("DeLong's, ", found - half, found + half)):
            held |= {f"{of}covers": low <= area <= high, f"{of}high": low > area, f"{of}low": high < area}
        yield held | {"width": upper - lower}


def sides(*names: str) -> dict[str, tuple[str, Cell]]:
    """Return the columns of coverage, for intervals of each name."""
    return {
        f"{of}{head}": (f"{of}{name}", rate)
        for of in names
        for head, name in (("coverage (95 %)", "covers"), ("too high", "high"), ("too low", "low"))
    }


TABLES = [
    Table(
        ("mean of", "n"),
        [(name, n) for name in VALUES for n in (100, 300, 2_000)],
        coverage,
        sides("", "Student's, "),
    ),
    Table(
        ("scores", "AUC", "rows with Y = 1", "with Y = 0"),
        [
            (shape, area, *sizes)
            for shape in ("normal", "wide", "rounded", "clusters")
            for area in (0.7, 0.95, 0.99)
            for sizes in ((60 if shape == "clusters" else 20, 200), (200, 1_000))
        ],
        of_area,
        {**sides("", "DeLong's, "), "width": ("width", mean(".3f"))},
    ),
]

if __name__ == "__main__":
    main(1_000)
