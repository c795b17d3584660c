"""Which predictions the simplex page shows, as three classes."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib import InputError
from pages.shared.panels.simplex import MERGE, RENORMALISE, View, three_class_view
from pages.shared.session import DEFAULT_EXAMPLE, dataset, from_example
from pages.shared.widgets import about, need_calibration, plain

BUILT_IN, LOADED = "Three-class example", "Loaded predictions"


def choose_view() -> View:
    """Let the user choose predictions and three classes; stops the page where there is nothing to show."""
    data = dataset()
    start = BUILT_IN if data.example == DEFAULT_EXAMPLE else LOADED
    key = f"source-{data.evaluation.fingerprint}"
    source = st.segmented_control("Predictions", [BUILT_IN, LOADED], default=start, required=True, key=key)
    if source == BUILT_IN:
        data = from_example("three-classes")
        about(data)
        st.caption(data.description)
    else:
        about(data)
        need_calibration("Binning the simplex")
    rows, calibration = data.evaluation, data.calibration
    assert calibration is not None
    if rows.n_classes < 3:
        st.info("These predictions have two classes; a simplex starts with three. See the Reliability page.")
        st.stop()
    how, classes = MERGE, [0, 1]
    if rows.n_classes > 3:
        left, right = st.columns(2)
        how = left.radio("Show", [MERGE, RENORMALISE], key="how", bind="query-params")
        wanted = 2 if how == MERGE else 3
        frequent = np.argsort(-np.bincount(rows.labels, minlength=rows.n_classes), kind="stable")
        classes = right.multiselect(
            f"Choose {wanted} classes",
            range(rows.n_classes),
            default=frequent[:wanted].tolist(),
            max_selections=wanted,
            format_func=lambda code: rows.class_names[code],
            key=f"classes-{wanted}-{rows.fingerprint}",
        )
    try:
        view = three_class_view(calibration, rows, how, classes)
    except InputError as error:
        st.info(f"Nothing to show yet: {plain(error)}.")
        st.stop()
    if view.evaluation.n_samples < rows.n_samples:
        st.caption(
            "Probabilities are given that one of the three classes is true; other rows are left out: "
            f"{view.evaluation.n_samples:,} of {rows.n_samples:,} evaluation rows and "
            f"{view.calibration.n_samples:,} of {calibration.n_samples:,} calibration rows remain."
        )
    return view
