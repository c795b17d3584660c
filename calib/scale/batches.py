"""Batches of rows, read as the raw predictions of the readers, with a mask of the refused rows.

The first rows of a file decide the roles of columns and what else holds for all batches. Of each batch, the
readers get only rows in which each distinct cell of words occurs; what they say about a cell holds for all
rows with it. So no Python object is made for a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.data.matrices import ROW_SUM_TOLERANCE
from calib.data.validation import MISSING, as_names
from calib.files.readers.answers import ANOTHER, classes_in
from calib.files.readers.arrow import column_values, table_of_batch
from calib.files.readers.columns import ROUNDING
from calib.files.readers.conventions import is_called
from calib.files.readers.nested import writes_lists
from calib.files.readers.raw_predictions import (
    Decided,
    RawPredictions,
    Refused,
    decided_but_for_labels,
    probabilities_on,
    raw_of,
)
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import Given, Roles, given_columns, numbered, part_of
from calib.files.readers.tables import Table, as_float_column, as_keys, by_word, some_names, words_in

#: Kinds of predictions that one pass of sums can describe.
STREAMED = ("vectors", "top-label", "confidence", "binary")
#: Rows of a block: its columns stay in the cache of a processor.
BLOCK = 64_000
#: First rows from which the roles of columns are guessed.
SAMPLE = 20_000
#: Most codes of a column of whole numbers that are used as they are.
MOST_CODES = 10_000


@dataclass(frozen=True)
class Fault:
    """Rows of a batch that cannot be used."""

    code: str  #: Code of the finding (`calib.files.findings.codes.CODES`)
    message: str  #: What is wrong in the first of them
    row: int  #: The first of them, counted from 0
    count: int  #: How many there are


@dataclass(frozen=True, eq=False)
class Batch:
    """The usable rows of a batch."""

    score: np.ndarray  #: (n,) float array: the one score of each row; of vectors the highest, at most 1
    predicted: np.ndarray  #: (n,) int array: predicted class; 1 without classes
    #: (n,) int array: true class, -1 for another than `names` or an unknown one; without classes, 1 if right
    #: ("confidence") or if the event happened ("binary")
    label: np.ndarray
    names: tuple[str, ...] = ()  #: Names of the classes, in the order of the codes
    columns: Sequence[np.ndarray] = ()  #: (n,) float arrays: scores of each class ("vectors")
    weights: np.ndarray | None = None  #: (n,) float64 array, above 0
    #: Code of the group of each row, and names of the groups, for each column of groups
    groups: Sequence[tuple[np.ndarray, tuple[str, ...]]] = ()
    index: np.ndarray | None = None  #: (n,) int64 array: places of the rows in the batch; None for all
    faults: Sequence[Fault] = ()  #: Faults of the rows that were left out
    n_abstained: int = 0  #: Rows of the part that counts whose prediction is no answer

    @property
    def n_rows(self) -> int:
        return len(self.score)

    def at(self, rows: np.ndarray | slice) -> Batch:
        return replace(
            self,
            score=self.score[rows],
            predicted=self.predicted[rows],
            label=self.label[rows],
            columns=[column[rows] for column in self.columns],
            weights=None if self.weights is None else self.weights[rows],
            groups=[(codes[rows], names) for codes, names in self.groups],
        )

    @property
    def outcome(self) -> np.ndarray:
        """Whether the predicted class is right, or the event happened, (n,) bool."""
        found: np.ndarray = self.label == self.predicted
        return found


class _Kept:
    """Which rows of a batch are kept, and the faults of those that are refused."""

    def __init__(self, n_rows: int) -> None:
        self.rows = np.ones(n_rows, dtype=bool)
        self.faults: list[Fault] = []

    def refuse(self, found: Iterable[Refused], places: np.ndarray | None = None) -> None:
        """Leave out rows that are still in; with `places`, each has what is found at its place."""
        for code, bad, message in found:
            bad = (bad if places is None else bad[places]) & self.rows
            if bad.any():
                row = int(bad.argmax())
                text = message(row if places is None else int(places[row]))
                self.faults.append(Fault(code, text, row, int(bad.sum())))
                self.rows &= ~bad


class _Words:
    """Columns of words of a batch, in a few of its rows that hold all of their cells.

    `groups` are names of columns; each combination of cells in the columns of a group is in one of the rows.
    """

    def __init__(self, batch: pa.RecordBatch, groups: Iterable[tuple[str, ...]]) -> None:
        coded = {names: _combinations(batch, names) for names in dict.fromkeys(groups) if names}
        self.rows = np.unique(np.concatenate([[0], *(row for _, row in coded.values())]))
        #: For each group, the place among the few rows of the cells of each row of the batch
        self.at = {names: np.searchsorted(self.rows, row)[code] for names, (code, row) in coded.items()}
        few, used = pa.array(self.rows), {name for names in coded for name in names}
        self.columns = {name: column_values(batch.column(name).take(few)) for name in used}


@dataclass(frozen=True)
class BatchReader:
    """How batches are read: the roles of the columns, and what else the first rows decide."""

    roles: Roles
    decided: Decided
    by: tuple[str, ...] = ()  #: Columns whose groups are read, too
    part: str | None = None  #: With a column of parts: "calibration" or "evaluation", the rows that count
    among_several: bool = False  #: Whether rows of other models are left out, or refused

    @property
    def kind(self) -> str:
        return self.roles.kind

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None if each row names its class, or there are none."""
        return self.decided.class_names

    @property
    def words(self) -> list[str]:
        roles = self.roles
        single = (roles.predicted, roles.correct, roles.split, roles.model)
        return list(dict.fromkeys([*roles.label, *(name for name in single if name), *self.by]))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self._numeric, *self.words]))

    @property
    def _numeric(self) -> tuple[str, ...]:
        weight = () if self.roles.weight is None else (self.roles.weight,)
        return (*self.roles.probabilities, *weight)

    def read(self, batch: pa.RecordBatch) -> Batch:
        """Return the usable rows of a batch, and the faults of the others."""
        roles, scale, kept = self.roles, self.decided.scale, _Kept(batch.num_rows)
        numbers = {name: _numbers(batch, name, roles.words) for name in self._numeric}
        predicted, label, names, n_abstained = self._read_words(batch, numbers, kept)
        weights = None if roles.weight is None else numbers[roles.weight].astype(np.float64)
        if weights is not None:
            bad = ~(np.isfinite(weights) & (weights >= 0.0))
            kept.refuse([("not_finite", bad, lambda row: f"the weight is {weights[row]}")])
            kept.rows &= weights != 0.0
        groups = [_groups(batch, name) for name in self.by]
        given = [numbers[name] for name in roles.probabilities]
        columns: Sequence[np.ndarray] = ()
        if roles.kind == "vectors":
            columns = _class_scores(given, scale)
            score, predicted, are_probabilities = _sweep(columns)
            if not are_probabilities:
                kept.refuse(_refused_vectors(columns))
        else:
            score = _one_score(given[0], scale, kept)
        rows = Batch(score, predicted, label, names, columns, weights, groups, None, kept.faults, n_abstained)
        places = np.flatnonzero(kept.rows)
        return rows if len(places) == len(score) else replace(rows.at(places), index=places)

    def _read_words(
        self, batch: pa.RecordBatch, numbers: Mapping[str, np.ndarray], kept: _Kept
    ) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], int]:
        """Return predicted and true classes, their names, and the number of rows without an answer."""
        roles = self.roles
        answer = tuple(name for name in (roles.predicted, roles.correct) if name is not None)
        truth = (*answer, *roles.label) if roles.kind == "confidence" else roles.label or answer
        chosen = [(name,) for name in (roles.model, roles.split) if name is not None]
        words = _Words(batch, [*chosen, answer, truth])
        self._keep_part(words, kept)
        few = words.columns | {name: values[words.rows] for name, values in numbers.items()}
        raw = raw_of(Table.of("parquet", few), roles, self.decided)
        n_abstained, n_rows = 0, len(kept.rows)
        predicted, label = np.ones(n_rows, dtype=np.int8), np.full(n_rows, -1, dtype=np.int8)
        abstained = np.zeros(len(words.rows), dtype=bool) if roles.kind == "vectors" else raw.abstained
        if abstained.any():
            none = kept.rows & abstained[words.at[answer]]
            n_abstained, kept.rows = int(none.sum()), kept.rows & ~none
        if raw.labels is not None:
            kept.refuse(raw.refused_labels(), words.at[truth])
            label = _codes(raw)[words.at[truth]]
        if roles.kind == "top-label":
            predicted = np.asarray(raw.top[0])[words.at[answer]]
        names = () if roles.kind == "confidence" else tuple(name for name in raw.names if name != ANOTHER)
        return predicted, label, names, n_abstained

    def _keep_part(self, words: _Words, kept: _Kept) -> None:
        roles = self.roles
        if roles.model is not None:
            models = as_keys(words.columns[roles.model])
            others = models[models != roles.model_name]
            if len(others) and not self.among_several:
                raise InputError(
                    f"column {roles.model!r} names {roles.model_name!r} and then {others[0]!r}: models below "
                    f"each other; name one with model={others[0]!r}, or pass by or group={roles.model!r} if "
                    "they are none"
                )
            kept.rows &= (models == roles.model_name)[words.at[roles.model,]]
        if roles.split is not None:
            cells, at = as_keys(words.columns[roles.split]), words.at[roles.split,]
            parts = by_word(cells, lambda word: part_of(word) or "", object)
            column = repr(roles.split)
            found = (
                "labels_missing",
                parts == "",
                lambda row: f"{cells[row]!r} in column {column} is no part",
            )
            kept.refuse([found], at)
            kept.rows &= (parts == self.part)[at]


def _codes(raw: RawPredictions) -> np.ndarray:
    """Return the codes of the true classes, -1 for a class that is only known to be another."""
    assert raw.codes is not None
    codes = raw.codes.astype(np.min_scalar_type(-len(raw.names)))  # bytes are faster for few classes
    if raw.names[-1:] == (ANOTHER,):
        codes[codes == len(raw.names) - 1] = -1
    return codes


def _class_scores(given: Sequence[np.ndarray], scale: str) -> Sequence[np.ndarray]:
    columns = list(np.ascontiguousarray(given[0].T)) if given[0].ndim == 2 else given
    if scale in ("logits", "log_probabilities", "percent"):
        return list(np.ascontiguousarray(probabilities_on(np.stack(columns, axis=1), scale, vectors=True).T))
    same = len({column.dtype for column in columns}) == 1
    return columns if same else [column.astype(np.float64) for column in columns]


def _sweep(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the highest score of each row, at most 1, its column, and whether all rows are probabilities.

    Ties go to the lowest column. Files of 10^8 rows are summed at the speed of this pass, so it takes columns
    as they are stored, block by block.
    """
    n_rows, dtype = len(columns[0]), columns[0].dtype
    kind = np.min_scalar_type(len(columns) - 1)
    score, label = np.empty(n_rows, dtype), np.zeros(n_rows, kind)
    space = [np.empty(min(n_rows, BLOCK), kept) for kept in (dtype, dtype, bool, kind)]
    fine = True
    for start in range(0, n_rows, BLOCK):
        rows = slice(start, min(start + BLOCK, n_rows))
        scratch = [array[: rows.stop - start] for array in space]
        fine &= _sweep_block([column[rows] for column in columns], score[rows], label[rows], scratch)
    return score, label, fine


def _sweep_block(
    block: Sequence[np.ndarray], best: np.ndarray, label: np.ndarray, scratch: Sequence[np.ndarray]
) -> bool:
    sums, lowest, higher, place = scratch
    for start in (best, sums, lowest):
        np.copyto(start, block[0])
    with np.errstate(invalid="ignore", over="ignore"):
        for code, scores in enumerate(block[1:], start=1):
            sums += scores
            np.minimum(lowest, scores, out=lowest)
            np.greater(scores, best, out=higher)
            np.maximum(best, scores, out=best)
            if place.dtype == np.uint8:  # all bits if it is higher: its code's bits remain
                np.negative(higher.view(np.int8), out=place.view(np.int8))
                np.bitwise_and(place, np.uint8(code), out=place)
            else:
                np.multiply(higher, place.dtype.type(code), out=place, dtype=place.dtype)
            np.maximum(label, place, out=label)
        off = max(1.0 - float(sums.min()), float(sums.max()) - 1.0)
    np.minimum(best, best.dtype.type(1.0), out=best)
    return bool(lowest.min() >= 0.0) and off <= ROW_SUM_TOLERANCE


def _refused_vectors(columns: Sequence[np.ndarray]) -> list[Refused]:
    with np.errstate(invalid="ignore", over="ignore"):
        matrix = np.stack(columns, axis=1).astype(np.float64)
        low, high, sums = matrix.min(axis=1), matrix.max(axis=1), matrix.sum(axis=1)
        off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    return [
        ("not_finite", ~np.isfinite(sums), lambda row: "a score is missing or infinite"),
        (
            "negative",
            (low < 0.0) | (high > 1.0 + 1e-6),
            lambda row: f"scores run from {low[row]:.6g} to {high[row]:.6g}, outside [0, 1]",
        ),
        ("rounding", off, lambda row: f"the scores sum to {sums[row]:.6g}, not to 1"),
    ]


def _one_score(given: np.ndarray, scale: str, kept: _Kept) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        score = probabilities_on(given, scale, vectors=False)
        if score.min() >= 0.0 and score.max() <= 1.0:
            return score
        outside = (score < -ROUNDING) | (score > 1.0 + ROUNDING)
        kept.refuse(
            [
                ("not_finite", np.isnan(score), lambda row: "the score is missing"),
                ("negative", outside, lambda row: f"the score is {score[row]:.6g}, outside [0, 1]"),
            ]
        )
        return score.clip(0.0, 1.0)


def _numbers(batch: pa.RecordBatch, name: str, words: Sequence[str]) -> np.ndarray:
    """Return a column of numbers (or `words`), (n,), or of lists of m, (n, m), as float32 or float64."""
    column = batch.column(name)
    if column.type in (pa.float32(), pa.float64()) and not column.null_count:
        return column.to_numpy()
    values = column_values(column)
    if not isinstance(values, np.ndarray):
        raise InputError(f"column {name!r} must hold numbers, or lists with a number for each class")
    if values.ndim == 2:
        return values
    return as_float_column(numbered(Table.of("parquet", {name: values}), words).columns[name], name)


def _combinations(batch: pa.RecordBatch, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code of the cells of some columns in each row, (n,), and a row with each code."""
    (code, size), *others = (_coded(batch.column(name)) for name in names)
    for own, n_cells in others:
        code, found = pd.factorize(code.astype(np.int64) * n_cells + own)
        size = len(found)
    row = np.zeros(size, dtype=np.int64)  # row 0 for a code that does not occur
    row[code] = np.arange(len(code))
    return code, row


def _coded(column: pa.Array) -> tuple[np.ndarray, int]:
    is_flag = pa.types.is_boolean(column.type)
    if (is_flag or pa.types.is_integer(column.type)) and not column.null_count:
        values = column.to_numpy(zero_copy_only=False)
        values = values.view(np.uint8) if is_flag else values
        low, high = int(values.min()), int(values.max())
        if low >= 0 and high < MOST_CODES:
            return values, high + 1
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    n_cells = len(coded.dictionary)
    codes = coded.indices.fill_null(n_cells).to_numpy(zero_copy_only=False)
    return codes, n_cells + bool(coded.null_count)


def _groups(batch: pa.RecordBatch, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    words = _Words(batch, [(name,)])
    place, names = words_in(words.columns[name])
    return place[words.at[name,]], tuple(word or MISSING for word in names)


def decide(
    batch: pa.RecordBatch,
    *,
    by: str | Sequence[str] = (),
    part: str = "evaluation",
    weighted: bool = True,
    scores: str = "auto",
    class_names: Sequence[str] | None = None,
    labelled: bool = True,
    **columns: Any,
) -> BatchReader:
    """Return how all batches are read, by the first rows of the data; `columns` as for `calib.read`."""
    table, given = table_of_batch(batch.slice(0, SAMPLE)), given_columns({**columns, "scores": scores})
    by = (by,) if isinstance(by, str) else tuple(by)
    for name, values in table.columns.items():
        if values.dtype == object and writes_lists(name, values[:100].tolist()):
            raise InputError(
                f"column {name[:60]!r} holds lists as text, and sums over parts need a column for each class "
                "or lists of Parquet; calib.read and commands such as `calib metrics` read this file as it is"
            )
    roles = _with_model(table, given, by, labelled)
    raw = raw_of(table, roles)
    raw = raw if labelled else decided_but_for_labels(raw)
    if class_names is not None and raw.kind == "vectors":
        raw = replace(raw, class_names=as_names(class_names, raw.n_classes))
    raw.check_columns()
    check_streamed(raw.kind)
    if labelled:
        _check_labels(raw, roles, class_names is not None)
    unused: list[str] = ["id", "fold", "group", "cluster", "index"]
    unused += ["correct", "weight", "split"] if not labelled else [] if weighted else ["weight"]
    unused += ["predicted", "correct"] if raw.kind == "vectors" else ["correct"] if roles.label else []
    without: dict[str, Any] = dict.fromkeys(unused) | ({} if labelled else {"label": ()})
    roles = replace(roles, **without)
    wanted = None if roles.split is None else part
    reader = BatchReader(roles, raw.decisions(scores), by, wanted, given.model is not None)
    stored = dict.fromkeys(batch.schema.names)
    if inside := [name for name in reader.columns if name not in stored]:
        raise InputError(
            f"{some_names(inside)} are no columns of single values; the columns are "
            f"{some_names(stored)}. Read lists, objects and long tables with calib.read, on a "
            "part that fits into memory"
        )
    return reader


def check_streamed(kind: str, class_wise: bool = False) -> None:
    if kind not in STREAMED:
        raise InputError(
            f"calib.scale takes {', '.join(KINDS[name].title for name in STREAMED)}; these rows are "
            f"{KINDS[kind].title}. Use calib.read on a part that fits into memory"
        )
    if class_wise and kind != "vectors":
        raise InputError(f"class-wise sums need a score for every class; these rows are {KINDS[kind].title}")


def _check_labels(raw: RawPredictions, roles: Roles, named: bool) -> None:
    """Refuse labels that batches cannot hold; `named` are classes whose names the user gives."""
    texts = raw.kind == "vectors" and raw.labels is not None and raw.labels.dtype == object
    lacking = not roles.label and (roles.correct is None or raw.kind == "vectors")
    one = "and sums over parts take one label a row; read a part with calib.read"
    problems = {
        f"columns hold votes, {one}": roles.votes,
        f"the labels are in several columns, {one}, or write one column with the true class": roles.label[1:],
        "the rows have no true labels; add a column 'label'": lacking,
        "labels are texts, and the columns of scores name no classes; pass class_names in column order": (
            texts and not named and roles.class_names is None
        ),
    }
    for problem, is_so in problems.items():
        if is_so:
            raise InputError(problem)


def _with_model(table: Table, given: Given, by: Sequence[str], labelled: bool) -> Roles:
    """Guess the roles; if the first rows name one model, other models may follow."""
    called = [name for name in table.columns if is_called(name, "model")]
    given = replace(given, group=given.group or next((name for name in called if name in by), None))
    words = {name: words_in(table.columns[name])[1] for name in called if name not in (given.group, *by)}
    column = next((name for name in words if len(words[name]) == 1), None)
    if given.model is None and (column is None or not labelled):
        return replace(guess_roles(table, given), model=None, model_name=None)
    if column is None:
        return guess_roles(table, given)
    model = words[column][0] if given.model is None else given.model.rpartition("=")[2]
    return replace(guess_roles(table, replace(given, model=None)), model=column, model_name=model)


def in_order(words: Sequence[str]) -> tuple[str, ...]:
    """Return names of classes in the order in which calib numbers them: numbers by size, then texts."""
    return classes_in(np.array(list(words), dtype=object))


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
