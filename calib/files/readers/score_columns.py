"""Columns of scores: one per class by a common prefix, rows that sum to 1, what scale a name says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib.files.readers.column_names import normalised
from calib.files.readers.tables import Table

#: Words before a class name in column names, longest first so that "prob_" does not leave "a_".
PREFIX = re.compile(
    r"(?P<word>(?:y_|pred(?:icted)?_)?(?:log_?prob(?:a|ability|abilities|s)?|logits?|prob(?:a|ability|abilities|s)?"
    r"|softmax|scores?|sigmoid|pred|p|class))(?P<join>[_ .:/\-\[(]*)(?P<name>.+?)[\])]?",
    re.IGNORECASE,
)

#: Words after a class name: cat_prob, dog score.
SUFFIX = re.compile(
    r"(?P<name>.+?)[_ .:/\-]"
    r"(?P<word>log_?prob(?:ability|s)?|logit|prob(?:a|ability)?|score|confidence|conf|p)",
    re.IGNORECASE,
)


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing are whole; most other columns show it in the first rows."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which is no number either
        return values.dtype.kind in "iu" or all(
            (np.isnan(rows) | (rows == np.floor(rows))).all() for rows in (values[:1000], values)
        )


def score_columns(
    numeric: Sequence[str], table: Table | None = None
) -> tuple[list[str], tuple[str, ...] | None, str]:
    """Score columns, class names and scale; columns with a prefix such as prob_ win over others.

    With a table, its values help the names: columns that sum to 1 win over others, such as an age.
    """
    by_prefix: dict[str, list[tuple[str, str]]] = {}
    for name in numeric:
        match = PREFIX.fullmatch(name.strip())
        if match and (match["join"] or match["name"].isdigit()):
            by_prefix.setdefault(match["word"].lower(), []).append((name, match["name"].strip()))
    if by_prefix:
        word, pairs = max(by_prefix.items(), key=lambda item: len(item[1]))
        names = tuple(name for _, name in pairs)
        distinct = len(pairs) >= 2 and len(set(names)) == len(names)
        prefixed = [name for name, _ in pairs]
        telling = len(pairs) == len(numeric) or word not in ("class", "p", "pred")
        if distinct and (telling or (table is not None and sum_to_one(table, prefixed))):
            return prefixed, names, scale_of(word)
    ended = [(name, match) for name in numeric if (match := SUFFIX.fullmatch(name.strip())) is not None]
    if len(ended) >= 2 and len({match["word"].lower() for _, match in ended}) == 1:
        names = tuple(match["name"].strip() for _, match in ended)
        columns = [name for name, _ in ended]
        alone = len(ended) == len(numeric) or (table is not None and sum_to_one(table, columns))
        if alone and len(set(names)) == len(names):
            return columns, names, scale_of(ended[0][1]["word"])
    chosen = list(numeric) if table is None else _in_unit(table, numeric)
    return chosen, tuple(name.strip() for name in chosen), "unknown"


def _in_unit(table: Table, numeric: Sequence[str]) -> list[str]:
    """Return the columns from 0 to 1 if there are others too and the rows of these sum to 1; else all."""
    unit = [name for name in numeric if is_unit(table.columns[name])]
    fractions = [name for name in unit if not is_whole(table.columns[name])]
    for chosen in (unit, fractions):
        if 2 <= len(chosen) < len(numeric) and _share_of_sums(table, chosen) > 0.95:
            return chosen if _share_of_sums(table, numeric) <= 0.95 else list(numeric)
    return list(numeric)


def is_unit(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing lie from 0 to 1."""
    with np.errstate(invalid="ignore"):
        return values.dtype.kind in "fiu" and all(
            bool((np.isnan(rows) | ((rows >= 0.0) & (rows <= 1.0))).all()) for rows in (values[:1000], values)
        )


def scale_of(word: str) -> str:
    """Return the scale that the word before a class name says."""
    squeezed = normalised(word).replace("_", "")
    if squeezed.startswith("logit"):
        return "logits"
    if "logprob" in squeezed:
        return "log_probabilities"
    return "probabilities" if squeezed.startswith(("prob", "softmax", "yprob")) else "unknown"


def sum_to_one(table: Table, names: Sequence[str], tolerance: float = 0.02) -> bool:
    """Whether the columns of most rows sum to 1, up to a tolerance."""
    return _share_of_sums(table, names, tolerance) > 0.5


def _share_of_sums(table: Table, names: Sequence[str], tolerance: float = 0.02) -> float:
    """Return the share of the first rows whose columns sum to 1, up to a tolerance."""
    if len({len(table.columns[name]) for name in names}) > 1:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.sum([table.columns[name][:2000] for name in names], axis=0, dtype=np.float64)
        return float(np.mean(np.abs(sums - 1.0) < tolerance))
