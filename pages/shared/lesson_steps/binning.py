"""Step 6: histogram binning fits a curve; the guarantee tightens with k, sharpness falls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib.figures.lessons import binned_curve, trade_off
from calib.lessons.binning import BinnedCurve, Curve, bent_curve, bin_curve, true_curve
from calib.lessons.binning import trade_off as trade_off_table
from pages.shared.widgets import ARROW, chart

ROWS = (200, 500, 1_000, 2_000, 5_000)
POINTS, BINS = "Points per bin", "Number of bins"
MOST_TICKS = 400


def show() -> None:
    """Show the step."""
    st.markdown(
        "Histogram binning cuts the sorted scores into bins of equal size and announces how often each bin "
        "was right. Few points per bin: the steps follow noise. Many: each step is sure, but rows that "
        "differ "
        "get one number."
    )
    left, middle, right = st.columns([2, 3, 3])
    n_rows = left.select_slider("Calibration rows n", ROWS, 1_000, key="rows", bind="query-params")
    by = middle.segmented_control(
        "Change the", [POINTS, BINS], default=POINTS, required=True, key="by", bind="query-params"
    )
    if by == POINTS:
        k = right.slider("Points per bin k", 5, 500, 50, 5, key="points", bind="query-params")
        k = min(k, n_rows)
    else:
        n_bins = right.slider("Number of bins B", 1, 100, 20, key="bins_by_hand", bind="query-params")
        k = max(n_rows // n_bins, 2)
    curve, binned, table = _work_out(n_rows, k)
    promise = binned.promise
    st.markdown(
        f"**{len(binned.value)} bin{'s' if len(binned.value) > 1 else ''} of {k} points or more.** With "
        "probability 90 %, the number announced for "
        f"a new row is within \u03b5\u2081 = **{promise.marginal:.3f}** of the true frequency of its bin, "
        f"whatever the data; the expected ECE is at most {promise.expected_ece:.3f}. Here, where the truth "
        "is "
        f"known, the ECE is **{binned.error:.3f}**; sharpness {binned.sharpness:.3f}."
    )
    fit, against = st.columns(2, gap="large")
    with fit:
        grid = np.linspace(0, 1, 201)
        some = slice(0, MOST_TICKS)
        chart(
            binned_curve(
                binned.frame(),
                promise.marginal,
                grid,
                true_curve(grid),
                (curve.scores[some], curve.outcomes[some]),
            ),
            "binning-fit",
            table=binned.frame(),
            alt="Steps of histogram binning over the known curve, with the guarantee as a band",
        )
    with against:
        chart(
            trade_off(table, k),
            "binning-trade-off",
            table=table,
            alt="Guarantee, error on fresh rows and sharpness against points per bin",
        )
    st.caption(
        f"Simulated. At most {MOST_TICKS} rows are drawn as ticks; error and sharpness are taken over 20,000 "
        "fresh rows. Guarantee: Theorem 1 with \u03b1 = 0.1. Sharpness is E[E[Z | score]\u00b2]: larger "
        "means that "
        "the announced numbers tell more rows apart."
    )
    st.page_link("pages/repair/calibrate.py", label="The same for your data: Calibrate", icon=ARROW)


@st.cache_resource(max_entries=64, show_spinner=False)
def _work_out(n_rows: int, points_per_bin: int) -> tuple[Curve, BinnedCurve, pd.DataFrame]:
    curve = bent_curve(n_rows)
    return curve, bin_curve(curve, points_per_bin), _table(n_rows)


@st.cache_resource(max_entries=8, show_spinner=False)
def _table(n_rows: int) -> pd.DataFrame:
    return trade_off_table(bent_curve(n_rows))
