"""How often the statements of a guarantee card fail, for bins as calib builds them.

``python -m benchmarks.guarantee_coverage``: calibration rows are drawn anew from populations whose truth is
known; alpha is 0.1. Prints a Markdown table: the share of draws in which the Clopper-Pearson intervals of
the bins, or eps_2, miss the truth of any bin, the share of new rows farther from it than eps_1, and the mean
error over its bound. A second table is about calibrators that condition on predicted class and group: a miss
is one in any bin of any (class, group) that the card covers. ``--draws`` sets the draws for each row
(default 1,000).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib.answers.guarantee_cards import guarantee_card
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.data.announcements import TopLabelPrediction

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


#: By name, the share of each class and group, and which truths they have in turn.
CELLS: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
    "2 classes, 3 groups, even": (np.full((2, 3), 1 / 6), (0, 1, 4)),
    "3 classes, 4 groups, 10 to 1": (np.outer([0.5, 0.3, 0.2], [10, 5, 2, 1]) / 18, (0, 3, 1, 2, 4)),
    "2 classes, 2 groups, all 1/2": (np.full((2, 2), 1 / 4), (1,)),
    "2 classes, 2 groups, ties": (np.array([[0.4, 0.3], [0.2, 0.1]]), (5, 6, 7)),
}


def misses_by_group(cells: str, k: int, n: int, draws: int) -> tuple[dict[str, float], float]:
    """Return how often each statement fails over all (class, group), and the share of them covered."""
    shares, kinds = CELLS[cells]
    n_classes, n_groups = shares.shape
    every = truths()
    # As in `NotionShape`: the problem of (group, class) is group * L + class.
    truth_of = [every[kinds[cell % len(kinds)]] for cell in range(shares.size)]
    share_of = shares.T.ravel()
    generator = np.random.default_rng(0)
    found = np.empty((draws, 5))
    for draw in range(draws):
        cell = generator.choice(share_of.size, n, p=share_of)
        scores, outcomes = np.empty(n), np.empty(n, dtype=bool)
        for one, truth in enumerate(truth_of):
            rows = np.flatnonzero(cell == one)
            scores[rows], outcomes[rows] = truth.draw(len(rows), generator)
        label = cell % n_classes
        names = tuple(str(code) for code in range(n_classes))
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), by=("class", "group"))
        top = TopLabelPrediction(label, scores, class_names=names)
        model.fit(top, np.where(outcomes, label, (label + 1) % n_classes), groups=cell // n_classes)
        card = guarantee_card(model, ALPHA)
        covered = np.isfinite(card.marginal)
        seen = np.array([False, False])
        beyond = errors = bounds = 0.0
        for one in np.flatnonzero(covered).tolist():
            own = card.bins.problem == one
            weight, chance = truth_of[one].of_bins(model.calibrators_[one].edges_)
            gap, met = np.abs(card.bins.value[own] - chance), weight > 0
            outside = (chance < card.bins.lower[own] - 1e-9) | (chance > card.bins.upper[own] + 1e-9)
            seen |= [outside[met].any(), (gap > card.conditional[one])[met].any()]
            beyond += share_of[one] * weight[met][gap[met] > card.marginal[one]].sum() / weight.sum()
            errors += share_of[one] * (weight[met] @ gap[met]) / weight.sum()
            bounds += share_of[one] * card.expected_ece[one]
        reached = share_of[covered].sum()
        found[draw] = (*seen, beyond / reached, errors / bounds, covered.mean())
    means = found.mean(axis=0).tolist()
    names_of = ("intervals", "eps_2", "eps_1", "error_over_bound")
    return dict(zip(names_of, means[:4], strict=True)), means[4]


def _print_groups(draws: int) -> None:
    heads = "k | n | covered | intervals miss | eps_2 fails | beyond eps_1 | error / bound"
    print(f"\n| classes and groups | {heads} |\n| :-- | --: | --: | --: | --: | --: | --: | --: |")
    for cells in CELLS:
        for k, n in ((20, 1_000), (50, 4_000)):
            found, covered = misses_by_group(cells, k, n, draws)
            rates = " | ".join(f"{100 * found[name]:.1f} %" for name in ("intervals", "eps_2", "eps_1"))
            start = f"| {cells} | {k} | {n:,} | {covered:.0%} | {rates}"
            print(f"{start} | {found['error_over_bound']:.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
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
    _print_groups(draws)


if __name__ == "__main__":
    main()
