"""Step 8: exercises with computed answers, what each step shows, and links that open it with settings."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from pages.shared.lessons.exercises import EXERCISES
from pages.shared.texts import NOTES


def show() -> None:
    st.markdown(
        "Try each exercise on its page before you open the answer. The last three are on simulated data."
    )
    for number, exercise in enumerate(EXERCISES, start=1):
        with st.container(border=True):
            st.markdown(f"**Exercise {number}.** {exercise.question}")
            link("Open the page", exercise.view, exercise.page)
            answer = st.expander("Answer", key=f"answer-{number}", on_change="rerun")
            if answer.open:  # some take seconds to compute
                answer.markdown(exercise.answer())
    st.subheader("What each step shows", anchor=False)
    for note in NOTES:
        with st.container(border=True):
            st.markdown(f"**{note['title']}** ({note['minutes']} min). {note['shows']}")
            st.markdown(f"Ask: *{note['ask']}*")
            with st.container(horizontal=True):
                for view in note["views"]:
                    link(view["label"], view["query"])
    st.page_link(
        "pages/views/learn.py",
        label="Glossary and references",
        icon=":material/menu_book:",
        query_params={"learn_tab": "Glossary"},
    )


def link(label: str, view: Mapping[str, str], page: str = "learn") -> None:
    """Link to a step or a page with its settings, in a new tab, so that several can be open."""
    st.link_button(label, f"{page}?{urlencode(view)}", icon=":material/open_in_new:")
