"""Figures inside an HTML page that needs no network: plotly.js once, then one script per figure."""

from __future__ import annotations

import html
import json

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

#: Settings of every figure: no logo, SVG from the camera, as wide as the page.
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "toImageButtonOptions": {"format": "svg"},
    # A mouse zooms by dragging, and pans with the shift key; each button is a stop of the keyboard.
    "modeBarButtonsToRemove": [
        "select2d",
        "lasso2d",
        "autoScale2d",
        "zoom2d",
        "pan2d",
        "zoomIn2d",
        "zoomOut2d",
    ],
}


#: Figures are drawn as wide as the window, which paper need not be: while a page is printed, as wide as A4.
PRINTING = """
addEventListener("beforeprint", () =>
  document.querySelectorAll(".figure").forEach(one => Plotly.relayout(one, {width: 680})));
addEventListener("afterprint", () =>
  document.querySelectorAll(".figure").forEach(one => Plotly.relayout(one, {width: null, autosize: true})));
"""


def plotly_script() -> str:
    """Return plotly.js as a script element of about 5 MB; a page needs it once, before its figures."""
    return f"<script>{get_plotlyjs()}</script><script>{PRINTING}</script>"


def figure_html(figure: go.Figure, key: str, alt: str) -> str:
    """Return a figure as a div and the script that draws it.

    Parameters
    ----------
    figure : plotly Figure
    key : str
        Distinct letters, digits and hyphens: the div's id.
    alt : str
        What is seen, for people who do not see it.
    """
    height = int(figure.layout.height or 450)
    # Inside a script element only "<" could end it; as an escape it means the same in a JSON string.
    drawn = (figure.to_json() or "").replace("<", "\\u003c")
    return (
        f'<div class="figure" id="{key}" role="img" aria-label="{html.escape(alt)}" '
        f'style="height:{height}px"></div>\n'
        f'<script>(f => Plotly.newPlot("{key}", f.data, f.layout, {json.dumps(CONFIG)}))({drawn});</script>'
    )
