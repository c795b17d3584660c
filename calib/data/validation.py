"""Checks of arguments: scores, labels, names, counts, levels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.data.matrices import NARROW, are_shares, highest_checked

#: Numbers, texts or times of rows: an array, list, series, frame or tensor.
Values: TypeAlias = ArrayLike | pd.Series | pd.DataFrame

#: Words before a class name in names of columns.
_PREFIXED = re.compile(
    r"(?:y_)?(?:p|pred|prob|proba|probability|score)[ _.:([]+(?P<name>.+?)[)\]]?", re.IGNORECASE
)


#: Kinds of arrays that NumPy would turn into numbers that nobody meant.
NO_NUMBERS = {"c": "complex numbers", "M": "dates or times", "m": "durations"}
#: What stands for a masked value, by kind of array; None in any other kind.
MISSING_VALUES = {**dict.fromkeys("biuf", np.nan), "M": np.datetime64("NaT"), "m": np.timedelta64("NaT")}


def plain(values: Any) -> Any:
    """Convert a tensor (with gradient, bfloat16), sparse matrix, lazy, Arrow or masked values for NumPy.

    Masked values are missing: NaN among numbers, NaT among times, else None.
    """
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        missing: Any = MISSING_VALUES.get(values.dtype.kind)
        return np.where(values.mask, missing, values.data) if np.ma.is_masked(values) else values.data
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        return (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    if hasattr(values, "toarray"):
        return values.toarray()
    if _is_lazy(values):
        return values.collect()
    if hasattr(values, "to_pandas") and hasattr(values, "num_rows"):
        return values.to_pandas()
    if hasattr(values, "__array__") and not hasattr(values, "__len__"):
        return np.asarray(values)
    return values


def _is_lazy(values: Any) -> bool:
    return hasattr(values, "collect_schema") and hasattr(values, "collect")


def column_names(values: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame or table, two texts or more; None if there are none."""
    if _is_lazy(values):
        names = values.collect_schema().names()
    else:
        names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is None or callable(names) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


@cache
def numbered(n_classes: int) -> tuple[str, ...]:
    """Return the names that classes have by default: "0", "1", ..."""
    return tuple(map(str, range(n_classes)))


def bare_names(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return names of classes, "cat" for the column "p(cat)"; None for the default names "0", "1", ..."""
    matches = [_PREFIXED.fullmatch(name) for name in names or ()]
    bare = tuple(match["name"] for match in matches if match is not None)
    names = bare if names and len(bare) == len(names) else names
    return None if names == numbered(len(names or ())) else names


def opened(values: Any) -> tuple[tuple[str, ...] | None, Any]:
    """Return the `column_names` of scores, and the scores as a `plain` array."""
    return (None, values) if type(values) is np.ndarray else (column_names(values), plain(values))


def n_axes(values: Any) -> int:
    """Return 1 for one value per row, (n,) or a column (n, 1), else the number of dimensions."""
    try:
        shape = np.shape(values)
        return 1 if len(shape) == 2 and shape[1] == 1 else len(shape)
    except ValueError:
        raise InputError("every row must hold the same number of values; got rows of other lengths") from None
    except TypeError:
        raise InputError(f"an array is needed; got a {type(values).__name__}") from None


def check_shape(found: tuple[int, ...], wanted: int | tuple[int, ...], what: str) -> None:
    """Refuse an array of another shape; a number of rows stands for one axis."""
    wanted = (wanted,) if isinstance(wanted, int) else wanted
    if found != wanted:
        raise InputError(f"{what}: expected shape {wanted}, got {found}")


def check_order(labels: Any, scores: Any) -> None:
    if labels is None or hasattr(scores, "n_samples"):
        return
    if getattr(labels, "labels", None) is not None:
        raise InputError(
            f"labels and scores are swapped: a {type(labels).__name__} with labels stands alone, "
            "as in ece(rows); labels come first in ece(y_true, scores)"
        )
    if hasattr(labels, "n_samples"):
        seen = f"are a {type(labels).__name__}"
    else:
        given = np.asarray(plain(labels))
        if given.dtype.kind != "f" or n_axes(scores) != 1:
            return
        fractions = np.isfinite(given) & (given != np.round(given))
        found = np.asarray(plain(scores))
        whole = found.dtype.kind != "f" or bool((found == np.round(found)).all())
        if not whole or not fractions.any():
            return
        at = np.unravel_index(int(fractions.argmax()), given.shape)
        seen = f"hold {given[at]:.6g} in {_position(at)}"
    raise InputError(
        f"labels and scores are swapped: the labels {seen}, and the scores are names or whole numbers. "
        "Labels come first in ece(y_true, scores), scores come first in fit(scores, y)"
    )


def as_scores(values: Any, *, ndim: int, what: str) -> np.ndarray:
    """Return a finite float32 or float64 array (or column) with values in [0, 1], or raise `InputError`."""
    return _in_unit_interval(as_floats(values, ndim=ndim, what=what, column=True), what)


def _in_unit_interval(array: np.ndarray, what: str) -> np.ndarray:
    blocks = row_blocks(len(array), array[:1].size)
    if all(map_threads(lambda rows: are_shares(array[rows]), blocks)):
        return array
    low, high = array.min(), array.max()  # NaN if any is
    if low >= 0.0 and high <= 1.0:  # a score is -0.0
        return array
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(_not_finite(array, what))
    if low < 0.0 or high > 1.0 + 1e-6:
        where = np.unravel_index(int(array.argmin() if low < 0.0 else array.argmax()), array.shape)
        raise InputError(
            f"{what} must lie in [0, 1]; got {array[where]:.6g} in {_position(where)}. Pass logits to "
            "Predictions.from_logits; divide percentages by 100."
        )
    return np.minimum(array, array.dtype.type(1.0))  # rounding can lift a probability just above 1


def as_class_scores(values: Any, what: str) -> np.ndarray:
    return class_scores_and_highest(values, what)[0]


def class_scores_and_highest(
    values: Any, what: str, tops: bool = False
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Return (n, L) scores, and `highest` if `tops` are needed or found in the time of the check."""
    matrix = as_floats(values, ndim=None, what=what)
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise InputError(
            f"{what} needs at least 2 columns, one per class; got shape {matrix.shape}. "
            "For a binary score p pass the two columns [1 - p, p]."
        )
    if tops or matrix.shape[1] > NARROW:
        label, top, checked = highest_checked(matrix)
        if checked:
            return matrix, (label, top)
    return _in_unit_interval(matrix, what), None


def check_columns(matrix: np.ndarray, n_classes: int) -> np.ndarray:
    if matrix.shape[1] != n_classes:
        raise InputError(
            f"this calibrator was fitted on {n_classes} classes; got {matrix.shape[1]} columns. "
            "Pass one column per class, in the same order."
        )
    return matrix


def as_floats(values: Any, *, ndim: int | None, what: str, column: bool = False) -> np.ndarray:
    """Return a float32 or float64 array of any `ndim`, or with `column` a column as (n,), or raise."""
    try:
        array = np.asarray(plain(values))
        if array.dtype not in (np.float32, np.float64):
            if array.dtype.kind in NO_NUMBERS:
                raise ValueError(f"got {NO_NUMBERS[array.dtype.kind]}")
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        received = f"got a {type(values).__name__}" if hasattr(values, "n_samples") else error
        raise InputError(f"{what} must be numbers; {received}") from None
    if column and ndim == n_axes(array) == 1:
        array = array.reshape(-1)
    if ndim is not None and array.ndim != ndim:
        shape = "(n, L) matrix" if ndim == 2 else "(n,) vector"
        raise InputError(f"{what} must be an {shape}; got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{what} is empty: got shape {array.shape}, need at least one row")
    return array


def as_finite(values: Any, *, ndim: int, what: str) -> np.ndarray:
    array = as_floats(values, ndim=ndim, what=what)
    if not np.isfinite(array).all():
        raise InputError(_not_finite(array, what))
    return array


def as_labels(y_true: Values, n_samples: int, n_classes: int | None, what: str = "labels") -> np.ndarray:
    """Return (n,) int64 class codes in 0..L-1 (in 0.. without `n_classes`), or raise `InputError`.

    A one-hot matrix (n, L) counts as its codes. Texts without names of classes are codes in ascending order
    if there are L of them.
    """
    array = np.asarray(plain(y_true))
    if array.shape == (n_samples, 1):
        array = array[:, 0]
    elif array.ndim == 2 and array.shape[0] == n_samples and array.shape[1] == (n_classes or array.shape[1]):
        array = _from_one_hot(array, what)
    if n_classes and array.ndim == 1 and has_texts(array):
        check_all_known(array, what)
        names = tuple(np.unique(array.astype(str)).tolist())
        if len(names) != n_classes:
            raise InputError(
                f"{what} are {len(names):,} texts, and there are {n_classes:,} classes, of unknown names; "
                "pass Predictions(proba, labels, class_names), or a frame with named columns"
            )
        array = label_codes(array, names)
    check_shape(array.shape, n_samples, f"{what} must hold one class code per row")
    if array.dtype.kind not in "iub":
        as_float = as_floats(array, ndim=1, what=what)
        whole = np.isfinite(as_float) & (as_float == np.round(as_float))
        if not whole.all():
            check_all_known(as_float, what)
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


def are_whole(array: np.ndarray) -> bool:
    """Return whether objects are whole numbers of 64 bits."""
    return all(isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63 for value in array.tolist())


def check_all_known(labels: np.ndarray, what: str) -> None:
    missing = pd.isna(labels).ravel()
    if missing.any():
        row = int(missing.argmax())
        raise InputError(
            f"{what} must not be missing; got {labels.ravel()[row]} in row {row}. Keep the rows with a "
            "label, those of pandas.notna(labels)"
        )


def has_texts(array: np.ndarray) -> bool:
    return array.dtype.kind in "OUST" and any(isinstance(value, str) for value in array.flat)


def _from_one_hot(matrix: np.ndarray, what: str) -> np.ndarray:
    is_certain = (matrix == 1) | (matrix == 0)
    good = is_certain.all(axis=1) & (matrix.sum(axis=1) == 1)
    if not good.all():
        raise InputError(
            f"{what} are a matrix, and row {int((~good).argmax())} is not one 1 among zeros; pass one "
            "class per row, or scores as MultilabelPrediction if several classes can be true"
        )
    return matrix.argmax(axis=1)


def as_weights(sample_weight: Values, n_samples: int) -> np.ndarray:
    """Return (n,) float64 weights, finite, none negative and not all 0, or raise `InputError`."""
    weights = as_finite(sample_weight, ndim=1, what="sample_weight").astype(np.float64)
    check_shape(weights.shape, n_samples, "sample_weight must hold one weight per row")
    if weights.min() < 0.0:
        row = int(weights.argmin())
        raise InputError(f"sample_weight must be 0 or more; got {weights[row]:.6g} in row {row}")
    if weights.max() == 0.0:
        raise InputError("sample_weight is 0 in every row; at least one row needs a weight above 0")
    return weights


@contextmanager
def refuse_unequal(what: str) -> Iterator[None]:
    """Raise `InputError` if values of rows cannot be compared, because they are lists or no text."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be one number, time or text in each row; {error}") from None


def as_clusters(cluster: Values, n_samples: int) -> np.ndarray:
    """Return (n,) int64 ids of clusters: whole numbers and times unchanged, texts as 64-bit hashes."""
    check_shape(np.shape(cluster), n_samples, "cluster must hold one id per row")
    with refuse_unequal("cluster"):
        given = pd.Series(plain(cluster))
        # pandas 2.2 refuses NaN for whole numbers, though none is missing.
        missing_as: dict[str, Any] = {"na_value": np.nan} if given.hasnans else {}
        values = given.to_numpy(dtype=object if given.dtype.kind not in "biufmM" else None, **missing_as)
        missing = pd.isna(values)
        if values.dtype == object:
            texts = values.astype(str).astype(object)
            missing |= texts == ""
            values = values if are_whole(values) else pd.util.hash_array(texts)
    if missing.any():
        raise InputError(
            f"cluster has no id in {int(missing.sum()):,} of {n_samples:,} rows; the first is row "
            f"{int(missing.argmax())}. Give each of these rows an id of its own if it belongs to no other, "
            "or leave it out"
        )
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        broken = (values != np.round(values)) | (abs(values) >= 2**63)
        if broken.any():
            row = int(broken.argmax())
            raise InputError(
                f"cluster must be whole numbers or texts; got {values[row]:.6g} in row {row}. Pass the ids "
                "as they are in the data"
            )
    with np.errstate(over="ignore"):
        return values.astype(np.int64)


#: Name of the group of rows without a value.
MISSING = "(missing)"


def as_groups(groups: Values, n_samples: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return (n,) int64 codes of groups and their distinct names, ascending, or raise `InputError`.

    Groups are compared by their text: 1, 1.0 and "1" are the same; a missing or empty text is "(missing)".
    """
    check_shape(np.shape(groups), n_samples, "groups must hold one value per row")
    with refuse_unequal("groups"):
        code, values = pd.factorize(pd.Series(plain(groups)).reset_index(drop=True), use_na_sentinel=True)
    texts = np.array([*(group_name(value) for value in values), MISSING], dtype=object)
    names, place = np.unique(texts[code], return_inverse=True)
    for name in names:
        check_characters(name, "a group")
    return place.astype(np.int64), tuple(names.tolist())


def codes_among(groups: tuple[np.ndarray, tuple[str, ...]], names: Sequence[str]) -> np.ndarray:
    """Return the places among `names` of the groups of rows, given as `as_groups` does; -1 for others."""
    code, found = groups
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(name, -1) for name in found], dtype=np.int64)[code]


def group_name(value: Any) -> str:
    """Return the text of a value that names a group: whole numbers without a decimal point, no empty text."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) or MISSING


def cell_text(value: Any) -> str:
    """Return the text of a cell with single blanks: whole numbers without a decimal point, "" if missing."""
    if value is None or value is pd.NA or value != value:
        return ""
    whole = isinstance(value, float) and value.is_integer()
    return " ".join(str(int(value) if whole else value).split())


def as_names(class_names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Return L distinct class names, by default "0", "1", ..., or raise `InputError`."""
    if class_names is None:
        return numbered(n_classes)
    names = tuple(str(name) for name in class_names)
    if len(names) != n_classes:
        raise InputError(f"class_names needs one name per column: got {len(names)} names for {n_classes}")
    if len(set(names)) != n_classes:
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"class_names must be distinct; {repeated[0]!r} occurs more than once")
    for name in names:
        check_characters(name, "a class name")
    return names


def check_characters(text: str, what: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            f"{what}, {ascii(text[:60])}, holds half of a character (a lone surrogate, as from cut text or a "
            "wrong encoding); write it again as UTF-8"
        )


def label_codes(labels: Values, names: tuple[str, ...]) -> np.ndarray:
    """Translate labels given by name; leave numeric labels alone."""
    labels = plain(labels)
    array = np.asarray(labels)
    if array.dtype.kind not in "OUST" and not hasattr(labels, "categories"):
        return array
    if array.ndim == 1 and are_whole(array):
        return array.astype(np.int64)
    check_all_known(array, "labels")
    codes = {name: code for code, name in enumerate(names)}
    flat = [str(label) for label in array.ravel().tolist()]
    if not any(label in codes for label in flat):  # columns p(cat), p(dog) and the label cat
        matches = [_PREFIXED.fullmatch(name) for name in names]
        codes = {match["name"]: code for code, match in enumerate(matches) if match is not None} or codes
    unknown = sorted({label for label in flat if label not in codes})
    if unknown:
        raise InputError(
            f"{len(unknown)} label name(s) match no class, for example {unknown[0]!r}; "
            f"the classes are {some_of(names)}. Pass class_names in column order."
        )
    return np.array([codes[label] for label in flat], dtype=np.int64).reshape(array.shape)


def some_of(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)


def count_votes(votes: Values, names: tuple[str, ...], n_samples: int) -> np.ndarray:
    """Return the votes about each row, (n, L) float64; the argument is as for `BasePrediction.with_votes`."""
    array = np.asarray(plain(votes))
    if array.dtype.kind in "OUST":
        array = np.asarray(array, dtype=object)
        if array.ndim != 2:
            raise InputError(f"votes need a row per prediction, a column per annotator; got {array.shape}")
        given = ~(pd.isna(array) | (array == ""))
        counts = np.zeros((len(array), len(names)))
        np.add.at(counts, (np.nonzero(given)[0], label_codes(array[given], names)), 1.0)
    else:
        counts = as_finite(array, ndim=2, what="votes").astype(np.float64)
    if counts.shape != (n_samples, len(names)):
        raise InputError(f"votes must be {n_samples:,} rows of {len(names):,} classes; got {counts.shape}")
    sums = counts.sum(axis=1)
    if (counts < 0.0).any() or (sums <= 0.0).any():
        at = int(np.flatnonzero((counts < 0.0).any(axis=1) | (sums <= 0.0))[0])
        raise InputError(f"each row needs votes, 0 or more and one above 0; row {at} has {counts[at]}")
    return counts


def check_norm(norm: float) -> float:
    if not isinstance(norm, Real) or not 1 <= norm < np.inf:
        raise InputError(f"norm must be a number of at least 1 (the maximum is `mce`); got {norm!r}")
    return norm


def check_count(value: object, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) < 2**63:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_counts(values: Iterable[int], name: str) -> np.ndarray:
    counts = [check_count(value, name) for value in (values if isinstance(values, Iterable) else [values])]
    if not counts:
        raise InputError(f"{name} must hold at least one number; got none")
    return np.array(counts, dtype=np.int64)


def random_generator(random_state: Any, *streams: int) -> np.random.Generator:
    try:
        return np.random.default_rng((random_state, *streams) if streams else random_state)
    except (TypeError, ValueError):
        raise InputError(
            "random_state must be a whole number of at least 0, a numpy.random.Generator or None; got "
            f"{random_state!r}"
        ) from None


def check_choice(value: Any, allowed: Sequence[Any], name: str) -> Any:
    if not isinstance(value, (str, Real, type(None))) or value not in allowed:
        *words, last = (f'"{word}"' if isinstance(word, str) else repr(word) for word in allowed)
        raise InputError(f"{name} must be {', '.join(words)} or {last}; got {value!r}")
    return value


def check_binary(scores: Values, outcomes: Values) -> tuple[np.ndarray, np.ndarray]:
    check_order(outcomes, scores)
    checked = as_scores(scores, ndim=1, what="scores").astype(np.float64)
    return checked, as_outcomes(outcomes, len(checked))


def as_outcomes(values: Values, shape: int | tuple[int, ...], what: str = "outcomes") -> np.ndarray:
    """Return bool outcomes of the shape of their scores, given as booleans or as 0 and 1, or raise."""
    happened, wanted = np.asarray(plain(values)), (shape,) if isinstance(shape, int) else shape
    if happened.shape == (*wanted, 1):
        happened = happened[..., 0]
    check_shape(happened.shape, wanted, f"{what} must hold one value per score")
    if happened.dtype != bool:
        if not np.isin(happened, (0, 1)).all():
            raise InputError(f"{what} must be 0 or 1 (or booleans)")
        happened = happened.astype(bool)
    return happened


def binary_outcomes(y_true: Values, n_samples: int) -> np.ndarray:
    """Return (n,) bool outcomes of 1-D scores; of two labels the greater is the event, as in scikit-learn."""
    labels = np.asarray(plain(y_true))
    if labels.shape == (n_samples, 1):
        labels = labels[:, 0]
    check_shape(labels.shape, n_samples, "1-D scores need one label per row")
    if labels.dtype == bool or (labels.dtype.kind in "iuf" and np.isin(labels, (0, 1)).all()):
        return labels.astype(bool)
    check_all_known(labels, "labels")
    as_text = labels.astype(str) if labels.dtype.kind in "OUST" else labels
    values = np.unique(as_text)
    if len(values) != 2 or (values.dtype.kind == "f" and np.isinf(values).any()):
        listed = ", ".join(str(value)[:40] for value in values[:5]) + ", ..." * (len(values) > 5)
        raise InputError(
            "1-D scores are of one event, so labels are 0 and 1 or two names; got "
            f"{len(values)} value{'s' * (len(values) != 1)}: {listed}. For more classes pass an (n, L) "
            "matrix, or TopLabelPrediction(label, confidence)"
        )
    return as_text == values[1]


def check_share(value: float, name: str, example: float) -> float:
    if not isinstance(value, Real) or not 0.0 < value < 1.0:
        raise InputError(f"{name} must be inside (0, 1), for example {example:g}; got {value!r}")
    return float(value)


def check_alpha(alpha: float) -> float:
    return check_share(alpha, "alpha", 0.1)


def check_level(level: float) -> float:
    return check_share(level, "level", 0.95)


def check_not_negative(value: Any, name: str, otherwise: str = "") -> float:
    """Return a finite number >= 0, or raise `InputError`; `otherwise` says what else is allowed."""
    if not isinstance(value, Real) or not 0.0 <= float(value) < np.inf:
        raise InputError(f"{name} must be a finite number, 0 or more{otherwise}; got {value!r}")
    return float(value)


def _not_finite(array: np.ndarray, what: str) -> str:
    bad = ~np.isfinite(array)
    return (
        f"{what} holds {int(bad.sum()):,} values that are NaN or infinite; the first is in "
        f"{_position(np.argwhere(bad)[0])}. Remove or repair those rows."
    )


def _position(index: Sequence[Any]) -> str:
    return ", ".join(f"{axis} {at}" for axis, at in zip(("row", "column"), index, strict=False))
