"""Findings about dependent rows: copies, and columns that say which rows belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.data.equal_rows import (
    DECIMALS,
    LEAST_EFFECT,
    alike_in,
    copies_of,
    design_effect,
    keys_of,
    near_copies,
)
from calib.data.likeness import groupings, questions_of
from calib.data.matrices import highest
from calib.data.predictions import ConfidencePrediction, TopLabelPrediction
from calib.files.findings.codes import Finding, some
from calib.files.readers.columns import is_within
from calib.files.readers.conventions import is_called
from calib.files.readers.raw_predictions import RawPredictions, are_single_percentages
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_keys, some_names

#: Columns that a message names.
MOST_NAMED = 3


def raw_keys(raw: RawPredictions) -> np.ndarray:
    """Return `row_keys` of scores as a file has them, with the predicted class beside them."""
    scores = np.nan_to_num(raw.proba)
    if "vector" in raw.has:
        return keys_of(scores, highest(scores))
    if raw.predicted is None:
        return keys_of(scores)
    return keys_of(scores, [pd.util.hash_array(as_keys(raw.predicted)).view(np.int64)])


def _claims(raw: RawPredictions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Return score, outcome, label code and predicted class of each row; None if the file lacks them."""
    if (codes := raw.codes) is None:
        return None
    if "vector" in raw.has:
        predicted, score = raw.highest
        return score, predicted == codes, codes, predicted
    score = raw.proba[:, 0]
    announced = raw.predicted_codes() if "classes" in raw.has else None
    return score, codes == 1 if announced is None else announced == codes, codes, announced


def _usable(raw: RawPredictions, codes: np.ndarray) -> np.ndarray:
    return np.isfinite(raw.proba).all(axis=1) & (codes >= 0) & ~raw.abstained


def copies_in(raw: RawPredictions, *, exact: bool = True) -> np.ndarray | None:
    """Return `exact_copies` of the labelled rows of a file, or `near_copies`, -1 for the others."""
    if (claims := _claims(raw)) is None:
        return None
    score, right, codes, predicted = claims
    usable = _usable(raw, codes)
    values = score[usable], right[usable], codes[usable]
    if exact:
        copies = copies_of(raw_keys(raw)[usable], *values)
    else:
        label = None if predicted is None else predicted[usable]
        copies = near_copies(raw.proba[usable], *values, label) if is_within(raw.proba[usable]) else None
    if copies is None:
        return None
    every = np.full(raw.n_samples, -1, dtype=np.int64)
    every[usable] = copies
    return every


def find_copies(raw: RawPredictions) -> Finding | None:
    if raw.cluster is not None:
        return None
    copies = exact = copies_in(raw)
    if copies is None and (copies := copies_in(raw, exact=False)) is None:
        return None
    known = copies[copies >= 0]
    again = np.flatnonzero(pd.Series(copies).duplicated().to_numpy() & (copies >= 0))
    if not len(again):
        return None
    effect = design_effect(known)
    how = "They are too few to change an interval noticeably."
    if effect >= LEAST_EFFECT:
        how = (
            f"Copies count as clusters, of which there are {known.max() + 1:,}, and stay together in splits "
            "and folds."
        )
    which, equal = "exact", f"their scores, to {DECIMALS} decimals, and their labels are equal"
    if exact is None:
        which, equal = "changed", "their labels are equal, and their scores nearly so"
    copied = f"{len(again):,} of {raw.n_samples:,} rows are {which} copies of others ({some(again)}): {equal}"
    return Finding(
        "rows_copied",
        "note" if effect < LEAST_EFFECT else "warning",
        f"{copied}. {how}",
        again,
    )


def _questions_in(raw: RawPredictions) -> np.ndarray | None:
    """Return `questions_of` the usable rows of a file that are no copies."""
    if raw.cluster is not None or (claims := _claims(raw)) is None or copies_in(raw) is not None:
        return None
    score, right, codes, predicted = claims
    usable = _usable(raw, codes)
    values = raw_keys(raw)[usable], score[usable], right[usable]
    return questions_of(*values, None if predicted is None else predicted[usable])


def find_rows_together(raw: RawPredictions) -> Finding | None:
    """Say how many independent rows clusters are worth, or find columns that hold clusters."""
    rows = _rows_of(raw)
    if rows is None:
        return None
    from calib.stats.effective import effective_sample  # scipy, which reading rows does without

    def worth_of(cluster: np.ndarray) -> str:
        return effective_sample(rows.labels, rows, cluster=cluster).words

    if raw.cluster is not None:
        name = "cluster" if raw.roles is None or raw.roles.cluster is None else raw.roles.cluster
        return Finding(
            "clusters_kept",
            "note",
            f"column {name!r} says which rows belong together: {worth_of(rows.cluster)}. "
            "Floors, tests and intervals allow for it, and splits and folds keep clusters on one side.",
            columns=(name,),
        )
    alike, questions = alike_in(rows), _questions_in(raw)
    if questions is not None and not (alike and alike[0].cluster.max() < questions.max()):
        return Finding(
            "rows_together",
            "note",
            f"sets of about {len(questions) / (questions.max() + 1):.0f} rows have equal scores, like "
            "answers to a question, and are right or wrong together, more than their scores explain. They "
            f"count as clusters: {worth_of(questions)}.",
        )
    if not alike:
        return _named(raw, rows, worth_of) or _too_few(rows)
    first = alike[0]
    others = [other.column for other in alike[1:] if _name_of(other.column) != _name_of(first.column)]
    also = f", and so are rows of equal {some_names(others[:MOST_NAMED])}" if others else ""
    return Finding(
        "rows_together",
        "warning",
        f"{first.words} are right or wrong together, more than their scores explain{also}. They count as "
        f"clusters: {worth_of(first.cluster)}. --cluster COLUMN, or the menu Rows that belong together, "
        "names another column; with a column that has no repeated values, rows count as independent. If "
        "the column describes rows instead, as a country does, scores are off by it: see Slices.",
        columns=tuple(found.column for found in alike),
    )


def _named(raw: RawPredictions, rows: Any, worth_of: Callable[[np.ndarray], str]) -> Finding | None:
    """Propose a column whose name suggests clusters, although a test shows no dependence."""
    id_name = "id" if raw.roles is None else raw.roles.id
    classes = [rows.labels, rows.label] if "classes" in rows.has else [rows.labels]
    for name, codes in ({} if rows.metadata is None else groupings(rows.metadata, classes)).items():
        if name == id_name or (is_called(name, "together") and design_effect(codes) >= LEAST_EFFECT):
            return Finding(
                "rows_together",
                "note",
                f"values of {name[:60]!r} repeat, so rows of equal values may belong together, but no test "
                f"shows it. As clusters, {worth_of(codes)}. The fix counts them as clusters, as --cluster "
                f"{name} or the menu Rows that belong together does; it removes no row.",
                columns=(name,),
                repair=_clustered(name),
            )
    return None


def _name_of(column: str) -> str:
    return column.partition("=")[0]


def _too_few(rows: Any) -> Finding | None:
    """Name a column that may hold clusters but has too few values for a test."""
    from calib.evidence.clusters import MIN_CLUSTERS  # scipy, which reading rows does without

    for name, values in ({} if rows.metadata is None else rows.metadata).items():
        if is_called(str(name), "together") and 1 < (groups := values.nunique()) < MIN_CLUSTERS:
            return Finding(
                "rows_together",
                "note",
                f"rows of equal {name!r} may belong together, and its {groups} values are too few groups to "
                f"tell (about {MIN_CLUSTERS} are needed). Rows count as independent, and what holds for "
                "these groups need not hold for others.",
                columns=(str(name),),
            )
    return None


def _clustered(column: str) -> Any:
    def repair(data: RawPredictions) -> RawPredictions:
        values = _further(data).get(column)
        if values is None:
            return data
        cells = as_keys(values)
        alone = cells == ""
        cells[alone] = [f"row {row}" for row in np.flatnonzero(alone)]
        roles = None if data.roles is None else replace(data.roles, cluster=column)
        return replace(data, cluster=cells, roles=roles)

    return repair


def _further(raw: RawPredictions) -> dict[str, np.ndarray]:
    roles = raw.roles or Roles(())
    aside = {roles.split, roles.weight, roles.correct, roles.model, roles.index, *roles.label}
    columns = {name: values for name, values in raw.metadata.items() if name not in aside}
    return columns if raw.ids is None or roles.id in columns else {**columns, "id": raw.ids}


def _rows_of(raw: RawPredictions) -> Any:
    """Return the labelled rows with the one claim about each; None if the scores are no probabilities yet."""
    if (claims := _claims(raw)) is None:
        return None
    score, right, codes, predicted = claims
    usable = _usable(raw, codes)
    if predicted is not None:
        usable &= predicted >= 0
    score = score[usable]
    if len(score) and are_single_percentages(score):
        score = score / score.dtype.type(100.0)
    if not len(score) or not is_within(score):
        return None
    further = {name: values[usable] for name, values in _further(raw).items()}
    row_columns: dict[str, Any] = {"metadata": pd.DataFrame(further) if further else None}
    row_columns["cluster"] = None if raw.cluster is None else raw.cluster[usable]
    score = score.clip(0.0, 1.0)
    if predicted is None:
        return ConfidencePrediction(score, right[usable], **row_columns)
    return TopLabelPrediction(predicted[usable], score, codes[usable], **row_columns)
