"""How often 95 % intervals of mean scores hold the true mean, on either side.

``python -m benchmarks.mean_coverage``: confidences that are mostly sure, with outcomes drawn from them; the
mean is that of the log loss, of the Brier score, or of how much the log loss rises where confidences are
sharpened. Beside `calib.stats.bootstrap.mean_limits` stands Student's interval. ``--draws`` sets the draws
(default 1,000).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

from calib.stats.bootstrap import mean_limits

#: Draws from which the true mean is taken, in rows.
TRUTH_ROWS = 4_000_000


def log_loss(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the log loss of each row."""
    return -np.log(np.where(right, sure, 1.0 - sure))


def sharpened(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the log loss less that of confidences with 1.3 times the log-odds."""
    return log_loss(sure, right) - log_loss(np.clip(expit(1.3 * logit(sure)), 1e-12, 1 - 1e-12), right)


def brier(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the squared error of each row."""
    return (right - sure) ** 2


VALUES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log loss": log_loss,
    "log loss, difference": sharpened,
    "Brier score": brier,
}


def drawn(values: Callable[[np.ndarray, np.ndarray], np.ndarray], *size: int, seed: int) -> np.ndarray:
    """Draw values of rows."""
    generator = np.random.default_rng(seed)
    sure = np.clip(1.0 - generator.beta(0.3, 6.0, size), 1e-9, 1.0 - 1e-9)
    return values(sure, generator.random(size) < sure)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    draws = parser.parse_args().draws
    print("| mean of | n | coverage | too high | too low | Student's | too high | too low |")
    print("| :-- |" + " --: |" * 7)
    for name, values in VALUES.items():
        truth = drawn(values, TRUTH_ROWS, seed=1).mean()
        for n in (100, 300, 2_000):
            table = drawn(values, draws, n, seed=n)
            half = student.ppf(0.975, n - 1) * table.std(axis=1, ddof=1) / np.sqrt(n)
            plain = table.mean(axis=1) - half, table.mean(axis=1) + half
            cells = []
            for lower, upper in (mean_limits(table, 0.95), plain):
                above, below = np.mean(lower > truth), np.mean(upper < truth)
                cells += [1.0 - above - below, above, below]
            print(f"| {name} | {n:,} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |")


if __name__ == "__main__":
    main()
