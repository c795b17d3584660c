"""Choosing a calibrator: reduction, binary calibrator, bins, and what sparse classes use."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib import HistogramBinning, MulticlassToBinary
from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling

REDUCTIONS = {
    "Top-label": ("top-label", False),
    "Confidence": ("confidence", False),
    "Class-wise": ("class-wise", False),
    "Class-wise, normalised": ("class-wise", True),
    "Top-K label": ("top-k-label", False),
    "Top-K confidence": ("top-k-confidence", False),
}
CONTINUOUS = {
    "Isotonic regression": IsotonicCalibration(),
    "Platt scaling": PlattScaling(),
    "Beta calibration": BetaCalibration(),
}
BY = ["Points per bin", "Number of bins"]


def choose_calibrator() -> MulticlassToBinary:
    """Show the controls and return the chosen calibrator, not fitted yet."""
    left, right = st.columns(2)
    reduction = left.selectbox("Reduction: what the confidence should be right for", list(REDUCTIONS))
    notion, normalize = REDUCTIONS[reduction]
    kind = right.selectbox("Binary calibrator", ["Histogram binning", *CONTINUOUS])
    if kind != "Histogram binning":
        binary: Any = CONTINUOUS[kind]
    elif right.segmented_control("Bins by", BY, default=BY[0], required=True) == BY[0]:
        binary = HistogramBinning(points_per_bin=right.slider("Points per bin k", 5, 500, 50, 5))
    else:
        binary = HistogramBinning(n_bins=right.slider("Bins per problem B", 1, 100, 15))
    fallback = left.selectbox(
        "Classes with too few calibration rows",
        ["identity", "pooled"],
        format_func={"identity": "leave their scores unchanged", "pooled": "use all classes together"}.get,
    )
    if normalize or notion == "class-wise":
        st.caption(
            "Class-wise calibration replaces every class's score and can change which class is announced; "
            "the other reductions cannot."
        )
    return MulticlassToBinary(binary, notion=notion, normalize=normalize, fallback=fallback)
