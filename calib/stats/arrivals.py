"""Rows as they arrive: entries of binary problems in blocks by time, and the bets on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.equal_rows import next_mixed
from calib.data.splits import units_of
from calib.data.validation import plain
from calib.evidence.binning import BinaryProblems

#: Fewest rows of a block, and most blocks of one update; a bet may begin after a block.
BLOCK, MOST_OF_UPDATE = 50, 50

#: Lowest hashes kept to notice rows that come again, and the largest possible hash.
REMEMBERED, LARGEST_HASH = 1_000, 2**62 - 1

#: Words for each kind of times.
CLOCKS = {"row": "no times", "number": "times that are numbers", "date": "times that are dates"}


class Entries:
    """Rows of an update as entries (score, outcome) of binary problems, in blocks by time.

    `units` has, by level, the place of each entry's unit, (m,), and the names of the units; `is_closed` says
    whether there are no other classes; `blocks` are (earliest, latest, rows); `hashes`, (n,) int64, are equal
    for rows with equal scores, outcomes, groups, clusters and given times; `names` are hashes of the names of
    declared clusters, and `n_returned` counts rows left out because their cluster came before.
    """

    def __init__(
        self,
        problems: BinaryProblems,
        class_names: Sequence[str],
        is_closed: bool,
        clock: str,
        times: np.ndarray,
        groups: tuple[np.ndarray, tuple[str, ...]] | None,
        cluster: np.ndarray | None,
        names: np.ndarray | None,
        n_returned: int,
    ) -> None:
        self.names, self.n_returned = names, n_returned
        shape, row = problems.shape, problems.rows
        self.scores, self.outcomes = problems.scores.astype(np.float64), problems.outcomes
        self.residuals, self.is_closed = self.outcomes - self.scores, is_closed
        problem = np.repeat(np.arange(shape.n_problems), np.diff(problems.offsets))
        self.units: dict[str, tuple[np.ndarray, Sequence[str]]] = {}
        if shape.n_claims == 1:
            self.units["all"] = np.zeros(len(row), dtype=np.int64), ("",)
        if shape.n_problems > 1:
            self.units["class"] = problem, class_names
        if groups is not None:
            self.units["group"] = groups[0][row], groups[1]
        row_block = _blocks(times, cluster)
        self.block, self.cluster = (
            row_block[row],
            None if cluster is None else units_of(cluster, len(times))[row],
        )
        inside = [times[row_block == number] for number in range(row_block.max() + 1)]
        self.blocks = [(float(moments.min()), float(moments.max()), len(moments)) for moments in inside]
        entry = next_mixed(
            self.scores.view(np.uint64) ^ next_mixed((2 * problem + self.outcomes).astype(np.uint64))
        )
        hashes = np.zeros(len(times), dtype=np.uint64)
        np.add.at(hashes, row, entry)
        given = None if clock == "row" else times.view(np.uint64)  # rows sent again get other running numbers
        for further in (given, None if groups is None else groups[0], cluster):
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
        """Return the number of bets, the sum of residuals and of their squares by key, (n_keys, 3)."""
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
    column = pd.Series(np.asarray(plain(time))) if np.ndim(time) == 1 else None
    if column is None or len(column) != n:
        raise InputError(f"time must hold one value per row: expected shape ({n},), got {np.shape(time)}")
    if column.isna().any():
        raise InputError(f"time is missing in row {int(column.isna().argmax())}; give every row its time")
    if column.dtype.kind in "iuf":
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
    """Write a time, or the id of a batch."""
    return f"{time:.15g}" if isinstance(time, float) else str(time).removesuffix(" 00:00:00")


def hashes_of(ids: np.ndarray) -> np.ndarray:
    """Return (n,) int64 hashes, at most `LARGEST_HASH`, of (n,) int64 ids."""
    return (next_mixed(ids.view(np.uint64)) >> np.uint64(2)).astype(np.int64)


def digest(hashes: np.ndarray) -> int:
    """Return a hash of rows that does not depend on their order."""
    return int(next_mixed(np.array([hashes.sum(), len(hashes)], dtype=np.uint64)).sum() >> np.uint64(2))
