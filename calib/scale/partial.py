"""From batches of rows to partial sums, and from partial sums to totals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.evidence.cell_sums import UNITS, CellAdder, CellSums, added, exact_units, integer_pair, two_sum
from calib.evidence.row_scores import TINY
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.findings.examination import examine
from calib.files.findings.order import shuffled_words
from calib.files.readers.arrow import table_of_batch
from calib.scale.layout import Fault, Layout, Rows, in_order, read_batch
from calib.scale.parts import BLOCK, Part

#: Most groups of a column of `by`: a column of more values holds ids.
MOST_GROUPS = 10_000

#: Rows examined at the start of each file and every `EVERY` rows.
EXAMINED, EVERY = 4_000, 1_000_000
OF_SOME_ROWS = (
    *("class_wise_scores", "sigmoid_scores", "double_softmax", "one_hot", "saturated", "few_distinct"),
    *("top_ties", "labels_one_based", "correct_disagrees", "column_order", "labels_shuffled"),
)

#: Most findings of a code whose places are listed; further findings are counted.
MOST_ALIKE = 10


class Accumulator:
    """Adds up the batches of a part of the data, in order; `n_rows` is the number of its rows, if known."""

    def __init__(self, layout: Layout, n_rows: int | None = None) -> None:
        self.layout = layout
        weighted = layout.weight is not None
        self.words: dict[str, int] = {name: code for code, name in enumerate(layout.class_names or ())}
        n_keys = len(self.words) if layout.kind == "vectors" else 1
        self.top: list[CellSums] = []
        self.adder = None if layout.kind == "top-label" else CellAdder(n_keys, weighted, n_rows)
        self.class_wise = CellAdder(n_keys, weighted, n_rows) if layout.class_wise else None
        self.groups: list[dict[str, int]] = [{} for _ in layout.by]
        self.by: list[list[CellSums]] = [[] for _ in layout.by]
        self.true = np.zeros(len(self.words), dtype=np.int64)
        self.units = dict.fromkeys(LOSSES, 0)
        self.weighted: dict[str, list[float]] = {name: [] for name in LOSSES}
        self.n_samples = self.n_abstained = self.n_faulty = 0

    def add(self, batch: pa.RecordBatch) -> list[Fault]:
        """Add the rows of a batch, and return the faults of rows that were left out."""
        rows = read_batch(batch, self.layout, squares=True)
        self.add_rows(rows)
        return rows.faults

    def add_rows(self, rows: Rows) -> None:
        """Add the usable rows of a batch; vectors with their squares."""
        self.n_samples += rows.n_rows
        self.n_abstained += rows.n_abstained
        self.n_faulty += sum(fault.count for fault in rows.faults)
        if rows.n_rows:
            if rows.columns is not None:
                score, outcome = self._add_vectors(rows)
            else:
                score, outcome = self._add_scores(rows)
            self._add_groups(rows, score, outcome)

    def _add_vectors(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        columns, label, squares = rows.columns, rows.predicted, rows.squares
        assert columns is not None
        assert label is not None
        assert squares is not None
        assert rows.label is not None
        truth = rows.label.astype(label.dtype)
        outcome = label == truth
        self.true += np.bincount(truth, minlength=len(columns))
        for start in range(0, len(label), BLOCK):
            part = slice(start, start + BLOCK)
            weights = None if rows.weights is None else rows.weights[part]
            block = [column[part] for column in columns]
            one_block = (rows.score[part], label[part], truth[part], outcome[part], squares[part])
            self._add_block(block, *one_block, weights)
        return rows.score, outcome

    def _add_block(
        self,
        columns: Sequence[np.ndarray],
        score: np.ndarray,
        label: np.ndarray,
        truth: np.ndarray,
        outcome: np.ndarray,
        squares: np.ndarray,
        weights: np.ndarray | None,
    ) -> None:
        """Add rows few enough for the cache, and many enough for threads not to wait for each other."""
        assert self.adder is not None
        self.adder.add(label, score, outcome, weights)
        if self.class_wise is not None:
            for code, column in enumerate(columns):
                capped = np.minimum(column, column.dtype.type(1.0))
                self.class_wise.add(np.full(len(score), code), capped, truth == code, weights)
        at_true = score.astype(np.float64)  # if the predicted class is true, as in most rows
        wrong = np.flatnonzero(~outcome)
        missed = at_true[wrong]
        places = truth[wrong].astype(np.intp)
        places *= len(score)
        places += wrong
        at_true[wrong] = np.concatenate(columns).take(places)
        logs = _minus_log(at_true)
        events = logs.copy()
        events[wrong] = _minus_log(1.0 - missed)
        at_true *= -2.0
        at_true += squares
        at_true += 1.0
        self._lose("accuracy", outcome, weights)
        self._lose("brier", at_true, weights)
        self._lose("log_loss", logs, weights)
        self._lose("event_log_loss", events, weights)

    def _add_scores(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        score, outcome, weights = rows.score, rows.outcome, rows.weights
        assert outcome is not None
        if self.adder is not None:
            self.adder.add(None, score, outcome, weights)
            if self.layout.kind == "binary":
                self.true += np.bincount(outcome, minlength=2)
        else:
            assert rows.predicted is not None
            assert rows.label is not None
            place = self._places(rows.words)
            label, known = place[rows.predicted], rows.label >= 0
            adder = CellAdder(len(self.words), weights is not None)
            adder.add(label, score, outcome, weights)
            self.top.append(adder.sums())
            if len(self.top) >= 16:
                self.top = [added(self.top)]
            self.true += np.bincount(place[rows.label[known]], minlength=len(self.words))
        p = score.astype(np.float64)
        logs = _minus_log(np.where(outcome, p, 1.0 - p))
        right = (p > 0.5) == outcome if self.layout.kind == "binary" else outcome
        self._lose("accuracy", right, weights)
        self._lose("brier", (p - outcome) ** 2, weights)
        self._lose("log_loss", logs, weights)
        self._lose("event_log_loss", logs, weights)
        return score, outcome

    def _places(self, words: Sequence[str]) -> np.ndarray:
        """Return the key of each class that rows name; new classes come after the known classes."""
        place = np.array([self.words.setdefault(word, len(self.words)) for word in words], dtype=np.int64)
        self.true = np.append(self.true, np.zeros(len(self.words) - len(self.true), dtype=np.int64))
        return place

    def _add_groups(self, rows: Rows, score: np.ndarray, outcome: np.ndarray) -> None:
        for at, (codes, names) in enumerate(rows.groups):
            known = self.groups[at]
            place = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
            check_groups(self.layout.by[at], len(known))
            adder = CellAdder(len(known), rows.weights is not None)
            adder.add(place[codes], score, outcome, rows.weights)
            self.by[at].append(adder.sums())
            if len(self.by[at]) >= 16:
                self.by[at] = [added(self.by[at])]

    def _lose(self, name: str, values: np.ndarray, weights: np.ndarray | None) -> None:
        """Add up a value of each row: exactly, in whole units, if rows are unweighted."""
        if weights is not None:
            self.weighted[name].append(float(weights @ values))
        elif values.dtype == bool:
            self.units[name] += int(np.count_nonzero(values)) * int(UNITS)
        else:
            self.units[name] += exact_units(values)

    def sums(self) -> SummedRows:
        weighted = self.layout.weight is not None
        none = CellSums.empty(weighted)
        top = self.adder.sums() if self.adder is not None else added(self.top or [none])
        by = {
            name: (tuple(self.groups[at]), added(self.by[at] or [none]))
            for at, name in enumerate(self.layout.by)
        }
        found = SummedRows(
            kind=self.layout.kind,
            class_names=tuple(self.words),
            n_samples=self.n_samples,
            n_abstained=self.n_abstained,
            n_faulty=self.n_faulty,
            top=top,
            class_wise=None if self.class_wise is None else self.class_wise.sums(),
            by=by,
            true_rows=self.true,
            losses={
                name: (math.fsum(self.weighted[name]), 0.0) if weighted else integer_pair(self.units[name])
                for name in LOSSES
            },
        )
        return sorted_names(found)


def _minus_log(chance: np.ndarray) -> np.ndarray:
    logs = np.maximum(chance, TINY)
    np.log(logs, out=logs)
    return np.negative(logs, out=logs)


def placed_fault(part: Part, fault: Fault, first: int) -> str:
    """Return a fault of a batch with its place; `first` is the row of the file that the batch starts with."""
    more = "" if fault.count == 1 else f"; {fault.count:,} such rows in this batch"
    return f"{part.name}, row {first + fault.row}: {fault.message} ({fault.code}{more})"


def refuse_faults(part: Part, faults: Sequence[Fault], first: int) -> None:
    """Raise `InputError` with file, row group and row of the first fault of a batch, if there is one."""
    for fault in faults:
        raise InputError(f"{placed_fault(part, fault, first)}. Correct the rows, or have them left out")


class Findings:
    """Findings by code: the first lines and the number of each."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.counts: Counter[str] = Counter()

    def add(self, code: str, line: str) -> None:
        self.counts[code] += 1
        if self.counts[code] <= MOST_ALIKE:
            self.lines.setdefault(code, []).append(line)

    def include(self, other: Findings) -> None:
        self.counts += other.counts
        for code, lines in other.lines.items():
            self.lines[code] = [*self.lines.get(code, []), *lines][:MOST_ALIKE]

    def all_lines(self) -> tuple[str, ...]:
        found = []
        for code, lines in self.lines.items():
            found += lines
            if self.counts[code] > MOST_ALIKE:
                found.append(f"and {self.counts[code] - MOST_ALIKE:,} more findings of this kind ({code})")
        return tuple(found)


def sum_part(part: Part, layout: Layout, faults: str = "stop") -> tuple[SummedRows, Findings]:
    """Return the sums over the rows of a part, and the faults of omitted rows."""
    sums, found, row = Accumulator(layout), Findings(), part.first
    for batch in part.batches(layout.columns):
        wrong = sums.add(batch)
        if faults == "stop":
            refuse_faults(part, wrong, row)
        for fault in wrong:
            found.add(fault.code, placed_fault(part, fault, row))
        if -row % EVERY < batch.num_rows:
            for code, line in examined(batch, part.name, row, -row % EVERY):
                found.add(code, line)
        row += batch.num_rows
    total = sums.sums()
    if "labels_shuffled" not in found.counts:
        for line in shuffled(total, part.name):
            found.add("labels_shuffled", line)
    return total, found


def examined(batch: pa.RecordBatch, where: str, first: int = 0, start: int = 0) -> list[tuple[str, str]]:
    """Return the findings of rows from `start` on; the batch begins with row `first` of the file."""
    start = max(min(start, batch.num_rows - EXAMINED), 0)
    some, first = batch.slice(start, EXAMINED), first + start
    which = (
        f"the first {some.num_rows:,} rows" if first == 0 else f"{some.num_rows:,} rows from row {first:,}"
    )
    lines = []
    for found in examine(table_of_batch(some)).findings:
        if found.code in OF_SOME_ROWS:
            row = first + (int(found.rows[0]) if len(found.rows) else 0)
            lines.append((found.code, f"{where}, row {row}, of {which}: {found.message} ({found.code})"))
    return lines


def shuffled(sums: SummedRows, where: str) -> list[str]:
    """Return the finding on the order of all rows of a part, if labels look shuffled."""
    if sums.kind != "vectors" or not sums.n_samples:
        return []
    cells = sums.top
    predicted = np.bincount(cells.key, weights=cells.count, minlength=len(sums.class_names))
    confidence = float(cells.total("score").sum() / cells.total("weight").sum())
    words = shuffled_words(predicted, sums.true_rows, int(cells.count[cells.outcome == 1].sum()), confidence)
    return [] if words is None else [f"{where}: {words} (labels_shuffled)"]


def sorted_names(sums: SummedRows) -> SummedRows:
    """Return the same sums with classes and groups in the order of their names, if rows name them."""
    if sums.kind == "top-label":
        rows = sums.true_rows.copy()
        np.add.at(rows, sums.top.key, sums.top.count)
        used = [name for name, count in zip(sums.class_names, rows.tolist(), strict=True) if count]
        sums = _renamed(sums, in_order(used))
    by = {name: _regrouped(groups, cells, sorted(groups)) for name, (groups, cells) in sums.by.items()}
    return replace(sums, by=by)


def _renamed(sums: SummedRows, names: tuple[str, ...]) -> SummedRows:
    place = {name: code for code, name in enumerate(names)}
    keys = np.array([place.get(name, -1) for name in sums.class_names], dtype=np.int64)
    true = np.zeros(len(names), dtype=np.int64)
    true[keys[keys >= 0]] = sums.true_rows[keys >= 0]
    return replace(sums, class_names=names, top=sums.top.with_keys(keys), true_rows=true)


def _regrouped(
    groups: Sequence[str], cells: CellSums, names: Sequence[str]
) -> tuple[tuple[str, ...], CellSums]:
    place = {name: code for code, name in enumerate(names)}
    return tuple(names), cells.with_keys([place[name] for name in groups])


def check_groups(column: str, n_groups: int) -> None:
    """Refuse a column that names every row."""
    if n_groups > MOST_GROUPS:
        raise InputError(
            f"column {column!r} has more than {MOST_GROUPS:,} groups; give a column with fewer values, such "
            "as a site or a month"
        )


def combined(parts: Iterable[SummedRows]) -> SummedRows:
    listed = list(parts)
    first = listed[0]
    if len(listed) == 1:
        return first
    for other in listed[1:]:
        check_alike(first, other)
    if first.kind == "top-label":
        names = in_order(list(dict.fromkeys(name for part in listed for name in part.class_names)))
        listed = [_renamed(part, names) for part in listed]
    by = {}
    for column in first.by:
        groups = sorted({name for part in listed for name in part.by[column][0]})
        check_groups(column, len(groups))
        by[column] = tuple(groups), added([_regrouped(*part.by[column], groups)[1] for part in listed])
    losses: dict[str, Any] = dict.fromkeys(LOSSES, (0.0, 0.0))
    for part in listed:
        for name, pair in part.losses.items():
            high, low = two_sum(*(np.array(loss) for loss in (*losses[name], *pair)))
            losses[name] = float(high), float(low)
    return SummedRows(
        kind=first.kind,
        class_names=listed[0].class_names,
        n_samples=sum(part.n_samples for part in listed),
        n_abstained=sum(part.n_abstained for part in listed),
        n_faulty=sum(part.n_faulty for part in listed),
        top=added([part.top for part in listed]),
        class_wise=None
        if first.class_wise is None
        else added([part.class_wise for part in listed if part.class_wise]),
        by=by,
        true_rows=np.sum([part.true_rows for part in listed], axis=0),
        losses=losses,
    )


def check_alike(first: SummedRows, other: SummedRows) -> None:
    """Raise `InputError` unless the sums of both can be added up."""

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
