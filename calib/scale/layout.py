"""Roles of columns, decided once on the first rows, and the checked rows of a batch.

Every batch is read by the roles guessed on the first rows, without a Python loop over rows; faults name their
row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.data.matrices import ROW_SUM_TOLERANCE
from calib.data.predictions import Predictions
from calib.data.validation import MISSING as NO_VALUE
from calib.files.readers.answers import (
    abstaining,
    as_outcomes,
    classes_in,
    codes_of,
    no_attempt,
    no_classes,
)
from calib.files.readers.arrow import column_values, table_of_batch
from calib.files.readers.candidates import guess_roles
from calib.files.readers.columns import ROUNDING, is_within
from calib.files.readers.conventions import is_called
from calib.files.readers.nested import writes_lists
from calib.files.readers.raw_predictions import (
    RawPredictions,
    decided_but_for_labels,
    from_log_odds,
    raw_of,
)
from calib.files.readers.roles import Given, Roles, part_of
from calib.files.readers.tables import Table, some_names, words_in
from calib.scale.parts import BLOCK

#: Kinds of predictions that one pass of sums can describe.
STREAMED = ("vectors", "top-label", "confidence", "binary")

#: Rows of the first batch from which roles are guessed.
SAMPLE = 20_000

#: A probability up to this much above 1 was rounded and counts as 1 (see `calib.data.validation`).
ABOVE_ONE = 1e-6


@dataclass(frozen=True)
class Layout(Roles):
    """The roles of columns and further decisions from the first rows, used for every batch.

    `kind` is one of `STREAMED`. `class_names` is None if rows name the classes. `scale` says what the scores
    are, also "percent".
    """

    #: Class code of each text that a label can be ("vectors"); empty if labels are codes
    label_codes: Mapping[str, int] = field(default_factory=dict)
    by: tuple[str, ...] = ()  #: Columns whose groups are summed, too
    class_wise: bool = False  #: Whether the score of every class is summed, too
    known: tuple[str, ...] = ()  #: Classes that the first rows name
    part: str | None = None  #: With `split`: "calibration" or "evaluation", the rows that count
    among_several: bool = False  #: Whether rows of other models are left out, or refused

    @property
    def columns(self) -> list[str]:
        single = (self.predicted, self.correct, self.weight, self.split, self.model)
        return list(
            dict.fromkeys([*self.probabilities, *self.label, *(name for name in single if name), *self.by])
        )


def layout_of(
    batch: pa.RecordBatch,
    *,
    by: Sequence[str] = (),
    class_wise: bool = False,
    part: str = "evaluation",
    weighted: bool = True,
    scores: str = "auto",
    class_names: Sequence[str] | None = None,
    labelled: bool = True,
    given: Given | None = None,
) -> Layout:
    """Decide the roles of columns by the first rows of the data."""
    table, column_names = table_of_batch(batch.slice(0, SAMPLE)), batch.schema.names
    _refuse_lists(table)
    given = given or Given()
    wanted, only = given.model, _only_model(table, {*by, given.group})
    unseen = wanted is not None and only is not None  # other models may follow
    roles = guess_roles(table, replace(given, model=None) if unseen else given)
    model, model_name = only if only is not None and (labelled or unseen) else (None, None)
    if wanted is not None:
        model, model_name = (model, wanted.rpartition("=")[2]) if unseen else (roles.model, roles.model_name)
    raw = raw_of(table, roles)
    raw = raw if labelled else decided_but_for_labels(raw)
    raw.check_columns()
    if raw.kind not in STREAMED:
        raise InputError(
            f"sums over parts describe {', '.join(KINDS[kind].title for kind in STREAMED)}; these rows are "
            f"{KINDS[raw.kind].title}. Use calib.read on a part that fits into memory"
        )
    if labelled and roles.votes:
        raise InputError(
            "columns hold votes, and sums over parts take one label a row; read a part with calib.read"
        )
    if labelled and len(roles.label) > 1:
        raise InputError("the labels are in several columns; write one column with the true class")
    for name in by:
        if name not in column_names:
            raise InputError(f"there is no column {name!r}; the columns are {', '.join(column_names)}")
    if raw.kind == "confidence" and roles.predicted is not None and roles.correct is None:
        raise InputError(
            f"{roles.predicted!r} holds answers of their own; add a column that says whether they are right"
        )
    if labelled and not roles.label and roles.correct is None:
        raise InputError("the rows have no true labels; add a column 'label'")
    if class_wise and raw.kind != "vectors":
        raise InputError(
            f"class-wise sums need a score for every class; these rows are {KINDS[raw.kind].title}"
        )
    classes: dict[str, Any] = {}
    if raw.kind == "vectors":
        classes = _vector_fields(raw, class_names)
    elif raw.kind == "binary":
        classes = {"class_names": raw.names}
    if not labelled:
        roles = replace(roles, label=(), correct=None, weight=None, split=None)
    elif not weighted:
        roles = replace(roles, weight=None)
    decided = {"kind": raw.kind, "class_names": None, "scale": _scale(raw, scores), "model": model}
    layout = Layout(
        **vars(roles) | decided | {"model_name": model_name} | classes,
        by=tuple(by),
        class_wise=class_wise,
        known=_known(raw),
        part=part if roles.split else None,
        among_several=wanted is not None,
    )
    if inside := [name for name in layout.columns if name not in column_names]:
        raise InputError(
            f"{some_names(inside)} are made of lists, objects or long tables, and sums over parts need "
            "columns of single values; use calib.read on a part that fits into memory, or write such columns"
        )
    return layout


def _refuse_lists(table: Table) -> None:
    for name, values in table.columns.items():
        if values.dtype == object and writes_lists(name, values[:100].tolist()):
            raise InputError(
                f"column {name[:60]!r} holds lists as text, and sums over parts need a column for each class "
                "or lists of Parquet; calib.read and commands such as `calib metrics` read this file as it is"
            )


def _only_model(table: Table, without: set[str | None]) -> tuple[str, str] | None:
    """Return the column of models, and the only model that the first rows name."""
    called = [n for n in table.columns if is_called(n, "model") and n not in without]
    words = {name: words_in(table.columns[name])[1] for name in called}
    return next(((name, words[name][0]) for name in called if len(words[name]) == 1), None)


def _known(raw: RawPredictions) -> tuple[str, ...]:
    if raw.kind == "vectors" and raw.class_names is not None:
        return raw.class_names
    return () if raw.labels is None or raw.labels.ndim > 1 else classes_in(raw.labels)


def _vector_fields(raw: RawPredictions, class_names: Sequence[str] | None) -> dict[str, Any]:
    names = tuple(class_names) if class_names is not None else raw.names
    if len(names) != raw.n_classes:
        raise InputError(f"class_names needs one name per column: got {len(names)} for {raw.n_classes}")
    unnamed = class_names is None and raw.roles is not None and raw.roles.class_names is None
    if raw.labels is not None and raw.labels.dtype == object and unnamed:
        raise InputError(
            "labels are texts, and the columns of scores name no classes; pass class_names in column order"
        )
    codes = tuple(str(code) for code in range(len(names)))
    by_name = raw.labels is not None and (raw.labels.dtype == object or raw.labels_are_names)
    by_name = by_name and (raw.labels is None or raw.labels.dtype == object or names != codes)
    return {
        "class_names": names,
        "label_codes": {name: code for code, name in enumerate(names)} if by_name else {},
    }


def _scale(raw: RawPredictions, scores: str) -> str:
    """Return the scale of the scores, by the same rule as `RawPredictions.announced`."""
    if raw.kind == "vectors":
        usable = np.isfinite(raw.proba).all(axis=1)
        if scores == "auto" and usable.any():
            inside = bool(((raw.proba[usable] >= 0.0) & (raw.proba[usable] <= 1.0 + ABOVE_ONE)).mean() > 0.99)
            scores = "probabilities" if inside else raw.scale
        return scores if scores in ("logits", "log_probabilities") else "probabilities"
    values = raw.proba[:, 0]
    values = values[np.isfinite(values)]
    if scores == "auto":
        inside = is_within(values)
        scores = raw.scale if not inside else "probabilities"
        if not inside and scores == "unknown" and values.min() >= 0.0 and np.median(values) > 1.0:
            scores = "percent"
    return scores if scores in ("logits", "log_probabilities", "percent") else "probabilities"


@dataclass(frozen=True)
class Fault:
    """Rows of a batch that cannot be used."""

    code: str  #: Code of the finding (`calib.files.findings.codes.CODES`)
    message: str  #: What is wrong in the first of them
    row: int  #: The first of them, counted from 0
    count: int  #: How many there are


@dataclass(frozen=True, eq=False)
class Rows:
    """The usable rows of a batch."""

    index: np.ndarray | None  #: (n,) int64 array: their places in the batch; None if all are used
    columns: list[np.ndarray] | None  #: list of (n,) float arrays: scores of each class ("vectors")
    score: np.ndarray  #: (n,) float array: the one score of each row; of vectors the highest, at most 1
    #: (n,) int array: class of the highest score, ties to the lowest; a place in `words` ("top-label")
    predicted: np.ndarray | None
    #: (n,) float64 array: sum of the squares of each row's scores ("vectors"), if asked for
    squares: np.ndarray | None
    #: (n,) int64: true class: a code ("vectors"), or a place in `words` ("top-label"), -1 for another
    label: np.ndarray | None
    outcome: np.ndarray | None  #: (n,) bool array: whether the event happened, of all kinds but vectors
    words: tuple[str, ...]  #: Classes that these rows name ("top-label")
    weights: np.ndarray | None  #: (n,) float64 array: weights
    groups: list[tuple[np.ndarray, tuple[str, ...]]]  #: Groups of each column of `by`
    faults: list[Fault]  #: Faults of the rows that were left out
    n_abstained: int  #: Rows of the part that counts whose prediction is no answer

    @property
    def n_rows(self) -> int:
        return len(self.score)


class _Batch:
    def __init__(self, batch: pa.RecordBatch, layout: Layout) -> None:
        self.batch, self.layout = batch, layout
        self.keep = np.ones(batch.num_rows, dtype=bool)
        self.faults: list[Fault] = []

    def refuse(self, code: str, bad: Any, message: Any) -> None:
        """Leave out the rows of a mask that are still in; `message` describes the first of them."""
        bad = bad & self.keep
        if bad.any():
            row = int(bad.argmax())
            self.faults.append(Fault(code, message(row), row, int(bad.sum())))
            self.keep &= ~bad

    def column(self, name: str) -> pa.Array:
        at = self.batch.schema.get_field_index(name)
        if at < 0:
            raise InputError(f"there is no column {name!r} in this file; all files need the same columns")
        return self.batch.column(at)

    def floats(self, name: str) -> np.ndarray:
        """Return a column of numbers as float32 or float64; missing values are NaN."""
        column = self.column(name)
        if column.type in (pa.float32(), pa.float64()) and not column.null_count:
            whole: np.ndarray = column.to_numpy()
            return whole
        values = column_values(column)
        if values is None or values.ndim != 1 or values.dtype == object:
            raise InputError(
                f"column {name!r} must hold numbers; it is {self.column(name).type} in this file"
            )
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)

    def words(self, name: str) -> tuple[np.ndarray, list[str]]:
        column = self.column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values = column_values(column.dictionary)
        if values is None or values.ndim != 1:
            raise InputError(f"column {name!r} must hold texts or numbers; it is {column.type} in this file")
        places, words = words_in(values)
        if column.indices.null_count or not len(words):
            words = words if "" in words else [*words, ""]
            places = np.append(places, words.index(""))
        indices = column.indices.fill_null(len(places) - 1).to_numpy(zero_copy_only=False)
        return places[indices.astype(np.int64, copy=False)], words


def read_batch(batch: pa.RecordBatch, layout: Layout, *, squares: bool = False) -> Rows:
    """Return the usable rows of a batch, and the faults of the others."""
    at = _Batch(batch, layout)
    _keep_part(at, layout)
    n_part, n_abstained = int(at.keep.sum()), 0
    predicted = label = outcome = score = columns = None
    words: list[str] = []
    if layout.kind == "top-label":
        predicted, words = at.words(str(layout.predicted))
        at.keep &= ~abstaining(as_cells(words), as_cells(layout.known), None)[predicted]
    if layout.correct is not None and not layout.label:
        grade, grades = at.words(layout.correct)
        at.keep &= ~no_attempt(as_cells(grades))[grade]
    if layout.kind != "vectors":
        n_abstained = n_part - int(at.keep.sum())
    if layout.kind == "vectors":
        columns = _score_columns(at, layout)
        label = None if not layout.label else _vector_labels(at, layout, len(columns))
    else:
        score = _one_score(at, layout)
        if not layout.label and layout.correct is None:
            pass  # labels are not needed
        elif layout.kind == "top-label":
            assert predicted is not None
            label, outcome, words = _truth(at, layout, predicted, words)
        elif layout.kind == "confidence":
            outcome = _outcomes(at, layout.correct or layout.label[0])
        else:
            outcome = _events(at, layout)
    weights = None
    if layout.weight is not None:
        weights = at.floats(layout.weight).astype(np.float64)
        at.refuse(
            "weights_used",
            ~(np.isfinite(weights) & (weights >= 0.0)),
            lambda row: f"the weight is {weights[row]}",
        )
        at.keep &= ~(weights == 0.0)
    swept = None
    if columns is not None:
        swept = Sweep.of(columns, squares)
        if not swept.are_probabilities:
            refuse_vectors(at, columns)
    groups = [at.words(name) for name in layout.by]
    named = [(codes, tuple(word or NO_VALUE for word in names)) for codes, names in groups]
    index = None
    if not at.keep.all():
        index = np.flatnonzero(at.keep)
        if columns is not None:
            columns = [column[index] for column in columns]
            swept = Sweep.of(columns, squares)
        score, predicted, label, outcome, weights = (
            None if column is None else column[index]
            for column in (score, predicted, label, outcome, weights)
        )
        named = [(codes[index], names) for codes, names in named]
    squared = None
    if swept is not None:
        score, predicted, squared = swept.score, swept.label, swept.squares
    assert score is not None
    return Rows(
        index, columns, score, predicted, squared, label, outcome, tuple(words), weights, named, at.faults,
        n_abstained,
    )  # fmt: skip


def _keep_part(at: _Batch, layout: Layout) -> None:
    if layout.model is not None:
        model, models = at.words(layout.model)
        counts = np.array([name == layout.model_name for name in models], dtype=bool)[model]
        if not layout.among_several and not counts.all():
            other = models[model[counts.argmin()]]
            raise InputError(
                f"column {layout.model!r} names {layout.model_name!r} and then {other!r}: models below each "
                f"other; name one with model={other!r}, or pass by or group={layout.model!r} if they are none"
            )
        at.keep &= counts
    if layout.split is None:
        return
    codes, words = at.words(str(layout.split))
    parts = [part_of(word) for word in words]
    unknown = np.array([part is None for part in parts], dtype=bool)[codes]
    at.refuse(
        "labels_missing", unknown, lambda row: f"column {layout.split!r} holds {words[codes[row]]!r}, no part"
    )
    at.keep &= np.array([part == layout.part for part in parts], dtype=bool)[codes]


def _score_columns(at: _Batch, layout: Layout) -> list[np.ndarray]:
    if len(layout.probabilities) == 1:
        matrix = column_values(at.column(layout.probabilities[0]))
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
            raise InputError(
                f"column {layout.probabilities[0]!r} must hold lists with a number for each class"
            )
        columns = list(np.ascontiguousarray(matrix.T))
    else:
        columns = [at.floats(name) for name in layout.probabilities]
    if layout.scale != "probabilities":
        matrix = np.stack(columns, axis=1)
        at.refuse(
            "not_finite", ~np.isfinite(matrix).all(axis=1), lambda row: "a score is missing or infinite"
        )
        matrix[~at.keep] = -1.0
        whole = RawPredictions(matrix, scale=layout.scale)
        if layout.scale == "logits":
            proba = Predictions.from_logits(matrix).proba
        else:
            matrix[~at.keep] = np.log(1.0 / matrix.shape[1])
            proba = whole.predictions(layout.scale).proba
        return list(np.ascontiguousarray(proba.T))
    if len({column.dtype for column in columns}) > 1:
        columns = [column.astype(np.float64) for column in columns]
    return columns


@dataclass(frozen=True, eq=False)
class Sweep:
    """Results of one pass over columns of scores, block by block."""

    #: (n,) arrays: highest score of each row, at most 1, and its column, ties to the lowest
    score: np.ndarray
    label: np.ndarray
    squares: np.ndarray | None  #: (n,) float64 array: sum of the squares of each row, if asked for
    are_probabilities: bool  #: Whether all scores are 0 or more, and all rows sum to 1

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], squares: bool) -> Sweep:
        """Read the columns, an array for each class, block by block."""
        n_rows, dtype = len(columns[0]), columns[0].dtype
        kind = np.uint8 if len(columns) <= 2**8 else np.uint16 if len(columns) <= 2**16 else np.uint32
        score, label = np.empty(n_rows, dtype), np.zeros(n_rows, kind)
        total = np.empty(n_rows) if squares else None
        size = min(n_rows, BLOCK)
        space: Any = (np.empty(size, kept) for kept in (dtype, dtype, bool, kind, np.float64))
        space = tuple(space)
        fine = True
        for start in range(0, n_rows, BLOCK):
            rows = slice(start, min(start + BLOCK, n_rows))
            sums, lowest, higher, place, exact = (array[: rows.stop - start] for array in space)
            block = [column[rows] for column in columns]
            best, best_label = score[rows], label[rows]
            np.copyto(best, block[0])
            np.copyto(sums, best)
            np.copyto(lowest, best)
            if total is not None:
                np.copyto(exact, best)
                np.multiply(exact, exact, out=total[rows])
            with np.errstate(invalid="ignore", over="ignore"):
                for code, scores in enumerate(block[1:], start=1):
                    sums += scores
                    np.minimum(lowest, scores, out=lowest)
                    np.greater(scores, best, out=higher)
                    np.maximum(best, scores, out=best)
                    if kind is np.uint8:  # all bits if it is higher: its code's bits remain
                        np.negative(higher.view(np.int8), out=place.view(np.int8))
                        np.bitwise_and(place, np.uint8(code), out=place)
                    else:
                        np.multiply(higher, kind(code), out=place, dtype=kind)
                    np.maximum(best_label, place, out=best_label)
                    if total is not None:
                        np.copyto(exact, scores)
                        exact *= exact
                        total[rows] += exact
                off = max(1.0 - float(sums.min()), float(sums.max()) - 1.0)
            fine = fine and bool(lowest.min() >= 0.0) and off <= ROW_SUM_TOLERANCE
            np.minimum(best, best.dtype.type(1.0), out=best)
        return cls(score, label, total, fine)


def refuse_vectors(at: _Batch, columns: list[np.ndarray]) -> None:
    with np.errstate(invalid="ignore"):
        matrix = np.stack(columns, axis=1).astype(np.float64)
        lowest, highest, sums = matrix.min(axis=1), matrix.max(axis=1), matrix.sum(axis=1)
        finite = np.isfinite(matrix).all(axis=1)
        at.refuse("not_finite", ~finite, lambda row: "a score is missing or infinite")
        outside = finite & ((lowest < 0.0) | (highest > 1.0 + ABOVE_ONE))
        at.refuse(
            "negative",
            outside,
            lambda row: f"scores run from {lowest[row]:.6g} to {highest[row]:.6g}, outside [0, 1]",
        )
        at.refuse(
            "rounding",
            finite & (np.abs(sums - 1.0) > ROW_SUM_TOLERANCE),
            lambda row: f"the scores sum to {sums[row]:.6g}, not to 1",
        )


def _vector_labels(at: _Batch, layout: Layout, n_classes: int) -> np.ndarray:
    name = layout.label[0]
    if layout.label_codes:
        codes, words = _true_words(at, layout, name)
        label = np.array([layout.label_codes.get(word, -1) for word in words], dtype=np.int64)[codes]
        at.refuse(
            "label_names_unmatched", label < 0, lambda row: f"label {words[codes[row]]!r} names no class"
        )
        return label
    values = column_values(at.column(name))
    if values is None or values.dtype == object:
        raise InputError(f"column {name!r} must hold class codes; it is {at.column(name).type} in this file")
    if values.dtype.kind == "f":
        at.refuse("labels_missing", np.isnan(values), lambda row: "there is no label")
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
        label = np.where(whole, values, -1).astype(np.int64)
    else:
        label = values
    low, high = (label.min(), label.max()) if len(label) else (0, 0)
    if low < 0 or high >= n_classes:
        out = (label < 0) | (label >= n_classes)
        at.refuse("label_out_of_range", out, lambda row: f"label {values[row]} is outside 0..{n_classes - 1}")
        label = np.where(out, 0, label)
    return label


def _one_score(at: _Batch, layout: Layout) -> np.ndarray:
    score = at.floats(layout.probabilities[0])
    at.refuse("not_finite", np.isnan(score), lambda row: "the score is missing")
    given = score
    with np.errstate(over="ignore", invalid="ignore"):
        if layout.scale == "percent":
            score = score / score.dtype.type(100.0)
        elif layout.scale == "logits":
            score = from_log_odds(score)
        elif layout.scale == "log_probabilities":
            score = np.exp(np.minimum(score.astype(np.float64), 0.0))
        outside = (score < -ROUNDING) | (score > 1.0 + ROUNDING)
        at.refuse("negative", outside, lambda row: f"the score is {given[row]:.6g}, outside [0, 1]")
        return score.clip(0.0, 1.0)


def _truth(
    at: _Batch, layout: Layout, predicted: np.ndarray, words: list[str]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the true classes as codes of `words`, which may grow, and whether predictions are right."""
    if not layout.label:
        right = _outcomes(at, str(layout.correct))
        return np.where(right, predicted, -1), right, words
    codes, classes = _true_words(at, layout, layout.label[0], words)
    known = list(dict.fromkeys([*words, *classes]))
    place = {word: code for code, word in enumerate(known)}
    label = np.array([place[word] for word in classes], dtype=np.int64)[codes]
    return label, label == predicted, known


def _true_words(
    at: _Batch, layout: Layout, name: str, predicted: Sequence[str] = ()
) -> tuple[np.ndarray, list[str]]:
    """Return the codes of the true classes and their words; rows without a label are left out."""
    codes, words = at.words(name)
    none = no_classes(words, {*layout.known, *predicted})
    missing = np.array([word in none for word in words], dtype=bool)[codes]
    at.refuse("labels_missing", missing, lambda row: f"there is no label, {words[codes[row]]!r}")
    return codes, words


def _outcomes(at: _Batch, name: str) -> np.ndarray:
    codes, words = at.words(name)
    outcome = as_outcomes(as_cells(words))[codes]
    at.refuse(
        "labels_missing", np.isnan(outcome), lambda row: f"{words[codes[row]]!r} says neither right nor wrong"
    )
    return outcome == 1.0


def _events(at: _Batch, layout: Layout) -> np.ndarray:
    names = layout.class_names or ("0", "1")
    codes, words = _true_words(at, layout, layout.label[0])
    event = codes_of(as_cells(words), names, set(names) == {"0", "1"})[codes]
    at.refuse(
        "label_out_of_range", event < 0, lambda row: f"label {words[codes[row]]!r} is neither of two classes"
    )
    return event == 1


def as_cells(words: Sequence[str]) -> np.ndarray:
    cells = np.empty(len(words), dtype=object)
    cells[:] = list(words)
    return cells


def in_order(words: Sequence[str]) -> tuple[str, ...]:
    """Return names of classes in the order in which calib numbers them: numbers by size, then texts."""
    return classes_in(as_cells(list(words)))
