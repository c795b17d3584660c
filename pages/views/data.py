"""Data: choose a built-in example or upload predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile as File

from calib import InputError, accuracy
from calib.data.predictions import MultilabelPrediction, assessed_as_stated
from calib.datasets import EXAMPLE_TITLES
from calib.diagrams.row_lists import row_table
from pages.shared import uploads
from pages.shared import widgets as ui
from pages.shared.isolation import reader
from pages.shared.isolation.limits import release
from pages.shared.panels import saved_files
from pages.shared.panels.findings import show_faults, show_file, show_findings, show_roles
from pages.shared.session import Dataset, dataset, from_example, use

PREVIEW_ROWS = 5
#: Fields for files.
UPLOADS = ("up", "up-labels", "up-calibration", "up-calibration-labels")
#: Tables that can be read, each in three rows.
LAYOUTS = {
    "Probabilities": {
        "p_cat": [0.9, 0.2, 0.3],
        "p_dog": [0.1, 0.7, 0.3],
        "p_fox": [0.0, 0.1, 0.4],
        "label": ["cat", "dog", "cat"],
    },
    "Predicted class": {
        "predicted": ["cat", "dog", "fox"],
        "confidence": [0.9, 0.7, 0.4],
        "label": ["cat", "dog", "cat"],
    },
    "One probability": {"score": [0.9, 0.2, 0.4], "label": [1, 0, 0]},
}
SAMPLE_ROWS = 300


def forget_removed() -> None:
    """Forget the further models of an upload if its files change, and the upload if no file is left."""
    uploads.dismiss(every=not st.session_state["up"])


def choose_example() -> None:
    use(from_example(st.session_state["choice"]))


def look_at_class() -> None:
    shown, name = dataset(), st.session_state["one-class"]
    use(shown.changed(lambda rows: assessed_as_stated(rows.of_class(name)), name=f"{shown.name}: {name}"))


def show_several(rows: MultilabelPrediction) -> None:
    st.markdown("Several classes can be true of a row. Most pages are about one class at a time:")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.selectbox("Class", rows.class_names, key="one-class")
    right.button("Look at this class", on_click=look_at_class, icon=":material/filter_alt:")


def show_preview() -> None:
    evidence = data.evidence
    first = np.arange(min(PREVIEW_ROWS, evidence.n_samples))
    st.dataframe(row_table(evidence, which=first, by=-np.arange(evidence.n_samples)), hide_index=True)
    st.caption(f"The first {len(first)} evaluation rows.")


def show_uploads(data: Dataset) -> tuple[bool, bool]:
    """Show the fields for files, and what is in them; return whether they are in use, and if not, refused.

    Files that can be used are in use at once. They are not variables of the page, because the callbacks of
    widgets would keep them in memory.
    """
    left, right = st.columns(2)
    files = left.file_uploader(
        "Predictions (with labels), a project, or a summary",
        key="up",
        on_change=forget_removed,
        accept_multiple_files=True,
        help="Several files: predictions of one model each, for the same rows.",
    )
    evaluation = files[0] if files else None
    put = st.session_state.get("in_use", (None, None))
    if not files and put[0] is st.session_state.get(uploads.PENDING):  # perhaps after a file that was refused
        for model in (*put, (), ())[3]:
            st.session_state.setdefault(model.slot, model)
    labels = right.file_uploader("Labels, if they are in a separate file", key="up-labels")
    answer = st.container()
    with st.expander("Calibration rows"):
        st.markdown(
            "Calibrators are fitted on rows the model was not trained on. Upload them, or let calib set "
            "aside a share of the file above."
        )
        left, right = st.columns(2)
        calibration = left.file_uploader("Calibration predictions", key="up-calibration")
        calibration_labels = right.file_uploader("Calibration labels", key="up-calibration-labels")
        share = st.slider(
            "Share set aside if you upload none (%)", 0, 90, 50, 5, key="split", persist_state="session"
        )
    reading, complete = None, True
    with answer:  # beside the fields, on the first screen
        if evaluation is not None and saved_files.is_summary_file(evaluation):
            saved_files.show_summary(evaluation)
        elif evaluation is not None and saved_files.is_project_file(evaluation):
            saved_files.show_project(evaluation)
            reading = uploads.taken_up_again()
        else:
            reading = uploads.read(evaluation, labels, calibration, calibration_labels)
            complete = uploads.read_further(files[1:], labels)
    against = (
        "" if reading is None else next(filter(None, map(uploads.why_not, (reading, *uploads.further()))), "")
    )
    open_choice = reading is not None and reading.roles is not None and bool(reading.roles.choices)
    usable = reading is not None and complete and not against and not open_choice
    used = reading is not None and put[0] is reading and put[1] is data
    with answer:
        if usable and put[:1] + put[2:] not in ((reading,), wanted(reading, share)):
            put_in_use(reading, share)
        if against:
            st.error(f"This file cannot be used yet: {ui.escaped(against)}")
            st.caption(f"{ui.literal(data.name)} is still on every page.")
        if usable and not used and st.button("Use these files", type="primary"):
            put_in_use(reading, share)
        if reading is not None:
            show_state(reading, used=used, missing=evaluation is None)
    if reading is not None:
        show_roles(reading, opened=bool(against) or open_choice)
        show_findings(reading)
        show_file(reading, data)
        for other in uploads.further():
            st.markdown(f"Further model: {ui.literal(other.model)}")
            show_faults(other, labelled=True)
    return used, bool(against) or open_choice


def wanted(reading: uploads.Reading, share: int) -> tuple[Any, ...]:
    """Return the upload, the share for calibration if it is to be divided, and its further models."""
    return reading, None if "calibration" in reading.reports else share, uploads.further()


def put_in_use(reading: uploads.Reading, share: int) -> None:
    found, *how = wanted(reading, share)
    try:
        use(uploads.accepted(reading, share / 100))
    except InputError as error:
        st.session_state["in_use"] = (found, None, *how)
        st.error(f"Not loaded: {ui.escaped(error)}")
        st.caption("The data loaded before are still in use.")
        return
    st.session_state["in_use"] = (found, dataset(), *how)
    release([file for key in UPLOADS for file in uploaded(key)])
    st.rerun()


def uploaded(key: str) -> list[File]:
    files = st.session_state.get(key) or []
    return files if isinstance(files, list) else [files]


def show_state(reading: uploads.Reading, *, used: bool, missing: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if not used and missing:
            st.text(f"{', '.join(file.name for file in (reading, *uploads.further()))}, uploaded earlier")
            st.button("Dismiss this file", on_click=uploads.dismiss, icon=":material/close:")
        elif used:
            st.success(f"{ui.escaped(data.name)} is on every page.")
            st.page_link("pages/views/overview.py", label="What Overview concludes", icon=ui.ARROW)
            if data.models:
                st.page_link(
                    "pages/views/repair.py",
                    label="Which model is better",
                    icon=ui.ARROW,
                    query_params={"repair_tab": "Candidates"},
                )


def show_layouts() -> None:
    for tab, table in zip(st.tabs(list(LAYOUTS)), LAYOUTS.values(), strict=True):
        tab.table(pd.DataFrame(table).astype(str), hide_index=True, width="content")
    rows = from_example("resnet").evaluation.take(slice(0, SAMPLE_ROWS))
    sample = pd.DataFrame(rows.proba, columns=[f"p_{name}" for name in rows.class_names]).round(4)
    sample["label"] = np.asarray(rows.class_names, dtype=object)[rows.labels]
    ui.download(sample, "calib-sample", label="A sample file (simulated)")
    st.caption(
        "CSV, TSV, JSON, Parquet, Feather, NPY or NPZ, also projects and summaries of calib. Files stay in "
        "this session's memory; none is saved."
    )


ui.heading(
    "Data", "Choose or upload predicted probabilities and true labels. Every other page is about them."
)
reader.pool.start()
data = dataset()
used, refused = show_uploads(data)
if data.example is not None and not uploads.pending():
    show_layouts()
names = list(EXAMPLE_TITLES)
st.session_state["choice"] = data.example or st.session_state.get("choice", names[0])
with st.container(horizontal=True, vertical_alignment="bottom"):
    st.selectbox(
        "Or a built-in example",
        names,
        key="choice",
        format_func=EXAMPLE_TITLES.__getitem__,
        on_change=choose_example,
    )
    if data.example is None:
        st.button("Open this example", on_click=choose_example)

if refused:  # what is on every page stands in the heading
    st.stop()
ui.next_line("Data")
st.header("Loaded data", anchor=False)
st.markdown(
    ui.literal(data.name) + "  \n" + (data.description if data.example else ui.escaped(data.description))
)
saved_files.show_origin(data)
can_change = data.upload is not None and not uploads.pending() and not used
if can_change and st.button("Change columns or fixes", icon=":material/edit:"):
    try:
        uploads.take_up_again(data)
        st.rerun()
    except InputError as error:
        st.error(f"These files cannot be examined again: {ui.escaped(error)}")
rows = data.evaluation
said = [f"**{rows.n_samples:,}** evaluation rows"]
if data.calibration is not None:
    said.append(f"**{data.calibration.n_samples:,}** calibration rows")
if "classes" in data.kind.has:
    said.append(f"**{rows.n_classes:,}** classes")
if rows.coverage < 1.0:
    said.append(f"**{rows.coverage:.1%}** of the rows answered")
if "every label" in data.kind.has:
    said.append(f"**{rows.labels.sum(axis=1).mean():.3g}** true classes a row")
else:
    said.append(f"accuracy **{accuracy(data.evidence):.3f}**{', weighted' * data.evidence.is_weighted}")
st.markdown(", ".join(said))
if data.has_rows and data.evidence.is_weighted:
    st.markdown("The rows have weights. Numbers that cannot use them say so.")
    st.button("Count every row once", on_click=lambda: use(data.changed(lambda rows: rows.unweighted())))
if data.event is not None:
    other = ui.literal(rows.class_names[0])
    st.markdown(f"The score is the probability of {ui.literal(data.event)}; the other class is {other}.")
    if data.has_rows:
        switch = f"Look at the probability of {other} instead"
        st.button(switch, on_click=lambda: use(data.changed(lambda rows: rows.switched())))
if "every label" in data.kind.has:
    show_several(rows)
tabs = {"Project": saved_files.offer_project}
if data.has_rows and "every label" not in data.kind.has and not used:  # they stand above
    tabs = {"Rows": show_preview, **tabs}
ui.show_tabs(tabs, "data_tab")
