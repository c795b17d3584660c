"""Uploading: files are read and examined, and nothing is used before it is accepted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile as File

from calib import InputError
from calib.data.predictions import BasePrediction, in_common_classes, rows_that_count
from calib.data.several_models import on_common_rows, pairs_of_models
from calib.files.findings import Examination
from calib.files.findings.codes import LABEL_CODES, Effect
from calib.files.readers.columns import MOST_MODELS
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import Given, Roles, models_in
from calib.files.readers.tables import Table
from calib.files.saved.project import Upload, UploadedFile
from pages.shared.isolation import limits
from pages.shared.isolation.process import JobEnded
from pages.shared.isolation.reader import load, read_files
from pages.shared.session import FURTHER, LOG, READINGS, Dataset, held
from pages.shared.widgets import escaped

#: Slot of the session for the upload that all pages may use; other uploads have slots of their own.
PENDING = READINGS[0]
#: Start of the key of files in use that are examined again.
AGAIN = "again"
#: What to do if files and data take too much memory.
ADVICE = "remove another file from its field"


@dataclass(frozen=True, eq=False)
class Reading:
    """An upload that was examined but is not yet in use."""

    key: tuple[Any, ...]  #: Identities of the files, so that each upload is read once
    name: str  #: Name of the predictions file
    #: Raw content of the files: predictions, labels, calibration predictions, calibration labels
    tables: tuple[Table, Table | None, Table | None, Table | None]
    files: tuple[UploadedFile | None, ...]  #: The same files as they were
    reports: dict[str, Examination]  #: "evaluation", and "calibration" if there are such rows
    roles: Roles | None  #: The role of each column; None for arrays
    slot: str = PENDING  #: Key of the session that holds it
    model_name: str = ""  #: The model, if the file holds several
    refusal: str = ""  #: Why the file is not read with the columns that were found, if it is a table

    @property
    def model(self) -> str:
        """Name of the model: in the file, or else the file's."""
        return self.model_name or Path(self.name).stem

    @property
    def table(self) -> Table:
        """Raw content of the predictions file."""
        return self.tables[0]


@contextmanager
def logged(n_bytes: int) -> Iterator[None]:
    """Log the size of an upload that is read in this block, also if it is refused."""
    begin, outcome = time.perf_counter(), "refused"
    try:
        yield
        outcome = "read"
    finally:
        seconds = time.perf_counter() - begin
        LOG.info("upload outcome=%s megabytes=%.1f seconds=%.2f", outcome, n_bytes / 1e6, seconds)


def read_once(kind: str, file: File) -> Any:
    """Return the content of a file: a "calibrator", "project", "summary" or plain "table"."""
    slot = f"{kind}-read"
    file_id, content = st.session_state.get(slot, (None, None))
    if file_id != file.file_id:
        with _reading(slot, file.file_id, [file]):
            content = load(kind, file.getvalue())
            limits.check([content], held(), ADVICE, [file])
        st.session_state[slot] = file.file_id, content
    return content


@contextmanager
def _reading(slot: str, key: Any, files: Sequence[File]) -> Iterator[None]:
    """Log that files are read; files that were refused before are refused without reading them."""
    refused, why, ended = st.session_state.get(f"{slot}-refused", (None, "", False))
    if refused == key:
        raise JobEnded(why) if ended else InputError(why)
    try:
        with logged(sum(file.size for file in files)):
            yield
    except InputError as error:
        st.session_state[f"{slot}-refused"] = key, str(error), isinstance(error, JobEnded)
        raise


def read(
    evaluation: File | None,
    labels: File | None = None,
    calibration: File | None = None,
    calibration_labels: File | None = None,
    *,
    slot: str = PENDING,
) -> Reading | None:
    """Return the examined upload, read once per set of files; say why and return None if it is unreadable.

    Without an `evaluation` file, the file in this `slot` of the session is read with the other files.
    """
    earlier: Reading | None = st.session_state.get(slot)
    if evaluation is None and earlier is None:
        return None
    files = [evaluation, labels, calibration, calibration_labels]
    key = tuple(None if file is None else file.file_id for file in files)
    if evaluation is None and earlier is not None:
        key = tuple(now or before for now, before in zip(key, earlier.key, strict=True))
    if earlier is not None and earlier.key == key:
        return earlier
    bar = st.progress(0.0, "Reading ...")
    try:
        known: dict[Any, Any] = {None: (None, None)}
        if earlier is not None:
            known |= zip(earlier.key, zip(earlier.files, earlier.tables, strict=True), strict=True)
        new = [file for file in files if file is not None and file.file_id not in known]
        # `getbuffer` copies what can be shared.
        known |= {file.file_id: (UploadedFile(file.name, file.getvalue()),) * 2 for file in new}
        kept, contents = zip(*(known[file_id] for file_id in key), strict=True)
        with _reading(slot, key, new):
            limits.check([], held(), ADVICE, new)
            reading = _read(
                Reading(key, (evaluation or earlier).name, (), kept, {}, None, slot),
                contents,
                earlier.roles if evaluation is None else None,
                bar.progress,
            )
            limits.check([reading], held(), ADVICE, new)
    except InputError as error:
        refused = Reading(key, (evaluation or earlier).name, (), (), {}, Roles(()), slot, refusal=str(error))
        asked = slot == PENDING and evaluation is not None and not isinstance(error, JobEnded)
        if asked and (table := _table_of(evaluation)) is not None:
            return replace(refused, tables=(table, *contents[1:]), files=kept)  # for the menus of columns
        st.error(f"Not loaded: {escaped(error)}")
        st.caption("The data loaded before are still in use.")
        return None
    finally:
        bar.empty()
    st.session_state[slot] = reading
    return reading


def _table_of(file: File) -> Table | None:
    """Return the columns of a file whose roles were not found; None if it is no table."""
    try:
        table = read_once("table", file)
    except InputError:  # the file is no table: the page says why it was refused
        return None
    return table if isinstance(table, Table) and table.tabular and table.columns else None


def read_further(files: Sequence[File], labels: File | None) -> bool:
    """Read the files of further models, each in a slot of its own; return whether all could be read."""
    if len(files) >= MOST_MODELS:
        st.error(f"{len(files) + 1} files are more than the {MOST_MODELS} models that calib compares.")
        return False
    found = [read(file, labels, slot=slot) for file, slot in zip(files, FURTHER, strict=False)]
    return None not in found


def read_every_model(reading: Reading) -> None:
    """Read every model of a file that holds several, the first in the slot of the file."""
    for slot, (name, option) in zip((PENDING, *FURTHER), several_models(reading).items(), strict=False):
        roles = guess_roles(reading.table, Given(score=(name,)) if option == "score" else Given(model=name))
        part = replace(reading, model_name=name, roles=roles, slot=slot)
        st.session_state[slot] = _read(part, part.tables, roles)


def several_models(reading: Reading) -> dict[str, str]:
    """Return the option that reads each model of a file that holds several, if no other file is read."""
    return {} if reading.roles is None or further() else models_in(reading.roles.choices)


def further() -> list[Reading]:
    held = map(st.session_state.get, FURTHER)
    return [reading for reading in held if reading is not None]


def pending() -> bool:
    """Whether an upload was read, and neither used nor dismissed."""
    reading = st.session_state.get(PENDING)
    return reading is not None and st.session_state.get("in_use", (None,))[0] is not reading


def dismiss(*, every: bool = True) -> None:
    """Forget the upload that was read, or only its further models."""
    for reading in further():
        del st.session_state[reading.slot]
    if every:
        st.session_state.pop(PENDING, None)


def _read(reading: Reading, files: Sequence[Any], roles: Roles | None, progress: Any = None) -> Reading:
    """Read and examine files, or tables that were read before, in another process."""
    tables, roles, reports = read_files(files, roles=roles, progress=progress)
    return replace(reading, tables=tuple(tables), roles=roles, reports=reports, refusal="")


def in_words(fix: Effect) -> str:
    """Return the effect of a fix, after its code without underscores."""
    return f"{fix.code.replace('_', ' ')}: {fix}"


def without_labels(reading: Reading) -> tuple[BasePrediction, bool]:
    """Return the rows of an upload without unusable labels, and whether there were any."""
    report = reading.reports["evaluation"]
    unusable = any(finding.code in LABEL_CODES for finding in report.errors)
    raw = replace(report.raw, labels=None) if unusable else report.raw
    return raw.rows().without_votes(), unusable


def why_not(reading: Reading) -> str:
    """Return why an upload cannot be used as data for every page, or ""."""
    if reading.refusal:
        return reading.refusal
    for part, report in reading.reports.items():
        for finding in report.errors:
            message = finding.message[:1].upper() + finding.message[1:]
            return f"{message} Apply the fix below." if finding.fix is not None else message
        if any(finding.code == "labels_missing" for finding in report.findings):
            where = "" if part == "evaluation" else f" of the {part} rows"
            return f"No column holds the true class{where}. Add one, or drop a file of labels here."
    return ""


def accepted(reading: Reading, split: float) -> Dataset:
    """Return the upload, with its further models, as data for every page."""
    readings = {model.model: model for model in (reading, *further())}
    if len(readings) <= len(further()):
        raise InputError("two models have the same name; models are named after files: rename a file")
    given = {name: given_rows(file) for name, file in readings.items()}
    how, drawn = "calibration and evaluation rows as uploaded", None
    if all(isinstance(rows, tuple) for rows in given.values()):
        pairs = pairs_of_models(given)
    else:
        pairs = {name: (None, rows) for name, rows in on_common_rows(given).items()}
        how, drawn = "all rows count", split or None
        if split:
            how += f"; calibrators are chosen on {split:.0%}, drawn at random within each class (seed 0)"
    pairs = {
        name: (calibration and rows_that_count(calibration), rows_that_count(rows))
        for name, (calibration, rows) in pairs.items()
    }
    several = len(pairs) > 1
    log = tuple(
        f"{f'{name}, ' if several else ''}{part} rows: {in_words(fix)}"
        for name, file in readings.items()
        for part, report in file.reports.items()
        for fix in report.fixes
    )
    name, about = " | ".join(dict.fromkeys(file.name for file in readings.values())), f"Uploaded: {how}."
    calibration, rows = next(iter(pairs.values()))
    origin: dict[str, Any] = {"split": drawn, "model": reading.model}
    if several:
        return Dataset(name, about, False, calibration, rows, log=log, models=pairs, **origin)
    codes = {part: tuple(fix.code for fix in report.fixes) for part, report in reading.reports.items()}
    origin |= {"roles": reading.roles, "upload": Upload(reading.files, codes)}
    return Dataset(name, about, False, calibration, rows, log=log, **origin)


def given_rows(reading: Reading) -> BasePrediction | tuple[BasePrediction, BasePrediction]:
    """Return the rows of an upload, or its (calibration, evaluation) rows if it names both."""
    rows = reading.reports["evaluation"].rows()
    calibration = reading.reports["calibration"].rows() if "calibration" in reading.reports else None
    if rows.labels is None:
        raise InputError("there are no true labels; add a label column or upload a file of labels")
    if calibration is None:
        return rows
    if calibration.labels is None:
        raise InputError("the calibration rows have no true labels; add them or remove the calibration file")
    try:
        rows, calibration = in_common_classes(rows, calibration)
    except InputError as error:
        raise InputError(f"the calibration rows do not fit the evaluation rows: {error}") from None
    return calibration, rows


def take_up_again(data: Dataset) -> None:
    """Examine the files of the data again, with their roles and accepted fixes, to change them."""
    assert data.upload is not None, "the page offers it for uploads only"
    key = (AGAIN, data.digest, None, None)
    files = data.upload.files
    reading = _read(Reading(key, data.name, (), files, {}, None), files, data.roles)
    reports = dict(reading.reports)
    for part, codes in data.upload.accepted.items():
        for code in codes:
            if part in reports and code in reports[part].codes:
                reports[part] = reports[part].fix(code)
    st.session_state[PENDING] = replace(reading, reports=reports)
    st.session_state["in_use"] = (st.session_state[PENDING], data)


def taken_up_again() -> Reading | None:
    """Return the examination of `take_up_again`, until it is dismissed or another file is uploaded."""
    reading: Reading | None = st.session_state.get(PENDING)
    return reading if reading is not None and reading.key[0] == AGAIN else None


def examine_again(reading: Reading) -> None:
    """Examine an upload again with its present roles of columns, without fixes."""
    try:
        st.session_state[reading.slot] = _read(reading, reading.tables, reading.roles)
        st.rerun()
    except InputError as error:
        st.error(f"These columns cannot be used: {escaped(error)}")
