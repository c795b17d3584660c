"""The common style of figures: palette, axes, names, marks of few rows, and intervals.

A figure is a dict {"data": [...], "layout": {...}} of JSON types in plotly's own names, from computed
results: pages and reports hand it to plotly.js, `plotted` makes plotly's Figure. `theme` has the differences
between light and dark pages.
"""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.evidence.binning import BinStatistics

if TYPE_CHECKING:
    from calib.base.results import PlotlyFigure

#: A trace, an axis or a layout: properties of plotly by name.
Properties = dict[str, Any]
#: `data` and `layout`.
Figure = dict[str, Any]

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
#: Colours of a direction: right less often than it says, and more often; of all classes pooled.
LESS, MORE, POOLED = OKABE_ITO["vermillion"], OKABE_ITO["blue"], "#6B7680"
#: Colour of text on a light page, which `in_theme` makes as light as the text of a dark page; and grey.
INK, GREY = "#1B2026", OKABE_ITO["grey"]
#: Lines and symbols of methods. Each is used twice: in grey, first for the uncalibrated model, and in `INK`.
DASHES, SYMBOLS = ("solid", "dash", "dot", "dashdot"), ("circle", "diamond", "square", "triangle-up")
FONT = "'Source Sans', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
BARS, WHISKERS = "rgba(138,144,153,0.38)", "rgba(138,144,153,0.9)"
LINES = "rgba(110,122,134,0.75)"
#: Marks of cells with fewer rows are lighter: their gaps are mostly noise.
FEW_ROWS = 20
MAX_NAMED = 30
#: The line on which prediction equals truth.
DIAGONAL = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "layer": "below"}

LAYOUT: Properties = {
    "font": {"family": FONT, "size": 14},
    "shapes": [],
    "colorway": [GREY],
    # Room for numbers and a title: if plotly has to find more, it draws a figure twice.
    "margin": {"l": 82, "r": 30, "t": 12, "b": 62},
    "legend": {
        **{"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
        "tracegroupgap": 0,
    },
    "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
    "bargap": 0.04,
    # With this, plotly does not draw an equal copy again.
    "datarevision": 0,
}
#: Titles of axes, smaller than titles of figures.
AXIS_TITLE: Properties = {"standoff": 10, "font": {"size": 14}}

AXIS = {
    "gridcolor": "rgba(128,144,160,0.22)",
    "linecolor": LINES,
    "tickcolor": LINES,
    "zeroline": False,
    "showline": True,
    "ticks": "outside",
    "ticklen": 4,
    "automargin": True,
    "ticklabeloverflow": "allow",  # there is room for them: plotly need not look for each
}
LINE = {"color": LINES, "width": 1.5, "dash": "dash"}
#: Ticks of an axis of confidence or accuracy.
PERCENT = {"dtick": 0.2, "tickformat": ".0%"}

#: Settings of every figure: no logo, SVG from the camera, as wide as the page.
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "toImageButtonOptions": {"format": "svg"},
    # A mouse zooms by dragging, pans with the shift key, resets by a double click; buttons stop the keyboard.
    "modeBarButtonsToRemove": [
        f"{name}2d"
        for name in ("select", "lasso", "autoScale", "zoom", "pan", "zoomIn", "zoomOut", "resetScale")
    ],
}

#: While a page is printed, figures are as wide as A4.
PRINTING = """
addEventListener("beforeprint", () =>
  document.querySelectorAll(".figure").forEach(div => Plotly.relayout(div, {width: 680})));
addEventListener("afterprint", () =>
  document.querySelectorAll(".figure").forEach(div => Plotly.relayout(div, {width: null, autosize: true})));
"""


def theme(dark: bool = False) -> Properties:
    text, surface = ("#E6EAED", "#14181C") if dark else (INK, "#FFFFFF")
    return {"font": {"color": text}, "paper_bgcolor": surface, "plot_bgcolor": surface}


def in_theme(figure: Figure, dark: bool) -> Figure:
    """Return a figure of a light page for a light or a dark page."""
    look = theme(dark)

    def inked(trace: Properties) -> Properties:
        parts = [part for part in ("line", "marker") if trace.get(part, {}).get("color") == INK]
        return {**trace, **{part: {**trace[part], **look["font"]} for part in parts}}

    return with_layout({**figure, "data": [inked(trace) for trace in figure["data"]]}, **look)


def figure(data: Sequence[Properties], **layout: Any) -> Figure:
    """Return a figure for a light page, without a template: plotly.js would treat it as new each time."""
    named = [trace for trace in data if trace.get("showlegend", True)]
    room = {"t": 54} if len(named) > 1 and layout.get("showlegend", True) else {}
    layout = _merged(_merged(LAYOUT, {**theme(), "margin": room}), layout)
    for trace in data:
        axes = {letter: f"{letter}axis{trace.get(f'{letter}axis', letter)[1:]}" for letter in "xy"}
        for axis in axes.values():
            layout.setdefault(axis, {})
        if trace["type"] == "bar":  # no grid across bars
            layout[axes["y" if trace.get("orientation") == "h" else "x"]].setdefault("showgrid", False)
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            words = {"text": axis["title"]} if "title" in axis else {}
            layout[name] = {**AXIS, **axis, "title": {**AXIS_TITLE, **words}}
    layout["shapes"] = [{**shape, "line": {**LINE, **shape.get("line", {})}} for shape in layout["shapes"]]
    return {"data": in_json(data), "layout": in_json(layout)}


def with_layout(figure: Figure, **changes: Any) -> Figure:
    """Return the figure with changes of its layout; nested properties keep what is not changed."""
    return {**figure, "layout": _merged(figure["layout"], changes)}


def with_swatches(figure: Figure) -> Figure:
    """Return the figure with opaque marks in the legend for traces with translucent marks."""
    data, swatches = [], []
    for number, trace in enumerate(figure["data"]):
        colours = trace.get("marker", {}).get("color", "")
        first = (colours[:1] or [""])[0] if isinstance(colours, list) else colours
        if not trace.get("showlegend", True) or not str(first).startswith("rgba"):
            data.append(trace)
            continue
        group = trace.get("legendgroup", f"{trace['name']} {number}")
        data.append({**trace, "legendgroup": group, "showlegend": False})
        symbol = "square" if trace["type"] == "bar" else "circle"
        opaque = f"rgb({','.join(first[5:].split(',')[:3])})"
        axes = {name: trace[name] for name in ("xaxis", "yaxis") if name in trace}
        look = {"size": 10, "color": opaque, "symbol": symbol, "opacity": 1}
        swatches += scatter(x=[None], y=[None], marker=look, name=trace["name"], legendgroup=group, **axes)
    return {**figure, "data": [*data, *swatches]}


def _merged(properties: Properties, changes: Properties) -> Properties:
    both = {
        name: _merged(properties[name], value)
        for name, value in changes.items()
        if isinstance(value, dict) and isinstance(properties.get(name), dict)
    }
    return {**properties, **changes, **both}


def in_json(value: Any) -> Any:
    """Return lists and dicts in JSON types; numbers that are missing or infinite are None."""
    if isinstance(value, dict):
        return {name: in_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_json(part) for part in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            value, gaps = value.astype(object), ~np.isfinite(value)
            value[gaps] = None
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def plotted(figure: Figure) -> PlotlyFigure:
    from plotly.graph_objects import Figure as PlotlyFigure

    return PlotlyFigure(with_layout(figure, template="none"))


def grid(rows: int, columns: int, titles: Sequence[str] = (), **options: Any) -> Properties:
    """Return the layout of a grid of axes; `options` are more of plotly's `make_subplots`."""
    layout = copy.deepcopy(_grid(rows, columns, len(titles), tuple(options.items())))
    for annotation, title in zip(layout.get("annotations", ()), titles, strict=True):
        annotation.update(text=title, font={"size": 16})
    return layout


@cache
def _grid(rows: int, columns: int, n_titles: int, options: tuple[tuple[str, Any], ...]) -> Properties:
    from plotly.subplots import make_subplots

    titles = [str(number) for number in range(n_titles)] or None
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in options}
    drawn: Properties = make_subplots(rows=rows, cols=columns, subplot_titles=titles, **listed).to_dict()
    return {name: value for name, value in drawn["layout"].items() if name != "template"}


def axes(layout: Properties, letter: str) -> list[Properties]:
    return [axis for name, axis in layout.items() if name.startswith(f"{letter}axis")]


def at(place: int) -> Properties:
    """Return the axes of a trace in a grid; places count from 1, row by row."""
    number = "" if place == 1 else place
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def scatter(**trace: Any) -> list[Properties]:
    """Return a list with one trace, drawn by its line, marker and text; figures are sums of such lists.

    The customdata can be a tuple of columns with a value for each mark.
    """
    drawn = [f"{part}s" if part != "text" else part for part in ("line", "marker", "text") if part in trace]
    return [{"type": "scatter", "mode": "+".join(drawn) or "none", **_completed(trace)}]


def bar(**trace: Any) -> list[Properties]:
    return [{"type": "bar", **_completed(trace)}]


def _completed(trace: Properties) -> Properties:
    """Show only names and hover texts that exist; keep the look of marks that are not clicked."""
    if isinstance(columns := trace.get("customdata"), tuple):
        trace = {**trace, "customdata": list(map(list, zip(*in_json(columns), strict=True)))}
    if "name" not in trace:
        trace = {"showlegend": False, **trace}
    if "hovertemplate" not in trace:
        trace = {"hoverinfo": "skip", **trace}
    elif "<extra>" not in trace["hovertemplate"]:  # a second box, by default with the name
        trace = {**trace, "hovertemplate": f"{trace['hovertemplate']}<extra></extra>"}
    if "marker" not in trace:
        return trace
    marker = {"opacity": 1, **trace["marker"]}
    return {"unselected": {"marker": {"opacity": marker["opacity"]}}, **trace, "marker": marker}


def marks(colour: Any, size: Any, symbol: str | None = None, **outline: Any) -> Properties:
    """Return the marker of a trace: colours, diameters in pixels, a symbol other than a dot, the outline."""
    further = {"symbol": symbol, "line": outline}
    return {"color": colour, "size": size, **{name: value for name, value in further.items() if value}}


def note(x: float, y: float, text: str, *, size: int = 12, **more: Any) -> Properties:
    """Return an annotation without an arrow."""
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": size}, **more}


def escape(name: str) -> str:
    """Return a user's name as plotly text: plotly renders some HTML and expands %{...}."""
    return html.escape(str(name), quote=False).replace("%{", "%\u200b{")


def codes_of(label: np.ndarray) -> list[str]:
    """Return the names of classes without names: their codes."""
    return list(map(str, range(int(label.max(initial=0)) + 1)))


def shorten(name: str, length: int = 22) -> str:
    return name if len(name) <= length else name[: length - 1] + "\u2026"


def short(name: str, length: int = 22) -> str:
    """Return a user's name as plotly text of at most this length."""
    return escape(shorten(name, length))


def names_above(data: Sequence[Properties], height: int) -> Properties:
    """Return a layout with names above the figure, one per line: side by side, plotly would draw twice."""
    lines = sum(bool(trace.get("showlegend", True)) for trace in data)
    room = 25 + 21 * lines + round(0.02 * height) if lines > 1 else 12
    return {"legend": {"orientation": "v"}, "margin": {"t": room}, "height": height}


def unit_axes(
    data: Sequence[Properties], x_title: str, y_title: str, height: int = 480, *, marked: Sequence[Any] = ()
) -> Properties:
    """Return a layout with both axes on [0, 1], their titles, the diagonal, and shapes that mark a place."""
    return {
        "shapes": [*marked, DIAGONAL],
        "xaxis": {"title": x_title, "range": [-0.01, 1.01], **PERCENT, "constrain": "domain"},
        "yaxis": {"title": y_title, "range": [-0.02, 1.04], **PERCENT},
        **names_above(data, height),
    }


def width_of(names: Iterable[str], size: int = 14) -> int:
    """Pixels that the names of rows need to the left of a figure, in type of this size."""
    return 24 + round(0.53 * size * max(map(len, names), default=0))


def named_rows(names: Iterable[str], *, margin: Properties | None = None, **axis: Any) -> Properties:
    """Return a layout with names at 0, 1, ... of the vertical axis, by default from the top without ticks.

    `axis` are other properties of the axis.
    """
    written = [escape(name) for name in names]
    ticks = {"tickvals": list(range(len(written))), "ticktext": written, "showgrid": False}
    axis = axis or {"range": [len(written) - 0.5, -0.5], "ticks": ""}
    return {"margin": {**(margin or {}), "l": width_of(written)}, "yaxis": {**ticks, **axis}}


def upright(x: float, **line: Any) -> Properties:
    """Return a vertical line across the figure."""
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def refs(place: int) -> Properties:
    """Return the axes of a shape or an annotation in a grid."""
    return {"xref": at(place)["xaxis"], "yref": at(place)["yaxis"]}


def diagonal(place: int) -> Properties:
    return {**DIAGONAL, **refs(place)}


def level(y: float, place: int) -> Properties:
    """Return a line across the axes at a place."""
    x_axis, y_axis = at(place).values()
    return {"type": "line", "xref": f"{x_axis} domain", "yref": y_axis, "x0": 0, "x1": 1, "y0": y, "y1": y}


def bin_span(bin_: int, n_bins: int) -> Properties:
    """Return a shape that marks an equal-width bin."""
    ends = {"x0": bin_ / n_bins, "x1": (bin_ + 1) / n_bins, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    look = {"fillcolor": GREY, "opacity": 0.18, "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", **ends, **look}


def area(x: Sequence[Any], low: np.ndarray, high: np.ndarray, colour: str, **more: Any) -> list[Properties]:
    """Fill the area between two lines."""
    outline = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]]}
    return scatter(**outline, line={"width": 0}, fill="toself", fillcolor=colour, **more)


def method_line(position: int, width: float = 2.5) -> Properties:
    """Return the line of one of several methods; hues are for directions."""
    return {"color": (GREY, INK)[position % 2], "dash": DASHES[position // 2 % len(DASHES)], "width": width}


def method_marker(position: int, size: int) -> Properties:
    """Return the marks of one of several methods."""
    symbol = SYMBOLS[position // 2 % len(SYMBOLS)]
    return {"color": (GREY, INK)[position % 2], "symbol": symbol, "size": size}


def translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def of_direction(gap: float) -> str:
    """Return the colour of how often minus how often it says."""
    return LESS if gap < 0.0 else MORE


def hues(gap: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Return a colour per gap: vermillion below 0 (overconfident), else blue; grey if it is not `off`."""
    return np.where(off, np.where(gap < 0.0, LESS, MORE), GREY)


def faint(colour: str, count: np.ndarray) -> np.ndarray:
    """Colours of marks with these counts: cells of fewer than `FEW_ROWS` rows are lighter."""
    return np.where(count < FEW_ROWS, translucent(colour, 0.4), colour)


def sizes(count: np.ndarray, most: float) -> np.ndarray:
    """Widths of marks with these counts, relative to the widest: the fourth root, at least a fifth."""
    return np.maximum((count / most) ** 0.25, 0.2)


def sized(colour: Any, count: np.ndarray, most: float, largest: int = 24) -> Properties:
    """Return the marker of cells with these counts, without an outline."""
    return marks(colour, largest * sizes(count, most), width=0)


def interval(value: np.ndarray, lower: np.ndarray, upper: np.ndarray, colour: str = WHISKERS) -> Properties:
    """Error bars from `lower` to `upper` around each value, without caps."""
    ends = {"type": "data", "symmetric": False, "array": upper - value, "arrayminus": value - lower}
    return {**ends, "color": colour, "thickness": 1.5, "width": 0}


def share_bars(bins: BinStatistics, custom: Sequence[np.ndarray], hover: str) -> list[Properties]:
    """Return the grey bars of a reliability diagram: the share of rows in each bin."""
    return bar(
        **columns_of(bins),
        y=bins.weight / bins.weight.sum(),
        marker={"color": BARS, "line": {"width": 0}},
        name="share of rows",
        customdata=custom,
        hovertemplate=hover,
    )


def columns_of(bins: BinStatistics, share: float = 0.94) -> Properties:
    """Place bars at these bins, as wide as a share of them."""
    return {"x": (bins.lower + bins.upper) / 2, "width": (bins.upper - bins.lower) * share}


@cache
def plotly_script() -> str:
    """Return plotly.js as a script element of about 5 MB; a page needs it once, before its figures."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script><script>{PRINTING}</script>"


def figure_html(figure: Figure, key: str, alt: str) -> str:
    """Return a figure as a div and a script that draws it without a network."""
    height = int(figure["layout"].get("height", 450))
    # Inside a script element only "<" could end it.
    drawn = json.dumps(with_swatches(figure)).replace("<", "\\u003c")
    return (
        f'<div class="figure" id="{key}" role="img" aria-label="{html.escape(alt)}" '
        f'style="height:{height}px"></div>\n'
        f'<script>(f => Plotly.newPlot("{key}", f.data, f.layout, {json.dumps(CONFIG)}))({drawn});</script>'
    )
