"""How often the honest band holds the whole true curve, and how narrow it is.

``python -m benchmarks.band_coverage``: scores and outcomes are drawn anew from curves that are known. A
draw holds if the 95 % band holds the curve at every score; the statement is "calibrated within x everywhere
above 1/2".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import TopLabelPrediction, calibration_band


def even(generator: np.random.Generator, n: int) -> np.ndarray:
    return generator.random(n)


Make = Callable[[np.random.Generator, int], np.ndarray]
Curve = Callable[[np.ndarray], np.ndarray]

CURVES: dict[str, tuple[Make, Curve]] = {
    "calibrated": (even, lambda s: s),
    "overconfident": (even, lambda s: 0.3 + 0.4 * s),
    "steep": (even, lambda s: 1.0 / (1.0 + np.exp(-12.0 * (s - 0.5)))),
    "a step": (even, lambda s: np.where(s < 0.5, 0.3, 0.7)),
    "sure": (lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n), lambda s: s),
    "20 values": (lambda generator, n: generator.integers(1, 20, n) / 20.0, lambda s: s),
}


def coverage(name: str, n: int, most_groups: int = 400) -> Draws:
    """Yield whether band and statement hold, x, and the median width."""
    (make, curve), generator = CURVES[name], np.random.default_rng(0)
    while True:
        scores = make(generator, n)
        labels = np.where(generator.random(n) < curve(scores), 0, 1)
        top = TopLabelPrediction(np.zeros(n, dtype=int), scores)
        band = calibration_band(labels, top, most_groups=most_groups)
        truth, x = curve(band.score), band.within(0.5)
        holds = (band.lower <= truth + 1e-9) & (truth <= band.upper + 1e-9)
        off = np.abs(truth - band.score)[band.score > 0.5].max()
        width = np.median(band.upper - band.lower)
        yield {"band": holds.all(), "statement": off <= x, "x": x, "width": width}


TABLES = [
    Table(
        ("curve", "n"),
        [(name, n) for name in CURVES for n in (300, 2_000, 20_000)],
        coverage,
        {
            "band holds (95 %)": ("band", rate),
            "statement holds (95 %)": ("statement", rate),
            "mean x above 1/2": ("x", mean(".3f")),
            "median width": ("width", mean(".3f")),
        },
    )
]

if __name__ == "__main__":
    main(200)
