"""The guarantee card: what a fitted calibrator promises, under which assumptions, and with how many rows."""

from __future__ import annotations

import numpy as np
import streamlit as st
from sklearn.base import BaseEstimator

from calib import MulticlassToBinary
from calib.answers.guarantee_cards import guarantee_card
from calib.base.interval_words import decimals_of, interval_words
from calib.stats.measures import ECES, Measure, ece_of
from pages.shared.page_results import interval
from pages.shared.session import BASE, Method, class_wise, dataset, methods
from pages.shared.widgets import download


def show_guarantee(calibrator: BaseEstimator, choices: int, n_bins: int) -> None:
    if not isinstance(calibrator, MulticlassToBinary):
        st.markdown("Scaling methods have no distribution-free guarantee; histogram binning has one.")
        return
    alpha = st.slider("Failure probability \u03b1", 0.01, 0.5, 0.1, 0.01, key="alpha")
    card = guarantee_card(calibrator, alpha, choices=choices)
    (st.markdown if card.applies else st.info)(card.words("**{}**"))
    if card.applies:
        table = card.frame()
        names = np.asarray(dataset().evaluation.class_names, dtype=object)
        table.insert(2, "class", np.where(card.label >= 0, names[card.label], "all classes"))
        heads = {
            "class": "Class",
            "n_points": "Rows n",
            "n_bins": "Bins",
            "points_per_bin": "Points per bin k",
            "eps_marginal": "\u03b5\u2081",
            "eps_conditional": "\u03b5\u2082",
            "reach": "Within",
            "expected_ece_bound": "Bound on expected ECE",
            "error_bound": "Bound on ECE",
        }
        shown = table.rename(columns=heads).filter(heads.values())
        number = st.column_config.NumberColumn(format="%.3f")
        bounds = ["\u03b5\u2081", "\u03b5\u2082", "Within", "Bound on expected ECE", "Bound on ECE"]
        st.dataframe(
            shown,
            hide_index=True,
            placeholder="\u2013",
            column_config=dict.fromkeys(bounds, number),
        )
        st.caption(
            "Within: the largest distance from a calibrated value to an end of its bin's Clopper-Pearson "
            "interval. The intervals hold at once for the same values as \u03b5\u2082, given the outcomes "
            "of these rows."
        )
        download(table, "guarantee")
        download(card.bins.frame(), "guarantee-bins", label="Every bin (CSV)")
    error, kind = ECES.get(card.notion), dataset().kind
    if kind.scored:
        error = next(iter(ece_of(kind).values()))
    with st.expander("What the guarantee assumes"):
        st.markdown("\n".join(f"- {line}" for line in card.assumptions))
    if card.applies and error is not None and error.missing(kind) is None:
        show_base_beside(methods()[BASE], error, card.worst_expected_ece, n_bins)


def show_base_beside(base: Method, error: Measure, promised: float, n_bins: int) -> None:
    """Say if the base model is already better than the guarantee."""
    if not np.isfinite(promised) or (error.key == "cw_ece" and not class_wise()):
        return
    low, high = interval(base, error.key, n_bins)
    if high <= promised:
        st.info(
            f"The base model is already better than this promise: its {error.title} is at most "
            f"{high:.{decimals_of(low, high)}f} (95 % interval {interval_words(low, high)}, in {n_bins} "
            f"equal-width bins), and {promised:.3f} is guaranteed. A guarantee holds for every "
            "distribution; it does not say that calibration helps."
        )
