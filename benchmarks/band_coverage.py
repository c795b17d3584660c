"""How often the honest band holds the whole true curve, and how narrow it is.

``python -m benchmarks.band_coverage``: scores and outcomes are drawn anew from curves that are known. Prints
a Markdown table: the share of draws in which the 95 % band holds the curve at every score, in which
"calibrated within x everywhere above 1/2" is true, the mean x, and the median width. ``--draws`` sets the
draws (200).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from calib.data.predictions import TopLabelPrediction
from calib.stats.bands import calibration_band

Draw = Callable[[np.random.Generator, int], np.ndarray]
Curve = Callable[[np.ndarray], np.ndarray]

CURVES: list[tuple[str, Draw, Curve]] = [
    ("calibrated", lambda generator, n: generator.random(n), lambda s: s),
    ("overconfident", lambda generator, n: generator.random(n), lambda s: 0.3 + 0.4 * s),
    ("steep", lambda generator, n: generator.random(n), lambda s: 1.0 / (1.0 + np.exp(-12.0 * (s - 0.5)))),
    ("a step", lambda generator, n: generator.random(n), lambda s: np.where(s < 0.5, 0.3, 0.7)),
    ("sure", lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n), lambda s: s),
    ("20 values", lambda generator, n: generator.integers(1, 20, n) / 20.0, lambda s: s),
]


def coverage(place: int, n: int, draws: int, most_groups: int = 400) -> dict[str, float]:
    """Return the shares of draws in which the band and the statement hold, the mean x and the width."""
    _, draw, curve = CURVES[place]
    generator, found = np.random.default_rng(0), np.empty((draws, 4))
    for row in range(draws):
        scores = draw(generator, n)
        labels = np.where(generator.random(n) < curve(scores), 0, 1)
        top = TopLabelPrediction(np.zeros(n, dtype=int), scores)
        band = calibration_band(labels, top, most_groups=most_groups)
        truth, x = curve(band.score), band.within(0.5)
        holds = (band.lower <= truth + 1e-9) & (truth <= band.upper + 1e-9)
        off = np.abs(truth - band.score)[band.score > 0.5].max()
        found[row] = holds.all(), off <= x, x, np.median(band.upper - band.lower)
    return dict(zip(("band", "statement", "x", "width"), found.mean(axis=0).tolist(), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    draws = parser.parse_args().draws
    print("| curve | n | band holds | statement holds | mean x above 1/2 | median width |")
    print("| :-- | --: | --: | --: | --: | --: |")
    for place, (name, _, _) in enumerate(CURVES):
        for n in (300, 2_000, 20_000):
            found = coverage(place, n, draws)
            print(
                f"| {name} | {n:,} | {100 * found['band']:.1f} % | {100 * found['statement']:.1f} % | "
                f"{found['x']:.3f} | {found['width']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
