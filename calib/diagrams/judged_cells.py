"""How often people agree with a judge by verdict and confidence, and how often levels answer rightly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib.answers.coarsening import Coarsening
from calib.answers.judgement import Judgement
from calib.diagrams.style import (
    INK,
    PERCENT,
    Figure,
    figure,
    hues,
    interval,
    marks,
    named_rows,
    names_above,
    scatter,
    shorten,
    sizes,
)


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
    return _in_rows(data, cells.names, cells.share, title="people agree", range=[-0.02, 1.04], dtick=0.5)


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
    return figure(data, xaxis={**PERCENT, **axis}, **{**room, **rows})
