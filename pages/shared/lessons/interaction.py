"""Common parts of the lesson's steps: a guess first, one picture, and something to drag in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from calib.diagrams.style import Figure, with_layout
from pages.shared.address import presenting
from pages.shared.widgets import ARROW, chart

TEXT = 16
#: Pixels of a step's picture: with question and controls it fits a screen of 720 lines.
LESSON_HEIGHT = 370
INK = "#14181C"
#: Settings of the vertical axis of a square picture.
SQUARE = {"scaleanchor": "x", "constrain": "domain"}
#: Colour and symbol of patients a and b (problem 0 and 1), and of both pooled.
SIDES = (("vermillion", "circle"), ("green", "square"))

#: By a setting that can be dragged: a function from a place on its axis to the setting's value.
Snaps = Mapping[str, Callable[[float], Any]]


def guess(name: str, question: str, options: Sequence[str]) -> str | None:
    """Ask before the answer is shown; return the guess, which the address keeps, or None."""
    with st.container(key="lesson-guess", horizontal=True, vertical_alignment="center"):
        st.markdown(question, width="content")
        return st.pills(
            question, options, key=name, bind="query-params", wrap=True, label_visibility="collapsed"
        )


def between(low: float, high: float, step: float) -> Callable[[float], float]:
    """Return a function that moves a position on an axis to the nearest value of a slider."""
    return lambda place: round(min(max(round(place / step) * step, low), high), 10)


def nearest(values: Sequence[Any], place: Callable[[Any], float] = float) -> Callable[[float], Any]:
    """Return a function that moves a position on an axis to the nearest of some values."""
    return lambda where: min(values, key=lambda value: abs(place(value) - where))


def handle(name: str, x: float, y: float, along: str, **axes: str) -> dict[str, Any]:
    """Describe a handle to drag: its setting, its position, and the axis along which it moves.

    `rule="x"` or "y" makes a whole line across that axis the handle; `xaxis`, `yaxis` name the axes.
    """
    return {"name": name, "x": float(x), "y": float(y), "along": along, **axes}


def draggable(figure: Figure, handles: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the figure with handles that the pointer can drag (`assets/session.js`).

    Handles are text, because plotly.js never takes two objects in `meta` as equal and would draw again.
    """
    return with_layout(figure, meta=json.dumps([*handles]), dragmode=False)


def listen(snaps: Snaps) -> None:
    """Move what was dragged into its setting; call it before the controls of the settings."""
    st.text_input("Dragged", key="dragged", on_change=_dropped, args=(snaps,), label_visibility="collapsed")


def _dropped(snaps: Snaps) -> None:
    name, _, rest = st.session_state["dragged"].partition("=")
    try:
        place = float(rest.partition("=")[0])
    except ValueError:
        return
    if name in snaps and place == place:
        st.session_state[name] = snaps[name](place)


def own_data(page: str, name: str, **query: str) -> None:
    """Link to the page that shows this for the user's data, unless the step is presented."""
    if not presenting():
        st.page_link(page, label=f"The same for your data: {name}", icon=ARROW, query_params=query)


def picture(figure: Figure, key: str, **kwargs: Any) -> None:
    """Draw the picture of a step: as high as the screen allows if it is presented."""
    with st.container(key=f"lesson-picture-{key}"):
        chart(figure, key, fill=presenting(), **kwargs)
