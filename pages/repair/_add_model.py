"""Adding another model: its predictions for the same evaluation rows."""

from __future__ import annotations

import streamlit as st

from calib import InputError, Predictions, read_predictions
from pages._session import Method, dataset, keep


def add_model() -> None:
    """Show the upload; a file that is not about the same rows is refused with the reason."""
    with st.expander("Add another model"):
        st.markdown("Its predictions for the same evaluation rows, in the same order, with labels.")
        other = st.file_uploader("Predictions of another model", key="other-model")
        if st.button("Add this model", disabled=other is None):
            try:
                keep(Method(other.name, same_rows(read_predictions(other)), "uniform", other.file_id))
            except InputError as error:
                st.error(f"Not added: {error}")


def same_rows(rows: Predictions) -> Predictions:
    """Return predictions that are about the evaluation rows, or raise InputError with the reason."""
    loaded = dataset().evaluation
    if rows.proba.shape != loaded.proba.shape:
        raise InputError(
            f"it has {rows.n_samples:,} rows and {rows.n_classes:,} classes; the loaded model has "
            f"{loaded.n_samples:,} and {loaded.n_classes:,}"
        )
    if rows.labels is not None and (rows.labels != loaded.labels).any():
        raise InputError("its true labels differ from the loaded ones, so these are not the same rows")
    return rows
