"""Figures of decisions: risk against coverage, and net benefit against the threshold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.answers.decision_curves import DecisionCurve, RiskCoverage
from calib.answers.decision_rules import RuleEffect
from calib.diagrams.style import GREY, INK, Figure, escape, figure, method_line, method_marker, scatter

#: Points of a line: a screen does not show more.
MOST_POINTS = 1_000


def draw_risk_coverage(
    curves: Mapping[str, RiskCoverage],
    *,
    effects: Mapping[str, RuleEffect] | None = None,
    risk: float | None = None,
) -> Figure:
    """Draw risk against coverage of each method, and the place of its rule.

    `curves` and `effects` are by method; an effect is a diamond on its curve. `risk` is drawn as a line.
    """
    data = []
    for position, (name, curve) in enumerate(curves.items()):
        chosen = np.unique(np.linspace(0, len(curve.coverage) - 1, MOST_POINTS).astype(int))
        data += scatter(
            x=curve.coverage[chosen],
            y=curve.risk[chosen],
            customdata=(curve.threshold[chosen],),
            line=method_line(position),
            name=escape(name),
            hovertemplate=f"{escape(name)}<br>%{{x:.1%}} accepted at %{{customdata[0]:.4f}} and above, "
            "%{y:.2%} of them wrong",
        )
        effect = (effects or {}).get(name)
        if effect is not None and effect.n_accepted:
            data += scatter(
                x=[effect.coverage],
                y=[1 - effect.accuracy],
                marker={**method_marker(position, 13), "symbol": "diamond"},
                hovertemplate=f"Rule of {escape(name)}: %{{x:.1%}} accepted, %{{y:.2%}} of them wrong",
            )
    if risk is not None:
        data += scatter(
            x=[0, 1],
            y=[risk, risk],
            line={"color": INK, "width": 1.5, "dash": "longdash"},
            name=f"{100 * risk:.4g} % allowed",
        )
    # The risk of the first few rows jumps between 0 and 1.
    steady = [float(curve.risk[curve.coverage >= 0.02].max()) for curve in curves.values()]
    top = 1.08 * max([*steady, 1.5 * (risk or 0.0), 0.001])
    return figure(
        data,
        height=440,
        xaxis={"title": "Coverage: share of predictions accepted", "range": [0, 1.01], "tickformat": ".0%"},
        yaxis={"title": "Wrong among the accepted", "range": [0, top], "tickformat": ".1%"},
    )


def draw_decision_curves(curves: Mapping[str, DecisionCurve]) -> Figure:
    """Draw the net benefit of acting by the scores of each method, always and never."""
    data = []
    for position, (name, curve) in enumerate(curves.items()):
        data += scatter(
            x=curve.threshold,
            y=curve.model,
            line=method_line(position),
            name=escape(name),
            hovertemplate=f"{escape(name)} at %{{x:.0%}}: %{{y:.4f}}",
        )
    first = next(iter(curves.values()))
    for name, values in (("Act always", first.everyone), ("Never act", np.zeros(len(first.threshold)))):
        data += scatter(
            x=first.threshold,
            y=values,
            line={"color": GREY, "width": 2, "dash": "dot" if values.any() else "dash"},
            name=name,
            hovertemplate=f"{name} at %{{x:.0%}}: %{{y:.4f}}",
        )
    best = max(float(curve.model.max()) for curve in curves.values())
    return figure(
        data,
        height=420,
        xaxis={"title": "Threshold on P(Y = 1)", "range": [0, 1], "tickformat": ".0%"},
        yaxis={"title": "Net benefit per row", "range": [-0.15 * best - 0.005, 1.1 * best + 0.005]},
    )
