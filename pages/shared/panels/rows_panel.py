"""The rows of a clicked mark: sorted by how wrong they are, with a search, pages and a download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn

from calib.data.kinds import needs_rows
from calib.data.predictions import Announcement
from calib.diagrams.row_lists import row_table
from pages.shared import widgets as ui
from pages.shared.session import BASE, Method, dataset, methods

#: Rows of a page of the table, and those seen without scrolling.
PAGE, ROWS_SHOWN = 25, 10


@st.fragment
def rows_panel(
    shown_methods: Sequence[Method],
    which: np.ndarray | None,
    what: str,
    key: str,
    rows: Announcement | None = None,
) -> None:
    """List some of the evaluation rows, once something was clicked (`{key}-open`) or the user asks for it.

    The scores of `shown_methods` are listed beside the base model's. `rows` are rows of the page's own.
    """
    if which is None:
        st.caption(ui.escaped(needs_rows("The list of rows")))
        return
    st.markdown(f"{what}: **{len(which):,}** rows, worst predictions first.")
    if not st.toggle("List these rows", key=f"{key}-open"):
        return
    table = _table(shown_methods, which, rows)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    search = left.text_input("Search these rows", key=f"{key}-search", placeholder="part of a text or number")
    found = table
    if search:
        texts = [table[name].astype(str) for name in table.columns]
        hits = [text.str.contains(search, case=False, regex=False).to_numpy() for text in texts]
        found = table[np.any(hits, axis=0)]
    shown = found.iloc[ui.page_of(len(found), PAGE, f"{key}-page", place=right)]
    st.dataframe(
        shown,
        hide_index=True,
        height=35 * (min(len(shown), ROWS_SHOWN) + 1) + 2,
        column_config={str(name): NumberColumn(format="%.4f") for name in shown.select_dtypes("float")},
        placeholder="\u2013",
    )
    if search:
        st.caption(f"{len(found):,} of {len(table):,} rows match.")
    ui.download(found, key, label="Rows (CSV)")


def _table(shown: Sequence[Method], which: np.ndarray, rows: Announcement | None) -> pd.DataFrame:
    if rows is not None and rows is not dataset().evaluation:  # nothing is fitted on them
        return row_table(rows, which=which)
    compared = [other for other in shown if other.name != BASE]
    compared = compared or [other for other in methods().values() if other.name != BASE][:1]
    after = {f"after {other.name}": other.rows for other in compared}
    return row_table(dataset().evidence, which=which, after=after)
