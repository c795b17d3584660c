"""Summaries of predictions of any number of rows: sums that diagrams and errors follow from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.conclusion import Conclusion, conclusion_of_cells
from calib.answers.gaps import Side, SliceGaps, gaps_of_sides
from calib.answers.slice_tables import SliceTable, ranked_groups
from calib.answers.summary import BASE
from calib.answers.summary import Summary as Metrics
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.kinds import KINDS, lacks
from calib.data.notions import Notion, NotionShape
from calib.data.validation import check_choice, check_count, check_level, check_share
from calib.diagrams.classes import (
    ClassDiagram,
    ClassTable,
    diagram_of_class,
    table_of_cells,
)
from calib.diagrams.heat import ClassHeat, class_heat
from calib.diagrams.reliability import ReliabilityDiagram, diagram_of_cells
from calib.diagrams.validity import ValidityCurve, perfect_curve
from calib.evidence.binning import BinStatistics, assign_bins, uniform_cells, uniform_edges
from calib.evidence.cell_sums import EDGES, MOST_BINS, CellSums
from calib.evidence.draws import Draw, Progress, sums_of_cells, weighted_sums_of_cells
from calib.files.findings.sample import class_faults
from calib.scale.partial import PartialSums, combined
from calib.stats.bands import ConsistencyBand, band_of_cells
from calib.stats.decompositions import Decomposition, decomposition_of_cells
from calib.stats.floors import (
    NoiseFloor,
    ProblemFloors,
    decided_p_values,
    floor_of_cells,
    floor_of_claims,
    floors_of_cells,
)
from calib.stats.intervals import (
    ErrorInterval,
    binomial_limits,
    error_interval_of_cells,
    largest_gap_interval,
    rows_behind,
)
from calib.stats.measures import MEASURES

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
        What was found while streaming, with file, row group and row: what was wrong with rows that were left
        out, and what the doctor says of some rows of each file.
    source : str
        Where the rows come from, for people.

    Notes
    -----
    The sums are those of 774 cells, whose edges are all fractions j/B, B = 2..50: an equal-width binning of
    up to 50 bins is made of whole cells, and what follows from one is what follows from the rows. Sums of
    unweighted rows are exact (see `calib.evidence.cell_sums`): they are equal for every division of the rows
    into parts and every order of the parts. Sums of weighted rows agree to the last digits of float64.

    Two summaries overlap if a part of one is a part of the other. The same rows, divided into other row
    groups, are not recognised.
    """

    sums: PartialSums
    parts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    source: str = ""

    @property
    def kind(self) -> str:
        """Kind of the predictions, see `calib.data.kinds`."""
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
    def positive(self) -> str:
        """Name of the class whose probability the score is ("binary")."""
        return self.class_names[1]

    @property
    def notions(self) -> list[Notion]:
        """Notions whose sums are here, the one that is looked at first first."""
        if not self._by_class:
            return [KINDS[self.kind].notion]
        notions: list[Notion] = ["top-label", "confidence"]
        return notions if self.sums.class_wise is None else [*notions, "class-wise"]

    @property
    def true(self) -> np.ndarray:
        """Rows of each true class, (L,) int64, as far as it is known."""
        return np.append(self.sums.true, np.zeros(self.n_classes - len(self.sums.true), np.int64))

    @property
    def predicted(self) -> np.ndarray:
        """Rows of each predicted class, (L,) int64, where rows have one."""
        counts = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(counts, self.sums.top.key, self.sums.top.count)
        return counts

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the doctor says of all rows: classes never true, never predicted or rare, too few rows."""
        if not self._by_class:
            return ()
        expected = None
        if self.sums.class_wise is not None:
            sums = self.sums.class_wise
            expected = np.bincount(sums.key, weights=sums.total("score"), minlength=self.n_classes)
        found = class_faults(
            self.class_names, self.n_samples, self.predicted, true=self.true, expected=expected
        )
        return tuple(f"{one.message} ({one.code})" for one in found)

    @property
    def n_bytes(self) -> int:
        """Bytes of all sums."""
        cells = [self.sums.top, self.sums.class_wise, *(one for _, one in self.sums.by.values())]
        arrays = [(one.place, one.count, one.high, one.low) for one in cells if one is not None]
        return sum(array.nbytes for four in arrays for array in four)

    @property
    def effective_samples(self) -> float:
        """Rows of equal weight that means over all rows would need (Kish 1965)."""
        if not self.weighted:
            return float(self.n_samples)
        weight, square = (float(self.sums.top.total(name).sum()) for name in ("weight", "weight_square"))
        return weight**2 / square

    @property
    def coverage(self) -> float:
        """Share of the usable rows in which the model gives an answer."""
        return self.n_samples / max(self.n_samples + self.sums.n_abstained, 1)

    @property
    def fingerprint(self) -> str:
        """Hex digest of the sums: equal for equal rows, whatever their order and division."""
        return self.sums.digest

    @cached_property
    def digest(self) -> str:
        """Hex digest of all that is known: summaries of equal rows differ in it if they hold other sums."""
        made = hashlib.blake2b(repr((self.fingerprint, self.findings, self.source)).encode(), digest_size=16)
        further = [("", self.sums.class_wise), *((name, cells) for name, (_, cells) in self.sums.by.items())]
        for name, cells in further:
            made.update(repr((name, self.sums.by.get(name, ((),))[0])).encode())
            if cells is not None:
                for array in (cells.place, cells.count, cells.high, cells.low):
                    made.update(np.ascontiguousarray(array).tobytes())
        return made.hexdigest()

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
        (`calib.evidence.draws.sums_of_cells`, with weights `weighted_sums_of_cells`). Of notion "class-wise",
        the mean is that from the rows, and p of an error above it is too large rather than too small
        (`calib.stats.floors.floor_of_claims`).

        Raises
        ------
        InputError
            For the MCE of notion "class-wise".
        """
        moments = self._moments(self._notion(notion), n_bins)
        options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
        options |= {"progress": progress}
        if moments.cells.n_claims == 1:
            options |= {"metric": metric, "aggregate": aggregate}
            return floor_of_cells(moments.cells, moments.drawing(), **options)
        if metric != "ece":
            raise InputError(f'the noise floor of the MCE of notion "{notion}" needs the rows')
        return floor_of_claims(moments.cells, moments.drawing(), **options)

    def error_interval(
        self, notion: Notion | None = None, n_bins: int = 15, *, level: float = 0.95
    ) -> ErrorInterval:
        """Return the interval of the ECE of "confidence" or "top-label"; see `calib.error_interval`."""
        return error_interval_of_cells(self.cells(notion, n_bins), level=level)

    def largest_gap_interval(
        self, notion: Notion | None = None, n_bins: int = 15, *, level: float = 0.95
    ) -> tuple[float, float]:
        """Return the ends of an interval of the MCE; see `calib.stats.intervals.largest_gap_interval`."""
        return largest_gap_interval(self.cells(notion, n_bins), level=level)

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval of the accuracy; see `calib.stats.measure_interval`.

        Raises
        ------
        InputError
            If rows of P(Y = 1) have weights: the interval then needs the rows.
        """
        alpha = 1.0 - check_level(level)
        if self.kind != "binary":
            return _share_limits(self.sums.top, alpha)[1:]
        if self.weighted:
            raise InputError("the interval of the accuracy of weighted P(Y = 1) needs the rows")
        return _limits(self.accuracy, float(self.n_samples), alpha)

    def interval(self, key: str, n_bins: int = 15) -> tuple[float, float] | None:
        """Return the ends of the 95 % interval of a number of `calib.stats.MEASURES`, if sums give one."""
        measure = MEASURES[key]
        if measure.metric == "accuracy":
            return None if self.kind == "binary" and self.weighted else self.accuracy_interval()
        if not measure.is_error or (measure.notion == "class-wise" and self.kind != "binary"):
            return None
        if measure.metric == "mce":
            return largest_gap_interval(self.cells(measure.notion, n_bins), aggregate=measure.aggregate)
        found = self.error_interval(measure.notion, n_bins)
        return found.lower, found.upper

    def metrics(self, n_bins: int = 15) -> Metrics:
        """Return every number of `calib.summarize` that sums give; the others are None."""
        event, class_wise = self.kind == "binary", self.sums.class_wise is not None
        whole = self.kind in ("vectors", "binary")
        top = self.cells("top-label", n_bins) if self._by_class else None
        return Metrics(
            method=BASE,
            n_samples=self.n_samples,
            n_bins=n_bins,
            strategy="uniform",
            accuracy=self.accuracy,
            conf_ece=None if event else self.ece("confidence", n_bins),
            tl_ece=None if top is None else top.ece(),
            tl_mce_cell=None if top is None else top.mce("cell"),
            tl_mce_bin=None if top is None else top.mce("bin"),
            cw_ece=self.ece("class-wise", n_bins) if class_wise else None,
            top_brier=None if event else self._event_brier,
            top_log_loss=None if event else self._mean_loss("event_log_loss"),
            brier=self.brier if whole else None,
            log_loss=self.log_loss if whole else None,
            n_distinct=None,
            ece=self.ece(None, n_bins) if event else None,
            mce=self.mce(None, n_bins) if event else None,
            kind=self.kind,
            weighted=self.weighted,
        )

    def conclusion(self, n_bins: int = 15) -> Conclusion:
        """Say in which direction confidence is off; see `calib.conclude`."""
        return conclusion_of_cells(self.cells(None, n_bins), self.kind)

    def decomposition(self, rule: str = "brier", n_bins: int = 15) -> Decomposition:
        """Split a score of the event that the predicted class is right; see `calib.decomposition`."""
        check_choice(rule, ("brier", "log_loss"), "rule")
        score = self._event_brier if rule == "brier" else self._mean_loss("event_log_loss")
        return decomposition_of_cells(self.cells(None, n_bins), score, rule)

    def reliability(self, n_bins: int = 10) -> ReliabilityDiagram:
        """Return the reliability diagram; see `calib.reliability_diagram`."""
        pooled = self.cells("confidence", n_bins)
        return diagram_of_cells(pooled, self.cells("top-label", n_bins) if self._by_class else pooled)

    def band(self, n_bins: int = 10, *, random_state: int | None = None) -> ConsistencyBand:
        """Return where the points of a perfect model would fall; see `calib.stats.consistency_band`."""
        moments = self._moments("confidence", n_bins)
        return band_of_cells(moments.cells, moments.drawing(), random_state=random_state)

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
        return table_of_cells(
            moments.cells, self.true, floors, p_value, strategy="uniform", n_bins=n_bins, fdr=fdr
        )

    def class_heat(self, n_bins: int = 10, labels: Any = None) -> ClassHeat:
        """Arrange the cells of predicted class and bin; see `calib.class_heat`."""
        return class_heat(self.cells("top-label", n_bins), labels)

    def class_diagram(self, label: int, notion: Notion = "top-label", n_bins: int = 10) -> ClassDiagram:
        """Return the reliability diagram of one class; see `calib.class_diagram`.

        Raises
        ------
        InputError
            If the summary does not have the notion, or the class is never predicted ("top-label").
        """
        sums = self._class_sums() if notion == "class-wise" else self.sums.top
        own = sums.of(sums.key == label)
        if not len(own.place):
            raise InputError(f"class {label} is never predicted, so it has no top-label diagram")
        return diagram_of_class(self._alone(own, n_bins).cells, label, notion)

    def validity(
        self,
        notion: Notion | None = None,
        n_bins: int = 15,
        *,
        label: int | None = None,
        n_resamples: int = 0,
        random_state: int | np.random.Generator | None = None,
    ) -> ValidityCurve:
        """Return the share of rows whose cell is off by at most epsilon; see `calib.validity_curve`."""
        moments = self._moments(self._notion(notion), n_bins)
        if label is not None:
            moments = moments.of(moments.cells.label == label)
        cells = moments.cells
        if not len(cells.count):
            raise InputError(f"no cell is about class {label!r} with notion {cells.notion!r}")
        arrays = (cells.label, cells.count, cells.weight, cells.mean_score, cells.mean_outcome)
        if not n_resamples:
            return ValidityCurve.of_cells(cells.notion, *arrays)
        perfect = perfect_curve(moments.drawing(), cells.weight, cells.mean_score, n_resamples, random_state)
        return ValidityCurve.of_cells(cells.notion, *arrays, perfect)

    def slices(
        self,
        by: str | Sequence[str] | None = None,
        n_bins: int = 15,
        *,
        fdr: float = 0.05,
        n_resamples: int = 1000,
        random_state: int | np.random.Generator | None = None,
    ) -> SliceTable:
        """Assess the groups of summed columns, all classes of a group together; see `calib.slices`.

        Parameters
        ----------
        by : str or sequence of str, optional
            Some of the columns; all by default.
        n_bins, fdr, n_resamples, random_state
            As for `calib.slices`.

        Raises
        ------
        InputError
            If no such column was summed.
        """
        check_share(fdr, "fdr", 0.05)
        random = np.random.default_rng(random_state)
        chosen = [by] if isinstance(by, str) else list(self.sums.by if by is None else by)
        self._check_groups(None)
        for name in chosen:
            self._check_groups(name)
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
        return ranked_groups(tables, notion="confidence", n_bins=n_bins, fdr=fdr)

    def slice_heat(self, by: str, n_bins: int = 15, groups: Any = None) -> ClassHeat:
        """Arrange the cells of group and bin; see `calib.answers.slice_heat`.

        Raises
        ------
        InputError
            If no such column was summed.
        """
        self._check_groups(by)
        names, sums = self.sums.by[by]
        return class_heat(self._of_sums(sums, NotionShape("top-label", len(names)), n_bins).cells, groups)

    def slice_gaps(
        self, by: str, n_bins: int = 15, *, only: Sequence[str] | None = None, level: float = 0.95
    ) -> SliceGaps:
        """Compare each group with all other rows; see `calib.slice_gaps`.

        Raises
        ------
        InputError
            If no such column was summed, or it has one group or none of a name.
        """
        self._check_groups(by)
        names, sums = self.sums.by[by]
        present = np.unique(sums.key)
        if len(present) < 2:
            raise InputError(f"column {by!r} has one group only; gaps need at least two")
        code = {names[one]: one for one in present.tolist()}
        alpha, rows = (1.0 - check_level(level)) / len(present), []
        for name in code if only is None else only:
            if name not in code:
                raise InputError(f"column {by!r} has no group {name!r} with rows")
            inside = sums.key == code[name]
            own, others = (sums.of(mask) for mask in (inside, ~inside))
            counts = int(own.count.sum()), int(others.count.sum())
            rows.append((name, *counts, self._side(own, n_bins, alpha), self._side(others, n_bins, alpha)))
        return gaps_of_sides(by, level, rows)

    def frame(self, n_bins: int = 15) -> pd.DataFrame:
        """Return one row per number: what it is, its value, and its 95 % interval where sums give one."""
        rows: list[tuple[str, float, float, float]] = []

        def add(key: str, value: float, ends: tuple[float, float] = (np.nan, np.nan)) -> None:
            rows.append((MEASURES[key].title, value, *ends))

        add("accuracy", self.accuracy, self.interval("accuracy") or (np.nan, np.nan))
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

    def _check_groups(self, by: str | None) -> None:
        if not self.sums.by or (by is not None and by not in self.sums.by):
            held = ", ".join(map(repr, self.sums.by)) or "none"
            wanted = "groups" if by is None else f"groups of the column {by!r}"
            raise InputError(
                f"the summary has no {wanted}, only {held}; summarize again with by={by or 'site'!r}"
            )

    def _class_sums(self) -> CellSums:
        if self.sums.class_wise is None:
            missing = lacks(self.kind, "notion:class-wise")
            raise InputError(
                missing or "the summary has no class-wise sums; summarize again with class_wise=True"
            )
        return self.sums.class_wise

    def _side(self, sums: CellSums, n_bins: int, alpha: float) -> Side:
        cells = self._alone(sums, n_bins).cells
        says = float(cells.share @ cells.mean_score)
        happened, low, high = _share_limits(sums, alpha)
        error = error_interval_of_cells(cells, level=1.0 - alpha / 2)
        return happened - says, low - says, high - says, error.estimate, error.lower, error.upper

    @property
    def _event_brier(self) -> float:
        """Mean squared error of the event that the predicted class is right, or that Y is 1."""
        top = self.sums.top
        right = top.of(top.outcome == 1)
        total = top.total("square").sum() - 2.0 * right.total("score").sum() + right.total("weight").sum()
        return float(total / top.total("weight").sum())

    def _mean_loss(self, name: str) -> float:
        total = sum(self.sums.losses[name])
        return total / (float(self._weight_sum) if self.weighted else self.n_samples)

    @property
    def _weight_sum(self) -> float:
        return float(self.sums.top.total("weight").sum())

    def _moments(self, notion: Notion, n_bins: int) -> _Moments:
        if notion == "class-wise" and self.kind != "binary":
            return self._of_sums(self._class_sums(), NotionShape(notion, self.n_classes), n_bins)
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

    def _alone(self, sums: CellSums, n_bins: int) -> _Moments:
        """Return the cells of some rows, each of which is in these sums once, as if there were no others."""
        return self._of_sums(sums, NotionShape("confidence", 1), n_bins, int(sums.count.sum()))

    def _of_sums(
        self, sums: CellSums, shape: NotionShape, n_bins: int, n_rows: int | None = None
    ) -> _Moments:
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
        variance = score - square
        if sums.weighted:
            weights = sums.total("weight")
            scale = self.n_samples / self._weight_sum if n_rows is None else n_rows / weights.sum()
            weight, outcome = total(weights) * scale, total(np.where(happened, weights, 0.0)) * scale
            weight_square = total(sums.total("weight_square")) * scale**2
            score, square = score * scale, square * scale
            variance = total(sums.total("variance")) * scale**2
        cells = uniform_cells(
            shape,
            n_bins,
            self.n_samples if n_rows is None else n_rows,
            groups,
            count,
            np.minimum(score / weight, 1.0),
            np.minimum(outcome / weight, 1.0),
            weight,
            weight_square,
        )
        return _Moments(cells, score, square, variance)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Cells with sums of scores and of squares, and the variance of the outcomes of a perfect model."""

    cells: BinStatistics
    score: np.ndarray
    square: np.ndarray
    variance: np.ndarray

    def drawing(self) -> tuple[Draw, int]:
        """Return what draws the outcomes of a perfect model, cell by cell."""
        if self.cells.is_weighted:
            return weighted_sums_of_cells(self.cells.weight, self.score, self.variance)
        return sums_of_cells(self.cells.count, self.score, self.square)

    def floors(self, n_resamples: int, random: np.random.Generator) -> ProblemFloors:
        """Return the floor of every problem."""
        return floors_of_cells(self.cells, self.drawing(), n_resamples=n_resamples, random_state=random)

    def of(self, chosen: np.ndarray) -> _Moments:
        """Return some of the cells."""
        arrays = {
            name: value[chosen] for name, value in vars(self.cells).items() if isinstance(value, np.ndarray)
        }
        sums = (self.score[chosen], self.square[chosen], self.variance[chosen])
        return _Moments(replace(self.cells, **arrays), *sums)


def _limits(share: float, rows: float, alpha: float) -> tuple[float, float]:
    low, high = binomial_limits(np.array([share * rows]), np.array([rows]), alpha)
    return float(low[0]), float(high[0])


def _share_limits(sums: CellSums, alpha: float) -> tuple[float, float, float]:
    """Return how often the outcome happened, and the ends of its interval."""
    ones = sums.of(sums.outcome == 1)
    weight = float(sums.total("weight").sum())
    share = float(ones.total("weight").sum()) / weight
    rows = weight
    if sums.weighted:
        square, of_ones = (float(one.total("weight_square").sum()) for one in (sums, ones))
        rows = rows_behind(share, weight, of_ones, square - of_ones)
    return share, *_limits(share, rows, alpha)


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
