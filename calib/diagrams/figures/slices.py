"""Figures of groups of rows: small reliability diagrams, and gaps to all other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.answers.gaps import SliceGaps
from calib.diagrams.classes import ClassHeat
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import (
    OKABE_ITO,
    TEMPLATE,
    escape,
    faint,
    interval,
    mark_span,
    named_rows,
    shorten,
)

#: Small diagrams in a row.
ACROSS = 3


def slice_panels(
    diagram: ClassHeat,
    groups: Sequence[str],
    title: str,
    *,
    chosen: tuple[int, int] | None = None,
    across: int = ACROSS,
) -> go.Figure:
    """Draw a small reliability diagram of each group, with 95 % Wilson intervals; `title` of the x axes.

    Marks carry [code of the group, bin] first in their customdata; `chosen` is such a pair to be marked.
    """
    down = -(-len(diagram.label) // across)
    names = [escape(shorten(groups[code], 18)) for code in diagram.label]
    spacing: dict[str, Any] = {"vertical_spacing": 0.3 / (down + 1), "horizontal_spacing": 0.05}
    titles = (*names, *[""] * (down * across - len(names)))
    figure = Drawing.grid(down, across, titles, shared_xaxes="all", shared_yaxes="all", **spacing)
    for at in range(len(diagram.label)):
        row, col = at // across + 1, at % across + 1
        used = diagram.count[at] > 0
        says, right, count = diagram.confidence[at][used], diagram.accuracy[at][used], diagram.count[at][used]
        low, high = diagram.accuracy_lower[at][used], diagram.accuracy_upper[at][used]
        figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, layer="below", row=row, col=col)
        if chosen is not None and chosen[0] == diagram.label[at]:
            mark_span(figure, *diagram.edges[chosen[1] : chosen[1] + 2].tolist(), row=row, col=col)
        figure.add_scatter(
            x=says,
            y=right,
            mode="markers",
            marker={"size": 7, "color": OKABE_ITO["vermillion"], "opacity": faint(count)},
            error_y=interval(right, low, high, "rgba(138,144,153,0.9)"),
            customdata=[
                [int(diagram.label[at]), int(bin_), int(n), float(a), float(b)]
                for bin_, n, a, b in zip(np.flatnonzero(used), count, low, high, strict=True)
            ],
            hovertemplate="says %{x:.3f}, right %{y:.3f}<br>95 % interval %{customdata[3]:.3f} to "
            f"%{{customdata[4]:.3f}}<br>%{{customdata[2]:,}} rows<extra>{names[at]}</extra>",
            showlegend=False,
            row=row,
            col=col,
        )
    figure.update_xaxes(range=[-0.02, 1.02], tickvals=[0, 0.5, 1])
    figure.update_yaxes(range=[-0.02, 1.02], tickvals=[0, 0.5, 1])
    figure.update_xaxes(title_text=title, row=down, col=min(2, len(names), across))
    figure.update_layout(template=TEMPLATE, height=130 + 190 * down, margin={"t": 32})
    return figure


def slice_gaps(gaps: SliceGaps, kind: str = "bias") -> go.Figure:
    """Draw each group's difference from all other rows with its interval; `kind` is "bias" or "error"."""
    low, high = getattr(gaps, f"{kind}_lower"), getattr(gaps, f"{kind}_upper")
    own, rest = getattr(gaps, kind), getattr(gaps, f"{kind}_of_rest")
    place = np.arange(len(gaps))
    middle = np.clip(own - rest, low, high)
    clear = (low > 0) | (high < 0)
    figure = Drawing()
    figure.add_scatter(
        x=middle,
        y=place,
        mode="markers",
        marker={
            "size": 10,
            "color": np.where(clear, OKABE_ITO["vermillion"], OKABE_ITO["grey"]).tolist(),
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": high - middle,
            "arrayminus": middle - low,
            "color": "rgba(138,144,153,0.9)",
        },
        customdata=[
            [escape(str(name)), float(a), float(b), float(c), float(d), int(n)]
            for name, a, b, c, d, n in zip(gaps.group, own, rest, low, high, gaps.count, strict=True)
        ],
        hovertemplate="%{customdata[0]}: %{customdata[1]:+.3f}, all others %{customdata[2]:+.3f}<br>"
        "interval of the difference %{customdata[3]:+.3f} to %{customdata[4]:+.3f}<br>"
        "%{customdata[5]:,} rows<extra></extra>",
    )
    line = {"color": "rgba(138,144,153,0.9)", "width": 1}
    figure.add_shape(type="line", x0=0, x1=0, y0=0, y1=1, yref="paper", line=line)
    named_rows(figure, [shorten(str(name)) for name in gaps.group], range=[len(gaps) - 0.5, -0.5], ticks="")
    what = "right \u2212 says" if kind == "bias" else "error"
    figure.update_xaxes(title_text=f"{what},<br>less that of all other rows")
    figure.update_layout(template=TEMPLATE, height=120 + 30 * max(len(gaps), 2))
    return figure
