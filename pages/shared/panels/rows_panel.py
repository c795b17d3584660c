"""The rows of a clicked mark: sorted by how wrong they are, with a download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn

from calib.data.kinds import needs_rows
from calib.data.predictions import BasePrediction
from calib.diagrams.row_lists import row_table
from pages.shared import widgets as ui
from pages.shared.session import BASE, Method, dataset, methods

#: Most rows of the table, which the browser searches, and those seen without scrolling.
MOST_LISTED, ROWS_SHOWN = 1_000, 10


@st.fragment
def rows_panel(
    shown_methods: Sequence[Method],
    which: np.ndarray | None,
    what: str,
    key: str,
    rows: BasePrediction | None = None,
) -> None:
    """List some of the evaluation rows, once something was clicked (`{key}-open`) or the user asks for it.

    The scores of `shown_methods` are listed beside the base model's. `rows` are not the session's.
    """
    if which is None:
        st.caption(ui.escaped(needs_rows("The list of rows")))
        return
    st.markdown(f"{what}: **{len(which):,}** rows, worst predictions first.")
    if not st.toggle("List these rows", key=f"{key}-open"):
        return
    table = _table(shown_methods, which, rows)
    st.dataframe(
        table.head(MOST_LISTED),
        hide_index=True,
        height=35 * (min(len(table), ROWS_SHOWN) + 1) + 2,
        column_config={str(name): NumberColumn(format="%.4f") for name in table.select_dtypes("float")},
        placeholder="\u2013",
    )
    if len(table) > MOST_LISTED:
        st.caption(f"The first {MOST_LISTED:,} are listed; the CSV has all.")
    ui.download(table, key, label="Rows (CSV)")


def _table(shown: Sequence[Method], which: np.ndarray, rows: BasePrediction | None) -> pd.DataFrame:
    if rows is not None and rows is not dataset().evaluation:  # nothing is fitted on them
        return row_table(rows, which=which)
    compared = [other for other in shown if other.name != BASE]
    compared = compared or [other for other in methods().values() if other.name != BASE][:1]
    after = {f"after {other.name}": other.rows for other in compared}
    return row_table(dataset().evidence, which=which, after=after)
