"""The app: page configuration, navigation, run. `streamlit run` serves it as set up in serve.py."""

from pathlib import Path

import streamlit as st

from calib import __version__
from pages.shared.address import drop_unusable, restore_settings, settled
from pages.shared.door import ask_for_login
from pages.shared.housekeeping import keep_house
from pages.shared.needs import greyed, lacking
from pages.shared.page_parts import keeping_session, load_again_if_older, log_error, resume, script
from pages.shared.session import dataset, previous, settings_of, undo
from pages.shared.widgets import literal
from serve import ADDRESSES_ONLY, first_session, prepare, protection

#: By section: file in pages/views and icon of each page; the file's name is the page's title and address.
SECTIONS = {
    "Start": {"overview": "insights", "data": "upload_file"},
    "Diagnose": {
        "reliability": "show_chart",
        "groups": "segment",
        "validity": "verified",
        "judge": "gavel",
    },
    "Repair": {"repair": "tune", "decide": "rule"},
    "Study": {"imbalance": "balance", "simplex": "change_history", "learn": "school"},
}
FIRST = "overview"
#: By a page's former address: the room that took it in, and the tab there if it has tabs.
MOVED = {
    "noise": (FIRST, "How sure is each number?"),
    "classes": ("reliability", ""),
    "slices": ("groups", "Against the rest"),
    "over_time": ("groups", "Over time"),
    "calibrate": ("repair", "Before and after"),
    "compare": ("repair", "Candidates"),
    "apply": ("repair", "Apply"),
    "glossary": ("learn", "Glossary"),
}


def page(name: str, icon: str) -> st.Page:
    """Return a page of the navigation."""
    return st.Page(
        f"pages/views/{name}.py",
        title=name.capitalize(),
        icon=f":material/{icon}:",
        url_path=name,
        default=name == FIRST,
    )


def show() -> None:
    """Show the page of this session's address."""
    st.set_page_config(
        page_title="calib",
        page_icon="assets/icon.svg",
        layout="wide",
        menu_items={
            "About": "Calibration diagnostics of classifiers, after Gupta & Ramdas, *Top-label calibration "
            "and multiclass-to-binary reductions* (ICLR 2022)."
        },
    )
    st.logo("assets/logo.svg", icon_image="assets/icon.svg", size="large")
    st.html(Path("assets/style.css"))
    load_again_if_older()
    ask_for_login()
    resume()
    st.html(script(), unsafe_allow_javascript=True)
    keep_house()
    drop_unusable()
    st.button("Run the page again", key="run-again")  # pressed by assets/session.js
    pages = {name: page(name, icon) for section in SECTIONS.values() for name, icon in section.items()}
    chosen = st.navigation(
        {section: [pages[name] for name in names] for section, names in SECTIONS.items()},
        expanded=True,  # a sidebar with more than the navigation would hide its last pages
    )
    if ADDRESSES_ONLY.is_set():
        return
    restore_settings(chosen.title, settings_of(chosen.title))
    st.set_page_config(page_title=f"{chosen.title} \u2013 calib")
    data = dataset()
    words = {name: lacking(data, one.title) for name, one in pages.items()}
    st.html(greyed({name: word for name, word in words.items() if word}))
    if before := previous():
        st.sidebar.button(
            f"Back to {literal(before.name)}", key="undo-data", on_click=undo, icon=":material/undo:"
        )
    st.sidebar.caption(f"calib {__version__}")
    try:
        with keeping_session():
            chosen.run()
    finally:
        settled()


if __name__ == "__main__":  # a session runs this file
    show()
else:  # the server imports it
    prepare()
    app = st.App(
        __file__, lifespan=first_session, middleware=protection(FIRST, MOVED), on_script_error=log_error
    )
