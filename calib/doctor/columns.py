"""Findings about columns: one per class, all of them scores, all finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calib.doctor.findings import Finding, counted, some
from calib.formats.raw_predictions import LOG_SUM_TOLERANCE, RawPredictions, are_log_probabilities
from calib.formats.roles import is_row_number
from calib.predictions import row_sums


def find_index_column(raw: RawPredictions) -> Finding | None:
    """Find a column of row numbers among the scores, or one that was left out by its name."""
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


def find_binary(raw: RawPredictions) -> Finding | None:
    """Note that two columns are a binary problem."""
    if raw.n_classes == 2:
        return Finding(
            "binary_input",
            "note",
            "there are two columns, so the problem is binary: the confidence is the larger of p and 1 - "
            "p, and calibrating the top label is calibrating p on either side of 0.5.",
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
