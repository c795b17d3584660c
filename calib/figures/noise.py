"""Figures of noise and guarantees: validity curves, floors beside observed errors, parts of a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.validity import ValidityCurve
from calib.figures.reliability_figures import METHOD_COLOURS, OKABE_ITO, TEMPLATE, escape
from calib.guarantees.card import Promise
from calib.metrics.decompositions import Decomposition
from calib.noise.floor import NoiseFloor

#: How to read the dotted lines of `validity`.
DOTTED = (
    "Dotted: what the same cells would show if every announcement were exactly true, because observed "
    "frequencies are noisy too. A curve on or above its dotted line shows no more than noise."
)


def validity(
    curves: Mapping[str, ValidityCurve],
    *,
    conditional: bool = False,
    promises: Sequence[Promise] = (),
) -> go.Figure:
    """Draw V(epsilon) of each method, dotted what a perfect model shows, and the theorem's epsilons.

    Parameters
    ----------
    curves : mapping of str to ValidityCurve
        By method, drawn in order.
    conditional : bool
        Draw shares of cells in place of shares of rows.
    promises : sequence of Promise
        Drawn as vertical lines up to the promised share.
    """
    figure = go.Figure()
    what = "cells" if conditional else "rows"
    for place, (method, curve) in enumerate(curves.items()):
        colour = OKABE_ITO[METHOD_COLOURS[place % len(METHOD_COLOURS)]]
        epsilon, share = curve.steps(conditional=conditional)
        figure.add_scatter(
            x=np.append(epsilon, 1.0),
            y=np.append(share, 1.0),
            mode="lines",
            line={"color": colour, "width": 3, "shape": "hv"},
            name=escape(method),
            hovertemplate=f"{escape(method)}<br>%{{y:.1%}} of {what} within %{{x:.3f}}<extra></extra>",
        )
        if len(curve.perfect_epsilon):
            figure.add_scatter(
                x=curve.perfect_epsilon,
                y=curve.perfect_cell_share if conditional else curve.perfect_share,
                mode="lines",
                line={"color": colour, "width": 2, "dash": "dot"},
                name=f"{escape(method)}, if it were perfect",
                hovertemplate=f"A perfect model: %{{y:.1%}} of {what} within %{{x:.3f}}<extra></extra>",
            )
    for colour, promise in zip(("blue", "purple"), promises, strict=False):
        figure.add_scatter(
            x=[promise.epsilon, promise.epsilon],
            y=[0, promise.share],
            mode="lines+markers",
            line={"color": OKABE_ITO[colour], "width": 2, "dash": "dash"},
            marker={"symbol": "triangle-up", "size": 11, "opacity": [0, 1]},
            name=promise.name,
            hovertemplate=f"{promise.name}: at least {promise.share:.0%}<extra></extra>",
        )
    shown = [promise.epsilon for promise in promises] + [
        curve.gap[np.searchsorted(curve.share, 0.99)] for curve in curves.values()
    ]
    figure.update_layout(template=TEMPLATE, height=480)
    figure.update_xaxes(
        title_text="\u03b5, distance allowed from the truth",
        range=[0, min(1.0, 1.1 * max(shown) + 0.01)],
    )
    figure.update_yaxes(title_text=f"V(\u03b5), share of {what}", range=[0, 1.03], tickformat=".0%")
    return figure


def floors(by_metric: Mapping[str, NoiseFloor]) -> go.Figure:
    """Draw each observed error against what a perfect model of the same size shows (5 to 95 %).

    Errors differ in size by far, so each is divided by its own floor's mean: 1 is noise alone.
    """
    figure = go.Figure()
    place = np.arange(len(by_metric))
    found = list(by_metric.values())
    mean = np.array([max(floor.mean, 1e-300) for floor in found])
    low, high = (np.array([floor.quantile(q) for floor in found]) for q in (0.05, 0.95))
    observed = np.array([floor.observed for floor in found])
    values = [
        [escape(name), floor.observed, floor.mean, floor.quantile(0.95), floor.p_value]
        for name, floor in by_metric.items()
    ]
    hover = (
        "%{customdata[0]} %{customdata[1]:.4f}<br>a perfect model shows %{customdata[2]:.4f}, "
        "at most %{customdata[3]:.4f} in 95 of 100 cases<br>p = %{customdata[4]:.3g}<extra></extra>"
    )
    figure.add_bar(
        x=(high - low) / mean,
        base=low / mean,
        y=place,
        orientation="h",
        width=0.5,
        marker={"color": "rgba(86,180,233,0.55)", "line": {"width": 0}},
        name="a perfect model, 90 of 100 cases",
        customdata=values,
        hovertemplate=hover,
    )
    above = np.array([floor.p_value <= 0.05 for floor in found])
    for shown, colour, symbol, words in (
        (above, "vermillion", "diamond", "observed, above noise"),
        (~above, "green", "circle", "observed, not distinguishable from noise"),
    ):
        figure.add_scatter(
            x=(observed / mean)[shown],
            y=place[shown],
            mode="markers",
            marker={"size": 13, "color": OKABE_ITO[colour], "symbol": symbol},
            cliponaxis=False,
            name=words,
            customdata=[row for row, kept in zip(values, shown, strict=True) if kept],
            hovertemplate=hover,
        )
    figure.update_layout(template=TEMPLATE, height=150 + 46 * len(place), bargap=0.3)
    figure.update_xaxes(title_text="Multiple of what noise alone shows", rangemode="tozero")
    figure.update_yaxes(
        tickvals=place, ticktext=[escape(name) for name in by_metric], autorange="reversed", showgrid=False
    )
    return figure


def score_parts(by_method: Mapping[str, Decomposition], score: str) -> go.Figure:
    """Draw calibration and refinement of a proper score as stacked bars, one per method.

    `score` is its name, for the axis.
    """
    figure = go.Figure()
    place = np.arange(len(by_method))
    found = list(by_method.values())
    for name, colour, words in (
        ("refinement", "grey", "refinement: what these cells cannot tell apart"),
        ("calibration", "vermillion", "calibration: what recalibration can remove"),
    ):
        values = [getattr(parts, name) for parts in found]
        figure.add_bar(
            x=values,
            y=place,
            orientation="h",
            marker={"color": OKABE_ITO[colour]},
            name=words,
            customdata=[
                [escape(method), parts.score, parts.binning]
                for method, parts in zip(by_method, found, strict=True)
            ],
            hovertemplate="%{customdata[0]}: " + name + " %{x:.5f}<br>of a score of %{customdata[1]:.5f}; "
            "differences inside bins %{customdata[2]:+.5f}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=150 + 46 * len(place), barmode="stack", bargap=0.35)
    figure.update_yaxes(
        tickvals=place, ticktext=[escape(name) for name in by_method], autorange="reversed", showgrid=False
    )
    figure.update_xaxes(title_text=f"{score[0].upper()}{score[1:]}, in parts", rangemode="tozero")
    return figure
