"""Findings about rows: copies, clusters, rows alike, rows of both parts of a file, rows of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

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
from calib.data.predictions import BasePrediction, ConfidencePrediction, TopLabelPrediction
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
    """Return the claims about the rows with score and label, and their mask; None without labels."""
    if (codes := raw.codes) is None:
        return None
    predicted, score = raw.top
    usable = np.isfinite(raw.proba).all(axis=1) & (codes >= 0) & ~raw.abstained
    if predicted is not None:
        usable &= predicted >= 0
    claims = Claims(score, codes == (1 if predicted is None else predicted), codes, predicted)
    return claims.take(usable), usable


def copies_in(raw: RawPredictions) -> np.ndarray | None:
    """Return `exact_copies` of the labelled rows of a file, -1 for the others."""
    if (labelled := _claims(raw)) is None:
        return None
    claims, usable = labelled
    if (copies := copies_of(raw_keys(raw, ALL_DECIMALS)[usable], claims)) is None:
        return None
    every = np.full(raw.n_samples, -1, dtype=np.int64)
    every[usable] = copies
    return every


def find_rows_together(raw: RawPredictions) -> Finding | None:
    """Find copies, say what clusters are worth, or say which rows a test shows to be alike."""
    if (labelled := _claims(raw)) is None or not labelled[1].any():
        return None
    claims, usable = labelled
    claims = claims._replace(score=claims.score.clip(0.0, 1.0))

    def worth_of(cluster: np.ndarray) -> str:
        from calib.stats.effective import effective_sample  # scipy, which reading rows does without

        rows: BasePrediction = ConfidencePrediction(claims.score, claims.outcome)
        if claims.predicted is not None:
            rows = TopLabelPrediction(claims.predicted, claims.score, claims.label)
        return effective_sample(rows.labels, rows, cluster=cluster).words

    roles = raw.roles or Roles(())
    if raw.cluster is not None:
        if len(pd.unique(raw.cluster)) == raw.n_samples:
            return None
        message = (
            f"{f'column {roles.cluster!r} says' if roles.cluster else 'the clusters say'} which rows belong "
            f"together: {worth_of(raw.cluster[usable])}. Floors, tests and intervals allow for it, and "
            "splits and folds keep clusters on one side. The fix, as --independent, undoes this: each row "
            "then stands alone."
        )
        return Finding(
            "clusters_kept",
            message,
            columns=(roles.cluster or "cluster",),
            repair=lambda data: _in_clusters(data, np.arange(data.n_samples), None),
        )
    if (copies := copies_in(raw)) is not None:
        return _copied(copies)
    further = pd.DataFrame({name: values[usable] for name, values in _further(raw).items()})
    suspected = suspected_of(claims, raw_keys(raw)[usable], raw.proba[usable], further)
    if suspected is not None:
        column, cluster, severity = suspected.column, suspected.cluster, "warning"
        named = f", as --cluster {column!r} does" if column else ""
        message = (
            f"{suspected.rows} are right or wrong together, more than their scores explain. Rows count as "
            f"independent. If these belong together, {worth_of(cluster)}, and the fix counts them so{named}. "
            "--independent says that they do not; scores are then off in some of these groups of rows."
        )
    elif raw.ids is None:
        return None
    else:
        column, cluster, severity = roles.id or "id", pd.factorize(as_keys(raw.ids[usable]))[0], "note"
        if design_effect(cluster) < LEAST_EFFECT:
            return None
        message = (
            f"ids in {column[:60]!r} repeat, so rows of equal ids may belong together, but no test shows it. "
            f"As clusters, {worth_of(cluster)}. The fix counts them as clusters, as --cluster {column} does."
        )
    repair = partial(_clustered, cluster=cluster, usable=usable, column=column)
    columns = (column,) if column else ()
    return Finding("rows_together", message, columns=columns, repair=repair, severity=severity)


def _copied(copies: np.ndarray) -> Finding | None:
    known = copies[copies >= 0]
    again = np.flatnonzero(pd.Series(copies).duplicated().to_numpy() & (copies >= 0))
    if not len(again):
        return None
    loud = design_effect(known) >= LEAST_EFFECT
    how = "They are too few to change an interval noticeably."
    if loud:
        how = f"They count as clusters, {known.max() + 1:,} in all, also in splits and folds."
    what = "exact copies of others: all digits of their scores and their labels are equal"
    message = f"{len(again):,} of {len(copies):,} rows ({some(again)}) are {what}. {how}"
    return Finding("rows_copied", message, again, severity="warning" if loud else "note")


def _clustered(data: RawPredictions, cluster: np.ndarray, usable: np.ndarray, column: str) -> RawPredictions:
    every = clusters_of_column(pd.DataFrame(_further(data)), column)
    if every is None and data.n_samples != len(usable):
        raise InputError("other fixes removed rows since the scores were compared; examine them again")
    if every is None:
        every = len(usable) + np.arange(len(usable))
        every[usable] = cluster
    return _in_clusters(data, every, column or None)


def _in_clusters(data: RawPredictions, cluster: np.ndarray, column: str | None) -> RawPredictions:
    roles = None if data.roles is None else replace(data.roles, cluster=column)
    return replace(data, cluster=cluster, roles=roles)


def _further(raw: RawPredictions) -> dict[str, np.ndarray]:
    roles = raw.roles or Roles(())
    aside = {roles.split, roles.weight, roles.correct, roles.model, roles.index, *roles.label}
    columns = {name: values for name, values in raw.metadata.items() if name not in aside}
    return columns if raw.ids is None or roles.id in columns else {**columns, "id": raw.ids}


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
    if "every label" in raw.has and raw.labels is not None:
        times = np.nan_to_num(raw.labels.astype(np.float64)).sum(axis=0)
        return class_faults(raw.names, n, None, true=times)
    predicted, true, expected = raw.top[0], None, None
    if codes is not None and (codes >= 0).any():
        true = np.bincount(codes[codes >= 0], minlength=size)
    if "vector" in raw.has:
        if codes is not None and true is not None:
            expected = raw.proba[codes >= 0].sum(axis=0, dtype=np.float64)
    elif ANOTHER in raw.names:
        size, true = size - 1, None
    if predicted is None:
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
    size, names = len(class_names), np.array(class_names, dtype=object)
    absent, doubt = np.zeros(size, dtype=bool) if true is None else true == 0, ""
    if expected is not None and expected[absent].max(initial=0.0) > EXPECTED_ROWS:
        most = (expected * absent).argmax()
        doubt = f" The scores expect {expected[most]:,.0f} rows of {names[most][:40]!r}: "
        doubt += "are labels missing, or columns misnamed?"
    found = [("class_never_true", absent, "never the true label", doubt)]
    if predicted is not None:
        advice = " Such a class has no top-label diagram and no calibration by predicted class."
        found += [("class_never_predicted", predicted == 0, "never predicted", advice)]
        what, few = f"predicted fewer than {POINTS_PER_BIN} times", predicted < POINTS_PER_BIN
        advice = f" That does not fill one bin of {POINTS_PER_BIN} points; "
        advice += "histogram binning leaves their scores as they are."
        found += [("class_rare", few & (predicted > 0), what, advice)]
    findings: list[Finding] = []
    for code, those, what, advice in found:
        if columns := tuple(names[those]):
            be = "is" if len(columns) == 1 else "are"
            told = f"{len(columns):,} of {size:,} classes {be} {what}: {some_names(columns)}.{advice}"
            severity = "warning" if advice and advice == doubt else "note"
            findings.append(Finding(code, told, columns=columns, severity=severity))
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
