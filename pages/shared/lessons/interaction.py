"""Common parts of the steps after the chapters: a guess first, and one picture."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.widgets import ARROW

TEXT = 16
#: Pixels of a step's picture: with question and controls it fits a screen of 720 lines.
LESSON_HEIGHT = 370
INK = "#14181C"


def guess(name: str, question: str, options: Sequence[str]) -> str | None:
    """Ask before the answer is shown; return the guess, which the address keeps, or None."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(question, width="content")
        return st.pills(
            question, options, key=name, bind="query-params", wrap=True, label_visibility="collapsed"
        )


def own_data(page: str, name: str, **query: str) -> None:
    """Link to the page that shows this for the user's data."""
    st.page_link(page, label=f"The same for your data: {name}", icon=ARROW, query_params=query)
