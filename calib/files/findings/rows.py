"""Findings about rows: copies, clusters, rows alike, rows of both parts of a file, rows of each class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.equal_rows import (
    ALL_DECIMALS,
    DECIMALS,
    LEAST_EFFECT,
    Claims,
    copies_of,
    design_effect,
    keys_of,
    most_by_chance,
    suspected_of,
)
from calib.data.likeness import clusters_of_column
from calib.data.matrices import highest
from calib.data.predictions import ConfidencePrediction, TopLabelPrediction
from calib.files.findings.codes import Finding, counted, some
from calib.files.readers.answers import ANOTHER
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.roles import Roles
from calib.files.readers.tables import as_keys, some_names

#: Mean rows of a cell (class, bin) for its accuracy to mean something (+-0.4 at 5 rows).
ROWS_PER_CELL = 5
#: Fewest rows for any top-label number.
FEWEST_ROWS = 30
#: A class that is never true is suspicious from this number of expected rows on (probability e**-30).
EXPECTED_ROWS = 30.0
#: Calibration rows that a bin of histogram binning should have.
POINTS_PER_BIN = 50
#: Share of equal rows that a few identical examples give.
NOTE_OVERLAP = 0.01


def raw_keys(raw: RawPredictions, decimals: int = DECIMALS) -> np.ndarray:
    """Return `row_keys` of scores as a file has them, with the predicted class beside them."""
    scores = np.nan_to_num(raw.proba)
    if "vector" in raw.has:
        return keys_of(scores, highest(scores), decimals)
    named = [] if raw.predicted is None else [pd.util.hash_array(as_keys(raw.predicted)).view(np.int64)]
    return keys_of(scores, named, decimals)


def _claims(raw: RawPredictions) -> tuple[Claims, np.ndarray] | None:
    """Return the claim about each row, and the mask of the rows with score and label; None without labels."""
    if (codes := raw.codes) is None:
        return None
    if "vector" in raw.has:
        predicted, score = raw.highest
        claims = Claims(score, predicted == codes, codes, predicted)
    else:
        announced = raw.predicted_codes() if "classes" in raw.has else None
        happened = codes == 1 if announced is None else announced == codes
        claims = Claims(raw.proba[:, 0], happened, codes, announced)
    usable = np.isfinite(raw.proba).all(axis=1) & (codes >= 0) & ~raw.abstained
    return claims, usable if claims.predicted is None else usable & (claims.predicted >= 0)


def copies_in(raw: RawPredictions) -> np.ndarray | None:
    """Return `exact_copies` of the labelled rows of a file, -1 for the others."""
    if (labelled := _claims(raw)) is None:
        return None
    claims, usable = labelled
    if (copies := copies_of(raw_keys(raw, ALL_DECIMALS)[usable], claims.take(usable))) is None:
        return None
    every = np.full(raw.n_samples, -1, dtype=np.int64)
    every[usable] = copies
    return every


def find_copies(raw: RawPredictions) -> Finding | None:
    if raw.cluster is not None or (copies := copies_in(raw)) is None:
        return None
    known = copies[copies >= 0]
    again = np.flatnonzero(pd.Series(copies).duplicated().to_numpy() & (copies >= 0))
    if not len(again):
        return None
    loud = design_effect(known) >= LEAST_EFFECT
    how = "They are too few to change an interval noticeably."
    if loud:
        how = f"They count as clusters, {known.max() + 1:,} in all, also in splits and folds."
    what = "exact copies of others: all digits of their scores and their labels are equal"
    message = f"{len(again):,} of {raw.n_samples:,} rows ({some(again)}) are {what}. {how}"
    return Finding("rows_copied", message, again, severity="warning" if loud else "note")


def find_rows_together(raw: RawPredictions) -> Finding | None:
    """Say how many independent rows clusters are worth, or which rows a test shows to be alike."""
    if (labelled := _claims(raw)) is None or not labelled[1].any():
        return None
    claims, usable = labelled
    rows = _rows_of(raw, claims.take(usable), usable)
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
            repair=lambda data: _in_clusters(data, np.arange(data.n_samples), None),
        )
    if copies_in(raw) is not None:
        return None
    taken = claims.take(usable)._replace(score=rows.confidence)
    suspected = suspected_of(taken, raw_keys(raw)[usable], raw.proba[usable], rows.metadata)
    if suspected is None:
        return _repeated_ids(raw, usable, worth_of)
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


def _clustered(cluster: np.ndarray, usable: np.ndarray, column: str) -> Any:
    def repair(data: RawPredictions) -> RawPredictions:
        further = pd.DataFrame(_further(data))
        every = clusters_of_column(further, column)
        if every is None and data.n_samples != len(usable):
            raise InputError("other fixes removed rows since the scores were compared; examine them again")
        if every is None:
            every = len(usable) + np.arange(len(usable))
            every[usable] = cluster
        return _in_clusters(data, every, column or None)

    return repair


def _in_clusters(data: RawPredictions, cluster: np.ndarray, column: str | None) -> RawPredictions:
    roles = None if data.roles is None else replace(data.roles, cluster=column)
    return replace(data, cluster=cluster, roles=roles)


def _further(raw: RawPredictions) -> dict[str, np.ndarray]:
    roles = raw.roles or Roles(())
    aside = {roles.split, roles.weight, roles.correct, roles.model, roles.index, *roles.label}
    columns = {name: values for name, values in raw.metadata.items() if name not in aside}
    return columns if raw.ids is None or roles.id in columns else {**columns, "id": raw.ids}


def _rows_of(raw: RawPredictions, claims: Claims, usable: np.ndarray) -> Any:
    """Return the usable rows with the one claim about each."""
    further = {name: values[usable] for name, values in _further(raw).items()}
    row_columns: dict[str, Any] = {"metadata": pd.DataFrame(further) if further else None}
    row_columns["cluster"] = None if raw.cluster is None else raw.cluster[usable]
    score = claims.score.clip(0.0, 1.0)
    if claims.predicted is None:
        return ConfidencePrediction(score, claims.outcome, **row_columns)
    return TopLabelPrediction(claims.predicted, score, claims.label, **row_columns)


def find_overlap(raw: RawPredictions, calibration: RawPredictions | None) -> Finding | None:
    """Find calibration rows that reappear in the evaluation rows, by id or by equal scores."""
    if calibration is None or calibration.n_classes != raw.n_classes or calibration.kind != raw.kind:
        return None
    by_id = raw.ids is not None and calibration.ids is not None
    again = _recurring(raw, calibration)
    share = float(again.mean())
    if not again.any():
        return None
    if not by_id:
        copied = any(copies_in(each) is not None for each in (raw, calibration))
        if again.sum() <= most_by_chance(raw_keys(raw), raw_keys(calibration), copied=copied):
            return None
    rows = np.flatnonzero(again)
    return Finding(
        "calibration_overlap",
        f"{len(rows):,} of {len(again):,} evaluation rows ({share:.1%}; {some(rows)}) have the same "
        f"{'ids' if by_id else f'scores, to {DECIMALS} decimals,'} as calibration rows. A calibrator must be "
        "assessed on rows it has not seen. "
        + ("The fix removes them from the evaluation rows." if not again.all() else "Use other rows."),
        rows,
        repair=None if again.all() else (lambda data: data.take(~_recurring(data, calibration))),
        severity="warning" if by_id or share > NOTE_OVERLAP else "note",
    )


def _recurring(raw: RawPredictions, calibration: RawPredictions) -> np.ndarray:
    """Mask of rows that are also calibration rows: with the same id or, without ids, with equal scores."""
    if raw.ids is not None and calibration.ids is not None:
        ids = pd.Series(as_keys(raw.ids), dtype=object)
        return (ids.isin(as_keys(calibration.ids)) & ~ids.isin(["", "nan"])).to_numpy()
    return np.isin(raw_keys(raw), raw_keys(calibration))


def find_class_faults(raw: RawPredictions, codes: np.ndarray | None) -> list[Finding]:
    """Find classes never true, never predicted or rare, and too few rows for the cells."""
    size, n = len(raw.names), raw.n_samples - int(raw.abstained.sum())
    true = expected = None
    if codes is not None and (codes >= 0).any():
        true = np.bincount(codes[codes >= 0], minlength=size)
    if "every label" in raw.has and raw.labels is not None:
        times = np.nan_to_num(raw.labels.astype(np.float64)).sum(axis=0)
        return class_faults(raw.names, n, None, true=times)
    if "vector" in raw.has:
        predicted = raw.highest[0]
        if codes is not None and true is not None:
            expected = np.zeros(size)
            absent = np.flatnonzero(true == 0)
            expected[absent] = raw.proba[codes >= 0][:, absent].sum(axis=0, dtype=np.float64)
    elif "announced class" in raw.has and (announced := raw.predicted_codes()) is not None:
        predicted = announced
        if ANOTHER in raw.names:
            size, true = size - 1, None
    else:
        return find_few_rows(n)
    times = np.bincount(predicted[predicted >= 0], minlength=size)[:size]
    return class_faults(raw.names[:size], n, times, true=true, expected=expected)


def class_faults(
    class_names: Sequence[str],
    n: int,
    predicted: np.ndarray | None,
    *,
    true: np.ndarray | None,
    expected: np.ndarray | None = None,
) -> list[Finding]:
    """As `find_class_faults`, from the rows of each predicted, true and (if known) expected class."""
    size = len(class_names)
    findings: list[Finding] = []
    names = np.array(class_names, dtype=object)

    def add(code: str, classes: np.ndarray, what: str, advice: str, severity: str = "note") -> None:
        if len(classes):
            be = "is" if len(classes) == 1 else "are"
            told = f"{len(classes):,} of {size:,} classes {be} {what}: {some_names(names[classes])}.{advice}"
            findings.append(Finding(code, told, columns=tuple(names[classes]), severity=severity))

    absent = np.flatnonzero(true == 0) if true is not None else np.empty(0, dtype=np.int64)
    advice = ""
    if expected is not None and len(absent) and expected[absent].max() > EXPECTED_ROWS:
        most = absent[expected[absent].argmax()]
        advice = (
            f" The scores expect {expected[most]:,.0f} rows of {names[most][:40]!r}: are labels missing, or "
            "columns misnamed?"
        )
    add("class_never_true", absent, "never the true label", advice, "warning" if advice else "note")
    if predicted is not None:
        advice = " Such a class has no top-label diagram and no calibration by predicted class."
        add("class_never_predicted", np.flatnonzero(predicted == 0), "never predicted", advice)
        rare = np.flatnonzero((predicted > 0) & (predicted < POINTS_PER_BIN))
        advice = (
            f" That does not fill one bin of {POINTS_PER_BIN} points; histogram binning leaves their scores "
            "as they are."
        )
        add("class_rare", rare, f"predicted fewer than {POINTS_PER_BIN} times", advice)
    return [*findings, *find_few_rows(n, size if predicted is not None else 1)]


def find_few_rows(n: int, n_classes: int = 1) -> list[Finding]:
    cells = N_BINS * n_classes
    if n >= ROWS_PER_CELL * cells:
        return []
    what = f"{N_BINS} bins x {n_classes} classes = {cells:,} cells" if n_classes > 1 else f"{N_BINS} bins"
    message = (
        f"{counted(n, 'row')} for {what} are {n / cells:.2g} rows a {'cell' if n_classes > 1 else 'bin'}; "
        f"with fewer than {ROWS_PER_CELL}, most of an error is sampling noise. Use fewer bins or more rows, "
        "and read the noise floor first."
    )
    severity = "warning" if n < max(FEWEST_ROWS, n_classes) else "note"
    return [Finding("too_few_rows", message, severity=severity)]
