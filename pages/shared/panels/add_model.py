"""Adding another model: its predictions for the same evaluation rows."""

from __future__ import annotations

import streamlit as st

from calib import InputError, Predictions
from pages.shared.panels.findings import show_faults
from pages.shared.session import BASE, add_model, dataset, methods
from pages.shared.uploads import read, rows_of
from pages.shared.widgets import escaped


def offer_model_upload() -> None:
    """Show the upload; a file about other rows is refused with the reason."""
    with st.expander("Add another model"):
        st.markdown(
            "Upload its predictions for the same evaluation rows, in the same order, with labels."
            + (
                " A file with all rows of your first upload is split in the same way."
                if dataset().split is not None
                else ""
            )
        )
        other = st.file_uploader("Predictions of another model", key="other-model")
        reading = None if other is None else read(other, slot="other-reading")
        if reading is not None:
            show_faults(reading, labelled=True)
        if st.button("Add this model", disabled=reading is None) and reading is not None:
            try:
                existing = methods().get(reading.name)
                if existing is not None and (existing.calibrator is not None or existing.name == BASE):
                    raise InputError("a method with this name already exists; rename the file")
                rows = same_rows(rows_of(reading.reports["evaluation"]))
                key = f"{dataset().evaluation.fingerprint}/{rows.fingerprint}"
                add_model(reading.name, rows, key)
                st.success("Added.")
            except InputError as error:
                st.error(f"Not added: {escaped(error)}")


def same_rows(rows: Predictions) -> Predictions:
    """Return predictions for the evaluation rows, or raise InputError with the reason.

    If calib drew calibration rows from the upload, a file with as many rows as the upload is split by the
    same draw.
    """
    data = dataset()
    loaded, calibration = data.evaluation, data.calibration
    if rows.n_classes != loaded.n_classes:
        raise InputError(f"it has {rows.n_classes:,} classes; the loaded model has {loaded.n_classes:,}")
    rows = rows.in_order_of(loaded.class_names)
    if rows.labels is None:
        raise InputError(
            "it has no true labels, so calib cannot check that these are the same rows; add them"
        )
    total = loaded.n_samples + (calibration.n_samples if calibration is not None else 0)
    if data.split is not None and rows.n_samples == total:
        rows = rows.split(data.split, random_state=0)[1]
    if rows.n_samples != loaded.n_samples:
        raise InputError(
            f"it has {rows.n_samples:,} rows; the loaded model has {loaded.n_samples:,} evaluation rows"
            + (f" of {total:,} in its file" if data.split is not None else "")
        )
    if (rows.labels != loaded.labels).any():
        raise InputError("its true labels differ from the loaded ones, so these are not the same rows")
    return rows
