"""Several models, each before and after calibration: which is best, and every number beside its floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calib import diagrams
from calib.stats.measures import MEASURES
from pages.shared.results import model_comparison
from pages.shared.session import dataset
from pages.shared.widgets import chart, download, escaped, literal, offer


def show_models(calibrators: Mapping[str, Any], n_bins: int) -> None:
    """Show which model is best, the table of all models and calibrators, and a number as a figure."""
    found = model_comparison(dataset(), calibrators, n_bins)
    st.header("Which model is better", anchor=False)
    st.markdown(found.words(literal))
    st.dataframe(found.texts(), hide_index=True, height="content")
    with st.container(horizontal=True):
        download(found.wide(), "models", key="models-csv")
        download(found.frame(), "models-all-numbers", label="All numbers (CSV)", key="models-all-csv")
        offer("Markdown", found.markdown(), "models.md", "text/markdown")
        offer("LaTeX", found.latex(), "models.tex", "text/x-tex")
    st.caption("\\*: better than the base model; !: worse. " + " ".join(map(escaped, found.notes())))
    measure = st.selectbox(
        "Number", found.measures, format_func=lambda key: MEASURES[key].title, key="models-number"
    )
    chart(
        diagrams.draw_model_comparison(found, measure),
        "models-figure",
        table=found.frame().query("measure == @measure"),
        alt=f"{MEASURES[measure].title} of every model, before and after each calibrator",
    )
    with st.expander("All models and calibrators, ranked by the Brier score"):
        ranking = found.ranking.frame()
        st.dataframe(ranking, hide_index=True)
        download(ranking, "models-ranking", key="models-ranking-csv")
