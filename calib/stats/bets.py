"""Bets against calibration: their payoffs row by row, and their total worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logit

from calib.base.exceptions import InputError

#: Scores are clipped to this distance from 0 and 1 where that is on the safe side; else there is no bet.
LEAST = 1e-4

#: Equal-width cells of some bets, and of the bounds of reference rows.
CELLS = 5

#: Moves of the log-odds (of all scores, in a cell, or in proportion to themselves), and their stakes.
SHIFTS, CELL_SHIFTS, STRETCHES = (0.1, 0.25, 0.5, 1.0, 2.0), (0.4, 1.2), (-0.5, -0.2, 0.25, 1.0)
SHARES = (0.6, 0.2, 0.2)

#: Largest move of log-odds by a stretch.
MOST_STRETCHED = 3.0

#: Share of the stake that begins at the first row; half of the rest begins within `HALF` rows.
FROM_START, HALF = 1.0 / 3.0, 1000.0

#: Logarithm of the worth of a bet before it begins.
NOTHING = -1e300

#: Exponents that the confidence sequence of a gap is mixed over, for each of two kinds.
EXPONENTS = 0.9 * 0.5 ** np.arange(14.0)


def _listed_bets() -> tuple[np.ndarray, ...]:
    """Return for each bet the shift and the factor of the log-odds, the cell and the log stake."""
    shifts, in_cells = np.outer((1, -1), SHIFTS).ravel(), np.outer((1, -1), CELL_SHIFTS).ravel()
    sizes = len(shifts), CELLS * len(in_cells), len(STRETCHES)
    added = np.concatenate([shifts, np.tile(in_cells, CELLS), np.zeros(sizes[2])])
    times = np.concatenate([np.zeros(sizes[0] + sizes[1]), STRETCHES])
    own_cell = np.repeat(np.arange(CELLS), len(in_cells))
    cell = np.concatenate([np.full(sizes[0], -1), own_cell, np.full(sizes[2], -1)])
    return added, times, cell, np.log(np.repeat(np.array(SHARES) / sizes, sizes))


_ADDED, _TIMES, _CELL, STAKE = _listed_bets()


def log_factors(scores: np.ndarray, outcomes: np.ndarray, lower: Any, upper: Any) -> Iterator[np.ndarray]:
    """Yield the factor by which each bet multiplies its stake in each row, (n,), as a logarithm.

    A bet pays the likelihood ratio of the moved probability to the nearest probability of the null
    hypothesis. Under the null its mean is at most 1.
    """
    sign, cell = np.where(outcomes, -1.0, 1.0), cell_of(scores)
    own = logit(np.clip(scores, LEAST, 1.0 - LEAST))
    sides = []
    for nearest in (np.maximum(scores + upper, LEAST), np.minimum(scores + lower, 1.0 - LEAST)):
        possible = (nearest >= LEAST) & (nearest <= 1.0 - LEAST)
        odds = sign * logit(np.where(possible, nearest, 0.5))
        sides.append(np.stack([possible, odds, np.logaddexp(0.0, odds)]))
    by_own = np.where(own > 0.0, *sides), np.where(own > 0.0, *sides[::-1])
    for added, times, bet_cell in zip(_ADDED.tolist(), _TIMES.tolist(), _CELL.tolist(), strict=True):
        rows = slice(None) if bet_cell < 0 else cell == bet_cell
        moved = sign[rows] * (added or np.clip(times * own[rows], -MOST_STRETCHED, MOST_STRETCHED))
        possible, odds, before = (sides if added else by_own)[(added or times) < 0.0][:, rows]
        factors = np.zeros(len(scores))
        factors[rows] = possible * (before - np.logaddexp(0.0, odds + moved))
        yield factors


def cell_of(scores: np.ndarray) -> np.ndarray:
    return np.minimum((scores * CELLS).astype(np.int64), CELLS - 1)


def begun_by(n_bets: Any) -> Any:
    """Return the share of the stake on bets that begin within the first n rows; 0 for no rows."""
    later = 1.0 - (1.0 - FROM_START) / (1.0 + np.log2(1.0 + np.asarray(n_bets) / HALF))
    return np.where(np.asarray(n_bets) > 0, later, 0.0)


def gap_bounds(sums: np.ndarray, alpha: float) -> tuple[float, float]:
    """Return the confidence sequence of a gap: it contains the gap at all times, except with chance alpha.

    The gap is the mean of P(outcome) - score over the rows so far. For an outcome Y in [0, 1] with mean p
    given all before it and a score s, ``exp(x (Y - p) - c)`` has a mean of at most 1 with ``c = (-log(1 - x)
    - x) (Y - s)**2`` for 0 <= x < 1 (Fan, Grama & Liu 2015; Howard, Ramdas, McAuliffe & Sekhon 2021,
    "empirical Bernstein") and with ``c = x**2 / 8`` (Hoeffding 1963). The products over rows are mixed over
    both and over x, on either side.
    """
    n, total, square = sums.tolist()
    if n == 0:
        return -1.0, 1.0
    exponents = np.concatenate([EXPONENTS, 4.0 * EXPONENTS])
    bernstein = (-np.log1p(-EXPONENTS) - EXPONENTS) * square
    cost = np.concatenate([bernstein, 2.0 * EXPONENTS**2 * n])
    limit = np.log(2.0 / alpha * len(exponents))

    def above(distance: float) -> float:
        return float(np.logaddexp.reduce(exponents * distance - cost) - limit)

    distance = brentq(above, 0.0, float(((limit + cost) / exponents).min()) + 1.0)
    return max((total - distance) / n, -1.0), min((total + distance) / n, 1.0)


@dataclass(eq=False)
class Level:
    """The units of evidence at one level: all rows, each class, or each group."""

    names: list[str] = field(default_factory=list)  #: The U units in the order in which they came
    n_first: int = 0  #: Units of the first update
    #: (U,): Share of each unit in the evidence of the level; the rest is for units that come later
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    #: (U,) int array: bets made for each unit: its rows, or clusters of rows
    n_bets: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: (U, K): Logarithm of the worth of each bet with stake 1: over all beginnings, and from the best
    mixed: np.ndarray = field(default_factory=lambda: np.zeros((0, len(STAKE))))
    best: np.ndarray = field(default_factory=lambda: np.zeros((0, len(STAKE))))
    #: (U, K) int: Block of the best beginning
    begun: np.ndarray = field(default_factory=lambda: np.zeros((0, len(STAKE)), dtype=np.int64))
    #: Bets, and sums of outcome - score and of its squares, by (block, unit)
    sums: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def copy(self) -> Level:
        """Return a level that changes by itself."""
        arrays = {name: value.copy() for name, value in vars(self).items() if name != "n_first"}
        return Level(n_first=self.n_first, **arrays)

    def places(self, names: Sequence[str], is_closed: bool) -> np.ndarray:
        """Return the positions of units, and add new units; `is_closed` if there will be no others."""
        new = [name for name in names if name not in self.names]
        if new and self.names and self.weights.sum() > 1.0 - 1e-9:
            raise InputError(f"earlier rows had {len(self.names):,} classes; got the class {new[0]!r}, too")
        if new:
            self.n_first = self.n_first or len(new)
            later = np.arange(len(self.names), len(self.names) + len(new)) - self.n_first + 1.0
            first = (1.0 if is_closed else 0.5) / self.n_first
            shares = np.where(later < 1.0, first, 0.5 / np.maximum(later * (later + 1.0), 1.0))
            nothing = np.full((len(new), len(STAKE)), NOTHING)
            self.names += new
            self.weights = np.append(self.weights, shares)
            self.n_bets = np.append(self.n_bets, np.zeros(len(new), dtype=np.int64))
            self.mixed, self.best = np.vstack([self.mixed, nothing]), np.vstack([self.best, nothing])
            self.begun = np.vstack([self.begun, np.zeros_like(nothing, dtype=np.int64)])
        place = {name: at for at, name in enumerate(self.names)}
        return np.array([place[name] for name in names])

    def bet(self, block: int, sums: np.ndarray, factors: np.ndarray) -> None:
        """Add a block: the sums of each unit, (U, 3), and the payoffs of its bets, (U, K), as logarithms."""
        units = np.flatnonzero(sums[:, 0])
        before = self.n_bets[units]
        self.n_bets[units] += sums[units, 0].astype(np.int64)
        starting = np.log(begun_by(self.n_bets[units]) - begun_by(before))[:, None]
        self.mixed[units] = np.logaddexp(self.mixed[units], starting) + factors[units]
        anew = self.best[units] < starting
        self.begun[units] = np.where(anew, block, self.begun[units])
        self.best[units] = np.maximum(self.best[units], starting) + factors[units]
        self.sums |= {(block, unit): sums[unit] for unit in units.tolist()}

    def log_evidence(self) -> np.ndarray:
        waiting = np.log1p(-begun_by(self.n_bets))
        return np.logaddexp(np.logaddexp.reduce(self.mixed + STAKE, axis=1), waiting)

    def log_mean(self) -> float:
        """Return the logarithm of the e-value of the level: the weighted mean over units."""
        mean = np.logaddexp.reduce(self.log_evidence() + np.log(self.weights))
        rest = 1.0 - self.weights.sum()
        return float(mean if rest < 1e-9 else np.logaddexp(mean, np.log(rest)))

    def halve(self) -> None:
        """Merge neighbouring blocks."""
        sums: dict[tuple[int, int], np.ndarray] = {}
        for (block, unit), sums_of_block in self.sums.items():
            sums[block // 2, unit] = sums.get((block // 2, unit), 0.0) + sums_of_block
        self.sums, self.begun = sums, self.begun // 2

    def gap_sums(self, unit: int, blocks: range) -> np.ndarray:
        """Return the number of bets, the sum and the sum of squares of a unit in some blocks, (3,)."""
        return sum((self.sums[at, unit] for at in blocks if (at, unit) in self.sums), np.zeros(3))
