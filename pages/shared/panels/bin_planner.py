"""Plan of bins on the Calibrate page: what each number of points per bin k means for sparse classes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import diagrams
from pages.shared.page_results import ask
from pages.shared.session import dataset
from pages.shared.widgets import chart, download


@st.fragment
def planner() -> None:
    if not st.toggle("Plan bins for sparse classes", key="show-plan"):
        return
    bin_plan = ask(diagrams.plan_bins, dataset().calibration, dataset().evaluation)
    names = dataset().evaluation.class_names
    table = bin_plan.frame()
    k = st.select_slider("Points per bin k to show", bin_plan.points_per_bin.tolist(), 60, key="plan-k")
    row = bin_plan.points_per_bin.tolist().index(k)
    bins = bin_plan.n_bins[row]
    st.markdown(
        f"With k = {k}, top-label binning gives **{(bins > 0).sum():,} of {len(bins):,}** classes at least "
        f"one bin; they are predicted for {bin_plan.covered[row]:.1%} of the evaluation rows. TL-ECE becomes "
        f"**{bin_plan.tl_ece[row]:.4f}**, from {bin_plan.base_tl_ece:.4f}."
    )
    chart(
        diagrams.draw_bin_plan(bin_plan),
        "bin-plan",
        table=lambda: table,
        alt="Classes by number of bins, and TL-ECE on the evaluation rows, for each number of points per bin",
    )
    st.caption(
        "TL-ECE uses 15 equal-width bins for every k, so that the values are comparable. Choosing the "
        "lowest would use the evaluation rows, and small differences are noise."
    )
    classes = pd.DataFrame({"class": names, "calibration rows": bin_plan.n_calibration, "bins": bins})
    classes = classes.sort_values("calibration rows", ascending=False, kind="stable", ignore_index=True)
    fallbacks = classes[classes["bins"] == 0]
    if len(fallbacks):
        st.markdown(f"{len(fallbacks):,} classes keep their scores (most calibration rows first):")
        st.dataframe(fallbacks.head(1000), hide_index=True, height=35 * min(len(fallbacks) + 1, 7) + 2)
    download(classes, f"bins-k-{k}", label="Bins per class (CSV)")
