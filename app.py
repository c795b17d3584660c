"""The app: page configuration, navigation, run. `streamlit run` serves it as set up in serve.py."""

from pathlib import Path

import streamlit as st

from calib import __version__
from pages.shared.accessibility import style
from pages.shared.address import drop_unusable, restore_settings, settled
from pages.shared.housekeeping import keep_house
from pages.shared.login import ask_for_login
from pages.shared.parts import told_and_remembered
from pages.shared.resuming import resume, script
from pages.shared.session import previous, settings_of, undo
from pages.shared.widgets import literal
from serve import ADDRESSES_ONLY, first_session, log_error, prepare, protection

#: By section: file and icon of each page; the file's name is the page's title and address.
SECTIONS = {
    "Start": {"pages/start/overview.py": "insights", "pages/start/data.py": "upload_file"},
    "Diagnose": {
        "pages/diagnose/reliability.py": "show_chart",
        "pages/diagnose/classes.py": "grid_view",
        "pages/diagnose/slices.py": "segment",
        "pages/diagnose/over_time.py": "timeline",
        "pages/diagnose/noise.py": "grain",
        "pages/diagnose/validity.py": "verified",
    },
    "Repair": {
        "pages/repair/calibrate.py": "tune",
        "pages/repair/compare.py": "leaderboard",
        "pages/repair/decide.py": "rule",
        "pages/repair/apply.py": "play_arrow",
    },
    "Study": {"pages/study/imbalance.py": "balance", "pages/study/simplex.py": "change_history"},
    "Learn": {"pages/learn/learn.py": "school", "pages/learn/glossary.py": "menu_book"},
}
FIRST = "pages/start/overview.py"


def page(file: str, icon: str) -> st.Page:
    """Return a page of the navigation."""
    name = Path(file).stem
    title = name.replace("_", " ").capitalize()
    return st.Page(file, title=title, icon=f":material/{icon}:", url_path=name, default=file == FIRST)


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
    st.html(style())
    ask_for_login()
    resume()
    st.html(script(), unsafe_allow_javascript=True)
    keep_house()
    drop_unusable()
    st.button("Draw figures in the other theme", key="other-theme")  # pressed by assets/session.js
    chosen = st.navigation(
        {section: [page(file, icon) for file, icon in pages.items()] for section, pages in SECTIONS.items()},
        expanded=True,  # a sidebar with more than the navigation would hide its last pages
    )
    if ADDRESSES_ONLY.is_set():
        return
    restore_settings(chosen.title, settings_of(chosen.title))
    st.set_page_config(page_title=f"{chosen.title} \u2013 calib")
    if before := previous():
        st.sidebar.button(
            f"Back to {literal(before.name)}", key="undo-data", on_click=undo, icon=":material/undo:"
        )
    st.sidebar.caption(f"calib {__version__}")
    try:
        with told_and_remembered():
            chosen.run()
    finally:
        settled()


if __name__ == "__main__":  # a session runs this file
    show()
else:  # the server imports it
    prepare()
    app = st.App(
        __file__, lifespan=first_session, middleware=protection(Path(FIRST).stem), on_script_error=log_error
    )
