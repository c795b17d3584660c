"""The guarantee card: what a fitted calibrator promises each class, under which assumptions."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib.answers.guarantee_cards import GuaranteeCard
from pages.shared.session import dataset
from pages.shared.widgets import download

HEADS = {
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


def show_card(card: GuaranteeCard) -> None:
    st.markdown(card.words("**{}**"))
    table = card.frame()
    names = np.asarray(dataset().evaluation.class_names, dtype=object)
    table.insert(2, "class", np.where(card.label >= 0, names[card.label], "all classes"))
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        table.rename(columns=HEADS).filter(HEADS.values()),
        hide_index=True,
        placeholder="\u2013",
        column_config=dict.fromkeys(list(HEADS.values())[4:], number),
    )
    st.caption(
        "Within: the largest distance from a calibrated value to an end of its bin's Clopper-Pearson "
        "interval. The intervals hold at once for the same values as \u03b5\u2082, given these outcomes."
    )
    download(table, "guarantee")
    download(card.bins.frame(), "guarantee-bins", label="Every bin (CSV)")
    st.markdown("\n".join(f"- {line}" for line in card.assumptions))
