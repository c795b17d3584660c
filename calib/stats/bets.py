"""Bets against calibration: rows as they arrive, in blocks by time, their payoffs, and the total worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import logit

from calib.base.exceptions import InputError
from calib.data.equal_rows import known_clusters, next_mixed
from calib.data.notions import Notion
from calib.data.predictions import BasePrediction, Values
from calib.data.splits import units_of
from calib.data.validation import as_groups, numbered, plain, refuse_unequal
from calib.evidence.reductions import has_columns, problems_of

#: Fewest rows of a block, and most blocks of one update; a bet may begin after a block.
BLOCK, MOST_OF_UPDATE = 50, 50
#: Number of hashes that are kept, the lowest, to recognise repeated rows; and the largest possible hash.
REMEMBERED, LARGEST_HASH = 1_000, 2**62 - 1
#: Words for each kind of times.
CLOCKS = {"row": "no times", "number": "times that are numbers", "date": "times that are dates"}
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
        return sum((self.sums[at, unit] for at in blocks if (at, unit) in self.sums), np.zeros(3))


class Entries:
    """Rows of an update as entries (score, outcome) of binary problems, in blocks by time.

    `units` has, by level, the place of each entry's unit, (m,), and the names of the units; `is_closed` says
    whether there are no other classes; `blocks` are (earliest, latest, rows); `hashes`, (n,) int64, are equal
    for rows with equal scores, outcomes, groups, clusters and given times; `names` are hashes of the names of
    declared clusters, and `n_returned` counts rows left out because their cluster came before.
    """

    def __init__(
        self,
        rows: BasePrediction,
        notion: Notion,
        clock: str,
        times: np.ndarray,
        groups: Values | None,
        n_returned: int,
    ) -> None:
        self.names = None if rows.cluster is None else hashes_of(rows.cluster)
        self.n_returned, self.is_closed = n_returned, has_columns(rows)
        problems, cluster = problems_of(rows, notion), known_clusters(rows)
        shape, row = problems.shape, problems.rows
        self.scores, self.outcomes = problems.scores.astype(np.float64), problems.outcomes
        self.residuals = self.outcomes - self.scores
        problem = np.repeat(np.arange(shape.n_problems), np.diff(problems.offsets))
        self.units: dict[str, tuple[np.ndarray, Sequence[str]]] = {}
        if shape.n_claims == 1:
            self.units["all"] = np.zeros(len(row), dtype=np.int64), ("",)
        if shape.n_problems > 1:
            self.units["class"] = problem, rows.class_names or numbered(shape.n_classes)
        group = None
        if groups is not None:
            group, names = as_groups(groups, len(times))
            self.units["group"] = group[row], names
        row_block = _blocks(times, cluster)
        self.block = row_block[row]
        self.cluster = None if cluster is None else units_of(cluster, len(times))[row]
        inside = [times[row_block == number] for number in range(row_block.max() + 1)]
        self.blocks = [(float(moments.min()), float(moments.max()), len(moments)) for moments in inside]
        entry = next_mixed(
            self.scores.view(np.uint64) ^ next_mixed((2 * problem + self.outcomes).astype(np.uint64))
        )
        hashes = np.zeros(len(times), dtype=np.uint64)
        np.add.at(hashes, row, entry)
        given = None if clock == "row" else times.view(np.uint64)  # rows sent again get other running numbers
        for further in (given, group, cluster):
            if further is not None:
                hashes = next_mixed(hashes ^ next_mixed(further.astype(np.uint64)))
        self.hashes = (hashes >> np.uint64(2)).astype(np.int64)

    def bets(self, key: np.ndarray) -> Bets:
        """Return the bets of these entries; a key stands for a unit and a block."""
        if self.cluster is None:
            return Bets(key)
        width = int(self.cluster.max()) + 1
        pairs, index = np.unique(key * width + self.cluster, return_inverse=True)
        return Bets(pairs // width, index)


def _blocks(times: np.ndarray, cluster: np.ndarray | None) -> np.ndarray:
    """Return the block of each row, (n,): consecutive rows by time; clusters stay together."""
    n_blocks = min(max(len(times) // BLOCK, 1), MOST_OF_UPDATE)
    block = np.empty(len(times), dtype=np.int64)
    block[np.argsort(times, kind="stable")] = np.arange(len(times)) * n_blocks // len(times)
    if cluster is None:
        return block
    first = pd.Series(block).groupby(cluster).transform("min")
    return np.unique(first, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Bets:
    """Bets with one stake each: an entry, or all entries of a cluster."""

    key: np.ndarray  #: (b,) int array: what each bet belongs to
    index: np.ndarray | None = None  #: (m,) int array: bet of each entry; None if every entry is a bet

    def paid(self, log_factors: np.ndarray) -> np.ndarray:
        """Return the logarithm of each bet's payoff, the mean payoff of its entries."""
        return log_factors if self.index is None else np.log(self._means(np.exp(log_factors)))

    def sums(self, residuals: np.ndarray, n_keys: int) -> np.ndarray:
        means = self._means(residuals)
        columns = [np.bincount(self.key, each, n_keys) for each in (None, means, means**2)]
        return np.column_stack(columns).astype(np.float64)

    def _means(self, values: np.ndarray) -> np.ndarray:
        if self.index is None:
            return values
        means: np.ndarray = np.bincount(self.index, values) / np.bincount(self.index)
        return means


def as_times(time: Any, n: int, n_before: int) -> tuple[str, np.ndarray]:
    """Return the kind of times ("row", "number" or "date") and (n,) float64; dates in seconds since 1970."""
    if time is None:
        return "row", np.arange(n_before, n_before + n, dtype=np.float64)
    with refuse_unequal("time"):
        column = pd.Series(np.asarray(plain(time))) if np.ndim(time) == 1 else None
    if column is None or len(column) != n:
        raise InputError(f"time must hold one value per row: expected shape ({n},), got {np.shape(time)}")
    if isinstance(column.dtype, pd.PeriodDtype):
        column = pd.Series(column.dt.to_timestamp())
    if column.isna().any():
        raise InputError(f"time is missing in row {int(column.isna().argmax())}; give every row its time")
    if pd.api.types.infer_dtype(column) in ("integer", "floating", "mixed-integer-float"):
        return "number", column.to_numpy(np.float64)
    try:
        dates = pd.to_datetime(column, format="ISO8601", utc=True).dt.tz_localize(None)
    except (ValueError, TypeError):
        raise InputError(
            f"time must be numbers or dates such as 2026-03-05; got {column.iloc[0]!r} in the first row"
        ) from None
    return "date", dates.astype("datetime64[us]").astype(np.int64).to_numpy() / 1e6


def moment(time: float, clock: str) -> float | pd.Timestamp:
    """Return a time as the rows have it: a Timestamp if they have dates."""
    return pd.Timestamp(time, unit="s") if clock == "date" else float(time)


def time_words(time: float | pd.Timestamp | str) -> str:
    return f"{time:.15g}" if isinstance(time, float) else str(time).removesuffix(" 00:00:00")


def hashes_of(ids: np.ndarray) -> np.ndarray:
    return (next_mixed(ids.view(np.uint64)) >> np.uint64(2)).astype(np.int64)


def digest(hashes: np.ndarray) -> int:
    """Return a hash of rows that does not depend on their order."""
    return int(next_mixed(np.array([hashes.sum(), len(hashes)], dtype=np.uint64)).sum() >> np.uint64(2))
