"""Uploading: files are read and examined, and nothing is used before it is accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from calib import InputError, Predictions
from calib.doctor import Examination
from calib.doctor.examination import examine_parts
from calib.doctor.findings import LABEL_CODES, AcceptedFix
from calib.formats import divide, with_labels
from calib.formats.reading import read_table
from calib.formats.roles import Roles, guess_roles
from calib.formats.tables import Table
from pages.shared.session import Dataset
from pages.shared.widgets import escaped

#: Where the session keeps what is on its way to all pages; other uploads have a place of their own.
PENDING = "reading"


@dataclass(frozen=True, eq=False)
class Reading:
    """What was uploaded, examined but not yet in use.

    Attributes
    ----------
    key : tuple
        Identities of the files: a reading is made once per upload.
    name : str
        Name of the predictions file.
    tables : tuple of (Table or None)
        Raw content of the files: predictions, labels, calibration predictions, calibration labels.
    reports : dict of str to Examination
        "evaluation", and "calibration" where there are such rows.
    roles : Roles or None
        What each column is taken for; None for arrays.
    place : str
        Key of the session it is kept under.
    """

    key: tuple[Any, ...]
    name: str
    tables: tuple[Table, Table | None, Table | None, Table | None]
    reports: dict[str, Examination]
    roles: Roles | None
    place: str = PENDING

    @property
    def table(self) -> Table:
        """Raw content of the predictions file."""
        return self.tables[0]


def read(
    evaluation: Any,
    labels: Any = None,
    calibration: Any = None,
    calibration_labels: Any = None,
    *,
    place: str = PENDING,
) -> Reading | None:
    """Return the examined upload, read once per set of files; None if it cannot be read (and says why).

    Without an `evaluation` file it is the one read before at this `place` of the session, with the other
    files that are given now.
    """
    held: Reading | None = st.session_state.get(place)
    if evaluation is None and held is None:
        return None
    files = [evaluation, labels, calibration, calibration_labels]
    key = tuple(None if file is None else file.file_id for file in files)
    if evaluation is None and held is not None:
        key = tuple(now or before for now, before in zip(key, held.key, strict=True))
    if held is not None and held.key == key:
        return held
    bar = st.progress(0.0, "Reading ...")
    try:
        known = {} if held is None else dict(zip(held.key, held.tables, strict=True))
        for file in files:
            if file is not None and file.file_id not in known:
                known[file.file_id] = read_table(file, progress=bar.progress)
        table, *others = (known[one] if one else None for one in key)
        name, roles = (held.name, held.roles) if evaluation is None else (evaluation.name, _guess(table))
        reading = Reading(key, name, (table, *others), {}, roles, place)
        reading = replace(reading, reports=examined(reading, bar.progress))
    except InputError as error:
        st.error(f"Not loaded: {escaped(error)}")
        st.caption("What was loaded before is still in place.")
        return None
    finally:
        bar.empty()
    st.session_state[place] = reading
    return reading


def pending() -> bool:
    """Whether an upload was read, and neither used nor dismissed."""
    held = st.session_state.get(PENDING)
    return held is not None and st.session_state.get("in_use", (None,))[0] is not held


def dismiss() -> None:
    """Forget the upload that was read."""
    st.session_state.pop(PENDING, None)


def examined(reading: Reading, progress: Any = None) -> dict[str, Examination]:
    """Examine every part of an upload: calibration rows first, evaluation rows compared with them."""
    table, labels, calibration, calibration_labels = reading.tables
    raw_by_part = dict(divide(table, reading.roles if reading.roles != _guess(table) else None))
    if labels is not None:
        raw_by_part["evaluation"] = with_labels(raw_by_part["evaluation"], labels)
    if calibration is not None:
        other = divide(calibration)["evaluation"]
        raw_by_part["calibration"] = (
            other if calibration_labels is None else with_labels(other, calibration_labels)
        )
    if "evaluation" not in raw_by_part:
        raise InputError("the file names calibration rows but no evaluation rows (test or evaluation)")
    if reading.place != PENDING:  # calibration rows are of use only with the data of all pages
        raw_by_part.pop("calibration", None)
    return examine_parts(raw_by_part, progress=progress)


def in_words(fix: AcceptedFix) -> str:
    """Return what a fix changed, its code without underscores."""
    return f"{fix.code.replace('_', ' ')}: {fix.effect}"


def without_labels(reading: Reading) -> tuple[Predictions, bool]:
    """Return the rows of an upload without labels that cannot be used, and whether there were any."""
    report = reading.reports["evaluation"]
    unusable = any(finding.code in LABEL_CODES for finding in report.errors)
    raw = replace(report.raw, labels=None) if unusable else report.raw
    return raw.predictions(), unusable


def rows_of(report: Examination) -> Predictions:
    """Return examined rows.

    Raises
    ------
    InputError
        If an error stands in the way.
    """
    for finding in report.errors:
        hint = " Accept it above." if finding.fix is not None else ""
        raise InputError(finding.message + hint)
    return report.predictions()


def accepted(reading: Reading, split: float) -> Dataset:
    """Return the upload as data for every page.

    Raises
    ------
    InputError
        If an error stands in the way, labels are missing, or the two parts have different classes.
    """
    rows = rows_of(reading.reports["evaluation"])
    held = rows_of(reading.reports["calibration"]) if "calibration" in reading.reports else None
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
    if held is not None:
        try:
            held = held.in_order_of(rows.class_names)
        except InputError as error:
            raise InputError(f"the calibration rows do not fit the evaluation rows: {error}") from None
    log = tuple(
        f"{part} rows: {in_words(fix)}" for part, report in reading.reports.items() for fix in report.fixes
    )
    drawn = split if split > 0 and "calibration" not in reading.reports else None
    return Dataset(reading.name, f"Uploaded: {how}.", False, held, rows, log=log, split=drawn)


def examine_again(reading: Reading) -> None:
    """Examine an upload from its files: roles of columns as they are now, no fixes."""
    try:
        st.session_state[reading.place] = replace(reading, reports=examined(reading))
        st.rerun()
    except InputError as error:
        st.error(f"These columns cannot be used: {escaped(error)}")


def _guess(table: Table) -> Roles | None:
    return guess_roles(table) if table.tabular and not table.matrices else None
