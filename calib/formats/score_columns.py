"""Columns of scores: one per class by a common prefix, rows that sum to 1, what scale a name says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib.formats.column_names import normalised
from calib.formats.tables import Table

#: Words before a class name in column names, longest first so that "prob_" does not leave "a_".
PREFIX = re.compile(
    r"(?P<word>(?:y_|pred(?:icted)?_)?(?:log_?prob(?:a|ability|abilities|s)?|logits?|prob(?:a|ability|abilities|s)?"
    r"|softmax|scores?|sigmoid|pred|p|class))(?P<join>[_ .:/\-\[(]*)(?P<name>.+?)[\])]?",
    re.IGNORECASE,
)


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers that are not missing are whole; most other columns show it in the first rows."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which is no number either
        return values.dtype.kind in "iu" or all(
            (np.isnan(rows) | (rows == np.floor(rows))).all() for rows in (values[:1000], values)
        )


def score_columns(numeric: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None, str]:
    """Score columns, class names and scale; columns with a prefix such as prob_ win over others."""
    by_prefix: dict[str, list[tuple[str, str]]] = {}
    for name in numeric:
        match = PREFIX.fullmatch(name.strip())
        if match and (match["join"] or match["name"].isdigit()):
            by_prefix.setdefault(match["word"].lower(), []).append((name, match["name"].strip()))
    if by_prefix:
        word, pairs = max(by_prefix.items(), key=lambda item: len(item[1]))
        names = tuple(name for _, name in pairs)
        distinct = len(pairs) >= 2 and len(set(names)) == len(names)
        if distinct and (len(pairs) == len(numeric) or word not in ("class", "p", "pred")):
            return [name for name, _ in pairs], names, scale_of(word)
    return list(numeric), tuple(name.strip() for name in numeric), "unknown"


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
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.sum([table.columns[name][:2000] for name in names], axis=0, dtype=np.float64)
    return bool(np.median(np.minimum(np.abs(sums - 1.0), 1.0)) < tolerance)
