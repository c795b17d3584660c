"""Sums of counts, scores and outcomes over small cells that make up every equal-width binning.

Unweighted sums are exact, in whole units of 2^-37 (float32 scores below 2^-14 are rounded by up to 4e-12),
and do not depend on how rows are divided into parts. Totals are kept as two float64 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from calib.base.results import Result
from calib.evidence.binning import BinFinder, uniform_edges

#: Most bins of an equal-width binning that whole cells make up.
MOST_BINS = 50
#: Interior edges of the cells: every j/B of these binnings.
EDGES = np.unique(np.concatenate([uniform_edges(n_bins) for n_bins in range(2, MOST_BINS + 1)]))
#: Cells of one class: with 0 and 1 their edges are 775 points.
CELLS = len(EDGES) + 1
#: Units per 1 of sums, and the rows up to which float64 adds units exactly.
UNITS = 2.0**37
EXACT_ROWS = 2**16
#: A number near which float64 holds whole units only.
TO_UNITS = 1.5 * 2.0**52 / UNITS

#: Up to this number of cells for each added row or sum all cells are counted; else the entries are sorted.
DENSE = 4

#: Sums over the rows of a cell besides their number: without weights, and with weights.
PLAIN = ("score", "square")
WEIGHTED = ("score", "square", "weight", "weight_square", "variance")


@cache
def finder(dtype: np.dtype) -> BinFinder:
    return BinFinder(EDGES, dtype)


@dataclass(frozen=True, eq=False, repr=False)
class CellSums(Result):
    """Sums over the rows of each (key, cell, outcome); a key is a class, a group, or 0 for all rows."""

    #: (C,) int64 array: ``(key * CELLS + cell) * 2 + outcome`` of the cells that have rows, ascending
    place: np.ndarray
    count: np.ndarray  #: (C,) int64 array: rows
    #: (M, C) float64: sums of scores and squares (`PLAIN`), or of these times the weights w, of w, w^2 and
    #: w^2 s (1 - s) for a score s (`WEIGHTED`): `high` in float64, `low` the remainder
    high: np.ndarray
    low: np.ndarray

    @classmethod
    def empty(cls, weighted: bool) -> CellSums:
        nothing = np.empty((len(WEIGHTED if weighted else PLAIN), 0))
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), nothing, nothing)

    @property
    def weighted(self) -> bool:
        return len(self.high) == len(WEIGHTED)

    @property
    def key(self) -> np.ndarray:
        return self.place // (2 * CELLS)

    @property
    def cell(self) -> np.ndarray:
        return self.place // 2 % CELLS

    @property
    def outcome(self) -> np.ndarray:
        return self.place % 2

    def of(self, chosen: np.ndarray) -> CellSums:
        return CellSums(self.place[chosen], self.count[chosen], self.high[:, chosen], self.low[:, chosen])

    def total(self, name: str) -> np.ndarray:
        """Return one of the sums of `WEIGHTED`, in float64; without weights, three are computed."""
        if self.weighted or name in PLAIN:
            row = WEIGHTED.index(name)
            return self.high[row] + self.low[row]
        if name == "variance":
            return self.total("score") - self.total("square")
        return self.count.astype(np.float64)

    def with_keys(self, keys: Sequence[int] | np.ndarray) -> CellSums:
        moved = np.asarray(keys, dtype=np.int64)
        place = moved[self.key] * (2 * CELLS) + self.place % (2 * CELLS)
        order = np.argsort(place, kind="stable")
        return CellSums(place[order], self.count[order], self.high[:, order], self.low[:, order])


def added(parts: Sequence[CellSums]) -> CellSums:
    parts = [part for part in parts if len(part.place)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    every, at = _among(np.concatenate([part.place for part in parts]))
    count = np.zeros(len(every), dtype=np.int64)
    high = np.zeros((len(parts[0].high), len(every)))
    low = np.zeros_like(high)
    for part, own in zip(parts, np.split(at, np.cumsum([len(part.place) for part in parts])), strict=False):
        count[own] += part.count
        high[:, own], low[:, own] = two_sum(high[:, own], low[:, own], part.high, part.low)
    return CellSums(every, count, high, low).of(np.flatnonzero(count))


def _among(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places, ascending, that hold all given places, and the index of each given place in them."""
    size = int(place.max(initial=-1)) + 1
    if size <= DENSE * len(place):
        return np.arange(size), place
    return np.unique(place, return_inverse=True)


def two_sum(
    high: np.ndarray, low: np.ndarray, other_high: np.ndarray, other_low: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add pairs of float64 numbers; exact while a sum fits 106 bits (Dekker 1971, Knuth's two-sum)."""
    total = high + other_high
    back = total - high
    lost = (high - (total - back)) + (other_high - back)
    lost += low + other_low
    whole = total + lost
    return whole, lost - (whole - total)


def in_units(values: np.ndarray) -> np.ndarray:
    """Return the nearest whole number of units of each value; halves go up, as in the SQL query."""
    units = values * UNITS
    units += 0.5
    return np.floor(units, out=units)


def integer_pairs(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers of units, int64 below 2^62, as pairs of float64."""
    high = units.astype(np.float64)
    low = (units - high.astype(np.int64)).astype(np.float64)
    return high / UNITS, low / UNITS


def integer_pair(units: int) -> tuple[float, float]:
    high = float(units)
    return high / UNITS, float(units - int(high)) / UNITS


def exact_units(values: np.ndarray) -> int:
    """Return the sum of values in [0, 64), each rounded to whole units, in units; values are overwritten."""
    values += TO_UNITS
    values -= TO_UNITS  # each remainder is the nearest whole number of units
    sums = np.add.reduceat(values, np.arange(0, len(values), 1024))  # below 2^16, and so exact
    return int((sums * UNITS).astype(np.int64).sum())


def cell_sums(
    key: np.ndarray | None,
    score: np.ndarray,
    outcome: np.ndarray,
    weights: np.ndarray | None = None,
) -> CellSums:
    """Return the sums over (n,) rows, given their keys (None for 0), scores, bool outcomes and weights."""
    parts = [CellSums.empty(weights is not None)]
    for start in range(0, len(score), EXACT_ROWS):
        rows = slice(start, start + EXACT_ROWS)
        place = finder(score.dtype)(score[rows])
        place <<= 1
        place += outcome[rows]
        place = place.astype(np.intp)
        if key is not None:
            place += np.multiply(key[rows], 2 * CELLS, dtype=np.intp)
        exact = score[rows].astype(np.float64)
        parts.append(_block_sums(place, exact, None if weights is None else weights[rows]))
    return added(parts)


def _block_sums(place: np.ndarray, score: np.ndarray, weights: np.ndarray | None) -> CellSums:
    """Add up at most `EXACT_ROWS` rows, given their places."""
    every, at = _among(place)
    held = np.bincount(at, minlength=len(every))
    used = np.flatnonzero(held)
    places, count = every[used], held[used]

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, values, len(every))[used]

    if weights is None:  # sums of so few whole numbers are exact in float64
        units = np.stack([total(in_units(score)), total(in_units(score * score))])
        return CellSums(places, count, *integer_pairs(units.astype(np.int64)))
    rows = weights * score, weights * score * score, weights, weights * weights
    high = np.stack([total(values) for values in (*rows, weights * weights * score * (1.0 - score))])
    return CellSums(places, count, high, np.zeros_like(high))
