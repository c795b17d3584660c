"""What models announce that is no vector of probabilities for every row: kinds of predictions.

These are a class and its confidence, a confidence, P(Y = 1), the highest classes, and scores of classes of
which several can be true.

Each kind is frozen, its arrays are read-only, and it carries what came with its rows: outcomes, class
names, further columns, sample weights. `calib.Predictions` is the kind with a probability for every class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_slices
from calib.data.splits import in_order_of_strata, units_of
from calib.data.validation import (
    as_class_scores,
    as_clusters,
    as_labels,
    as_names,
    as_outcomes,
    as_scores,
    as_weights,
    check_labelled,
    check_share,
    label_codes,
    plain,
)

__all__ = [
    "BinaryPrediction",
    "ConfidencePrediction",
    "MultilabelPrediction",
    "TopKPrediction",
    "TopLabelPrediction",
]

#: Bytes of an array up to which it is digested as a whole, and of the blocks of larger ones.
DIGESTED = 2**24

#: What comes with the rows of every kind, by the names of arguments and attributes.
CARRIED = ("metadata", "sample_weight", "cluster", "coverage")

#: Key of `metadata.attrs` for the name of the column that holds the ids of rows.
ID = "id"


class Announcement:
    """What all kinds of predictions share: rows to count, choose and split, and a digest of them.

    Attributes
    ----------
    kind : str
        "vectors", "top-label", "confidence", "binary", "top-k" or "multilabel".
    metadata : DataFrame or None
        Every further column of the source, one row per prediction.
    sample_weight : (n,) float64 array or None
        Weights of the rows.
    cluster : (n,) int64 array or None
        Equal for rows that belong together, such as those of a patient, question or image. Whole-number ids
        are kept; the id of a text is 64 bits of its hash, so that it is the same in every set of rows.
    coverage : float
        Share of the rows of the source in which the model gave an answer: abstentions are set apart.
    """

    kind: ClassVar[str]
    labels: Any
    metadata: pd.DataFrame | None
    sample_weight: np.ndarray | None
    cluster: np.ndarray | None
    coverage: float

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        raise NotImplementedError

    @cached_property
    def n_clusters(self) -> int | None:
        """Number of clusters; None if the rows have none."""
        return None if self.cluster is None else len(pd.unique(self.cluster))

    @property
    def carried(self) -> dict[str, Any]:
        """What came with the rows besides scores and labels, as keyword arguments of every kind."""
        return {name: getattr(self, name) for name in CARRIED}

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        labels = "without labels" if self.labels is None else "with labels"
        classes = f" of {self.n_classes:,} classes" if hasattr(self, "n_classes") else ""
        return f"<{type(self).__name__}: {self.n_samples:,} rows{classes}, {labels}>"

    def _repr_html_(self) -> str:
        return f"<code>&lt;{repr(self)[1:-1]}&gt;</code>"

    @property
    def n_scores(self) -> int:
        """Number of scores: one per row, or one per row and class."""
        return self.n_samples

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays().values())

    def _arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays that have one entry, or one row, for each prediction."""
        raise NotImplementedError

    def _with_rows(self, rows: Any, arrays: dict[str, np.ndarray], metadata: pd.DataFrame | None) -> Self:
        """Return a copy with the chosen rows of the arrays and of the metadata."""
        raise NotImplementedError

    def _header(self) -> Any:
        """Return what belongs to the content besides the values of the arrays."""
        raise NotImplementedError

    def with_metadata(self, metadata: pd.DataFrame | None) -> Self:
        """Return the same rows with other further columns.

        Raises
        ------
        InputError
            If the table has not one row per prediction.
        """
        check_metadata(metadata, self.n_samples)
        return self._with_rows(slice(None), dict(self._arrays()), metadata)

    def with_cluster(self, cluster: Any) -> Self:
        """Return the same rows with other clusters; None takes them away.

        Parameters
        ----------
        cluster : (n,) array_like of int, str or time, or None
            Id of what each row belongs to, such as a patient, question or image.

        Raises
        ------
        InputError
            If an id is missing, is a fraction, or there is not one per row.
        """
        arrays = {name: array for name, array in self._arrays().items() if name != "cluster"}
        if cluster is not None:
            arrays["cluster"] = as_clusters(cluster, self.n_samples)
        return self._with_rows(slice(None), arrays, self.metadata)

    def unweighted(self) -> Self:
        """Return the same rows, which count alike."""
        arrays = {name: array for name, array in self._arrays().items() if name != "sample_weight"}
        return self._with_rows(slice(None), arrays, self.metadata)

    #: Not a sequence of rows: an array made of one would hold an object for every row.
    __iter__ = None

    def __getitem__(self, rows: Any) -> Self:
        """Return the chosen rows (a slice, indices or a boolean mask)."""
        if isinstance(rows, (int, np.integer)):
            raise InputError(f"choose rows by a slice, indices or a mask, such as [{rows}:{rows + 1}]")
        return self.take(rows)

    def take(self, rows: Any) -> Self:
        """Return the chosen rows (a slice, indices or a boolean mask), with their weights and metadata.

        Raises
        ------
        InputError
            If no row is chosen.
        """
        chosen = {name: array[rows] for name, array in self._arrays().items()}
        if not len(next(iter(chosen.values()))):
            raise InputError("no rows were chosen; choose at least one")
        table = self.metadata
        if table is not None:
            table = table.iloc[rows].reset_index(drop=True)
        return self._with_rows(rows, chosen, table)

    def split(
        self, calibration: float = 0.5, random_state: int | np.random.Generator | None = 0
    ) -> tuple[Self, Self]:
        """Split the rows at random into (calibration, evaluation), stratified by outcome.

        Rows of a cluster stay together; without clusters, rows of the same id in the file that was read.

        Parameters
        ----------
        calibration : float in (0, 1)
            Share of the rows for calibration. Every class contributes its share to within one row, so
            classes with a single row are allowed.
        random_state : int, Generator or None
            Seed of the split.

        Raises
        ------
        InputError
            If there are no labels, `calibration` is not inside (0, 1) or a side would be empty.
        """
        labels = check_labelled(self.labels, "split")
        check_share(calibration, "calibration", 0.5)
        unit = self._units()
        by_label = in_order_of_strata(labels, unit, random_state)
        n_units = len(by_label)
        # Systematic sampling along the label-sorted rows: shares hold per class to within one row.
        quota = np.floor(np.arange(n_units + 1) * calibration + 1e-9)
        chosen = np.diff(quota) > 0
        if chosen.all() or not chosen.any():
            raise InputError(
                f"{n_units} rows cannot be split with calibration={calibration}: one side is empty"
            )
        fitted = np.isin(unit, by_label[chosen])
        return self.take(np.flatnonzero(fitted)), self.take(np.flatnonzero(~fitted))

    def _units(self) -> np.ndarray:
        """Return a number for each row, equal for rows that stay together, (n,) int64.

        These are the rows of a cluster, else of an id in the file they were read from.
        """
        if self.cluster is not None:
            return units_of(self.cluster, self.n_samples)
        name = None if self.metadata is None else self.metadata.attrs.get(ID)
        if self.metadata is None or name not in self.metadata:
            return units_of(None, self.n_samples)
        codes, ids = pd.factorize(self.metadata[name])
        return np.where(codes < 0, len(ids) + np.arange(len(codes)), codes)

    def in_order_of(self, class_names: Sequence[str] | None) -> Self:
        """Return the rows with their classes in the order of other class names; errors name a strange class.

        Predictions without classes are returned as they are.
        """
        return self

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (BLAKE2b, 128 bit) of every value, label and name: equal content, equal digest.

        Of an array of more than `DIGESTED` bytes, the digests of its blocks of so many are digested.
        """
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr(self._header()).encode())
        for array in self._arrays().values():
            data = np.ascontiguousarray(array).data.cast("B")
            digest.update(data if len(data) <= DIGESTED else b"".join(_block_digests(data)))
        return digest.hexdigest()


class _Kind(Announcement):
    """A kind that is a dataclass: its arrays are the fields that hold one."""

    class_names: tuple[str, ...] | None

    def _freeze(self, **arrays: np.ndarray | None) -> None:
        """Store the checked arrays, read-only, and check weights, clusters and metadata."""
        n_samples = len(next(array for array in arrays.values() if array is not None))
        weights, cluster = self.sample_weight, self.cluster
        arrays["sample_weight"] = None if weights is None else as_weights(weights, n_samples)
        arrays["cluster"] = None if cluster is None else as_clusters(cluster, n_samples)
        for name, array in arrays.items():
            object.__setattr__(self, name, None if array is None else read_only(owned(array)))
        check_metadata(self.metadata, n_samples)

    def _named(self, announced: Any) -> tuple[tuple[str, ...] | None, int | None]:
        """Store the names of the classes, by default those announced or true; return them and how many."""
        names = self.class_names or _names_within(announced, self.labels)
        names = None if names is None else as_names(names, len(names))
        object.__setattr__(self, "class_names", names)
        return names, None if names is None else len(names)

    def _n_classes(self, announced: np.ndarray) -> int:
        """Return the number of classes: that of the names, else one more than the highest code."""
        if self.class_names is not None:
            return len(self.class_names)
        return 1 + int(max(codes.max() for codes in (announced, self.labels) if codes is not None))

    def _arrays(self) -> Mapping[str, np.ndarray]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def _with_rows(self, rows: Any, arrays: dict[str, np.ndarray], metadata: pd.DataFrame | None) -> Self:
        absent = dict.fromkeys(("sample_weight", "cluster"))
        return replace(self, **{**absent, **arrays}, metadata=metadata)  # type: ignore[type-var]

    def _header(self) -> Any:
        shapes = {name: (array.shape, str(array.dtype)) for name, array in self._arrays().items()}
        return self.kind, shapes, self.class_names


@dataclass(frozen=True, eq=False, repr=False)
class TopLabelPrediction(_Kind):
    """What a classifier announces for each row: one class and its confidence, (c, h) in the paper.

    Attributes
    ----------
    label : (n,) int64 array
        Predicted class codes, 0..L-1; names of `class_names` are translated.
    confidence : (n,) float32 or float64 array
        Probability predicted for that class, in [0, 1].
    labels : (n,) int64 array or None
        True class codes, where they are known.
    class_names : tuple of str or None
        Names of the L classes, those that are never true included; by default the texts that classes are
        given by, ascending. None if they have none.
    metadata, sample_weight, cluster, coverage
        As for every kind, see `Announcement`.

    Raises
    ------
    InputError
        If shapes disagree, a confidence is not in [0, 1], or a label is not one of the classes.
    """

    kind: ClassVar[str] = "top-label"

    label: np.ndarray
    confidence: np.ndarray
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None
    _: KW_ONLY
    metadata: pd.DataFrame | None = None
    sample_weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        confidence = as_scores(self.confidence, ndim=1, what="confidence")
        names, n_classes = self._named(self.label)

        def codes(labels: Any, what: str) -> np.ndarray:
            return as_labels(label_codes(labels, names or ()), len(confidence), n_classes, what=what)

        labels = None if self.labels is None else codes(self.labels, "labels")
        label = as_labels(self.label, len(confidence), n_classes, "label") if names is None else None
        label = codes(self.label, "label") if label is None else label
        self._freeze(label=label, confidence=confidence, labels=labels)

    @classmethod
    def of(cls, rows: Any) -> TopLabelPrediction:
        """Return `label` and `confidence` of predictions that hold more, with what came with the rows."""
        return cls(rows.label, rows.confidence, rows.labels, rows.class_names, **rows.carried)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.confidence)

    @cached_property
    def n_classes(self) -> int:
        """Number of classes L: that of the names, else one more than the highest code."""
        return self._n_classes(self.label)

    def in_order_of(self, class_names: Sequence[str] | None) -> TopLabelPrediction:
        """Return the rows with these classes, in their order; those that no row holds may be missing.

        Raises
        ------
        InputError
            If a row holds a class that is none of them.
        """
        names = None if class_names is None else tuple(class_names)
        if names is None or names == self.class_names:
            return self
        held = self.class_names or tuple(str(code) for code in range(self.n_classes))
        label, labels = _moved((self.label, self.labels), held, names)
        return replace(self, label=label, labels=labels, class_names=names)

    @property
    def correct(self) -> np.ndarray | None:
        """Whether the predicted class is the true one, (n,) bool; None without labels."""
        return None if self.labels is None else self.label == self.labels


@dataclass(frozen=True, eq=False, repr=False)
class ConfidencePrediction(_Kind):
    """A confidence for each row, and whether the model was right; which class it predicted is not known.

    Attributes
    ----------
    confidence : (n,) float32 or float64 array
        Probability announced for being right, in [0, 1].
    correct : (n,) bool array or None
        Whether it was right, where that is known.
    metadata, sample_weight, cluster, coverage
        As for every kind, see `Announcement`.

    Raises
    ------
    InputError
        If shapes disagree, a confidence is not in [0, 1], or an outcome is not 0 or 1.
    """

    kind: ClassVar[str] = "confidence"
    class_names: ClassVar[tuple[str, ...]] = ("wrong", "right")  # type: ignore[misc]

    confidence: np.ndarray
    correct: np.ndarray | None = None
    _: KW_ONLY
    metadata: pd.DataFrame | None = None
    sample_weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        confidence = as_scores(self.confidence, ndim=1, what="confidence")
        correct = None if self.correct is None else as_outcomes(self.correct, len(confidence), what="correct")
        self._freeze(confidence=confidence, correct=correct)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.confidence)

    @property
    def labels(self) -> np.ndarray | None:
        """`correct` as 0 and 1, (n,) int64: the outcome of each row; None where it is not known."""
        return None if self.correct is None else self.correct.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class BinaryPrediction(_Kind):
    """The probability of one of two classes for each row, P(Y = 1).

    Attributes
    ----------
    score : (n,) float32 or float64 array
        P(Y = 1), in [0, 1].
    labels : (n,) int64 array or None
        0 or 1, where that is known; names of `class_names` are translated.
    class_names : tuple of two str
        Names of the negative and of the positive class; "0" and "1" by default.
    metadata, sample_weight, cluster, coverage
        As for every kind, see `Announcement`.

    Raises
    ------
    InputError
        If shapes disagree, a score is not in [0, 1], or a label is neither class.

    Examples
    --------
    >>> rows = BinaryPrediction([0.9, 0.2], ["yes", "no"], ("no", "yes"))
    >>> rows.positive, rows.labels.tolist(), rows.switched().score.round(2).tolist()
    ('yes', [1, 0], [0.1, 0.8])
    """

    kind: ClassVar[str] = "binary"

    score: np.ndarray
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] = ("0", "1")
    _: KW_ONLY
    metadata: pd.DataFrame | None = None
    sample_weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        score = as_scores(self.score, ndim=1, what="score")
        names = as_names(self.class_names, 2)
        object.__setattr__(self, "class_names", names)
        labels = self.labels
        if labels is not None:
            labels = as_labels(label_codes(labels, names), len(score), 2)
        self._freeze(score=score, labels=labels)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.score)

    @property
    def n_classes(self) -> int:
        """Two."""
        return 2

    @property
    def positive(self) -> str:
        """Name of the class whose probability the score is."""
        return self.class_names[1]

    def in_order_of(self, class_names: Sequence[str] | None) -> BinaryPrediction:
        """Return the rows with these two classes; the default names "0" and "1" count as unnamed.

        Raises
        ------
        InputError
            If these are other classes.
        """
        names = None if class_names is None else tuple(class_names)
        if names is None or ("0", "1") in (names, self.class_names) or names == self.class_names:
            return self
        if set(names) != set(self.class_names):
            raise InputError(
                f"the classes are {self.class_names[0]!r} and {self.positive!r}; {names[0]!r} and "
                f"{names[1]!r} were expected"
            )
        return self.switched()

    def switched(self) -> BinaryPrediction:
        """Return the same rows with the other class as the positive one: 1 - score."""
        labels = None if self.labels is None else 1 - self.labels
        return replace(self, score=1.0 - self.score, labels=labels, class_names=self.class_names[::-1])

    def with_positive(self, name: str | None) -> BinaryPrediction:
        """Return the rows with this class as the positive one; None changes nothing.

        Raises
        ------
        InputError
            If it is neither class.
        """
        if name is None or str(name) == self.positive:
            return self
        if str(name) not in self.class_names:
            raise InputError(f"the classes are {self.class_names[0]!r} and {self.positive!r}; got {name!r}")
        return self.switched()


@dataclass(frozen=True, eq=False, repr=False)
class TopKPrediction(_Kind):
    """The K highest classes of each row, best first, and their scores.

    Attributes
    ----------
    ranked : (n, K) int64 array
        Class codes, 0..L-1, no class twice in a row; names of `class_names` are translated.
    scores : (n, K) float32 or float64 array
        Score of each of them, in [0, 1]. They need not fall with the rank: calibrated ones may not.
    labels : (n,) int64 array or None
        True class codes, where they are known; a true class need not be among the K.
    class_names : tuple of str or None
        Names of the L classes; by default the texts that classes are given by, ascending. None if they have
        none.
    metadata, sample_weight, cluster, coverage
        As for every kind, see `Announcement`.

    Raises
    ------
    InputError
        If shapes disagree, a score is not in [0, 1], a class is there twice, or is not one of the classes.

    Examples
    --------
    >>> rows = TopKPrediction([["cat", "dog"], ["emu", "cat"]], [[0.6, 0.3], [0.5, 0.2]], ["dog", "emu"],
    ...                       ("cat", "dog", "emu"))
    >>> rows.n_ranks, rows.label.tolist(), rows.confidence.tolist()
    (2, [0, 2], [0.6, 0.5])
    """

    kind: ClassVar[str] = "top-k"

    ranked: np.ndarray
    scores: np.ndarray
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None
    _: KW_ONLY
    metadata: pd.DataFrame | None = None
    sample_weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        scores = as_scores(self.scores, ndim=2, what="scores")
        names, n_classes = self._named(self.ranked)
        given = np.asarray(label_codes(self.ranked, names or ()))
        if given.shape != scores.shape:
            raise InputError(
                f"ranked must hold one class for each score: expected shape {scores.shape}, got {given.shape}"
            )
        ranked = as_labels(given.ravel(), scores.size, n_classes, "ranked").reshape(scores.shape)
        ordered = np.sort(ranked, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if twice.any():
            raise InputError(f"ranked holds a class twice in row {int(twice.argmax())}; give each class once")
        labels = self.labels
        if labels is not None:
            labels = as_labels(label_codes(labels, names or ()), len(scores), n_classes)
        self._freeze(ranked=ranked, scores=scores, labels=labels)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.scores)

    @property
    def n_scores(self) -> int:
        """Number of scores n * K."""
        return self.scores.size

    @property
    def n_ranks(self) -> int:
        """Number of ranks K."""
        return self.scores.shape[1]

    @cached_property
    def n_classes(self) -> int:
        """Number of classes L: that of the names, else one more than the highest code."""
        return self._n_classes(self.ranked)

    @property
    def label(self) -> np.ndarray:
        """Predicted class codes, (n,) int64: those of the first rank."""
        return self.ranked[:, 0]

    @property
    def confidence(self) -> np.ndarray:
        """Scores of the predicted classes, (n,)."""
        return self.scores[:, 0]

    @property
    def top(self) -> TopLabelPrediction:
        """`label` and `confidence`, with labels, names and what came with the rows."""
        return TopLabelPrediction.of(self)

    def in_order_of(self, class_names: Sequence[str] | None) -> TopKPrediction:
        """Return the rows with these classes, as `TopLabelPrediction.in_order_of`; raises as it does."""
        names = None if class_names is None else tuple(class_names)
        if names is None or names == self.class_names:
            return self
        held = self.class_names or tuple(str(code) for code in range(self.n_classes))
        ranked, labels = _moved((self.ranked, self.labels), held, names)
        return replace(self, ranked=ranked, labels=labels, class_names=names)


@dataclass(frozen=True, eq=False, repr=False)
class MultilabelPrediction(_Kind):
    """A score for every class, where several classes, or none, can be true: rows need not sum to 1.

    Attributes
    ----------
    scores : (n, L) float32 or float64 array
        Probability of each class, in [0, 1].
    labels : (n, L) bool array or None
        Whether each class is true, where that is known.
    class_names : tuple of str or None
        Names of the L classes; "0", "1", ... by default.
    metadata, sample_weight, cluster, coverage
        As for every kind, see `Announcement`.

    Raises
    ------
    InputError
        If shapes disagree, a score is not in [0, 1], or a label is not 0 or 1.

    Examples
    --------
    >>> rows = MultilabelPrediction([[0.9, 0.8], [0.1, 0.3]], [[1, 1], [0, 0]], ("cat", "dog"))
    >>> rows.n_samples, rows.n_classes, rows.labels.sum(axis=1).tolist()
    (2, 2, [2, 0])
    """

    kind: ClassVar[str] = "multilabel"

    scores: np.ndarray
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None
    _: KW_ONLY
    metadata: pd.DataFrame | None = None
    sample_weight: np.ndarray | None = None
    cluster: np.ndarray | None = None
    coverage: float = 1.0

    def __post_init__(self) -> None:
        scores = as_class_scores(self.scores, "scores")
        object.__setattr__(self, "class_names", as_names(self.class_names, scores.shape[1]))
        labels = None if self.labels is None else as_outcomes(self.labels, scores.shape, what="labels")
        self._freeze(scores=scores, labels=labels)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.scores)

    @property
    def n_scores(self) -> int:
        """Number of scores n * L."""
        return self.scores.size

    @property
    def n_classes(self) -> int:
        """Number of classes L."""
        return self.scores.shape[1]

    @property
    def proba(self) -> np.ndarray:
        """`scores`, by the name that class-wise calibrators take them by."""
        return self.scores

    def of_class(self, name: str) -> BinaryPrediction:
        """Return the rows as predictions of one class: the probability that it is true.

        Raises
        ------
        InputError
            If there is no such class.
        """
        names = self.class_names or ()
        if name not in names:
            listed = ", ".join(repr(one) for one in names[:5]) + ", ..." * (len(names) > 5)
            raise InputError(f"there is no class {name!r}; the classes are {listed}")
        at = names.index(name)
        return BinaryPrediction(
            self.scores[:, at],
            None if self.labels is None else self.labels[:, at].astype(np.int64),
            (f"not {name}", name),
            **self.carried,
        )

    def in_order_of(self, class_names: Sequence[str] | None) -> MultilabelPrediction:
        """Put the columns in the order of other class names; default names count as unnamed.

        Raises
        ------
        InputError
            If these are other classes.
        """
        assert self.class_names is not None
        names = self.class_names if class_names is None else tuple(class_names)
        if len(names) != self.n_classes:
            raise InputError(f"there are {self.n_classes} classes where {len(names)} were expected")
        order = columns_in_order(self.class_names, names)
        if order is None:
            return self
        labels = None if self.labels is None else self.labels[:, order]
        return replace(self, scores=self.scores[:, order], labels=labels, class_names=names)


def _names_within(*columns: Any) -> tuple[str, ...] | None:
    """Return the texts that predicted and true classes are given by, ascending; None where they are codes."""
    arrays = [np.asarray(plain(one)) for one in columns if one is not None]
    if not all(one.dtype.kind in "OUST" and any(isinstance(x, str) for x in one.flat) for one in arrays):
        return None
    return tuple(np.unique(np.concatenate([one.ravel().astype(str) for one in arrays])).tolist())


def columns_in_order(held: tuple[str, ...], names: tuple[str, ...]) -> np.ndarray | None:
    """Return the column that holds each of the L names; None where either side is unnamed or all is in order.

    Raises
    ------
    InputError
        If a class is not one of `names`.
    """
    numbers = tuple(str(code) for code in range(len(held)))
    if names in (numbers, held) or held == numbers:
        return None
    strange = sorted(set(held) - set(names))
    if strange:
        listed = ", ".join(repr(name) for name in names[:5]) + ", ..." * (len(names) > 5)
        raise InputError(f"class {strange[0]!r} is none of the expected classes {listed}")
    columns = {name: code for code, name in enumerate(held)}
    return np.array([columns[name] for name in names])


def _moved(arrays: Sequence[np.ndarray | None], held: tuple[str, ...], names: tuple[str, ...]) -> list[Any]:
    """Translate codes of the classes `held` into codes of `names`; refuse a class that is none of them."""
    place = {name: code for code, name in enumerate(names)}
    table = np.array([place.get(name, -1) for name in held])
    moved = [None if codes is None else table[codes] for codes in arrays]
    for codes, given in zip(moved, arrays, strict=True):
        if codes is not None and given is not None and (codes < 0).any():
            strange = held[int(given[codes < 0].flat[0])]
            listed = ", ".join(repr(name) for name in names[:5]) + ", ..." * (len(names) > 5)
            raise InputError(f"class {strange!r} is none of the expected classes {listed}")
    return moved


def in_common_classes(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two sets of rows of one kind with the same classes, in the order of the first.

    Raises
    ------
    InputError
        If the kinds differ, or the classes of vectors or of binary scores do.
    """
    if a.kind != b.kind:
        raise InputError(f"calibration and evaluation rows are of different kinds, {a.kind!r} and {b.kind!r}")
    of_lists = isinstance(a, (TopLabelPrediction, TopKPrediction))
    if of_lists and a.class_names is not None and b.class_names is not None:
        names = tuple(dict.fromkeys((*a.class_names, *b.class_names)))
        return a.in_order_of(names), b.in_order_of(names)
    return a, b.in_order_of(a.class_names)


def check_metadata(table: pd.DataFrame | None, n_samples: int) -> None:
    """Refuse metadata that are no frame with one row per prediction."""
    if table is None:
        return
    if not isinstance(table, pd.DataFrame) or len(table) != n_samples:
        got = f"{len(table):,} rows" if isinstance(table, pd.DataFrame) else type(table).__name__
        raise InputError(f"metadata must be a DataFrame with one row for each of {n_samples:,}; got {got}")


def _block_digests(data: memoryview) -> list[bytes]:
    starts = range(0, len(data), DIGESTED)
    return map_threads(lambda start: hashlib.blake2b(data[start : start + DIGESTED]).digest(), starts)


def may_change(array: np.ndarray) -> bool:
    """Whether somebody can still write to an array, or to the one that it is a view of."""
    base = array.base
    return array.flags.writeable or (isinstance(base, np.ndarray) and base.flags.writeable)


def owned(array: np.ndarray) -> np.ndarray:
    """Return the array itself if nobody can write to it any more, else a copy; C-contiguous."""
    if may_change(array):
        copy = np.empty(array.shape, array.dtype)
        map_threads(lambda rows: np.copyto(copy[rows], array[rows]), row_slices(len(array), copy[:1].size))
        return copy
    return np.ascontiguousarray(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view through which, as through the array, nothing can be written."""
    array.flags.writeable = False
    return array.view()
