"""Long tables, a line for each row and class, to one line for each row."""

from __future__ import annotations

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.answers import ANOTHER, classes_in
from calib.files.readers.columns import is_whole
from calib.files.readers.conventions import (
    CONFIDENCE_NAMES,
    INDEX_NAMES,
    LABEL_NAMES,
    PREDICTED_CLASS_NAMES,
    ROLE_NAMES,
    SCORE_NAMES,
    WEAK_SCORE_NAMES,
    normalised,
    scale_of,
    words_of,
)
from calib.files.readers.nested import SUM_TOLERANCE, ranked_columns
from calib.files.readers.tables import Table, as_keys, as_text, table_from_columns, words_in

#: Columns that number the rows which the lines of a long table belong to.
ROW_NAMES = (ROLE_NAMES["id"] | INDEX_NAMES).union(
    words_of("sample example row_index row_nr obs observation instance item case record sample_index row_no")
)
#: Columns of the class that the score of a line is of.
CLASS_COLUMNS = words_of(
    "class class_name class_label class_id category candidate option choice label_name classname cls klass"
)
SCORES = (CONFIDENCE_NAMES | WEAK_SCORE_NAMES).union(*SCORE_NAMES.values())
FLAGS = LABEL_NAMES | words_of("correct is_correct is_true is_label hit")
#: More cells than this a wide table made of a long one may not have.
MOST_CELLS = 200_000_000


def wide(table: Table) -> Table:
    """Return a long table with one line for each row, and any other table as it is.

    A long table has a column that numbers the rows, the class and its score, and the true class or whether
    the line's class is true. Scores become the columns ``p(class)``, or the ranks ``label_1``, ``score_1``,
    ... if rows list only some classes.
    """
    word = {name: normalised(name) for name in table.columns}
    row = next((name for name in word if word[name] in ROW_NAMES), None)
    if table.matrices or len(table.columns) < 3 or row is None:
        return table
    ids, first, line_of = np.unique(as_keys(table.columns[row]), return_index=True, return_inverse=True)
    if len(line_of) < 2 * len(ids):
        return table
    order = np.argsort(first)
    at, first = np.argsort(order)[line_of], first[order]
    scores = [name for name in word if word[name] in SCORES and table.columns[name].dtype.kind == "f"]
    scores = [name for name in scores if not is_whole(table.columns[name])]
    tiers = (CLASS_COLUMNS, (LABEL_NAMES | PREDICTED_CLASS_NAMES) - CLASS_COLUMNS)
    classed = [n for names in tiers for n in word if word[n] in names and table.columns[n].dtype.kind != "f"]
    for name in classed:
        codes, classes = words_in(table.columns[name])
        score = next((column for column in scores if column != name), None)
        if score is None or not 2 <= len(classes) <= len(line_of) // 2 or "" in classes:
            continue
        values = np.asarray(table.columns[score], dtype=np.float64)
        if len(np.unique(at * len(classes) + codes)) < len(line_of) or np.isnan(values).any():
            continue
        summed = np.abs(np.bincount(at, weights=values) - 1.0)
        if word[name] not in CLASS_COLUMNS and np.median(summed) > SUM_TOLERANCE:
            continue
        whole = (np.bincount(at) == len(classes)).all() or (summed <= SUM_TOLERANCE).all()
        head = {"logits": "logit", "log_probabilities": "logprob"}.get(scale_of(word[score]), "p")
        spread = _matrix(at, codes, classes, values, head) if whole else _ranks(at, codes, classes, values)
        further = [column for column in table.columns if column not in (row, name, score)]
        flags, true = _truth(table, further, at, codes, classes)
        columns = {"row_id" if word[row] in INDEX_NAMES else row: table.columns[row][first], **spread, **true}
        for one in further:
            cells, _ = words_in(table.columns[one])
            if one != flags and (cells == cells[first][at]).all():  # what is said of lines is dropped
                columns[one] = table.columns[one][first]
        return table_from_columns(columns, format=table.format)
    return table


def _grid(at: np.ndarray, codes: np.ndarray, classes: list[str], values: np.ndarray) -> np.ndarray:
    """Return values by row and class, 0 if a row does not list the class."""
    n_rows = int(at.max()) + 1
    if n_rows * len(classes) > MOST_CELLS:
        raise InputError(
            f"the long table makes {n_rows:,} rows x {len(classes):,} classes; write a matrix as NPZ"
        )
    grid = np.zeros((n_rows, len(classes)), dtype=values.dtype)
    grid[at, codes] = values
    return grid


def _matrix(
    at: np.ndarray, codes: np.ndarray, classes: list[str], values: np.ndarray, head: str
) -> dict[str, np.ndarray]:
    grid = _grid(at, codes, classes, values)
    known = set(classes)
    names = [class_ for class_ in classes_in(np.array(classes, dtype=object)) if class_ in known]
    return {f"{head}({one})": grid[:, classes.index(one)] for one in names}


def _ranks(
    at: np.ndarray, codes: np.ndarray, classes: list[str], values: np.ndarray
) -> dict[str, np.ndarray]:
    by_row = np.argsort(at, kind="stable")
    listed = zip((classes[code] for code in codes[by_row]), values[by_row].tolist(), strict=True)
    rows: list[list[tuple[str, float]]] = [[] for _ in range(int(at.max()) + 1)]
    for row, pair in zip(at[by_row].tolist(), listed, strict=True):
        rows[row].append(pair)
    return {
        key: as_text(cells) if key.startswith(("label", "predicted")) else np.array(cells, dtype=np.float64)
        for key, cells in ranked_columns(rows).items()
    }


def _truth(
    table: Table, further: list[str], at: np.ndarray, codes: np.ndarray, classes: list[str]
) -> tuple[str | None, dict[str, np.ndarray]]:
    """Return the column that says whether each line's class is true, and the true classes made of it."""
    starts = np.unique(at, return_index=True)[1]
    for name in further:
        flags, words = words_in(table.columns[name])
        low = [word.lower().removesuffix(".0") for word in words]
        by_line = (flags != flags[starts][at]).any()
        if normalised(name) not in FLAGS or not by_line or not set(low) <= {"0", "1", "true", "false"}:
            continue
        true = np.array([cell in ("1", "true") for cell in low])[flags]
        counts, complete = np.bincount(at, weights=true), np.bincount(at) == len(classes)
        if (counts == 1).all() or ((counts <= 1).all() and not complete.any()):
            labels = np.full(len(counts), ANOTHER, dtype=object)
            labels[at[true]] = np.array(classes, dtype=object)[codes[true]]
            return name, {name: labels}
        each = _grid(at, codes, classes, true.astype(np.int64))
        return name, {f"true({one})": each[:, place] for place, one in enumerate(classes)}
    return None, {}
