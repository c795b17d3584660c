"""Validated predictions: probabilities, labels and class names, checked once at the boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from calib.base.delegates import DELEGATES
from calib.base.exceptions import InputError
from calib.base.parallel import BUSY, busy_slices, cached_slices, map_row_blocks, map_threads
from calib.data.announcements import (
    Announcement,
    BinaryPrediction,
    MultilabelPrediction,
    TopKPrediction,
    TopLabelPrediction,
    check_metadata,
    columns_in_order,
    may_change,
    owned,
    read_only,
)
from calib.data.validation import (
    as_class_scores,
    as_clusters,
    as_finite,
    as_floats,
    as_labels,
    as_names,
    as_scores,
    as_weights,
    check_choice,
    check_order,
    column_names,
    label_codes,
    n_axes,
    plain,
)

__all__ = ["Predictions"]

#: A row of probabilities may miss 1 by this much before it is refused. Softmax in float16 over 1,000
#: classes misses by about 5e-4; probabilities printed with two or three digits miss by more, and
#: `calib.examine` explains and repairs those.
ROW_SUM_TOLERANCE = 1e-3

#: Columns up to which single precision sums a row well enough to compare it with 1.
MOST_SUMMED = 4_000

#: Arrays with an entry, or a row, for each row.
ARRAYS = ("proba", "labels", "sample_weight", "cluster")

#: Bytes that are copied at a time: into new memory, 16 MB take four fifths of the time of eight times 2 MB.
COPIED = 2**24

#: In rows of up to so many classes, too short for a loop each, the highest is found from columns.
NARROW = 32


class Predictions(Announcement):
    """Predicted probabilities of a classifier, with the true labels where they are known.

    Parameters
    ----------
    proba : (n, L) array_like of float
        One row of class probabilities per example; finite, in [0, 1], each row summing to 1 within
        `ROW_SUM_TOLERANCE`. float32 and float64 are kept as they are, anything else becomes float64.
    labels : (n,) array_like of int or str, optional
        True class codes 0..L-1, or the names listed in `class_names`.
    class_names : sequence of str, optional
        L distinct names in column order. By default those of the columns of a frame, else "0", "1", ...
    metadata : DataFrame, optional
        Further columns of the source, one row per example.
    sample_weight : (n,) array_like of float, optional
        Weights of the rows, 0 or more.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to, such as a patient, question or image. Rows of a cluster are not
        independent, and stay together in splits and folds.
    coverage : float
        Share of the rows of the source that have an answer.
    missing : {"error", "drop"}
        What to do with rows without a label: -1, NaN, None or an empty text.

    Raises
    ------
    InputError
        If shapes disagree, a value is not a probability, a label is not one of the L classes, or a row has no
        cluster where others have.

    Notes
    -----
    The object is frozen and its arrays are read-only. An array that can still be written to is copied; one
    that is read-only (``flags.writeable``), down to the array it is a view of, is shared. L comes from the
    number of columns: a class may be absent from the labels. Ties for the top go to the lowest index.

    Examples
    --------
    >>> p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], labels=[0, 1])
    >>> p.n_samples, p.n_classes, p.label.tolist(), p.confidence.tolist()
    (2, 3, [0, 2], [0.7, 0.8])
    """

    kind: ClassVar[str] = "vectors"

    proba: np.ndarray
    labels: np.ndarray | None
    class_names: tuple[str, ...]

    def __init__(
        self,
        proba: Any,
        labels: Any = None,
        class_names: Sequence[str] | None = None,
        *,
        metadata: pd.DataFrame | None = None,
        sample_weight: Any = None,
        cluster: Any = None,
        coverage: float = 1.0,
        missing: str = "error",
    ) -> None:
        if check_choice(missing, ("error", "drop"), "missing") == "drop" and labels is not None:
            proba, labels, metadata, (sample_weight, cluster) = _labelled(
                proba, labels, metadata, (sample_weight, cluster)
            )
        class_names = column_names(proba) if class_names is None else class_names
        matrix, sound = _taken_over(as_floats(proba, ndim=2, what="proba"))
        if not sound:
            matrix = as_class_scores(matrix, "proba")
            _check_sums(matrix)
        n_samples, n_classes = matrix.shape
        names = as_names(class_names, n_classes)
        codes = None if labels is None else as_labels(label_codes(labels, names), n_samples, n_classes)
        check_metadata(metadata, n_samples)
        weights = None if sample_weight is None else as_weights(sample_weight, n_samples)
        clusters = None if cluster is None else as_clusters(cluster, n_samples)
        own = {"labels": codes, "sample_weight": weights, "cluster": clusters}
        arrays = {name: None if array is None else owned(array) for name, array in own.items()}
        self._set({"proba": matrix, **arrays}, names, metadata, coverage)

    def _set(
        self,
        arrays: Mapping[str, np.ndarray | None],
        names: tuple[str, ...],
        metadata: pd.DataFrame | None,
        coverage: float,
    ) -> None:
        for name in ARRAYS:
            array = arrays.get(name)
            self.__dict__[name] = None if array is None else read_only(array)
        self.__dict__.update(class_names=names, metadata=metadata, coverage=coverage)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Predictions is frozen: cannot set {name!r}; make a new Predictions instead")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in (*ARRAYS, "class_names", "metadata", "coverage")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state, state["class_names"], state.get("metadata"), state.get("coverage", 1.0))

    def _arrays(self) -> Mapping[str, np.ndarray]:
        arrays = {name: self.__dict__[name] for name in ARRAYS}
        return {name: array for name, array in arrays.items() if array is not None}

    def _with_rows(self, rows: Any, arrays: dict[str, np.ndarray], metadata: pd.DataFrame | None) -> Self:
        new = object.__new__(type(self))
        new._set(arrays, self.class_names, metadata, self.coverage)
        return new

    def _header(self) -> Any:  # as it was before there were weights: calibrator files name the digest
        header = (self.proba.shape, str(self.proba.dtype), self.labels is not None, self.class_names)
        further = {"sample_weight": "weighted", "cluster": "clustered"}
        return (*header, *(word for name, word in further.items() if self.__dict__[name] is not None))

    @classmethod
    def read(cls, source: Any, **options: Any) -> Predictions:
        """Read a file with a probability for every class; see `calib.read_predictions`."""
        rows: Predictions = DELEGATES["read"](source, **options)
        return rows

    def __repr__(self) -> str:
        labels = "without labels" if self.labels is None else "with labels"
        return f"<Predictions: {self.n_samples:,} rows x {self.n_classes:,} classes, {labels}>"

    @classmethod
    def from_logits(
        cls, logits: Any, labels: Any = None, class_names: Sequence[str] | None = None, **further: Any
    ) -> Predictions:
        """Softmax of (n, L) finite logits, computed in float64; `further` as for `Predictions`.

        Raises
        ------
        InputError
            If the logits are not a finite matrix, or as for `Predictions`.
        """
        class_names = column_names(logits) if class_names is None else class_names
        array = as_finite(logits, ndim=2, what="logits")
        return cls(read_only(map_row_blocks(_softmax, array)), labels, class_names, **further)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return self.proba.shape[0]

    @property
    def n_scores(self) -> int:
        """Number of scores n * L."""
        return self.proba.size

    @property
    def n_classes(self) -> int:
        """Number of classes L, the number of columns."""
        return self.proba.shape[1]

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
        return TopLabelPrediction.of(self)

    def in_order_of(self, class_names: Sequence[str] | None) -> Predictions:
        """Put the columns in the order of other class names, so that both sets can be used together.

        Where both sides name their classes, names decide. The default names "0", "1", ... count as unnamed:
        columns are then taken to be in order. Predictions that are in order are returned as they are.

        Raises
        ------
        InputError
            If the number of classes differs, or a class is not one of `class_names`.
        """
        names = self.class_names if class_names is None else tuple(class_names)
        if len(names) != self.n_classes:
            raise InputError(f"there are {self.n_classes} classes where {len(names)} were expected")
        order = columns_in_order(self.class_names, names)
        if order is None:
            return self
        labels = None if self.labels is None else np.argsort(order)[self.labels]
        return Predictions(self.proba[:, order], labels, names, **self.carried)


def as_vectors(rows: BinaryPrediction) -> Predictions:
    """Return binary predictions as the two columns 1 - p and p."""
    score = rows.score.astype(np.float64)
    both = np.stack([1.0 - score, score], axis=1)
    return Predictions(both, rows.labels, rows.class_names, **rows.carried)


def weighted_rows(values: Any, scores: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Return labels or outcomes, scores and weights of the rows that count.

    Rows of weight 0 are left out. Weights are divided by their mean, so that only their ratios matter; where
    all are equal, None stands for them, and whatever follows is computed as without weights.

    Parameters
    ----------
    values : (n,) array_like
        True classes, or outcomes.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores of the same rows.
    sample_weight : (n,) array_like of float, or None
        Weights, 0 or more. None stands for the weights that predictions came with, if they have any.

    Raises
    ------
    InputError
        If a weight is negative or not finite, all are 0, or there are not as many as rows.
    """
    values, scores = with_codes(values, scores)
    sample_weight = weights_of(scores, sample_weight)
    if sample_weight is None:
        return values, scores, None
    if not hasattr(scores, "n_samples") and not hasattr(scores, "__len__"):
        scores = np.asarray(scores)
    weights = as_weights(sample_weight, getattr(scores, "n_samples", None) or len(scores))
    counts = weights > 0.0
    if not counts.all():
        given = np.asarray(values)
        if given.shape[:1] != counts.shape:
            raise InputError(
                f"labels must hold one value per row: expected shape {counts.shape}, got {given.shape}"
            )
        values, weights = given[counts], weights[counts]
        chosen = isinstance(scores, Announcement)
        scores = scores.take(counts) if chosen else np.asarray(scores)[counts]
    if weights.min() == weights.max():
        return values, scores, None
    weights = weights / weights.max()
    return values, scores, weights / weights.mean()


def with_codes(values: Any, scores: Any) -> tuple[Any, Any]:
    """Return labels as codes where they are names of the classes of the scores, and scores without names.

    Names are those of predictions, or of the columns of a frame. True classes that were never predicted are
    classes beyond those that a predicted class or a ranked list can have.

    Raises
    ------
    InputError
        If the two are swapped, or a name is no class.
    """
    check_order(values, scores)
    if isinstance(scores, Announcement):
        names = scores.class_names if scores.kind in ("vectors", "top-label", "top-k") else None  # type: ignore[attr-defined]
    else:
        names, scores = column_names(scores), plain(scores)
    of_matrix = names is None and not isinstance(scores, Announcement) and n_axes(scores) == 2
    if values is None or (names is None and not of_matrix):
        return values, scores
    given = np.asarray(plain(values))
    if given.dtype.kind not in "OUST" or given.ndim != 1 or not any(isinstance(one, str) for one in given):
        return values, scores
    if names is None:
        return as_labels(given, *np.shape(scores)), scores
    if isinstance(scores, (TopLabelPrediction, TopKPrediction)):
        names = tuple(dict.fromkeys((*names, *np.unique(given.astype(str)).tolist())))
    return label_codes(given, names), scores


def weights_of(scores: Any, sample_weight: Any = None) -> Any:
    """Return the weights given, else those that predictions came with; None where there are none."""
    if sample_weight is None and isinstance(scores, Announcement):
        return scores.sample_weight
    return sample_weight


def clusters_of(scores: Any, cluster: Any = None) -> np.ndarray | None:
    """Return the ids of clusters given, else those that predictions came with; None where there are none.

    Raises
    ------
    InputError
        As `Predictions` does.
    """
    if cluster is not None:
        return as_clusters(cluster, getattr(scores, "n_samples", None) or len(scores))
    return scores.cluster if isinstance(scores, Announcement) else None


def weight_words(weights: np.ndarray) -> str:
    """Say how unequal weights are: the rows of equal weight that means over all rows would need (Kish 1965).

    >>> weight_words(np.array([1.0, 1.0, 2.0]))
    'weighted, as good as 2.7 of 3 rows'
    """
    known = weights[np.isfinite(weights)] / max(np.abs(weights).max(initial=0.0), 1e-300)
    effective = known.sum() ** 2 / max(float(known @ known), 1e-300)
    return effective_words(effective, len(weights))


def effective_words(effective: float, n_rows: int) -> str:
    """Say what `weight_words` does, given the effective rows."""
    shown = f"{effective:,.0f}" if effective >= 10 else f"{effective:.1f}"
    return f"weighted, as good as {shown} of {n_rows:,} rows"


def rows_that_count(rows: Announcement) -> Any:
    """Return the predictions without rows of weight 0, and without weights where these are all equal."""
    weights = rows.sample_weight
    if weights is None:
        return rows
    if not (weights > 0.0).all():
        rows = rows.take(weights > 0.0)
        weights = rows.sample_weight
        assert weights is not None
    return rows.unweighted() if weights.min() == weights.max() else rows


def _labelled(
    proba: Any, labels: Any, metadata: Any, columns: tuple[Any, ...]
) -> tuple[Any, Any, Any, tuple[Any, ...]]:
    """Return the rows that have a label, also of the columns that are given."""
    given = np.asarray(plain(labels))
    if given.dtype.kind in "OUST":
        known = np.array(
            [one is not None and one == one and str(one) not in ("", "-1") for one in given.ravel()]
        )
    else:
        known = np.isfinite(given.astype(np.float64)).ravel() & (given.ravel() != -1)
    if known.all():
        return proba, labels, metadata, columns
    if not known.any() or len(known) != len(np.asarray(plain(proba))):
        raise InputError("no row has a label" if not known.any() else "labels must hold one label per row")
    names = column_names(proba)
    rows: Any = np.asarray(plain(proba))[known]
    if names is not None:
        rows = pd.DataFrame(rows, columns=list(names))
    table = None if metadata is None else metadata[known].reset_index(drop=True)
    kept = tuple(None if column is None else np.asarray(plain(column))[known] for column in columns)
    return rows, given[known], table, kept


def score_matrix(scores: Any, what: str = "scores") -> np.ndarray:
    """Return the (n, L) scores of predictions with one per class, or of a matrix; rows need not sum to 1."""
    if isinstance(scores, (Predictions, MultilabelPrediction)):
        return scores.proba
    return as_class_scores(scores, what)


def highest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column of the highest score of each row of an (n, L) matrix, ties to the lowest, and that score."""
    return _highest(scores)[:2]


def highest_checked(scores: Any, what: str = "scores") -> tuple[np.ndarray, np.ndarray]:
    """Return `highest` of `score_matrix`; scores that are as they should be are read only once."""
    if isinstance(scores, (Predictions, MultilabelPrediction)):
        return highest(scores.proba)
    array = as_floats(scores, ndim=2, what=what)
    label, top, checked = _highest(array)
    if checked:
        return label, top
    return highest(as_scores(array, ndim=2, what=what))


def _highest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return `highest`, and whether all scores were seen to be in [0, 1]."""
    label = np.empty(len(scores), dtype=np.int64)
    top = np.empty(len(scores), dtype=scores.dtype)

    def look(rows: slice) -> bool:
        block, of, best = scores[rows], label[rows], top[rows]
        find = _find_by_columns if scores.shape[1] <= NARROW else _find_in_rows
        if find(block, of, best):
            return True
        np.argmax(block, axis=1, out=of)  # NaN if any is: it counts as highest
        best[:] = block[np.arange(len(block)), of]
        return bool(block.min() >= 0.0 and best.max() <= 1.0)

    seen = map_threads(look, busy_slices(len(scores), scores.shape[1], scores.itemsize))
    return label, top, all(seen)


def _find_in_rows(block: np.ndarray, label: np.ndarray, top: np.ndarray) -> bool:
    """Fill in `highest` of rows; False if it is not surely that, or not all scores are in [0, 1]."""
    bits = _bits(np.ascontiguousarray(block))  # the columns of a table lie one after another
    np.argmax(bits, axis=1, out=label)
    best = bits[np.arange(len(block)), label]
    top[:] = best.view(block.dtype)
    return bool(best.max() <= _bits(np.ones(1, block.dtype)))


def _bits(scores: np.ndarray) -> np.ndarray:
    """Return floats as whole numbers of the same bits.

    Floats of [0, 1] order like their bits; those of negative ones, -0.0 among them, and NaN are larger. So
    the highest bits tell whether all scores are in [0, 1].
    """
    return scores.view(f"u{scores.itemsize}")


def _find_by_columns(block: np.ndarray, label: np.ndarray, top: np.ndarray) -> bool:
    """Do what `_find_in_rows` does, from columns that are laid one after the other."""
    n_rows, n_columns = block.shape
    columns = np.empty((n_columns, n_rows), dtype=block.dtype)
    for rows in cached_slices(n_rows, n_columns):
        columns[:, rows] = block[rows].T
    bits = _bits(columns)
    best = bits.max(axis=0, out=_bits(top))
    place = (bits == best).view(np.uint8)
    place *= np.arange(n_columns, 0, -1, dtype=np.uint8)[:, np.newaxis]  # earlier columns count more
    np.subtract(n_columns, place.max(axis=0), out=label, dtype=np.int64)
    return bool(best.max() <= _bits(np.ones(1, block.dtype)))


def row_sums(matrix: np.ndarray) -> np.ndarray:
    """Return the sums of rows in float64, (n,)."""

    def sums(block: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):  # inside: threads do not inherit it
            return block.sum(axis=1, dtype=np.float64)

    return map_row_blocks(sums, matrix)


def _taken_over(array: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the array as `owned` does, and whether all its rows are seen to be probabilities of classes.

    Blocks are copied, and looked at in parts that stay in the cache. Sums are taken in the type of the
    scores, whose rounding half the tolerance covers.
    """
    n_rows, n_columns = array.shape
    shared = array.flags.c_contiguous and not may_change(array)
    matrix = array if shared else np.empty(array.shape, array.dtype)
    summed = 2 <= n_columns <= MOST_SUMMED

    def take(rows: slice) -> bool:
        block = matrix[rows]
        if shared:
            return look(block)
        np.copyto(block, array[rows])
        return all([look(block[part]) for part in busy_slices(len(block), n_columns, array.itemsize)])

    def look(block: np.ndarray) -> bool:
        if not summed or _bits(block).max() > _bits(np.ones(1, block.dtype)):
            return False
        sums = np.einsum("ij->i", block)
        return bool(max(sums.max() - 1.0, 1.0 - sums.min()) <= ROW_SUM_TOLERANCE / 2)

    together = BUSY if shared else COPIED
    return matrix, all(map_threads(take, busy_slices(n_rows, n_columns, array.itemsize, together)))


def _check_sums(matrix: np.ndarray) -> None:
    off = np.abs(row_sums(matrix) - 1.0)
    worst = int(off.argmax())
    if off[worst] > ROW_SUM_TOLERANCE:
        raise InputError(
            f"{int((off > ROW_SUM_TOLERANCE).sum()):,} of {len(matrix):,} rows of proba do not sum to 1; "
            f"row {worst} sums to {matrix[worst].sum(dtype=np.float64):.6g}. Pass probabilities, use "
            "Predictions.from_logits for logits, or let calib.examine find out what the numbers are."
        )


def _softmax(block: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # -1e308 - 1e308 is minus infinity, and its exp 0, as it should
        exps = np.exp(block.astype(np.float64) - block.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)
