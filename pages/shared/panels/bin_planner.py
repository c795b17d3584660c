"""Plan of bins on the Calibrate page: what each k means for sparse classes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import figures
from pages.shared.results import plan
from pages.shared.session import dataset
from pages.shared.widgets import chart, download


@st.fragment
def planner() -> None:
    """Show how many classes get how many bins for k = 20..200, who falls back, and the resulting error."""
    if not st.toggle("Plan bins for sparse classes", key="show-plan"):
        return
    found = plan(dataset())
    names = dataset().evaluation.class_names
    table = found.frame()
    k = st.select_slider("Points per bin k to look at", found.points_per_bin.tolist(), 60, key="plan-k")
    at = found.points_per_bin.tolist().index(k)
    bins = found.n_bins[at]
    st.markdown(
        f"With k = {k}, top-label binning gives **{(bins > 0).sum():,} of {len(bins):,}** classes at least "
        f"one bin; they are announced for {found.covered[at]:.1%} of the evaluation rows. TL-ECE becomes "
        f"**{found.tl_ece[at]:.4f}**, from {found.base_tl_ece:.4f}."
    )
    chart(
        figures.bin_plan(found),
        "bin-plan",
        table=table,
        alt="Classes by number of bins, and TL-ECE on the evaluation rows, for each number of points per bin",
    )
    st.caption(
        "TL-ECE over 15 equal-width bins for every k, so that they compare. Choosing the lowest uses the "
        "evaluation rows: small differences are noise."
    )
    classes = pd.DataFrame({"class": names, "calibration rows": found.n_calibration, "bins": bins})
    classes = classes.sort_values("calibration rows", ascending=False, kind="stable", ignore_index=True)
    fallen = classes[classes["bins"] == 0]
    if len(fallen):
        st.markdown(f"{len(fallen):,} classes fall back to their own scores, most calibration rows first:")
        st.dataframe(fallen.head(1000), hide_index=True, height=35 * min(len(fallen) + 1, 7) + 2)
    download(classes, f"bins-k-{k}", label="Bins per class (CSV)", key="plan-csv")
