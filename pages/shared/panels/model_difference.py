"""Two models on the Reliability page: confidence and accuracy of each for every predicted class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib import class_table
from calib.evidence.reductions import top_label
from pages.shared.page_results import ask
from pages.shared.session import Method, dataset
from pages.shared.widgets import download, literal

#: Classes shown; the CSV has all.
SHOWN = 200


def show_difference(first: Method, second: Method, n_bins: int) -> None:
    """Compare two models class by class; classes whose confidence moves most come first."""
    st.header("The two models class by class", anchor=False)
    names = dataset().evaluation.class_names
    tables = [ask(class_table, method, n_bins=n_bins) for method in (first, second)]
    columns: dict[str, object] = {"Predicted class": np.array(names, dtype=object)}
    for method, table in zip((first, second), tables, strict=True):
        columns |= {
            f"Rows, {method.name}": table.predicted,
            f"Confidence, {method.name}": table.confidence,
            f"Right, {method.name}": table.accuracy,
        }
    gaps = [table.confidence - table.accuracy for table in tables]
    columns["Confidence \u2212 accuracy, change"] = gaps[0] - gaps[1]
    rows = pd.DataFrame(columns)
    rows = rows.iloc[np.argsort(-np.nan_to_num(np.abs(gaps[0] - gaps[1]), nan=-1.0), kind="stable")]
    st.dataframe(
        rows.head(SHOWN).style.format(precision=3, na_rep="\u2013"),
        hide_index=True,
        height=35 * min(len(rows) + 1, 12) + 2,
    )
    download(rows, "models-by-class")
    predicted = [top_label(method.rows.predictions)[0] for method in (first, second)]
    moved = int(np.count_nonzero(np.not_equal(*predicted)))
    st.caption(
        f"Change: confidence minus accuracy of {literal(first.name)}, minus {literal(second.name)}'s. "
        + (
            f"The two predict different classes in {moved:,} rows. "
            if moved
            else "Both predict the same classes, so their rows and accuracies are equal. "
        )
        + "Differences of single classes are noisy: for a conclusion see the Noise or Compare page."
    )
