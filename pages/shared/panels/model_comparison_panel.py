"""Several models, each before and after calibration: which is best, and every number beside its floor."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from sklearn.base import BaseEstimator

from calib import compare_models, diagrams, sweep_models
from calib.stats.measures import MEASURES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.session import dataset


def show_models(calibrators: Mapping[str, BaseEstimator], n_bins: int) -> None:
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


def show_sweeps(calibrators: Mapping[str, BaseEstimator]) -> None:
    found = results.ask(sweep_models, dataset().models, calibrators, n_resamples=results.CURVE_REDRAWS)
    st.header("Errors against the number of bins", anchor=False)
    st.markdown(
        "A column is a model, a row an error; the panels of a row have the same axis. Grey: what a perfect "
        "model with the base model's scores shows, in 90 of 100 cases. A base model's line inside it is not "
        "distinguishable from noise."
    )
    ui.chart(
        diagrams.draw_model_sweeps(found),
        "model-sweeps",
        table=found.frame,
        alt="Errors of every model, before and after each calibrator, against the number of bins",
    )
    st.caption(
        "Histogram binning with B bins is fitted again for each B and assessed at each of its values, all "
        "other methods in B equal-width bins: the two cannot be compared (Remark 1 of the paper)."
    )
