"""Findings about columns: one per class, all of them scores, all finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calib.data.matrices import row_sums
from calib.files.findings.codes import Finding, counted, some
from calib.files.readers.answers import classes_in
from calib.files.readers.columns import is_row_number
from calib.files.readers.conventions import KNOWN, LABELS, is_called
from calib.files.readers.raw_predictions import (
    LOG_SUM_TOLERANCE,
    RawPredictions,
    are_log_probabilities,
)
from calib.files.readers.tables import some_names, words_in


def find_doubt(raw: RawPredictions) -> Finding | None:
    """Say that columns can be read in several ways, or in none, and which options decide."""
    if raw.roles is None or raw.roles.doubt is None:
        return None
    values = [value for choice in raw.roles.choices for value in choice.given.values()]
    return Finding("columns_ambiguous", "error", f"{raw.roles.doubt}.", columns=tuple(dict.fromkeys(values)))


def find_index_column(raw: RawPredictions) -> Finding | None:
    """Find a column of row numbers that is among the scores or was left out by its name."""
    if raw.roles is not None and raw.roles.index is not None:
        name = raw.roles.index or "(no name)"
        return Finding(
            "index_column", "note", f"column {name!r} counts the rows; it was left out.", columns=(name,)
        )
    if raw.n_classes < 2 or raw.n_samples < 3:
        return None
    for j in (0, raw.n_classes - 1):
        column = raw.proba[:, j]
        counts = is_row_number(column)
        whole = counts or (column.max() > raw.n_classes and pd.Series(column).is_unique)
        if not whole or not (column == np.floor(column)).all():
            continue
        rest = row_sums(np.delete(raw.proba, j, axis=1))
        with np.errstate(over="ignore"):  # of numbers near the largest; their median is infinite then
            off = np.median(np.abs(rest - 1.0))
        if not counts and off > LOG_SUM_TOLERANCE:
            continue
        name = raw.names[j]

        def drop(data: RawPredictions, at: int = j) -> RawPredictions:
            names = None if data.class_names is None else data.class_names[:at] + data.class_names[at + 1 :]
            return replace(data, proba=np.delete(data.proba, at, axis=1), class_names=names)

        return Finding(
            "index_column",
            "error",
            f"column {j} ({name!r}) holds the row numbers {column[0]:g}, {column[1]:g}, {column[2]:g}, ... "
            "and not scores of a class; drop it.",
            columns=(name,),
            repair=drop,
        )
    return None


def find_guessed_label(raw: RawPredictions) -> Finding | None:
    """Say which column was read as the labels, if only its values show it."""
    label = () if raw.roles is None else raw.roles.label
    if len(label) != 1 or is_called(label[0], *LABELS) or label[0].lower() == "correct" or raw.labels is None:
        return None
    return Finding(
        "label_column",
        "note",
        f"column {label[0]!r} was read as the labels because its values fit "
        f"({some_names(classes_in(raw.labels))}); its name does not say so. If another column holds the "
        "labels, choose that column.",
        columns=label,
    )


def find_unused_columns(raw: RawPredictions) -> Finding | None:
    """Name known columns that no number uses, and predicted classes that the scores contradict."""
    unused = () if raw.roles is None else raw.roles.ignored
    names = tuple(name for name in unused if is_called(name, *KNOWN) and name in raw.metadata)
    if not names:
        return None
    every_class = "scores" in raw.has
    subject = "the scores of all classes" if every_class else "the columns that are used"
    rows = np.empty(0, dtype=np.int64)
    differ = ""
    for name in names:
        if "vector" in raw.has and is_called(name, "predicted"):
            rows = np.flatnonzero(_names_another(raw, raw.metadata[name]))
            if len(rows):
                differ = (
                    f" In {len(rows):,} of {counted(raw.n_samples, 'row')} ({some(rows)}) column {name!r} "
                    "names another class than the class with the highest score, which is the prediction."
                )
    return Finding(
        "columns_unused",
        "warning" if differ else "note",
        f"{counted(len(names), 'column', ('is', 'are'))} not used, because {subject} are enough: "
        f"{some_names(names)}. Lists of rows and the page Slices show them.{differ}",
        rows,
        names,
    )


def _names_another(raw: RawPredictions, cells: np.ndarray) -> np.ndarray:
    codes, words = words_in(cells)
    place = {name: code for code, name in enumerate(raw.names)}
    class_of = np.array([place.get(word, -1) for word in words])[codes]
    return (class_of >= 0) & (class_of != np.nan_to_num(raw.proba, nan=-np.inf).argmax(axis=1))


def find_binary(raw: RawPredictions) -> Finding | None:
    if raw.n_classes == 2:
        return Finding(
            "binary_input",
            "note",
            "there are two columns, so the problem is binary: the confidence is the larger of p and 1 - "
            "p. Top-label calibration treats p below 0.5 and p above 0.5 separately.",
            columns=raw.names,
        )
    return None


def find_not_finite(raw: RawPredictions) -> Finding | None:
    """Find NaN and infinite values; minus infinity is a proper log-probability."""
    sums = row_sums(raw.proba)
    bad = ~np.isfinite(sums)
    if not bad.any() or are_log_probabilities(raw.proba):
        return None
    cells = ~np.isfinite(raw.proba[bad])
    columns = tuple(name for name, hit in zip(raw.names, cells.any(axis=0), strict=True) if hit)
    rows = np.flatnonzero(bad)

    def drop(data: RawPredictions) -> RawPredictions:
        return data.take(np.isfinite(row_sums(data.proba)))

    return Finding(
        "not_finite",
        "error",
        f"{counted(int(cells.sum()), 'value', ('is', 'are'))} NaN or infinite, in {len(rows):,} of "
        f"{counted(len(bad), 'row')} ({some(rows)}). "
        + ("Every row has one; check the columns." if bad.all() else "The fix removes those rows."),
        rows,
        columns if len(columns) < raw.n_classes else (),
        None if bad.all() else drop,
    )
