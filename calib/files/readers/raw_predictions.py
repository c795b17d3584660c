"""Raw predictions: the scores, labels and names of a file, before anything is checked.

A file has up to two parts: its calibration rows and its evaluation rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.kinds import KINDS
from calib.data.matrices import highest, row_sums, softmax_rows
from calib.data.predictions import BasePrediction, ConfidencePrediction, Predictions, assessed_as_stated
from calib.data.splits import FOLD, ID
from calib.data.times import blocks_of, column_of_block
from calib.data.validation import as_labels
from calib.files.readers.answers import (
    ANOTHER,
    MISSING,
    abstaining,
    are_equivalent,
    classes_in,
    codes_of,
    graded,
    missing_cells,
    nearly_same,
    no_classes,
    outcomes_of,
    same_answers,
    same_classes,
    two_classes,
)
from calib.files.readers.columns import flags_of, have_several, is_whole, is_within
from calib.files.readers.conventions import LABELS, is_called, normalised
from calib.files.readers.long_format import Votes, votes_in
from calib.files.readers.reading import read_table, table_from
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import Choice, ChoiceError, Given, Roles, kept, part_of, part_tables, rows_of
from calib.files.readers.source import Limits, Progress
from calib.files.readers.tables import (
    Table,
    any_numbers,
    as_keys,
    by_word,
    check_words,
    frozen,
    some_names,
    words_in,
)

OTHER_SCALES = ("logits", "log_probabilities", "percent")
SCALES = ("auto", "probabilities", *OTHER_SCALES)
#: Largest distance from 1 of a sum of exp of printed log-probabilities.
LOG_SUM_TOLERANCE = 0.02
#: Largest distance from 100 of a sum of percentages printed with a decimal over many classes.
PERCENT_TOLERANCE = 1.5


#: Rows that cannot be used: code of the finding, mask of the rows, and what is wrong with one of them.
Refused = tuple[str, np.ndarray, Callable[[int], str]]


class RemedyError(InputError):
    """Input that is usable if `argument` ("fix", "scores" or "split") is `value`; `fact` has no full stop."""

    def __init__(self, fact: str, advice: str, argument: str, value: str) -> None:
        super().__init__(f"{fact}. {advice}")
        self.fact, self.argument, self.value = fact, argument, value


def _of_class(raw: RawPredictions, positive: str) -> RawPredictions:
    """Return raw predictions of one class and all others together."""
    if "event" in raw.has:
        seen = () if raw.seen is None else classes_in(raw.seen)
        if positive not in (*raw.names, *seen):
            raise InputError(f"the classes are {some_names(seen or raw.names)}; got positive={positive!r}")
        return replace(raw, class_names=two_classes(raw.seen, positive))
    if "every label" not in raw.has:
        return raw
    if positive not in raw.names:
        raise InputError(f"the classes are {some_names(raw.names)}; got positive={positive!r}")
    at, labels = raw.names.index(positive), None
    names = (f"not {positive}", positive)
    if raw.labels is not None:
        codes = np.nan_to_num(raw.labels[:, at].astype(np.float64), nan=2.0).astype(np.int64)
        labels = np.array([*names, ""], dtype=object)[codes]
    proba = np.ascontiguousarray(raw.proba[:, at : at + 1])
    return replace(raw, proba=proba, labels=labels, class_names=names, kind="binary", roles=None)


def read_raw(
    source: Any,
    *,
    labels: Any = None,
    format: str | None = None,
    split: str | None = None,
    roles: Roles | None = None,
    given: Given | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> RawPredictions:
    """Read a file and decide the roles of its columns, checking nothing; arguments of `read_predictions`."""
    limits = (limits or Limits()).begun(progress)
    table = table_from(source, limits, format) or read_table(source, format=format, limits=limits)
    raw_by_part = divide(table, roles, split, given, labels, limits)
    if (name := split or "evaluation") not in raw_by_part:
        raise InputError(f"the file has no part {name!r}; choose from {some_names(raw_by_part)}")
    return raw_by_part[name]


@dataclass(frozen=True)
class Decided:
    """What the first rows of a file decide about its other rows, which are read in batches."""

    scale: str  #: Scale of the scores: "probabilities", "logits", "log_probabilities" or "percent"
    #: Names of the classes; None if each row names its class ("top-label")
    class_names: tuple[str, ...] | None
    labels_are_names: bool  #: Whether labels that are numbers are names of classes
    known: tuple[str, ...]  #: Words that are classes, although they can mean "no class" or "no answer"


@dataclass(frozen=True, eq=False)
class RawPredictions:
    """Scores and labels as the file has them."""

    proba: np.ndarray  #: (n, L) float32 or float64 array: scores, not necessarily probabilities
    #: (n,) array: true labels: whole numbers, floats with NaN, or names with "" if missing
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None  #: One name per column of `proba`, when the source gives names
    scale: str = "unknown"  #: What the names of the source say about the scores; "unknown" if nothing
    #: (n,) array: row ids, sample weights, and what rows belong together
    ids: np.ndarray | None = None
    weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    roles: Roles | None = None  #: The columns that the other fields came from
    no_labels: tuple[str, ...] = ()  #: Cells of the label, such as "-", that mean "no class"
    #: Kind of the predictions; `proba` of all but vectors is one column, the confidence or P(Y = 1)
    kind: str = "vectors"
    #: Cells of the predicted class, (n,) array, or of the highest classes, best first, (n, K) array
    answers: np.ndarray | None = None
    votes: Votes | None = None  #: Votes; `labels` are their majorities
    #: Every column except scores, predicted class, label and weights, (n,) each
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    decided: Decided | None = None  #: What earlier rows of the same file decide; None if these are all rows

    @property
    def has(self) -> frozenset[str]:
        return KINDS[self.kind].has

    @property
    def n_samples(self) -> int:
        return self.proba.shape[0]

    @property
    def n_classes(self) -> int:
        return self.proba.shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Class names, "0", "1", ... if the source gives none."""
        size = 2 if "event" in self.has else self.n_classes
        return self.class_names or tuple(str(code) for code in range(size))

    def take(self, rows: Any) -> RawPredictions:
        fields = ("labels", "votes", "ids", "weight", "cluster", "answers")
        columns = {name: getattr(self, name) for name in fields}
        chosen = {name: values[rows] for name, values in columns.items() if values is not None}
        metadata = {name: values[rows] for name, values in self.metadata.items()}
        return replace(self, proba=frozen(self.proba[rows]), metadata=metadata, **chosen)

    @property
    def predicted(self) -> np.ndarray | None:
        """Cells of the predicted class, (n,) array."""
        return self.answers if self.answers is None or self.answers.ndim == 1 else self.answers[:, 0]

    @property
    def seen(self) -> np.ndarray | None:
        """Labels, or the classes that are voted for, (k,) array; None if there are neither."""
        return self.labels if self.votes is None else self.votes.classes

    @property
    def abstained(self) -> np.ndarray:
        """Mask of the rows whose prediction is no answer."""
        if self.predicted is None:
            return np.zeros(self.n_samples, dtype=bool)
        named = None if self.roles is None else self.roles.abstentions
        true = self.labels if self.decided is None else np.array(self.decided.known, dtype=object)
        return abstaining(self.predicted, true, named)

    @cached_property
    def top(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Predicted classes, int64 with -1 if unknown, and their scores; or None, and the one score."""
        if "vector" in self.has:
            return highest(self.proba)
        named = self.predicted is not None and "predicted class" in self.has
        return self._coded(np.asarray(self.predicted)) if named else None, self.proba[:, 0]

    def _coded(self, cells: np.ndarray) -> np.ndarray:
        listed = self.roles is not None and self.roles.class_names is not None
        return codes_of(cells, self.names, listed or "event" in self.has)

    def decisions(self, scores: str = "auto") -> Decided:
        """Return what these rows, the first of a file, decide about its other rows."""
        usable = self.proba[np.isfinite(self.proba).all(axis=1)]
        texts = self.labels is not None and self.labels.dtype == object
        return Decided(
            scale=self.scale_of(usable, scores) if len(usable) else "probabilities",
            class_names=self.names if self.kind in ("vectors", "binary") else None,
            labels_are_names=texts or self.labels_are_names,
            known=() if self.kind == "confidence" else self.names,
        )

    @cached_property
    def codes(self) -> np.ndarray | None:
        """Class codes of `labels`, -1 if unknown; whole numbers are names if all class names are numbers."""
        labels = self.labels
        if labels is None or "every label" in self.has:
            return None
        if "classes" not in self.has:
            return np.nan_to_num(labels.astype(np.float64), nan=-1.0).astype(np.int64)
        if "vector" not in self.has:
            return self._coded(labels)
        named = labels.dtype == object or self.labels_are_names
        names = self.names if named else tuple(map(str, range(self.n_classes)))
        numbers = {_number(name): code for code, name in enumerate(names)}
        if labels.dtype != object and len(numbers) < len(names):
            raise InputError(f"classes {some_names(names)}: two are the same number; rename one of them")
        code_of = numbers | {name: code for code, name in enumerate(names)}
        labels = labels.astype(np.int64) if labels.dtype == bool else labels
        return by_word(labels, lambda word: code_of.get(word, code_of.get(_number(word), -1)), np.int64)

    def refused_labels(self) -> list[Refused]:
        """Return the rows without a label, and the rows whose label names no class."""
        labels, codes = self.labels, self.codes
        if labels is None or codes is None:
            return []
        missing, roles = missing_cells(labels), self.roles or Roles(())
        graded = f", and {roles.correct!r} says neither right nor wrong" if roles.correct else ""
        named = self.kind == "vectors" and (labels.dtype == object or self.labels_are_names)
        listed = some_names(self.names)
        return [
            ("labels_missing", missing, lambda row: f"there is no label{graded}"),
            (
                "label_names_unmatched" if named else "label_out_of_range",
                (codes < 0) & ~missing,
                lambda row: (
                    f"label {as_keys(labels[[row]])[0][:60]!r} names no class; the classes are {listed}"
                ),
            ),
        ]

    @property
    def labels_are_names(self) -> bool:
        """Whether numeric labels are names: all names are integers, and more labels are names than codes."""
        if self.decided is not None:
            return self.decided.labels_are_names
        numbers = _as_integers(self.class_names or ())
        if not numbers or self.labels is None or self.labels.dtype == object:
            return False
        values = self.labels[np.isfinite(self.labels)] if self.labels.dtype.kind == "f" else self.labels
        distinct = pd.unique(values)
        named = int(np.isin(distinct, numbers).sum())
        coded = int(((distinct >= 0) & (distinct < self.n_classes)).sum())
        return len(distinct) > 0 and (named == len(distinct) or named > coded)

    def predictions(self, scores: str = "auto") -> Predictions:
        """Return `rows`, or refuse rows without a probability for every class."""
        rows = self.rows(scores)
        if not isinstance(rows, Predictions):
            raise InputError(
                f"there is no probability for every class, only {KINDS[self.kind].title}; read it with "
                "calib.read"
            )
        return rows

    def rows(self, scores: str = "auto") -> BasePrediction:
        """Check everything and return predictions of this kind; abstentions are left out.

        "auto" trusts the names of scores unless their values contradict.
        """
        self.check_columns()
        none, rows = self.abstained, self
        if none.any():
            if none.all():
                raise InputError(f"no row holds an answer: all {len(none):,} predictions are abstentions")
            rows = self.take(~none)
            rows.check_columns()
        return rows._with_votes(assessed_as_stated(rows._checked(scores, float(1.0 - none.mean()))))

    def _with_votes(self, rows: Any) -> Any:
        """Add the votes to checked rows; rows without votes stay as they are."""
        if self.votes is None or rows.labels is None:
            return rows
        codes = replace(self, labels=self.votes.classes).codes
        assert codes is not None
        for word in as_keys(self.votes.classes[codes < 0])[:1]:
            raise InputError(
                f"{word[:60]!r} has votes but matches no class; the classes are {some_names(self.names)}"
            )
        counts = np.zeros((self.n_samples, len(self.names)))
        np.add.at(counts.T, codes, self.votes.counts.T)
        return rows.with_votes(counts)

    def _checked(self, scores: str, coverage: float) -> BasePrediction:
        roles, names = self.roles or Roles(()), self.names
        columns = {ID: roles.id, FOLD: roles.fold}
        further: dict[str, Any] = {
            "metadata": pd.DataFrame(dict(self.metadata)) if self.metadata else None,
            "columns": {role: name for role, name in columns.items() if name in self.metadata},
            "sample_weight": self.weight,
            "cluster": self.cluster,
        }
        labels, vectors = self._checked_labels(), "vector" in self.has
        scale = self.scale_of(self.proba, scores)
        if vectors and scale == "logits":
            return Predictions.from_logits(self.proba, labels, names, **further)
        values = probabilities_on(self.proba, scale, vectors=vectors)
        if not vectors and is_within(values) and is_outside(values):
            values = values.clip(0.0, 1.0)
        make: Any = KINDS[self.kind].type
        if "scores" in self.has:
            return make(values, labels, names, **further)
        further["coverage"] = coverage
        if "classes" in self.has:
            further["class_names"] = names
        if "one score" in self.has:
            return make(values[:, 0], labels, **further)
        answers = np.asarray(self.answers)
        codes = self._coded(answers.ravel())
        if "ranks" in self.has and (codes < 0).any():
            row = int((codes < 0).argmax()) // self.n_classes
            raise InputError(f"row {row} lists an empty class; give {self.n_classes} classes in every row")
        return make(codes.reshape(answers.shape), values.reshape(answers.shape), labels, **further)

    def check_columns(self) -> None:
        """Refuse columns whose roles are open, and predicted classes that do not match the labels."""
        if self.roles is not None and self.roles.doubt is not None:
            raise ChoiceError(self.roles.doubt, self.roles.choices)
        if (mismatch := self.mismatch()) is not None:
            raise InputError(mismatch[0])
        if "event" in self.has and self.seen is not None and len(found := classes_in(self.seen)) > 2:
            raise InputError(f"there is one column of scores for {len(found):,} classes: {some_names(found)}")

    def mismatch(self) -> tuple[str, dict[str, str] | None] | None:
        """Return why predicted and true classes do not match, and the class that each label means; else None.

        The second is None if neither case, punctuation, prefixes nor numbers explain the difference.
        """
        if "predicted class" not in self.has or self.labels is None or self.predicted is None:
            return None
        predicted = classes_in(np.asarray(self.answers)[~self.abstained])
        true = classes_in(self.labels)
        if not predicted or not true or set(true) <= {ANOTHER}:
            return None
        if near := nearly_same(true, predicted):
            return f"classes are written in two ways: {some_names([*near, *near.values()])}", near
        if set(predicted) & set(true):
            return self._counted_from_one(predicted, true)
        listed = (
            f"no predicted class is ever true: the predicted classes are {some_names(predicted)}, the true "
            f"classes {some_names(true)}"
        )
        return listed, same_classes(true, predicted)

    def _counted_from_one(
        self, predicted: Sequence[str], true: Sequence[str]
    ) -> tuple[str, dict[str, str] | None] | None:
        """Return the `mismatch` if predictions or labels run from 0 to K-1 and the others from 1 to K."""
        first, second = _as_integers(predicted), _as_integers(true)
        if not first or not second:
            return None
        less = min(second) - min(first)
        if abs(less) != 1 or max(second) - max(first) != less or 0 not in (min(first), min(second)):
            return None
        same = {str(number): str(number - less) for number in second}
        cells, labels = as_keys(np.asarray(self.predicted)), as_keys(np.asarray(self.labels))
        as_is = float(np.mean(cells == labels))
        shifted = float(np.mean(cells == by_word(labels, lambda word: same.get(word, word), object)))
        if shifted - as_is < max(0.1, 2.0 / np.sqrt(len(cells))):
            return None
        return (
            f"predicted classes begin at {min(first)} and labels at {min(second)}: accuracy is {as_is:.3f}, "
            f"and {shifted:.3f} if both begin at {min(first)}"
        ), same

    def scale_of(self, values: np.ndarray, scores: str = "auto") -> str:
        """Return the scale of scores; "auto" trusts the names of the file unless the values contradict."""
        if scores not in SCALES:
            raise InputError(f"scores must be one of {', '.join(SCALES)}; got {scores!r}")
        if scores != "auto":
            return scores
        if self.kind == "vectors":
            with np.errstate(over="ignore", invalid="ignore"):
                sound = ((values >= 0.0) & (values <= 1.0 + 1e-6)).all(axis=1)
                sound &= np.abs(row_sums(values) - 1.0) < LOG_SUM_TOLERANCE
            return self.scale if sound.mean() < 0.99 and self.scale in OTHER_SCALES else "probabilities"
        if is_within(values):
            return "probabilities"
        unnamed = self.roles is None and values.min() >= 0.0 and 10.0 < values.max() <= 100.0
        if unnamed and np.median(values) > 1.0:
            return "percent"
        return self.scale if self.scale in OTHER_SCALES else "probabilities"

    def _checked_labels(self) -> np.ndarray | None:
        if self.labels is not None and "every label" in self.has:
            missing = np.isnan(self.labels.astype(np.float64)).any(axis=1)
            if missing.any():
                row = int(missing.argmax())
                raise InputError(f"row {row} does not say of each class whether it is true; complete it")
            return self.labels
        if self.labels is None or missing_cells(self.labels).all():
            return None
        for _, rows, what in self.refused_labels():
            if rows.any():
                row, n = int(rows.argmax()), int(rows.sum())
                raise InputError(f"row {row}: {what(row)} ({n:,} such row{'s' * (n != 1)})")
        return self.codes


def raw_of_predictions(rows: Any) -> RawPredictions:
    """Turn checked predictions that are not vectors into raw predictions."""
    table = {} if rows.metadata is None else rows.metadata
    further: dict[str, Any] = {"kind": rows.kind, "weight": rows.sample_weight, "cluster": rows.cluster}
    further["metadata"] = {str(name): column.to_numpy() for name, column in table.items()}
    if "every label" in rows.has:
        return RawPredictions(rows.scores, rows.labels, rows.class_names, **further)
    names = rows.class_names or tuple(str(code) for code in range(rows.n_classes))
    words, labels = np.array(names, dtype=object), rows.labels
    if labels is not None:
        labels = words[labels] if "classes" in rows.has else labels.astype(np.float64)
    if "predicted class" in rows.has:
        further["answers"] = words[getattr(rows, rows.class_field)]
    scores = getattr(rows, rows.scored_by)
    return RawPredictions(scores if scores.ndim == 2 else scores[:, None], labels, names, **further)


def is_outside(values: np.ndarray) -> bool:
    """Whether some score is outside [0, 1] by more than the last bit of a float32."""
    return bool(values.min() < 0.0 or values.max() > 1.0 + 1e-6)


def probabilities_on(values: np.ndarray, scale: str, *, vectors: bool) -> np.ndarray:
    """Return probabilities from scores on a scale: of single events, or rows of `vectors`.

    A row that is not on the scale does not sum to 1.
    """
    if scale in ("percent", "probabilities"):
        return values / values.dtype.type(100.0) if scale == "percent" else values
    with np.errstate(over="ignore", invalid="ignore"):  # also of a signalling NaN
        if scale == "logits":
            return softmax_rows(values) if vectors else 1.0 / (1.0 + np.exp(-values.astype(np.float64)))
        proba: np.ndarray = np.exp(values.astype(np.float64))
        if not vectors:
            return proba.clip(max=1.0)
        sums = proba.sum(axis=1, keepdims=True)
        return proba / np.where(np.abs(sums - 1.0) <= LOG_SUM_TOLERANCE, sums, 1.0)


def are_log_probabilities(matrix: np.ndarray) -> bool:
    """Whether no score is above 0 and exp of the rows sums to 1; minus infinity is allowed."""
    if np.isnan(matrix).any() or matrix.max() > 1e-6 or matrix.min() > -1e-6:
        return False
    return bool(np.median(np.abs(np.exp(matrix.astype(np.float64)).sum(axis=1) - 1.0)) < LOG_SUM_TOLERANCE)


def are_percentages(matrix: np.ndarray) -> bool:
    """Whether the scores run from 0 to more than 1 and rows sum to 100."""
    inside = matrix.min() >= 0.0 and matrix.max() > 1.0 + 1e-6
    off = np.abs(row_sums(matrix) - 100.0)
    return bool(inside and np.median(np.minimum(off, 100.0)) < PERCENT_TOLERANCE)


@any_numbers
def raw_of(table: Table, roles: Roles, decided: Decided | None = None) -> RawPredictions:
    """Return the raw predictions of a table, or of a batch of rows, about which the first rows `decided`."""
    table = kept(table, roles.only, roles.words)
    if roles.drop_label and len(roles.label) == 1 and roles.label[0] in table.columns:
        dropped = by_word(table.columns[roles.label[0]], roles.drop_label.__contains__, bool)
        table = rows_of(table, ~dropped)
    single = [column_of_block(name, table.columns) for name in roles.single]
    for name in (*roles.probabilities, *roles.label, *roles.votes, *single):
        if name not in table.columns and name not in table.matrices:
            raise InputError(f"there is no column {name!r}; check the roles of the columns")
    first = roles.probabilities[0]
    proba = table.matrices[first] if first in table.matrices else table.matrix(roles.probabilities)
    if proba.size == 0:
        raise InputError(f"the scores are empty: shape {proba.shape}")
    for name in single:
        if (size := len(table.columns[name])) != len(proba):
            raise InputError(
                f"{name!r} has {size:,} entries for {len(proba):,} rows of scores; give one for each row"
            )

    def column(role: str) -> np.ndarray | None:
        name = getattr(roles, role)
        return None if name is None else _cells(table, name)

    answers = column("predicted")
    if roles.ranked:
        proba, answers = _ranks_of(table, roles, proba)
    votes = votes_in(table, roles.votes) if roles.votes else None
    if votes is not None and not roles.has & {"class", "event"}:
        raise InputError(f"votes are for one of several classes; these rows are {KINDS[roles.kind].title}")
    labels = _labels_of(table, roles) if votes is None else votes.labels
    if roles.correct is not None and labels is None:
        said = answers if answers is None or answers.ndim == 1 else answers[:, 0]
        labels, said = graded(table.columns[roles.correct], roles.correct, said)
        answers = answers if roles.ranked else said
    elif "classes" not in roles.has and answers is not None and labels is not None and not roles.correct:
        labels, answers = same_answers(answers, labels), None
    raw = RawPredictions(
        proba=proba,
        scale=roles.scale,
        ids=column("id"),
        weight=column("weight"),
        cluster=column("cluster"),
        roles=roles,
        kind=roles.kind,
        answers=answers,
        votes=votes,
        metadata=_metadata(table, roles, len(proba)),
        decided=decided,
    )
    return _labelled(raw, labels)


def _labelled(raw: RawPredictions, labels: np.ndarray | None) -> RawPredictions:
    """Add labels, with "" in place of words that mean "no class", and name the classes."""
    roles = raw.roles or Roles((), kind=raw.kind)
    if labels is not None and len(labels) != raw.n_samples:
        raise InputError(
            f"there are {len(labels):,} labels for {raw.n_samples:,} rows of scores; give one label per row"
        )
    if labels is not None and labels.dtype == object and labels.ndim == 1:
        words = words_in(labels)[1]
        known = {*(roles.class_names or ()), *(raw.decided.known if raw.decided else ())}
        none = no_classes(words, known | {*classes_in(raw.answers)})
        if found := tuple(word for word in words if word in none and word):
            labels = by_word(labels, lambda word: "" if word in none else word, object)
            raw = replace(raw, no_labels=found)
    if labels is not None and "classes" not in raw.has:
        labels = outcomes_of(labels)
    raw = replace(raw, labels=labels)
    if raw.roles is None and "event" not in raw.has:
        return raw
    names = _names_of(raw, roles)
    check_words(names or (), "the class names")
    rest = f"not {roles.positive}"
    if names and labels is not None and roles.class_names == (rest, roles.positive):
        held = {*names, *MISSING}
        labels = by_word(labels, lambda word: word if word in held else rest, object)
    if names and "scores" in roles.has and len(names) != raw.n_classes:
        raise InputError(f"there are {len(names)} class names for {raw.n_classes} columns of scores")
    return replace(raw, labels=labels, class_names=names)


def _ranks_of(table: Table, roles: Roles, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, K) scores and names of the highest classes; K is the fewest classes that a row has."""
    cells = [_cells(table, name) for name in roles.ranked]
    ranked = np.stack([as_keys(cell) for cell in cells], axis=1)
    filled = np.isfinite(scores)
    answered = filled.any(axis=1)
    n_ranks = int(filled[answered].sum(axis=1).min()) if answered.any() else 1
    if "calibrated" not in normalised(roles.probabilities[0]):
        order = np.argsort(np.where(filled, -scores, np.inf), axis=1, kind="stable")
        scores, ranked = (np.take_along_axis(array, order, axis=1) for array in (scores, ranked))
    ranked[~answered, 0] = ""
    return np.ascontiguousarray(scores[:, :n_ranks]), ranked[:, :n_ranks]


def _names_of(raw: RawPredictions, roles: Roles) -> tuple[str, ...] | None:
    if raw.decided is not None and raw.decided.class_names is not None:
        return raw.decided.class_names
    if "scores" in raw.has:
        short, long = roles.class_names, tuple(name.strip() for name in roles.probabilities)
        if raw.seen is None or raw.seen.dtype != object or raw.seen.ndim > 1:
            return short
        found = classes_in(raw.seen)
        if short is None:
            return found if len(found) == raw.n_classes else None
        longer = len(short) == len(long) and len({*found} & {*long}) > len({*found} & {*short})
        return long if longer else short  # in the form of the labels
    if "classes" not in raw.has:
        return ConfidencePrediction.class_names
    if "event" in raw.has:
        listed = roles.class_names is not None and len(roles.class_names) == 2
        return roles.class_names if listed else two_classes(raw.seen, roles.positive)
    assert raw.answers is not None
    return roles.class_names or classes_in(raw.answers[~raw.abstained], raw.seen)


def _metadata(table: Table, roles: Roles, n_rows: int) -> dict[str, np.ndarray]:
    used = {*roles.probabilities, *roles.votes, *roles.ranked, roles.weight, roles.index}
    if "classes" in roles.has or not roles.predicted:
        used |= {*roles.label, roles.predicted}
    if not roles.label:
        used |= {roles.correct}
    kept = {name: v for name, v in table.columns.items() if name not in used and len(v) == n_rows}
    return {_whole_characters(name): _as_written(values) for name, values in kept.items()}


def _whole_characters(text: Any) -> Any:
    """Replace half characters, which prompts cut at any byte can have, by U+FFFD; keep other values."""
    if not isinstance(text, str) or text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _as_written(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as integers: text files make floats of all numbers."""
    if values.dtype == object:
        return np.fromiter(map(_whole_characters, values), object, len(values))
    if values.dtype.kind != "f" or not np.isfinite(values).all() or not is_whole(values):
        return values
    return values.astype(np.int64) if np.abs(values).max(initial=0.0) <= 2**53 else values


def divide(
    table: Table,
    roles: Roles | None = None,
    split: str | None = None,
    given: Given | None = None,
    labels: Any = None,
    limits: Limits | None = None,
) -> dict[str, RawPredictions]:
    """Return the raw predictions of each part of a table, or of the rows with the split value `split`.

    The parts are "calibration" and "evaluation"; a table that names neither is all "evaluation". Without
    `roles`, calib guesses the roles that the user has not `given`. Further `labels` are of the evaluation
    rows, of the rows of the `split`, or of the only part.
    """
    given = given or Given()

    def roles_of(arrays: Table) -> Roles:
        found = roles or guess_roles(arrays, given)
        own = given.abstentions is None or "predicted class" not in found.has
        return found if own else replace(found, abstentions=given.abstentions)

    tables = {} if roles else part_tables(table)
    parts = {part: raw_of(arrays, roles_of(arrays)) for part, arrays in tables.items()}
    parts = parts or _divided(table, roles_of(table), split)
    if labels is not None:
        part = next((name for name in (split, "evaluation") if name in parts), next(iter(parts)))
        parts[part] = with_labels(parts[part], labels, limits=limits)
    if split is not None:
        if split not in parts:
            raise InputError(f"the file has no part {split!r}; choose from {some_names(parts)}")
        parts = {split: parts[split]}
    if given.positive is not None:
        parts = {part: _of_class(raw, given.positive) for part, raw in parts.items()}
    return parts


def _divided(table: Table, roles: Roles, split: str | None) -> dict[str, RawPredictions]:
    raw = raw_of(table, roles)
    if roles.model is not None and roles.model_name is not None:
        rows = as_keys(table.columns[roles.model]) == roles.model_name
        raw, table = raw.take(rows), rows_of(table, rows)
    if roles.split is None:
        return {"evaluation": raw}
    codes, words = words_in(table.columns[roles.split])
    check_words(words, f"column {roles.split!r}")
    if split is not None and split in words:
        return {split: raw.take(codes == words.index(split))}
    if words == [""]:
        return {"evaluation": raw}
    parts = [part_of(word) for word in words]
    if None in parts:
        code = parts.index(None)
        rows, word = np.flatnonzero(codes == code), words[code]
        held = f"holds {word[:60]!r}" if word else "is empty"
        many = f"{len(rows):,} such row{'s' * (len(rows) != 1)}"
        raise RemedyError(
            f"column {roles.split!r} {held} in row {rows[0]} ({many}), which names neither calibration, "
            "evaluation nor training rows",
            "Write calibration (or val), test or train, or rename the column if it means something else",
            "split",
            word or next(filter(None, words)),
        )
    masks = {part: np.array(parts)[codes] == part for part in ("calibration", "evaluation")}
    divided = {part: raw.take(mask) for part, mask in masks.items() if mask.any()}
    if not divided:
        raise RemedyError(
            f"column {roles.split!r} marks all rows as training rows ({some_names(words)})",
            "Add calibration or evaluation rows, or pass split=... to read the training rows",
            "split",
            words[0],
        )
    return divided


def parts_of(tables: Sequence[Table | None], roles: Roles | None = None) -> dict[str, RawPredictions]:
    table, labels, calibration, calibration_labels = tables
    assert table is not None
    parts = divide(table, roles, labels=labels)
    if "evaluation" not in parts:
        raise InputError("the file names calibration rows but no evaluation rows (test or evaluation)")
    if calibration is not None:
        raw = next(iter(divide(calibration).values()))
        parts["calibration"] = raw if calibration_labels is None else with_labels(raw, calibration_labels)
    return parts


def with_labels(raw: RawPredictions, labels: Any, *, limits: Limits | None = None) -> RawPredictions:
    """Add labels from a file, a frame or an array; rows are matched by id if both have ids."""
    table = table_from(labels, limits) or table_from({"label": labels}, limits)
    assert table is not None
    each = next(iter(table.matrices.values()), None)
    if each is not None and raw.n_classes > 1 and each.shape == raw.proba.shape and have_several(each):
        return replace(raw, kind="multilabel", labels=each, class_names=raw.names)
    if "every label" in raw.has:
        raise InputError("if several classes can be true, the labels must be in the file of the scores")
    values, ids = _label_column(table)
    raw = _labelled(replace(decided_but_for_labels(raw), votes=None, no_labels=()), values)
    if ids is None or raw.ids is None:
        return raw
    return replace(raw, labels=np.asarray(raw.labels)[_rows_with(as_keys(raw.ids), as_keys(ids))])


def decided_but_for_labels(raw: RawPredictions) -> RawPredictions:
    """Remove a doubt that is only about the labels, because other labels are given."""
    if raw.roles is None or not raw.roles.choices:
        return raw
    about_labels = all({*choice.given} == {"label"} for choice in raw.roles.choices)
    return replace(raw, labels=None, roles=replace(raw.roles, doubt=None)) if about_labels else raw


def _rows_with(wanted: np.ndarray, given: np.ndarray) -> np.ndarray:
    if len(wanted) == len(given) and (wanted == given).all():
        return np.arange(len(given))
    index = pd.Index(given, dtype=object)
    if not index.is_unique:
        row = int(index.duplicated().argmax())
        first = int((given == given[row]).argmax())
        raise InputError(
            f"id {given[row][:60]!r} occurs twice in the file of labels, in rows {first} and {row}; give "
            "one label for every id"
        )
    rows = index.get_indexer(pd.Index(wanted, dtype=object))
    if (rows < 0).any():
        row, missing = int((rows < 0).argmax()), int((rows < 0).sum())
        raise InputError(
            f"the file of labels has no label for id {wanted[row][:60]!r}, row {row} of the predictions "
            f"({missing:,} such row{'s' * (missing != 1)}); correct the ids, or remove the id column of the "
            "labels if its rows are in the order of the predictions"
        )
    return rows


def _label_column(table: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (labels, ids or None) of a table that holds only labels."""
    for values in table.matrices.values():
        return values[:, 0] if values.shape[1] == 1 else as_labels(values, len(values), None), None
    columns = table.columns
    ids = next((values for name, values in columns.items() if is_called(name, "id")), None)
    named = [name for name in columns if is_called(name, *LABELS)]
    for name in named[1:]:
        if not are_equivalent(words_in(columns[named[0]]), words_in(columns[name])):
            raise ChoiceError(
                f"columns {named[0][:60]!r} and {name[:60]!r} can both be the true label, and differ",
                [Choice((f"label={named[0]}",)), Choice((f"label={name}",))],
            )
    chosen = named[:1] or [name for name in columns if not is_called(name, "id", "index")]
    if len(chosen) > 1 and all(columns[name].dtype.kind in "fiu" for name in chosen):
        return as_labels(table.matrix(chosen), table.n_rows, None), ids
    if len(chosen) != 1:
        raise InputError(
            "the label file needs one column of labels, called 'label'; its columns are "
            f"{some_names(columns)}"
        )
    return _cells(table, chosen[0]), ids


def _labels_of(table: Table, roles: Roles) -> np.ndarray | None:
    names = roles.label
    if not names:
        return None
    if len(names) > 1 or names[0] in table.matrices:
        flags = flags_of(table, names)
        if "every label" in roles.has:
            return flags
        codes = as_labels(flags, len(flags), None)
        named = len(names) > 1 and roles.class_names is not None
        return np.array(roles.class_names, dtype=object)[codes] if named else codes
    return _cells(table, names[0])


def _cells(table: Table, name: str) -> np.ndarray:
    """Return a column, or its blocks of time; text is stripped, and checked so that it can be shown."""
    column = column_of_block(name, table.columns)
    values = table.columns[column]
    if column != name:
        values = blocks_of(values, name.rpartition("=")[2])
    if values.dtype != object:
        return values
    codes, words = words_in(values)
    check_words(words, f"column {column!r}")
    return np.array(words, dtype=object)[codes]


def _as_integers(names: Sequence[str]) -> list[int]:
    numbers = [_number(name) for name in names]
    return [number for number in numbers if isinstance(number, int)] if str not in map(type, numbers) else []


def _number(word: str) -> int | str:
    """Return a whole number as int, and any other word as it is."""
    is_number = len(word) < 19 and word.isascii() and word.removeprefix("-").isdigit()
    return int(word) if is_number else word
