"""Evidence of rows that are not in memory: merged sums over the cells of every equal-width binning."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.defaults import N_BINS
from calib.data.kinds import KINDS, lacks, needs_rows
from calib.data.notions import TOP_K_NOTIONS, Notion, NotionShape, Strategy
from calib.data.validation import check_count
from calib.data.weights import effective_rows
from calib.evidence.binning import BinaryProblems, BinStatistics, assign_bins, uniform_cells, uniform_edges
from calib.evidence.cell_sums import EDGES, MOST_BINS, CellSums
from calib.evidence.group_shares import Groups, Shares, ShareSums
from calib.evidence.row_scores import Mean
from calib.evidence.sampling import Draw, Sampler, draw_sums

#: Means over rows that no cell holds; "event_log_loss" is the log loss of being right.
LOSSES = ("brier", "log_loss", "event_log_loss", "accuracy")
#: Lower edge of each cell.
_LOWER = np.append(0.0, EDGES)


@dataclass(frozen=True, eq=False, repr=False)
class SummedRows(Result):
    """Sums over rows that are not in memory; they add up with the sums of other rows.

    Notes
    -----
    The edges of the 774 cells are all fractions j/B, B = 2..50: equal-width bins are whole cells, and give
    the same numbers as the rows. Unweighted sums are exact (`calib.evidence.cell_sums`), whatever the
    division into parts; weighted sums agree to the last digits of float64.
    """

    strategy: ClassVar[Strategy] = "uniform"  #: Bins that assess the scores, which sums are made for
    #: None: sums do not tell which rows belong together
    n_clusters: ClassVar[int | None] = None
    even_clusters: ClassVar[float | None] = None

    kind: str  #: Kind of the predictions, see `calib.data.kinds`
    #: Names of the classes: of the columns ("vectors", "binary"), or those that rows name ("top-label")
    class_names: tuple[str, ...]
    #: Rows that are summed, without weight 0; rows without an answer; rows left out because of a fault
    n_samples: int
    n_abstained: int
    n_faulty: int
    #: Sums of the confidence, by predicted class; for P(Y = 1) and for a confidence alone, by 0
    top: CellSums
    class_wise: CellSums | None  #: Sums of the score of every class, by class
    #: For each column of groups, their names and the sums by group
    by: Mapping[str, tuple[tuple[str, ...], CellSums]]
    true_rows: np.ndarray  #: (L,) int64: Rows of each true class, as far as it is known
    #: Sums of the values whose means are the scores of `LOSSES`, each as a pair as in `CellSums`
    losses: Mapping[str, tuple[float, float]]

    @property
    def notion(self) -> Notion:
        """The default notion."""
        return KINDS[self.kind].notion

    @property
    def notions(self) -> list[Notion]:
        """Notions with sums, the default first."""
        if not self._by_class:
            return [self.notion]
        notions: list[Notion] = ["top-label", "confidence"]
        return notions if self.class_wise is None else [*notions, "class-wise"]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def positive(self) -> str:
        """Name of the class whose probability the score is ("binary")."""
        return self.class_names[1]

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.top.weighted

    @property
    def effective_samples(self) -> float:
        """Rows of equal weight that means over all rows would need (Kish 1965)."""
        if not self.is_weighted:
            return float(self.n_samples)
        weight, square = (float(self.top.total(name).sum()) for name in ("weight", "weight_square"))
        return effective_rows(weight, square)

    @property
    def coverage(self) -> float:
        """Share of the usable rows in which the model gives an answer."""
        return self.n_samples / max(self.n_samples + self.n_abstained, 1)

    @property
    def true(self) -> np.ndarray:
        """Rows of each true class, (L,) int64, as far as it is known."""
        return np.append(self.true_rows, np.zeros(self.n_classes - len(self.true_rows), np.int64))

    @property
    def predicted(self) -> np.ndarray:
        """Rows of each predicted class, (L,) int64, if rows have one."""
        counts = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(counts, self.top.key, self.top.count)
        return counts

    @property
    def fingerprint(self) -> str:
        """Hex digest (BLAKE2b, 64 bit) of the sums: equal for equal rows, in any order or parts."""
        made = hashlib.blake2b(digest_size=8)
        made.update(repr((self.kind, self.class_names, self.n_samples)).encode())
        for array in (self.top.place, self.top.count, self.top.high, self.top.low):
            made.update(np.ascontiguousarray(array).tobytes())
        return made.hexdigest()

    def lacks(self, what: str) -> str | None:
        """Say what is missing for something in `calib.data.kinds.NEEDS`; None if nothing is."""
        missing = lacks(self.kind, what)
        if missing is None and what == "The AUC":
            return needs_rows(what)
        if missing is None and what == "notion:class-wise" and self._by_class and self.class_wise is None:
            return "the summary has no class-wise sums; summarize again with class_wise=True"
        if missing is None and what in {f"notion:{notion}" for notion in TOP_K_NOTIONS}:
            return "a summary holds sums of the predicted class only; the top-K notions need the rows"
        return missing

    def problems(self, notion: Notion | None = None, top_k: int | None = None) -> BinaryProblems:
        """Raise `InputError`: sums hold no single rows."""
        raise InputError(
            f'the rows of notion "{notion or self.notion}" are needed here, and a summary holds sums of '
            "them: use a sample of the rows"
        )

    def cells(
        self,
        notion: Notion | None = None,
        *,
        n_bins: int = N_BINS,
        strategy: Strategy | None = None,
        top_k: int | None = None,
        variance: bool = False,
        effects: bool = True,
    ) -> BinStatistics:
        """Return the cells of a notion in equal-width bins, as `calib.bin_statistics` does of rows."""
        notion = notion or self.notion
        if strategy not in (None, "uniform") or top_k is not None:
            what = f'bins of strategy "{strategy}"' if top_k is None else f"top_k={top_k}"
            raise InputError(f"{what} need the rows; a summary has equal-width bins of its notions")
        missing = self.lacks(f"notion:{notion}")
        if missing is not None and ("event" not in KINDS[self.kind].has or notion in TOP_K_NOTIONS):
            raise InputError(missing)
        if notion == "class-wise" and self._by_class:
            assert self.class_wise is not None
            return self._cells(self.class_wise, NotionShape(notion, self.n_classes), n_bins)
        shape = NotionShape(notion, self.n_classes if self._by_class else 1)
        return self._cells(self.top, shape, n_bins)

    def draw(self, cells: BinStatistics, sampler: Sampler | None = None) -> tuple[Draw, int]:
        """Return a function that draws the outcome sums of cells for a perfect model; see `draw_sums`.

        Each claim is drawn separately: sums do not show which claims exclude each other.
        """
        if sampler == "rows":
            raise InputError('sampler="rows" needs the rows; a summary holds only sums')
        return draw_sums(cells)

    def draw_each(self, cells: BinStatistics, chosen: np.ndarray | None = None) -> tuple[Draw, int]:
        """Return `draw` of cells (all or a mask) whose problems are judged separately."""
        return draw_sums(cells if chosen is None else cells.of(chosen))

    def between_cells(self, cells: BinStatistics, slope: np.ndarray) -> float:
        """Raise `InputError`: sums do not record which claims are about the same row."""
        raise InputError(f'the interval of notion "{cells.notion}" needs the rows, because cells share them')

    def mean(self, name: str) -> Mean:
        """Return the mean over rows of "accuracy", "brier" or "log_loss" of the whole prediction."""
        mean = sum(self.losses[name]) / (self._weight if self.is_weighted else self.n_samples)

        def variance() -> float:
            if name != "accuracy":
                return float("nan")
            if not self.is_weighted:
                return mean * (1.0 - mean) / self.n_samples
            if "event" in KINDS[self.kind].has:  # a cell may hold scores on both sides of 0.5
                return float("nan")
            squares = self.top.total("weight_square")
            right = float(squares[self.top.outcome == 1].sum())
            spread = right * (1.0 - mean) ** 2 + (float(squares.sum()) - right) * mean**2
            return spread / self._weight**2

        return Mean(mean, variance)

    def event_mean(self, rule: str, notion: Notion | None = None) -> float:
        """Return the mean "brier" score or "log_loss" of being right, or of Y = 1 for P(Y = 1)."""
        if (notion or self.notion) == "class-wise" and self._by_class:
            raise InputError(f'the mean {rule} of the events of notion "class-wise" needs the rows')
        if rule == "log_loss":
            return sum(self.losses["event_log_loss"]) / (self._weight if self.is_weighted else self.n_samples)
        right = self.top.of(self.top.outcome == 1)
        total = (
            self.top.total("square").sum() - 2.0 * right.total("score").sum() + right.total("weight").sum()
        )
        return float(total / self._weight)

    def area_value(self, notion: Notion) -> float:
        """Raise `InputError`: sums do not hold the order of single rows."""
        raise InputError(needs_rows("The AUC"))

    def of_class(self, label: int, notion: str = "top-label") -> SummedRows:
        """Return the evidence of one class alone, as a confidence that is right or wrong."""
        if notion == "class-wise" and (missing := self.lacks("notion:class-wise")) is not None:
            raise InputError(missing)
        sums = self.class_wise if notion == "class-wise" else self.top
        assert sums is not None
        own = sums.of(sums.key == label)
        if not len(own.place):
            raise InputError(f"class {label} is never predicted, so it has no top-label diagram")
        return self._alone(own)

    def groups(self, column: str, notion: Notion = "confidence") -> Groups[SummedRows]:
        """Return evidence of each group of a column that was summed."""
        if column not in self.by:
            held = ", ".join(map(repr, self.by)) or "none"
            raise InputError(
                f"the summary has no groups of the column {column!r}, only {held}; summarize again with "
                f"by={column!r}"
            )
        if notion != "confidence":
            raise InputError(
                f'groups of a summary are summed over all classes; pass notion="confidence", not {notion!r}'
            )
        names, sums = self.by[column]
        changed = replace(self._alone(sums), kind="top-label", class_names=names)

        def shares() -> tuple[Shares, Shares, np.ndarray]:
            own = _sums_by_key(sums, len(names))
            whole = {name: each.sum(axis=-1, keepdims=True) for name, each in vars(own).items()}
            return own.shares(), ShareSums(**whole).minus(own).shares(), np.zeros(len(names))

        return Groups(column, names, changed, np.arange(len(names)), np.unique(sums.key), shares)

    def shares_by_class(self) -> tuple[np.ndarray, Shares]:
        """Return the codes of the predicted classes, and their shares."""
        present = np.unique(self.top.key)
        return present, _sums_by_key(self.top, int(present[-1]) + 1).shares().of(present)

    def _alone(self, own: CellSums) -> SummedRows:
        right = float(own.total("weight")[own.outcome == 1].sum())
        return SummedRows(
            kind="confidence",
            class_names=(),
            n_samples=int(own.count.sum()),
            n_abstained=0,
            n_faulty=0,
            top=own,
            class_wise=None,
            by={},
            true_rows=np.zeros(0, np.int64),
            losses={"accuracy": (right, 0.0)},
        )

    @property
    def _by_class(self) -> bool:
        return "class" in KINDS[self.kind].has

    @property
    def _weight(self) -> float:
        return float(self.top.total("weight").sum())

    def _cells(self, sums: CellSums, shape: NotionShape, n_bins: int) -> BinStatistics:
        if check_count(n_bins, "n_bins") > MOST_BINS:
            raise InputError(f"a summary has equal-width bins of up to {MOST_BINS}; got n_bins={n_bins}")
        bin_of = assign_bins(_LOWER, uniform_edges(n_bins))
        problem = np.zeros(len(sums.place), np.int64) if shape.n_problems == 1 else sums.key
        cell, at = np.unique(problem * n_bins + bin_of[sums.cell], return_inverse=True)

        def total(values: np.ndarray) -> np.ndarray:
            return np.bincount(at, weights=values, minlength=len(cell))

        happened = sums.outcome == 1
        count = total(sums.count.astype(np.float64)).astype(np.int64)
        score = total(sums.high[0]) + total(sums.low[0])
        scale = 1.0
        weight: np.ndarray = count
        square: np.ndarray = count
        if sums.weighted:  # weights have mean 1 over the rows
            scale = self.n_samples / self._weight
            weight = total(sums.total("weight")) * scale
            square = total(sums.total("weight_square")) * scale**2
        outcomes = total(np.where(happened, sums.total("weight"), 0.0))
        columns = {
            "mean_score": np.minimum(score * scale / weight, 1.0),
            "mean_outcome": np.minimum(outcomes * scale / weight, 1.0),
            "variance": total(sums.total("variance")) * scale**2,
        }
        columns |= {"weight": weight, "square": square}
        return uniform_cells(shape, n_bins, self.n_samples, cell, count, **columns)


def _sums_by_key(sums: CellSums, n_keys: int) -> ShareSums:
    def per_key(values: np.ndarray) -> np.ndarray:
        return np.bincount(sums.key, values, n_keys)

    right, squares = sums.outcome == 1, sums.total("weight_square")
    weight, count, score = sums.total("weight"), sums.count.astype(np.float64), sums.total("score")
    away = right * weight - score
    away_squared = right * (weight - 2.0 * score) + sums.total("square")
    each = [squares * right] * 2 + [
        squares,
        squares * away / weight,
        squares * away_squared / weight,
        squares,
    ]
    return ShareSums(
        count=per_key(count),
        weight=per_key(weight),
        happened=per_key(weight * right),
        score=per_key(score),
        square=np.stack([per_key(values) for values in each]),
    )
