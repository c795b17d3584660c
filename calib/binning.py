"""Bins: the one implementation of bin assignment and of bin statistics.

Every bin in this library, fitted or for display, is half-open on the right: a score s is in the bin
with the largest lower edge <= s, and the last bin is closed. Scores are compared with the exact float64
edge j/B; for float32 scores the edge is rounded up to the next float32, which decides the same way.
"""

from __future__ import annotations

import numpy as np

from calib.binning_tables import BinaryProblems, BinStatistics, Notion, Strategy, stack_problems
from calib.exceptions import InputError
from calib.validation import check_count

__all__ = [
    "BinStatistics",
    "BinaryProblems",
    "Notion",
    "Strategy",
    "assign_bins",
    "bin_statistics",
    "check_count",
    "equal_mass_cuts",
    "stack_problems",
    "uniform_edges",
]


def bin_statistics(
    problems: BinaryProblems, *, n_bins: int = 15, strategy: Strategy = "uniform"
) -> BinStatistics:
    """Return counts, mean scores and outcome frequencies of every non-empty (problem, bin) cell.

    Parameters
    ----------
    problems : BinaryProblems
        From `reduce_to_binary`.
    n_bins : int
        Bins per problem, 1 or more; ignored by "discrete".
    strategy : {"uniform", "quantile", "discrete"}
        Equal width [0, 1/B), ..., [1 - 1/B, 1]; equal mass, never splitting equal scores; or one bin per
        distinct score, as the paper assesses histogram binning (Remark 1).

    Raises
    ------
    InputError
        If `n_bins` or `strategy` is not one of these.
    """
    if strategy not in ("uniform", "quantile", "discrete"):
        raise InputError(f'strategy must be "uniform", "quantile" or "discrete"; got {strategy!r}')
    if strategy == "discrete":
        start, problem, bin_ = _discrete_cells(problems)
        n_bins = int(bin_.max()) + 1
    else:
        n_bins = check_count(n_bins, "n_bins")
        cells = _uniform_cells if strategy == "uniform" else _quantile_cells
        start, problem, bin_ = cells(problems, n_bins)
    stop = np.append(start[1:], len(problems.scores))
    kept = stop > start
    start, stop, problem, bin_ = start[kept], stop[kept], problem[kept], bin_[kept]
    count = stop - start
    mean_score = (problems.score_sums[stop] - problems.score_sums[start]) / count
    if strategy == "discrete":  # one value per cell: its mean needs no rounding
        mean_score = problems.scores[start].astype(np.float64)
    if strategy == "uniform":
        lower, upper = bin_ / n_bins, (bin_ + 1) / n_bins
    else:
        lower, upper = (problems.scores[at].astype(np.float64) for at in (start, stop - 1))
    return BinStatistics(
        notion=problems.notion,
        strategy=strategy,
        n_bins=n_bins,
        n_samples=problems.n_samples,
        n_classes=problems.n_classes,
        n_claims=problems.n_claims,
        n_problems=problems.n_problems,
        problem=problem,
        bin=bin_,
        label=problems.labels_of(problem),
        claim=problems.claims_of(problem),
        start=start,
        stop=stop,
        lower=lower,
        upper=upper,
        count=count,
        mean_score=mean_score,
        mean_outcome=(problems.outcome_sums[stop] - problems.outcome_sums[start]) / count,
    )


def uniform_edges(n_bins: int) -> np.ndarray:
    """Interior edges j/B of equal-width bins, (B - 1,) float64."""
    return np.arange(1, n_bins) / n_bins


def assign_bins(scores: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Bin of each score, (n,) int64: the number of interior edges that are <= it."""
    return np.searchsorted(edges, np.asarray(scores, dtype=np.float64), side="right")


def equal_mass_cuts(group_ends: np.ndarray, n_bins: int) -> np.ndarray:
    """Cut a sorted sample into at most B bins of about n/B entries without splitting equal scores.

    Parameters
    ----------
    group_ends : (G,) int array
        Ascending positions after each run of equal scores; the last is n.
    n_bins : int
        Bins wanted.

    Returns
    -------
    (b + 1,) int64 array
        Positions 0 = c_0 < c_1 < ... < c_b = n with b <= B. Every bin holds at least floor(n/B) entries;
        without ties the sizes are those of `numpy.array_split`.
    """
    total = int(group_ends[-1])
    share = max(total // n_bins, 1)
    cuts = [0]
    while len(cuts) < n_bins:
        bins_left = n_bins - len(cuts) + 1
        target = max(share, -(-(total - cuts[-1]) // bins_left))
        reached = int(np.searchsorted(group_ends, cuts[-1] + target))
        stop = int(group_ends[min(reached, len(group_ends) - 1)])
        if total - stop < share:
            break
        cuts.append(stop)
    return np.array([*cuts, total], dtype=np.int64)


def _uniform_cells(problems: BinaryProblems, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    edges = uniform_edges(n_bins).astype(problems.scores.dtype)
    below = edges < uniform_edges(n_bins)
    edges[below] = np.nextafter(edges[below], edges.dtype.type(2))
    starts = np.empty((problems.n_problems, n_bins), dtype=np.int64)
    starts[:, 0] = problems.offsets[:-1]
    for problem in range(problems.n_problems):
        scores = problems.scores[problems.offsets[problem] : problems.offsets[problem + 1]]
        starts[problem, 1:] = problems.offsets[problem] + np.searchsorted(scores, edges)
    owner = np.repeat(np.arange(problems.n_problems), n_bins)
    return starts.ravel(), owner, np.tile(np.arange(n_bins), problems.n_problems)


def _quantile_cells(problems: BinaryProblems, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = np.append(problems.tie_starts[1:], len(problems.scores))
    first = np.searchsorted(ends, problems.offsets, side="right")
    starts, owners, bins = [], [], []
    for problem in np.flatnonzero(np.diff(problems.offsets)):
        offset = problems.offsets[problem]
        cuts = equal_mass_cuts(ends[first[problem] : first[problem + 1]] - offset, n_bins)[:-1]
        starts.append(offset + cuts)
        owners.append(np.full(len(cuts), problem))
        bins.append(np.arange(len(cuts)))
    return np.concatenate(starts), np.concatenate(owners), np.concatenate(bins)


def _discrete_cells(problems: BinaryProblems) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = problems.tie_starts
    owner = np.searchsorted(problems.offsets, starts, side="right") - 1
    return starts, owner, np.arange(len(starts)) - np.searchsorted(starts, problems.offsets)[owner]
