"""Findings about columns: roles in doubt, row numbers, contradictions, predictions that are no answer."""

from __future__ import annotations

import numpy as np

from calib.files.findings.codes import Finding, counted, some
from calib.files.readers.answers import as_outcomes, classes_in, codes_of
from calib.files.readers.columns import is_row_number
from calib.files.readers.conventions import is_called
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.tables import some_names


def find_doubt(raw: RawPredictions) -> Finding | None:
    """Say that columns can be read in several ways, or in none, and which options decide."""
    if raw.roles is None or raw.roles.doubt is None:
        return None
    values = [value for choice in raw.roles.choices for value in choice.given.values()]
    return Finding("columns_ambiguous", f"{raw.roles.doubt}.", columns=tuple(dict.fromkeys(values)))


def find_index_column(raw: RawPredictions) -> Finding | None:
    """Find a column of row numbers among the scores of a matrix without names."""
    columns = (0, raw.n_classes - 1) if "vector" in raw.has and raw.n_classes > 1 else ()
    for j in columns:
        if is_row_number(raw.proba[:, j]):
            what = f"column {j} ({raw.names[j]!r}) holds the row numbers {raw.proba[0, j]:g}, "
            how = f"{raw.proba[1, j]:g}, ... and not scores of a class; drop it."
            return Finding("index_column", what + how, columns=(raw.names[j],))
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
