"""How close each binary calibrator comes to a known truth, on few and on many rows.

``python -m benchmarks.binary_calibrators``: scores follow a beta law, outcomes a known curve of the score.
Prints a Markdown table of the mean squared distance between calibrated and true probability, times 10,000,
over ``--draws`` calibration samples of each size.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from calib.calibrators.catalogue import BINARY

TRUTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda s: s,
    "overconfident": lambda s: expit(0.6 * logit(s) - 0.2),
    "S-shaped": lambda s: np.clip(s + 0.12 * np.sin(2 * np.pi * s), 0.0, 1.0),
    "steps": lambda s: np.select([s < 0.4, s < 0.8], [0.15, 0.5], 0.9),
}
SIZES = (100, 200, 1_000, 5_000)


def scores(random: np.random.Generator, n: int) -> np.ndarray:
    """Draw scores that are often high, as confidences are."""
    return random.beta(2.0, 1.2, n).clip(1e-4, 1.0 - 1e-4)


def distances(method: str, truth: str, n: int, draws: int) -> np.ndarray:
    """Return the mean squared distance to the truth in each draw, (draws,)."""
    random, curve = np.random.default_rng(0), TRUTHS[truth]
    new = scores(random, 4_000)
    found = np.empty(draws)
    for draw in range(draws):
        s = scores(random, n)
        fitted = BINARY[method].make().fit(s, random.random(n) < curve(s))
        found[draw] = np.mean((fitted.predict(new) - curve(new)) ** 2)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40)
    draws = parser.parse_args().draws
    print("| truth | rows |", " | ".join(method.title for method in BINARY.values()), "|")
    print("| :-- | --: |" + " --: |" * len(BINARY))
    for truth in TRUTHS:
        for n in SIZES:
            means = [1e4 * distances(method, truth, n, draws).mean() for method in BINARY]
            print(f"| {truth} | {n:,} |", " | ".join(f"{mean:.1f}" for mean in means), "|", flush=True)


if __name__ == "__main__":
    main()
