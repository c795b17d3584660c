"""Files that calib wrote, dropped on the Data page: a project, which is saved there, and a summary."""

from __future__ import annotations

import io
import re

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile as File

from calib import InputError
from calib.files.readers.roles import Roles
from calib.scale.summary import Summary
from pages.shared import widgets as ui
from pages.shared.needs import show_rows_needed
from pages.shared.panels.findings import taken_for
from pages.shared.session import Dataset, as_project, dataset, open_project, undo, use
from pages.shared.uploads import read_once

#: Bytes of data up to which the file is made before anybody asks for it.
MADE_AT_ONCE = 2_000_000
#: The file by which a project is recognised in its archive's list, which is at the end.
LISTED = re.compile(rb"PK\x01\x02.{42}project\.json", re.DOTALL)
END = 1 << 16
#: Ending of an uploaded summary's name: its first bytes are the same as in any gzip file.
SUMMARY_ENDING = ".calib.json.gz"
#: Most findings that are listed.
SHOWN = 20


def is_project_file(file: File) -> bool:
    content = file.getvalue()  # `getbuffer` copies what can be shared
    return content[:2] == b"PK" and LISTED.search(content[-END:]) is not None


def show_project(file: File) -> None:
    """Show the content of an uploaded project and offer to open it; say so when it is open."""
    if st.session_state.get("project") == (file.file_id, dataset()):
        st.success("This project is open: its data, calibrators and notes are in use on every page.")
        st.page_link("pages/views/overview.py", label="What Overview concludes from it", icon=ui.ARROW)
        return
    try:
        project = read_once("project", file)
        st.markdown("This is a project. It is not in use yet.")
        if st.button("Open this project", type="primary"):
            open_project(project)
            st.session_state["project"] = (file.file_id, dataset())
            st.rerun()
        holds = project.frame()
        filled = holds[holds["holds"] != ""]
        heads = {"what": "In this project", "holds": "What it is"}
        st.dataframe(filled.rename(columns=heads), hide_index=True, height="content")
    except InputError as error:
        st.error(f"Not opened: {ui.escaped(error)}")
        st.caption("The data loaded before are still in use.")


def offer_project() -> None:
    """Offer all of the session as one file, with notes to write."""
    st.markdown(
        "One file with the data, fixes, calibrators, models, settings and your notes. Drop it on this page "
        "to continue. It holds data, never code."
    )
    if show_rows_needed("A project", "keep the summary file itself"):
        return
    st.text_area("Notes", key="notes", persist_state="session", placeholder="What you found, what comes next")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", dataset().name).strip("-.") or "project"
    data = _file() if dataset().size <= MADE_AT_ONCE else _file
    ui.offer("Save project", data, f"{name[:60]}.calib", "application/zip", "secondary", key="project-file")


def _file() -> bytes:
    buffer = io.BytesIO()
    as_project().save(buffer)
    return buffer.getvalue()


def show_origin(data: Dataset) -> None:
    if data.roles is not None:
        elsewhere = data.upload is not None and data.upload.files[1] is not None
        st.text(f"Columns: {in_words(data.roles, labels_elsewhere=elsewhere)}")
    for line in data.log:
        st.text(f"Fixed: {line}")


def in_words(roles: Roles, *, labels_elsewhere: bool = False) -> str:
    by_role: dict[str, list[str]] = {}
    for name, what in taken_for(roles, labels_elsewhere=labels_elsewhere).items():
        by_role.setdefault(what, []).append(name)
    more = {what: f", ... ({len(names):,} columns)" * (len(names) > 3) for what, names in by_role.items()}
    return "; ".join(f"{what}: {', '.join(names[:3])}{more[what]}" for what, names in by_role.items())


def is_summary_file(file: File) -> bool:
    return file.getvalue()[:2] == b"\x1f\x8b" and file.name.endswith(SUMMARY_ENDING)


def show_summary(file: File) -> None:
    """Use an uploaded summary on every page, and say so."""
    try:
        summary = read_once("summary", file)
        if dataset().evaluation is summary:
            st.success(
                "Every page shows this summary. It holds sums, not rows; a page that needs rows says so."
            )
            st.button("Undo", on_click=undo, icon=":material/undo:")
            _show_findings(summary)
            return
        if st.session_state.get("summary-used") != file.file_id or st.button(
            "Use this summary", type="primary"
        ):
            st.session_state["summary-used"] = file.file_id
            source = (
                f"Summary of {summary.source}" if summary.source else "Summary of rows that are elsewhere"
            )
            left_out = f"{summary.n_faulty:,} rows that could not be used were left out"
            log = (left_out,) if summary.n_faulty else ()
            use(Dataset(file.name, source, False, None, summary, log=log))
            st.rerun()
    except InputError as error:
        st.error(f"Not opened: {ui.escaped(error)}")
        st.caption("The data loaded before are still in use.")


def _show_findings(summary: Summary) -> None:
    for line in (*summary.findings[:SHOWN], *summary.remarks):
        st.text(line)
    if len(summary.findings) > SHOWN:
        st.caption(f"The first {SHOWN} of {len(summary.findings):,} findings.")
