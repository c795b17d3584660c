"""The sums of batches of rows, and the total of several sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.evidence.cell_sums import UNITS, CellAdder, CellSums, added, exact_units, integer_pair, two_sum
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.findings.examination import examine
from calib.files.findings.labels import shuffled_words
from calib.files.readers.arrow import table_of_batch
from calib.scale.batches import Batch, BatchReader, Fault, check_streamed, in_order
from calib.scale.parts import Part
from calib.scale.sweep import BLOCK, minus_log, vector_losses

#: Most groups of a column of `by`: a column of more values holds ids.
MOST_GROUPS = 10_000

#: Rows examined at the start of each file and every `EVERY` rows.
EXAMINED, EVERY = 4_000, 1_000_000
OF_SOME_ROWS = (
    *("sigmoid_scores", "one_hot", "saturated", "few_distinct"),
    *("labels_one_based", "columns_disagree", "column_order", "labels_shuffled"),
)

#: Most findings of a code whose places are listed; further findings are counted.
MOST_ALIKE = 10


class _NamedSums:
    """Sums by a name that rows hold, such as a group; names get keys in the order in which they come."""

    def __init__(self, weighted: bool, names: Sequence[str] = ()) -> None:
        self.keys = {name: key for key, name in enumerate(names)}
        self._parts = [CellSums.empty(weighted)]

    def places(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self.keys.setdefault(name, len(self.keys)) for name in names], dtype=np.int64)

    def add(self, places: np.ndarray, rows: Batch, outcome: np.ndarray) -> None:
        adder = CellAdder(len(self.keys), rows.weights is not None)
        adder.add(places, rows.score, outcome, rows.weights)
        self._parts.append(adder.sums())
        if len(self._parts) >= 16:
            self._parts = [added(self._parts)]

    def sums(self) -> CellSums:
        return added(self._parts)


class Accumulator:
    """Adds up batches of rows of a kind, in order; `n_rows` is the number of all of them, if known."""

    def __init__(
        self,
        kind: str,
        class_names: Sequence[str] = (),
        *,
        weighted: bool = False,
        class_wise: bool = False,
        by: Sequence[str] = (),
        n_rows: int | None = None,
    ) -> None:
        check_streamed(kind, class_wise)
        self.kind, self.is_weighted = kind, weighted
        #: Sums by the classes that rows name ("top-label"), or by those of the columns
        self.named = _NamedSums(weighted, class_names)
        n_keys = len(class_names) if kind == "vectors" else 1
        self.adder = None if kind == "top-label" else CellAdder(n_keys, weighted, n_rows)
        self.class_wise = CellAdder(n_keys, weighted, n_rows) if class_wise else None
        self.by = {name: _NamedSums(weighted) for name in by}
        self.true = np.zeros(len(class_names), dtype=np.int64)
        self.units = dict.fromkeys(LOSSES, 0)
        self.weighted: dict[str, list[float]] = {name: [] for name in LOSSES}
        self.n_samples = self.n_abstained = self.n_faulty = 0

    @classmethod
    def of(cls, reader: BatchReader, *, class_wise: bool = False) -> Accumulator:
        weighted = reader.roles.weight is not None
        return cls(
            reader.kind, reader.class_names or (), weighted=weighted, class_wise=class_wise, by=reader.by
        )

    def add(self, batch: Batch) -> None:
        """Add the usable rows of a batch; vectors with their squares."""
        self.n_samples += batch.n_rows
        self.n_abstained += batch.n_abstained
        self.n_faulty += sum(fault.count for fault in batch.faults)
        if not batch.n_rows:
            return
        outcome = batch.outcome
        if self.kind == "vectors":
            self._add_vectors(batch, outcome)
        else:
            self._add_scores(batch, outcome)
        for (name, sums), (codes, groups) in zip(self.by.items(), batch.groups, strict=True):
            place = sums.places(groups)
            check_groups(name, len(sums.keys))
            sums.add(place[codes], batch, outcome)

    def _add_vectors(self, rows: Batch, outcome: np.ndarray) -> None:
        """Add rows in blocks few enough for the cache, and many enough for threads not to wait."""
        assert self.adder is not None
        assert rows.squares is not None
        truth = rows.label.astype(rows.predicted.dtype)
        self.true += np.bincount(truth, minlength=len(rows.columns))
        for start in range(0, rows.n_rows, BLOCK):
            part = slice(start, start + BLOCK)
            weights = None if rows.weights is None else rows.weights[part]
            columns = [column[part] for column in rows.columns]
            self.adder.add(rows.predicted[part], rows.score[part], outcome[part], weights)
            if self.class_wise is not None:
                for code, column in enumerate(columns):
                    capped = np.minimum(column, column.dtype.type(1.0))
                    self.class_wise.add(np.full(len(column), code), capped, truth[part] == code, weights)
            self._lose(
                vector_losses(columns, rows.score[part], rows.squares[part], truth[part], outcome[part]),
                weights,
            )

    def _add_scores(self, rows: Batch, outcome: np.ndarray) -> None:
        if self.adder is not None:
            self.adder.add(None, rows.score, outcome, rows.weights)
            if self.kind == "binary":
                self.true += np.bincount(outcome, minlength=2)
        else:
            place = self.named.places(rows.names)
            self.named.add(place[rows.predicted], rows, outcome)
            true = np.bincount(place[rows.label[rows.label >= 0]], minlength=len(self.named.keys))
            true[: len(self.true)] += self.true
            self.true = true
        p = rows.score.astype(np.float64)
        logs = minus_log(np.where(outcome, p, 1.0 - p))
        right = (p > 0.5) == outcome if self.kind == "binary" else outcome
        losses = {"accuracy": right, "brier": (p - outcome) ** 2, "log_loss": logs, "event_log_loss": logs}
        self._lose(losses, rows.weights)

    def _lose(self, losses: Mapping[str, np.ndarray], weights: np.ndarray | None) -> None:
        """Add up values of each row: exactly, in whole units, if rows are unweighted."""
        for name, values in losses.items():
            if weights is not None:
                self.weighted[name].append(float(weights @ values))
            elif values.dtype == bool:
                self.units[name] += int(np.count_nonzero(values)) * int(UNITS)
            else:
                self.units[name] += exact_units(values)

    def sums(self) -> SummedRows:
        losses = {
            name: (math.fsum(self.weighted[name]), 0.0)
            if self.is_weighted
            else integer_pair(self.units[name])
            for name in LOSSES
        }
        sums = SummedRows(
            kind=self.kind,
            class_names=tuple(self.named.keys),
            n_samples=self.n_samples,
            n_abstained=self.n_abstained,
            n_faulty=self.n_faulty,
            top=(self.adder or self.named).sums(),
            class_wise=None if self.class_wise is None else self.class_wise.sums(),
            by={name: (tuple(sums.keys), sums.sums()) for name, sums in self.by.items()},
            true_rows=self.true,
            losses=losses,
        )
        return combined([sums])


def placed_fault(where: str, fault: Fault, first: int) -> str:
    """Return a fault of a batch with its place; `first` is the row that the batch starts with."""
    more = "" if fault.count == 1 else f"; {fault.count:,} such rows in this batch"
    return f"{where}, row {first + fault.row}: {fault.message} ({fault.code}{more})"


def read_batches(
    batches: Iterable[pa.RecordBatch],
    reader: BatchReader,
    where: str,
    first: int = 0,
    *,
    drop: bool = False,
    squares: bool = False,
) -> Iterator[tuple[int, pa.RecordBatch, Batch]]:
    """Yield each batch with its first row and its usable rows.

    Raises
    ------
    InputError
        If a row cannot be used, unless such rows `drop` out; the message names the first and `where` it is.
    """
    for batch in batches:
        if batch.num_rows:
            rows = reader.read(batch, squares=squares)
            for fault in rows.faults if not drop else ():
                raise InputError(
                    f"{placed_fault(where, fault, first)}. Correct the rows, or have them left out"
                )
            yield first, batch, rows
            first += batch.num_rows


def listed(found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the lines of findings, given with their codes, and how many more of a kind there are."""
    by_code: dict[str, list[str]] = {}
    for code, line in found:
        by_code.setdefault(code, []).append(line)
    lines = []
    for code, each in by_code.items():
        lines += each[:MOST_ALIKE]
        if len(each) > MOST_ALIKE:
            lines.append(f"and {len(each) - MOST_ALIKE:,} more findings of this kind ({code})")
    return tuple(lines)


def sum_part(
    part: Part, reader: BatchReader, *, class_wise: bool = False, drop: bool = False
) -> tuple[SummedRows, list[tuple[str, str]]]:
    """Return the sums over the rows of a part, and the codes and lines of its findings and omitted rows."""
    sums, found = Accumulator.of(reader, class_wise=class_wise), []
    batches = part.batches(reader.columns)
    for row, batch, rows in read_batches(batches, reader, part.name, part.first, drop=drop, squares=True):
        sums.add(rows)
        found += [(fault.code, placed_fault(part.name, fault, row)) for fault in rows.faults]
        if -row % EVERY < batch.num_rows:
            found += examined(batch, part.name, row, -row % EVERY)
    total = sums.sums()
    if "labels_shuffled" not in dict(found):
        found += shuffled(total, part.name)
    return total, found


def examined(batch: pa.RecordBatch, where: str, first: int = 0, start: int = 0) -> list[tuple[str, str]]:
    """Return the findings of rows from `start` on; the batch begins with row `first` of the file."""
    start = max(min(start, batch.num_rows - EXAMINED), 0)
    some, first = batch.slice(start, EXAMINED), first + start
    which = f"{some.num_rows:,} rows" + (f" from row {first:,}" if first else "")
    which = which if first else f"the first {which}"
    lines = []
    for found in examine(table_of_batch(some)).findings:
        if found.code in OF_SOME_ROWS:
            row = first + (int(found.rows[0]) if len(found.rows) else 0)
            lines.append((found.code, f"{where}, row {row}, of {which}: {found.message} ({found.code})"))
    return lines


def shuffled(sums: SummedRows, where: str) -> list[tuple[str, str]]:
    """Return the finding on the order of all rows of a part, if labels look shuffled."""
    if sums.kind != "vectors" or not sums.n_samples:
        return []
    cells = sums.top
    confidence = float(cells.total("score").sum() / cells.total("weight").sum())
    right = int(cells.count[cells.outcome == 1].sum())
    words = shuffled_words(sums.predicted.astype(np.float64), sums.true_rows, right, confidence)
    return [] if words is None else [("labels_shuffled", f"{where}: {words} (labels_shuffled)")]


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
    """Refuse a column that names every row."""
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
