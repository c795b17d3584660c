"""Choosing a calibrator: reduction, binary calibrator, bins, and what sparse classes use."""

from __future__ import annotations

import streamlit as st

from calib import HistogramBinning, MulticlassToBinary
from calib.calibrators.catalogue import BINARY, REDUCTIONS

BY = ["Points per bin", "Number of bins"]
FALLBACKS = {"identity": "leave their scores unchanged", "pooled": "use one calibrator for all classes"}


def choose_calibrator() -> MulticlassToBinary:
    """Show the controls and return the chosen calibrator, unfitted."""
    left, right = st.columns(2)
    reductions = {reduction.title: reduction for reduction in REDUCTIONS}
    makers = {method.title: method.make for method in BINARY.values()}
    title = left.selectbox("Reduction: what the confidence should be right for", list(reductions))
    chosen = reductions[title]
    make = makers[right.selectbox("Binary calibrator", list(makers))]
    if make is not HistogramBinning:
        binary = make()
    elif right.segmented_control("Bins by", BY, default=BY[0], required=True) == BY[0]:
        binary = HistogramBinning(points_per_bin=right.slider("Points per bin k", 5, 500, 50, 5))
    else:
        binary = HistogramBinning(n_bins=right.slider("Bins per problem B", 1, 100, 15))
    fallback = left.selectbox(
        "Classes with too few calibration rows", list(FALLBACKS), format_func=FALLBACKS.__getitem__
    )
    if chosen.notion == "class-wise":
        st.caption(
            "Class-wise calibration replaces the score of every class and can change which class is "
            "predicted; the other reductions cannot."
        )
    return MulticlassToBinary(binary, notion=chosen.notion, normalize=chosen.normalize, fallback=fallback)
