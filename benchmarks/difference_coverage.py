"""How often 95 % intervals of the difference of two calibration errors hold the true difference.

``python -m benchmarks.difference_coverage``: scores of both models stay fixed, labels are drawn anew from
the known truth. Where the true difference is 0, every claim of a direction is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.populations import Population, decided, draw_labels, overconfident, scores, softmax
from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import HistogramBinning, MulticlassToBinary, TemperatureScaling, paired_difference
from calib.data.notions import Notion
from calib.evidence.binning import Strategy


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models of the same rows, and the truth about the rows."""

    truth: np.ndarray
    a: Any
    b: Any
    strategy_a: Strategy = "uniform"
    strategy_b: Strategy = "uniform"
    notion: Notion = "top-label"

    def difference(self) -> float:
        """Return the true difference of squared l2 errors in the cells of the two."""
        return self._squared(self.a, self.strategy_a) - self._squared(self.b, self.strategy_b)

    def _squared(self, model: Any, strategy: Strategy) -> float:
        if isinstance(model, np.ndarray):
            return Population("", model, self.truth, self.notion, strategy, 15).error(2) ** 2
        chance = self.truth[np.arange(len(self.truth)), model.label]
        key = model.label + 1j * model.confidence  # one cell per class and value
        _, cell = np.unique(key, return_inverse=True)
        count = np.bincount(cell)
        gaps = np.bincount(cell, weights=chance - model.confidence) / count
        return float(count @ gaps**2) / len(chance)


def coverage(pair: Pair) -> Draws:
    """Yield whether the interval holds, and whether the wrong or the right direction is claimed."""
    truth, generator = pair.difference(), np.random.default_rng(0)
    side = 0.0 if abs(truth) < 1e-12 else np.sign(truth)
    options: Any = {"strategy_a": pair.strategy_a, "strategy_b": pair.strategy_b, "notion": pair.notion}
    while True:
        found = paired_difference(draw_labels(pair.truth, generator), pair.a, pair.b, **options)
        claim = {"lower": -1, "higher": 1}.get(found.verdict, 0)
        yield {
            "truth": truth,
            "coverage": found.lower - 1e-12 <= truth <= found.upper + 1e-12,
            "wrong": claim != 0 and claim != side,
            "right": claim != 0 and claim == side,
        }


def of_setting(name: str, n: int, notion: Notion) -> Draws:
    """Return the draws of a pair of models."""
    fitted_on, base = scores(901, 1_000, 10), scores(101, n, 10)
    truth = overconfident(base, 0.6) if name.startswith("overconfident") else base
    other, strategy = base, "uniform"
    if "TL-HB" in name:
        labels = draw_labels(fitted_on, np.random.default_rng(501))
        binning = MulticlassToBinary(HistogramBinning(points_per_bin=100)).fit(fitted_on, labels)
        other, strategy = binning.predict_top(base), "discrete"
    elif "TS" in name:
        labels = draw_labels(overconfident(fitted_on, 0.6), np.random.default_rng(501))
        other = TemperatureScaling().fit(fitted_on, labels).predict_proba(base)
    elif "noisy" in name:
        other = softmax(np.log(base) + 0.5 * np.random.default_rng(7).normal(size=base.shape))
    else:
        strategy = "quantile"
    if AGREED in name:
        truth = decided(truth, 0.8)
    return coverage(Pair(truth, base, other, strategy_b=strategy, notion=notion))


AGREED = "labels mostly agreed on"
PAIRS: tuple[tuple[str, Notion], ...] = (
    ("perfect, TL-HB with k = 100", "top-label"),
    ("overconfident, TS", "top-label"),
    ("overconfident, TS", "class-wise"),
    (f"overconfident, TS; {AGREED}", "top-label"),
    (f"overconfident, TS; {AGREED}", "class-wise"),
    (f"perfect, TL-HB with k = 100; {AGREED}", "top-label"),
    ("perfect, noisy", "top-label"),
    ("perfect, the same in equal-mass bins", "top-label"),
)
TABLES = [
    Table(
        ("models a, b", "n", "notion"),
        [(name, n, notion) for n in (1_000, 10_000) for name, notion in PAIRS],
        of_setting,
        {
            "true difference": ("truth", mean("+.5f")),
            "coverage (95 %)": ("coverage", rate),
            "wrong direction": ("wrong", rate),
            "right direction": ("right", rate),
        },
    )
]

if __name__ == "__main__":
    main(400)
