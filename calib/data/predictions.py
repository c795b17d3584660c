"""Predictions of every kind: what a model says about each row, checked once when made.

Each kind is frozen, with read-only arrays. It also holds outcomes, class names, further columns, weights and
clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks
from calib.data.defaults import RANDOM_STATE
from calib.data.equal_rows import exact_copies
from calib.data.matrices import check_sums, digest_of, highest, owned, read_only, softmax_rows, taken_over
from calib.data.notions import Strategy
from calib.data.splits import ID, column_of, in_order_of_strata, units_of
from calib.data.validation import (
    Values,
    as_class_scores,
    as_clusters,
    as_finite,
    as_floats,
    as_labels,
    as_names,
    as_outcomes,
    as_scores,
    as_weights,
    bare_names,
    binary_outcomes,
    cell_text,
    check_order,
    check_share,
    class_scores_and_highest,
    column_names,
    count_votes,
    has_texts,
    label_codes,
    n_axes,
    numbered,
    opened,
    plain,
    some_of,
)

__all__ = [
    "BinaryPrediction",
    "ConfidencePrediction",
    "MultilabelPrediction",
    "Predictions",
    "TopKPrediction",
    "TopLabelPrediction",
]

#: Most distinct values of a stated score: steps of 5 % from 0 to 100.
MAX_STATED = 21
#: Further fields of the rows of every kind, as names of arguments and attributes.
CARRIED = ("metadata", "columns", "sample_weight", "cluster", "coverage", "voted", "strategy")


@dataclass(frozen=True, eq=False, repr=False)
class BasePrediction:
    """Base class of all kinds of predictions: count, choose, split and identify rows."""

    kind: ClassVar[str]  #: "vectors", "top-label", "confidence", "binary", "top-k" or "multilabel"
    has: ClassVar[frozenset[str]]  #: Keys of `calib.data.kinds.INGREDIENTS` that the kind offers
    scored_by: ClassVar[str]  #: Name of the field that holds the scores.

    _: KW_ONLY
    metadata: pd.DataFrame | None = None  #: Every further column of the source, one row per prediction
    #: Names of further columns by role: "id" identifies a row, "fold" is its cross-validation fold
    columns: Mapping[str, str] = field(default_factory=dict)
    sample_weight: np.ndarray | None = None  #: (n,) float64 or None: Weights of the rows
    #: (n,) int64 or None: Equal for rows that belong together; whole numbers as given, else a hash
    cluster: np.ndarray | None = None
    #: Share of the rows of the source in which the model gave an answer; abstentions are left out
    coverage: float = 1.0
    voted: np.ndarray | None = None  #: (n,) int64 or None: For votes, the row that each is about
    strategy: Strategy = "uniform"  #: Bins that assess the scores, as for `calib.ece`

    @property
    def labels(self) -> Any:
        """True classes or outcomes; None if they are not known."""
        raise NotImplementedError

    @property
    def truth(self) -> np.ndarray:
        """`labels`; raises `InputError` if they are not known."""
        if self.labels is None:
            raise InputError(
                f"true labels are needed, and this {type(self).__name__} has none; pass them first, as in "
                "ece(y_true, scores), or add them by predictions.with_labels(y_true)"
            )
        return np.asarray(self.labels)

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None if they have none."""
        raise NotImplementedError

    @classmethod
    def _of(cls, **state: Any) -> Self:
        new = object.__new__(cls)
        new.__setstate__({"columns": {}} | state)
        return new

    def _with(self, **changes: Any) -> Self:
        return self._of(**{**self.__getstate__(), **changes})

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            self.__dict__[name] = read_only(value) if isinstance(value, np.ndarray) else value

    def _settle(self, **checked: Any) -> None:
        n_samples = len(checked[self.scored_by])
        check_metadata(self.metadata, n_samples)
        for name, check in (("sample_weight", as_weights), ("cluster", as_clusters), ("voted", as_clusters)):
            if (given := getattr(self, name)) is not None:
                checked[name] = check(given, n_samples)
        arrays = {name: owned(value) for name, value in checked.items() if isinstance(value, np.ndarray)}
        self.__setstate__({**checked, **arrays})

    @property
    def _scores(self) -> np.ndarray:
        return getattr(self, self.scored_by)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self._scores)

    @property
    def n_scores(self) -> int:
        """Number of scores: one per row, or one per row and class or rank."""
        return self._scores.size

    @cached_property
    def n_clusters(self) -> int | None:
        """Number of clusters; None if the rows have none."""
        return None if self.cluster is None else len(pd.unique(self.cluster))

    @property
    def carried(self) -> dict[str, Any]:
        """Everything except scores and labels, as keyword arguments of every kind."""
        return {name: getattr(self, name) for name in CARRIED}

    def __len__(self) -> int:
        return self.n_samples

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise InputError(
            f"an array is needed; got a {type(self).__name__}, whose field {self.scored_by} is one"
        )

    def __repr__(self) -> str:
        labels = "without labels" if self.labels is None else "with labels"
        classes = f" of {self.n_classes:,} classes" if hasattr(self, "n_classes") else ""
        return f"<{type(self).__name__}: {self.n_samples:,} rows{classes}, {labels}>"

    def _repr_html_(self) -> str:
        return f"<code>&lt;{repr(self)[1:-1]}&gt;</code>"

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays().values())

    def _arrays(self) -> dict[str, np.ndarray]:
        own = [field.name for field in fields(self) if field.name not in CARRIED]
        values = {name: getattr(self, name) for name in (*own, *CARRIED)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def _header(self) -> Any:
        shapes = {name: (array.shape, str(array.dtype)) for name, array in self._arrays().items()}
        return self.kind, shapes, self.class_names

    def with_metadata(self, metadata: pd.DataFrame | None) -> Self:
        """Return the same rows with other further columns, one row for each prediction."""
        check_metadata(metadata, self.n_samples)
        return self._with(metadata=metadata)

    def columns_with_roles(self) -> pd.DataFrame | None:
        """Return the further columns that `columns` names; None if there are none."""
        table = pd.DataFrame() if self.metadata is None else self.metadata
        held = [name for name in table.columns if name in self.columns.values()]
        return table[held] if held else None

    def with_cluster(self, cluster: Values | None) -> Self:
        """Return the same rows with other clusters, as for `Predictions`; None removes them."""
        return self._with(cluster=None if cluster is None else owned(as_clusters(cluster, self.n_samples)))

    def independent(self) -> Self:
        """Return the same rows, each of which stands alone: calib then looks for no clusters.

        Each row is a cluster, with a name that no other rows have.
        """
        return self.with_cluster(int(self.fingerprint[:12], 16) + np.arange(self.n_samples))

    def with_strategy(self, strategy: Strategy) -> Self:
        """Return the same rows with other bins that assess their scores, as for `calib.ece`."""
        return self._with(strategy=strategy)

    def with_weights(self, sample_weight: Values | None) -> Self:
        """Return the same rows with other weights, as for `Predictions`; None removes them."""
        if sample_weight is None:
            return self._with(sample_weight=None)
        return self._with(sample_weight=owned(as_weights(sample_weight, self.n_samples)))

    def with_class_names(self, class_names: Sequence[str]) -> Self:
        """Return the same rows with another name for each class, in their order."""
        return self._with(class_names=as_names(tuple(class_names), len(self.class_names or class_names)))

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with these true classes or outcomes, as codes or by name."""
        raise NotImplementedError

    def with_votes(self, votes: Values) -> Self:
        """Return a row for each vote about a row, so that every number is about the distribution of votes.

        Parameters
        ----------
        votes : (n, L) array_like of float, or (n, A) array_like of str
            Votes for each class, as counts or as shares; or the class that each of A annotators chose, by
            name, empty or missing without a vote.

        Returns
        -------
        predictions of the same kind
            The votes about a row share its weight. They are a cluster unless the rows have clusters.

        Examples
        --------
        Two of three say 1: the Brier score is 2/3 (0.6 - 1)^2 + 1/3 0.6^2.

        >>> from calib import brier_score
        >>> rows = BinaryPrediction(np.array([0.6])).with_votes([[1, 2]])
        >>> rows.labels.tolist(), round(brier_score(rows), 4)
        ([0, 1, 1], 0.2267)
        """
        if self.class_names is None:
            raise InputError(f"votes are for classes, and {type(self).__name__} names none; pass class_names")
        counts = count_votes(votes, self.class_names, self.n_samples)
        row, label = np.nonzero(counts)
        if (counts % 1.0 == 0.0).all():
            times = counts[row, label].astype(np.int64)
            row, label, count = np.repeat(row, times), np.repeat(label, times), np.ones(times.sum())
        else:
            count = counts[row, label]
        weight = count / counts.sum(axis=1)[row]
        weight = weight if self.sample_weight is None else weight * self.sample_weight[row]
        alike = self.sample_weight is None and bool((weight == weight[0]).all())
        cluster = row if self.cluster is None else self.cluster[row]
        return self.take(row)._with(
            labels=label,
            sample_weight=None if alike else owned(weight),
            cluster=owned(cluster),
            voted=owned(row),
        )

    def unweighted(self) -> Self:
        """Return the same rows with equal weights; votes keep their shares of a row."""
        if self.voted is None or self.sample_weight is None:
            return self._with(sample_weight=None)
        about = pd.factorize(self.voted)[0]
        shares = self.sample_weight / np.bincount(about, weights=self.sample_weight)[about]
        return self._with(sample_weight=None if np.allclose(shares, shares[0]) else owned(shares))

    def without_votes(self) -> Self:
        """If the rows are votes, return each voted row once, without labels; else the same rows."""
        if self.voted is None:
            return self
        rows = self.take(np.unique(self.voted, return_index=True)[1])
        return rows._with(labels=None, sample_weight=None, voted=None)

    #: Not iterable: an array of predictions would hold objects.
    __iter__ = None

    def __getitem__(self, rows: Any) -> Self:
        if isinstance(rows, (int, np.integer)):
            raise InputError(f"choose rows by a slice, indices or a mask, such as [{rows}:{rows + 1}]")
        return self.take(rows)

    def take(self, rows: Any) -> Self:
        """Return the chosen rows (a slice, indices or a boolean mask), with all that belongs to them."""
        rows = rows if isinstance(rows, (slice, list)) else np.asarray(rows)
        try:
            chosen = {name: array[rows] for name, array in self._arrays().items()}
        except IndexError as error:
            raise InputError(f"rows are chosen by a slice, indices or a mask; {error}") from None
        if not len(chosen[self.scored_by]):
            raise InputError("no rows were chosen; choose at least one")
        table = self.metadata
        if table is not None:
            table = table.iloc[rows].reset_index(drop=True)
        return self._with(**chosen, metadata=table)

    def split(
        self, calibration: float = 0.5, random_state: int | np.random.Generator | None = RANDOM_STATE
    ) -> tuple[Self, Self]:
        """Split labelled rows at random into (calibration, evaluation), stratified by outcome.

        Rows of a cluster stay together; without clusters, rows of the same id in the file that was read, else
        exact copies of a row.

        Parameters
        ----------
        calibration, random_state
            Share of the rows, in (0, 1), and of each class, for calibration; the seed of the split.
        """
        chosen = self.split_rows(calibration, random_state)
        return self.take(chosen[0]), self.take(chosen[1])

    def split_rows(
        self, calibration: float = 0.5, random_state: int | np.random.Generator | None = RANDOM_STATE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that `split` takes for calibration and for evaluation, ascending int64 indices."""
        labels = self.truth
        check_share(calibration, "calibration", 0.5)
        column = column_of(self, ID)
        if self.cluster is not None or column is None:
            unit = units_of(exact_copies(self) if self.cluster is None else self.cluster, self.n_samples)
        else:  # rows without an id stand alone
            codes, ids = pd.factorize(column)
            unit = np.where(codes < 0, len(ids) + np.arange(len(codes)), codes)
        by_label = in_order_of_strata(labels, unit, random_state)
        n_units = len(by_label)
        # Systematic sampling along the rows sorted by label.
        quota = np.floor(np.arange(n_units + 1) * calibration + 1e-9)
        chosen = np.diff(quota) > 0
        if chosen.all() or not chosen.any():
            raise InputError(
                f"{n_units} rows cannot be split with calibration={calibration}: one side is empty"
            )
        fitted = np.isin(unit, by_label[chosen])
        return np.flatnonzero(fitted), np.flatnonzero(~fitted)

    def in_order_of(self, class_names: Sequence[str] | None) -> Self:
        """Return the rows with their classes in the order of other class names; refuse other classes.

        Default names "0", "1", ... count as unnamed, in order. A class that no row holds may be missing if
        rows list some classes each.
        """
        names = None if class_names is None else tuple(class_names)
        return self if names is None or names == self.class_names else self._reordered(names)

    def _reordered(self, names: tuple[str, ...]) -> Self:
        return self

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (BLAKE2b, 128 bit) of every value, label and name."""
        return digest_of(self._header(), self._arrays().values())


class _OfColumns(BasePrediction):
    class_names: tuple[str, ...]

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with these true classes, as codes or by name."""
        return self._with(labels=owned(_as_codes(labels, self.class_names, self.n_samples, self.n_classes)))

    @property
    def n_classes(self) -> int:
        """Number of classes L, the number of columns."""
        return self._scores.shape[1]

    def _reordered(self, names: tuple[str, ...]) -> Self:
        if len(names) != self.n_classes:
            raise InputError(f"got {self.n_classes} classes; expected {len(names)}")
        order = columns_in_order(self.class_names, names)
        if order is None:
            return self
        labels = self.labels
        if labels is not None:
            labels = np.argsort(order)[labels] if labels.ndim == 1 else labels[:, order]
        scores = {self.scored_by: np.take(self._scores, order, axis=1)}
        return self._with(**scores, labels=labels, class_names=names)


class _OfLists(BasePrediction):
    class_field: ClassVar[str]  #: Name of the field that holds the predicted classes.

    class_names: tuple[str, ...] | None

    @cached_property
    def n_classes(self) -> int:
        """Number of classes L: the number of names, else one more than the highest code."""
        if self.class_names is not None:
            return len(self.class_names)
        return 1 + int(max(codes.max() for codes in self._codes() if codes is not None))

    def _codes(self) -> tuple[Any, Any]:
        return getattr(self, self.class_field), self.labels

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with these true classes; names that were never predicted are added."""
        names = self.class_names
        if names is not None:
            names = tuple(dict.fromkeys((*names, *_names_within(labels))))
            labels = label_codes(labels, names)
        return self._with(labels=owned(as_labels(labels, self.n_samples, None)), class_names=names)

    def _settle_lists(self, scores: np.ndarray) -> None:
        """Translate predicted and true classes into codes; by default their texts are the names."""
        predicted, labels = self._codes()
        names = self.class_names or _names_within(predicted, labels) or None
        names = None if names is None else as_names(names, len(names))
        n_classes = None if names is None else len(names)
        predicted = np.asarray(plain(predicted) if names is None else label_codes(predicted, names))
        if scores.ndim == 2 and predicted.shape != scores.shape:
            raise InputError(
                f"{self.class_field} must hold one class for each score: expected shape {scores.shape}, got "
                f"{predicted.shape}"
            )
        flat = predicted.ravel() if scores.ndim == 2 else predicted
        predicted = as_labels(flat, scores.size, n_classes, self.class_field).reshape(scores.shape)
        if labels is not None:
            labels = _as_codes(labels, names or (), len(scores), n_classes)
        codes = {self.class_field: predicted, "labels": labels}
        self._settle(**{self.scored_by: scores}, **codes, class_names=names)

    def _reordered(self, names: tuple[str, ...]) -> Self:
        held = self.class_names or numbered(self.n_classes)
        place = {name: code for code, name in enumerate(names)}
        table = np.array([place.get(name, -1) for name in held])
        predicted, labels = (None if codes is None else table[codes] for codes in self._codes())
        for codes, given in zip((predicted, labels), self._codes(), strict=True):
            if codes is not None and (codes < 0).any():
                strange = held[int(given[codes < 0].flat[0])]
                raise InputError(f"class {strange!r} is none of the expected classes {some_of(names)}")
        return self._with(**{self.class_field: predicted}, labels=labels, class_names=names)


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(_OfColumns):
    """Predicted probabilities of a classifier, with the true labels if they are known.

    Parameters
    ----------
    proba : (n, L) array_like of float
        Probabilities in [0, 1]; rows sum to 1 within `ROW_SUM_TOLERANCE`. float32 and float64 are kept,
        anything else becomes float64.
    labels : (n,) array_like of int or str, optional
        True class codes 0..L-1, or names of `class_names`.
    class_names : sequence of str, optional
        L distinct names in column order. By default the columns of a frame, else "0", "1", ...
    metadata : DataFrame, optional
        Further columns, one row per example.
    sample_weight : (n,) array_like of float, optional
        Weights, 0 or more.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to, such as a patient, question or image. Rows of a cluster are not
        independent, and stay together in splits and folds.
    coverage : float
        Share of the rows of the source that have an answer.

    Notes
    -----
    Arrays are copied if they can still be written to. Ties for the top go to the lowest index.

    Examples
    --------
    >>> p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], labels=[0, 1])
    >>> p.n_samples, p.n_classes, p.label.tolist(), p.confidence.tolist()
    (2, 3, [0, 2], [0.7, 0.8])
    """

    kind, scored_by = "vectors", "proba"
    has = frozenset({"confidence", "class", "classes", "scores", "vector", "ranks"})

    proba: np.ndarray
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        names = column_names(self.proba) if self.class_names is None else self.class_names
        matrix, sound = taken_over(as_floats(self.proba, ndim=2, what="proba"))
        if not sound:
            matrix = as_class_scores(matrix, "proba")
            advice = (
                "Pass probabilities, use Predictions.from_logits for logits, or let calib.examine find out "
            )
            check_sums(matrix, "proba", f"{advice}what the numbers are.")
        names = as_names(names, matrix.shape[1])
        codes = None if self.labels is None else _as_codes(self.labels, names, *matrix.shape)
        self._settle(proba=read_only(matrix), labels=codes, class_names=names)

    def _header(self) -> Any:  # unweighted rows keep their old digest: calibrator files name it
        header = (self.proba.shape, str(self.proba.dtype), self.labels is not None, self.class_names)
        further = {"sample_weight": "weighted", "cluster": "clustered", "voted": "voted"}
        return (*header, *(word for name, word in further.items() if getattr(self, name) is not None))

    def __repr__(self) -> str:
        labels = "without labels" if self.labels is None else "with labels"
        return f"<Predictions: {self.n_samples:,} rows x {self.n_classes:,} classes, {labels}>"

    @classmethod
    def from_logits(
        cls,
        logits: Values,
        labels: Values | None = None,
        class_names: Sequence[str] | None = None,
        **further: Any,
    ) -> Predictions:
        """Softmax of (n, L) finite logits, computed in float64; `further` as for `Predictions`."""
        class_names = column_names(logits) if class_names is None else class_names
        array = as_finite(logits, ndim=2, what="logits")
        known: dict[str, Any] = {"labels": labels, "class_names": class_names, **further}
        return cls(read_only(map_row_blocks(softmax_rows, array)), **known)

    def with_scores(self, proba: np.ndarray) -> Self:
        """Return the same rows with other scores of the classes, (n, L) in [0, 1], whose sums may differ."""
        return self._with(proba=owned(as_class_scores(proba, "proba")))

    @property
    def label(self) -> np.ndarray:
        """Predicted class codes c(x), (n,) int64; ties go to the lowest index."""
        return self._top[0]

    @property
    def confidence(self) -> np.ndarray:
        """Predicted probability h(x) of `label`, (n,), in the dtype of `proba`."""
        return self._top[1]

    @cached_property
    def _top(self) -> tuple[np.ndarray, np.ndarray]:
        label, confidence = highest(self.proba)
        return read_only(label), read_only(confidence)

    @property
    def top(self) -> TopLabelPrediction:
        """`label` and `confidence`, with labels, names and what came with the rows."""
        return top_of(self, self.label, self.confidence)


@dataclass(frozen=True, eq=False, repr=False)
class TopLabelPrediction(_OfLists):
    """The predicted class of each row and its confidence, (c, h) in the paper.

    `metadata`, `sample_weight`, `cluster` and `coverage` as for `Predictions`.
    """

    kind, scored_by, class_field = "top-label", "confidence", "label"
    has = frozenset({"confidence", "class", "classes", "predicted class"})

    label: np.ndarray  #: (n,) int64: Predicted class codes, 0..L-1; names of `class_names` are translated
    confidence: np.ndarray  #: (n,) float32 or float64: Probability predicted for that class, in [0, 1]
    labels: np.ndarray | None = None  #: (n,) int64 or None: True class codes, if they are known
    #: Names of all L classes; by default the texts that classes are given by, ascending
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._settle_lists(as_scores(self.confidence, ndim=1, what="confidence"))

    @property
    def correct(self) -> np.ndarray | None:
        """Whether the predicted class is the true one, (n,) bool; None without labels."""
        return None if self.labels is None else self.label == self.labels


@dataclass(frozen=True, eq=False, repr=False)
class ConfidencePrediction(BasePrediction):
    """A confidence for each row, and whether the model was right; which class it predicted is not known.

    `metadata`, `sample_weight`, `cluster` and `coverage` as for `Predictions`.
    """

    kind, scored_by = "confidence", "confidence"
    has = frozenset({"confidence", "one score"})
    class_names: ClassVar[tuple[str, ...]] = ("wrong", "right")

    confidence: np.ndarray  #: (n,) float32 or float64: Probability that the prediction is right, in [0, 1]
    correct: np.ndarray | None = None  #: (n,) bool or None: Whether it was right, if that is known

    def __post_init__(self) -> None:
        confidence = as_scores(self.confidence, ndim=1, what="confidence")
        correct = None if self.correct is None else as_outcomes(self.correct, len(confidence), what="correct")
        self._settle(confidence=confidence, correct=correct)

    @classmethod
    def from_samples(
        cls,
        answers: Values,
        accepted: Values | Sequence[Sequence[str]],
        question: Values | None = None,
        *,
        metadata: pd.DataFrame | None = None,
    ) -> Self:
        """Return a row for each of k answers to a question, with the share that agrees as confidence.

        An answer is right if it equals an accepted one, ignoring case and blanks. Rows of a question are a
        cluster, and each share of k answers is a bin. Blank answers are left out.

        Parameters
        ----------
        answers : (n,) or (n, k) array_like of str
            Answers; with k columns the answers of a row are to one question.
        accepted : (n,) array_like of str or of lists of str
            What is right in each row.
        question : (n,) array_like, optional
            Ids of the questions, if the answers to a question are in several rows.
        metadata : DataFrame, optional
            Further columns of the n rows.

        Examples
        --------
        >>> rows = ConfidencePrediction.from_samples([["Paris", "paris ", "Lyon"]], [["Paris", "Paris, FR"]])
        >>> rows.confidence.round(2).tolist(), rows.correct.tolist()
        ([0.67, 0.67, 0.33], [True, True, False])
        """
        given = np.asarray(plain(answers), dtype=object)
        given = given[:, None] if given.ndim == 1 else given
        right = pd.Series(accepted).tolist()
        right = [entry if isinstance(entry, (list, tuple, set)) else [entry] for entry in right]
        if len(right) != len(given):
            raise InputError(f"accepted must hold what is right in {len(given):,} rows; got {len(right):,}")
        wanted = [{cell_text(answer).casefold() for answer in entry} - {""} for entry in right]
        if not all(wanted):
            raise InputError(f"row {wanted.index(set())} has no accepted answer; leave out such questions")
        row = np.repeat(np.arange(len(given)), given.shape[1])
        said = np.array([cell_text(answer).casefold() for answer in given.ravel()], dtype=object)
        row, said = row[said != ""], said[said != ""]
        correct = np.array([answer in wanted[at] for at, answer in zip(row.tolist(), said, strict=True)])
        if not correct.any():
            raise InputError(
                "no answer equals an accepted one, ignoring case and blanks; grade the answers, and give "
                "whether each is right"
            )
        cluster = row if question is None else pd.factorize(as_clusters(question, len(given)))[0][row]
        asked = pd.DataFrame({"question": cluster, "answer": said})
        alike = asked.groupby(["question", "answer"])["answer"].transform("size")
        share = (alike / asked.groupby("question")["answer"].transform("size")).to_numpy(dtype=np.float64)
        further = None if metadata is None else metadata.iloc[row].reset_index(drop=True)
        return cls(share, correct, cluster=cluster, metadata=further, strategy="discrete")

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with whether each is right, as booleans, 0 and 1, or two names in order."""
        return self._with(correct=owned(binary_outcomes(labels, self.n_samples)))

    @property
    def labels(self) -> np.ndarray | None:
        """`correct` as 0 and 1, (n,) int64; None if it is not known."""
        return None if self.correct is None else self.correct.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class BinaryPrediction(BasePrediction):
    """The probability of one of two classes for each row, P(Y = 1).

    `metadata`, `sample_weight`, `cluster` and `coverage` as for `Predictions`.

    Examples
    --------
    >>> rows = BinaryPrediction([0.9, 0.2], ["yes", "no"], ("no", "yes"))
    >>> rows.positive, rows.labels.tolist(), rows.switched().score.round(2).tolist()
    ('yes', [1, 0], [0.1, 0.8])
    """

    kind, scored_by = "binary", "score"
    has = frozenset({"event", "classes", "one score"})

    score: np.ndarray  #: (n,) float32 or float64: P(Y = 1), in [0, 1]
    #: (n,) int64 or None: 0 or 1, if that is known; names of `class_names` are translated
    labels: np.ndarray | None = None
    #: Names of the negative and of the positive class; "0" and "1" by default
    class_names: tuple[str, ...] = ("0", "1")

    def __post_init__(self) -> None:
        score = as_scores(self.score, ndim=1, what="score")
        names = as_names(self.class_names, 2)
        codes = None if self.labels is None else _as_codes(self.labels, names, len(score), 2)
        self._settle(score=score, labels=codes, class_names=names)

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with these outcomes: 0 and 1, names of the classes, or two names in order."""
        happened = binary_outcomes(label_codes(labels, self.class_names), self.n_samples)
        return self._with(labels=owned(happened.astype(np.int64)))

    @property
    def n_classes(self) -> int:
        """Number of classes: two."""
        return 2

    @property
    def positive(self) -> str:
        """Name of the class whose probability the score is."""
        return self.class_names[1]

    def _reordered(self, names: tuple[str, ...]) -> Self:
        if ("0", "1") in (names, self.class_names):
            return self
        if set(names) != set(self.class_names):
            raise InputError(
                f"the classes are {self.class_names[0]!r} and {self.positive!r}; {names[0]!r} and "
                f"{names[1]!r} were expected"
            )
        return self.switched()

    def switched(self) -> Self:
        """Return the same rows with the other class as the positive one: 1 - score."""
        labels = None if self.labels is None else 1 - self.labels
        return self._with(score=1.0 - self.score, labels=labels, class_names=self.class_names[::-1])


@dataclass(frozen=True, eq=False, repr=False)
class TopKPrediction(_OfLists):
    """The K highest classes of each row, best first, and their scores.

    `metadata`, `sample_weight`, `cluster` and `coverage` as for `Predictions`.

    Examples
    --------
    >>> rows = TopKPrediction([["cat", "dog"], ["emu", "cat"]], [[0.6, 0.3], [0.5, 0.2]], ["dog", "emu"],
    ...                       ("cat", "dog", "emu"))
    >>> rows.n_ranks, rows.label.tolist(), rows.confidence.tolist()
    (2, [0, 2], [0.6, 0.5])
    """

    kind, scored_by, class_field = "top-k", "scores", "ranked"
    has = frozenset({"confidence", "class", "classes", "predicted class", "ranks"})

    #: (n, K) int64: Class codes, 0..L-1, no class twice in a row; names of `class_names` are translated
    ranked: np.ndarray
    #: (n, K) float32 or float64: Score of each, in [0, 1]; calibrated scores need not fall with the rank
    scores: np.ndarray
    #: (n,) int64 or None: True class codes, if known; the true class may be none of the K
    labels: np.ndarray | None = None
    #: Names of the L classes; by default the texts that classes are given by, ascending, if any
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._settle_lists(as_scores(self.scores, ndim=2, what="scores"))
        ordered = np.sort(self.ranked, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if twice.any():
            raise InputError(f"ranked holds a class twice in row {int(twice.argmax())}; give each class once")

    @property
    def n_ranks(self) -> int:
        """Number of ranks K."""
        return self.scores.shape[1]

    @property
    def label(self) -> np.ndarray:
        """Predicted class codes, (n,) int64: the first rank."""
        return self.ranked[:, 0]

    @property
    def confidence(self) -> np.ndarray:
        """Scores of the predicted classes, (n,)."""
        return self.scores[:, 0]

    @property
    def top(self) -> TopLabelPrediction:
        """`label` and `confidence`, with labels, names and what came with the rows."""
        return top_of(self, self.label, self.confidence)


@dataclass(frozen=True, eq=False, repr=False)
class MultilabelPrediction(_OfColumns):
    """A score for every class, if several classes, or none, can be true: rows need not sum to 1.

    `metadata`, `sample_weight`, `cluster` and `coverage` as for `Predictions`.

    Examples
    --------
    >>> rows = MultilabelPrediction([[0.9, 0.8], [0.1, 0.3]], [[1, 1], [0, 0]], ("cat", "dog"))
    >>> rows.n_samples, rows.n_classes, rows.labels.sum(axis=1).tolist()
    (2, 2, [2, 0])
    """

    kind, scored_by = "multilabel", "scores"
    has = frozenset({"scores", "classes", "every label"})

    scores: np.ndarray  #: (n, L) float32 or float64: Probability of each class, in [0, 1]
    labels: np.ndarray | None = None  #: (n, L) bool or None: Whether each class is true, if that is known
    #: Names of the L classes; "0", "1", ... by default.
    class_names: tuple[str, ...] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        scores = as_class_scores(self.scores, "scores")
        labels = None if self.labels is None else as_outcomes(self.labels, scores.shape, what="labels")
        names = as_names(self.class_names, scores.shape[1])
        self._settle(scores=scores, labels=labels, class_names=names)

    def with_labels(self, labels: Values) -> Self:
        """Return the same rows with these outcomes: whether each class is true, (n, L)."""
        return self._with(labels=owned(as_outcomes(labels, self.scores.shape, "labels")))

    @property
    def proba(self) -> np.ndarray:
        """`scores`, as class-wise calibrators name them."""
        return self.scores

    def of_class(self, name: str) -> BinaryPrediction:
        """Return the rows as predictions of one class: the probability that it is true."""
        names = self.class_names
        if name not in names:
            raise InputError(f"there is no class {name!r}; the classes are {some_of(names)}")
        at = names.index(name)
        return BinaryPrediction(
            self.scores[:, at],
            None if self.labels is None else self.labels[:, at].astype(np.int64),
            (f"not {name}", name),
            **self.carried,
        )


#: Scores of rows: (n, L) or (n,) numbers, or predictions of any kind.
Scores: TypeAlias = Values | BasePrediction


def top_of(rows: Scores, label: np.ndarray, confidence: np.ndarray) -> TopLabelPrediction:
    if not isinstance(rows, BasePrediction):
        return TopLabelPrediction(label, confidence)
    own = {"label": label, "confidence": confidence, "labels": rows.labels}
    return TopLabelPrediction._of(**own, class_names=rows.class_names, **rows.carried)


def as_vectors(rows: BinaryPrediction) -> Predictions:
    score = rows.score.astype(np.float64)
    both = np.stack([1.0 - score, score], axis=1)
    return Predictions(both, rows.labels, rows.class_names, **rows.carried)


def assessed_as_stated(rows: BasePrediction) -> BasePrediction:
    """Return the same rows, to be assessed with one bin per value if their single scores have few values.

    People and language models state such scores, in steps of 5 or 10 %.
    """
    if not isinstance(rows, (ConfidencePrediction, TopLabelPrediction, BinaryPrediction)):
        return rows
    scores = getattr(rows, rows.scored_by)
    most = min(MAX_STATED, math.isqrt(len(scores)))
    few = all(len(pd.unique(some)) <= most for some in (scores[:1000], scores))
    return rows.with_strategy("discrete") if few else rows


def replace_scores(rows: BasePrediction, scores: np.ndarray) -> BasePrediction:
    return rows._with(**{rows.scored_by: owned(scores)})


def in_common_classes(a: BasePrediction, b: BasePrediction) -> tuple[BasePrediction, BasePrediction]:
    """Return two sets of rows of one kind with the same classes, in the order of the first."""
    if a.kind != b.kind:
        raise InputError(f"calibration and evaluation rows are of different kinds, {a.kind!r} and {b.kind!r}")
    are_lists = isinstance(a, (TopLabelPrediction, TopKPrediction))
    if are_lists and a.class_names is not None and b.class_names is not None:
        names = tuple(dict.fromkeys((*a.class_names, *b.class_names)))
        return a.in_order_of(names), b.in_order_of(names)
    return a, b.in_order_of(a.class_names)


def columns_in_order(held: tuple[str, ...], names: tuple[str, ...]) -> np.ndarray | None:
    """Return the column of each of the L names; None if names are missing or already in this order."""
    if names in (numbered(len(held)), held) or held == numbered(len(held)):
        return None
    strange = sorted(set(held) - set(names))
    if strange:
        raise InputError(f"class {strange[0]!r} is none of the expected classes {some_of(names)}")
    columns = {name: code for code, name in enumerate(held)}
    return np.array([columns[name] for name in names])


def _names_within(*columns: Any) -> tuple[str, ...]:
    """Return the distinct texts of predicted and true classes, ascending; none if they are codes."""
    arrays = [np.asarray(plain(column)) for column in columns if column is not None]
    if not arrays or not all(map(has_texts, arrays)):
        return ()
    return tuple(np.unique(np.concatenate([array.ravel().astype(str) for array in arrays])).tolist())


def _as_codes(labels: Values, names: tuple[str, ...], n_samples: int, n_classes: int | None) -> np.ndarray:
    return as_labels(label_codes(labels, names), n_samples, n_classes)


def check_metadata(table: pd.DataFrame | None, n_samples: int) -> None:
    if table is None:
        return
    if not isinstance(table, pd.DataFrame) or len(table) != n_samples:
        got = f"{len(table):,} rows" if isinstance(table, pd.DataFrame) else type(table).__name__
        raise InputError(f"metadata must be a DataFrame with one row for each of {n_samples:,}; got {got}")


def labelled(
    y_true: Values | None,
    scores: Scores,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    what: str = "scores",
    tops: bool = False,
) -> BasePrediction:
    """Return scores and labels as labelled predictions, or raise `InputError` if they are swapped.

    Labels may be names of classes, which predictions or the columns of a frame have; None stands for
    the predictions' own labels: `truth` refuses missing ones. Weights and clusters replace their own.
    `tops` says that predicted classes will be needed: one pass then checks the scores and finds them.
    """
    check_order(y_true, scores)
    if isinstance(y_true, BasePrediction):  # unlabelled predictions, and their labels second
        raise InputError("labels come first, as in ece(y_true, scores)")
    if y_true is None and not isinstance(scores, BasePrediction):
        raise InputError(
            f"true labels are needed: pass {what} and labels, or labelled predictions alone; got a "
            f"{type(scores).__name__}"
        )
    if not isinstance(scores, BasePrediction):
        rows: BasePrediction = as_predictions(scores, y_true, what, tops)
    else:
        rows = scores if y_true is None else scores.with_labels(y_true)
    if sample_weight is not None:
        rows = rows.with_weights(sample_weight)
    return rows if cluster is None else rows.with_cluster(cluster)


def as_predictions(
    scores: Values, y_true: Values | None = None, what: str = "scores", tops: bool = False
) -> BasePrediction:
    """Return scores as predictions: P(Y = 1) of (n,), else a score for every class; with labels, if given.

    Rows need not sum to 1. Classes without names have the names of the labels, if these are L texts. Arrays
    are not copied.
    """
    names, array = opened(scores)
    texts = () if y_true is None else _names_within(y_true)
    if names is None and n_axes(array) == 1:
        score = as_scores(array, ndim=1, what=what)
        names = texts if len(texts) == 2 else ("0", "1")
        happened = None
        if y_true is not None:
            happened = binary_outcomes(label_codes(y_true, names), len(score)).astype(np.int64)
        return BinaryPrediction._of(score=score.view(), labels=happened, class_names=names)
    matrix, top = class_scores_and_highest(array, what, tops)
    if names is None:
        names = as_names(None, matrix.shape[1])
        if y_true is not None and texts and not set(texts) <= set(names):
            as_labels(y_true, *matrix.shape)
            names = texts
    codes = None if y_true is None else _as_codes(y_true, names, *matrix.shape).view()
    found = {} if top is None else {"_top": (read_only(top[0]), read_only(top[1]))}
    return Predictions._of(proba=matrix.view(), labels=codes, class_names=names, **found)


def names_given(scores: Any) -> tuple[str, ...] | None:
    """Return the names of the classes of predictions or of a frame's columns; None if they are not named."""
    if isinstance(scores, np.ndarray):
        return None
    if not isinstance(scores, BasePrediction):
        return bare_names(column_names(scores))
    return bare_names(scores.class_names) if "classes" in scores.has else None


def check_same_classes(calibrator: Any, scores: Any) -> None:
    """Refuse scores whose named classes differ from a calibrator's `class_names_`, also in order."""
    fitted, given = bare_names(getattr(calibrator, "class_names_", None)), names_given(scores)
    if fitted is None or given is None or given == fitted:
        return
    if isinstance(scores, _OfLists) and fitted[: len(given)] == given:
        return  # the codes are the same
    if strange := [name for name in given if name not in fitted]:
        raise InputError(f"class {strange[0]!r} was not in the fit, whose classes are {some_of(fitted)}")
    differs = [given_name != fitted_name for given_name, fitted_name in zip(given, fitted, strict=False)]
    at = differs.index(True) if any(differs) else len(given)
    held = f"{given[at]!r} is at place {at}" if at < len(given) else f"there are {len(given)} classes"
    raise InputError(
        f"the classes are in another order than in the fit: {held}, but the fit has {fitted[at]!r}. Pass "
        "Predictions(...).in_order_of(calibrator.class_names_)"
    )


def rows_that_count(rows: BasePrediction) -> Any:
    """Return the predictions without rows of weight 0, and without weights if these are all equal."""
    weights = rows.sample_weight
    if weights is None:
        return rows
    if not (weights > 0.0).all():
        rows = rows.take(weights > 0.0)
        weights = rows.sample_weight
        assert weights is not None
    return rows.unweighted() if weights.min() == weights.max() else rows


def effective_words(effective: float, n_rows: int) -> str:
    """Say how many rows of equal weight the weighted rows are worth (Kish 1965)."""
    shown = f"{effective:,.0f}" if effective >= 10 else f"{effective:.1f}"
    return f"weighted, worth {shown} of {n_rows:,} rows"


def score_matrix(scores: Scores, what: str = "scores") -> np.ndarray:
    """Return the (n, L) scores of predictions with a score per class, or of a matrix."""
    if isinstance(scores, (Predictions, MultilabelPrediction)):
        return scores.proba
    if isinstance(scores, BinaryPrediction):
        scores = scores.score[:, None]
    return as_class_scores(scores, what)


def further_column(rows: BasePrediction, name: str) -> pd.Series:
    table = pd.DataFrame() if rows.metadata is None else rows.metadata
    if name not in table:
        held = ", ".join(repr(str(each)[:40]) for each in table.columns[:5]) + ", ..." * (table.shape[1] > 5)
        raise InputError(f"there is no further column {name[:60]!r}; there are: {held or 'none'}")
    return table[name]
