"""Imbalance: histogram binning with k points per bin against B bins per class (App. B.2 and F)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib import diagrams
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import against_loaded
from pages.shared.panels.rows_panel import rows_panel
from pages.shared.session import base_of

MAX_BARS = 8
#: Classes are about equally frequent if the most frequent has at most this many times the rows of the rarest,
#: or exceeds it by at most this many standard errors of its share.
EQUAL, SPREAD = 1.5, 6.0


def pick_class(point: dict[str, Any]) -> None:
    st.session_state["imbalance-class"] = int(point["customdata"][-1])
    st.session_state["imbalance-rows-open"] = True


about = ui.heading(
    "Imbalance",
    "Histogram binning (HB) calibrates each predicted class separately, and rare classes have few "
    "calibration rows. Should you fix the number of rows per bin or the number of bins per class?",
    own_example=True,
)
data = ui.choose_data("covtype-simulated", "COVTYPE", against_loaded("Imbalance"))
with about:
    ui.show_dataset(data)
left, right = st.columns(2, vertical_alignment="bottom")
names = data.evaluation.class_names
k = left.slider("Points per bin k", 10, 500, 100, 10, key="k", bind="query-params")
n_bins = right.slider("Bins per class B", 2, 100, 50, 1, key="B", bind="query-params")
both = data.calibration, data.evaluation
sides = (
    results.ask(diagrams.class_binning, *both, points_per_bin=k),
    results.ask(diagrams.class_binning, *both, n_bins=n_bins),
)

shares = np.bincount(data.evaluation.labels, minlength=len(names)) / data.evaluation.n_samples
predicted = np.flatnonzero((sides[0].n_evaluation > 0) & (sides[0].n_calibration > 0))
if not len(predicted):
    st.info("No class is predicted in both calibration and evaluation rows, so there is nothing to compare.")
    st.stop()
by_frequency = predicted[np.argsort(-shares[predicted], kind="stable")]
calibrated = (sides[0].n_bins + sides[1].n_bins)[by_frequency] > 0
binned = by_frequency[calibrated] if calibrated.any() else by_frequency
rarest = binned[-min(max(len(binned) // 2, 1), 3) :]
most, least = shares[binned[0]], shares[binned[-1]]
chance = SPREAD * np.sqrt(most / data.evaluation.n_samples)  # a sample alone makes shares differ as much
balanced = len(binned) > 1 and bool(most <= EQUAL * least or most - least <= chance)
if calibrated.any():
    listed = ", ".join(ui.literal(names[code]) for code in rarest)
    st.markdown(
        "No class is rare here: all are about equally frequent, and each way gives all of them about the "
        f"same number of bins. Mean TL-ECE of {listed}:"
        if balanced
        else f"The rarest calibrated classes ({listed}; {shares[rarest].sum():.2%} of the rows), mean TL-ECE:"
    )
    for side, rule in zip(sides, (f"{k} points per bin", f"{n_bins} bins per class"), strict=True):
        before, after, floor = (
            float(np.mean(errors[rarest])) for errors in (side.base_ece, side.ece, side.floor)
        )
        if side.n_bins[rarest].any():
            outcome = (
                f"**{before:.3f}** before, **{after:.3f}** after; a perfect model would show {floor:.3f}"
            )
        else:
            outcome = f"**{before:.3f}**, unchanged: none of these classes has enough calibration rows"
        st.markdown(f"- with {rule}: {outcome}.")
else:
    st.markdown(
        f"**Nothing is calibrated**: no predicted class has {min(k, n_bins):,} calibration rows, so all keep "
        "their scores."
    )
bars = by_frequency
if len(by_frequency) > MAX_BARS:
    half = MAX_BARS // 2
    bars = np.unique(np.concatenate([binned[:half], binned[-half:]]))
    bars = bars[np.argsort(-shares[bars], kind="stable")]
    st.caption(
        f"The {half} most and {half} least frequent of {len(binned):,} "
        f"{'calibrated' if calibrated.any() else 'predicted'} classes."
    )
limit = float(max(np.max([side.base_ece[bars], side.ece[bars]]) for side in sides))
drawn = st.segmented_control(
    "Bars show",
    range(2),
    format_func=lambda at: sides[at].name,
    default=0,
    required=True,
    key="side",
    label_visibility="collapsed",
)
ui.chart(
    diagrams.draw_class_errors(sides[drawn], bars.tolist(), shares, names, limit),
    "imbalance-errors",
    table=lambda: pd.concat([side.frame(names).assign(binning=side.name) for side in sides]),
    alt=f"TL-ECE of each class before and after histogram binning, {sides[drawn].name}",
    on_click=pick_class,
)
if (behind := st.session_state.get("imbalance-class")) in by_frequency:
    base = base_of(data)
    predicted_as = f"Predicted {ui.literal(names[behind])}"
    which = results.rows_of(base, "top-label", 1, behind)
    rows_panel((), which, predicted_as, "imbalance-rows", rows=data.evaluation)
if without := int((sides[drawn].n_bins[predicted] == 0).sum()):
    st.caption(
        f"{without:,} of {len(predicted):,} predicted classes have fewer than {(k, n_bins)[drawn]} "
        "calibration rows and keep their scores."
    )
