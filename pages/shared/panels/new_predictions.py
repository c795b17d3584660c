"""The last step of Repair: calibrate new predictions, whose labels nobody knows yet, and download them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from sklearn.base import BaseEstimator

from calib import HistogramBinning, InputError, LabelShiftCorrection, MulticlassToBinary, metrics
from calib.answers.calibrated import applied_frame, with_input
from calib.answers.guarantee_cards import guarantee_card
from calib.answers.metric_tables import Assessment, methods_of, metric_intervals
from calib.calibrators import label_shift
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.catalogue import full_name, name_of
from calib.calibrators.multiclass import as_multiclass
from calib.data.equal_rows import overlap
from calib.data.predictions import BasePrediction, BinaryPrediction, Predictions
from calib.evidence.rows import Rows
from calib.files.saved import aligned, dumps
from calib.files.saved.document import matched_by_position
from pages.shared import widgets as ui
from pages.shared.needs import weights_refused
from pages.shared.panels.findings import show_faults
from pages.shared.session import Method, dataset, on_all_rows
from pages.shared.uploads import Reading, read, read_once, without_labels
from pages.shared.work import compute

PREVIEW_ROWS = 100
#: What can be corrected.
Scored = Predictions | BinaryPrediction
AS_BEFORE, KNOWN = "As in calibration", "Known"
METHODS = {AS_BEFORE: None, KNOWN: "known", "Estimated by EM": "em", "Estimated by BBSE": "bbse"}
ASSUMES = (
    "**This assumes label shift**: only the shares of the classes differ, and rows of each class look as "
    "they do in calibration. New rows without labels cannot show whether that is so. If it is not, the "
    "correction can make calibrated probabilities much worse. Guarantees of the calibrator do not carry over."
)


def show_new_predictions(after: Method | None) -> None:
    """Ask for new predictions, and calibrate them with a calibrator of the session or from a file."""
    left, right = st.columns(2)
    upload = left.file_uploader("New predictions, scored as the calibrator was fitted on", key="apply-file")
    file = right.file_uploader(
        "Another calibrator (JSON)" if after else "Calibrator file (JSON)", type="json", key="calibrator-file"
    )
    calibrator, fitted_on = None, None
    try:
        if file is not None:
            calibrator = fitted_on = read_once("calibrator", file)
            with right:
                _describe(calibrator)
        elif after is not None:
            calibrator, fitted_on = on_all_rows(after)
            rows = 0 if fitted_on is None else fitted_on.n_samples
            right.caption(f"{ui.literal(after.name)} as above, fitted on {rows:,} rows.")
    except InputError as error:
        right.error(ui.escaped(error))
    reading = None if upload is None else read(upload, slot="apply-reading")
    if reading is None or not show_faults(reading, labelled=False):
        return
    if calibrator is None:
        st.info("Choose a calibrator above, or upload its file.")
        return
    predictions, dropped_labels = without_labels(reading)
    if dropped_labels:
        st.caption("Labels in this file cannot be used; calibrating needs none.")
    try:
        if file is None:  # a calibrator of this session expects the loaded data's order of columns
            predictions = predictions.in_order_of(dataset().evaluation.class_names)
        _show_calibrated(calibrator, fitted_on, reading, predictions, own=file is None)
    except InputError as error:
        st.error(f"The calibrator does not fit these predictions: {ui.escaped(error)}")


def _describe(calibrator: BaseEstimator) -> None:
    """Describe a calibrator from a file: its classes, the rows and time of its fit, and its promise."""
    names, origin = getattr(calibrator, "class_names_", None), getattr(calibrator, "fitted_on_", None)
    known = origin is not None and origin.n_samples is not None
    lines = [f"**{full_name(calibrator)}** ({name_of(calibrator)})"]
    if names:
        listed = ", ".join(ui.literal(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
        lines.append(f"{len(names):,} classes: {listed}")
    if origin is not None:
        rows = f"{origin.n_samples:,}" if known else "an unknown number of"
        lines.append(f"fitted on {rows} rows; saved {origin.date[:10]} by calib {origin.calib_version}")
        lines += [f"fixed in its rows: {ui.escaped(line)}" for line in origin.log[:3]]
    described = calibrator
    if isinstance(calibrator, BinaryCalibrator):
        described = as_multiclass(calibrator, origin) if known else None
    if isinstance(described, MulticlassToBinary):
        lines.append(guarantee_card(described, 0.1, choices=getattr(origin, "choices", None)).words())
    elif isinstance(calibrator, HistogramBinning):
        lines.append("its guarantee is not known: the file does not say on how many rows it was fitted")
    else:
        lines.append("no distribution-free guarantee")
    st.markdown("\n".join(f"- {line}" for line in lines))


def _show_calibrated(
    calibrator: BaseEstimator,
    fitted_on: BaseEstimator | BasePrediction | None,
    reading: Reading,
    predictions: BasePrediction,
    *,
    own: bool,
) -> None:
    by_position = "vector" in predictions.has and matched_by_position(
        predictions, dataset().evaluation if own else calibrator
    )
    predictions = aligned(predictions, calibrator)
    names = getattr(calibrator, "class_names_", None) or predictions.class_names
    if predictions.has & {"vector", "event"}:
        calibrator = _corrected(calibrator, predictions, fitted_on if own else None)
    table = applied = applied_frame(calibrator, predictions, names)
    columns, kept = reading.table.columns, ~reading.reports["evaluation"].raw.abstained
    if columns and len(kept) == reading.table.n_rows and kept.sum() == len(table):
        table = with_input(columns, applied, kept)
    _show_change(applied, predictions)
    if by_position:
        st.warning(
            "Columns are matched by position, because the file or the calibrator names no classes: the first "
            f"column is read as {ui.literal(names[0])}, the second as {ui.literal(names[1])}, and so on."
        )
    elif "vector" in predictions.has:
        st.caption("Columns are matched by the names of the classes.")
    if predictions.labels is not None:
        if (used := overlap(predictions, fitted_on)) is not None:
            st.warning(f"{used.words.capitalize()}: the numbers below promise nothing for new rows.")
        shown = []
        for name, evidence in methods_of(Rows(predictions), {"Calibrated": calibrator}).items():
            numbers = compute("Computing metrics", metrics, evidence)
            ends = compute("Computing intervals", metric_intervals, evidence, numbers)
            shown.append(Assessment(name, numbers, ends))
        ui.before_and_after(shown)
    st.dataframe(table.head(PREVIEW_ROWS).style.format(precision=4), hide_index=True, height=320)
    with st.container(horizontal=True):
        ui.download(table, "calibrated", label="Calibrated predictions (CSV)")
        ui.offer(
            "Calibrated predictions (Parquet)",
            ui.made(lambda: table.to_parquet(index=False), table),
            "calibrated.parquet",
            "application/vnd.apache.parquet",
        )
    if len(table) > PREVIEW_ROWS:
        st.caption(f"The first {PREVIEW_ROWS} rows are shown; the file holds all, with all of its columns.")


def _show_change(applied: pd.DataFrame, predictions: BasePrediction) -> None:
    what = "confidence"
    if isinstance(predictions, BinaryPrediction):
        what = "probability"
        change = np.abs(applied[f"p({predictions.positive})"] - applied["score"])
    else:
        change = np.abs(applied.filter(regex="^calibrated(_1)?$").iloc[:, 0] - applied["confidence"])
    left_out = ""
    if predictions.coverage < 1.0:
        left_out = f" {1 - predictions.coverage:.1%} of the rows hold no answer and are left out."
    st.markdown(
        f"{len(applied):,} rows; on average the {what} changes by **{change.mean():.3f}**, "
        f"at most by {change.max():.3f}.{left_out}"
    )


def _corrected(calibrator: BaseEstimator, predictions: Scored, calibration: Scored | None) -> BaseEstimator:
    """Offer the correction; return the calibrator, corrected if the user asks for it.

    `calibration` are the labelled rows of the session that it was fitted on. If it is None, and for P(Y = 1),
    shares can be given but not estimated.
    """
    estimable = "vector" in predictions.has and calibration is not None
    shown = list(METHODS) if estimable else [AS_BEFORE, KNOWN]
    method = METHODS[
        st.segmented_control("Class shares of the new rows", shown, default=AS_BEFORE, required=True)
    ]
    if method is None:
        return calibrator
    if "vector" in predictions.has and not hasattr(calibrator, "predict_proba"):
        st.info(
            "The correction needs a probability for every class. Choose a scaling, or class-wise calibration "
            "with normalised rows."
        )
        return calibrator
    try:
        if method == "known":
            shift = _known(predictions, calibration)
        else:
            if calibration.sample_weight is not None:
                raise InputError(weights_refused("The correction for label shift"))
            correction = LabelShiftCorrection(method=method)
            correction.fit(calibrator.predict_proba(calibration.proba), calibration.labels)
            shift = correction.adapt(calibrator.predict_proba(predictions.proba))
    except InputError as error:
        st.info(f"No correction: {ui.escaped(error)}")
        return calibrator
    names = predictions.class_names
    if method != "known":
        table = shift.frame(names)
        st.markdown(f"Class shares estimated from {shift.n_target:,} rows. {shift.sentence}")
        st.dataframe(table.style.format(precision=3), hide_index=True)
        ui.download(table, "class-shares")
    st.markdown(ASSUMES)
    made = label_shift.with_weights(calibrator, shift)
    st.download_button(
        "Download the calibrator with this correction",
        dumps(made, class_names=names if "vector" in predictions.has else None),
        "corrected.json",
        "application/json",
        key="corrected-json",
    )
    return made


def _known(predictions: Scored, calibration: Scored | None) -> label_shift.LabelShift:
    """Ask for the shares of the classes, before and among the new rows."""
    n_classes = len(predictions.class_names)
    before = np.full(n_classes, 1.0 / n_classes)
    if calibration is not None:
        before = np.bincount(calibration.labels, minlength=n_classes) / len(calibration.labels)
    st.caption(
        "Enter the class shares that the model was trained on, which undersampling and class weights change, "
        "and the true shares among the new rows."
    )
    shares = pd.DataFrame({"class": predictions.class_names, "before": before, "new": before})
    edited = st.data_editor(shares, hide_index=True, disabled=["class"], key="known-shares")
    source, target = (
        label_shift.as_shares(edited[name], n_classes, None, f"column {name}") for name in ("before", "new")
    )
    return label_shift.known_shift(source, target)
