"""Figures of who answers: agreement with a judge, levels, risk against coverage, and net benefit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib.answers.coarsening import Coarsening
from calib.answers.decision_curves import DecisionCurve, RiskCoverage
from calib.answers.decision_rules import RuleEffect
from calib.answers.judgement import Judgement
from calib.diagrams.style import (
    GREY,
    INK,
    PERCENT,
    Figure,
    escape,
    figure,
    hues,
    interval,
    marks,
    method_line,
    method_marker,
    named_rows,
    names_above,
    scatter,
    shorten,
    sizes,
)

#: Points of a line: a screen does not show more.
MOST_POINTS = 1_000


def draw_judgement(judgement: Judgement) -> Figure:
    """Draw how often people agree in each cell, with intervals, and diamonds at the judge's mean confidence.

    Dots are larger for more rows; blue if people agree more often than the judge's confidence says beyond
    noise, vermillion if less often.
    """
    cells = judgement.cells
    shown = np.flatnonzero(cells.n_labels > 0)
    place, middle = np.arange(len(cells.share)), cells.agreement[shown]
    low, high, stated = cells.lower[shown], cells.upper[shown], cells.confidence
    off = (high < stated[shown]) | (low > stated[shown])
    agreeing = np.rint(middle * cells.n_labels[shown])
    data = scatter(
        x=middle,
        y=place[shown],
        marker=marks(hues(middle - stated[shown], off), 22 * sizes(cells.share[shown], 1.0)),
        error_x=interval(middle, low, high),
        customdata=(agreeing, cells.n_labels[shown], low, high),
        hovertemplate="people agree in %{customdata[0]:,.0f} of %{customdata[1]:,} rows, %{x:.1%}<br>"
        "interval %{customdata[2]:.1%} to %{customdata[3]:.1%}",
        name="people agree",
    )
    if judgement.rows.confidence is not None:
        data += scatter(
            x=stated,
            y=place,
            marker=marks(INK, 12, "diamond-open", width=2),
            hovertemplate="mean confidence %{x:.1%}",
            name="the judge's confidence",
        )
    least = float(np.nanmin(np.concatenate([low, middle, stated]), initial=1.0))
    axis = {"range": [least - 0.04, 1.04], "dtick": 0.2 if least > 0.4 else 0.5}  # numbers fit on a phone
    return _in_rows(data, cells.names, cells.share, title="people agree", **axis)


def draw_levels(rule: Coarsening) -> Figure:
    """Draw how often the answers of each level are right, with 95 % intervals, and the promised accuracy."""
    shown = np.flatnonzero(rule.n_answered > 0)
    right = rule.right[shown]
    data = scatter(
        x=right,
        y=shown,
        marker=marks(hues(0.0 * right, right < 0.0), 22 * sizes(rule.share[shown], 1.0)),
        error_x=interval(right, rule.lower[shown], rule.upper[shown]),
        customdata=(rule.n_answered[shown], rule.n_wrong[shown], rule.thresholds[shown]),
        hovertemplate="%{customdata[0]:,} rows answered, %{customdata[1]:,} wrong<br>"
        "summed probability from %{customdata[2]:.4f}",
        name="answers that are right",
    )
    ends = np.array([-0.5, len(rule.levels) - 0.5])
    data += scatter(x=0 * ends + rule.accuracy, y=ends, mode="lines", name="promised")
    low = float(np.min(rule.lower[shown], initial=rule.accuracy))
    return _in_rows(data, rule.levels, rule.share, title="right", range=[low - 0.02, 1.01])


def _in_rows(data: list[Any], names: Sequence[str], share: np.ndarray, **axis: Any) -> Figure:
    """Return a figure with a row for each name and its share of the rows, and an axis in percent."""
    named = [f"{shorten(name, 30)} ({part:.0%} of rows)" for name, part in zip(names, share, strict=True)]
    room = names_above(data, 130 + 34 * max(len(named), 2))
    rows = named_rows(named, margin=room["margin"], range=[len(named) - 0.5, -0.5], ticks="")
    whole = [{**trace, "cliponaxis": False} for trace in data]
    return figure(whole, xaxis={**PERCENT, **axis}, **{**room, **rows})


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
