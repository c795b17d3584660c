"""How often the statements of a guarantee card fail, for bins as calib builds them, with alpha = 10 %.

``python -m benchmarks.guarantee_coverage``: calibration rows are drawn anew from populations whose truth is
known. Shown is the share of draws in which the Clopper-Pearson intervals of the bins, or eps_2, miss the
truth of any bin, the share of new rows farther from it than eps_1, and the mean error over its bound. In
the second table, of calibrators that condition on predicted class and group, a miss is one in any bin of
any (class, group) that the card covers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.simulation import Draws, Table, main, mean, rate
from calib import HistogramBinning, MulticlassToBinary, Predictions, TopLabelPrediction, guarantee_card
from calib.answers import GuaranteeCard

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


def _against(truth: Truth, model: MulticlassToBinary, card: GuaranteeCard, problem: int) -> np.ndarray:
    """Return whether intervals, and eps_2, miss in a problem; rows beyond eps_1, and the mean error."""
    own = card.bins.problem == problem
    shares, chance = truth.of_bins(model.calibrators_[problem].edges_)
    gap, met = np.abs(card.bins.value[own] - chance), shares > 0
    outside = (chance < card.bins.lower[own] - 1e-9) | (chance > card.bins.upper[own] + 1e-9)
    beyond = shares[met][gap[met] > card.marginal[problem]].sum() / shares.sum()
    error = shares[met] @ gap[met] / shares.sum()
    return np.array([outside[met].any(), (gap > card.conditional[problem])[met].any(), beyond, error])


def misses(name: str, k: int, n: int) -> Draws:
    """Yield which statements fail, and the error over its bound."""
    truth, generator = next(one for one in truths() if one.name == name), np.random.default_rng(0)
    while True:
        scores, outcomes = truth.draw(n, generator)
        proba = np.column_stack([1.0 - scores, scores])
        rows = Predictions(proba, cluster=np.arange(n))  # equal scores with equal outcomes are no copies here
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), notion="class-wise")
        card = guarantee_card(model.fit(rows, outcomes.astype(int)), ALPHA)
        found = dict(zip(STATEMENTS, _against(truth, model, card, 1), strict=True))
        found["error"] /= card.expected_ece[1]
        yield found | {"reach": card.reach[1] / card.conditional[1]}


#: By name, the share of each class and group, and which truths they have in turn.
CELLS: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
    "2 classes, 3 groups, even": (np.full((2, 3), 1 / 6), (0, 1, 4)),
    "3 classes, 4 groups, 10 to 1": (np.outer([0.5, 0.3, 0.2], [10, 5, 2, 1]) / 18, (0, 3, 1, 2, 4)),
    "2 classes, 2 groups, all 1/2": (np.full((2, 2), 1 / 4), (1,)),
    "2 classes, 2 groups, ties": (np.array([[0.4, 0.3], [0.2, 0.1]]), (5, 6, 7)),
}


def misses_by_group(cells: str, k: int, n: int) -> Draws:
    """Yield which statements fail over all (class, group), and the share of them covered."""
    shares, kinds = CELLS[cells]
    n_classes, every = len(shares), truths()
    # As in `NotionShape`: the problem of (group, class) is group * L + class.
    truth_of = [every[kinds[cell % len(kinds)]] for cell in range(shares.size)]
    share_of, generator = shares.T.ravel(), np.random.default_rng(0)
    names = tuple(str(code) for code in range(n_classes))
    while True:
        cell = generator.choice(share_of.size, n, p=share_of)
        scores, outcomes = np.empty(n), np.empty(n, dtype=bool)
        for problem, truth in enumerate(truth_of):
            rows = np.flatnonzero(cell == problem)
            scores[rows], outcomes[rows] = truth.draw(len(rows), generator)
        label = cell % n_classes
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k), by=("class", "group"))
        top = TopLabelPrediction(label, scores, class_names=names, cluster=np.arange(n))
        model.fit(top, np.where(outcomes, label, (label + 1) % n_classes), groups=cell // n_classes)
        card = guarantee_card(model, ALPHA)
        covered = np.flatnonzero(np.isfinite(card.marginal))
        weight = share_of[covered]
        missed, eps_2, beyond, error = np.array(
            [_against(truth_of[problem], model, card, problem) for problem in covered.tolist()]
        ).T
        yield {
            "covered": len(covered) / share_of.size,
            "intervals": missed.any(),
            "eps_2": eps_2.any(),
            "eps_1": weight @ beyond / weight.sum(),
            "error": weight @ error / (weight @ card.expected_ece[covered]),
        }


STATEMENTS = ("intervals", "eps_2", "eps_1", "error")
SHOWN = {
    "intervals miss (up to 10 %)": ("intervals", rate),
    "eps_2 fails (up to 10 %)": ("eps_2", rate),
    "beyond eps_1 (up to 10 %)": ("eps_1", rate),
    "error / bound": ("error", mean(".2f")),
}
TABLES = [
    Table(
        ("truth", "k", "n"),
        [
            (truth.name, *size)
            for truth in truths()
            for size in ((10, 500), (20, 400), (50, 500), (50, 5_000))
        ],
        misses,
        SHOWN | {"reach / eps_2": ("reach", mean(".2f"))},
    ),
    Table(
        ("classes and groups", "k", "n"),
        [(cells, *size) for cells in CELLS for size in ((20, 1_000), (50, 4_000))],
        misses_by_group,
        {"covered": ("covered", mean(".0%"))} | SHOWN,
    ),
]

if __name__ == "__main__":
    main(1_000)
