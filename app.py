"""The app: page configuration, navigation, run."""

import streamlit as st

st.set_page_config(
    page_title="calib",
    page_icon="assets/icon.svg",
    layout="wide",
    menu_items={
        "About": "Calibration diagnostics of classifiers, after Gupta & Ramdas, *Top-label calibration and "
        "multiclass-to-binary reductions* (ICLR 2022)."
    },
)
st.logo("assets/logo.svg", icon_image="assets/icon.svg", size="large")

SECTIONS = {
    "Start": [
        st.Page("pages/start/overview.py", title="Overview", icon=":material/insights:", default=True),
        st.Page("pages/start/data.py", title="Data", icon=":material/upload_file:", url_path="data"),
    ],
    "Diagnose": [
        st.Page(
            "pages/diagnose/reliability.py",
            title="Reliability",
            icon=":material/show_chart:",
            url_path="reliability",
        ),
        st.Page(
            "pages/diagnose/classes.py", title="Classes", icon=":material/grid_view:", url_path="classes"
        ),
        st.Page("pages/diagnose/noise.py", title="Noise", icon=":material/grain:", url_path="noise"),
        st.Page(
            "pages/diagnose/validity.py", title="Validity", icon=":material/verified:", url_path="validity"
        ),
    ],
    "Repair": [
        st.Page("pages/repair/calibrate.py", title="Calibrate", icon=":material/tune:", url_path="calibrate"),
        st.Page(
            "pages/repair/compare.py", title="Compare", icon=":material/leaderboard:", url_path="compare"
        ),
        st.Page("pages/repair/apply.py", title="Apply", icon=":material/play_arrow:", url_path="apply"),
    ],
    "Study": [
        st.Page(
            "pages/study/imbalance.py", title="Imbalance", icon=":material/balance:", url_path="imbalance"
        ),
        st.Page(
            "pages/study/simplex.py", title="Simplex", icon=":material/change_history:", url_path="simplex"
        ),
    ],
    "Learn": [
        st.Page("pages/learn/learn.py", title="Learn", icon=":material/school:", url_path="learn"),
        st.Page(
            "pages/learn/glossary.py", title="Glossary", icon=":material/menu_book:", url_path="glossary"
        ),
    ],
}
st.navigation(SECTIONS).run()
