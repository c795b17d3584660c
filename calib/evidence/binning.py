"""Binary problems, their bins and cells: the only implementation of bin assignment and bin statistics.

Every bin is half-open on the right: a score s is in the bin with the largest lower edge <= s, and the last
bin is closed. Scores are compared with the exact float64 edge j/B, rounded up to the next float32 for float32
scores.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.parallel import BLOCK, map_threads, row_blocks
from calib.base.results import Result
from calib.data.defaults import N_BINS
from calib.data.notions import Notion, NotionShape, PerClass, Strategy
from calib.data.validation import check_choice, check_count
from calib.data.weights import effective_rows, equal_weights

__all__ = ["BinStatistics", "BinaryProblems", "bin_statistics"]

#: Most bins B for which the whole part of a float32 score times B, in float64, is surely the bin.
EXACT_BINS = 2**13


class _Shaped(Result):
    """Read-only arrays with a `NotionShape`, whose numbers are also attributes."""

    shape: NotionShape
    notion = property(attrgetter("shape.notion"), doc="The M2B notion (Table 1 of the paper).")
    n_classes = property(attrgetter("shape.n_classes"), doc="Classes L of the predictions.")
    n_claims = property(attrgetter("shape.n_claims"), doc="Claims about each row.")
    n_problems = property(attrgetter("shape.n_problems"), doc="Number of binary problems P.")

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False)
class BinaryProblems(_Shaped):
    """Binary problems (score, outcome), sorted by (problem, score), with prefix sums.

    Any binning is a few `searchsorted` per problem and differences of prefix sums, at a cost that does not
    depend on the number of rows.
    """

    shape: NotionShape  #: The notion the problems came from, and their numbers
    n_samples: int  #: Rows n of the predictions
    offsets: np.ndarray  #: (P + 1,) int64: Problem p owns the entries ``offsets[p]:offsets[p + 1]``
    scores: np.ndarray  #: (m,) float: Scores, ascending inside each problem
    rows: np.ndarray  #: (m,) int: The row each entry came from
    outcomes: np.ndarray  #: (m,) bool: Outcome of each entry
    #: (n,) float64 or None: Weights, with mean 1; None if equal. Rows of weight 0 do not count.
    row_weights: np.ndarray | None = None
    #: (n,) int64 or None: Number of the cluster of each row, 0..G-1; None if rows are independent
    row_cluster: np.ndarray | None = None

    def frame(self) -> pd.DataFrame:
        """Return one row per entry, sorted by problem and score."""
        problem = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return pd.DataFrame(
            {"problem": problem, "score": self.scores, "outcome": self.outcomes, "row": self.rows}
        )

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights that differ."""
        return self.row_weights is not None

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each entry, (m,) float64."""
        return equal_weights(len(self.rows)) if self.row_weights is None else self.row_weights[self.rows]

    @cached_property
    def weight_sums(self) -> np.ndarray:
        """Prefix sums of the weights, (m + 1,), starting with 0: whole numbers if rows are unweighted."""
        if not self.is_weighted:
            return np.arange(len(self.scores) + 1)
        return _prefix_sums(self.weights, np.float64)

    @cached_property
    def score_sums(self) -> np.ndarray:
        """Prefix sums of `scores`, times any weights, (m + 1,) float64, starting with 0."""
        scores = self.weights * self.scores if self.is_weighted else self.scores
        return _prefix_sums(scores, np.float64)

    @cached_property
    def outcome_sums(self) -> np.ndarray:
        """Prefix sums of `outcomes`, (m + 1,) int64, or of their weights, float64; starting with 0."""
        if not self.is_weighted:
            return _prefix_sums(self.outcomes, np.int64)
        return _prefix_sums(self.weights * self.outcomes, np.float64)

    @cached_property
    def tie_starts(self) -> np.ndarray:
        """Starts of the runs of equal scores inside one problem, ascending int64."""
        starts = np.ones(len(self.scores), dtype=bool)
        np.not_equal(self.scores[1:], self.scores[:-1], out=starts[1:])
        starts[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return np.flatnonzero(starts)

    def problem(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Sorted scores and outcomes of one problem."""
        if check_count(index, "the number of a problem or class", 0) >= self.n_problems:
            raise InputError(f"problems have the numbers 0..{self.n_problems - 1}; got {index}")
        entries = slice(self.offsets[index], self.offsets[index + 1])
        return self.scores[entries], self.outcomes[entries]

    def weights_of(self, index: int) -> np.ndarray:
        """Weights of the entries of one problem, in their order."""
        return self.weights[self.offsets[index] : self.offsets[index + 1]]


def area_of(scores: np.ndarray, happened: np.ndarray) -> float:
    """Return the area under the ROC curve of unweighted rows; NaN if all outcomes are equal."""
    are_rare = 2 * np.count_nonzero(happened) <= len(happened)
    ordered, rare = np.sort(scores), np.sort(scores[happened == are_rare])
    twice = 2 * len(rare) * (len(scores) - len(rare))
    before = np.searchsorted(ordered, rare)
    until = before + 1
    tied = np.flatnonzero(ordered[np.minimum(until, len(ordered) - 1)] == rare)
    until[tied] = np.searchsorted(ordered, rare[tied], "right")
    below = int(before.sum() + until.sum()) - len(rare) ** 2
    return (below if are_rare else twice - below) / twice if twice else np.nan


def _prefix_sums(values: np.ndarray, dtype: Any) -> np.ndarray:
    sums = np.zeros(len(values) + 1, dtype=dtype)
    np.cumsum(values, dtype=dtype, out=sums[1:])
    return sums


@dataclass(frozen=True, eq=False, repr=False)
class BinStatistics(_Shaped):
    """One row per non-empty cell (problem, bin), ordered by problem and bin."""

    shape: NotionShape  #: Shape of the problems: `notion`, `n_classes`, `n_claims`, `n_problems`
    strategy: str  #: How it was binned: "uniform", "quantile", "discrete", or "mixed" if classes differ
    n_bins: int  #: Bins per problem asked for (for "discrete": the most distinct scores any problem has)
    n_samples: int  #: Rows n of the predictions
    #: (C,) int64: Which problem and which bin of it, 0-based
    problem: np.ndarray
    bin: np.ndarray
    start: np.ndarray  #: (C,) int64: First of the cell's `count` entries in the sorted arrays
    #: (C,) float64: Bin edges ("uniform"), or the smallest and largest score in the cell
    lower: np.ndarray
    upper: np.ndarray
    count: np.ndarray  #: (C,) int64: Entries in the cell
    #: (C,) float64: Mean score and frequency of the outcome, weighted if rows are
    mean_score: np.ndarray
    mean_outcome: np.ndarray
    #: (C,): Sum of the weights of the entries, and of their squares: `count` without weights
    weight: np.ndarray
    square: np.ndarray
    #: (C,) float64 or None: Variance of a perfect model's outcome sum, w^2 s (1 - s) over entries
    variance: np.ndarray | None = None

    @property
    def binning(self) -> tuple[Notion, str, int]:
        """Notion, strategy and bins asked for."""
        return self.notion, self.strategy, self.n_bins

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The fields with a value for each cell."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    @property
    def stop(self) -> np.ndarray:
        """End of each cell's entries ``start:stop`` in the sorted arrays, (C,) int64."""
        return self.start + self.count

    @property
    def label(self) -> np.ndarray:
        """Class code of the problem of each cell, (C,) int64; -1 if classes are pooled."""
        return self.shape.labels_of(self.problem)

    @property
    def claim(self) -> np.ndarray:
        """Claim of the problem of each cell, (C,) int64."""
        return self.shape.claims_of(self.problem)

    @property
    def of_entries(self) -> np.ndarray:
        """Cell of each entry of the binary problems, (m,) int64."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def of(self, chosen: np.ndarray) -> BinStatistics:
        """Return the cells in the mask `chosen`."""
        return replace(self, **{name: values[chosen] for name, values in self.columns.items()})

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights that differ."""
        return self.weight.dtype.kind == "f"

    @property
    def effective(self) -> np.ndarray:
        """Rows of equal weight that a mean would need for the same noise (Kish 1965), (C,) float64."""
        return effective_rows(self.weight, self.square)

    @property
    def effective_samples(self) -> float:
        """Effective number of all rows: n if rows are unweighted."""
        return effective_rows(self.n_samples * self.n_claims, float(self.square.sum())) / self.n_claims

    @property
    def gap(self) -> np.ndarray:
        """Signed miscalibration of each cell, outcome minus score: positive is underconfident."""
        return self.mean_outcome - self.mean_score

    @property
    def share(self) -> np.ndarray:
        """Share of the n * n_claims entries, or of their weight, in each cell; sums to 1."""
        return self.weight / (self.n_samples * self.n_claims)

    def ece(self, norm: float = 1) -> float:
        """Mean over claims of (sum over cells of share ``|gap|^norm``)^(1/norm); see `calib.ece`."""
        weights = self.weight / self.n_samples * np.abs(self.gap) ** norm
        per_claim = np.bincount(self.claim, weights=weights, minlength=self.n_claims)
        return float(np.mean(per_claim ** (1.0 / norm)))

    def mce(self, aggregate: str = "cell") -> float:
        """Largest size of a gap over cells, or of the class-averaged size over bins; see `calib.mce`."""
        if check_choice(aggregate, ("cell", "bin"), "aggregate") == "cell":
            return float(np.abs(self.gap).max())
        return float(np.nanmax(self.bin_deltas()))

    def bin_deltas(self) -> np.ndarray:
        """Delta_b of section 2.1 of each bin b, (n_bins,) float64; NaN if it is empty."""
        weights = np.bincount(self.bin, weights=self.weight, minlength=self.n_bins)
        totals = np.bincount(self.bin, weights=self.weight * np.abs(self.gap), minlength=self.n_bins)
        return np.divide(totals, weights, out=np.full(self.n_bins, np.nan), where=weights > 0.0)

    def frame(self) -> pd.DataFrame:
        """Return the cells as a table, one row each."""
        columns = ["problem", "label", "bin", "lower", "upper", "count", "mean_score", "mean_outcome", "gap"]
        columns += ["weight"] if self.is_weighted else []
        return pd.DataFrame({name: getattr(self, name) for name in columns})


def stack_problems(tables: Sequence[BinStatistics], shape: NotionShape) -> BinStatistics:
    """Join P tables of cells, of one problem per claim about the same rows, into one table of `shape`."""
    first = tables[0]
    problem = np.repeat(np.arange(len(tables)), [len(table.count) for table in tables])
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(table, name) for table in tables]) for name in first.columns
    }
    joined |= {"problem": problem, "start": joined["start"] + problem * first.n_samples}
    strategies = {table.strategy for table in tables}
    joined["strategy"] = strategies.pop() if len(strategies) == 1 else "mixed"
    return replace(first, shape=shape, n_bins=max(table.n_bins for table in tables), **joined)


def bin_statistics(
    problems: BinaryProblems, *, n_bins: int = N_BINS, strategy: Strategy = "uniform", variance: bool = False
) -> BinStatistics:
    """Return counts, mean scores and outcome frequencies of every non-empty (problem, bin) cell.

    Parameters
    ----------
    problems : BinaryProblems
        From `reduce_to_binary`.
    n_bins : int
        Bins per problem, 1 or more; ignored by "discrete".
    strategy : {"uniform", "quantile", "discrete"} or PerClass
        Equal width [0, 1/B), ..., [1 - 1/B, 1]; equal mass, never splitting equal scores; or one bin per
        distinct score, as the paper assesses histogram binning (Remark 1). `PerClass` chooses for each class.
    variance : bool
        Whether to compute the `variance` of each cell.
    """
    if not isinstance(problems, BinaryProblems):
        raise InputError(f"pass the result of calib.reduce_to_binary; got a {type(problems).__name__}")
    if isinstance(strategy, PerClass):
        labels = problems.shape.labels_of(np.arange(problems.n_problems)).tolist()
        strategies = np.array([strategy.of_class(label) for label in labels])
    else:
        check_choice(strategy, ("uniform", "quantile", "discrete"), "strategy")
        strategies = np.full(problems.n_problems, strategy)
    used = [name for name in _CELLS if (strategies == name).any()]
    n_bins = check_count(n_bins, "n_bins") if used != ["discrete"] else 1
    tables = []
    for name in used:
        table = _CELLS[name](problems, n_bins)
        tables.append([column[strategies[table[1]] == name] for column in table])
    start, problem, bin_ = (np.concatenate(columns) for columns in zip(*tables, strict=True))
    if len(used) > 1:
        order = np.lexsort((bin_, problem))
        start, problem, bin_ = start[order], problem[order], bin_[order]
    stop = np.append(start[1:], len(problems.scores))
    start, stop, problem, bin_ = (array[stop > start] for array in (start, stop, problem, bin_))
    count = stop - start
    if not problems.is_weighted:
        weight = square = count
        mean_score = (problems.score_sums[stop] - problems.score_sums[start]) / count
        mean_outcome = (problems.outcome_sums[stop] - problems.outcome_sums[start]) / count
    else:  # summed cell by cell: in a difference of prefix sums, small weights would drown
        weight, square, scores, outcomes = (
            np.add.reduceat(problems.weights * factor, start)
            for factor in (1.0, problems.weights, problems.scores, problems.outcomes)
        )
        mean_score, mean_outcome = scores / weight, outcomes / weight
    by_value, by_width = strategies[problem] == "discrete", strategies[problem] == "uniform"
    # one value per cell: its mean needs no rounding
    mean_score[by_value] = problems.scores[start[by_value]].astype(np.float64)
    lower, upper = (problems.scores[at].astype(np.float64) for at in (start, stop - 1))
    lower[by_width], upper[by_width] = bin_[by_width] / n_bins, (bin_[by_width] + 1) / n_bins
    if by_value.any():
        n_bins = max(n_bins, int(bin_[by_value].max()) + 1)
    if variance:
        chance = problems.scores.astype(np.float64)
        chance *= 1.0 - chance
        if problems.is_weighted:
            chance *= problems.weights**2
    about = problems.shape, "mixed" if len(used) > 1 else used[0], n_bins, problems.n_samples
    places = problem, bin_, start, lower, upper, count
    spread = np.add.reduceat(chance, start) if variance else None
    return BinStatistics(*about, *places, mean_score, mean_outcome, weight, square, spread)


def bin_columns(
    matrix: np.ndarray, true: np.ndarray, shape: NotionShape, n_bins: int, *, variance: bool = False
) -> BinStatistics:
    """Return `bin_statistics` for equal-width bins of one problem per column of scores, unsorted.

    `true` is (n,) int64, the column whose event happened, or (n, L) bool. With many classes, most scores are
    below 1/B: these are summed column by column, the others are counted.
    """
    n_samples, n_columns = matrix.shape
    n_bins = check_count(n_bins, "n_bins")
    find = uniform_finder(n_bins, matrix.dtype)
    second = edges_for(matrix.dtype, np.append(uniform_edges(n_bins), 2.0))[0]
    size = n_columns * n_bins
    powers = (1, 2) if variance else (1,)

    def sums(rows: slice) -> list[np.ndarray]:
        block = np.ascontiguousarray(matrix[rows])
        true_at = true_places(true[rows], n_columns)
        high = block >= second
        low = block * ~high
        at = np.flatnonzero(high)
        values = block.ravel()[at]
        cell = (at - at // n_columns * n_columns) * n_bins + find(values)  # half the time of %
        true_cell = true_at % n_columns * n_bins + find(block.ravel()[true_at])
        found = [np.bincount(cell, minlength=size), np.bincount(true_cell, minlength=size)]
        for power in powers:
            high_power, low_power = (
                numbers if power == 1 else np.square(numbers, dtype=np.float64) for numbers in (values, low)
            )
            added = np.zeros(size)
            added[::n_bins] = np.einsum("ij->j", low_power, dtype=np.float64)
            added += np.bincount(cell, high_power, size)
            found.append(added)
        return found

    # each block adds up sums of all cells
    parts = map_threads(sums, row_blocks(n_samples, n_columns, max(BLOCK, 50 * size)))
    counts, happened, *score_sums = (np.sum(columns, axis=0) for columns in zip(*parts, strict=True))
    by_column = counts.reshape(n_columns, n_bins)
    by_column[:, 0] = n_samples - by_column[:, 1:].sum(axis=1)
    variances = [score_sums[0] - score_sums[1]] if variance else []
    return _cells_of_sums([counts, score_sums[0], happened, *variances], shape, n_bins, n_samples)


def true_places(true: np.ndarray, n_columns: int) -> np.ndarray:
    """Return the flat positions of the events in an (n, L) matrix, by (n,) or (n, L) `true`."""
    return np.flatnonzero(true) if true.ndim == 2 else np.arange(0, len(true) * n_columns, n_columns) + true


def bin_entries(
    owner: np.ndarray | None, scores: np.ndarray, outcomes: np.ndarray, shape: NotionShape, n_bins: int
) -> BinStatistics:
    """Return `bin_statistics` for equal-width bins of unsorted rows, one entry in problem `owner` each."""
    n_bins = check_count(n_bins, "n_bins")
    find = uniform_finder(n_bins, scores.dtype)
    size = shape.n_problems * n_bins

    def sums(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = find(scores[rows]).astype(np.intp)
        if owner is not None:
            place += owner[rows] * n_bins
        place <<= 1
        place += outcomes[rows]
        count = np.bincount(place, minlength=2 * size).reshape(size, 2)
        score = np.bincount(place, scores[rows], 2 * size).reshape(size, 2)
        return count.sum(axis=1), score.sum(axis=1), count[:, 1]

    parts = map_threads(sums, row_blocks(len(scores), 1))
    totals = [np.sum(columns, axis=0) for columns in zip(*parts, strict=True)]
    return _cells_of_sums(totals, shape, n_bins, len(scores))


def uniform_cells(
    shape: NotionShape, n_bins: int, n_samples: int, cell: np.ndarray, count: np.ndarray, **columns: Any
) -> BinStatistics:
    """Return the cells of equal-width bins; `cell` is problem times B plus bin, ascending."""
    problem, bin_ = cell // n_bins, cell % n_bins
    about = shape, "uniform", n_bins, n_samples
    places = problem, bin_, np.cumsum(count) - count, bin_ / n_bins, (bin_ + 1) / n_bins, count
    return BinStatistics(*about, *places, **columns)


def _cells_of_sums(
    sums: Sequence[np.ndarray], shape: NotionShape, n_bins: int, n_samples: int
) -> BinStatistics:
    """Return the cells that have entries, of counts, sums of scores and of outcomes, and any variances."""
    cell = np.flatnonzero(sums[0])
    count, score, outcome, *further = (each[cell] for each in sums)
    columns = {"mean_score": score / count, "mean_outcome": outcome / count, "weight": count, "square": count}
    columns |= dict(zip(("variance",), further, strict=False))
    return uniform_cells(shape, n_bins, n_samples, cell, count, **columns)


def uniform_edges(n_bins: int) -> np.ndarray:
    """Interior edges j/B of equal-width bins, (B - 1,) float64."""
    return np.arange(1, n_bins) / n_bins


def assign_bins(scores: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Bin of each score, (n,) int64: the number of interior edges that are <= it."""
    return np.searchsorted(edges, np.asarray(scores, dtype=np.float64), side="right")


def edges_for(dtype: Any, edges: np.ndarray) -> np.ndarray:
    """Return edges of a float type that bin its scores as the float64 `edges` do: rounded up."""
    rounded = edges.astype(dtype)
    below = rounded < edges
    rounded[below] = np.nextafter(rounded[below], rounded.dtype.type(2))
    return rounded


class BinFinder:
    """Finds bins as `assign_bins` does, by a comparison instead of a search; for hundreds of edges.

    [0, 1] is cut into steps of 2^-k, so short that no step contains two edges. A score times 2^k is exact:
    its whole part is the step, and a comparison with the edge in this step gives the bin.

    `edges`, (E,) float64, are interior edges, ascending; `dtype` is the type of the scores.
    """

    def __init__(self, edges: np.ndarray, dtype: Any) -> None:
        steps = 1
        while True:
            starts = np.arange(steps + 1) / steps
            first = np.searchsorted(edges, starts, side="right")
            inside = np.searchsorted(edges, starts + 1.0 / steps) - first
            if inside.max() <= 1:
                break
            steps *= 2
        own = np.append(edges, np.inf)[first]
        self._steps = np.dtype(dtype).type(steps)
        self._first = first.astype(np.int32)
        self._edge = edges_for(dtype, np.where(inside == 1, own, np.inf))

    @property
    def table(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Number of steps; bin at the start of each step; edge inside it, infinity if it has none."""
        return int(self._steps), self._first, self._edge

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        step = (scores * self._steps).astype(np.intp)
        found = self._first.take(step, mode="clip")
        found += scores >= self._edge.take(step, mode="clip")
        return found


def uniform_finder(n_bins: int, dtype: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that finds equal-width bins as `assign_bins` does, as int32."""
    if dtype != np.float32 or n_bins > EXACT_BINS:
        return BinFinder(uniform_edges(n_bins), dtype)
    last = n_bins - 1
    return lambda scores: np.minimum(np.multiply(scores, n_bins, dtype=np.float64).astype(np.int32), last)


def equal_mass_cuts(group_ends: np.ndarray, n_bins: int) -> np.ndarray:
    """Cut a sorted sample of n entries into b <= B bins of about n/B without splitting equal scores.

    `group_ends` are the ascending positions after each run of equal scores; the last is n. Returns the (b +
    1,) int64 positions 0 = c_0 < c_1 < ... < c_b = n. Every bin holds at least floor(n/B) entries; without
    ties the sizes are as in `numpy.array_split`.
    """
    ends = np.ascontiguousarray(group_ends, dtype=np.int64).data  # its items are numbers of Python
    return _walked_cuts(ends[-1], n_bins, lambda position: ends[bisect_left(ends, position)])


def even_cuts(total: int, n_bins: int) -> np.ndarray:
    """Cut `total` entries into bins of sizes as in `numpy.array_split`."""
    first = np.arange(n_bins + 1)
    return first * (total // n_bins) + np.minimum(first, total % n_bins)


def sorted_cuts(scores: np.ndarray, n_bins: int) -> np.ndarray:
    """Cut sorted scores as `equal_mass_cuts` does."""
    even = even_cuts(len(scores), max(min(n_bins, len(scores)), 1))
    if (scores[even[1:-1]] != scores[even[1:-1] - 1]).all():
        return even
    is_end = np.append(scores[1:] != scores[:-1], True).tobytes()

    def end_from(position: int) -> int:
        return position if is_end[position - 1] else is_end.index(1, position) + 1

    return _walked_cuts(len(scores), n_bins, end_from)


def _walked_cuts(total: int, n_bins: int, end_from: Callable[[int], int]) -> np.ndarray:
    """Cut bins one after the other; `end_from` returns the first possible cut after a position."""
    share = max(total // n_bins, 1)
    cuts = [0]
    stop = 0
    for bins_left in range(n_bins, 1, -1):
        target = -(-(total - stop) // bins_left)
        stop = end_from(stop + (target if target > share else share))
        if total - stop < share:
            break
        cuts.append(stop)
    return np.array([*cuts, total], dtype=np.int64)


def _uniform_cells(problems: BinaryProblems, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    edges = edges_for(problems.scores.dtype, uniform_edges(n_bins))
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


def _discrete_cells(problems: BinaryProblems, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = problems.tie_starts
    owner = np.searchsorted(problems.offsets, starts, side="right") - 1
    return starts, owner, np.arange(len(starts)) - np.searchsorted(starts, problems.offsets)[owner]


_CELLS = {"uniform": _uniform_cells, "quantile": _quantile_cells, "discrete": _discrete_cells}
