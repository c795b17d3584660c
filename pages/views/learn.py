"""Learn: the lesson, further steps, and the glossary."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import lesson
from calib.data.kinds import lacks
from calib.lessons import BROWSER_FILES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.browser_module import mounter
from pages.shared.lessons import binning, noise, normalising, notions
from pages.shared.session import BASE, dataset, methods
from pages.shared.texts import GLOSSARY, REFERENCES

#: By the step's name in the address: its name in the menu, its title and its function.
STEPS = {
    "noise": ("Noise", "A perfect model, and what it shows", noise.show),
    "binning": ("Binning", "Binning by hand", binning.show),
    "notions": ("Notions", "Five notions of calibration", notions.show),
    "normalising": ("Normalising", "What normalising costs", normalising.show),
}
FAILED = "The lesson cannot be shown here. Save it as a file, which needs no server."


def show_lesson() -> None:
    """Show the lesson, with a bin of the data on screen unless they are its own example, and its files."""
    data = dataset()
    if data.example == "resnet" or lacks(data.kind, "notion:top-label") is not None:
        made = results.ask(lesson)
    else:
        made = results.ask(lesson, methods()[BASE], title=data.name)
    mount = mounter(BROWSER_FILES, "lesson", f'<div class="calib-lesson">{FAILED}</div>')
    if mount is None:
        st.info(FAILED)
    else:
        mount(key="lesson-chapters", data={"content": made.content()})
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.offer("The lesson as a file", made.page(), "lesson.html", "text/html")
        ui.offer("Notes for teachers, two pages to print", made.handout(), "lesson-notes.html", "text/html")
        if made.own is None:
            st.caption("With your own predictions on screen, chapter 2 has a second step about them.")
        else:
            st.caption(f"The second step of chapter 2 is about {ui.literal(made.own.title)}.")


def go() -> None:
    """Put the step just chosen in the menu into the address."""
    st.query_params["step"] = st.session_state["further"]


def show_more() -> None:
    wanted = st.query_params.get("step", "noise")
    step = wanted if wanted in STEPS else "noise"
    st.session_state["further"] = step
    st.segmented_control(
        "Step",
        list(STEPS),
        required=True,
        format_func=lambda name: STEPS[name][0],
        key="further",
        on_change=go,
        label_visibility="collapsed",
    )
    _, title, show = STEPS[step]
    st.title(title, anchor=False)
    show()


def show_glossary() -> None:
    """Show each symbol and metric with its formula and the paper's section, and the references."""
    st.title("Glossary", anchor=False)
    st.markdown(
        "The symbols and metrics of the app. Sections and equations are from Gupta & Ramdas (2022), except "
        "where another source is named."
    )
    names = [term["name"] for term in GLOSSARY]
    chosen = st.multiselect("Terms", names, key="terms", bind="query-params", placeholder="Type to search")
    if not chosen:
        every = pd.DataFrame(GLOSSARY)[["group", "name", "meaning", "paper"]]
        st.dataframe(every.rename(columns=str.capitalize), hide_index=True, height=420)
        works = pd.DataFrame(REFERENCES)[["cite", "takes"]]
        st.dataframe(
            works.rename(columns={"cite": "Reference", "takes": "Used for"}), hide_index=True, height=300
        )
    for term in (term for term in GLOSSARY if term["name"] in chosen):
        with st.container(border=True):
            left, right = st.columns([1, 2], gap="medium")
            left.markdown(f"**{term['name']}**")
            left.caption(term["paper"])
            if "formula" in term:
                right.latex(term["formula"])
            right.markdown(term["meaning"].replace("$", "\\$"))


ui.show_dataset(None)
ui.show_tabs(
    {"Lesson": show_lesson, "More": show_more, "Glossary": show_glossary}, "learn_tab", in_address=True
)
