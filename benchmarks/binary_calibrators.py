"""How close each binary calibrator comes to a known truth.

``python -m benchmarks.binary_calibrators``: scores follow a beta law, outcomes a known curve of the score.
Shown is the mean squared distance between calibrated and true probability, times 10,000, over the
calibration samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import expit, logit

from benchmarks.simulation import Draws, Table, main, mean
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


def distances(truth: str, n: int, methods: Iterable[str] = tuple(BINARY)) -> Draws:
    """Yield the mean squared distance to the truth of each method, times 10,000."""
    random, curve = np.random.default_rng(0), TRUTHS[truth]
    new = scores(random, 4_000)
    while True:
        s = scores(random, n)
        right = random.random(n) < curve(s)
        fitted = {method: BINARY[method].make().fit(s, right) for method in methods}
        yield {name: 1e4 * np.mean((one.predict(new) - curve(new)) ** 2) for name, one in fitted.items()}


TABLES = [
    Table(
        ("truth", "rows"),
        [(truth, n) for truth in TRUTHS for n in SIZES],
        distances,
        {method.title: (name, mean(".1f")) for name, method in BINARY.items()},
    )
]

if __name__ == "__main__":
    main(40)
