"""Rows of a file as readings understand them: what is shown if the user must decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calib.files.readers.answers import outcomes_of, positive_of
from calib.files.readers.columns import FIRST, Columns
from calib.files.readers.roles import Roles
from calib.files.readers.tables import words_in

#: Rows that are shown of each reading.
ROWS = 3


def row_texts(columns: Columns, readings: Sequence[Roles]) -> list[tuple[str, ...]]:
    """Return complete rows as each reading understands them, first those in which the readings differ."""
    every = [_texts(columns, roles) for roles in readings]
    complete = [row for row, texts in enumerate(zip(*every, strict=False)) if all(texts)]
    differ = [row for row in complete if len({each[row] for each in every}) == len(every)]
    rows = sorted([*differ, *(row for row in complete if row not in {*differ[:ROWS]})][:ROWS])
    return [tuple(f"{row}: {each[row]}" for row in rows) for each in every]


def _texts(columns: Columns, roles: Roles) -> list[str]:
    """Return what a reading says of each of the first rows; "" of an incomplete row."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN, which becomes a quiet one
        score = columns.rows(roles.probabilities, FIRST).astype(np.float64)
        score = score / (100.0 if roles.scale == "percent" else 1.0)
    finite = np.asarray(np.isfinite(score).all(axis=1))
    true = _cells(columns, roles.label[0]) if len(roles.label) == 1 else None
    if true is None and roles.correct is not None:
        outcomes = outcomes_of(columns[roles.correct], roles.correct)
        true = ["right" if value == 1.0 else "wrong" if value == 0.0 else "" for value in outcomes[:FIRST]]
    said = _cells(columns, roles.predicted) if roles.predicted else None
    numbered = true is not None and all(map(str.isdecimal, filter(None, true)))
    if "vector" in roles.has and numbered and not {*(true or ())} & {*(roles.class_names or ())}:
        roles = replace(roles, class_names=tuple(map(str, range(score.shape[1]))))  # labels count columns
    if roles.kind == "binary" and roles.positive is None:
        words = columns.words(*roles.label) if true is not None else ()
        roles = replace(roles, positive=positive_of(words) or max(words, default="1"))
    texts = []
    for row, values in enumerate(score):
        word, high = _said(roles, values, None if said is None else said[row])
        text = f"{word} {high:.3g}".strip()
        if true is not None:
            right = "" if roles.kind == "binary" or not word else _right(word, true[row])
            text = f"{text}, {'true ' * bool(roles.label)}{true[row]}{right}" if true[row] else ""
        texts.append(text if finite[row] else "")
    return texts


def _said(roles: Roles, values: np.ndarray, said: str | None) -> tuple[str, float]:
    if roles.kind == "binary":
        return f"P({roles.positive})", float(values[0])
    if "vector" in roles.has and roles.class_names:
        top = int(values.argmax())
        return f"said {roles.class_names[top]}", float(values[top])
    return f"said {said}" if said else "confidence", float(values[0])


def _right(word: str, true: str) -> str:
    if true in ("right", "wrong") or not word.startswith("said "):
        return ""
    return ": right" if word.removeprefix("said ") == true else ": wrong"


def _cells(columns: Columns, name: str) -> list[str]:
    if name not in columns.word:
        return ["?"] * FIRST
    codes, words = words_in(columns[name][:FIRST])
    return [words[code][:20] for code in codes]
