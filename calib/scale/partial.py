"""The sums of batches of rows, and the total of several sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.evidence.cell_sums import CellSums, added, cell_sums, exact_units, integer_pair, two_sum
from calib.evidence.row_scores import TINY
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.findings.examination import examine
from calib.files.findings.labels import shuffled_words
from calib.files.readers.arrow import table_of_batch
from calib.scale.batches import BLOCK, Batch, BatchReader, Fault, in_order

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
        events.append(cell_sums(1, None, capped, rows.label == code, weights).with_keys([code]))
    n_keys, key = (len(names), rows.predicted) if kind in ("vectors", "top-label") else (1, None)
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
        top=cell_sums(n_keys, key, score, outcome, weights),
        class_wise=added(events) if class_wise else None,
        by={
            name: (groups, cell_sums(len(groups), codes, score, outcome, weights))
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
) -> Iterator[tuple[int, pa.RecordBatch, Batch]]:
    """Yield each batch with its first row and its usable rows.

    Raises
    ------
    InputError
        If a row cannot be used, unless such rows `drop` out; the message names the first and `where` it is.
    """
    for batch in batches:
        if batch.num_rows:
            rows = reader.read(batch)
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


def examined(batch: pa.RecordBatch, where: str, first: int = 0) -> list[tuple[str, str]]:
    """Return the findings of the rows that are examined; the batch begins with row `first` of the file."""
    start = -first % EVERY
    if start >= batch.num_rows:
        return []
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
