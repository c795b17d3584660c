"""Label shift on the Apply page: a calibrator corrected for the class shares of the new rows, if asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from sklearn.base import BaseEstimator

from calib import InputError, LabelShiftCorrection
from calib.calibrators.label_shift import LabelShift, as_shares, known_shift, with_weights
from calib.data.predictions import BinaryPrediction, Predictions
from calib.files.saved import dumps
from pages.shared.needs import weights_refused
from pages.shared.widgets import download, escaped

#: What can be corrected.
Scored = Predictions | BinaryPrediction
AS_BEFORE, KNOWN = "As in calibration", "Known"
METHODS = {AS_BEFORE: None, KNOWN: "known", "Estimated by EM": "em", "Estimated by BBSE": "bbse"}
ASSUMES = (
    "**This assumes label shift**: only the shares of the classes differ, and rows of each class look as "
    "they do in calibration. New rows without labels cannot show whether that is so. If it is not, the "
    "correction can make calibrated probabilities much worse. Guarantees of the calibrator do not carry over."
)


def corrected(calibrator: BaseEstimator, predictions: Scored, calibration: Scored | None) -> BaseEstimator:
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
        st.info(f"No correction: {escaped(error)}")
        return calibrator
    names = predictions.class_names
    if method != "known":
        table = shift.frame(names)
        st.markdown(f"Class shares estimated from {shift.n_target:,} rows. {shift.sentence}")
        st.dataframe(table.style.format(precision=3), hide_index=True)
        download(table, "class-shares")
    st.markdown(ASSUMES)
    made = with_weights(calibrator, shift)
    st.download_button(
        "Download the calibrator with this correction",
        dumps(made, class_names=names if "vector" in predictions.has else None),
        "corrected.json",
        "application/json",
        key="corrected-json",
    )
    return made


def _known(predictions: Scored, calibration: Scored | None) -> LabelShift:
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
        as_shares(edited[name], n_classes, None, f"column {name}") for name in ("before", "new")
    )
    return known_shift(source, target)
