"""The lesson of three chapters and six exercises, mounted from the library; files for teachers."""

from __future__ import annotations

import streamlit as st

from calib import lesson
from calib.data.kinds import lacks
from calib.lessons import BROWSER_FILES, Lesson
from pages.shared import page_results as results
from pages.shared.browser_module import mounter
from pages.shared.kept import kept
from pages.shared.session import BASE, dataset, methods
from pages.shared.widgets import literal, offer

FAILED = "The lesson cannot be shown here. Save it as a file, which needs no server."


def show() -> None:
    made = _lesson()
    mount = mounter(BROWSER_FILES, "lesson", f'<div class="calib-lesson">{FAILED}</div>')
    if mount is None:
        st.info(FAILED)
    else:
        mount(key="lesson-chapters", data={"content": made.content()})
    with st.container(horizontal=True, vertical_alignment="center"):
        offer("The lesson as a file", made.page(), "lesson.html", "text/html")
        offer("Notes for teachers, two pages to print", made.handout(), "lesson-notes.html", "text/html")
        if made.own is None:
            st.caption("With your own predictions on screen, chapter 2 has a second step about them.")
        else:
            st.caption(f"The second step of chapter 2 is about {literal(made.own.title)}.")


def _lesson() -> Lesson:
    """Return the lesson, with a bin of the data on screen unless they are its own example."""
    data = dataset()
    if data.example == "resnet" or lacks(data.kind, "notion:top-label") is not None:
        return _example()
    return results.ask(lesson, methods()[BASE], title=data.name)


@kept()
def _example() -> Lesson:
    return lesson()
