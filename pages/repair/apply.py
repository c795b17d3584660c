"""Apply: a calibrator file and new predictions in, calibrated predictions out."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib import InputError, summarize
from calib.assessment.summary import applied_frame, assessment, calibrated_scores
from calib.persistence import aligned, loads
from pages.shared.panels.findings import show_faults
from pages.shared.session import dataset, methods
from pages.shared.uploads import read, without_labels
from pages.shared.widgets import before_and_after, download, heading, offer, plain

PREVIEW_ROWS = 100

heading("Apply", "Send new predictions, with or without labels, through a fitted calibrator.")
data = dataset()
known = {name: method.calibrator for name, method in methods().items() if method.calibrator is not None}
left, right = st.columns(2)
source = left.segmented_control(
    "Calibrator", ["From a file", "Fitted in this session"], default="From a file", required=True
)
calibrator = None
try:
    if source == "From a file":
        uploaded = left.file_uploader("Calibrator file (JSON)", type="json", key="calibrator-file")
        if uploaded is not None:
            calibrator = loads(uploaded.getvalue())
    elif known:
        calibrator = known[left.selectbox("Fitted calibrator", list(known))]
    else:
        left.info("None is fitted: the Calibrate page fits one.")
except InputError as error:
    left.error(plain(error))
new = right.file_uploader("New predictions (probabilities per class)", key="apply-file")
reading = None if new is None else read(new, place="apply-reading")
predictions = None
if reading is not None and show_faults(reading, labelled=False):
    predictions, left_out = without_labels(reading)
    if left_out:
        st.info("The labels in this file cannot be used as they are (see above), so they are left out.")
if calibrator is None or predictions is None:
    st.info(
        "Choose a calibrator and upload predictions: the calibrated ones appear here."
        if reading is None or predictions is not None
        else "These predictions cannot be used yet: see above what is wrong with them."
    )
    st.stop()
try:
    if source != "From a file":  # calibrators of this session follow the loaded columns
        predictions = predictions.in_order_of(data.evaluation.class_names)
    predictions = aligned(predictions, calibrator)
    names = getattr(calibrator, "class_names_", None) or predictions.class_names
    table = applied_frame(calibrator, predictions, names)
except InputError as error:
    st.error(f"These two do not fit together: {plain(error)}")
    st.stop()

st.subheader("Calibrated predictions", anchor=False)
moved = np.abs(table.filter(regex="^calibrated(_1)?$").iloc[:, 0] - table["confidence"])
st.markdown(
    f"{len(table):,} rows; on average the confidence moves by **{moved.mean():.3f}**, "
    f"at most by {moved.max():.3f}."
)
if predictions.labels is not None:
    rows = [
        summarize(predictions.labels, predictions),
        summarize(
            predictions.labels,
            calibrated_scores(calibrator, predictions),
            method="Calibrated",
            strategy=assessment(calibrator),
        ),
    ]
    before_and_after(rows)
st.dataframe(table.head(PREVIEW_ROWS).style.format(precision=4), hide_index=True)
st.caption(f"The first {min(PREVIEW_ROWS, len(table)):,} of {len(table):,} rows.")
with st.container(horizontal=True):
    download(table, "calibrated", label="Calibrated predictions (CSV)", key="apply-csv")
    offer(
        "Calibrated predictions (Parquet)",
        lambda: table.to_parquet(index=False),
        "calibrated.parquet",
        "application/vnd.apache.parquet",
    )
