"""Rows that may belong together: what follows if they do, and the choice as two buttons."""

from __future__ import annotations

import streamlit as st

from calib.answers.conclusion import IfTogether
from calib.data.equal_rows import counted_together
from calib.evidence.rows import Rows
from pages.shared.session import dataset, use
from pages.shared.widgets import escaped


def show_dependence(suspected: IfTogether | None) -> None:
    """Ask about rows that a test shows to be alike; offer to undo clusters that are used."""
    evidence = dataset().evidence
    if suspected is None:
        if isinstance(evidence, Rows) and evidence.is_declared and not evidence.clusters.independent:
            st.button("Undo clusters: each row stands alone", on_click=_stand_alone, type="tertiary")
        return
    st.markdown(escaped(suspected.words()))
    with st.container(horizontal=True):
        st.button("They belong together", on_click=_belong_together, args=(suspected.column,))
        st.button("Each row stands alone", on_click=_stand_alone)


def _belong_together(column: str) -> None:
    use(dataset().changed(lambda rows: counted_together(rows, column)))


def _stand_alone() -> None:
    use(dataset().changed(lambda rows: rows.independent()))
