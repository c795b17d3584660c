"""Step 4: signed gaps cancel when pooled; their sizes do not (Proposition 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.shared.lesson_steps.interaction import between, draggable, guess, handle, listen, picture
from pages.shared.lessons.figures import jensen
from pages.shared.lessons.two_patients import two_patients_population

#: Both classes are predicted with this confidence: it leaves room for gaps of up to 1/2 of either sign.
CONFIDENCE = 0.5
GAPS = {"gap_1": ("Gap of class 1", -0.4), "gap_2": ("Gap of class 2", 0.3)}


def show() -> None:
    """Show the step."""
    guessed = guess(
        "guess_jensen",
        "Two classes are predicted with the same confidence. **Can the error of both pooled be larger than "
        "the mean error of each?**",
        ("yes, for some gaps", "never"),
    )
    listen({name: between(-0.5, 0.5, 0.01) for name in GAPS})
    drawn, side = st.columns([3, 1], gap="medium")
    with side:
        share = st.slider("Share of class 1", 0.0, 1.0, 0.5, 0.01, key="weight", bind="query-params")
        gaps = [
            st.slider(label, -0.5, 0.5, start, 0.01, key=name, bind="query-params")
            for name, (label, start) in GAPS.items()
        ]
    rights = tuple(min(max(CONFIDENCE + gap, 0.0), 1.0) for gap in gaps)
    population = two_patients_population(share, (CONFIDENCE, CONFIDENCE), (rights[0], rights[1]))
    pooled, apart = population.conf_ece, population.tl_ece
    table = pd.DataFrame({"class": [1, 2], "share": [share, 1 - share], "gap": gaps, "conf_ece": pooled})
    with drawn:
        picture(
            draggable(
                jensen(share, (gaps[0], gaps[1]), pooled, apart, answered=guessed is not None),
                [handle(name, gap, abs(gap), "x") for name, gap in zip(GAPS, gaps, strict=True)],
            ),
            "jensen-curve",
            table=table.assign(tl_ece=apart),
            alt="Jensen's inequality: the chord between two points of |gap| lies above the V",
        )
    if guessed is None:
        return
    hidden = gaps[0] * gaps[1] < 0 and 0 < share < 1
    st.markdown(
        f"Never. Pooled **{pooled:.3f}** (conf-ECE), apart **{apart:.3f}** (TL-ECE): "
        + (
            f"pooling hides **{apart - pooled:.3f}**. "
            if hidden
            else "gaps of one sign do not cancel, and pooling hides nothing. "
        )
        + "The chord never runs below the V (Proposition 4). Drag the dots."
    )
