"""A summary: dropped on the Data page, and then shown on every page."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile as File

from calib import InputError
from calib.scale.summary import Summary
from pages.shared.session import Dataset, dataset, undo, use
from pages.shared.uploads import read_once
from pages.shared.widgets import escaped

#: Ending of an uploaded summary's name: its first bytes are the same as in any gzip file.
ENDING = ".calib.json.gz"
#: Most findings that are listed.
SHOWN = 20


def is_summary_file(file: File) -> bool:
    return bytes(file.getbuffer()[:2]) == b"\x1f\x8b" and file.name.endswith(ENDING)


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
            use(Dataset(file.name, source, False, None, summary, log=_log(summary)))
            st.rerun()
    except InputError as error:
        st.error(f"Not opened: {escaped(error)}")
        st.caption("The data loaded before are still in use.")


def _show_findings(summary: Summary) -> None:
    """List the findings of single rows and of all rows together."""
    for line in (*summary.findings[:SHOWN], *summary.remarks):
        st.text(line)
    if len(summary.findings) > SHOWN:
        st.caption(f"The first {SHOWN} of {len(summary.findings):,} findings.")


def _log(summary: Summary) -> tuple[str, ...]:
    """Return the sentence on rows that were left out."""
    faulty = summary.n_faulty
    return (f"{faulty:,} rows that could not be used were left out",) if faulty else ()
