"""Sums of counts, scores and outcomes over small cells that make up every equal-width binning.

Unweighted sums are exact, in whole units of 2^-37 (float32 scores below 2^-14 are rounded by up to 4e-12),
and do not depend on how rows are divided into parts. Totals are kept as two float64 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

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
#: Most cells with dense sums for each block; above, rows are sorted by cell.
MOST_DENSE = 2**18
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
    if len(parts) == 1:
        return parts[0]
    place = np.unique(np.concatenate([part.place for part in parts]))
    count = np.zeros(len(place), dtype=np.int64)
    high = np.zeros((len(parts[0].high), len(place)))
    low = np.zeros_like(high)
    for part in parts:
        at = np.searchsorted(place, part.place)
        count[at] += part.count
        high[:, at], low[:, at] = two_sum(high[:, at], low[:, at], part.high, part.low)
    return CellSums(place, count, high, low)


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


def in_whole_units(scores: np.ndarray) -> bool:
    """Whether scores need no rounding to units: float32 scores of 2^-14 or more."""
    return scores.dtype == np.float32 and len(scores) > 0 and bool(scores.min() >= 2.0**-14)


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


class CellAdder:
    """Adds up rows block by block; `sums` gives what was added.

    `n_rows` is the number of rows to come, if known: few rows are sorted instead of spread over all cells.
    """

    def __init__(self, n_keys: int, weighted: bool, n_rows: int | None = None) -> None:
        self.size, self.weighted = n_keys * CELLS * 2, weighted
        self.dense = not weighted and self.size <= min(MOST_DENSE, MOST_DENSE if n_rows is None else n_rows)
        self.parts: list[CellSums] = []
        self.place_type: Any = np.int32 if self.size < 2**31 else np.int64
        if self.dense:
            self.count = np.zeros(self.size, dtype=np.int64)
            self.units = np.zeros((len(PLAIN), self.size), dtype=np.int64)
            self.waiting = np.zeros((len(PLAIN), self.size))  # whole numbers, exact for so few rows
            self.rows = self.rows_waiting = 0

    def add(
        self,
        key: np.ndarray | None,
        score: np.ndarray,
        outcome: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        for start in range(0, len(score), EXACT_ROWS):
            rows = slice(start, start + EXACT_ROWS)
            place = self._places(None if key is None else key[rows], score[rows], outcome[rows])
            exact = score[rows].astype(np.float64)
            if self.dense:
                self._add_dense(place, exact, is_whole=in_whole_units(score[rows]))
            else:
                self._add_sorted(place, exact, None if weights is None else weights[rows])

    def _places(self, key: np.ndarray | None, score: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        place = finder(score.dtype)(score).astype(self.place_type, copy=False)
        if key is not None:
            start = key.astype(self.place_type)
            start *= CELLS
            place += start
        place <<= 1
        place += outcome.view(np.int8)
        return place.astype(np.intp)

    def _add_dense(self, place: np.ndarray, score: np.ndarray, *, is_whole: bool) -> None:
        if self.rows_waiting + len(score) > EXACT_ROWS:
            self._settle()
        self.count += np.bincount(place, minlength=self.size)
        squares = in_units(score * score)
        units = np.multiply(score, UNITS, out=score) if is_whole else in_units(score)
        for row, values in enumerate((units, squares)):
            self.waiting[row] += np.bincount(place, values, minlength=self.size)
        self.rows += len(score)
        self.rows_waiting += len(score)
        if self.rows >= 2**24:  # as int64 holds 2^26 rows of 2^37 units
            self._flush()

    def _settle(self) -> None:
        self.units += self.waiting.astype(np.int64)
        self.waiting[:], self.rows_waiting = 0.0, 0

    def _flush(self) -> None:
        self._settle()
        place = np.flatnonzero(self.count)
        pairs = integer_pairs(self.units[:, place])
        self.parts.append(CellSums(place, self.count[place], *pairs))
        self.count[:], self.units[:], self.rows = 0, 0, 0

    def _add_sorted(self, place: np.ndarray, score: np.ndarray, weights: np.ndarray | None) -> None:
        order = np.argsort(place, kind="stable")
        place, score = place[order], score[order]
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
        count = np.diff(np.append(starts, len(place)))
        if weights is None:
            units = in_units(np.stack([score, score * score])).astype(np.int64)
            pairs: Any = integer_pairs(np.add.reduceat(units, starts, axis=1))
        else:
            w = weights[order]
            rows = w * score, w * score * score, w, w * w, w * w * score * (1.0 - score)
            sums = np.add.reduceat(np.stack(rows), starts, axis=1)
            pairs = sums, np.zeros_like(sums)
        self.parts.append(CellSums(place[starts], count, *pairs))
        if len(self.parts) >= 64:
            self.parts = [added(self.parts)]

    def sums(self) -> CellSums:
        if self.dense and self.rows:
            self._flush()
        self.parts = [added(self.parts)] if self.parts else [CellSums.empty(self.weighted)]
        return self.parts[0]
