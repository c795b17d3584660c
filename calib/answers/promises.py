"""Promises about new rows: thresholds that are tested in a fixed sequence, and the words for them.

Thresholds are fixed before the rows are seen. A sequence of tests starts at one of them and ends at the first
that fails, so that the whole sequence has the level of a single test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betainc, expit

from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import Dependence
from calib.stats.intervals import few_clusters_factor

#: Sequences of tests, from few to many confident rows.
STARTS = 4
#: Fewest rows from whose share of wrong rows calib predicts how many rows would suffice.
MIN_SHOWN = 10
#: Distance of thresholds in log-odds, and the log-odds of the highest and of the lowest above 0.
STEP, HIGHEST, LOWEST = 0.05, 12.0, -7.0


def grid(lowest: float = LOWEST) -> np.ndarray:
    """Return the thresholds that are tested, descending to 0, the same for all data."""
    return np.append(expit(np.arange(HIGHEST, lowest - STEP / 2, -STEP)), 0.0)


def starts_of(accepted: np.ndarray, risk: float, level: float, worth: float = 1.0) -> list[int]:
    """Return the positions at which tests start; their coverages have equal ratios, up to all rows."""
    total = float(accepted[-1])
    least = min(2.0 * np.log(level) / np.log1p(-risk) / worth, total)
    counts = total * (least / total) ** (np.arange(STARTS)[::-1] / (STARTS - 1))
    return np.searchsorted(accepted, np.maximum(np.floor(counts), 1.0)).tolist()


def in_sequence(passes: np.ndarray, starts: Sequence[int]) -> np.ndarray:
    """Return which thresholds pass, as all others do since some start."""
    kept = np.zeros(len(passes), dtype=bool)
    for start in starts:
        kept[start:] |= np.logical_and.accumulate(passes[start:])
    return kept


def passed(
    accepted: np.ndarray,
    wrong: np.ndarray,
    risk: float,
    starts: Sequence[int],
    level: float,
    worth: np.ndarray | float = 1.0,
) -> int:
    """Return the position of the last threshold that passes from any start, -1 if none does."""
    kept = in_sequence(_tail(accepted * worth, wrong * worth, risk) <= level, starts)
    return int(np.flatnonzero(kept).max(initial=-1))


def smallest(passes: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number above `low`, which fails, and up to `high`, which passes, by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def accepted_and_wrong(
    confidence: np.ndarray, right: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of accepted and of wrong accepted rows at each threshold."""
    first = np.searchsorted(confidence, thresholds)
    wrong = np.append(np.cumsum(~right[::-1])[::-1], 0)
    return len(confidence) - first, wrong[first]


def _tail(rows: Any, wrong: Any, risk: float) -> Any:
    """Return the chance of at most `wrong` wrong rows: the binomial tail, also for fractions of rows."""
    right = np.maximum(rows - wrong, 0.0)
    return np.where(right > 0.0, betainc(np.maximum(right, 1e-9), wrong + 1.0, 1.0 - risk), 1.0)


#: Threshold of each problem, whether any accepts rows, and else how many rows would suffice, if known.
Found = tuple[np.ndarray, bool, int | None]


@dataclass(frozen=True, eq=False)
class ThresholdSearch:
    """Search for the lowest thresholds whose accepted rows keep an accuracy."""

    problems: BinaryProblems
    dependence: Dependence | None  #: Dependence of rows in clusters
    risk: float  #: Largest share of wrong rows among accepted rows
    recall: float  #: Smallest share of right rows that is accepted
    level: float  #: Each sequence of tests errs with at most this chance

    def each(self) -> Found:
        """Search a threshold for each problem, at the level divided by their number."""
        level, tested = self.level / np.count_nonzero(np.diff(self.problems.offsets)), grid()
        thresholds, needed = np.full(self.problems.n_problems, np.inf), []
        for index in range(self.problems.n_problems):
            confidence, right, rows = self._rows_of(index)
            last, rows_needed = self._last(confidence, right, rows, tested, level)
            if last >= 0:
                thresholds[index] = max(tested[last], float(confidence[0]))
            elif rows_needed is not None:
                needed.append(rows_needed)
        found = bool(np.isfinite(thresholds).any())
        return thresholds, found, None if found else min(needed, default=None)

    def overall(self) -> Found:
        """Search thresholds for what all problems accept together.

        Half of the rows ranks the rows, the other half tests the ranks.
        """
        n_problems, n_samples = self.problems.n_problems, self.problems.n_samples
        if self.dependence is None:
            first = np.zeros(n_samples, dtype=bool)
            first[self.problems.rows[::2]] = True
        else:
            first = self.dependence.cluster % 2 == 0
        rank, right = np.zeros(n_samples), np.zeros(n_samples, dtype=bool)
        curves, lowest = [], []
        for index in range(n_problems):
            confidence, outcome, rows = self._rows_of(index)
            mine = first[rows]
            score, where = np.unique(confidence[mine], return_inverse=True)
            count = np.bincount(where, minlength=len(score))
            happened = np.bincount(where, outcome[mine], len(score))
            curve = isotonic_regression(happened / np.maximum(count, 1), weights=count).x
            rank[rows] = np.append(0.0, curve)[np.searchsorted(score, confidence, side="right")]
            right[rows] = outcome
            curves.append((score, curve))
            lowest.append(float(confidence[~mine].min(initial=np.inf)))
        rows = np.flatnonzero(~first)
        rows = rows[np.argsort(rank[rows], kind="stable")]
        tested = np.unique(np.concatenate([curve for _, curve in curves]))[::-1]
        last, needed = self._last(rank[rows], right[rows], rows, tested, self.level)
        thresholds = np.full(n_problems, np.inf)
        for index, (score, curve) in enumerate(curves if last >= 0 else ()):
            accepted = score[np.searchsorted(curve, tested[last]) :]
            if len(accepted):
                scores = self.problems.problem(index)[0]
                below = scores[np.searchsorted(scores, accepted[0]) - 1 :][0]
                # Between two scores: equality would depend on the last digit.
                between = (below + accepted[0]) / 2.0 if below < accepted[0] else accepted[0]
                thresholds[index] = max(between, lowest[index])
        return thresholds, last >= 0, needed

    def _rows_of(self, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ends = self.problems.offsets
        return *self.problems.problem(index), self.problems.rows[ends[index] : ends[index + 1]]

    def _last(
        self, confidence: np.ndarray, right: np.ndarray, rows: np.ndarray, tested: np.ndarray, level: float
    ) -> tuple[int, int | None]:
        """Return the position of the last threshold that passes (-1: none), and the number of rows needed."""
        accepted, wrong = accepted_and_wrong(confidence, right, tested)
        if not accepted[-1]:
            return -1, None
        worth = np.ones(len(tested))
        if self.dependence is not None:
            few = few_clusters_factor(self.dependence.even_clusters(rows), 2.0 * level)
            worth = few / self.dependence.effects_of_first(rows[::-1], self.risk)[accepted]
        each = level / 2.0 if self.recall else level
        starts = starts_of(accepted, self.risk, each, float(worth[-1]))
        last = passed(accepted, wrong, self.risk, starts, each, worth)
        if last >= 0 and self.recall:  # a second sequence, which starts at all rows
            n_right = np.count_nonzero(right)
            left = n_right - (accepted - wrong)[last:]
            tail = _tail(n_right * worth[last:], left * worth[last:], 1.0 - self.recall)
            last = last if (tail <= STARTS * each).all() else -1
        if last >= 0 or self.recall:
            return last, None
        return -1, self._rows_needed(accepted, wrong, level, worth)

    def _rows_needed(
        self, accepted: np.ndarray, wrong: np.ndarray, level: float, worth: np.ndarray
    ) -> int | None:
        """Return how many rows the most confident half, quarter, ... would need with this share wrong."""
        needed = []
        parts = accepted[-1] / 2.0 ** np.arange(np.log2(max(accepted[-1] / MIN_SHOWN, 2.0)))
        for at in np.searchsorted(accepted, parts).tolist():
            share = wrong[at] / accepted[at]
            if share >= self.risk:
                continue

            def passes(rows: int, share: float = share, each: float = float(worth[at])) -> bool:
                return bool(_tail(rows * each, np.ceil(rows * share) * each, self.risk) <= level)

            low = int(accepted[at])
            high = max(2 * low, 2)
            while not passes(high) and high < 2**40:
                low, high = high, 2 * high
            needed.append(smallest(passes, low, high) * self.problems.n_samples / accepted[at])
        return int(np.ceil(min(needed))) if needed else None


def promise_words(
    guarantee: str | None, unpromised: str | None, dependence: str | None, remark: str, otherwise: str = ""
) -> str:
    """Say what is promised, or why nothing is; `remark` is about rows that may belong together."""
    said = guarantee or otherwise
    if guarantee is None and unpromised is not None:
        said = f"Nothing is promised for new rows: {unpromised}."
    if dependence is not None:
        said += f" {dependence[0].upper()}{dependence[1:]} may belong together: {remark}."
    return said
