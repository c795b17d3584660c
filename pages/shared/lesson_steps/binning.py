"""Step 5: histogram binning fits a curve; the guarantee tightens with points per bin, sharpness falls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared.address import presenting
from pages.shared.kept import kept
from pages.shared.lesson_steps.interaction import draggable, guess, handle, listen, own_data, picture
from pages.shared.lessons.binning import BinnedCurve, Curve, bent_curve, bin_curve, true_curve
from pages.shared.lessons.binning import trade_off as trade_off_table
from pages.shared.lessons.figures import binned_curve, trade_off
from pages.shared.widgets import chart

ROWS = (200, 500, 1_000, 2_000, 5_000)
POINTS = (5, 500, 5)
MAX_TICKS = 400


def show() -> None:
    """Show the step."""
    guessed = guess(
        "guess_binning",
        "Each row gets the frequency with which its bin was right. **How many points per bin give the "
        "smallest ECE?**",
        ("few", "some dozens", "as many as possible"),
    )
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        n_rows = st.select_slider("Calibration rows n", ROWS, 1_000, key="rows", bind="query-params")
        scores = np.sort(bent_curve(n_rows).scores)
        listen({"points": lambda place: _points(float((scores < place).sum()))})
        k = min(
            st.slider(
                "Points per bin k", POINTS[0], POINTS[1], 50, POINTS[2], key="points", bind="query-params"
            ),
            n_rows,
        )
    curve, binned, table = _binned(n_rows, k)
    promise = binned.promise
    grid = np.linspace(0, 1, 201)
    ticks = slice(0, MAX_TICKS)
    with drawn:
        picture(
            draggable(
                binned_curve(
                    binned.frame(),
                    promise.marginal,
                    grid,
                    true_curve(grid) if guessed else None,
                    (curve.scores[ticks], curve.outcomes[ticks]),
                ),
                [handle("points", binned.edges[1], binned.value[0], "x")],
            ),
            "binning-fit",
            table=binned.frame(),
            alt="Steps of histogram binning, with the guarantee as a band, over the known curve",
        )
    if guessed is None:
        return
    best = table.loc[table["error"].idxmin()]
    values = f"{best['n_bins']:.0f} value{'s' if best['n_bins'] > 1 else ''}"
    st.markdown(
        f"**{best['points_per_bin']:.0f}** of {n_rows:,}: ECE {best['error']:.3f}, but {values} for all rows "
        f"tell few apart. With {k}, ECE is **{binned.error:.3f}**; Theorem 1, which does not know the truth, "
        f"promises at most **{promise.marginal:.3f}** in each bin with probability 90 %. Drag the "
        "end of the first bin."
    )
    if presenting():
        return
    with st.expander("Guarantee, error and sharpness against points per bin"):
        chart(
            trade_off(table, k),
            "binning-trade-off",
            table=table,
            alt="Guarantee, error on fresh rows and sharpness against points per bin",
        )
        st.caption(
            "Simulated: error and sharpness over 20,000 fresh rows. Sharpness is E[E[Z | score]\u00b2]: "
            "larger if the calibrated scores tell more rows apart."
        )
    own_data("pages/views/calibrate.py", "Calibrate")


def _points(below: float) -> int:
    low, high, step = POINTS
    return int(min(max(round(below / step) * step, low), high))


@kept()
def _binned(n_rows: int, points_per_bin: int) -> tuple[Curve, BinnedCurve, pd.DataFrame]:
    curve = bent_curve(n_rows)
    return curve, bin_curve(curve, points_per_bin), _table(n_rows)


@kept()
def _table(n_rows: int) -> pd.DataFrame:
    return trade_off_table(bent_curve(n_rows))
