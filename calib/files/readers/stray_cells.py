"""Cells of text in columns of numbers, which are named instead of dropping the column."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.columns import Columns
from calib.files.readers.roles import Roles
from calib.files.readers.tables import words_in

#: Cells that are numbers, also with a percent sign or thousands separators.
NUMBERLIKE = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)([eE][+-]?\d+)?\s*%?", re.ASCII
)


def refuse_stray_cells(columns: Columns, read: Sequence[Roles]) -> None:
    """Refuse a column of numbers with a cell of text, unless other columns, called scores, can be `read`."""
    given = columns.given
    known = {*columns.side.values(), *columns.labels, *columns.predicted, *columns.correct}
    sure = any(
        columns.sum_to_one(roles.probabilities) or columns.is_called_score(roles.probabilities[0])
        for roles in read if roles.probabilities[0] in columns.word
    )  # fmt: skip
    labelled = bool(columns.labels) or any(roles.label for roles in read)
    for name in given.score or [name for name in columns.word if name not in known]:
        if name not in columns.word or columns[name].dtype != object:
            continue
        named = name in given.score or columns.is_called_score(name)
        stray = stray_cell(columns[name], labelled) if named or not sure else None
        if stray is not None:
            row, cell = stray
            raise InputError(
                f"column {name[:60]!r} holds numbers, but {cell[:60]!r} in row {row}; {_instead(cell, name)}"
            )
        cell = str(columns[name][0])[:60]
        if name in given.score or (not read and named and re.search(r"\d", cell)):
            raise InputError(
                f"column {name[:60]!r} holds {cell!r} in row 0; write numbers such as 0.5 or 5e-1"
            )


def _instead(cell: str, name: str) -> str:
    if cell.strip()[:1] in "<>":
        bound = cell.strip()[1:].strip("= ")
        return f"write a number, such as the bound {bound} or half of it, or remove the row"
    if cell.strip().strip('"') == name:
        return "the header is repeated; remove that row"
    if cell.strip().startswith("#") or cell.strip() in ("-", "--", ".", "?"):
        return "leave the cell empty if the score is missing, or remove the row"
    return "correct that cell, or remove the column if it is not the score of a class"


def stray_cell(values: np.ndarray, labelled: bool) -> tuple[int, str] | None:
    """Return the first cell (row, text) of a column of numbers that is no number; None for other columns."""
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
