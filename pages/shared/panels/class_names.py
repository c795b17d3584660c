"""Names and order of the classes for display, on the Data page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from calib import InputError
from calib.data.predictions import Announcement
from pages.shared.session import dataset, use_renamed
from pages.shared.widgets import escaped


def offer_class_names() -> None:
    """Let the user rename the classes and put them in another order, for every page and file."""
    data = dataset()
    names = data.evaluation.class_names
    table = pd.DataFrame({"class": names, "shown as": names, "place": range(1, len(names) + 1)})
    edited = st.data_editor(
        table,
        hide_index=True,
        disabled=["class"],
        key=f"class-names-{data.digest[:24]}",
        num_rows="fixed",
    )
    st.caption(
        "Figures, tables, reports and files use these names in this order, and calibrators expect them in "
        "new files. After a new order, calibrators are fitted again, except calibrators for groups."
    )
    if st.button("Show the classes so", disabled=edited.equals(table)):
        try:
            _use_as(edited)
            st.rerun()
        except InputError as error:
            st.error(f"Not renamed: {escaped(error)}")


def _use_as(edited: pd.DataFrame) -> None:
    names = [str(name).strip() for name in edited["shown as"]]
    order = [names[at] for at in edited["place"].to_numpy().argsort(kind="stable")]
    moved = order != names
    if moved and set(order) == set(map(str, range(len(order)))):
        raise InputError("classes that are only numbered stay in their order; name them first")

    def changed(rows: Announcement) -> Announcement:
        return renamed(rows, names).in_order_of(order)

    use_renamed(dataset().changed(changed, example=None), changed, moved=moved)


def renamed(rows: Announcement, names: Sequence[str]) -> Announcement:
    if len(set(names)) < len(names) or "" in names:
        raise InputError("every class needs a name of its own")
    return rows.with_class_names(names)
