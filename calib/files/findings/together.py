"""Findings about dependent rows: copies, clusters, and rows that a test shows to be alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.equal_rows import (
    ALL_DECIMALS,
    DECIMALS,
    LEAST_EFFECT,
    Claims,
    copies_of,
    design_effect,
    keys_of,
    suspected_of,
)
from calib.data.likeness import clusters_of_column
from calib.data.matrices import highest
from calib.data.predictions import ConfidencePrediction, TopLabelPrediction
from calib.files.findings.codes import Finding, some
from calib.files.readers.columns import is_within
from calib.files.readers.conventions import is_called
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_keys


def raw_keys(raw: RawPredictions, decimals: int = DECIMALS) -> np.ndarray:
    """Return `row_keys` of scores as a file has them, with the predicted class beside them."""
    scores = np.nan_to_num(raw.proba)
    if "vector" in raw.has:
        return keys_of(scores, highest(scores), decimals)
    if raw.predicted is None:
        return keys_of(scores, (), decimals)
    predicted = pd.util.hash_array(as_keys(raw.predicted)).view(np.int64)
    return keys_of(scores, [predicted], decimals)


def _claims(raw: RawPredictions) -> Claims | None:
    """Return the claim about each row; None if the file lacks labels."""
    if (codes := raw.codes) is None:
        return None
    if "vector" in raw.has:
        predicted, score = raw.highest
        return Claims(score, predicted == codes, codes, predicted)
    score = raw.proba[:, 0]
    announced = raw.predicted_codes() if "classes" in raw.has else None
    return Claims(score, codes == 1 if announced is None else announced == codes, codes, announced)


def _usable(raw: RawPredictions, claims: Claims) -> np.ndarray:
    usable = np.isfinite(raw.proba).all(axis=1) & (claims.label >= 0) & ~raw.abstained
    return usable if claims.predicted is None else usable & (claims.predicted >= 0)


def copies_in(raw: RawPredictions) -> np.ndarray | None:
    """Return `exact_copies` of the labelled rows of a file, -1 for the others."""
    if (claims := _claims(raw)) is None:
        return None
    usable = _usable(raw, claims)
    if (copies := copies_of(raw_keys(raw, ALL_DECIMALS)[usable], claims.take(usable))) is None:
        return None
    every = np.full(raw.n_samples, -1, dtype=np.int64)
    every[usable] = copies
    return every


def find_copies(raw: RawPredictions) -> Finding | None:
    if raw.cluster is not None:
        return None
    if (copies := copies_in(raw)) is None:
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
    copied = (
        f"{len(again):,} of {raw.n_samples:,} rows are exact copies of others ({some(again)}): all digits of "
        "their scores and their labels are equal"
    )
    severity = "note" if effect < LEAST_EFFECT else "warning"
    return Finding("rows_copied", f"{copied}. {how}", again, severity=severity)


def find_rows_together(raw: RawPredictions) -> Finding | None:
    """Say how many independent rows clusters are worth, or which rows a test shows to be alike."""
    rows = _rows_of(raw)
    if rows is None:
        return None
    from calib.stats.effective import effective_sample  # scipy, which reading rows does without

    def worth_of(cluster: np.ndarray) -> str:
        return effective_sample(rows.labels, rows, cluster=cluster).words

    if raw.cluster is not None:
        if len(pd.unique(raw.cluster)) == raw.n_samples:
            return None
        name = "cluster" if raw.roles is None or raw.roles.cluster is None else raw.roles.cluster
        return Finding(
            "clusters_kept",
            f"column {name!r} says which rows belong together: {worth_of(rows.cluster)}. "
            "Floors, tests and intervals allow for it, and splits and folds keep clusters on one side. The "
            "fix, as --independent, undoes this: each row then stands alone.",
            columns=(name,),
            repair=_independent,
        )
    claims = _claims(raw)
    if claims is None or copies_in(raw) is not None:
        return None
    usable = _usable(raw, claims)
    matrix, keys = raw.proba[usable], raw_keys(raw)[usable]
    matrix = matrix if is_within(matrix) else rows.confidence[:, None]
    taken = claims.take(usable)._replace(score=rows.confidence)
    suspected = suspected_of(taken, keys, matrix, rows.metadata)
    if suspected is None:
        return _repeated_ids(raw, usable, worth_of) or _too_few(rows)
    named = f", as --cluster {suspected.column!r} does" if suspected.column else ""
    return Finding(
        "rows_together",
        f"{suspected.rows} are right or wrong together, more than their scores explain. Rows count as "
        f"independent. If these belong together, {worth_of(suspected.cluster)}, and the fix counts them so"
        f"{named}. --independent says that they do not; scores are then off by what they share.",
        columns=(suspected.column,) if suspected.column else (),
        repair=_clustered(suspected.cluster, usable, suspected.column),
    )


def _repeated_ids(
    raw: RawPredictions, usable: np.ndarray, worth_of: Callable[[np.ndarray], str]
) -> Finding | None:
    """Propose ids of rows as clusters if they repeat, although a test shows no dependence."""
    if raw.ids is None:
        return None
    name = "id" if raw.roles is None or raw.roles.id is None else raw.roles.id
    codes = pd.factorize(as_keys(raw.ids[usable]))[0]
    if design_effect(codes) < LEAST_EFFECT:
        return None
    return Finding(
        "rows_together",
        f"ids in {name[:60]!r} repeat, so rows of equal ids may belong together, but no test shows it. As "
        f"clusters, {worth_of(codes)}. The fix counts them as clusters, as --cluster {name} does.",
        columns=(name,),
        repair=_clustered(codes, usable, name),
        severity="note",
    )


def _too_few(rows: Any) -> Finding | None:
    """Name a column that may hold clusters but has too few values for a test."""
    from calib.evidence.clusters import MIN_CLUSTERS  # scipy, which reading rows does without

    for name, values in ({} if rows.metadata is None else rows.metadata).items():
        if is_called(str(name), "together") and 1 < (groups := values.nunique()) < MIN_CLUSTERS:
            return Finding(
                "rows_together",
                f"rows of equal {name!r} may belong together, and its {groups} values are too few groups to "
                f"tell (about {MIN_CLUSTERS} are needed). Rows count as independent, and what holds for "
                "these groups need not hold for others.",
                columns=(str(name),),
                severity="note",
            )
    return None


def _clustered(cluster: np.ndarray, usable: np.ndarray, column: str) -> Any:
    def repair(data: RawPredictions) -> RawPredictions:
        further = pd.DataFrame(_further(data))
        every = clusters_of_column(further, column)
        if every is None and data.n_samples != len(usable):
            raise InputError("other fixes removed rows since the scores were compared; examine them again")
        if every is None:
            every = len(usable) + np.arange(len(usable))
            every[usable] = cluster
        roles = data.roles if data.roles is None else replace(data.roles, cluster=column or None)
        return replace(data, cluster=every, roles=roles)

    return repair


def _independent(data: RawPredictions) -> RawPredictions:
    roles = None if data.roles is None else replace(data.roles, cluster=None)
    return replace(data, cluster=np.arange(data.n_samples), roles=roles)


def _further(raw: RawPredictions) -> dict[str, np.ndarray]:
    roles = raw.roles or Roles(())
    aside = {roles.split, roles.weight, roles.correct, roles.model, roles.index, *roles.label}
    columns = {name: values for name, values in raw.metadata.items() if name not in aside}
    return columns if raw.ids is None or roles.id in columns else {**columns, "id": raw.ids}


def _rows_of(raw: RawPredictions) -> Any:
    """Return the labelled rows with the one claim about each; None if the scores are no probabilities yet."""
    if (claims := _claims(raw)) is None:
        return None
    usable = _usable(raw, claims)
    score, right, codes, predicted = claims.take(usable)
    if not len(score) or not is_within(score):
        return None
    further = {name: values[usable] for name, values in _further(raw).items()}
    row_columns: dict[str, Any] = {"metadata": pd.DataFrame(further) if further else None}
    row_columns["cluster"] = None if raw.cluster is None else raw.cluster[usable]
    score = score.clip(0.0, 1.0)
    if predicted is None:
        return ConfidencePrediction(score, right, **row_columns)
    return TopLabelPrediction(predicted, score, codes, **row_columns)
