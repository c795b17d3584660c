"""Figures of validity curves: of binary problems with what theorems promise, and of whole vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib.answers.guarantee_cards import Promise
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, method_colour
from calib.diagrams.validity import CanonicalValidity, ValidityCurve

#: How to read the dotted lines of `validity`.
DOTTED = (
    "Dotted: what the same cells would show if every predicted probability were exactly true, because "
    "observed frequencies are noisy too. A curve on or above its dotted line shows no more than noise."
)


def validity(
    curves: Mapping[str, ValidityCurve], *, conditional: bool = False, promises: Sequence[Promise] = ()
) -> go.Figure:
    """Draw V(epsilon) of each method, dotted what a perfect model shows, and the theorem's epsilons.

    Parameters
    ----------
    curves : mapping of str to ValidityCurve
        By method, drawn in order.
    conditional : bool
        Draw shares of cells instead of shares of rows.
    promises : sequence of Promise
        Drawn as vertical lines up to the promised share.
    """
    figure = Drawing()
    what = "cells" if conditional else "rows"
    for position, (method, curve) in enumerate(curves.items()):
        colour = method_colour(position)
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
        title_text="\u03b5, distance allowed from the truth", range=[0, min(1.0, 1.1 * max(shown) + 0.01)]
    )
    figure.update_yaxes(title_text=f"V(\u03b5), share of {what}", range=[0, 1.03], tickformat=".0%")
    return figure


def canonical_validity(curves: Mapping[str, CanonicalValidity]) -> go.Figure:
    """Draw V(eps) of several predictors as steps (Fig. 12, left)."""
    figure = Drawing()
    reach = max(float(np.interp(0.995, curve.share, curve.epsilon)) for curve in curves.values())
    for position, (name, curve) in enumerate(curves.items()):
        figure.add_scatter(
            x=np.concatenate(([0.0], curve.epsilon, [2.0])),
            y=np.concatenate(([0.0], curve.share, [1.0])),
            mode="lines",
            line={"shape": "hv", "width": 2.5, "color": method_colour(position)},
            name=escape(name),
            hovertemplate=f"{escape(name)}<br>%{{y:.1%}} of rows within %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=440)
    figure.update_xaxes(title_text="Distance \u03b5 (L1)", range=[0, reach * 1.08])
    figure.update_yaxes(title_text="Share of rows within \u03b5", range=[-0.01, 1.03], tickformat=".0%")
    return figure
