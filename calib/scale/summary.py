"""Merged sums of any number of rows: summaries of files, and the metric that batches are added to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from calib.answers.metric_tables import Metrics, metric_intervals, metrics
from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.kinds import kind_of
from calib.data.matrices import digest_of
from calib.data.notions import Notion
from calib.data.predictions import Predictions, TopLabelPrediction, names_given
from calib.evidence.cell_sums import CellSums, added, cell_sums, exact_units, integer_pair, two_sum
from calib.evidence.reductions import event_scores, n_classes_of, outcomes_of, top_label
from calib.evidence.row_scores import TINY
from calib.evidence.rows import known_rows
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.findings.rows import class_faults
from calib.scale.batches import BLOCK, Batch, check_streamed, in_order
from calib.stats.measures import MEASURES

#: Most groups of a column of `by`: a column of more values holds ids.
MOST_GROUPS = 10_000
#: Sums that are collected before they are added up: adding several at a time is faster.
MAX_KEPT = 16


@dataclass(frozen=True, eq=False, repr=False)
class Summary(SummedRows):
    """The sums of files (see `calib.evidence.sums.SummedRows`) and where they come from.

    Every function of ``(y_true, scores)`` that needs no single rows takes a summary in first place:
    ``calib.noise_floor(summary)``.

    Notes
    -----
    Two summaries overlap if a part of one is a part of the other. The same rows, divided into other row
    groups, are not recognised.
    """

    #: Digest of the sums of each part of the data that is covered (a row group of a file), ascending
    parts: tuple[str, ...] = ()
    #: Faults of rows that were left out, and findings about some rows of each file
    findings: tuple[str, ...] = ()
    source: str = ""  #: Where the rows come from, for people

    @classmethod
    def of(
        cls, sums: SummedRows, parts: tuple[str, ...] = (), findings: tuple[str, ...] = (), source: str = ""
    ) -> Summary:
        """Return the summary of sums, given the parts that they come from."""
        known = {field.name: getattr(sums, field.name) for field in fields(SummedRows)}
        return cls(**known, parts=parts, findings=findings, source=source)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings about all rows: classes never true, never predicted or rare, too few rows."""
        if self.kind not in ("vectors", "top-label"):
            return ()
        expected = None
        if self.class_wise is not None:
            sums = self.class_wise
            expected = np.bincount(sums.key, weights=sums.total("score"), minlength=self.n_classes)
        found = class_faults(
            self.class_names, self.n_samples, self.predicted, true=self.true, expected=expected
        )
        return tuple(f"{finding.message} ({finding.code})" for finding in found)

    @property
    def _arrays(self) -> list[np.ndarray]:
        each = [self.top, self.class_wise, *(sums for _, sums in self.by.values())]
        cells = [sums for sums in each if sums is not None]
        return [array for sums in cells for array in (sums.place, sums.count, sums.high, sums.low)]

    @property
    def n_bytes(self) -> int:
        """Bytes of all sums."""
        return sum(array.nbytes for array in self._arrays)

    @cached_property
    def digest(self) -> str:
        """Hex digest of all sums."""
        groups = {name: names for name, (names, _) in self.by.items()}
        return digest_of((self.fingerprint, self.findings, self.source, groups), self._arrays)

    def merge(self, other: Summary) -> Summary:
        """Return the summary of the rows of both.

        Raises
        ------
        InputError
            If both cover the same part of the data, or differ in kind, classes, weights or groups.
        """
        if not isinstance(other, Summary):
            raise InputError(f"a summary is merged with another summary; got a {type(other).__name__}")
        shared = set(self.parts) & set(other.parts)
        if shared:
            raise InputError(
                f"the summaries overlap: {len(shared):,} of their {len(self.parts):,} and "
                f"{len(other.parts):,} "
                "parts have the same content, and their rows would count twice; summarize the files once"
            )
        sources = dict.fromkeys(text for text in (self.source, other.source) if text)
        return Summary.of(
            combined([self, other]),
            tuple(sorted((*self.parts, *other.parts))),
            (*self.findings, *other.findings),
            ", ".join(sources)[:1000],
        )

    def ece(self, notion: Notion | None = None, n_bins: int = N_BINS, norm: float = 1) -> float:
        """Return the calibration error of a notion, by default the first of the kind; see `calib.ece`."""
        return self.cells(notion, n_bins=n_bins).ece(norm)

    def frame(self, n_bins: int = N_BINS) -> pd.DataFrame:
        """Return one row per number: its name, its value, and its 95 % interval if sums give one."""
        numbers = metrics(self, n_bins=n_bins)
        ends = metric_intervals(self, numbers)
        nothing = (np.nan, np.nan)
        rows = [
            (MEASURES[key].title, value, *ends.get(key, nothing)) for key, value in numbers.values.items()
        ]
        return pd.DataFrame(rows, columns=["metric", "value", "lower", "upper"])


class Sums:
    """Streaming metric: add batches as they come, and compute the numbers of all rows at any time.

    Memory does not grow with the rows. Whatever the batches, their order and the processes that add them,
    sums of rows without weights, and the numbers that follow, are the same to the last bit.
    `class_wise` sums the scores of every class, too, for the notion "class-wise".

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> first, second = Sums(), Sums()  # in two processes
    >>> for sums in (first, second):
    ...     for batch in range(10):
    ...         scores = random.dirichlet([1.0, 1.0, 1.0], 100)
    ...         y_true = (random.random((100, 1)) > scores.cumsum(axis=1)).sum(axis=1)
    ...         sums = sums.update(y_true, scores)
    >>> numbers = first.merge(second).compute()
    >>> numbers.n_samples, round(numbers.accuracy, 3), round(numbers.conf_ece, 3)
    (2000, 0.61, 0.037)
    """

    def __init__(self, *, class_wise: bool = False) -> None:
        self.class_wise = class_wise
        self._kept: list[SummedRows] = []

    def __repr__(self) -> str:
        return f"Sums(n_samples={self.n_samples}, class_wise={self.class_wise})"

    @property
    def n_samples(self) -> int:
        """Number of added rows with weight above 0."""
        return sum(part.n_samples for part in self._kept)

    def update(self, y_true: Any, scores: Any, *, sample_weight: Any = None) -> Self:
        """Add the rows of a batch; nothing is added if one of them cannot be used.

        Parameters
        ----------
        y_true : (n,) array_like
            True class codes; for 1-D scores whether the event happened. None for the labels that predictions
            came with.
        scores : (n, L) or (n,) array_like, or predictions of any kind
            Scores in [0, 1], such as a tensor of PyTorch on any device; 1-D scores are P(Y = 1). All batches
            must have the same kind and classes as the first, and weights if it has.
        sample_weight : (n,) array_like of float, optional
            Weights, 0 or more.

        Raises
        ------
        InputError
            If a row cannot be used, the rows have clusters, which sums cannot hold, or the batch does not fit
            earlier batches.
        """
        kind = kind_of(scores)
        check_streamed(kind.name, self.class_wise)
        rows = known_rows(y_true if y_true is not None else scores, None if y_true is None else scores)
        if rows.cluster is not None:
            raise InputError(
                "sums do not record which rows belong together; pass predictions without cluster"
            )
        rows = rows if sample_weight is None else rows.with_weights(sample_weight)
        if rows.sample_weight is not None:
            rows = rows.take(rows.sample_weight > 0.0)
        columns: list[np.ndarray] = []
        names = (rows.class_names or ()) if "classes" in rows.has else ()
        if "class" in rows.has:
            (predicted, score), label = top_label(rows), rows.truth
        else:
            event = event_scores(rows)
            assert event is not None
            score, label, predicted = event, outcomes_of(rows), np.ones(rows.n_samples, dtype=np.int8)
        if isinstance(rows, Predictions):
            columns = list(np.ascontiguousarray(rows.proba.T))
            names = names_given(scores) or names
        elif isinstance(rows, TopLabelPrediction):
            n_classes = n_classes_of(rows)
            names = names or tuple(str(code) for code in range(n_classes))
            if n_classes > len(names):
                raise InputError(
                    f"a label is none of the {len(names):,} classes of the predictions; pass "
                    "TopLabelPrediction(..., class_names=...) with the names of all classes"
                )
        batch = Batch(score, predicted, label, names, columns, rows.sample_weight)
        return self.merge(sums_of(batch, kind.name, class_wise=self.class_wise))

    def merge(self, other: Sums | SummedRows) -> Self:
        """Add the rows of another process, or of a summary; each row must be in one of the two.

        Raises
        ------
        InputError
            If `other` is this object, or holds rows of another kind, classes or sums.
        """
        if other is self:
            raise InputError("these sums cannot be merged with themselves: their rows would count twice")
        parts = other._kept if isinstance(other, Sums) else [other]
        parts = [part for part in parts if part.n_samples or part.n_abstained or part.n_faulty]
        for part in parts if self._kept else ():
            check_alike(self._kept[0], part)
        self._kept += parts
        if len(self._kept) >= MAX_KEPT:
            self._kept = [combined(self._kept)]
        return self

    def compute(self, *, n_bins: int = N_BINS) -> Metrics:
        """Return the numbers of all rows so far, as `calib.metrics` does.

        `n_bins` are 1 to 50 equal-width bins. Raises `InputError` if no rows were added yet.
        """
        return metrics(self.summary(), n_bins=n_bins)

    def summary(self) -> Summary:
        """Return the summary of all rows so far: for noise floors, diagrams, gates and files.

        Raises `InputError` if no rows were added yet.
        """
        if not self.n_samples:
            raise InputError("no rows were added yet; call update(y_true, scores) first")
        self._kept = [combined(self._kept)]
        (total,) = self._kept
        return Summary.of(total, (total.fingerprint,))


def sums_of(rows: Batch, kind: str, *, class_wise: bool = False, by: Sequence[str] = ()) -> SummedRows:
    """Return the sums over the usable rows of a batch of a kind; `by` names its columns of groups."""
    starts = range(0, max(rows.n_rows, 1), BLOCK)
    sums = combined(
        _block_sums(rows.at(slice(start, start + BLOCK)), kind, class_wise, by) for start in starts
    )
    n_faulty = sum(fault.count for fault in rows.faults)
    return replace(sums, n_abstained=rows.n_abstained, n_faulty=n_faulty)


def _block_sums(rows: Batch, kind: str, class_wise: bool, by: Sequence[str]) -> SummedRows:
    """Add up rows few enough for the cache, and many enough for threads not to wait."""
    names, score, weights, outcome = rows.names, rows.score, rows.weights, rows.outcome
    events: list[CellSums] = []
    for code, column in enumerate(rows.columns if class_wise else ()):
        capped = np.minimum(column, column.dtype.type(1.0))
        events.append(cell_sums(None, capped, rows.label == code, weights).with_keys([code]))
    key = rows.predicted if kind in ("vectors", "top-label") else None
    if kind == "vectors":
        losses = _vector_losses(rows.columns, score, rows.label, outcome)
    else:
        p = score.astype(np.float64)
        logs = _minus_log(np.where(outcome, p, 1.0 - p))
        right = (p > 0.5) == outcome if kind == "binary" else outcome
        losses = {"accuracy": right, "brier": (p - outcome) ** 2, "log_loss": logs, "event_log_loss": logs}
    return SummedRows(
        kind=kind,
        class_names=names,
        n_samples=rows.n_rows,
        n_abstained=0,
        n_faulty=0,
        top=cell_sums(key, score, outcome, weights),
        class_wise=added(events) if class_wise else None,
        by={
            name: (groups, cell_sums(codes, score, outcome, weights))
            for name, (codes, groups) in zip(by, rows.groups, strict=True)
        },
        true_rows=np.bincount(rows.label[rows.label >= 0], minlength=len(names))[: len(names)],
        losses={name: _total(values, weights) for name, values in losses.items()},
    )


def _vector_losses(
    columns: Sequence[np.ndarray], score: np.ndarray, label: np.ndarray, outcome: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the values of a block's rows whose means are the `LOSSES` of sums (`calib.evidence.sums`)."""
    squares, exact = np.zeros(len(score)), np.empty(len(score))
    for column in columns:
        np.copyto(exact, column)
        exact *= exact
        squares += exact
    at_true = score.astype(np.float64)  # if the predicted class is true, as in most rows
    wrong = np.flatnonzero(~outcome)
    missed = at_true[wrong]
    at_true[wrong] = np.concatenate(columns).take(label[wrong].astype(np.intp) * len(score) + wrong)
    logs = _minus_log(at_true)
    events = logs.copy()
    events[wrong] = _minus_log(1.0 - missed)
    at_true *= -2.0
    at_true += squares
    at_true += 1.0
    return {"accuracy": outcome, "brier": at_true, "log_loss": logs, "event_log_loss": events}


def _minus_log(chance: np.ndarray) -> np.ndarray:
    logs = np.maximum(chance, TINY)
    np.log(logs, out=logs)
    return np.negative(logs, out=logs)


def _total(values: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Add up values of each row: exactly, in whole units, if rows are unweighted."""
    if weights is not None:
        return float(weights @ values), 0.0
    if values.dtype == bool:
        return float(np.count_nonzero(values)), 0.0
    return integer_pair(exact_units(values))


def combined(parts: Iterable[SummedRows]) -> SummedRows:
    """Add up sums; classes and groups that rows name are in the order of their names."""
    every = list(parts)
    first = every[0]
    for other in every[1:]:
        check_alike(first, other)
    names = first.class_names
    if first.kind == "top-label":
        rows = [zip(part.class_names, (part.true + part.predicted).tolist(), strict=True) for part in every]
        names = in_order(list(dict.fromkeys(name for part in rows for name, n_rows in part if n_rows)))
    by = {}
    for column in first.by:
        groups = sorted({name for part in every for name in part.by[column][0]})
        check_groups(column, len(groups))
        moved = [_with_names(cells, held, groups) for held, cells in (part.by[column] for part in every)]
        by[column] = tuple(groups), added(moved)
    losses: dict[str, Any] = dict.fromkeys(LOSSES, (0.0, 0.0))
    true: Counter[str] = Counter()
    for part in every:
        true.update(dict(zip(part.class_names, part.true.tolist(), strict=True)))
        for name, pair in part.losses.items():
            high, low = two_sum(*(np.array(loss) for loss in (*losses[name], *pair)))
            losses[name] = float(high), float(low)
    class_wise = [part.class_wise for part in every if part.class_wise is not None]
    return SummedRows(
        kind=first.kind,
        class_names=names,
        n_samples=sum(part.n_samples for part in every),
        n_abstained=sum(part.n_abstained for part in every),
        n_faulty=sum(part.n_faulty for part in every),
        top=added([_with_names(part.top, part.class_names, names) for part in every]),
        class_wise=added(class_wise) if class_wise else None,
        by=by,
        true_rows=np.array([true[name] for name in names], dtype=np.int64),
        losses=losses,
    )


def _with_names(cells: CellSums, held: Sequence[str], names: Sequence[str]) -> CellSums:
    """Return sums by the names that are held as sums by `names`, which are all that occur."""
    if tuple(held) == tuple(names):
        return cells
    place = {name: code for code, name in enumerate(names)}
    return cells.with_keys(np.array([place.get(name, -1) for name in held], dtype=np.int64))


def check_groups(column: str, n_groups: int) -> None:
    if n_groups > MOST_GROUPS:
        raise InputError(
            f"column {column!r} has more than {MOST_GROUPS:,} groups; give a column with fewer values, such "
            "as a site or a month"
        )


def check_alike(first: SummedRows, other: SummedRows) -> None:
    def described(part: SummedRows) -> dict[str, Any]:
        return {
            "kind": part.kind,
            "classes": part.class_names if part.kind in ("vectors", "binary") else None,
            "weights": "with" if part.is_weighted else "without",
            "class-wise sums": "with" if part.class_wise is not None else "without",
            "groups of the columns": tuple(part.by),
        }

    for what, value in described(first).items():
        if (found := described(other)[what]) != value:
            raise InputError(f"summaries that differ in their {what} do not add up: {value} and {found}")
