"""Apply: calibrate new predictions and download the results."""

from __future__ import annotations

import numpy as np
import streamlit as st
from sklearn.base import BaseEstimator

from calib import HistogramBinning, InputError, MulticlassToBinary, metrics
from calib.answers.calibrated import applied_frame, beside_input
from calib.answers.guarantee_cards import guarantee_card
from calib.answers.metric_tables import Assessment, methods_of, metric_intervals
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.catalogue import full_name, name_of
from calib.calibrators.multiclass import as_multiclass
from calib.data.equal_rows import overlap
from calib.evidence.rows import Rows
from calib.files.saved import aligned
from calib.files.saved.document import matched_by_position
from pages.shared import widgets as ui
from pages.shared.isolation import reader
from pages.shared.panels.findings import show_faults
from pages.shared.panels.label_shift_panel import corrected
from pages.shared.panels.recommendation import (
    can_recommend,
    is_awaited,
    open_on,
    recommendation_words,
    recommended,
)
from pages.shared.session import dataset, methods
from pages.shared.uploads import read, read_once, without_labels
from pages.shared.work import compute

PREVIEW_ROWS = 100
#: Where the calibrator comes from.
FILE, SESSION = "From a file", "Fitted in this session"


def show_loaded(calibrator: BaseEstimator, choices: int | None) -> None:
    """Describe the loaded calibrator: its classes, the rows and time of its fit, and its promise.

    `choices` is the number of calibrators from which the same labels chose it; by default as in its file.
    """
    names, origin = getattr(calibrator, "class_names_", None), getattr(calibrator, "fitted_on_", None)
    if source != FILE:
        names = data.evaluation.class_names
    lines = [f"**{full_name(calibrator)}** ({name_of(calibrator)})"]
    if names:
        listed = ", ".join(ui.literal(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
        lines.append(f"{len(names):,} classes: {listed}")
    if origin is not None:
        rows = "an unknown number of" if origin.n_samples is None else f"{origin.n_samples:,}"
        lines.append(f"fitted on {rows} rows; saved {origin.date[:10]} by calib {origin.calib_version}")
        lines += [f"fixed in its rows: {ui.escaped(line)}" for line in origin.log[:3]]
    elif data.calibration is not None:
        lines.append(
            f"fitted in this session on {data.calibration.n_samples:,} rows of {ui.literal(data.name)}"
        )
    described = calibrator
    if isinstance(calibrator, BinaryCalibrator):
        fitted_on = data.calibration if source != FILE else origin
        known = fitted_on is not None and fitted_on.n_samples is not None
        described = as_multiclass(calibrator, fitted_on) if known else None
        choices = origin.choices if source == FILE and origin is not None else choices
    if isinstance(described, MulticlassToBinary):
        lines.append(guarantee_card(described, 0.1, choices=choices).words())
    elif isinstance(calibrator, HistogramBinning):
        lines.append("its guarantee is not known: the file does not say on how many rows it was fitted")
    else:
        lines.append("no distribution-free guarantee")
    st.markdown("\n".join(f"- {line}" for line in lines))


reader.pool.start()
data = dataset()
left, right = st.columns(2)
own = data.example is None and can_recommend()
st.session_state.setdefault("apply-source", SESSION if own or len(methods()) > 1 else FILE)
source = left.segmented_control("Calibrator", [FILE, SESSION], required=True, key="apply-source")
upload = right.file_uploader("New predictions (scores as the calibrator was fitted on)", key="apply-file")
with left:
    recommendation = recommended() if source == SESSION else None
fitted = {name: method.calibrator for name, method in methods().items() if method.calibrator is not None}
# On the Calibrate page, if one comes from there.
chosen = st.session_state.get("chosen", recommendation and recommendation[1])
calibrator, choices = None, None
try:
    if source == FILE:
        file = left.file_uploader("Calibrator file (JSON)", type="json", key="calibrator-file")
        if file is not None:
            calibrator = read_once("calibrator", file)
    elif fitted:
        open_on("apply-fitted", chosen if chosen in fitted else next(iter(fitted)), fitted)
        name = left.selectbox("Fitted calibrator", list(fitted), key="apply-fitted")
        calibrator, choices = fitted[name], methods()[name].choices
    elif recommendation:
        left.markdown(recommendation_words(*recommendation))
    elif not is_awaited():
        left.info("No calibrator is fitted yet. Fit one on the Calibrate page.")
except InputError as error:
    left.error(ui.escaped(error))
if calibrator is not None:
    with left:
        show_loaded(calibrator, choices)
reading = None if upload is None else read(upload, slot="apply-reading")
predictions = None
if reading is not None and show_faults(reading, labelled=False):
    predictions, dropped_labels = without_labels(reading)
    if dropped_labels:
        st.info("The labels in this file cannot be used as they are (see above), so they are left out.")
ui.next_line("Repair")
if calibrator is None or predictions is None:
    st.info(
        f"{'Choose a calibrator and upload' if calibrator is None else 'Upload'} predictions. The calibrated "
        "predictions appear here."
        if reading is None or predictions is not None
        else "These predictions cannot be used yet. The findings above say why."
    )
    st.stop()
fitted_on = calibrator if source == FILE else data.calibration
try:
    if source != FILE:  # a calibrator of this session expects the loaded data's order of columns
        predictions = predictions.in_order_of(data.evaluation.class_names)
    expected = data.evaluation if source != FILE else calibrator
    by_position = "vector" in predictions.has and matched_by_position(predictions, expected)
    predictions = aligned(predictions, calibrator)
    names = getattr(calibrator, "class_names_", None) or predictions.class_names
    if predictions.has & {"vector", "event"}:
        calibrator = corrected(calibrator, predictions, data.calibration if source != FILE else None)
    table = applied = applied_frame(calibrator, predictions, names)
    columns, kept = reading.table.columns, ~reading.reports["evaluation"].raw.abstained
    if columns and len(kept) == reading.table.n_rows and kept.sum() == len(table):
        table = beside_input(columns, applied, kept)
except InputError as error:
    st.error(f"The calibrator does not fit these predictions: {ui.escaped(error)}")
    st.stop()

st.header("Calibrated predictions", anchor=False)
what = "confidence"
if "event" in predictions.has:
    what = "probability"
    change = np.abs(applied[f"p({predictions.positive})"] - applied["score"])
else:
    change = np.abs(applied.filter(regex="^calibrated(_1)?$").iloc[:, 0] - applied["confidence"])
if predictions.coverage < 1.0:
    st.caption(f"{1 - predictions.coverage:.1%} of the rows of the file hold no answer; they are left out.")
if by_position:
    st.warning(
        "Columns are matched by position: the predictions or the calibrator name no classes, so the first "
        f"column is read as {ui.literal(names[0])}, the second as {ui.literal(names[1])}, and so on."
    )
elif "vector" in predictions.has:
    st.caption("Columns are matched by the names of the classes.")
st.markdown(
    f"{len(applied):,} rows; on average the {what} changes by **{change.mean():.3f}**, "
    f"at most by {change.max():.3f}."
)
if predictions.labels is not None:
    if (used := overlap(predictions, fitted_on)) is not None:
        st.warning(f"{used.words.capitalize()}: the numbers below promise nothing for new rows.")
    shown = []
    for name, evidence in methods_of(Rows(predictions), {"Calibrated": calibrator}).items():
        numbers = compute("Computing metrics", metrics, evidence)
        ends = compute("Computing intervals", metric_intervals, evidence, numbers)
        shown.append(Assessment(name, numbers, ends))
    ui.before_and_after(shown)
st.dataframe(table.head(PREVIEW_ROWS).style.format(precision=4), hide_index=True)
added = [name for name in table.columns if name not in reading.table.columns]
st.caption(
    f"The first {min(PREVIEW_ROWS, len(table)):,} of {len(table):,} rows. "
    + (
        f"All columns of the file, in their order, then {', '.join(ui.literal(name) for name in added[:6])}"
        f"{', ...' if len(added) > 6 else ''}."
        if table is not applied
        else ""
    )
)
with st.container(horizontal=True):
    ui.download(table, "calibrated", label="Calibrated predictions (CSV)")
    ui.offer(
        "Calibrated predictions (Parquet)",
        ui.made(lambda: table.to_parquet(index=False), table),
        "calibrated.parquet",
        "application/vnd.apache.parquet",
    )
