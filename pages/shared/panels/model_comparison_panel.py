"""Several models, each before and after calibration: which is best, and every number beside its floor."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib import compare_models, diagrams
from calib.stats.measures import MEASURES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.session import dataset


def show_models(calibrators: Sequence[str], n_bins: int) -> None:
    """Compare all models, each alone and after these calibrators of the catalogue."""
    found = results.ask(compare_models, dataset().models, calibrators, n_bins=n_bins)
    st.header("Which model is better", anchor=False)
    st.markdown(found.words(ui.literal))
    st.dataframe(found.texts(), hide_index=True, height="content")
    with st.container(horizontal=True):
        ui.download(found.wide(), "models")
        ui.download(found.frame(), "models-all-numbers", label="All numbers (CSV)")
        ui.offer("Markdown", found.markdown(), "models.md", "text/markdown")
        ui.offer("LaTeX", found.latex(), "models.tex", "text/x-tex")
    st.caption("\\*: better than the base model; !: worse. " + " ".join(map(ui.escaped, found.notes())))
    measure = st.selectbox(
        "Number", found.measures, format_func=lambda key: MEASURES[key].title, key="models-number"
    )
    ui.chart(
        diagrams.draw_model_comparison(found, measure),
        "models-figure",
        table=lambda: found.frame().loc[lambda frame: frame["measure"] == measure],
        alt=f"{MEASURES[measure].title} of every model, before and after each calibrator",
    )
    with st.expander("All models and calibrators, ranked by the Brier score"):
        ranking = found.ranking()
        st.dataframe(ranking, hide_index=True)
        ui.download(ranking, "models-ranking")
