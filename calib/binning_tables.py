"""The tables that everything is computed from: sorted binary problems, and their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.exceptions import InputError

Notion = Literal["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]
Strategy = Literal["uniform", "quantile", "discrete"]


@dataclass(frozen=True, eq=False)
class BinaryProblems:
    """Binary problems (score, outcome), sorted by (problem, score), with prefix sums.

    Any binning is then a few `searchsorted` per problem and differences of prefix sums: moving a slider
    or sweeping the number of bins costs the same whatever the number of rows.

    Attributes
    ----------
    notion : str
        The M2B notion the problems came from (Table 1 of the paper).
    n_samples, n_classes : int
        Rows n and classes L of the predictions.
    n_claims : int
        Binary claims the notion verifies: 1 (confidence, top-label), L (class-wise) or K (top-K).
    offsets : (P + 1,) int64 array
        Problem p owns the entries ``offsets[p]:offsets[p + 1]``.
    scores : (m,) float array
        Scores, ascending inside each problem.
    rows : (m,) int array
        The row each entry came from.
    outcomes : (m,) bool array
        Outcome of each entry.
    """

    notion: Notion
    n_samples: int
    n_classes: int
    n_claims: int
    offsets: np.ndarray
    scores: np.ndarray
    rows: np.ndarray
    outcomes: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def n_problems(self) -> int:
        """Number of binary problems P: 1, L, K or K * L."""
        return len(self.offsets) - 1

    @cached_property
    def score_sums(self) -> np.ndarray:
        """Prefix sums of `scores`, (m + 1,) float64, starting with 0."""
        sums = np.zeros(len(self.scores) + 1)
        np.cumsum(self.scores, dtype=np.float64, out=sums[1:])
        return sums

    @cached_property
    def outcome_sums(self) -> np.ndarray:
        """Prefix sums of `outcomes`, (m + 1,) int64, starting with 0."""
        sums = np.zeros(len(self.outcomes) + 1, dtype=np.int64)
        np.cumsum(self.outcomes, dtype=np.int64, out=sums[1:])
        return sums

    @cached_property
    def tie_starts(self) -> np.ndarray:
        """Positions where a run of equal scores inside one problem starts, ascending int64."""
        starts = np.ones(len(self.scores), dtype=bool)
        np.not_equal(self.scores[1:], self.scores[:-1], out=starts[1:])
        starts[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return np.flatnonzero(starts)

    def labels_of(self, problem: np.ndarray) -> np.ndarray:
        """Class code each problem is about, -1 where it pools all classes (confidence, top-K-confidence)."""
        if self.notion in ("confidence", "top-k-confidence"):
            return np.full(np.shape(problem), -1)
        return np.asarray(problem) % self.n_classes

    def claims_of(self, problem: np.ndarray) -> np.ndarray:
        """Claim (0-based) each problem belongs to; problems of one claim share its rows."""
        return np.asarray(problem) * self.n_claims // self.n_problems

    def problem(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Sorted scores and outcomes of one problem."""
        own = slice(self.offsets[index], self.offsets[index + 1])
        return self.scores[own], self.outcomes[own]


@dataclass(frozen=True, eq=False)
class BinStatistics:
    """One row per non-empty cell (problem, bin), ordered by problem and bin.

    Attributes
    ----------
    notion, strategy : str
        What was reduced, and how it was binned.
    n_bins : int
        Bins per problem asked for (for "discrete": the most distinct scores any problem has).
    n_samples, n_classes, n_claims, n_problems : int
        Sizes of the reduction, as in `BinaryProblems`.
    problem, bin : (C,) int64 arrays
        Which problem and which bin of it, 0-based.
    label : (C,) int64 array
        Class code of the problem, -1 where classes are pooled.
    claim : (C,) int64 array
        Claim of the problem.
    start, stop : (C,) int64 arrays
        The cell's entries ``start:stop`` in the sorted arrays.
    lower, upper : (C,) float64 arrays
        Bin edges ("uniform"), or the smallest and largest score in the cell.
    count : (C,) int64 array
        Entries in the cell.
    mean_score, mean_outcome : (C,) float64 arrays
        Plug-in estimates of the mean score and of the frequency of the outcome.
    """

    notion: Notion
    strategy: Strategy
    n_bins: int
    n_samples: int
    n_classes: int
    n_claims: int
    n_problems: int
    problem: np.ndarray
    bin: np.ndarray
    label: np.ndarray
    claim: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    count: np.ndarray
    mean_score: np.ndarray
    mean_outcome: np.ndarray

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def gap(self) -> np.ndarray:
        """Signed miscalibration of each cell, outcome minus score: positive is underconfident."""
        return self.mean_outcome - self.mean_score

    @property
    def share(self) -> np.ndarray:
        """Share of the n * n_claims entries in each cell; sums to 1."""
        return self.count / (self.n_samples * self.n_claims)

    def ece(self, norm: float = 1) -> float:
        """Mean over claims of (sum over cells of share |gap|^norm)^(1/norm); see `calib.ece`."""
        weights = self.count / self.n_samples * np.abs(self.gap) ** norm
        per_claim = np.bincount(self.claim, weights=weights, minlength=self.n_claims)
        return float(np.mean(per_claim ** (1.0 / norm)))

    def mce(self, aggregate: str = "cell") -> float:
        """Largest |gap| over cells, or over bins of the class-averaged |gap|; see `calib.mce`."""
        if aggregate == "cell":
            return float(np.abs(self.gap).max())
        if aggregate == "bin":
            return float(np.nanmax(self.bin_deltas()[0]))
        raise InputError(f'aggregate must be "cell" or "bin"; got {aggregate!r}')

    def bin_deltas(self) -> tuple[np.ndarray, np.ndarray]:
        """Delta_b of section 2.1 and the count of each bin b, both (n_bins,); NaN where a bin is empty."""
        counts = np.bincount(self.bin, weights=self.count, minlength=self.n_bins)
        totals = np.bincount(self.bin, weights=self.count * np.abs(self.gap), minlength=self.n_bins)
        deltas = np.divide(totals, counts, out=np.full(self.n_bins, np.nan), where=counts > 0)
        return deltas, counts.astype(np.int64)

    def frame(self) -> pd.DataFrame:
        """Return the cells as a table, one row each, for CSV downloads."""
        return pd.DataFrame(
            {
                "problem": self.problem,
                "label": self.label,
                "bin": self.bin,
                "lower": self.lower,
                "upper": self.upper,
                "count": self.count,
                "mean_score": self.mean_score,
                "mean_outcome": self.mean_outcome,
                "gap": self.gap,
            }
        )


def stack_problems(parts: Sequence[BinStatistics]) -> BinStatistics:
    """Join the cells of P one-problem tables over the same rows, one per claim, into one table."""
    own = np.repeat(np.arange(len(parts)), [len(part.count) for part in parts])
    joined: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(BinStatistics)
        if isinstance(getattr(parts[0], field.name), np.ndarray)
    }
    joined |= {"problem": own, "claim": own, "label": own}
    for name in ("start", "stop"):
        joined[name] = joined[name] + own * parts[0].n_samples
    n_bins = max(part.n_bins for part in parts)
    return replace(parts[0], n_bins=n_bins, n_claims=len(parts), n_problems=len(parts), **joined)


def _freeze(result: BinaryProblems | BinStatistics) -> None:
    for value in vars(result).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
