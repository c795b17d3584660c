"""The leaderboard as a table with its downloads, and two methods against each other."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.assessment.leaderboard import Leaderboard
from calib.assessment.summary import how_assessed
from calib.metrics.catalogue import MEASURES
from pages.shared.results import difference, floor
from pages.shared.session import Method, methods
from pages.shared.widgets import download, literal, offer

PINNED = st.column_config.TextColumn(pinned=True)
BEST = "font-weight: bold; background-color: rgba(0,158,115,0.22)"


def show_leaderboard(made: Leaderboard, n_bins: int) -> None:
    """Show the table, best tinted, the noise floor beside TL-ECE, and the downloads."""
    change = st.toggle("Show the change against the base model")
    table, marks = made.frame(), made.best()
    heads = list(marks.columns)
    shown = made.changes() if change else made.frame()
    found = [
        floor(methods()[entry.method], "tl_ece", n_bins) if entry.summary else None for entry in made.entries
    ]
    place = list(shown.columns).index("TL-ECE") + 1
    shown.insert(place, "Noise floor", [one.mean if one else None for one in found])
    words = [one.verdict if one else "" for one in found]
    shown.insert(place + 1, "TL-ECE is", words)

    def mark_best(column: Any) -> list[str]:
        return [BEST if hit else "" for hit in marks[column.name]]

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
        offer("Markdown", made.markdown(), "leaderboard.md", "text/markdown")
        offer("LaTeX", made.latex(), "leaderboard.tex", "text/x-tex")
    st.caption(
        "Best of each column tinted. Noise floor: the TL-ECE that a perfect model with these scores shows on "
        "average; above noise: more than it shows in 95 of 100 cases. "
        f"{how_assessed(n_bins)} TL-MCE (cell) is the definition, (bin) what the paper's tables print."
    )


def show_pair(ready: list[Method], n_bins: int) -> None:
    """Compare two methods on the same rows: the difference and its 95 % interval."""
    if len(ready) < 2:
        return
    st.subheader("One against the other", anchor=False)
    names = [method.name for method in ready]
    left, middle, right = st.columns(3)
    first = ready[names.index(left.selectbox("Method", names, 0, key="pair-first"))]
    second = ready[
        names.index(
            middle.selectbox(
                "against",
                names,
                names.index("TL-HB") if "TL-HB" in names else len(names) - 1,
                key="pair-second",
            )
        )
    ]
    every = [key for key, one in MEASURES.items() if one.notion in ("confidence", "top-label")]
    key = right.selectbox(
        "in", every, every.index("tl_ece"), key="pair-number", format_func=lambda one: MEASURES[one].title
    )
    if first is second:
        st.caption("Choose two different methods.")
        return
    found = difference(first, second, key, n_bins)
    st.markdown(
        f"{MEASURES[key].title}: {found.estimate_a:.4f} and {found.estimate_b:.4f}. "
        + found.words(literal(first.name), literal(second.name))
        + "."
    )
