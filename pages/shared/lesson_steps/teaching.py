"""Step 8: exercises with computed answers, what each step shows, and links that open it with settings."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from pages.shared.lessons.exercises import EXERCISES
from pages.shared.texts import NOTES


def show() -> None:
    """Show the step."""
    st.markdown("Three exercises: try each on its step before you open the answer.")
    for number, exercise in enumerate(EXERCISES, start=1):
        with st.container(border=True):
            st.markdown(f"**Exercise {number}.** {exercise.question}")
            link("Open the step", exercise.view)
            with st.expander("Answer"):
                st.markdown(exercise.answer())
    st.subheader("What each step shows", anchor=False)
    for note in NOTES:
        with st.container(border=True):
            st.markdown(f"**{note['title']}** ({note['minutes']} min). {note['shows']}")
            st.markdown(f"Ask: *{note['ask']}*")
            with st.container(horizontal=True):
                for view in note["views"]:
                    link(view["label"], view["query"])
    st.page_link("pages/learn/glossary.py", label="Glossary and references", icon=":material/menu_book:")


def link(label: str, view: Mapping[str, str]) -> None:
    """Link to a step with its settings, in a tab of its own: a class can have several views open."""
    st.link_button(label, f"learn?{urlencode(view)}", icon=":material/open_in_new:")
