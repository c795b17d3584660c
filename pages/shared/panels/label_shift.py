"""Label shift on the Apply page: a calibrator corrected for the class shares of the new rows, if asked."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib import InputError, LabelShiftCorrection, Predictions
from calib.calibrators import CorrectedCalibrator
from calib.data.kinds import check_equal_rows
from pages.shared.widgets import download, escaped

AS_BEFORE = "As in calibration"
METHODS = {AS_BEFORE: None, "Estimated by EM": "em", "Estimated by BBSE": "bbse"}
ASSUMES = (
    "**This assumes label shift**: only the shares of the classes differ, and rows of each class look as "
    "they do in calibration. New rows without labels cannot show whether that is so. Where it is not, the "
    "correction can make calibrated probabilities much worse. Guarantees of the calibrator do not carry over."
)


def corrected(calibrator: Any, predictions: Predictions, calibration: Predictions) -> Any:
    """Offer the correction and return the calibrator, with the correction if the user asks for it."""
    method = METHODS[
        st.segmented_control("Class shares of the new rows", list(METHODS), default=AS_BEFORE, required=True)
    ]
    if method is None:
        return calibrator
    if not hasattr(calibrator, "predict_proba"):
        st.info(
            "The correction needs a probability for every class. Choose a scaling, or class-wise calibration "
            "with normalised rows."
        )
        return calibrator
    try:
        check_equal_rows(calibration, "The correction for label shift")
        correction = LabelShiftCorrection(method=method)
        correction.fit(calibrator.predict_proba(calibration.proba), calibration.labels)
        shift = correction.adapt(calibrator.predict_proba(predictions.proba))
    except InputError as error:
        st.info(f"No correction: {escaped(error)}")
        return calibrator
    st.markdown(f"Class shares estimated from {shift.n_target:,} rows. {shift.sentence} {ASSUMES}")
    table = shift.frame(predictions.class_names)
    st.dataframe(table.style.format(precision=3), hide_index=True)
    download(table, "class-shares", key="class-shares-csv")
    return CorrectedCalibrator(calibrator, shift)
