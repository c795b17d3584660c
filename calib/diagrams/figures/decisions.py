"""Figures of decisions: risk against coverage, and net benefit against the threshold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib.answers.decision_curves import DecisionCurve, RiskCoverage
from calib.answers.decision_rules import Outcome
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, method_colour

#: Points of a line: more cannot be told apart on a screen.
MOST_POINTS = 1_000


def risk_coverage(
    curves: Mapping[str, RiskCoverage],
    *,
    outcomes: Mapping[str, Outcome] | None = None,
    risk: float | None = None,
) -> go.Figure:
    """Draw risk against coverage of each method, and where its rule stands.

    Parameters
    ----------
    curves : mapping of str to RiskCoverage
        By method, drawn in order.
    outcomes : mapping of str to Outcome, optional
        What the rule of a method does to the same rows, drawn as a diamond on its curve.
    risk : float, optional
        Largest risk allowed, drawn as a line.
    """
    figure = Drawing()
    for position, (name, curve) in enumerate(curves.items()):
        chosen = np.unique(np.linspace(0, len(curve.coverage) - 1, MOST_POINTS).astype(int))
        figure.add_scatter(
            x=curve.coverage[chosen],
            y=curve.risk[chosen],
            customdata=curve.threshold[chosen][:, None].tolist(),
            mode="lines",
            line={"color": method_colour(position), "width": 2.5},
            name=escape(name),
            hovertemplate=f"{escape(name)}<br>%{{x:.1%}} accepted at %{{customdata[0]:.4f}} and above, "
            "%{y:.2%} of them wrong<extra></extra>",
        )
        outcome = (outcomes or {}).get(name)
        if outcome is not None and outcome.n_accepted:
            figure.add_scatter(
                x=[outcome.coverage],
                y=[1 - outcome.accuracy],
                mode="markers",
                marker={"symbol": "diamond", "size": 13, "color": method_colour(position)},
                showlegend=False,
                hovertemplate=f"Rule of {escape(name)}: %{{x:.1%}} accepted, %{{y:.2%}} of them wrong"
                "<extra></extra>",
            )
    if risk is not None:
        figure.add_scatter(
            x=[0, 1],
            y=[risk, risk],
            mode="lines",
            line={"color": OKABE_ITO["vermillion"], "width": 2, "dash": "dash"},
            name=f"{risk:.4g} allowed",
            hoverinfo="skip",
        )
    # The risk of the first few rows jumps between 0 and 1; the picture is about the others.
    steady = [float(curve.risk[curve.coverage >= 0.02].max()) for curve in curves.values()]
    figure.update_layout(template=TEMPLATE, height=440)
    figure.update_xaxes(
        title_text="Coverage: share of predictions accepted", range=[0, 1.01], tickformat=".0%"
    )
    top = 1.08 * max([*steady, 1.5 * (risk or 0.0), 0.001])
    figure.update_yaxes(
        title_text="Risk: share of accepted ones that are wrong", range=[0, top], tickformat=".1%"
    )
    return figure


def decision_curve(curves: Mapping[str, DecisionCurve]) -> go.Figure:
    """Draw the net benefit of acting by the scores of each method, of acting always, and of never acting."""
    figure = Drawing()
    for position, (name, curve) in enumerate(curves.items()):
        figure.add_scatter(
            x=curve.threshold,
            y=curve.model,
            mode="lines",
            line={"color": method_colour(position), "width": 2.5},
            name=escape(name),
            hovertemplate=f"{escape(name)} at %{{x:.0%}}: %{{y:.4f}}<extra></extra>",
        )
    first = next(iter(curves.values()))
    for name, values in (("Act always", first.everyone), ("Never act", np.zeros(len(first.threshold)))):
        figure.add_scatter(
            x=first.threshold,
            y=values,
            mode="lines",
            line={"color": OKABE_ITO["grey"], "width": 2, "dash": "dot" if values.any() else "dash"},
            name=name,
            hovertemplate=f"{name} at %{{x:.0%}}: %{{y:.4f}}<extra></extra>",
        )
    best = max(float(curve.model.max()) for curve in curves.values())
    figure.update_layout(template=TEMPLATE, height=420)
    figure.update_xaxes(title_text="Threshold on P(Y = 1)", range=[0, 1], tickformat=".0%")
    figure.update_yaxes(title_text="Net benefit per row", range=[-0.15 * best - 0.005, 1.1 * best + 0.005])
    return figure
