"""Advice on the Compare page: one recommended calibrator, chosen on the calibration rows alone."""

from __future__ import annotations

import streamlit as st

from calib import InputError, recommend
from calib.answers import Recommendation
from calib.calibrators.catalogue import name_of
from calib.data.kinds import lacks
from pages.shared.session import Dataset, dataset, fit
from pages.shared.widgets import download, escaped
from pages.shared.work import asked, compute

HEADS = {
    "method": "Method",
    "brier": "Brier",
    "log_loss": "Log loss",
    "improvement": "Brier improvement",
    "lower": "Lower",
    "upper": "Upper",
    "numbers": "Fitted numbers",
}


def show_recommendation() -> None:
    """Recommend one calibrator when asked to, with its reason, the candidates and the next step."""
    data = dataset()
    st.header("One calibrator for these data", anchor=False)
    st.markdown(
        "Every calibrator is fitted and scored in five folds of the calibration rows. The evaluation rows "
        "stay untouched, so the numbers on them still tell how good the choice is."
    )
    pressed = st.button("Recommend a calibrator", icon=":material/recommend:")
    if pressed:
        asked()
        try:
            st.session_state["advice"] = (data.key, _advice(data))
        except InputError as error:
            st.error(f"No recommendation: {escaped(error)}")
    key, advice = st.session_state.get("advice", (None, None))
    if key == data.key:
        _show(advice)


def _advice(data: Dataset) -> Recommendation:
    assert data.calibration is not None, "the page asks for calibration rows first"
    return compute("Trying every calibrator", recommend, data.calibration, data.calibration.labels)


def _show(advice: Recommendation) -> None:
    st.success(advice.reason) if advice.calibrator is not None else st.info(advice.reason)
    if advice.calibrator is not None and st.button("Fit and export this one", type="primary"):
        tried = len(advice.tried)
        st.session_state["chosen"] = fit(name_of(advice.calibrator), advice.calibrator, tried).name
        st.switch_page("pages/repair/calibrate.py")
    with st.expander(f"All {len(advice.tried)} candidates", key="candidates"):
        shown = advice.table.rename(columns=HEADS)
        digits = dict.fromkeys(("Brier", "Log loss"), "{:.4f}") | {"Fitted numbers": "{:,}"}
        digits |= dict.fromkeys(("Brier improvement", "Lower", "Upper"), "{:+.4f}")
        st.dataframe(
            shown.style.format(digits),
            hide_index=True,
            height="content",
            column_config={"Method": st.column_config.TextColumn(pinned=True)},
        )
        download(advice.table, "recommendation", key="recommendation-csv")
        whole = lacks(dataset().kind, "calibrator:whole vector") is None
        scored = "whole vectors" if whole else "the one event of each row"
        st.caption(
            f"Cross-validated scores of {scored}; the intervals of the improvement hold for all "
            "candidates at once, at 95 %, and treat rows as independent given the fits. Among those that "
            "help and are within one standard error of the lowest Brier score of these, the one with the "
            "fewest fitted numbers is recommended."
        )
        for name, reason in advice.left_out.items():
            st.caption(f"Left out: {escaped(name)}, because {escaped(reason)}.")
