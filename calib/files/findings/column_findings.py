"""Findings about columns: roles in doubt, row numbers, contradictions, predictions that are no answer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.data.matrices import row_sums
from calib.files.findings.codes import Finding, counted, some
from calib.files.readers.answers import as_outcomes, classes_in, codes_of
from calib.files.readers.columns import is_row_number
from calib.files.readers.conventions import is_called
from calib.files.readers.raw_predictions import LOG_SUM_TOLERANCE, RawPredictions
from calib.files.readers.tables import some_names


def find_doubt(raw: RawPredictions) -> Finding | None:
    """Say that columns can be read in several ways, or in none, and which options decide."""
    if raw.roles is None or raw.roles.doubt is None:
        return None
    values = [value for choice in raw.roles.choices for value in choice.given.values()]
    return Finding("columns_ambiguous", f"{raw.roles.doubt}.", columns=tuple(dict.fromkeys(values)))


def find_index_column(raw: RawPredictions) -> Finding | None:
    """Find a column of row numbers among the scores of a matrix without names."""
    if "vector" not in raw.has or raw.n_classes < 2 or raw.n_samples < 3:
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
        if counts or off <= LOG_SUM_TOLERANCE:
            return Finding(
                "index_column",
                f"column {j} ({raw.names[j]!r}) holds the row numbers {column[0]:g}, {column[1]:g}, "
                f"{column[2]:g}, ... and not scores of a class; drop it.",
                columns=(raw.names[j],),
            )
    return None


def find_disagreement(raw: RawPredictions) -> Finding | None:
    """Find a column of predicted classes, or of right and wrong, that contradicts others."""
    roles, true = raw.roles, raw.codes
    if roles is None:
        return None
    differ = np.zeros(raw.n_samples, dtype=bool)
    name: str | None = None
    if "vector" in raw.has:
        for name in (name for name in roles.ignored if is_called(name, "predicted") and name in raw.metadata):
            named = codes_of(raw.metadata[name], raw.names, False)
            differ = (named >= 0) & (named != np.nan_to_num(raw.proba, nan=-np.inf).argmax(axis=1))
    elif raw.kind == "top-label" and roles.correct and roles.label and true is not None:
        name, right = roles.correct, raw.predicted_codes() == true
        outcome = as_outcomes(np.asarray(raw.metadata[name]))
        differ = ~np.isnan(outcome) & (true >= 0) & ~raw.abstained & (right != (outcome == 1.0))
    rows = np.flatnonzero(differ)
    if not len(rows):
        return None
    others = "class with the highest score" if "vector" in raw.has else "predicted and true classes"
    return Finding(
        "columns_disagree",
        f"in {len(rows):,} of {counted(raw.n_samples, 'row')} ({some(rows)}) column {name!r} contradicts the "
        f"{others}. Column {name!r} is not used; remove or correct one of them.",
        rows,
        (str(name),),
    )


def find_abstentions(raw: RawPredictions) -> Finding | None:
    rows = np.flatnonzero(none := raw.abstained)
    if not len(rows):
        return None
    values = classes_in(np.asarray(raw.predicted)[none]) or ("(empty)",)
    return Finding(
        "abstentions",
        f"{len(rows):,} of {counted(raw.n_samples, 'row')} {'has' if len(rows) == 1 else 'have'} no answer "
        f"({some_names(values)}; {some(rows)}). They are left out, neither right nor wrong. The coverage is "
        f"{1 - none.mean():.1%}. If other values mean that there is no answer, name them.",
        rows,
        values,
    )
