"""Step 4: signed gaps cancel when pooled; their sizes do not (Proposition 4)."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib.diagrams.style import OKABE_ITO, Figure, figure, scatter
from pages.shared.lessons import interaction as step
from pages.shared.lessons.two_patients import two_patients_population


def draw_gaps(
    share: float, gaps: tuple[float, float], pooled: float, apart: float, *, answered: bool
) -> Figure:
    """Draw Proposition 4: the size of the pooled gap is on the V, the mean size of two gaps on the chord."""
    mean = share * gaps[0] + (1.0 - share) * gaps[1]
    lines: list[tuple[list[float], list[float], str, float, str]] = [
        ([-0.5, 0, 0.5], [0.5, 0, 0.5], "grey", 3, "solid")
    ]
    dots = [
        (gap, abs(gap), *step.SIDES[side], f"class {side + 1}", "top center") for side, gap in enumerate(gaps)
    ]
    if answered:
        lines += [
            ([*gaps], [abs(gap) for gap in gaps], "grey", 2, "dot"),
            ([mean, mean], [pooled, apart], "orange", 6, "solid"),
        ]
        dots += [
            (mean, apart, "vermillion", "cross-thin", "apart: TL-ECE", "top center"),
            (mean, pooled, "blue", "star", "pooled: conf-ECE", "middle right"),
        ]
    data = []
    for across, up, colour, width, dash in lines:
        line = {"color": OKABE_ITO[colour], "width": width, "dash": dash}
        data += scatter(x=across, y=up, line=line)
    for x, y, colour, symbol, name, position in dots:
        data += scatter(
            x=[x],
            y=[y],
            text=[f"<b>{name}</b>"],
            textposition=position,
            textfont={"size": step.TEXT, "color": OKABE_ITO[colour]},
            cliponaxis=False,
            marker={
                "symbol": symbol,
                "size": 18,
                "color": OKABE_ITO[colour],
                "line": {"width": 4 if symbol == "cross-thin" else 0, "color": OKABE_ITO[colour]},
            },
            hovertemplate=f"{name}: gap %{{x:+.2f}}, size %{{y:.3f}}",
        )
    return figure(
        data,
        height=step.LESSON_HEIGHT,
        font={"size": step.TEXT},
        xaxis={"title": "Signed gap: accuracy minus confidence", "range": [-0.56, 0.56], "dtick": 0.25},
        yaxis={"title": "Size of the gap", "range": [-0.04, 0.56], "dtick": 0.1},
    )


#: Both classes are predicted with this confidence: it leaves room for gaps of up to 1/2 of either sign.
CONFIDENCE = 0.5
GAPS = {"gap_1": ("Gap of class 1", -0.4), "gap_2": ("Gap of class 2", 0.3)}


def show() -> None:
    guessed = step.guess(
        "guess_jensen",
        "Two classes are predicted with the same confidence. **Can the error of both pooled be larger than "
        "the mean error of each?**",
        ("yes, for some gaps", "never"),
    )
    step.listen({name: step.between(-0.5, 0.5, 0.01) for name in GAPS})
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
        step.picture(
            step.draggable(
                draw_gaps(share, (gaps[0], gaps[1]), pooled, apart, answered=guessed is not None),
                [step.handle(name, gap, abs(gap), "x") for name, gap in zip(GAPS, gaps, strict=True)],
            ),
            "jensen-curve",
            table=lambda: table.assign(tl_ece=apart),
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
