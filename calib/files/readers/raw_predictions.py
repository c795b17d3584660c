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
from calib.data.matrices import ROW_SUM_TOLERANCE, highest, row_sums, softmax_rows
from calib.data.predictions import (
    Announcement,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    TopKPrediction,
    TopLabelPrediction,
    assessed_as_stated,
)
from calib.data.splits import FOLD, ID
from calib.data.times import blocks_of, column_of_block
from calib.data.validation import plain
from calib.files.readers.answers import (
    ANOTHER,
    MISSING,
    abstaining,
    as_outcomes,
    classes_in,
    codes_of,
    missing_cells,
    nearly_same,
    no_attempt,
    no_classes,
    outcomes_of,
    right_or_another,
    same_answers,
    same_classes,
    two_classes,
)
from calib.files.readers.columns import ROUNDING, is_whole, is_within, one_hot_values
from calib.files.readers.conventions import LABELS, is_called, normalised
from calib.files.readers.long_format import Votes, votes_in
from calib.files.readers.reading import read_table, table_from
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import (
    ChoiceError,
    Given,
    Roles,
    check_same_labels,
    numbered,
    part_of,
    part_tables,
    rows_of,
)
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

SCALES = ("auto", "probabilities", "logits", "log_probabilities", "percent")
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


def with_choices(
    raw: RawPredictions, abstentions: Sequence[str] | None = None, positive: str | None = None
) -> RawPredictions:
    """Return the raw predictions with the user's abstentions and positive class."""
    roles = raw.roles
    if abstentions is not None and "announced class" in raw.has and roles is not None:
        roles = replace(roles, abstentions=tuple(abstentions))
        names = _names_of(roles, raw.seen, raw.answers, raw.n_classes)
        raw = replace(raw, roles=roles, class_names=names)
    if positive is not None and "every label" in raw.has:
        raw = _one_class_of(raw, positive)
    elif positive is not None and "event" in raw.has:
        seen = () if raw.seen is None else classes_in(raw.seen)
        if positive not in (*raw.names, *seen):
            raise InputError(f"the classes are {some_names(seen or raw.names)}; got positive={positive!r}")
        raw = replace(raw, class_names=two_classes(raw.seen, positive))
    return raw


def _one_class_of(raw: RawPredictions, name: str) -> RawPredictions:
    if name not in raw.names:
        raise InputError(f"the classes are {some_names(raw.names)}; got positive={name!r}")
    at = raw.names.index(name)
    labels = None
    if raw.labels is not None:
        words = np.array([f"not {name}", name, ""], dtype=object)
        column = raw.labels[:, at].astype(np.float64)
        labels = words[np.where(np.isnan(column), 2, column).astype(np.int64)]
    proba = np.ascontiguousarray(raw.proba[:, at : at + 1])
    names = (f"not {name}", name)
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
    table = table_from(source, limits, progress) if format is None else None
    if table is None:
        table = read_table(source, format=format, limits=limits, progress=progress)
    raw_by_part = divide(table, roles, split, given)
    name = "evaluation" if split is None else split
    if name not in raw_by_part:
        raise InputError(f"the file has no part {name!r}; choose from {some_names(raw_by_part)}")
    raw = raw_by_part[name]
    return raw if labels is None else with_labels(raw, labels, limits=limits)


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
    #: (n,) array: row ids, sample weights, groups, and what rows belong together
    ids: np.ndarray | None = None
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    cluster: np.ndarray | None = None
    roles: Roles | None = None  #: The columns that the other fields came from
    no_labels: tuple[str, ...] = ()  #: Cells of the label, such as "-", that mean "no class"
    #: Kind of the predictions; `proba` of all but vectors is one column, the confidence or P(Y = 1)
    kind: str = "vectors"
    predicted: np.ndarray | None = None  #: (n,) array: cells of the predicted class
    #: (n, K) object array: names of the highest classes, best first; `proba` holds their scores
    ranked: np.ndarray | None = None
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
        fields = ("labels", "votes", "ids", "weight", "group", "cluster", "predicted", "ranked")
        columns = {name: getattr(self, name) for name in fields}
        chosen = {name: values[rows] for name, values in columns.items() if values is not None}
        metadata = {name: values[rows] for name, values in self.metadata.items()}
        return replace(self, proba=frozen(self.proba[rows]), metadata=metadata, **chosen)

    @property
    def answers(self) -> np.ndarray | None:
        """Cells of the predicted class, (n,), or of the ranked classes, (n, K)."""
        return self.predicted if self.ranked is None else self.ranked

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

    def predicted_codes(self) -> np.ndarray | None:
        """Class codes of `predicted`, int64; -1 if there is none."""
        if self.predicted is None:
            return None
        return codes_of(self.predicted, self.names, self._names_are_listed)

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

    @property
    def _names_are_listed(self) -> bool:
        return self.roles is not None and self.roles.class_names is not None

    @cached_property
    def codes(self) -> np.ndarray | None:
        """Class codes of `labels`, -1 if unknown; whole numbers are names if all class names are numbers."""
        labels = self.labels
        if labels is None or "every label" in self.has:
            return None
        if "classes" not in self.has:
            return np.nan_to_num(labels.astype(np.float64), nan=-1.0).astype(np.int64)
        if "vector" not in self.has:
            return codes_of(labels, self.names, self._names_are_listed or "event" in self.has)
        named = labels.dtype == object or self.labels_are_names
        names = self.names if named else tuple(map(str, range(self.n_classes)))
        code_of = {name: code for code, name in enumerate(names)}
        by_number = {number: code_of[name] for name in names for number in _as_integers([name])}
        if labels.dtype != object and len(by_number) < len([n for n in names if _as_integers([n])]):
            raise InputError(f"classes {some_names(names)}: two are the same number; rename one of them")
        return by_word(
            labels.astype(np.int64) if labels.dtype == bool else labels,
            lambda word: code_of.get(word, next((by_number.get(n, -1) for n in _as_integers([word])), -1)),
            np.int64,
        )

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
                lambda row: f"label {label_text(labels[row])!r} names no class; the classes are {listed}",
            ),
        ]

    @cached_property
    def highest(self) -> tuple[np.ndarray, np.ndarray]:
        """`calib.data.matrices.highest` of the scores."""
        return highest(self.proba)

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
        """Return `announced`, or refuse rows without a probability for every class."""
        rows = self.announced(scores)
        if not isinstance(rows, Predictions):
            raise InputError(
                f"there is no probability for every class, only {KINDS[self.kind].title}; read it with "
                "calib.read"
            )
        return rows

    def announced(self, scores: str = "auto") -> Announcement:
        """Check everything and return predictions of this kind; abstentions are left out.

        "auto" trusts the names of scores unless their values contradict.
        """
        self.check_columns()
        return self._voted(assessed_as_stated(self._announcement(scores)))

    def _voted(self, rows: Any) -> Any:
        """Add the votes to checked rows; rows without votes stay as they are."""
        if self.votes is None or rows.labels is None:
            return rows
        codes = replace(self, labels=self.votes.classes).codes
        assert codes is not None
        for word in self.votes.classes[codes < 0][:1]:
            raise InputError(
                f"{label_text(word)!r} has votes but matches no class; the classes are "
                f"{some_names(self.names)}"
            )
        counts = np.zeros((self.n_samples, len(self.names)))
        np.add.at(counts.T, codes, self.votes.counts.T)
        return rows.with_votes(counts[~self.abstained])

    def _announcement(self, scores: str) -> Announcement:
        if "vector" in self.has:
            labels, scale = self._checked_labels(), self.scale_of(self.proba, scores)
            make: Callable[..., Predictions] = Predictions
            if scale == "logits":
                make = Predictions.from_logits
            proba = self.proba if scale == "logits" else vectors_on(self.proba, scale)
            return make(proba, labels, self.class_names, **self._further())
        if "every label" in self.has:
            if self.labels is not None and np.isnan(missing := self.labels.astype(np.float64)).any():
                row = int(np.isnan(missing).any(axis=1).argmax())
                raise InputError(f"row {row} does not say of each class whether it is true; complete it")
            values = self._ones_of(self.proba, scores)
            return MultilabelPrediction(values, self.labels, self.names, **self._further())
        none = self.abstained
        if none.all():
            raise InputError(f"no row holds an answer: all {len(none):,} predictions are abstentions")
        rows = self.take(~none) if none.any() else self
        options = rows._further() | {"coverage": float(1.0 - none.mean())}
        rows.check_columns()
        labels, values = rows._checked_labels(), rows._ones_of(rows.proba, scores)
        if "ranks" in self.has:
            assert rows.ranked is not None
            ranked = codes_of(rows.ranked.ravel(), rows.names, rows._names_are_listed)
            if (ranked < 0).any():
                row = int((ranked < 0).argmax()) // rows.n_classes
                raise InputError(
                    f"row {row} lists an empty class; give {rows.n_classes} classes in every row"
                )
            return TopKPrediction(ranked.reshape(values.shape), values, labels, rows.names, **options)
        score = values[:, 0]
        if "classes" not in self.has:
            return ConfidencePrediction(score, labels, **options)
        if "event" in self.has:
            return BinaryPrediction(score, labels, rows.names, **options)
        predicted = rows.predicted_codes()
        assert predicted is not None
        return TopLabelPrediction(predicted, score, labels, rows.names, **options)

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
        if "announced class" not in self.has or self.labels is None or self.predicted is None:
            return None
        cells = self.predicted if self.ranked is None else self.ranked.ravel()
        predicted = classes_in(cells[~self.abstained] if self.ranked is None else cells)
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
        named = self.scale if self.scale in ("logits", "log_probabilities") else "probabilities"
        if self.kind == "vectors":
            with np.errstate(over="ignore", invalid="ignore"):
                sound = ((values >= 0.0) & (values <= 1.0 + 1e-6)).all(axis=1)
                sound &= np.abs(row_sums(values) - 1.0) < LOG_SUM_TOLERANCE
            return "probabilities" if sound.mean() >= 0.99 else named
        if named != "probabilities" or is_within(values):
            return "probabilities" if is_within(values) else named
        unnamed = self.roles is None and are_single_percentages(values)
        return "percent" if self.scale == "percent" or unnamed else "probabilities"

    def _ones_of(self, values: np.ndarray, scores: str) -> np.ndarray:
        scale = self.scale_of(values, scores)
        if scale == "probabilities" and is_within(values) and is_outside(values):
            return values.clip(0.0, 1.0)
        return ones_on(values, scale)

    def _further(self) -> dict[str, Any]:
        table = pd.DataFrame(dict(self.metadata)) if self.metadata else None
        given = {} if self.roles is None else {ID: self.roles.id, FOLD: self.roles.fold}
        columns = {role: name for role, name in given.items() if name is not None and name in self.metadata}
        return {
            "metadata": table,
            "columns": columns,
            "sample_weight": self.weight,
            "cluster": self.cluster,
        }

    def _checked_labels(self) -> np.ndarray | None:
        if self.labels is None or missing_cells(self.labels).all():
            return None
        for _, rows, what in self.refused_labels():
            if rows.any():
                row, n = int(rows.argmax()), int(rows.sum())
                raise InputError(f"row {row}: {what(row)} ({n:,} such row{'s' * (n != 1)})")
        return self.codes


def label_text(label: Any) -> str:
    """Return a label as text for messages; whole numbers keep all their digits."""
    return f"{label:.15g}" if isinstance(label, (float, np.floating)) else str(label)[:60]


def raw_announcement(rows: Any) -> RawPredictions:
    """Turn checked predictions that are not vectors into raw predictions."""
    table = {} if rows.metadata is None else {str(name): c.to_numpy() for name, c in rows.metadata.items()}
    further: dict[str, Any] = {"weight": rows.sample_weight, "cluster": rows.cluster}
    further |= {"kind": rows.kind, "metadata": table}
    if "every label" in rows.has:
        return RawPredictions(rows.scores, rows.labels, rows.class_names, **further)
    names = rows.class_names or tuple(str(code) for code in range(rows.n_classes))
    words, labels = np.array(names, dtype=object), rows.labels
    if labels is not None:
        labels = words[labels] if "classes" in rows.has else labels.astype(np.float64)
    if isinstance(rows, TopKPrediction):
        further["ranked"] = words[rows.ranked]
    if "announced class" in rows.has:
        further["predicted"] = words[rows.label]
    scores = getattr(rows, rows.scored_by)
    return RawPredictions(scores if scores.ndim == 2 else scores[:, None], labels, names, **further)


def is_outside(values: np.ndarray) -> bool:
    """Whether some score is outside [0, 1] by more than the last bit of a float32."""
    return bool(values.min() < 0.0 or values.max() > 1.0 + 1e-6)


def from_log_odds(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN
        return 1.0 / (1.0 + np.exp(-values.astype(np.float64)))


def ones_on(values: np.ndarray, scale: str) -> np.ndarray:
    """Return probabilities of single events from scores on a scale."""
    if scale == "logits":
        return from_log_odds(values)
    if scale == "log_probabilities":
        return np.exp(np.minimum(values.astype(np.float64), 0.0))
    return values / values.dtype.type(100.0) if scale == "percent" else values


def refused_vectors(columns: Sequence[np.ndarray]) -> list[Refused]:
    """Return the rows that are no probabilities of classes, given an array for each class."""
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


def refused_ones(values: np.ndarray) -> list[Refused]:
    """Return the rows whose probability of an event is missing or outside [0, 1], up to rounding."""
    outside = (values < -ROUNDING) | (values > 1.0 + ROUNDING)
    return [
        ("not_finite", np.isnan(values), lambda row: "the score is missing"),
        ("negative", outside, lambda row: f"the score is {values[row]:.6g}, outside [0, 1]"),
    ]


def refused_weights(weights: np.ndarray) -> list[Refused]:
    """Return the rows whose weight is negative, missing or infinite."""
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    return [("not_finite", bad, lambda row: f"the weight is {weights[row]}")]


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


def are_single_percentages(values: np.ndarray) -> bool:
    """Whether scores of single events are percentages: from 0 to more than 10, and most of them above 1."""
    inside = np.isfinite(values).all() and values.min() >= 0.0 and 10.0 < values.max() <= 100.0
    return bool(inside and np.median(values) > 1.0)


def vectors_on(block: np.ndarray, scale: str) -> np.ndarray:
    """Return rows of probabilities from scores on a scale; a row that is not on it does not sum to 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        if scale == "logits":
            return softmax_rows(block)
        if scale in ("percent", "probabilities"):
            return block / block.dtype.type(100.0) if scale == "percent" else block
        proba: np.ndarray = np.exp(block.astype(np.float64))
        sums = proba.sum(axis=1, keepdims=True)
        return proba / np.where(np.abs(sums - 1.0) <= LOG_SUM_TOLERANCE, sums, 1.0)


@any_numbers
def raw_of(table: Table, roles: Roles, decided: Decided | None = None) -> RawPredictions:
    """Return the raw predictions of a table, or of a batch of rows, about which the first rows `decided`."""
    table = numbered(Given(only=roles.only).kept(table), roles.words)
    if roles.drop_label and len(roles.label) == 1 and roles.label[0] in table.columns:
        table = rows_of(
            table, by_word(table.columns[roles.label[0]], lambda w: w not in roles.drop_label, bool)
        )
    cluster = None if roles.cluster is None else column_of_block(roles.cluster, table.columns)
    one_each = (roles.id, roles.fold, roles.weight, roles.group, cluster, roles.predicted, roles.correct)
    for name in (*roles.probabilities, *roles.label, *roles.votes, *one_each):
        if name is not None and name not in table.columns and name not in table.matrices:
            raise InputError(f"there is no column {name!r}; check the roles of the columns")
    first = roles.probabilities[0]
    proba = table.matrices[first] if first in table.matrices else table.matrix(roles.probabilities)
    if proba.size == 0:
        raise InputError(f"the scores are empty: shape {proba.shape}")
    for name in (*one_each, roles.split):
        if name and (size := len(table.columns[name])) != len(proba):
            raise InputError(
                f"{name!r} has {size:,} entries for {len(proba):,} rows of scores; give one for each row"
            )
    votes = votes_in(table, roles.votes) if roles.votes else None
    labels = _labels_of(table, roles) if votes is None else votes.labels
    if votes is not None and not roles.has & {"class", "event"}:
        raise InputError(f"votes are for one of several classes; these rows are {KINDS[roles.kind].title}")
    ranked = None
    if roles.ranked:
        proba, ranked = _ranks_of(table, roles, proba)
    predicted = _stripped(table.columns[roles.predicted], roles.predicted) if roles.predicted else None
    if roles.correct is not None and labels is None:
        correct = table.columns[roles.correct]
        outcomes = outcomes_of(correct, roles.correct)
        labels = outcomes if predicted is None else right_or_another(predicted, outcomes)
        if (none := no_attempt(correct)).any():
            predicted = np.where(none, correct, "an answer" if predicted is None else predicted)
    if "classes" not in roles.has and predicted is not None and labels is not None and roles.correct is None:
        labels, predicted = same_answers(predicted, labels), None
    no_labels: tuple[str, ...] = ()
    if labels is not None:
        _check_one_per_row(labels, len(proba))
        known = () if decided is None else decided.known
        labels, no_labels = _without_empty(labels, roles, predicted if ranked is None else ranked, known)
    seen = labels if votes is None else votes.classes
    names = _names_of(roles, seen, predicted if ranked is None else ranked, proba.shape[1], decided)
    check_words(names or (), "the class names")
    if (
        names is not None
        and labels is not None
        and roles.class_names == (f"not {roles.positive}", roles.positive)
    ):
        kept = {*names, *MISSING}
        labels = by_word(labels, lambda word: word if word in kept else names[0], object)
    if "scores" in roles.has and names is not None and len(names) != proba.shape[1]:
        raise InputError(f"there are {len(names)} class names for {proba.shape[1]} columns of scores")
    return RawPredictions(
        proba=proba,
        labels=labels,
        class_names=names,
        scale=roles.scale,
        ids=_stripped(table.columns[roles.id], roles.id) if roles.id else None,
        weight=table.columns[roles.weight] if roles.weight else None,
        group=_stripped(table.columns[roles.group], roles.group) if roles.group else None,
        cluster=_clusters_of(table.columns[cluster], str(roles.cluster), cluster) if cluster else None,
        roles=roles,
        no_labels=no_labels,
        kind=roles.kind,
        predicted=predicted if ranked is None else ranked[:, 0],
        ranked=ranked,
        votes=votes,
        metadata=_metadata(table, roles, len(proba)),
        decided=decided,
    )


def _without_empty(
    labels: np.ndarray, roles: Roles, cells: np.ndarray | None, further: Sequence[str] = ()
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels with "" in place of the words that mean "no class", and these words."""
    if labels.dtype != object or labels.ndim > 1:
        return labels, ()
    words = words_in(labels)[1]
    known = {*(roles.class_names or ()), *further, *classes_in(None if cells is None else cells.ravel())}
    none = no_classes(words, known)
    found = tuple(word for word in words if word in none and word)
    return (by_word(labels, lambda word: "" if word in none else word, object) if found else labels), found


def _ranks_of(table: Table, roles: Roles, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, K) scores and names of the highest classes; K is the fewest classes that a row has."""
    cells = [_stripped(table.columns[name], name) for name in roles.ranked]
    ranked = np.stack([as_keys(cell) for cell in cells], axis=1)
    filled = np.isfinite(scores)
    answered = filled.any(axis=1)
    n_ranks = int(filled[answered].sum(axis=1).min()) if answered.any() else 1
    if "calibrated" not in normalised(roles.probabilities[0]):
        order = np.argsort(np.where(filled, -scores, np.inf), axis=1, kind="stable")
        scores, ranked = (np.take_along_axis(array, order, axis=1) for array in (scores, ranked))
    ranked[~answered, 0] = ""
    return np.ascontiguousarray(scores[:, :n_ranks]), ranked[:, :n_ranks]


def _names_of(
    roles: Roles,
    labels: np.ndarray | None,
    predicted: np.ndarray | None,
    n_columns: int,
    decided: Decided | None = None,
) -> tuple[str, ...] | None:
    if decided is not None and decided.class_names is not None:
        return decided.class_names
    if "scores" in roles.has:
        return _names_that_fit(labels, roles, n_columns)
    if "classes" not in roles.has:
        return ConfidencePrediction.class_names
    if "event" in roles.has:
        listed = roles.class_names is not None and len(roles.class_names) == 2
        return roles.class_names if listed else two_classes(labels, roles.positive)
    if roles.class_names is not None:
        return roles.class_names
    assert predicted is not None
    first = predicted if predicted.ndim == 1 else predicted[:, 0]
    true = labels if decided is None else np.array(decided.known, dtype=object)
    answers = predicted[~abstaining(first, true, roles.abstentions)]
    return classes_in(answers.ravel(), labels)


def _metadata(table: Table, roles: Roles, n_rows: int) -> dict[str, np.ndarray]:
    used = {*roles.probabilities, *roles.label, *roles.votes, *roles.ranked, roles.weight, roles.predicted}
    used |= {roles.index}
    used -= {*roles.label, roles.predicted} if "classes" not in roles.has and roles.predicted else set()
    used |= set() if roles.label else {roles.correct}
    names = [name for name in table.columns if name not in used]
    kept = [name for name in names if len(table.columns[name]) == n_rows]
    return {_whole_characters(name): _as_written(table.columns[name]) for name in kept}


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
    table: Table, roles: Roles | None = None, split: str | None = None, given: Given | None = None
) -> Mapping[str, RawPredictions]:
    """Return the raw predictions of each part of a table, or of the rows with the split value `split`.

    The parts are "calibration" and "evaluation"; a table that names neither is all "evaluation". Without
    `roles`, calib guesses the roles that the user has not `given`.
    """
    tables = {} if roles else part_tables(table)
    if tables:
        return {part: raw_of(arrays, guess_roles(arrays, given)) for part, arrays in tables.items()}
    roles = roles or guess_roles(table, given)
    raw = raw_of(table, roles)
    if roles.model is not None and roles.model_name is not None:
        rows = as_keys(table.columns[roles.model]) == roles.model_name
        raw, table = raw.take(rows), replace(table, columns={n: v[rows] for n, v in table.columns.items()})
    if roles.split is None:
        return {"evaluation": raw}
    codes, words = words_in(table.columns[roles.split])
    check_words(words, f"column {roles.split!r}")
    if split is not None and split in words:
        return {split: raw.take(codes == words.index(split))}
    if words == [""]:
        return {"evaluation": raw}
    parts = np.array([part_of(word) or "" for word in words], dtype=object)
    if (parts == "").any():
        _refuse_part(roles.split, codes, words, parts)
    masks = {part: (parts == part)[codes] for part in ("calibration", "evaluation")}
    divided = {part: raw.take(mask) for part, mask in masks.items() if mask.any()}
    if not divided:
        raise RemedyError(
            f"column {roles.split!r} marks all rows as training rows ({some_names(words)})",
            "Add calibration or evaluation rows, or pass split=... to read the training rows",
            "split",
            words[0],
        )
    return divided


def _refuse_part(column: str, codes: np.ndarray, words: Sequence[str], parts: np.ndarray) -> None:
    code = int((parts == "").argmax())
    rows, word = np.flatnonzero(codes == code), words[code]
    raise RemedyError(
        f"column {column!r} {f'holds {word[:60]!r}' if word else 'is empty'} in row {rows[0]} ({len(rows):,} "
        f"such row{'s' * (len(rows) != 1)}), which names neither calibration, evaluation nor training rows",
        "Write calibration (or val), test or train, or rename the column if it means something else",
        "split",
        word or next(filter(None, words)),
    )


def parts_of(tables: Sequence[Table | None], roles: Roles | None = None) -> dict[str, RawPredictions]:
    table, labels, calibration, calibration_labels = tables
    assert table is not None
    raw_by_part = dict(divide(table, roles))
    if "evaluation" not in raw_by_part:
        raise InputError("the file names calibration rows but no evaluation rows (test or evaluation)")
    if labels is not None:
        raw_by_part["evaluation"] = with_labels(raw_by_part["evaluation"], labels)
    if calibration is not None:
        parts = divide(calibration)
        raw_by_part["calibration"] = parts["calibration" if "calibration" in parts else "evaluation"]
        if calibration_labels is not None:
            raw_by_part["calibration"] = with_labels(raw_by_part["calibration"], calibration_labels)
    return raw_by_part


def with_labels(raw: RawPredictions, labels: Any, *, limits: Limits | None = None) -> RawPredictions:
    """Add labels from a file, a frame or an array; rows are matched by id if both have ids."""
    ids = None
    table = table_from(labels, limits)
    each = next(iter(table.matrices.values()), None) if table is not None else np.asarray(labels)
    if each is not None and each.shape == raw.proba.shape and is_multilabel(each):
        return replace(raw, kind="multilabel", labels=each, class_names=raw.names)
    if table is not None:
        values, ids = label_column(table)
    else:
        values = np.asarray(plain(labels))
        if values.dtype.kind not in "fiub":
            values = np.array([str(value).strip() for value in values.ravel()], dtype=object)
        elif values.ndim == 2:
            values = from_one_hot(values) if values.shape[1] > 1 else values[:, 0]
        elif values.ndim != 1:
            raise InputError(f"labels must be one per row; got shape {values.shape}")
    _check_one_per_row(values, raw.n_samples)
    raw = replace(decided_but_for_labels(raw), votes=None)
    values, no_labels = _without_empty(values, raw.roles or Roles(()), raw.predicted)
    raw = replace(raw, no_labels=no_labels)
    if ids is not None and raw.ids is not None:
        values = values[_rows_with(as_keys(raw.ids), as_keys(ids))]
    if "classes" not in raw.has:
        return replace(raw, labels=as_outcomes(values))
    if "every label" in raw.has:
        raise InputError("if several classes can be true, the labels must be in the file of the scores")
    roles = Roles((), kind="binary") if "event" in raw.has and raw.roles is None else raw.roles
    if roles is not None:
        raw = replace(raw, class_names=_names_of(roles, values, raw.answers, raw.n_classes))
    return replace(raw, labels=values)


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


def _check_one_per_row(labels: np.ndarray, n_rows: int) -> None:
    if len(labels) != n_rows:
        raise InputError(
            f"there are {len(labels):,} labels for {n_rows:,} rows of scores; give one label per row"
        )


def label_column(table: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (labels, ids or None) of a table that holds only labels."""
    for values in table.matrices.values():
        return from_one_hot(values), None
    ids = next((values for name, values in table.columns.items() if is_called(name, "id")), None)
    named = [name for name in table.columns if is_called(name, *LABELS)]
    check_same_labels(table, named)
    chosen = named[:1] or [name for name in table.columns if not is_called(name, "id", "index")]
    if len(chosen) > 1 and all(table.columns[name].dtype.kind in "fiu" for name in chosen):
        return from_one_hot(table.matrix(chosen)), ids
    if len(chosen) != 1:
        raise InputError(
            "the label file needs one column of labels, called 'label'; its columns are "
            f"{some_names(table.columns)}"
        )
    return _stripped(table.columns[chosen[0]], chosen[0]), ids


def _names_that_fit(labels: np.ndarray | None, roles: Roles, n_columns: int) -> tuple[str, ...] | None:
    """Return class names in the form of the labels, with or without the prefixes of the columns."""
    short, long = roles.class_names, tuple(name.strip() for name in roles.probabilities)
    if short is None and labels is not None and labels.dtype == object and labels.ndim == 1:
        found = classes_in(labels)
        return found if len(found) == n_columns else None
    if short is None or len(short) != len(long) or labels is None or labels.dtype != object:
        return short
    seen = set(pd.unique(labels))
    return long if len(seen & set(long)) > len(seen & set(short)) else short


def _labels_of(table: Table, roles: Roles) -> np.ndarray | None:
    names = roles.label
    if not names:
        return None
    if len(names) > 1:
        ones = np.stack([one_hot_values(table.columns[name]) for name in names], axis=1)
        if "every label" in roles.has:
            return ones
        classes = from_one_hot(ones)
        return classes if roles.class_names is None else np.array(roles.class_names, dtype=object)[classes]
    if names[0] in table.matrices:
        matrix = table.matrices[names[0]]
        return matrix if "every label" in roles.has else from_one_hot(matrix)
    return _stripped(table.columns[names[0]], names[0])


def _clusters_of(values: np.ndarray, asked: str | None, column: str) -> np.ndarray:
    """Return the cells of a column of clusters, or the blocks of time that were asked for."""
    if asked is not None and asked != column:
        values = blocks_of(values, asked.rpartition("=")[2])
    return _stripped(values, column)


def _stripped(values: np.ndarray, column: str) -> np.ndarray:
    """Return a column of labels, ids or groups with stripped text, checked so that it can be shown."""
    if values.dtype != object:
        return values
    codes, words = words_in(values)
    check_words(words, f"column {column!r}")
    return np.array(words, dtype=object)[codes]


def is_multilabel(matrix: np.ndarray) -> bool:
    """Whether a matrix holds 0 and 1, and some rows have no true class or several."""
    if matrix.ndim != 2 or matrix.shape[1] < 2 or not np.isin(matrix, (0, 1)).all():
        return False
    return bool((matrix.sum(axis=1) != 1).any())


def from_one_hot(matrix: np.ndarray) -> np.ndarray:
    """Class codes of an (n, L) one-hot matrix."""
    good = ((matrix == 0) | (matrix == 1)).all(axis=1) & (row_sums(matrix) == 1)
    if not good.all():
        row = int((~good).argmax())
        raise InputError(f"the labels are a matrix that is not one-hot: row {row} is not one 1 among zeros")
    return matrix.argmax(axis=1)


def _as_integers(names: Sequence[str] | np.ndarray) -> list[int]:
    texts = [str(name) for name in names]
    whole = all(len(t) < 19 and t.isascii() and t.removeprefix("-").isdigit() for t in texts)
    return [int(text) for text in texts] if whole else []
