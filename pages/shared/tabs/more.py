"""Learn: four steps after the lesson."""

from __future__ import annotations

import streamlit as st

from pages.shared.lessons import binning, noise, normalising, notions

#: By the step's name in the address: its name in the menu, its title and its function.
STEPS = {
    "noise": ("Noise", "A perfect model, and what it shows", noise.show),
    "binning": ("Binning", "Binning by hand", binning.show),
    "notions": ("Notions", "Five notions of calibration", notions.show),
    "normalising": ("Normalising", "What normalising costs", normalising.show),
}


def go() -> None:
    """Put the step just chosen in the menu into the address."""
    st.query_params["step"] = st.session_state["further"]


wanted = st.query_params.get("step", "noise")
step = wanted if wanted in STEPS else "noise"
st.session_state["further"] = step
st.segmented_control(
    "Step",
    list(STEPS),
    required=True,
    format_func=lambda name: STEPS[name][0],
    key="further",
    on_change=go,
    label_visibility="collapsed",
)
_, title, show = STEPS[step]
st.title(title, anchor=False)
show()
