"""Step 6: histogram binning fits a curve; the guarantee tightens with k, sharpness falls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared.kept import kept
from pages.shared.lessons.binning import BinnedCurve, Curve, bent_curve, bin_curve, true_curve
from pages.shared.lessons.binning import trade_off as trade_off_table
from pages.shared.lessons.figures import binned_curve, trade_off
from pages.shared.widgets import ARROW, chart

ROWS = (200, 500, 1_000, 2_000, 5_000)
POINTS, BINS = "Points per bin", "Number of bins"
MOST_TICKS = 400


def show() -> None:
    """Show the step."""
    st.markdown(
        "Histogram binning cuts the sorted scores into bins of equal size and gives each row the frequency "
        "with which its bin was right. Few points per bin: the steps follow noise. Many: each step is "
        "reliable, but rows that differ get one number."
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
    curve, binned, table = _binned(n_rows, k)
    promise = binned.promise
    st.markdown(
        f"**{len(binned.value)} bin{'s' if len(binned.value) > 1 else ''} of {k} points or more.** With "
        "probability 90 %, the calibrated score of a new row is within \u03b5\u2081 = "
        f"**{promise.marginal:.3f}** of the true frequency of its bin, whatever the data; the expected ECE "
        f"is at most {promise.expected_ece:.3f}. Here, where the truth is known, the ECE is "
        f"**{binned.error:.3f}**; sharpness {binned.sharpness:.3f}."
    )
    fit, against = st.columns(2, gap="large")
    with fit:
        grid = np.linspace(0, 1, 201)
        ticks = slice(0, MOST_TICKS)
        chart(
            binned_curve(
                binned.frame(),
                promise.marginal,
                grid,
                true_curve(grid),
                (curve.scores[ticks], curve.outcomes[ticks]),
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
        "fresh rows. Guarantee: Theorem 1 with \u03b1 = 0.1. Sharpness is E[E[Z | score]\u00b2]: a "
        "larger value means that the calibrated scores tell more rows apart."
    )
    st.page_link("pages/repair/calibrate.py", label="The same for your data: Calibrate", icon=ARROW)


@kept()
def _binned(n_rows: int, points_per_bin: int) -> tuple[Curve, BinnedCurve, pd.DataFrame]:
    curve = bent_curve(n_rows)
    return curve, bin_curve(curve, points_per_bin), _table(n_rows)


@kept()
def _table(n_rows: int) -> pd.DataFrame:
    return trade_off_table(bent_curve(n_rows))
