"""Results of a top-K calibrator: score and accuracy of each rank, before and after."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.shared.widgets import download

HEADS = {
    "rank": "Rank",
    "says": "Score, {}",
    "right": "Right",
    "error": "ECE, {}",
    "floor": "Perfect model, {}",
}


def show_ranks(table: pd.DataFrame) -> None:
    """Show a row per rank; `table` has one per rank and stage, as from `pages.shared.page_results.ranks`."""
    stages = {stage: ranked.set_index("rank") for stage, ranked in table.groupby("stage", sort=False)}
    columns = {"Right": stages["before"]["right"]}
    for stage, ranked in stages.items():
        columns |= {HEADS[name].format(stage): ranked[name] for name in ("says", "error", "floor")}
    shown = pd.DataFrame(columns).rename_axis(HEADS["rank"]).reset_index()
    st.dataframe(shown.style.format(precision=4, subset=list(columns)), hide_index=True, height="content")
    download(table, "ranks")
    st.caption(
        "Rank 1 is the predicted class. Right: share of rows whose true class has this rank. ECE of each "
        "rank, all its classes pooled, beside a perfect model's of this size."
    )
