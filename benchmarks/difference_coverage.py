"""How often 95 % intervals of the difference of two calibration errors hold the true difference.

``python -m benchmarks.difference_coverage``: scores of both models stay fixed, labels are drawn anew from the
known truth. Prints a Markdown table with the share of draws that claim the wrong, and the right, direction
(where the true difference is 0, every claim is wrong). ``--draws`` sets the draws a row (default 400),
``--json FILE`` writes the table as JSON.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.populations import Population, decided, draw_labels, overconfident, scores, softmax
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import TemperatureScaling
from calib.data.notions import Notion
from calib.evidence.binning import Strategy
from calib.stats.differences import paired_difference


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models of the same rows, and the truth about the rows."""

    name: str
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


def pairs() -> list[Pair]:
    """Return the pairs of models."""
    made = []
    for n_samples in (1_000, 10_000):
        fitted_on, base = scores(901, 1_000, 10), scores(101, n_samples, 10)
        labels = draw_labels(fitted_on, np.random.default_rng(501))
        binning = MulticlassToBinary(HistogramBinning(points_per_bin=100)).fit(fitted_on, labels)
        binned = binning.predict_top(base)
        made.append(Pair("perfect, TL-HB with k = 100", base, base, binned, strategy_b="discrete"))
        labels = draw_labels(overconfident(fitted_on, 0.6), np.random.default_rng(501))
        scaled = TemperatureScaling().fit(fitted_on, labels).predict_proba(base)
        truth = overconfident(base, 0.6)
        made.append(Pair("overconfident, TS", truth, base, scaled))
        made.append(Pair("overconfident, TS", truth, base, scaled, notion="class-wise"))
        agreed = Pair("overconfident, TS; labels mostly agreed on", decided(truth, 0.8), base, scaled)
        made += [agreed, replace(agreed, notion="class-wise")]
        name = "perfect, TL-HB with k = 100; labels mostly agreed on"
        made.append(Pair(name, decided(base, 0.8), base, binned, strategy_b="discrete"))
        other = softmax(np.log(base) + 0.5 * np.random.default_rng(7).normal(size=base.shape))
        made.append(Pair("perfect, noisy", base, base, other))
        made.append(Pair("perfect, the same in equal-mass bins", base, base, base, strategy_b="quantile"))
    return made


def coverage(pair: Pair, draws: int) -> dict[str, float]:
    """Return coverage and the shares of draws that claim the wrong and the right direction."""
    truth, generator = pair.difference(), np.random.default_rng(0)
    covered, claims = 0, np.zeros(draws)
    for draw in range(draws):
        found = paired_difference(
            draw_labels(pair.truth, generator),
            pair.a,
            pair.b,
            notion=pair.notion,
            strategy_a=pair.strategy_a,
            strategy_b=pair.strategy_b,
        )
        covered += found.lower - 1e-12 <= truth <= found.upper + 1e-12
        claims[draw] = {"lower": -1, "higher": 1}.get(found.verdict, 0)
    side = 0.0 if abs(truth) < 1e-12 else np.sign(truth)
    return {
        "truth": truth,
        "coverage": covered / draws,
        "wrong": float(np.mean((claims != 0) & (claims != side))),
        "right": float(np.mean((claims != 0) & (claims == side))),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("| models a, b | n | notion | true difference | coverage | wrong direction | right direction |")
    print("| :-- | --: | :-- | --: | --: | --: | --: |")
    rows = []
    for pair in pairs():
        found = coverage(pair, options.draws)
        rows.append({"models": pair.name, "n": len(pair.truth), "notion": pair.notion} | found)
        print(
            f"| {pair.name} | {len(pair.truth):,} | {pair.notion} | {found['truth']:+.5f} | "
            + " | ".join(f"{100 * found[name]:.1f} %" for name in ("coverage", "wrong", "right"))
            + " |",
            flush=True,
        )
    if options.json:
        result = {"draws": options.draws, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
