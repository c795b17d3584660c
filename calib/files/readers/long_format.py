"""Several lines or answers for each row: long tables with a line for each class, and votes for a label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.answers import ANOTHER, classes_in, codes_of, no_classes, outcomes_of
from calib.files.readers.columns import is_whole, is_within
from calib.files.readers.conventions import LABELS, PREFIX, SCALES, is_called, scale_of
from calib.files.readers.source import Limits
from calib.files.readers.tables import Table, as_keys, some_names, words_in

#: Names of columns that count votes: votes_cat, cat_share, votes(cat).
COUNTED = re.compile(
    r"(?i:votes?|counts?|shares?|n)[_ ](.+)|(.+)[_ ](?i:votes?|counts?|shares?)"
    r"|(?i:votes?|counts?|shares?)\((.+)\)"
)
#: Name of the column that replaces votes while roles are found.
MAJORITY = "label of the majority"
#: Largest distance from 1 of a row's sum that covers all classes.
SUM_TOLERANCE = 5e-3


@dataclass(frozen=True, eq=False)
class ListedClasses:
    """The row and the class of each line."""

    at: np.ndarray  #: (n,) int64
    codes: np.ndarray  #: (n,) int64
    classes: Sequence[str]
    n_rows: int

    def grid(self, values: np.ndarray, limits: Limits) -> np.ndarray:
        """Return values by row and class, 0 if a row does not list the class."""
        limits.check_columns(len(self.classes))
        limits.check_filled(self.n_rows * len(self.classes), len(self.at))
        grid = np.zeros((self.n_rows, len(self.classes)), dtype=values.dtype)
        grid[self.at, self.codes] = values
        return grid

    def scores(self, name: str, values: np.ndarray, limits: Limits) -> tuple[dict[str, np.ndarray], bool]:
        """Return scores by class, or else ranked classes and their scores, and whether they are by class.

        They are by class if every row lists every class, or sums to 1; classes that a row omits get 0.
        """
        sizes = np.bincount(self.at, minlength=self.n_rows)
        off = np.abs(np.bincount(self.at, weights=values, minlength=self.n_rows) - 1.0)[sizes > 0]
        whole = (off <= SUM_TOLERANCE).all() and (values >= 0.0).all()
        if len(self.classes) < 2 or not ((sizes == len(self.classes)).all() or whole):
            return self.ranks(values), False
        match = PREFIX.fullmatch(f"{name}[x]")
        head = {"logits": "logit", "log_probabilities": "logprob"}.get(scale_of(name), "score")
        head = name if match is not None and match["word"] == name else head
        grid = self.grid(values, limits)
        grid[sizes == 0] = np.nan
        return {f"{head}[{word}]": grid[:, at] for at, word in enumerate(self.classes)}, True

    def ranks(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns label_1, score_1, ... of the highest classes, as many as each row has."""
        lines = pd.DataFrame({"code": self.codes, "score": np.asarray(values, dtype=np.float64)}, self.at)
        lines = lines.sort_values("score", ascending=False, kind="stable")
        place = lines.groupby(level=0).cumcount()
        n_ranks = int(place.groupby(level=0).max().min()) + 1
        names = np.array([*self.classes, ""], dtype=object)
        columns: dict[str, np.ndarray] = {}
        for rank in range(n_ranks):
            heads = (f"label_{rank + 1}", f"score_{rank + 1}") if n_ranks > 1 else ("predicted", "confidence")
            best = lines[place == rank].reindex(range(self.n_rows))
            codes = best["code"].fillna(-1).astype(np.int64)
            columns |= {heads[0]: names[codes], heads[1]: best["score"].to_numpy()}
        return columns


def wide(table: Table, limits: Limits) -> Table:
    """Turn a long table into one line for each row; return any other table as it is.

    Columns of a long table are the row, a class, its score, and the true class or whether the line's class is
    true. `ListedClasses.scores` describes the new columns.
    """
    row = next((name for name in table.columns if is_called(name, "id", "index", "row")), None)
    scores = [name for name in table.columns if is_called(name, "confidence", "score", *SCALES)]
    scores = [n for n in scores if table.columns[n].dtype.kind == "f" and not is_whole(table.columns[n])]
    if table.matrices or len(table.columns) < 3 or row is None or not scores:
        return table
    at, ids = pd.factorize(as_keys(table.columns[row]))
    first = np.unique(at, return_index=True)[1]
    values = np.asarray(table.columns[scores[0]], dtype=np.float64)
    if not 0 < 2 * len(ids) <= len(at) or np.isnan(values).any():
        return table
    whole = np.median(np.abs(np.bincount(at, weights=values) - 1.0)) <= SUM_TOLERANCE
    classed = [name for name in table.columns if is_called(name, "class", "predicted", *LABELS)]
    classed = [name for name in classed if table.columns[name].dtype.kind != "f"]
    for name in sorted(classed, key=lambda name: not is_called(name, "class")):
        classes = classes_in(table.columns[name])
        codes = codes_of(table.columns[name], classes, False)
        several = 2 <= len(classes) <= len(at) // 2 and (codes >= 0).all()
        once = several and len(np.unique(at * len(classes) + codes)) == len(at)
        if not once or not (whole or is_called(name, "class")):
            continue
        lines = ListedClasses(at, codes, classes, len(ids))
        further = [column for column in table.columns if column not in (row, name, scores[0])]
        flags, true = _truth(table, further, lines, limits)
        columns = {"row_id" if is_called(row, "index") else row: table.columns[row][first]}
        columns |= lines.scores(scores[0], values, limits)[0] | true
        for column in further:
            cells, _ = words_in(table.columns[column])
            if column != flags and (cells == cells[first][at]).all():  # columns about lines are dropped
                columns[column] = table.columns[column][first]
        return Table(table.format, columns)
    return table


def _truth(
    table: Table, names: list[str], lines: ListedClasses, limits: Limits
) -> tuple[str | None, dict[str, np.ndarray]]:
    """Find the column that says whether each line's class is true; return it and the true classes."""
    sizes, first = np.bincount(lines.at), np.unique(lines.at, return_index=True)[1]
    for name in [name for name in names if is_called(name, "flag", *LABELS)]:
        outcomes = outcomes_of(table.columns[name])
        if np.isnan(outcomes).any() or (outcomes == outcomes[first][lines.at]).all():
            continue
        true, counts = outcomes == 1.0, np.bincount(lines.at, weights=outcomes)
        if (counts == 1).all() or ((counts <= 1).all() and (sizes < len(lines.classes)).all()):
            labels = np.full(len(counts), ANOTHER, dtype=object)
            labels[lines.at[true]] = np.array(lines.classes, dtype=object)[lines.codes[true]]
            return name, {name: labels}
        each = lines.grid(true.astype(np.int64), limits)
        return name, {f"true[{word}]": each[:, at] for at, word in enumerate(lines.classes)}
    return None, {}


# --- votes ---


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes about rows."""

    classes: np.ndarray  #: (k,) array: classes that are voted for: texts, or numbers as labels can be
    counts: np.ndarray  #: (n, k) float64 array: votes of each row for each of them

    @property
    def labels(self) -> np.ndarray:
        """Class with the most votes of each row, the first if several tie; "" or NaN without votes."""
        none = "" if self.classes.dtype == object else np.nan
        return np.where(self.counts.any(axis=1), self.classes[self.counts.argmax(axis=1)], none)

    def __getitem__(self, rows: Any) -> Votes:
        return Votes(self.classes, self.counts[rows])


def votes_in(table: Table, names: Sequence[str]) -> Votes:
    """Return the votes in columns: counts if names contain classes, else the answer of each annotator.

    One column of numbers in [0, 1] holds the share of votes for the event, such as 0.5 for a tie.
    """
    if names[0] in table.matrices:
        counts = _checked(table.matrices[names[0]], names)
        return Votes(np.arange(counts.shape[1], dtype=np.float64), counts)
    columns = [table.columns[name] for name in names]
    numeric = all(values.dtype.kind in "fiu" for values in columns)
    if numeric and len(names) == 1 and is_within(columns[0]):  # the share of the votes for the event
        return Votes(np.arange(2.0), np.stack([1.0 - columns[0], columns[0]], axis=1))
    rows = np.stack(columns, axis=1)
    if numeric and (counted := classes_counted(names)):
        return Votes(np.array(counted, dtype=object), _checked(rows, names))
    flags = numeric and len(names) > 1 < len(rows) and np.isin(rows, (0, 1)).all()
    if flags and (rows.sum(axis=1) == 1).all():
        raise InputError(
            f"{some_names(names)} hold one 1 in each row, where annotators agree at times. If each counts "
            "the votes for a class, name it votes_CLASS; if one says what is true, name it as the label"
        )
    codes, words = pd.factorize(np.concatenate([as_keys(values) for values in columns]), sort=True)
    none = no_classes(words)
    classes = np.array([word not in none for word in words])
    if not classes.any():
        raise InputError(f"no cell of {some_names(names)} names a class; votes need one in each row")
    counts = pd.crosstab(np.tile(np.arange(len(rows)), len(names)), codes).to_numpy(dtype=np.float64)
    return Votes(words[classes].astype(float if numeric else object), counts[:, classes])


def _checked(counts: np.ndarray, names: Sequence[str]) -> np.ndarray:
    counts = np.nan_to_num(counts.astype(np.float64), nan=0.0, posinf=-1.0)
    if (counts < 0.0).any():
        row = int((counts < 0.0).any(axis=1).argmax())
        raise InputError(
            f"{some_names(names)} hold {counts[row]} in row {row}; votes are 0 or more and finite"
        )
    return counts


def classes_counted(names: Sequence[str]) -> tuple[str, ...]:
    """Return the class whose votes each column counts, by its name; empty unless all columns count votes."""
    matches = [match for name in names if (match := COUNTED.fullmatch(name.strip()))]
    return tuple(match[match.lastindex or 0] for match in matches) if len(matches) == len(names) else ()
