"""How often 95 % intervals of mean scores hold the true mean, on either side.

``python -m benchmarks.mean_coverage``: confidences are mostly sure, with outcomes drawn from them; the mean
is that of the log loss, of the Brier score, or of how much the log loss rises where confidences are
sharpened. Beside `calib.stats.bootstrap.mean_limits` stands Student's interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

from benchmarks.simulation import Draws, Table, main, rate
from calib.stats.bootstrap import mean_limits

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


TABLES = [
    Table(
        ("mean of", "n"),
        [(name, n) for name in VALUES for n in (100, 300, 2_000)],
        coverage,
        {
            f"{of}{head}": (f"{of}{name}", rate)
            for of in ("", "Student's, ")
            for head, name in (("coverage (95 %)", "covers"), ("too high", "high"), ("too low", "low"))
        },
    )
]

if __name__ == "__main__":
    main(1_000)
