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
        named, first = name in given.score or columns.is_called_score(name), str(columns[name][0])
        stray = stray_cell(columns[name], labelled) if named or not sure else None
        if stray is None and (name in given.score or (not read and named and re.search(r"\d", first))):
            stray = 0, first
        if stray is not None:
            raise InputError(
                f"column {name[:60]!r} needs numbers, but holds {stray[1][:60]!r} in row {stray[0]}; write a "
                "number such as 0.5, leave the cell empty if the score is missing, or remove the row"
            )


def stray_cell(values: np.ndarray, labelled: bool) -> tuple[int, str] | None:
    """Return the first cell (row, text) of a column of numbers that is no number; None for other columns."""
    codes, words = words_in(values)
    like = np.array([len(word) <= 60 and NUMBERLIKE.fullmatch(word) is not None for word in words])[codes]
    others = np.array([word != "" for word in words])[codes] & ~like
    if like.sum() <= others.sum():
        return None
    fractions = any(not words[code].lstrip("+-").isdigit() for code in np.unique(codes[like]))
    if not fractions and not (others.any() and labelled):
        return None
    row = int((others if others.any() else like).argmax())
    return row, words[codes[row]]
