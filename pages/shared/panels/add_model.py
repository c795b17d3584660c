"""Adding another model: its predictions for the rows that are loaded."""

from __future__ import annotations

import streamlit as st

from calib import InputError
from calib.data.several_models import like_rows
from pages.shared.panels.findings import show_faults
from pages.shared.session import add_model, dataset
from pages.shared.uploads import given_rows, read
from pages.shared.widgets import ARROW, escaped


def offer_model_upload() -> None:
    """Show the upload; a file about other rows is refused with the reason."""
    st.markdown(
        "Upload its predictions, with labels, for the same rows: matched by id if both files have ids, "
        "else in the same order. Classes are matched by name."
    )
    other = st.file_uploader("Predictions of another model", key="other-model")
    reading = None if other is None else read(other, slot="other-reading")
    if reading is not None:
        show_faults(reading, labelled=True)
    if st.button("Add this model", disabled=reading is None) and reading is not None:
        data = dataset()
        try:
            wanted, names = (data.calibration, data.evaluation), (data.model or data.name, reading.model)
            split = None if data.calibration is None else data.split
            add_model(reading.model, like_rows(given_rows(reading), wanted, names, split))
            st.rerun()
        except InputError as error:
            st.error(f"Not added: {escaped(error)}")
    if len(dataset().models) > 1:
        st.page_link(
            "pages/views/repair.py",
            label="Compare the models",
            icon=ARROW,
            query_params={"repair_tab": "Candidates"},
        )
