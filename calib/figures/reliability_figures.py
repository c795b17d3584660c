"""Figures of the spine: diagrams drawn with plotly, with one template and one palette.

Figure modules are the only ones that import plotly. They draw and compute nothing. Colours of traces are
the same in light and dark; what differs (text, grid, background) is in the template alone.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from calib.diagrams.bin_sweep import EceSweep
from calib.diagrams.reliability import FEW_ROWS, BinZoom, ReliabilityDiagram

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
            "margin": {"l": 60, "r": 16, "t": 12, "b": 52},
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


def unit_axes(figure: go.Figure, x_title: str, y_title: str, height: int = 480) -> go.Figure:
    """Set both axes to [0, 1], draw the diagonal where prediction equals truth, and set the titles."""
    figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, layer="below")
    figure.update_xaxes(title_text=x_title, range=[-0.01, 1.01], dtick=0.2, constrain="domain")
    figure.update_yaxes(title_text=y_title, range=[-0.02, 1.04], dtick=0.2)
    figure.update_layout(template=TEMPLATE, height=height)
    return figure


def reliability(
    diagram: ReliabilityDiagram,
    *,
    truth: np.ndarray | None = None,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    curve: tuple[np.ndarray, np.ndarray] | None = None,
) -> go.Figure:
    """Draw Figure 1a: stars, red plus, grey bars and the diagonal.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        What to draw, one mark per non-empty bin.
    truth : array, optional
        Known accuracy of each bin of `diagram` (simulated examples).
    band : (lower, upper) arrays, optional
        Where a perfect model's stars would fall, per bin of `diagram`.
    curve : (scores, frequencies) arrays, optional
        Reliability without bins: the CORP curve of all classes pooled.
    """
    figure = go.Figure()
    x = diagram.mean_confidence
    hover = np.column_stack(
        [diagram.bin, diagram.lower, diagram.upper, diagram.count, 100 * diagram.share, diagram.accuracy]
        + [diagram.accuracy_lower, diagram.accuracy_upper, diagram.delta, x]
    ).tolist()
    where = "Confidence %{customdata[1]:.3g} to %{customdata[2]:.3g}<br>"
    rows = "<br>%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all"
    figure.add_bar(
        x=(diagram.lower + diagram.upper) / 2,
        y=diagram.share,
        width=(diagram.upper - diagram.lower) * 0.94,
        marker={"color": BARS, "line": {"width": 0}},
        name="share of rows",
        customdata=hover,
        hovertemplate=where + "%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all<extra></extra>",
    )
    if band is not None:
        middle = (diagram.lower + diagram.upper) / 2
        figure.add_bar(
            x=middle,
            y=band[1] - band[0],
            base=band[0],
            width=(diagram.upper - diagram.lower) * 0.94,
            marker={"color": "rgba(86,180,233,0.28)", "line": {"width": 0}},
            name="where a perfect model's stars fall (95 %)",
            hoverinfo="skip",
        )
    if curve is not None:
        figure.add_scatter(
            x=curve[0],
            y=curve[1],
            mode="lines",
            line={"color": OKABE_ITO["purple"], "width": 2.5, "shape": "hv"},
            name="no bins: isotonic (CORP)",
            hovertemplate="says %{x:.3f}, right %{y:.3f} (isotonic)<extra></extra>",
        )
    if truth is not None:
        figure.add_scatter(
            x=x,
            y=truth,
            mode="markers",
            marker={"symbol": "diamond-open", "size": 13, "color": OKABE_ITO["green"], "line": {"width": 2}},
            name="true accuracy (simulated)",
            hovertemplate="True accuracy %{y:.3f} (known: simulated)<extra></extra>",
        )
    faint = np.where(diagram.count < FEW_ROWS, 0.4, 1.0)
    figure.add_scatter(
        x=x,
        y=diagram.top_label,
        mode="markers",
        marker={
            "symbol": "cross-thin",
            "size": 13,
            "line": {"width": 3, "color": OKABE_ITO["vermillion"]},
            "opacity": faint,
        },
        name="top-label: each class on its own",
        customdata=hover,
        hovertemplate=where
        + "class-averaged miscalibration %{customdata[8]:.3f}<br>says %{customdata[9]:.3f}"
        + rows
        + "<extra></extra>",
    )
    figure.add_scatter(
        x=x,
        y=diagram.accuracy,
        mode="markers",
        marker={"symbol": "star", "size": 15, "color": OKABE_ITO["blue"], "opacity": faint},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": diagram.accuracy_upper - diagram.accuracy,
            "arrayminus": diagram.accuracy - diagram.accuracy_lower,
            "color": "rgba(0,114,178,0.55)",
            "thickness": 1.5,
            "width": 0,
        },
        name="confidence: all classes pooled",
        customdata=hover,
        hovertemplate=where
        + "says %{customdata[9]:.3f}, right %{customdata[5]:.3f}<br>"
        + "95 % interval %{customdata[6]:.3f} to %{customdata[7]:.3f}"
        + rows
        + "<extra></extra>",
    )
    figure.update_layout(barmode="overlay")
    return unit_axes(figure, "Confidence the model announces", "How often it is right", 520)


def zoom(diagram: BinZoom, class_names: Sequence[str]) -> go.Figure:
    """Draw Figure 1b: what the model says and how often it is right, per predicted class of one bin.

    One line per class, most rows on top, at most 30; the bars at the right count the rows.
    """
    shown = slice(0, MAX_NAMED)
    label, count = diagram.label[shown], diagram.class_count[shown]
    says, right = diagram.class_confidence[shown], diagram.class_accuracy[shown]
    low, high = diagram.class_lower[shown], diagram.class_upper[shown]
    # Two of a user's class names may look alike once shortened: lines are placed by position.
    place = np.arange(1, len(label) + 1)
    faint = np.where(count < FEW_ROWS, 0.4, 1.0)
    names = [escape(_short(class_names[code])) for code in label]
    custom = [[name, *values] for name, *values in zip(names, says, right, low, high, count, strict=True)]
    hover = (
        "Predicted %{customdata[0]}<br>says %{customdata[1]:.3f}, right %{customdata[2]:.3f}<br>"
        "95 % interval %{customdata[3]:.3f} to %{customdata[4]:.3f}<br>%{customdata[5]:,} rows<extra></extra>"
    )
    figure = make_subplots(
        cols=2, rows=1, shared_yaxes=True, column_widths=[0.72, 0.28], horizontal_spacing=0.05
    )
    figure.add_scatter(
        x=np.column_stack([says, right, np.full(len(says), np.nan)]).ravel(),
        y=np.repeat(place, 3),
        mode="lines",
        line={"color": "rgba(213,94,0,0.35)", "width": 6},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=[diagram.mean_confidence],
        y=[0],
        mode="markers",
        marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": OKABE_ITO["blue"]}},
        name="says",
        hovertemplate="All classes: says %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=[diagram.accuracy],
        y=[0],
        mode="markers",
        marker={"symbol": "star", "size": 17, "color": OKABE_ITO["blue"]},
        name="is right, all classes",
        hovertemplate=f"All classes: right %{{x:.3f}}<br>{diagram.count:,} rows<extra></extra>",
    )
    figure.add_scatter(
        x=says,
        y=place,
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 15,
            "line": {"width": 2, "color": OKABE_ITO["blue"]},
            "opacity": faint,
        },
        showlegend=False,
        customdata=custom,
        hovertemplate=hover,
    )
    figure.add_scatter(
        x=right,
        y=place,
        mode="markers",
        marker={"size": 12, "color": OKABE_ITO["vermillion"], "opacity": faint},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": high - right,
            "arrayminus": right - low,
            "color": OKABE_ITO["vermillion"],
            "thickness": 1,
            "width": 3,
        },
        customdata=custom,
        name="is right, predicted class alone (95 % interval)",
        hovertemplate=hover,
    )
    figure.add_bar(
        x=count,
        y=place,
        orientation="h",
        text=[f"{rows:,}" for rows in count],
        textposition="outside",
        cliponaxis=False,
        marker={"color": np.where(count < FEW_ROWS, "rgba(138,144,153,0.4)", OKABE_ITO["grey"])},
        customdata=custom,
        hovertemplate=hover,
        showlegend=False,
        row=1,
        col=2,
    )
    figure.update_layout(template=TEMPLATE, height=150 + 30 * (len(label) + 1), margin={"r": 48}, bargap=0.35)
    figure.update_yaxes(
        tickvals=[0, *place], ticktext=["all classes", *names], range=[len(label) + 0.6, -0.6], showgrid=False
    )
    half = {"range": [-0.02, 1.02], "dtick": 0.5, "tickangle": 0, "minor": {"dtick": 0.1, "showgrid": True}}
    figure.update_xaxes(title_text="Says, is right", row=1, col=1, **half)
    figure.update_xaxes(title_text="Rows", rangemode="tozero", nticks=3, row=1, col=2)
    return figure


def class_shares(shares: Mapping[str, np.ndarray], class_names: Sequence[str]) -> go.Figure:
    """Draw shares of rows per class, one colour per series (true, predicted); at most 30 classes."""
    order = np.argsort(-next(iter(shares.values())), kind="stable")[:MAX_NAMED]
    place = np.arange(len(order))
    figure = go.Figure()
    for colour, (name, values) in zip(("blue", "orange"), shares.items(), strict=False):
        figure.add_bar(
            x=values[order],
            y=place,
            orientation="h",
            name=name,
            marker={"color": OKABE_ITO[colour]},
            customdata=[[escape(class_names[code])] for code in order],
            hovertemplate=f"%{{customdata[0]}}: %{{x:.2%}} {name}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=max(240, 34 * len(order) + 90), bargap=0.3)
    figure.update_yaxes(
        tickvals=place,
        ticktext=[escape(_short(class_names[code])) for code in order],
        autorange="reversed",
        showgrid=False,
    )
    figure.update_xaxes(title_text="Share of rows", tickformat=".0%", rangemode="tozero")
    return figure


def ece_curves(sweeps: Mapping[str, Mapping[str, EceSweep]]) -> go.Figure:
    """Draw Figure 2: TL-ECE (solid) and conf-ECE (dashed) against the number of bins, per method."""
    figure = go.Figure()
    for place, (method, by_notion) in enumerate(sweeps.items()):
        colour = OKABE_ITO[METHOD_COLOURS[place % len(METHOD_COLOURS)]]
        for notion, sweep in by_notion.items():
            short = "TL-ECE" if notion == "top-label" else "conf-ECE"
            figure.add_scatter(
                x=sweep.n_bins,
                y=sweep.ece,
                mode="lines",
                line={"color": colour, "width": 2.5, "dash": "solid" if notion == "top-label" else "dash"},
                name=escape(f"{method}, {short}"),
                hovertemplate=f"{escape(method)}<br>{short} %{{y:.4f}} with %{{x}} bins<extra></extra>",
            )
    figure.update_layout(template=TEMPLATE, height=460)
    figure.update_xaxes(title_text="Number of bins B")
    figure.update_yaxes(title_text="ECE", rangemode="tozero")
    return figure


def _short(name: str, length: int = 24) -> str:
    return name if len(name) <= length else name[: length - 1] + "\u2026"
