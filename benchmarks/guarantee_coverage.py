"""How often the statements of a guarantee card fail, for bins as calib builds them.

``python -m benchmarks.guarantee_coverage``: calibration rows are drawn anew from populations whose truth is
known; alpha is 0.1. Prints a Markdown table: the share of draws in which the Clopper-Pearson intervals of
the bins, or eps_2, miss the truth of any bin, the share of new rows farther from it than eps_1, and the mean
error over its bound. ``--draws`` sets the draws for each row (default 1,000).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.guarantees.card import guarantee_card

ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Truth:
    """Scores on a fine grid (or the only scores there are), their shares and the chance of the event."""

    name: str
    score: np.ndarray
    share: np.ndarray
    chance: np.ndarray
    continuous: bool = True

    @cached_property
    def reach(self) -> np.ndarray:
        """Cumulated shares."""
        return np.cumsum(self.share)

    def draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return n scores and outcomes."""
        at = np.searchsorted(self.reach, generator.random(n) * self.reach[-1], side="right")
        half = 0.5 / len(self.score) if self.continuous else 0.0
        scores = self.score[at] + generator.uniform(-half, half, n)
        return scores, generator.random(n) < self.chance[at]

    def of_bins(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of rows and the true probability of each bin."""
        place = np.searchsorted(edges, self.score, side="right")
        shares = np.bincount(place, self.share, len(edges) + 1)
        chances = np.bincount(place, self.share * self.chance, len(edges) + 1)
        return shares, np.divide(chances, shares, out=np.full(len(shares), np.nan), where=shares > 0)


def truths() -> list[Truth]:
    """Return the populations."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    generator = np.random.default_rng(0)

    def smooth(name: str, chance: Callable[[np.ndarray], np.ndarray]) -> Truth:
        return Truth(name, grid, np.full(len(grid), 1.0 / len(grid)), chance(grid))

    def ties(name: str, values: int, chance: Callable[[np.ndarray], np.ndarray]) -> Truth:
        places = np.arange(1, values + 1)
        shares = generator.dirichlet(np.ones(values))
        return Truth(name, places / (values + 1), shares, chance(places), continuous=False)

    return [
        smooth("calibrated", lambda s: s),
        smooth("1/2 everywhere", lambda s: np.full_like(s, 0.5)),
        smooth("0.9 to 1", lambda s: 0.9 + 0.1 * s),
        smooth("0 or 1, 1,000 times each", lambda s: np.floor(2000 * s) % 2),
        smooth("0.1, above 1/2 0.9", lambda s: np.where(s < 0.5, 0.1, 0.9)),
        ties("20 values, 0.1 and 0.9 in turn", 20, lambda place: 0.1 + 0.8 * (place % 2)),
        ties("300 values, 0 and 1 in turn", 300, lambda place: place % 2 * 1.0),
        ties("300 values, all 1/2", 300, lambda place: np.full(len(place), 0.5)),
    ]


def misses(truth: Truth, k: int, n: int, draws: int) -> dict[str, float]:
    """Return how often each statement fails, and the mean error over its bound."""
    generator = np.random.default_rng(0)
    found = np.empty((draws, 5))
    for draw in range(draws):
        scores, outcomes = truth.draw(n, generator)
        proba = np.column_stack([1.0 - scores, scores])
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion="class-wise")
        card = guarantee_card(model.fit(proba, outcomes.astype(int)), ALPHA)
        own = card.bins.problem == 1
        shares, chance = truth.of_bins(model.calibrators_[1].edges_)
        gap = np.abs(card.bins.value[own] - chance)
        met = shares > 0
        outside = (chance < card.bins.lower[own] - 1e-9) | (chance > card.bins.upper[own] + 1e-9)
        found[draw] = (
            outside[met].any(),
            (gap > card.conditional[1])[met].any(),
            shares[met][gap[met] > card.marginal[1]].sum(),
            shares[met] @ gap[met] / card.expected_ece[1],
            card.reach[1] / card.conditional[1],
        )
    names = ("intervals", "eps_2", "eps_1", "error_over_bound", "reach_over_eps_2")
    return dict(zip(names, found.mean(axis=0).tolist(), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    draws = parser.parse_args().draws
    print("| truth | k | n | intervals miss | eps_2 fails | beyond eps_1 | error / bound | reach / eps_2 |")
    print("| :-- | --: | --: | --: | --: | --: | --: | --: |")
    for truth in truths():
        for k, n in ((10, 500), (20, 400), (50, 500), (50, 5_000)):
            found = misses(truth, k, n, draws)
            shares = " | ".join(f"{100 * found[name]:.1f} %" for name in ("intervals", "eps_2", "eps_1"))
            ratios = " | ".join(f"{found[name]:.2f}" for name in ("error_over_bound", "reach_over_eps_2"))
            print(f"| {truth.name} | {k} | {n:,} | {shares} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
