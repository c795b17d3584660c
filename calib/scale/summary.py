"""Summaries of predictions of any number of rows: sums that diagrams and errors follow from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.binning import BinStatistics, assign_bins, uniform_edges
from calib.diagrams.classes import ClassHeat, ClassTable, class_heat, table_of_cells
from calib.diagrams.reliability import ReliabilityDiagram, diagram_of_cells
from calib.diagrams.validity import ValidityCurve
from calib.exceptions import InputError
from calib.kinds import KINDS, lacks
from calib.metrics.catalogue import MEASURES
from calib.noise.draws import Draw, Progress, sums_of_cells
from calib.noise.floor import (
    NoiseFloor,
    ProblemFloors,
    decided_p_values,
    discoveries,
    floor_of_cells,
    floors_of_cells,
)
from calib.noise.intervals import (
    ErrorInterval,
    binomial_limits,
    error_interval_of_cells,
    largest_gap_interval,
)
from calib.notions import Notion, NotionShape
from calib.results import Result
from calib.scale.cells import EDGES, MOST_BINS, CellSums
from calib.scale.partial import PartialSums, combined
from calib.slicing.table import SLICE_COLUMNS, SliceTable
from calib.validation import check_count, check_level, check_share

#: Lower edge of each cell.
_LOWER = np.append(0.0, EDGES)


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Result):
    """What every page and metric about equal-width bins needs of any number of rows.

    Attributes
    ----------
    sums : PartialSums
        Sums over all rows.
    parts : tuple of str
        Digest of the sums of each part of the data that is covered (a row group of a file), ascending.
    findings : tuple of str
        What was wrong with rows that were left out: where the first is, and how many.
    source : str
        Where the rows come from, for people.

    Notes
    -----
    The sums are those of 774 cells, whose edges are all fractions j/B, B = 2..50: an equal-width binning of
    up to 50 bins is made of whole cells, and what follows from one is what follows from the rows. Sums of
    rows that count alike are exact (see `calib.scale.cells`), so that they are equal for every division of
    the rows into parts and every order of these; those of weighted rows agree to the last digits of float64.

    Two summaries overlap if a part of one is a part of the other. The same rows, divided into other row
    groups, are not recognised.
    """

    sums: PartialSums
    parts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    source: str = ""

    @property
    def kind(self) -> str:
        """Kind of the predictions, see `calib.kinds`."""
        return self.sums.kind

    @property
    def n_samples(self) -> int:
        """Rows that are summed; rows of weight 0 are not among them."""
        return self.sums.n_samples

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.sums.class_names

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.sums.class_names)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.sums.weighted

    @property
    def coverage(self) -> float:
        """Share of the usable rows in which the model gives an answer."""
        return self.n_samples / max(self.n_samples + self.sums.n_abstained, 1)

    @property
    def fingerprint(self) -> str:
        """Hex digest of the sums: equal for equal rows, whatever their order and division."""
        return self.sums.digest

    def merge(self, other: Summary) -> Summary:
        """Return the summary of the rows of both.

        Raises
        ------
        InputError
            If both cover the same part of the data, or differ in kind, classes, weights or groups.
        """
        shared = set(self.parts) & set(other.parts)
        if shared:
            raise InputError(
                f"the summaries overlap: {len(shared):,} of their {len(self.parts):,} and "
                f"{len(other.parts):,} "
                "parts have the same content, and their rows would count twice; summarize the files once"
            )
        sources = dict.fromkeys(one for one in (self.source, other.source) if one)
        return Summary(
            combined([self.sums, other.sums]),
            tuple(sorted((*self.parts, *other.parts))),
            (*self.findings, *other.findings),
            ", ".join(sources)[:1000],
        )

    def cells(self, notion: Notion | None = None, n_bins: int = 15) -> BinStatistics:
        """Return the cells of a notion in equal-width bins, as `calib.bin_statistics` does of rows.

        Parameters
        ----------
        notion : {"confidence", "top-label", "class-wise"}, optional
            By default the first of the kind.
        n_bins : int
            1 to 50.

        Raises
        ------
        InputError
            If the summary does not have the notion, or `n_bins` is out of range.
        """
        return self._moments(self._notion(notion), n_bins).cells

    def ece(self, notion: Notion | None = None, n_bins: int = 15, norm: float = 1) -> float:
        """Return the calibration error of a notion; see `calib.ece`."""
        return self.cells(notion, n_bins).ece(norm)

    def mce(self, notion: Notion | None = None, n_bins: int = 15, aggregate: str = "cell") -> float:
        """Return the largest gap of a notion; see `calib.mce`."""
        return self.cells(notion, n_bins).mce(aggregate)

    @property
    def accuracy(self) -> float:
        """Share of rows, or of their weight, whose predicted class is the true one."""
        return self._mean_loss("accuracy")

    @property
    def brier(self) -> float:
        """Brier score; see `calib.brier_score`."""
        return self._mean_loss("brier")

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats; see `calib.log_loss`."""
        return self._mean_loss("log_loss")

    def noise_floor(
        self,
        notion: Notion | None = None,
        n_bins: int = 15,
        *,
        metric: str = "ece",
        aggregate: str = "cell",
        n_resamples: int = 1000,
        random_state: int | np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> NoiseFloor:
        """Compare an error with that of a perfect model of this size; see `calib.noise_floor`.

        Outcomes are redrawn cell by cell from the sums of the scores and of their squares
        (`calib.noise.draws.sums_of_cells`).

        Raises
        ------
        InputError
            If rows have weights, or are in several claims: their floor needs the rows.
        """
        moments = self._moments(self._notion(notion), n_bins)
        return floor_of_cells(
            moments.cells,
            moments.drawing(),
            metric=metric,
            aggregate=aggregate,
            n_resamples=n_resamples,
            random_state=random_state,
            progress=progress,
        )

    def error_interval(
        self, notion: Notion | None = None, n_bins: int = 15, *, level: float = 0.95
    ) -> ErrorInterval:
        """Return the interval of the ECE of "confidence" or "top-label"; see `calib.error_interval`."""
        return error_interval_of_cells(self.cells(notion, n_bins), level=level)

    def largest_gap_interval(
        self, notion: Notion | None = None, n_bins: int = 15, *, level: float = 0.95
    ) -> tuple[float, float]:
        """Return the ends of an interval of the MCE; see `calib.noise.intervals.largest_gap_interval`."""
        return largest_gap_interval(self.cells(notion, n_bins), level=level)

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the Clopper-Pearson interval of the accuracy.

        Raises
        ------
        InputError
            If rows have weights: the interval then needs the rows.
        """
        self._check_unweighted("the interval of the accuracy")
        rows = np.array([float(self.n_samples)])
        low, high = binomial_limits(np.rint(self.accuracy * rows), rows, 1.0 - check_level(level))
        return float(low[0]), float(high[0])

    def reliability(self, n_bins: int = 10) -> ReliabilityDiagram:
        """Return the reliability diagram; see `calib.reliability_diagram`."""
        pooled = self.cells("confidence", n_bins)
        return diagram_of_cells(pooled, self.cells("top-label", n_bins) if self._by_class else pooled)

    def class_table(
        self,
        n_bins: int = 15,
        *,
        fdr: float = 0.05,
        n_resamples: int = 1000,
        random_state: int | np.random.Generator | None = None,
    ) -> ClassTable:
        """Assess each predicted class; see `calib.class_table`."""
        check_share(fdr, "fdr", 0.05)
        moments = self._moments("top-label", n_bins)
        random = np.random.default_rng(random_state)
        floors = floors_of_cells(
            moments.cells, moments.drawing(), n_resamples=n_resamples, random_state=random
        )

        def again(clearest: np.ndarray, enough: int) -> ProblemFloors:
            return moments.of(np.isin(moments.cells.problem, clearest)).floors(enough, random)

        p_value = decided_p_values(floors, fdr, n_resamples, again)
        true = np.append(self.sums.true, np.zeros(moments.cells.n_classes - len(self.sums.true), np.int64))
        return table_of_cells(
            moments.cells, true, floors, p_value, strategy="uniform", n_bins=n_bins, fdr=fdr
        )

    def class_heat(self, n_bins: int = 10, labels: Any = None) -> ClassHeat:
        """Arrange the cells of predicted class and bin; see `calib.class_heat`."""
        return class_heat(self.cells("top-label", n_bins), labels)

    def validity(
        self,
        notion: Notion | None = None,
        n_bins: int = 15,
    ) -> ValidityCurve:
        """Return the share of rows whose cell is off by at most epsilon; see `calib.validity_curve`."""
        cells = self.cells(notion, n_bins)
        arrays = (cells.label, cells.count, cells.weight, cells.mean_score, cells.mean_outcome)
        return ValidityCurve.of_cells(cells.notion, *arrays)

    def slices(
        self,
        by: str | None = None,
        n_bins: int = 15,
        *,
        fdr: float = 0.05,
        n_resamples: int = 1000,
        random_state: int | np.random.Generator | None = None,
    ) -> SliceTable:
        """Assess the groups of summed columns, all classes of a group together; see `calib.slices`.

        Parameters
        ----------
        by : str, optional
            One of the columns; all by default.
        n_bins, fdr, n_resamples, random_state
            As for `calib.slices`.

        Raises
        ------
        InputError
            If no such column was summed, or rows have weights.
        """
        check_share(fdr, "fdr", 0.05)
        held = ", ".join(map(repr, self.sums.by)) or "none"
        if not self.sums.by or (by is not None and by not in self.sums.by):
            wanted = "groups" if by is None else f"groups of the column {by!r}"
            raise InputError(
                f"the summary has no {wanted}, only {held}; summarize again with by={by or 'site'!r}"
            )
        random = np.random.default_rng(random_state)
        chosen = list(self.sums.by) if by is None else [by]
        among = sum(len(np.unique(self.sums.by[name][1].key)) for name in chosen)
        tables = []
        for name in chosen:
            groups, sums = self.sums.by[name]
            shape = NotionShape("top-label", 1, n_groups=len(groups), by_class=False)
            moments = self._of_sums(sums, shape, n_bins)
            floors = moments.floors(n_resamples, random)

            def again(clearest: np.ndarray, enough: int, of: _Moments = moments) -> ProblemFloors:
                return of.of(np.isin(of.cells.problem, clearest)).floors(enough, random)

            p = decided_p_values(floors, fdr, n_resamples, again, among)
            tables.append(_slice_rows(name, groups, moments.cells, floors, p))
        table = pd.concat(tables, ignore_index=True)
        table["above_noise"] = discoveries(table["p"], fdr)
        table = table.sort_values("p", kind="stable")
        fields = {name: table[name].to_numpy() for name in SLICE_COLUMNS}
        return SliceTable(notion="confidence", n_bins=n_bins, fdr=fdr, **fields)

    def frame(self, n_bins: int = 15) -> pd.DataFrame:
        """Return one row per number: what it is, its value, and its 95 % interval where sums give one."""
        rows: list[tuple[str, float, float, float]] = []

        def add(key: str, value: float, ends: tuple[float, float] = (np.nan, np.nan)) -> None:
            rows.append((MEASURES[key].title, value, *ends))

        limits = (np.nan, np.nan) if self.weighted else self.accuracy_interval()
        add("accuracy", self.accuracy, limits)
        notions = {"confidence": "conf_ece", "top-label": "tl_ece"} if self._by_class else {None: "conf_ece"}
        if self.kind == "binary":
            notions = {None: "ece"}
        for notion, key in notions.items():
            interval = self.error_interval(notion, n_bins)  # type: ignore[arg-type]
            add(key, interval.observed, (interval.lower, interval.upper))
        if self._by_class:
            add("tl_mce_cell", self.mce("top-label", n_bins))
        if self.sums.class_wise is not None:
            add("cw_ece", self.ece("class-wise", n_bins))
        proper = (
            ("top_brier", "top_log_loss")
            if self.kind in ("top-label", "confidence")
            else ("brier", "log_loss")
        )
        add(proper[0], self.brier)
        add(proper[1], self.log_loss)
        return pd.DataFrame(rows, columns=["metric", "value", "lower", "upper"])

    @property
    def _by_class(self) -> bool:
        return self.kind in ("vectors", "top-label")

    def _notion(self, notion: Notion | None) -> Notion:
        return KINDS[self.kind].notion if notion is None else notion

    def _check_unweighted(self, what: str) -> None:
        if self.weighted:
            raise InputError(f"{what} of weighted rows needs the rows; summarize again with weighted=False")

    def _mean_loss(self, name: str) -> float:
        total = sum(self.sums.losses[name])
        return total / (float(self._weight_sum) if self.weighted else self.n_samples)

    @property
    def _weight_sum(self) -> float:
        return float(self.sums.top.high[2].sum() + self.sums.top.low[2].sum())

    def _moments(self, notion: Notion, n_bins: int) -> _Moments:
        if notion == "class-wise" and self.kind != "binary":
            if self.sums.class_wise is None:
                missing = lacks(self.kind, "notion:class-wise")
                raise InputError(
                    missing or "the summary has no class-wise sums; summarize again with class_wise=True"
                )
            return self._of_sums(self.sums.class_wise, NotionShape(notion, self.n_classes), n_bins)
        if notion not in ("confidence", "top-label", "class-wise"):
            raise InputError(
                f'a summary has the notions "confidence", "top-label" and "class-wise"; got {notion!r}'
            )
        if not self._by_class:
            if notion == "top-label" and self.kind == "confidence":
                raise InputError(str(lacks(self.kind, "notion:top-label")))
            return self._of_sums(self.sums.top, NotionShape(notion, 1), n_bins)
        shape = NotionShape(notion, self.n_classes)
        return self._of_sums(self.sums.top, shape, n_bins)

    def _of_sums(self, sums: CellSums, shape: NotionShape, n_bins: int) -> _Moments:
        if check_count(n_bins, "n_bins") > MOST_BINS:
            raise InputError(f"a summary has equal-width bins of up to {MOST_BINS}; got n_bins={n_bins}")
        bin_of = assign_bins(_LOWER, uniform_edges(n_bins))
        pooled = shape.n_problems == 1
        problem = np.zeros(len(sums.place), np.int64) if pooled else sums.key
        groups, at = np.unique(problem * n_bins + bin_of[sums.cell], return_inverse=True)

        def total(values: np.ndarray) -> np.ndarray:
            return np.bincount(at, weights=values, minlength=len(groups))

        count = total(sums.count.astype(np.float64)).astype(np.int64)
        happened = sums.outcome == 1
        score, square = (total(sums.high[row]) + total(sums.low[row]) for row in (0, 1))
        weight: np.ndarray = count
        weight_square: np.ndarray = count
        outcome = total(np.where(happened, sums.count, 0).astype(np.float64))
        if sums.weighted:
            scale = self.n_samples / self._weight_sum
            weights = sums.high[2] + sums.low[2]
            weight, outcome = total(weights) * scale, total(np.where(happened, weights, 0.0)) * scale
            weight_square = total(sums.high[3] + sums.low[3]) * scale**2
            score, square = score * scale, square * scale
        number = groups // n_bins
        bins = groups % n_bins
        stop = np.cumsum(count)
        cells = BinStatistics(
            shape=shape,
            strategy="uniform",
            n_bins=n_bins,
            n_samples=self.n_samples,
            problem=number,
            bin=bins,
            label=shape.labels_of(number),
            claim=shape.claims_of(number),
            start=stop - count,
            stop=stop,
            lower=bins / n_bins,
            upper=(bins + 1) / n_bins,
            count=count,
            mean_score=np.minimum(score / weight, 1.0),
            mean_outcome=np.minimum(outcome / weight, 1.0),
            weight=weight,
            square=weight_square,
        )
        return _Moments(cells, score, square)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Cells with the sums of the scores and of their squares in each."""

    cells: BinStatistics
    score: np.ndarray
    square: np.ndarray

    def drawing(self) -> tuple[Draw, int]:
        """Return what draws the outcomes of a perfect model."""
        if self.cells.is_weighted:
            raise InputError(
                "the noise floor of weighted rows needs the rows; summarize again with weighted=False"
            )
        if self.cells.n_claims > 1:
            raise InputError(
                f'the noise floor of notion "{self.cells.notion}" needs the rows: its cells share them'
            )
        return sums_of_cells(self.cells.count, self.score, self.square)

    def floors(self, n_resamples: int, random: np.random.Generator) -> ProblemFloors:
        """Return the floor of every problem."""
        return floors_of_cells(self.cells, self.drawing(), n_resamples=n_resamples, random_state=random)

    def of(self, chosen: np.ndarray) -> _Moments:
        """Return some of the cells."""
        arrays = {
            name: value[chosen] for name, value in vars(self.cells).items() if isinstance(value, np.ndarray)
        }
        return _Moments(replace(self.cells, **arrays), self.score[chosen], self.square[chosen])


def _slice_rows(
    column: str, groups: tuple[str, ...], cells: BinStatistics, floors: ProblemFloors, p: np.ndarray
) -> pd.DataFrame:
    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells.problem, weights=values, minlength=len(groups))[floors.problem]

    weight = total(cells.weight)
    return pd.DataFrame(
        {
            "column": pd.Series([column] * len(p), dtype=object),
            "group": pd.Series([groups[at] for at in floors.problem], dtype=object),
            "count": floors.count,
            "share": weight / cells.weight.sum(),
            "accuracy": total(cells.weight * cells.mean_outcome) / weight,
            "confidence": total(cells.weight * cells.mean_score) / weight,
            "error": floors.observed,
            "floor": floors.mean,
            "floor_upper": floors.upper,
            "p": p,
        }
    )
