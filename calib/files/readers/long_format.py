"""Long tables, a line for each row and class, to one line for each row."""

from __future__ import annotations

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.answers import classes_in
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
ROW_NAMES = (
    ROLE_NAMES["id"]
    | INDEX_NAMES
    | words_of(
        "sample example row_index row_nr obs observation instance item case record sample_index row_no"
    )
)
#: Columns of the class that the score of a line is of.
CLASS_COLUMNS = words_of(
    "class class_name class_label class_id category candidate option choice label_name classname cls klass"
)
#: More cells than this a wide table made of a long one may not have.
MOST_CELLS = 200_000_000


def wide(table: Table) -> Table:
    """Return a long table with one line for each row, and any other table as it is.

    A long table has a column that numbers the rows, the class and its score, and the true class or whether
    the class of the line is the true one. Scores become the columns ``p(class)``, or where a row lists only
    some classes, the ranks ``label_1``, ``score_1``, ...
    """
    if table.matrices or len(table.columns) < 3:
        return table
    word = {name: normalised(name) for name in table.columns}
    row = next((name for name in word if word[name] in ROW_NAMES), None)
    if row is None:
        return table
    ids, first, line_of = np.unique(as_keys(table.columns[row]), return_index=True, return_inverse=True)
    n_lines, n_rows = len(line_of), len(ids)
    if n_lines < 2 * n_rows:
        return table
    order = np.argsort(first)
    place = np.empty(n_rows, dtype=np.int64)
    place[order] = np.arange(n_rows)
    at, first = place[line_of], first[order]
    for name in _class_columns(table, word):
        codes, classes = words_in(table.columns[name])
        score = next((one for one in word if one != name and _is_score(table, one, word[one])), None)
        if score is None or not 2 <= len(classes) <= n_lines // 2 or "" in classes:
            continue
        cells = at * len(classes) + codes
        if len(np.unique(cells)) < n_lines or np.isnan(table.columns[score]).any():
            continue
        named = word[name] in CLASS_COLUMNS
        sums = np.bincount(at, weights=table.columns[score])
        if not named and np.median(np.abs(sums - 1.0)) > SUM_TOLERANCE:
            continue
        return _spread(table, word, (row, name, score), (at, codes, classes), first, sums)
    return table


def _check_size(n_rows: int, n_classes: int) -> None:
    if n_rows * n_classes > MOST_CELLS:
        raise InputError(
            f"the long table makes {n_rows:,} rows x {n_classes:,} classes; write a matrix as NPZ or Parquet"
        )


def _is_score(table: Table, name: str, word: str) -> bool:
    """Whether a column of numbers is called a score and holds fractions."""
    named = word in (CONFIDENCE_NAMES | WEAK_SCORE_NAMES).union(*SCORE_NAMES.values())
    return named and table.columns[name].dtype.kind == "f" and not is_whole(table.columns[name])


def _class_columns(table: Table, word: dict[str, str]) -> list[str]:
    """Columns that may hold the class of a line: those with such a name first."""
    first = [name for name in word if word[name] in CLASS_COLUMNS]
    named = [name for name in word if word[name] in LABEL_NAMES | PREDICTED_CLASS_NAMES and name not in first]
    return [name for name in first + named if table.columns[name].dtype.kind != "f"]


def _spread(
    table: Table,
    word: dict[str, str],
    roles: tuple[str, str, str],
    lines: tuple[np.ndarray, np.ndarray, list[str]],
    first: np.ndarray,
    sums: np.ndarray,
) -> Table:
    row, name, score = roles
    at, codes, classes = lines
    values = np.asarray(table.columns[score], dtype=np.float64)
    n_rows, size = len(first), len(classes)
    per_row = np.bincount(at)
    known = set(classes)
    names = [one for one in classes_in(np.array(classes, dtype=object)) if one in known]
    rank_of = {one: position for position, one in enumerate(names)}
    columns: dict[str, np.ndarray] = {}
    further, true = _labels(table, word, roles, at, codes, classes)
    if (per_row == size).all() or (np.abs(sums - 1.0) <= SUM_TOLERANCE).all():
        _check_size(n_rows, size)
        matrix = np.zeros((n_rows, size))
        matrix[at, np.array([rank_of[one] for one in classes])[codes]] = values
        head = {"logits": "logit", "log_probabilities": "logprob"}.get(scale_of(word[score]), "p")
        columns = {f"{head}({one})": matrix[:, position] for one, position in rank_of.items()}
    else:
        by_row = np.argsort(at, kind="stable")
        cuts = np.cumsum(per_row)[:-1]
        listed = [part.tolist() for part in np.split(np.array(classes, dtype=object)[codes[by_row]], cuts)]
        ranks = ranked_columns(listed, [part.tolist() for part in np.split(values[by_row], cuts)])
        for key, listed_cells in ranks.items():
            text = key.startswith(("label", "predicted"))
            columns[key] = as_text(listed_cells) if text else np.array(listed_cells, dtype=np.float64)
    if true is not None:
        columns |= true
    number = "row_id" if word[row] in INDEX_NAMES else row
    columns = {number: table.columns[row][first], **columns}
    for one in further:
        cells, _ = words_in(table.columns[one])
        if (cells == cells[first][at]).all():  # one value for each row: what is said of lines is dropped
            columns[one] = table.columns[one][first]
    return table_from_columns(columns, format=table.format)


def _labels(
    table: Table,
    word: dict[str, str],
    roles: tuple[str, str, str],
    at: np.ndarray,
    codes: np.ndarray,
    classes: list[str],
) -> tuple[list[str], dict[str, np.ndarray] | None]:
    """Return the further columns, and true classes made of whether each line's class is the true one."""
    further = [name for name in table.columns if name not in roles]
    starts = np.unique(at, return_index=True)[1]
    for name in further:
        values = table.columns[name]
        if word[name] not in LABEL_NAMES | words_of("correct is_correct is_true is_label hit"):
            continue
        flags, words = words_in(values)
        low = [one.lower().removesuffix(".0") for one in words]
        by_line = (flags != flags[starts][at]).any()
        if not by_line or not set(low) <= {"0", "1", "true", "false"}:
            continue
        true = np.array([one in ("1", "true") for one in low])[flags]
        counts = np.bincount(at, weights=true)
        rest = [one for one in further if one != name]
        if (counts == 1).all():
            labels = np.empty(len(counts), dtype=object)
            labels[at[true]] = np.array(classes, dtype=object)[codes[true]]
            return rest, {name: labels}
        if (counts <= 1).all() and not np.isin(np.bincount(at), len(classes)).all():
            labels = np.full(len(counts), "(another class)", dtype=object)
            labels[at[true]] = np.array(classes, dtype=object)[codes[true]]
            return rest, {name: labels}
        _check_size(len(counts), len(classes))
        each = np.zeros((len(counts), len(classes)), dtype=np.int64)
        each[at[true], codes[true]] = 1
        return rest, {f"true({one})": each[:, position] for position, one in enumerate(classes)}
    return further, None
