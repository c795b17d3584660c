"""The leaderboard with its downloads, and a comparison of two methods."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.assessment.leaderboard import Leaderboard
from calib.assessment.summary import how_assessed
from calib.metrics.catalogue import MEASURES
from calib.notions import TOP_NOTIONS
from pages.shared.results import error_difference, floor, score_difference
from pages.shared.session import Method, methods
from pages.shared.widgets import download, literal, offer

PINNED = st.column_config.TextColumn(pinned=True)
#: How `difference_sentence` compares.
HOW_COMPARED = (
    "Measured errors are not compared, because noise adds a different amount to each. The comparison uses "
    "debiased squared l2 errors, and scores."
)
BEST = "font-weight: bold; background-color: rgba(0,158,115,0.22)"


def show_leaderboard(leaderboard: Leaderboard, n_bins: int) -> None:
    """Show the table with the best numbers tinted, the noise floor beside TL-ECE, and the downloads."""
    change = st.toggle("Show the change against the base model")
    table, marks = leaderboard.frame(), leaderboard.best()
    heads = list(marks.columns)
    shown = leaderboard.changes() if change else leaderboard.frame()
    floors = [
        floor(methods()[entry.method], "tl_ece", n_bins) if entry.summary else None
        for entry in leaderboard.entries
    ]
    position = list(shown.columns).index("TL-ECE") + 1
    shown.insert(position, "Noise floor", [noise.mean if noise else None for noise in floors])
    shown.insert(position + 1, "TL-ECE is", [noise.verdict if noise else "" for noise in floors])

    def mark_best(column: Any) -> list[str]:
        return [BEST if is_best else "" for is_best in marks[column.name]]

    digits = dict.fromkeys(heads, "{:+.4f}" if change else "{:.4f}")
    digits |= {"Distinct scores": "{:,.0f}", "Noise floor": "{:.4f}"}
    columns = [name for name in shown.columns if name not in ("Bins", "Seconds", "Failure")]
    columns += ["Failure"] if table["Failure"].notna().any() else []
    styled = shown[columns].style.format(digits).apply(mark_best, subset=heads)
    st.dataframe(
        styled, hide_index=True, placeholder="\u2013", height="content", column_config={"Method": PINNED}
    )
    with st.container(horizontal=True):
        download(table, "leaderboard", key="leaderboard-csv")
        offer("Markdown", leaderboard.markdown(), "leaderboard.md", "text/markdown")
        offer("LaTeX", leaderboard.latex(), "leaderboard.tex", "text/x-tex")
    st.caption(
        "The best value of each column is tinted. Noise floor: the TL-ECE that a perfect model with these "
        "scores shows on average. Above noise: more than it shows in 95 of 100 cases. "
        f"{how_assessed(n_bins)} TL-MCE (cell) is the definition, TL-MCE (bin) what the paper's tables print."
    )


def show_pair(candidates: list[Method], n_bins: int) -> None:
    """Compare two methods on the same rows: show the difference and its 95 % interval."""
    if len(candidates) < 2:
        return
    st.subheader("Two methods compared", anchor=False)
    names = [method.name for method in candidates]
    left, middle, right = st.columns(3)
    first = candidates[names.index(left.selectbox("Method", names, 0, key="pair-first"))]
    default = names.index("TL-HB") if "TL-HB" in names else len(names) - 1
    second = candidates[names.index(middle.selectbox("Compared with", names, default, key="pair-second"))]
    keys = [key for key, one in MEASURES.items() if one.notion in TOP_NOTIONS and one.metric != "mce"]
    key = right.selectbox(
        "By", keys, keys.index("tl_ece"), key="pair-number", format_func=lambda name: MEASURES[name].title
    )
    if first is second:
        st.caption("Choose two different methods.")
        return
    st.markdown(difference_sentence(first, second, key, n_bins))
    st.caption(HOW_COMPARED)


def difference_sentence(first: Method, second: Method, key: str, n_bins: int) -> str:
    """Say how the first method compares with the second on the same rows."""
    names = literal(first.name), literal(second.name)
    if MEASURES[key].is_error:
        errors = error_difference(first, second, key, n_bins)
        return errors.words(*names, f"l2 {MEASURES[key].title}")
    scores = score_difference(second, first, key)
    return f"{MEASURES[key].title}: {scores.words(*reversed(names))}."
