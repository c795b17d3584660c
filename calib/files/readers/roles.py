"""Which column or array of a file plays which role, guessed from names and values, open to correction."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.announced_columns import Announced, announced_columns
from calib.files.readers.answers import says_right
from calib.files.readers.column_names import (
    CALIBRATION,
    CLASS_NAMES,
    CORRECT_NAMES,
    EVALUATION,
    INDEX_NAMES,
    PREDICTED_NAMES,
    ROLE_NAMES,
    SCORE_NAMES,
    TRAINING,
    normalised,
)
from calib.files.readers.score_columns import is_whole, score_columns, sum_to_one
from calib.files.readers.tables import Table, some_names, words_in

#: Cells that write a number, also with a percent sign, or with marks between thousands.
NUMBERLIKE = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?", re.ASCII
)
LABEL_PREFIX = re.compile(r"(?:y_true|y|true|label|target|actual|gt|onehot|is)[_ .:/\-\[(]+(.+?)[\])]?", re.I)
LABEL_SUFFIX = re.compile(r"(.+?)[_ .:/\-](?:y_true|true|label|target|actual|gt|is_true)", re.I)
#: A consecutive column this long is a row number; three rows may well be 0, 1, 2 by chance.
MIN_INDEX_ROWS = 10


@dataclass(frozen=True)
class Roles:
    """The role of each column; to correct a guess, change fields with `dataclasses.replace`.

    Attributes
    ----------
    probabilities : tuple of str
        Score columns in class order, or the name of one matrix.
    class_names : tuple of str or None
        One name per class; None when the file gives none.
    label : tuple of str
        One column of true labels, one-hot columns in class order, or empty.
    id, split, weight, group : str or None
        Columns with these roles.
    index : str or None
        A column of row numbers, which is not used.
    scale : str
        Scale of the scores by their names: "logits", "log_probabilities", "probabilities" or "unknown".
    ignored : tuple of str
        Columns without a role, which stay with the rows as metadata.
    kind : str
        Kind of the predictions, see `calib.data.kinds`; of all but vectors, `probabilities` is one column.
    predicted, correct : str or None
        Columns of the predicted class, and of whether the prediction is right.
    abstentions : tuple of str or None
        Predictions that are no answer; None where those with the usual names are ("IDK", an empty cell).
    positive : str or None
        The class whose probability a binary score is; None where the labels say it.
    ranked : tuple of str
        Columns of the highest classes, best first, whose scores are `probabilities`.
    """

    probabilities: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    label: tuple[str, ...] = ()
    id: str | None = None
    split: str | None = None
    weight: str | None = None
    group: str | None = None
    index: str | None = None
    scale: str = "unknown"
    ignored: tuple[str, ...] = ()
    kind: str = "vectors"
    predicted: str | None = None
    correct: str | None = None
    abstentions: tuple[str, ...] | None = None
    positive: str | None = None
    ranked: tuple[str, ...] = ()


def guess_roles(table: Table) -> Roles:
    """Guess the role of every column from its name, checked against its values.

    Raises
    ------
    InputError
        If no column can be a probability or score.
    """
    if table.matrices:
        return _roles_of_arrays(table)
    if (found := announced_columns(table)) is not None:
        return _announced_roles(table, found)
    named = _named_roles(table)
    rest = [name for name in table.columns if name not in named.values()]
    numeric = [name for name in rest if table.columns[name].dtype.kind in "fiu"]
    numeric = [name for name in numeric if normalised(name) not in PREDICTED_NAMES or len(numeric) == 1]
    numeric = [name for name in numeric if not _says_correct(table, name)]
    onehot: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    if named["label"] is None:
        onehot = _one_hot_columns(table, rest)
        several = () if onehot else _several_true(table, numeric)
        numeric = [name for name in numeric if name not in (*onehot, *several)]
    scores, names, scale = score_columns(numeric, table)
    if named["label"] is None and not onehot and not several:
        named["label"] = _unnamed_label(table, [n for n in rest if n not in scores], scores, names)
        if named["label"] in scores:
            scores, names, scale = score_columns([name for name in numeric if name != named["label"]], table)
    if not scores and any(_says_correct(table, name) for name in rest):
        raise InputError(
            "the file says whether predictions are right, and holds no confidence in them; add a column "
            "'confidence', or the log-likelihood of every choice"
        )
    if not scores:
        raise InputError(
            "no column of probabilities was found: one numeric column per class is needed, for example "
            f"cat,dog,label; the columns are {some_names(table.columns)}"
        )
    others = [name for name in rest if name not in (*onehot, named["label"])]
    _refuse_stray_cells(table, others, scores, labelled=bool(onehot or named["label"]))
    used = {*scores, *onehot, *several, *named.values()}
    label_column = named.pop("label")
    label = (label_column,) if label_column is not None else onehot or several
    return Roles(
        probabilities=tuple(scores),
        class_names=names if names and table.tabular else None,
        label=_in_class_order(label, names),
        kind="multilabel" if several else "vectors",
        scale=scale,
        ignored=tuple(name for name in table.columns if name not in used) + table.ignored,
        **named,
    )


def label_reason(table: Table, roles: Roles) -> str:
    """Say why the one column of the true label was taken for it, as half a sentence."""
    (name,) = roles.label
    if normalised(name) in ROLE_NAMES["label"]:
        return f"it is called {name[:60]!r}"
    values = table.columns[name]
    if values.dtype == object:
        said = set(words_in(values)[1]) - {""}
        if roles.class_names and said <= set(roles.class_names):
            return "its values are names of the classes"
        return "it is the only column of few different words"
    return "it is the only column of whole numbers that could be codes of the classes"


def _announced_roles(table: Table, found: Announced) -> Roles:
    """Roles of a file with one score a row, or ranks of them; the columns that are left stay as metadata."""
    scores = found.scores or (found.score,)
    taken = {*scores, *found.ranked, found.predicted, found.correct, found.label} - {None}
    named = _named_roles(table, taken)
    named.pop("label")
    used = {*taken, *named.values()}
    return Roles(
        probabilities=scores,
        class_names=found.class_names,
        label=() if found.label is None else (found.label,),
        scale=found.scale,
        ignored=tuple(name for name in table.columns if name not in used) + table.ignored,
        kind=found.kind,
        predicted=found.predicted,
        correct=found.correct,
        positive=found.positive,
        ranked=found.ranked,
        **named,
    )


def _refuse_stray_cells(table: Table, rest: Sequence[str], scores: Sequence[str], *, labelled: bool) -> None:
    """Refuse a column that would be scores of a class, but for a cell that is no number."""
    rows: dict[str, tuple[int, str]] = {}
    for name in rest:
        values = table.columns[name]
        if values.dtype == object and normalised(name) not in PREDICTED_NAMES:
            stray = _stray_cell(values, labelled)
            if stray is not None:
                rows[name] = stray
    would_be = [name for name in table.columns if name in rows or name in scores]
    for name in score_columns(would_be)[0] if rows else ():
        if name in rows:
            row, cell = rows[name]
            raise InputError(
                f"column {name[:60]!r} holds numbers, but {cell[:60]!r} in row {row}; correct that cell, or "
                "remove the column if it is not the score of a class"
            )


def _stray_cell(values: np.ndarray, labelled: bool) -> tuple[int, str] | None:
    """Return the first cell (row, text) that makes text of a column of numbers; None for other text."""
    codes, words = words_in(values)
    counts = np.bincount(codes, minlength=len(words))
    like = np.array([len(word) <= 60 and NUMBERLIKE.fullmatch(word) is not None for word in words])
    filled = np.array([word != "" for word in words])
    if 2 * counts[like].sum() <= counts[filled].sum():
        return None
    fractions = any(hit and not word.lstrip("+-").isdigit() for word, hit in zip(words, like, strict=True))
    others = filled & ~like
    if not fractions and not (others.any() and labelled):
        return None
    doubtful = others if others.any() else like
    row = int(doubtful[codes].argmax())
    return row, words[codes[row]]


def check_same_labels(table: Table, names: Sequence[str]) -> None:
    """Refuse columns that may all be the true label, unless they say the same."""
    if len(names) < 2:
        return
    first = words_in(table.columns[names[0]])
    for name in names[1:]:
        codes, words = words_in(table.columns[name])
        if set(words) & set(first[1]):  # the same words, so they must be the same in every row
            place = {word: code for code, word in enumerate(first[1])}
            differ = np.flatnonzero(np.array([place.get(word, -1) for word in words])[codes] != first[0])
        else:  # classes by number and by name: both are numbered as they come
            differ = np.flatnonzero(codes != first[0])
        if len(differ):
            row = int(differ[0])
            raise InputError(
                f"columns {names[0][:60]!r} and {name[:60]!r} can both be the true label, and differ: row "
                f"{row} holds {first[1][first[0][row]][:60]!r} and {words[codes[row]][:60]!r}; remove or "
                "rename one"
            )


def _roles_of_arrays(table: Table) -> Roles:
    """Roles of named arrays (NPY, NPZ, list columns): the matrix of scores, then vectors by name."""
    scale, chosen = "unknown", None
    for kind in ("probabilities", "log_probabilities", "logits"):
        for name in table.matrices:
            if chosen is None and normalised(name) in SCORE_NAMES[kind]:
                scale, chosen = kind if normalised(name) != "array" else "unknown", name
    labelled = [name for name in table.matrices if normalised(name) in ROLE_NAMES["label"]]
    if chosen is None:
        rest = [name for name in table.matrices if name not in labelled]
        if len(rest) != 1:
            raise InputError(
                f"which array holds the probabilities? There are {some_names(rest) or 'none'}; call it "
                "'proba' or 'logits', and the true labels 'labels'"
            )
        chosen = rest[0]
        word = normalised(chosen)
        scale = next((kind for kind in ("logits", "log_probabilities") if kind[:-1] in word), scale)
    array_of: dict[str, str] = {}
    for role, words in (ROLE_NAMES | {"names": CLASS_NAMES}).items():
        for name in (*table.columns, *labelled):
            values = table.columns.get(name)
            if role == "weight" and (values is None or values.dtype.kind not in "fiu"):
                continue
            if normalised(name) in words or (role == "id" and normalised(name) in ("index", "indices")):
                array_of.setdefault(role, name)
    free = [
        name
        for name, values in table.columns.items()
        if name not in array_of.values() and len(values) == len(table.matrices[chosen])
    ]
    if "label" not in array_of and len(free) == 1 and normalised(free[0]) not in PREDICTED_NAMES:
        array_of["label"] = free[0]
    names = table.columns.get(array_of.get("names", ""))
    of_labels = table.matrices.get(array_of.get("label", ""))
    several = (
        of_labels is not None
        and of_labels.shape == table.matrices[chosen].shape
        and bool(np.isin(of_labels, (0, 1)).all() and (of_labels.sum(axis=1) != 1).any())
    )
    used = {chosen, *array_of.values()}
    return Roles(
        probabilities=(chosen,),
        class_names=None if names is None else tuple(str(name) for name in names),
        label=(array_of["label"],) if "label" in array_of else (),
        kind="multilabel" if several else "vectors",
        scale=scale,
        ignored=tuple(name for name in (*table.columns, *table.matrices) if name not in used) + table.ignored,
        id=array_of.get("id"),
        split=array_of.get("split"),
        weight=array_of.get("weight"),
        group=array_of.get("group"),
    )


def _named_roles(table: Table, taken: Collection[str | None] = ()) -> dict[str, Any]:
    """Roles given by name to columns that are not taken, each checked against the values it needs."""
    roles: dict[str, Any] = dict.fromkeys((*ROLE_NAMES, "index"))
    labels: list[str] = []
    for position, (name, values) in enumerate(table.columns.items()):
        if name in taken:
            continue
        word, number = normalised(name), values.dtype.kind in "fiu"
        role = next((role for role, names in ROLE_NAMES.items() if word in names), None)
        if role is not None and (number if role == "weight" else not number or is_whole(values)):
            if roles[role] is None or (role != "id" and word != "class"):
                roles[role] = name
            if role == "label" and word != "class":
                labels.append(name)
        elif number and roles["index"] is None and _is_index(values, position, word):
            roles["index"] = name
    if not taken:
        check_same_labels(table, labels)
    return roles


def _is_index(values: np.ndarray, position: int, word: str) -> bool:
    if word not in INDEX_NAMES and (position > 0 or len(values) < MIN_INDEX_ROWS):
        return False
    return is_row_number(values) or (word in INDEX_NAMES and word != "row" and is_whole(values))


def is_row_number(values: np.ndarray) -> bool:
    """Whether a column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    first = values[0]
    if not (first == 0 or first == 1) or len(values) < 3 or values[-1] != first + len(values) - 1:
        return False
    return bool((values == np.arange(len(values)) + int(first)).all())


def _one_hot_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    binary = [name for name in names if _is_binary(table.columns[name])]
    prefixed = [name for name in binary if LABEL_PREFIX.fullmatch(name.strip())]
    others = len([n for n in names if table.columns[n].dtype.kind == "f"]) - len(binary)
    chosen = prefixed if len(prefixed) >= 2 else binary if len(binary) == others else []
    if len(chosen) < 2:
        return ()
    ones = np.sum([one_hot_values(table.columns[name]) for name in chosen], axis=0)
    return tuple(chosen) if (ones == 1).all() else ()


def _several_true(table: Table, numeric: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that say of each class whether it is true, in the order of its scores; or none."""
    matches = {
        name: LABEL_PREFIX.fullmatch(name.strip()) or LABEL_SUFFIX.fullmatch(name.strip()) for name in numeric
    }
    by_class = {
        match[1].strip(): name
        for name, match in matches.items()
        if match is not None and _is_binary(table.columns[name])
    }
    names = score_columns([name for name in numeric if name not in by_class.values()])[1] or ()
    found = len(names) > 1 and set(names) <= by_class.keys()
    return tuple(by_class[name] for name in names) if found else ()


def _says_correct(table: Table, name: str) -> bool:
    """Whether a column says whether predictions are right, by its name and its cells."""
    return normalised(name) in CORRECT_NAMES and says_right(table.columns[name])


def _is_binary(values: np.ndarray) -> bool:
    if values.dtype == object:
        return {str(v)[:6].lower() for v in values[:100]} <= {"true", "false"}
    return all(((rows == 0) | (rows == 1)).all() for rows in (values[:1000], values))


def one_hot_values(values: np.ndarray) -> np.ndarray:
    """0 or 1 per row of a one-hot column, also when it is written True and False."""
    if values.dtype == object:
        codes, words = words_in(values)
        return np.array([word.lower() == "true" for word in words]).astype(np.int64)[codes]
    return np.nan_to_num(values).astype(np.int64)


def _unnamed_label(
    table: Table, others: Sequence[str], scores: Sequence[str], names: Sequence[str] | None
) -> str | None:
    """Label column without a telling name: the only one of class names, else of text, or of whole numbers."""
    text = [name for name in others if table.columns[name].dtype == object]
    text = [name for name in text if _stray_cell(table.columns[name], False) is None]
    words = {name: set(words_in(table.columns[name])[1]) - {""} for name in text if names}
    of_classes = [name for name, said in words.items() if said and said <= set(names or ())]
    if len(of_classes) == 1:
        return of_classes[0]
    distinct = {name: len(set(table.columns[name][:2000].tolist())) for name in text}
    few = [name for name in text if 2 <= distinct[name] <= max(2 * len(scores), 2)]
    if len(few) == 1:
        return few[0]
    whole = [name for name in (*others, *scores) if table.columns[name].dtype.kind in "fiu"]
    whole = [name for name in whole if is_whole(table.columns[name])]
    if len(scores) > 2 and set(scores) <= set(whole):  # scores are zeros and ones; one column is not
        whole = [name for name in whole if not _is_binary(table.columns[name])]
    left = [name for name in scores if name not in whole]
    if len(whole) != 1 or not left:
        return None
    values = table.columns[whole[0]]
    present = values[~np.isnan(values)]
    if not present.size:
        return None
    in_range = present.min() >= 0 and present.max() <= max(len(left), 2) + 1
    # Codes that are out of range are said to be so; a column of many more values, such as ages, is no label.
    few_codes = len(np.unique(present)) <= 2 * max(len(left), 2)
    return whole[0] if in_range or (few_codes and sum_to_one(table, left)) else None


def _in_class_order(label: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[str, ...]:
    if len(label) < 2 or names is None:
        return label
    matches = [LABEL_PREFIX.fullmatch(name.strip()) for name in label]
    column_of = {(m[1] if m else name).strip(): name for m, name in zip(matches, label, strict=True)}
    return tuple(column_of[name] for name in names) if set(column_of) == set(names) else label


def part_of(value: str) -> str | None:
    """Return the part that a name or a split value names: "calibration", "evaluation", "training" or None."""
    words = set(normalised(value).split("_"))
    parts = {"calibration": CALIBRATION, "evaluation": EVALUATION, "training": TRAINING}
    return next((part for part, names in parts.items() if words & names), None)


def part_tables(table: Table) -> Mapping[str, Table]:
    """Divide named arrays by their names into "calibration" and "evaluation"; empty if undivided.

    `calibration_logits` becomes `logits` of "calibration"; `class_names` belongs to both.
    """
    parts: dict[str, dict[str, np.ndarray]] = {"calibration": {}, "evaluation": {}, "training": {}}
    shared: dict[str, np.ndarray] = {}
    for name, values in (*table.columns.items(), *table.matrices.items()):
        words = [word for word in normalised(name).split("_") if word not in CALIBRATION | EVALUATION]
        if (part := part_of(name)) is not None:
            parts[part]["_".join(words) or name] = values
        elif values.ndim == 1:
            shared[name] = values
    parts.pop("training")
    tables = {}
    for part, arrays in parts.items():
        matrices = {name: values for name, values in arrays.items() if values.ndim == 2}
        if matrices:
            n_rows = len(next(iter(matrices.values())))
            usable = {n: v for n, v in shared.items() if normalised(n) in CLASS_NAMES or len(v) == n_rows}
            columns = {name: values for name, values in (usable | arrays).items() if values.ndim == 1}
            tables[part] = Table(table.format, columns, matrices)
    return tables
