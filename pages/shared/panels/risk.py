"""P(Y = 1) in the words of a validation of a risk model: its numbers, and the smoothed curve."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib import risk
from calib.answers.risks import EVENT_INTERVALS
from calib.diagrams.smoothed_curves import draw_smoothed
from pages.shared.page_results import ask
from pages.shared.session import Method, dataset
from pages.shared.widgets import chart, download

#: Numbers of the one line on Overview.
HEADLINE = ("ratio", "in_the_large", "slope", "ici_loess", "auc", "skill")


def show_risk_line(method: Method) -> None:
    """Show O/E, in the large, slope, ICI, AUC and skill in one line."""
    found = {number.key: number for number in ask(risk, method).numbers}
    shown = [f"{found[key].title} **{found[key].text}**" for key in HEADLINE]
    at = HEADLINE.index("ici_loess")
    shown[at] += f" (noise alone {found['ici_loess'].calibrated})"
    st.markdown(" \u00b7 ".join(shown), help=EVENT_INTERVALS)


def show_risk(method: Method) -> None:
    """Show every number in the order of TRIPOD+AI, and the smoothed curve."""
    found = ask(risk, method)
    table = pd.DataFrame(
        [(number.title, number.text, number.calibrated) for number in found.numbers],
        columns=["Number", "Measured (95 % interval)", "If calibrated"],
    )
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={"Number": st.column_config.TextColumn(pinned=True, width=230)},
    )
    download(found.frame(), "risk")
    st.caption(EVENT_INTERVALS)


def show_smoothed(method: Method) -> None:
    found = ask(risk, method)
    event = dataset().event or "Y = 1"
    chart(
        draw_smoothed(found.loess, found.isotonic, event=event),
        "smoothed",
        table=found.loess.frame,
        alt=f"Observed frequency of {event} against its score, smoothed: {found.loess.distance_words}.",
    )
