"""Uploading: files are read and examined, fixes are offered, and nothing is used before it is accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from calib import InputError
from calib.doctor import Report, examine
from calib.formats import divide, with_labels
from calib.readers import read_table
from calib.roles import Roles
from calib.roles_guess import guess_roles
from calib.tables import Table
from pages._session import Dataset

COLOURS = {"error": "red", "warning": "orange", "note": "blue"}
#: More columns than this are not listed one by one for correction.
LISTED_COLUMNS = 60
NOBODY = "(none)"


@dataclass(frozen=True, eq=False)
class Reading:
    """What was uploaded, examined but not yet in use.

    Attributes
    ----------
    key : tuple
        Identities of the files: a reading is made once per upload.
    name : str
        Name of the predictions file.
    table : Table
        Its raw content.
    labels, calibration, calibration_labels : file or None
        The other files.
    reports : dict of str to Report
        "evaluation", and "calibration" where there are such rows.
    roles : Roles or None
        What each column is taken for; None for arrays.
    """

    key: tuple[Any, ...]
    name: str
    table: Table
    labels: Any
    calibration: Any
    calibration_labels: Any
    reports: dict[str, Report]
    roles: Roles | None


def read(evaluation: Any, labels: Any, calibration: Any, calibration_labels: Any) -> Reading | None:
    """Return the examined upload, read once per set of files; None if it cannot be read (and says why)."""
    files = (evaluation, labels, calibration, calibration_labels)
    key = tuple(None if file is None else file.file_id for file in files)
    held: Reading | None = st.session_state.get("reading")
    if held is not None and held.key == key:
        return held
    bar = st.progress(0.0, "Reading ...")
    try:
        table = read_table(evaluation, progress=bar.progress)
        roles = guess_roles(table) if table.tabular and not table.matrices else None
        reading = Reading(key, evaluation.name, table, labels, calibration, calibration_labels, {}, roles)
        reading = replace(reading, reports=examined(reading, bar.progress))
    except InputError as error:
        st.error(f"Not loaded: {error}")
        st.caption("What was loaded before is still in place.")
        return None
    finally:
        bar.empty()
    st.session_state["reading"] = reading
    return reading


def examined(reading: Reading, progress: Any = None) -> dict[str, Report]:
    """Examine every part of an upload: calibration rows first, evaluation rows compared with them."""
    roles = reading.roles
    drafts = dict(divide(reading.table, roles if roles != _guess(reading.table) else None))
    if reading.labels is not None:
        reading.labels.seek(0)
        drafts["evaluation"] = with_labels(drafts["evaluation"], reading.labels)
    if reading.calibration is not None:
        reading.calibration.seek(0)
        other = dict(divide(read_table(reading.calibration)))["evaluation"]
        if reading.calibration_labels is not None:
            reading.calibration_labels.seek(0)
            other = with_labels(other, reading.calibration_labels)
        drafts["calibration"] = other
    reports = {}
    if "calibration" in drafts:
        reports["calibration"] = examine(drafts["calibration"])
    if "evaluation" not in drafts:
        raise InputError("the file names calibration rows but no evaluation rows (test or evaluation)")
    held = drafts.get("calibration")
    reports["evaluation"] = examine(drafts["evaluation"], calibration=held, progress=progress)
    return reports


def show_roles(reading: Reading) -> None:
    """Show what each column was taken for, and let the user correct it."""
    roles, names = reading.roles, list(reading.table.columns)
    if roles is None:
        return
    classes = len(roles.probabilities)
    with st.expander(f"Columns: {classes:,} of {len(names):,} are taken for class scores"):
        others = [NOBODY, *names] if len(names) <= LISTED_COLUMNS else [NOBODY, *_not_scores(roles, names)]
        left, right = st.columns(2)
        given = roles.label[0] if len(roles.label) == 1 else NOBODY
        label = left.selectbox("True label", others, others.index(given), key="role-label")
        chosen_id = right.selectbox("Row id", others, others.index(roles.id or NOBODY), key="role-id")
        split = left.selectbox("Split", others, others.index(roles.split or NOBODY), key="role-split")
        scores = list(roles.probabilities)
        if len(names) <= LISTED_COLUMNS:
            scores = st.multiselect("Class scores, in class order", names, scores, key="role-scores")
        if st.button("Read again with these columns", disabled=len(scores) < 1):
            same = tuple(scores) == roles.probabilities
            changed = replace(
                roles,
                probabilities=tuple(scores),
                class_names=roles.class_names if same else tuple(scores),
                label=roles.label if label == given else () if label == NOBODY else (label,),
                id=None if chosen_id == NOBODY else chosen_id,
                split=None if split == NOBODY else split,
            )
            _examine_again(replace(reading, roles=changed))


def show_findings(reading: Reading) -> None:
    """List what was noticed, each with what its fix would change; a fix is applied only when accepted."""
    total = sum(len(report.findings) for report in reading.reports.values())
    if not total:
        st.success("Nothing suspicious was found in this file.")
    st.caption("Not in use yet: the other pages show it once you press the button below.")
    for part, report in reading.reports.items():
        for line in report.log:
            st.badge("Fixed", color="green")
            st.text(f"{part} rows: {line}")
        for finding in report.findings:
            with st.container(border=True):
                left, right = st.columns([5, 1], vertical_alignment="center")
                left.badge(f"{finding.severity.capitalize()}, {part} rows", color=COLOURS[finding.severity])
                left.text(finding.message[:1].upper() + finding.message[1:])
                if finding.fix is None:
                    continue
                effect = report.effect(finding.code)
                left.caption(f"The fix changes: {effect}")
                if right.button("Apply fix", key=f"fix-{part}-{finding.code}"):
                    reports = {**reading.reports, part: report.fix(finding.code)}
                    st.session_state["reading"] = replace(reading, reports=reports)
                    st.rerun()
    if any(report.log for report in reading.reports.values()) and st.button("Undo all fixes"):
        _examine_again(reading)


def accepted(reading: Reading, split: float) -> Dataset:
    """Return the upload as data for every page.

    Raises
    ------
    InputError
        If an error stands in the way, labels are missing, or the two parts have different classes.
    """
    rows = reading.reports["evaluation"].predictions()
    held = reading.reports["calibration"].predictions() if "calibration" in reading.reports else None
    if rows.labels is None:
        raise InputError("there are no true labels; add a label column or upload a file of labels")
    if held is not None and held.labels is None:
        raise InputError("the calibration rows have no true labels; add them or remove the calibration file")
    how = "calibration and evaluation rows as uploaded"
    if held is None:
        how = "all rows are for evaluation; there are no calibration rows"
        if split > 0:
            held, rows = rows.split(split, random_state=0)
            how = f"{split:.0%} of the rows, drawn at random within each class (seed 0), are for calibration"
    if held is not None and held.n_classes != rows.n_classes:
        raise InputError(
            f"the calibration rows have {held.n_classes} classes, the evaluation rows {rows.n_classes}"
        )
    log = tuple(f"{part} rows: {line}" for part, report in reading.reports.items() for line in report.log)
    drawn = split if split > 0 and "calibration" not in reading.reports else None
    return Dataset(reading.name, f"Uploaded: {how}.", False, held, rows, log=log, split=drawn)


def _examine_again(reading: Reading) -> None:
    try:
        st.session_state["reading"] = replace(reading, reports=examined(reading))
        st.rerun()
    except InputError as error:
        st.error(f"These columns cannot be used: {error}")


def _guess(table: Table) -> Roles | None:
    return guess_roles(table) if table.tabular and not table.matrices else None


def _not_scores(roles: Roles, names: list[str]) -> list[str]:
    scores = set(roles.probabilities)
    return [name for name in names if name not in scores]
