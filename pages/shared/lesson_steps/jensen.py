"""Step 2: signed gaps cancel when pooled; their sizes do not (Proposition 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.shared.lessons.figures import jensen, signed_bars
from pages.shared.lessons.two_patients import two_patients_population
from pages.shared.widgets import chart

#: Both classes are predicted with this confidence: it leaves room for gaps of up to 1/2 of either sign.
CONFIDENCE = 0.5


def show() -> None:
    """Show the step."""
    st.markdown(
        "Two classes are predicted with the same confidence. Pooling adds their gaps **with** sign, so they "
        "cancel; keeping them apart adds their sizes. The chord is never below the V: that is Jensen's "
        "inequality, and why conf-ECE \u2264 TL-ECE for every model (Proposition 4)."
    )
    left, middle, right = st.columns(3)
    share = left.slider("Share of class 1", 0.0, 1.0, 0.5, 0.01, key="weight", bind="query-params")
    gap_1 = middle.slider("Gap of class 1", -0.5, 0.5, -0.4, 0.01, key="gap_1", bind="query-params")
    gap_2 = right.slider("Gap of class 2", -0.5, 0.5, 0.3, 0.01, key="gap_2", bind="query-params")
    rights = tuple(min(max(CONFIDENCE + gap, 0.0), 1.0) for gap in (gap_1, gap_2))
    population = two_patients_population(share, (CONFIDENCE, CONFIDENCE), (rights[0], rights[1]))
    pooled, apart = population.conf_ece, population.tl_ece
    same_sign = gap_1 * gap_2 >= 0 or share in (0, 1)
    st.markdown(
        f"Pooled: **{pooled:.3f}** (conf-ECE). Apart: **{apart:.3f}** (TL-ECE). "
        + (
            "The gaps do not oppose each other, so pooling hides nothing."
            if same_sign
            else f"Pooling hides **{apart - pooled:.3f}**."
        )
    )
    table = pd.DataFrame(
        {"class": [1, 2], "share": [share, 1 - share], "gap": [gap_1, gap_2], "conf_ece": pooled}
    ).assign(tl_ece=apart)
    bars, curve = st.columns([2, 3], gap="large")
    with bars:
        st.markdown("**What each class adds**")
        chart(
            signed_bars(share, (gap_1, gap_2), pooled, apart),
            "jensen-bars",
            table=table,
            alt="Signed gap times share of each class, their sum, and the sum of their sizes",
        )
    with curve:
        st.markdown("**Size of the mean against mean of the sizes**")
        chart(
            jensen(share, (gap_1, gap_2), pooled, apart),
            "jensen-curve",
            table=table,
            alt="Jensen's inequality: the chord between two points of |gap| lies above the V",
        )
