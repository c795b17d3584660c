"""The classes of which several can be true: error, noise floor and p-value of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib.data.predictions import score_matrix
from calib.stats.floors import problem_floors
from pages.shared.page_results import ask
from pages.shared.session import Method
from pages.shared.widgets import download


def show_several_true(method: Method, n_bins: int) -> None:
    rows = method.rows.predictions
    each = ask(problem_floors, method, notion="class-wise", n_bins=n_bins)
    order = np.lexsort((-each.observed, each.p_value))
    table = pd.DataFrame(
        {
            "Class": np.array(rows.class_names, dtype=object)[each.label],
            "True": rows.labels.mean(axis=0)[each.label],
            "Mean score": score_matrix(rows).mean(axis=0, dtype=np.float64)[each.label],
            "ECE": each.observed,
            "Perfect model": each.mean,
            "Perfect model, 95 %": each.upper,
            "p": each.p_value,
        }
    ).iloc[order]
    st.header("Each class", anchor=False)
    st.dataframe(
        table.style.format(dict.fromkeys(table.columns[1:6], "{:.4f}") | {"p": "{:.3f}"}), hide_index=True
    )
    download(table, "classes-of-several")
    st.caption(
        "Several classes can be true of a row, so each has an error of its own; CW-ECE is their mean. Each "
        "p is about its class alone: among 20 calibrated classes, one has p below 0.05 on average. To see "
        "the reliability diagram of a class, and everything else about it, choose it on the Data page."
    )
