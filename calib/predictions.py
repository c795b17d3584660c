"""Validated predictions: probabilities, labels and class names, checked once at the boundary."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calib.parallel import map_row_blocks, map_threads, row_slices

#: A row of probabilities may miss 1 by this much before it is refused. Softmax in float16 over 1,000
#: classes misses by about 5e-4; probabilities printed with two or three digits miss by more, and
#: `calib.examine` explains and repairs those.
ROW_SUM_TOLERANCE = 1e-3


class InputError(ValueError):
    """Input that cannot be used as it is; the message says what was received and what to do."""


@dataclass(frozen=True, eq=False)
class TopLabelPrediction:
    """What a classifier announces for each row: one class and one confidence, (c, h) in the paper.

    Attributes
    ----------
    label : (n,) int64 array
        Announced class codes, 0..L-1.
    confidence : (n,) float32 or float64 array
        Probability announced for that class, in [0, 1].
    """

    label: np.ndarray
    confidence: np.ndarray

    def __post_init__(self) -> None:
        confidence = as_scores(self.confidence, ndim=1, what="confidence")
        label = _as_codes(self.label, len(confidence), None, what="label")
        for name, array in (("label", label), ("confidence", confidence)):
            object.__setattr__(self, name, _read_only(_owned(array)))

    def __len__(self) -> int:
        return len(self.label)


class Predictions:
    """Predicted probabilities of a classifier, with the true labels where they are known.

    Parameters
    ----------
    proba : (n, L) array_like of float
        One row of class probabilities per example; finite, in [0, 1], each row summing to 1 within
        `ROW_SUM_TOLERANCE`. float32 and float64 are kept as they are, anything else becomes float64.
    labels : (n,) array_like of int or str, optional
        True class codes 0..L-1, or the names listed in `class_names`.
    class_names : sequence of str, optional
        L distinct names in column order. The default names are "0", "1", ...

    Raises
    ------
    InputError
        If shapes disagree, a value is not a probability, or a label is not one of the L classes.

    Notes
    -----
    The object is frozen and its arrays are read-only. An array that can still be written to is copied, so
    that nothing computed from it goes stale; one made read-only before (``flags.writeable``), down to
    the array it is a view of, is shared. L comes from the number of columns, never from
    the labels: a class may be absent from the labels. Ties for the top go to the lowest index.

    Examples
    --------
    >>> p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], labels=[0, 1])
    >>> p.n_samples, p.n_classes, p.label.tolist(), p.confidence.tolist()
    (2, 3, [0, 2], [0.7, 0.8])
    """

    proba: np.ndarray
    labels: np.ndarray | None
    class_names: tuple[str, ...]

    def __init__(self, proba: Any, labels: Any = None, class_names: Sequence[str] | None = None) -> None:
        matrix = as_scores(proba, ndim=2, what="proba")
        n_samples, n_classes = matrix.shape
        if n_classes < 2:
            raise InputError(
                f"proba needs at least 2 columns, one per class; got {n_classes}. "
                "For a binary score p pass the two columns [1 - p, p]."
            )
        off = np.abs(map_row_blocks(lambda block: block.sum(axis=1, dtype=np.float64), matrix) - 1.0)
        worst = int(off.argmax())
        if off[worst] > ROW_SUM_TOLERANCE:
            raise InputError(
                f"{int((off > ROW_SUM_TOLERANCE).sum()):,} of {n_samples:,} rows of proba do not sum to 1; "
                f"row {worst} sums to {matrix[worst].sum(dtype=np.float64):.6g}. Pass probabilities, use "
                "Predictions.from_logits for logits, or let calib.examine find out what the numbers are."
            )
        names = _as_names(class_names, n_classes)
        codes = None if labels is None else _as_codes(_codes_of(labels, names), n_samples, n_classes)
        self._set(_owned(matrix), None if codes is None else _owned(codes), names)

    def _set(self, matrix: np.ndarray, codes: np.ndarray | None, names: tuple[str, ...]) -> None:
        self.__dict__["proba"] = _read_only(matrix)
        self.__dict__["labels"] = None if codes is None else _read_only(codes)
        self.__dict__["class_names"] = names

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Predictions is frozen: cannot set {name!r}; make a new Predictions instead")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("proba", "labels", "class_names")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["proba"], state["labels"], state["class_names"])

    def __repr__(self) -> str:
        known = "without labels" if self.labels is None else "with labels"
        return f"<Predictions: {self.n_samples:,} rows x {self.n_classes:,} classes, {known}>"

    @classmethod
    def from_logits(
        cls, logits: Any, labels: Any = None, class_names: Sequence[str] | None = None
    ) -> Predictions:
        """Softmax of (n, L) finite logits, computed in float64.

        Raises
        ------
        InputError
            If the logits are not a finite matrix, or as for `Predictions`.
        """
        array = _as_float(logits, ndim=2, what="logits")
        if not np.isfinite(array).all():
            raise InputError(_not_finite(array, "logits"))
        return cls(_read_only(map_row_blocks(_softmax, array)), labels, class_names)

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return self.proba.shape[0]

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
        return _read_only(label), _read_only(confidence)

    @property
    def top(self) -> TopLabelPrediction:
        """`label` and `confidence` as a `TopLabelPrediction`."""
        return TopLabelPrediction(self.label, self.confidence)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (BLAKE2b, 128 bit) of every value, label and name: equal content, equal digest."""
        digest = hashlib.blake2b(digest_size=16)
        header = (self.proba.shape, str(self.proba.dtype), self.labels is not None, self.class_names)
        digest.update(repr(header).encode())
        digest.update(self.proba.data.cast("B"))
        if self.labels is not None:
            digest.update(self.labels.data.cast("B"))
        return digest.hexdigest()

    def take(self, rows: Any) -> Predictions:
        """Return the chosen rows (indices or a boolean mask) as new `Predictions`."""
        proba = self.proba[rows]
        if len(proba) == 0:
            raise InputError("no rows were chosen; choose at least one")
        new = object.__new__(Predictions)
        new._set(proba, None if self.labels is None else self.labels[rows], self.class_names)
        return new

    def split(
        self, calibration: float = 0.5, random_state: int | np.random.Generator | None = 0
    ) -> tuple[Predictions, Predictions]:
        """Split the rows at random into (calibration, evaluation), stratified by true label.

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
        if self.labels is None:
            raise InputError("split needs labels; these predictions have none")
        if not 0.0 < calibration < 1.0:
            raise InputError(f"calibration must be a share inside (0, 1); got {calibration!r}")
        shuffled = np.random.default_rng(random_state).permutation(self.n_samples)
        by_label = shuffled[np.argsort(self.labels[shuffled], kind="stable")]
        # Systematic sampling along the label-sorted rows: shares hold per class to within one row.
        quota = np.floor(np.arange(self.n_samples + 1) * calibration + 1e-9)
        chosen = np.diff(quota) > 0
        if chosen.all() or not chosen.any():
            raise InputError(
                f"{self.n_samples} rows cannot be split with calibration={calibration}: one side is empty"
            )
        return self.take(np.sort(by_label[chosen])), self.take(np.sort(by_label[~chosen]))


def as_scores(values: Any, *, ndim: int, what: str) -> np.ndarray:
    """Return a finite float32 or float64 array with values in [0, 1], or raise `InputError`."""
    array = _as_float(values, ndim=ndim, what=what)
    blocks = row_slices(*array.shape)  # np.min and np.max, unlike min and max, let a NaN through
    low = np.min(map_threads(lambda rows: array[rows].min(), blocks))
    high = np.max(map_threads(lambda rows: array[rows].max(), blocks))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(_not_finite(array, what))
    if low < 0.0 or high > 1.0 + 1e-6:
        where = np.unravel_index(int(array.argmin() if low < 0.0 else array.argmax()), array.shape)
        place = f"row {where[0]}" + (f", column {where[1]}" if ndim == 2 else "")
        raise InputError(
            f"{what} must lie in [0, 1]; got {array[where]:.6g} in {place}. Logits go through "
            "Predictions.from_logits; divide percentages by 100."
        )
    if high > 1.0:  # a float rounding above 1 is no reason to refuse a file
        array = np.minimum(array, array.dtype.type(1.0))
    return array


def highest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column of the highest score of each row of an (n, L) matrix, ties to the lowest, and that score."""
    label = np.empty(len(scores), dtype=np.int64)
    top = np.empty(len(scores), dtype=scores.dtype)

    def look(rows: slice) -> None:
        block = scores[rows]
        label[rows] = block.argmax(axis=1)
        top[rows] = block[np.arange(len(block)), label[rows]]

    map_threads(look, row_slices(*scores.shape))
    return label, top


def as_labels(y_true: Any, n_samples: int, n_classes: int | None) -> np.ndarray:
    """Return (n,) int64 true class codes in 0..L-1, or raise `InputError`."""
    return _as_codes(y_true, n_samples, n_classes, what="labels")


def _as_float(values: Any, *, ndim: int, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
        if array.dtype not in (np.float32, np.float64):
            if array.dtype.kind == "c":
                raise ValueError("complex numbers")
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers; {error}") from None
    if array.ndim != ndim:
        shape = "(n, L) matrix" if ndim == 2 else "(n,) vector"
        raise InputError(f"{what} must be an {shape}; got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{what} is empty: got shape {array.shape}, need at least one row")
    return array


def _not_finite(array: np.ndarray, what: str) -> str:
    bad = ~np.isfinite(array)
    first = np.argwhere(bad)[0]
    place = f"row {first[0]}" + (f", column {first[1]}" if array.ndim == 2 else "")
    return (
        f"{what} holds {int(bad.sum()):,} values that are NaN or infinite; the first is in {place}. "
        "Remove or repair those rows."
    )


def _as_names(class_names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    if class_names is None:
        return tuple(str(code) for code in range(n_classes))
    names = tuple(str(name) for name in class_names)
    if len(names) != n_classes:
        raise InputError(f"class_names needs one name per column: got {len(names)} names for {n_classes}")
    if len(set(names)) != n_classes:
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"class_names must be distinct; {repeated[0]!r} is there more than once")
    return names


def _codes_of(labels: Any, names: tuple[str, ...]) -> np.ndarray:
    """Translate labels given by name; leave numeric labels alone."""
    array = np.asarray(labels)
    if array.dtype.kind not in "OUST" and not hasattr(labels, "categories"):
        return array
    if array.ndim == 1 and all(isinstance(label, (int, np.integer)) for label in array.tolist()):
        return array.astype(np.int64)
    known = {name: code for code, name in enumerate(names)}
    flat = [str(label) for label in array.ravel().tolist()]
    unknown = sorted({label for label in flat if label not in known})
    if unknown:
        listed = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
        raise InputError(
            f"{len(unknown)} label name(s) match no class, for example {unknown[0]!r}; "
            f"the classes are {listed}. Pass class_names in column order."
        )
    return np.array([known[label] for label in flat], dtype=np.int64).reshape(array.shape)


def _as_codes(values: Any, n_samples: int, n_classes: int | None, what: str = "labels") -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise InputError(
            f"{what} must hold one class code per row: expected shape ({n_samples},), got {array.shape}"
        )
    if array.dtype.kind not in "iub":
        as_float = _as_float(array, ndim=1, what=what)
        whole = np.isfinite(as_float)
        whole &= np.where(whole, as_float, 0.5) == np.round(np.where(whole, as_float, 0.0))
        if not whole.all():
            row = int((~whole).argmax())
            raise InputError(f"{what} must be whole class codes; got {as_float[row]} in row {row}")
        array = as_float
    low, high = (array.min(), array.max()) if n_samples else (0, 0)
    if low < 0 or high >= (2**62 if n_classes is None else n_classes):
        row = int(array.argmin() if low < 0 else array.argmax())
        allowed = "0 or more" if n_classes is None else f"0..{n_classes - 1}"
        hint = " Labels that count from 1 need 1 subtracted." if array[row] == n_classes else ""
        raise InputError(f"{what} must be class codes {allowed}; got {array[row]:.16g} in row {row}.{hint}")
    return array.astype(np.int64, copy=False)


def _softmax(block: np.ndarray) -> np.ndarray:
    exps = np.exp(block.astype(np.float64) - block.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def _owned(array: np.ndarray) -> np.ndarray:
    """Return the array itself if nobody can write to it any more, else a copy; C-contiguous."""
    base = array.base
    if array.flags.writeable or (isinstance(base, np.ndarray) and base.flags.writeable):
        return np.array(array, order="C")
    return np.ascontiguousarray(array)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a view through which, as through the array, nothing can be written."""
    array.flags.writeable = False
    return array.view()
