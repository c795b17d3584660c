"""Votes in place of a label: the answers of several annotators, or counts or shares for each class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.answers import no_classes
from calib.files.readers.columns import is_within
from calib.files.readers.tables import Table, as_keys, some_names

#: Names of columns that count votes: votes_cat, cat_share, votes(cat).
COUNTED = re.compile(
    r"(?i:votes?|counts?|shares?|n)[_ ](.+)|(.+)[_ ](?i:votes?|counts?|shares?)"
    r"|(?i:votes?|counts?|shares?)\((.+)\)"
)
#: Name of the column that replaces votes while roles are found.
MAJORITY = "label of the majority"


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
    """Check counts or shares of votes; a missing number is no vote."""
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
