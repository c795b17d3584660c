"""The guess: which column of a table plays which role, from its name, checked against its values."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib.exceptions import InputError
from calib.formats.roles import (
    GROUP_NAMES,
    ID_NAMES,
    INDEX_NAMES,
    LABEL_NAMES,
    PREDICTED_NAMES,
    SPLIT_NAMES,
    WEIGHT_NAMES,
    Roles,
    listed,
    plain,
)
from calib.formats.roles_arrays import roles_of_arrays
from calib.formats.tables import Table

#: Words before a class name in column names, longest first so that "prob_" does not leave "a_".
PREFIX = re.compile(
    r"(?P<word>(?:y_|pred(?:icted)?_)?(?:log_?prob(?:a|ability|abilities|s)?|logits?|prob(?:a|ability|abilities|s)?"
    r"|softmax|scores?|sigmoid|pred|p|class))(?P<join>[_ .:/\-\[(]*)(?P<name>.+?)[\])]?",
    re.IGNORECASE,
)
LABEL_PREFIX = re.compile(r"(?:y_true|y|true|label|target|actual|gt|onehot|is)[_ .:/\-\[(]+(.+?)[\])]?", re.I)
#: A consecutive column this long is a row number; three rows may well be 0, 1, 2 by chance.
MIN_INDEX_ROWS = 10


def guess_roles(table: Table) -> Roles:
    """Guess the role of every column from its name, checked against its values.

    Raises
    ------
    InputError
        If no column can be a probability or score.
    """
    if table.matrices:
        return roles_of_arrays(table)
    named = _named_roles(table)
    taken = {name for name in named.values() if name is not None}
    rest = [name for name in table.columns if name not in taken]
    numeric = [name for name in rest if table.columns[name].dtype.kind in "fiu"]
    numeric = [name for name in numeric if plain(name) not in PREDICTED_NAMES or len(numeric) == 1]
    onehot: tuple[str, ...] = ()
    if named["label"] is None:
        onehot = _one_hot_columns(table, rest)
        numeric = [name for name in numeric if name not in onehot]
    scores, names, scale = _score_columns(numeric)
    if named["label"] is None and not onehot:
        named["label"] = _unnamed_label(table, [n for n in rest if n not in scores], scores)
        if named["label"] in scores:
            scores, names, scale = _score_columns([name for name in numeric if name != named["label"]])
    if not scores:
        raise InputError(
            "no column of probabilities was found: one numeric column per class is needed, for example "
            f"cat,dog,label; the columns are {listed(list(table.columns))}"
        )
    label = (named["label"],) if named["label"] is not None else onehot
    used = {*scores, *label, *(name for name in named.values() if name)}
    return Roles(
        probabilities=tuple(scores),
        class_names=names if names and not _numbered(table) else None,
        label=_in_class_order(label, names),
        id=named["id"],
        split=named["split"],
        weight=named["weight"],
        group=named["group"],
        index=named["index"],
        scale=scale,
        ignored=tuple(name for name in table.columns if name not in used) + table.ignored,
    )


def _numbered(table: Table) -> bool:
    return table.format == "npy" or table.format == "npz"


def _named_roles(table: Table) -> dict[str, str | None]:
    """Roles given by name, each checked against the kind of values it needs."""
    roles: dict[str, str | None] = dict.fromkeys(("label", "id", "split", "weight", "group", "index"))
    for position, (name, values) in enumerate(table.columns.items()):
        word, number = plain(name), values.dtype.kind in "fiu"
        fraction = number and not _whole(values)
        if word in LABEL_NAMES and not fraction:
            if roles["label"] is None or word != "class":
                roles["label"] = name
        elif word in ID_NAMES and not fraction:
            roles["id"] = roles["id"] or name
        elif word in SPLIT_NAMES and not fraction:
            roles["split"] = name
        elif word in WEIGHT_NAMES and number:
            roles["weight"] = name
        elif word in GROUP_NAMES and not fraction:
            roles["group"] = name
        elif number and roles["index"] is None and _is_index(values, position, word):
            roles["index"] = name
    return roles


def _is_index(values: np.ndarray, position: int, word: str) -> bool:
    if word not in INDEX_NAMES and (position > 0 or len(values) < MIN_INDEX_ROWS):
        return False
    return is_row_number(values) or (word in INDEX_NAMES and word != "row" and _whole(values))


def is_row_number(values: np.ndarray) -> bool:
    """Whether a column counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    first = values[0]
    if not (first == 0 or first == 1) or len(values) < 3 or values[-1] != first + len(values) - 1:
        return False
    return bool((values == np.arange(len(values)) + int(first)).all())


def _whole(values: np.ndarray) -> bool:
    if values.dtype.kind in "iu":
        return True
    for piece in (values[:1000], values):  # most fractional columns show it at once
        known = piece[~np.isnan(piece)]
        if not (known == np.floor(known)).all():
            return False
    return True


def _score_columns(numeric: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None, str]:
    """Score columns, class names and scale; columns with a prefix such as prob_ win over others."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in numeric:
        match = PREFIX.fullmatch(name.strip())
        if match and (match["join"] or match["name"].isdigit()):
            found.setdefault(match["word"].lower(), []).append((name, match["name"].strip()))
    if found:
        word, pairs = max(found.items(), key=lambda item: len(item[1]))
        names = tuple(name for _, name in pairs)
        whole = len(pairs) == len(numeric)
        if (
            len(pairs) >= 2
            and len(set(names)) == len(names)
            and (whole or word not in ("class", "p", "pred"))
        ):
            return [name for name, _ in pairs], names, _scale(word)
    return list(numeric), tuple(name.strip() for name in numeric), "unknown"


def _scale(word: str) -> str:
    squeezed = plain(word).replace("_", "")
    if squeezed.startswith("logit"):
        return "logits"
    if "logprob" in squeezed:
        return "log_probabilities"
    return "probabilities" if squeezed.startswith(("prob", "softmax", "yprob")) else "unknown"


def _one_hot_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    binary = [name for name in names if _is_binary(table.columns[name])]
    prefixed = [name for name in binary if LABEL_PREFIX.fullmatch(name.strip())]
    others = len([n for n in names if table.columns[n].dtype.kind == "f"]) - len(binary)
    chosen = prefixed if len(prefixed) >= 2 else binary if len(binary) == others else []
    if len(chosen) < 2:
        return ()
    ones = np.sum([one_hot_values(table.columns[name]) for name in chosen], axis=0)
    return tuple(chosen) if (ones == 1).all() else ()


def _is_binary(values: np.ndarray) -> bool:
    if values.dtype == object:
        return {str(v).lower() for v in values[:100]} <= {"true", "false"}
    return all(((piece == 0) | (piece == 1)).all() for piece in (values[:1000], values))


def one_hot_values(values: np.ndarray) -> np.ndarray:
    """0 or 1 per row of a one-hot column, also when it is written True and False."""
    if values.dtype == object:
        return np.array([str(value).lower() == "true" for value in values]).astype(np.int64)
    return np.nan_to_num(values).astype(np.int64)


def _unnamed_label(table: Table, others: Sequence[str], scores: Sequence[str]) -> str | None:
    """Label column without a telling name: the only text column, or whole numbers beside fractions."""
    text = [name for name in others if table.columns[name].dtype == object]
    few = [n for n in text if len(set(table.columns[n][:2000].tolist())) <= max(2 * len(scores), 2)]
    if len(few) == 1:
        return few[0]
    whole = [name for name in (*others, *scores) if table.columns[name].dtype.kind in "fiu"]
    whole = [name for name in whole if _whole(table.columns[name])]
    if len(whole) == len(scores) > 2:  # scores are zeros and ones; one column is not
        whole = [name for name in whole if not _is_binary(table.columns[name])]
    left = [name for name in scores if name not in whole]
    if len(whole) != 1 or not left:
        return None
    values = table.columns[whole[0]]
    in_range = np.nanmin(values) >= 0 and np.nanmax(values) <= max(len(left), 2) + 1
    return whole[0] if in_range or _sum_to_one(table, left) else None


def _sum_to_one(table: Table, names: Sequence[str]) -> bool:
    sums = np.sum([table.columns[name][:2000] for name in names], axis=0, dtype=np.float64)
    return bool(np.median(np.abs(sums - 1.0)) < 0.02)


def _in_class_order(label: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[str, ...]:
    if len(label) < 2 or names is None:
        return label
    of = {}
    for name in label:
        match = LABEL_PREFIX.fullmatch(name.strip())
        of[match[1].strip() if match else name.strip()] = name
    return tuple(of[name] for name in names) if set(of) == set(names) else label
