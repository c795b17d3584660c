"""What figures share: palette, template, axes, and how names, few rows and intervals are drawn.

Figures draw computed results and compute nothing. Colours of traces are the same in light and dark; what
differs (text, grid, background) is in the template alone.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.reliability import FEW_ROWS

#: Okabe & Ito (2008), safe for colour-blind readers.
OKABE_ITO = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "yellow": "#F0E442",
    "grey": "#8A9099",
}
#: Order in which several methods are coloured.
METHOD_COLOURS = ("orange", "green", "blue", "purple", "vermillion", "sky", "grey", "yellow")
FONT = "'Source Sans', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
BARS = "rgba(138,144,153,0.38)"
MAX_NAMED = 30


@cache
def template(dark: bool = False) -> go.layout.Template:
    """Return the one plotly template, for light or dark pages."""
    text, grid, axis = ("#E6EAED", "#2B333B", "#5B6670") if dark else ("#1B2026", "#E6E9EC", "#9AA3AB")
    surface = "#14181C" if dark else "#FFFFFF"
    axes = {
        "gridcolor": grid,
        "linecolor": axis,
        "tickcolor": axis,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "automargin": True,
        "ticklabeloverflow": "allow",  # there is room for them: plotly need not look for each
        "title": {"standoff": 10},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 14, "color": text},
            "paper_bgcolor": surface,
            "plot_bgcolor": surface,
            "xaxis": axes,
            "yaxis": axes,
            "colorway": [OKABE_ITO[name] for name in METHOD_COLOURS],
            # Room for numbers and a title: where plotly has to find more, it draws a figure twice.
            "margin": {"l": 72, "r": 16, "t": 12, "b": 62},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
            "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
            "shapedefaults": {"line": {"color": axis, "width": 1.5, "dash": "dash"}},
            "annotationdefaults": {"font": {"color": text}},
            "bargap": 0.04,
        }
    )


TEMPLATE = template()


def escape(name: str) -> str:
    """Return a user's name as plotly text: plotly renders some HTML and expands %{...}."""
    return html.escape(str(name), quote=False).replace("%{", "%\u200b{")


def names_above(figure: Drawing, height: int) -> None:
    """List the names of a figure's traces above it, each on a line of its own, with room for all.

    Side by side they would take as many lines as the width asks for, and plotly find out by drawing twice.
    """
    lines = figure.legend_entries
    room = 25 + 21 * lines + round(0.02 * height) if lines > 1 else 12
    figure.update_layout(legend_orientation="v", margin_t=room, height=height)


def unit_axes(figure: Drawing, x_title: str, y_title: str, height: int = 480) -> Drawing:
    """Set both axes to [0, 1], draw the diagonal where prediction equals truth, and set the titles."""
    figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, layer="below")
    figure.update_xaxes(title_text=x_title, range=[-0.01, 1.01], dtick=0.2, constrain="domain")
    figure.update_yaxes(title_text=y_title, range=[-0.02, 1.04], dtick=0.2)
    figure.update_layout(template=TEMPLATE)
    names_above(figure, height)
    return figure


def width_of(names: Iterable[str]) -> int:
    """Pixels that the names of rows take to the left of a figure."""
    return 24 + round(7.4 * max(map(len, names), default=0))


def named_rows(figure: go.Figure, names: Iterable[str], **options: Any) -> None:
    """Write a name at 0, 1, ... of the vertical axis; `options` are more of `update_yaxes`."""
    written = [escape(name) for name in names]
    figure.update_layout(margin_l=width_of(written))
    figure.update_yaxes(tickvals=list(range(len(written))), ticktext=written, showgrid=False, **options)


def mark_span(figure: go.Figure, low: float, high: float, *, across: bool = False, **place: int) -> None:
    """Mark what was chosen: a span of the x axis or, `across`, of the y axis; `place` is row and col."""
    ends = {"x0": 0, "x1": 1, "y0": low, "y1": high} if across else {"x0": low, "x1": high, "y0": 0, "y1": 1}
    refs: dict[str, Any] = {"xref": "paper", "yref": "y"} if across else {"xref": "x", "yref": "paper"}
    style = {"fillcolor": OKABE_ITO["orange"], "opacity": 0.18, "line": {"width": 0}, "layer": "below"}
    figure.add_shape(type="rect", **ends, **(place or refs), **style)


def method_colour(position: int) -> str:
    """Colour of the method at this position, from 0."""
    return OKABE_ITO[METHOD_COLOURS[position % len(METHOD_COLOURS)]]


def faint(count: np.ndarray, full: float = 1.0) -> np.ndarray:
    """Opacity of marks with these counts: cells of fewer than `FEW_ROWS` rows are lighter."""
    return np.where(count < FEW_ROWS, 0.4, full)


def interval(
    value: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    colour: str,
    *,
    thickness: float = 1.5,
    width: int = 0,
) -> dict[str, Any]:
    """Error bars from `lower` to `upper` around each value."""
    return {
        "type": "data",
        "symmetric": False,
        "array": upper - value,
        "arrayminus": value - lower,
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


def share_bars(
    figure: go.Figure, edges: tuple[np.ndarray, np.ndarray], share: np.ndarray, custom: Any, hover: str
) -> None:
    """Add the grey bars of a reliability diagram: the share of rows between each two edges."""
    lower, upper = edges
    figure.add_bar(
        x=(lower + upper) / 2,
        y=share,
        width=(upper - lower) * 0.94,
        marker={"color": BARS, "line": {"width": 0}},
        name="share of rows",
        customdata=custom,
        hovertemplate=hover + "<extra></extra>",
    )


def count_bars(
    figure: go.Figure, count: np.ndarray, colour: Any, custom: Any, hover: str, **options: Any
) -> None:
    """Add horizontal bars with their counts written at the end; `options` are more of `add_bar`."""
    figure.add_bar(
        x=count,
        orientation="h",
        text=[f"{rows:,}" for rows in count],
        textposition="outside",
        cliponaxis=False,
        marker={"color": colour},
        customdata=custom,
        hovertemplate=hover,
        showlegend=False,
        **options,
    )


def shorten(name: str, length: int = 22) -> str:
    """Cut a name for an axis."""
    return name if len(name) <= length else name[: length - 1] + "\u2026"
