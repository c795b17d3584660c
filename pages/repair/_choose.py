"""Choosing a calibrator: reduction, binary calibrator, bins, and what sparse classes use."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib import HistogramBinning, MulticlassToBinary
from calib.binary import BetaCalibration, IsotonicCalibration, PlattScaling

REDUCTIONS = {
    "Top-label": ("top-label", False, "TL"),
    "Confidence": ("confidence", False, "Conf"),
    "Class-wise": ("class-wise", False, "CW"),
    "Class-wise, normalised": ("class-wise", True, "N"),
    "Top-K label": ("top-k-label", False, "TopK"),
    "Top-K confidence": ("top-k-confidence", False, "TopK-conf"),
}
CONTINUOUS = {
    "Isotonic regression": IsotonicCalibration(),
    "Platt scaling": PlattScaling(),
    "Beta calibration": BetaCalibration(),
}
SHORT = dict(zip(["Histogram binning", *CONTINUOUS], ["HB", "isotonic", "Platt", "beta"], strict=True))
BY = ["Points per bin", "Number of bins"]


def choose_calibrator() -> tuple[str, Any]:
    """Show the controls and return the chosen method's short name and the unfitted calibrator."""
    left, right = st.columns(2)
    reduction = left.selectbox("Reduction: what the confidence should be right for", list(REDUCTIONS))
    notion, normalize, short = REDUCTIONS[reduction]
    kind = right.selectbox("Binary calibrator", ["Histogram binning", *CONTINUOUS])
    if kind != "Histogram binning":
        binary, setting = CONTINUOUS[kind], ""
    elif right.segmented_control("Bins by", BY, default=BY[0], required=True) == BY[0]:
        k = right.slider("Points per bin k", 5, 500, 50, 5)
        binary, setting = HistogramBinning(points_per_bin=k), f", k = {k}"
    else:
        n_bins = right.slider("Bins per problem B", 1, 100, 15)
        binary, setting = HistogramBinning(n_bins=n_bins), f", B = {n_bins}"
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
    name = f"{short}-{SHORT[kind]}{setting}" + (", pooled" if fallback == "pooled" else "")
    return name, MulticlassToBinary(binary, notion=notion, normalize=normalize, fallback=fallback)
