"""Groups of rows: maps of their gaps, small reliability diagrams, and gaps to all other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib.answers.cuts import Cut
from calib.answers.gaps import SliceGaps
from calib.answers.slice_tables import groups_of
from calib.data.defaults import N_BINS
from calib.data.effective import effective_rows
from calib.data.notions import NotionShape
from calib.diagrams.heat import ClassHeat, class_heat
from calib.diagrams.style import (
    FEW_ROWS,
    OKABE_ITO,
    Figure,
    at,
    axes,
    diagonal,
    escape,
    faint,
    figure,
    grid,
    interval,
    named_rows,
    scatter,
    shorten,
    span,
)
from calib.evidence.rows import Rows
from calib.stats.frequencies import wilson_interval
from calib.stats.intervals import mean_limits

#: Small diagrams in a row.
ACROSS = 3


def slice_heat(
    y_true: Any,
    scores: Any,
    column: Any,
    *,
    groups: Any = None,
    n_bins: int = N_BINS,
    sample_weight: Any = None,
) -> ClassHeat:
    """Arrange group x bin cells of the confidence, all predicted classes pooled."""
    wanted = column if isinstance(column, str) else [column]
    (part,) = groups_of(y_true, scores, wanted, None, "confidence", sample_weight)
    cells = part.evidence.cells(n_bins=n_bins)
    owner = part.owner[cells.problem]
    shape = NotionShape("top-label", len(part.names))
    return class_heat(replace(cells, shape=shape, problem=owner, label=owner), groups)


def slice_class_heat(
    y_true: Any, scores: Any, cut: Cut, *, groups: Any, classes: Any, sample_weight: Any = None
) -> ClassHeat:
    """Arrange group x predicted class, all confidences together."""
    rows = Rows(y_true, scores, sample_weight=sample_weight)
    group = cut.code if rows.counts is None else cut.code[rows.counts]
    weights, (label, score, right) = rows.weights, rows.claims()
    groups, classes = np.asarray(groups, dtype=np.int64), np.asarray(classes, dtype=np.int64)
    row_of, column_of = np.full(len(cut.groups), -1), np.full(int(label.max()) + 1, -1)
    row_of[groups] = np.arange(len(groups))
    column_of[classes[classes < len(column_of)]] = np.flatnonzero(classes < len(column_of))
    row, column = row_of[group], column_of[label]
    shown = (row >= 0) & (column >= 0)
    shape = len(groups), len(classes)
    cell, each = (row * shape[1] + column)[shown], np.ones(len(row)) if weights is None else weights
    values = (np.ones(len(row)), each, each**2, each * score.astype(np.float64), each * right)
    count, weight, square, score_sum, outcome_sum = (
        np.bincount(cell, weights=value[shown], minlength=shape[0] * shape[1]).reshape(shape)
        for value in values
    )
    with np.errstate(invalid="ignore"):
        confidence, accuracy = score_sum / weight, outcome_sum / weight
        effective = effective_rows(weight, square)
    ends = wilson_interval(accuracy, effective)
    contribution = np.nansum(weight * np.abs(accuracy - confidence), axis=1) / each.sum()
    edges = np.arange(shape[1] + 1.0)
    count = count.astype(np.int64)
    enough = count >= FEW_ROWS
    alpha = 0.05 / max(int(enough.sum()), 1)
    low, high = mean_limits(accuracy, effective, alpha, weighted=weights is not None)
    beyond = enough & ((confidence < low) | (confidence > high))
    return ClassHeat(groups, contribution, edges, count, confidence, accuracy, *ends, beyond)


def draw_slice_panels(
    diagram: ClassHeat,
    groups: Sequence[str],
    title: str,
    *,
    chosen: tuple[int, int] | None = None,
    across: int = ACROSS,
) -> Figure:
    """Draw a small reliability diagram of each group, with 95 % Wilson intervals; `title` of the x axes.

    Marks carry [code of the group, bin] first in their customdata; `chosen` is such a pair to be marked.
    """
    down = -(-len(diagram.label) // across)
    names = [escape(shorten(groups[code], 18)) for code in diagram.label]
    spacing: dict[str, Any] = {"vertical_spacing": 0.3 / (down + 1), "horizontal_spacing": 0.09}
    titles = (*names, *[""] * (down * across - len(names)))
    layout = grid(down, across, titles, shared_xaxes="all", shared_yaxes="all", **spacing)
    layout["shapes"], data = [], []
    for row, label in enumerate(diagram.label.tolist()):
        used = diagram.count[row] > 0
        confidence, accuracy, count = (
            values[row][used] for values in (diagram.confidence, diagram.accuracy, diagram.count)
        )
        low, high = diagram.accuracy_lower[row][used], diagram.accuracy_upper[row][used]
        layout["shapes"].append(diagonal(row + 1))
        if chosen is not None and chosen[0] == label:
            ends = diagram.edges[chosen[1] : chosen[1] + 2].tolist()
            layout["shapes"].append(span(*ends, place=row + 1))
        data += scatter(
            x=confidence,
            y=accuracy,
            marker={"size": 7, "color": faint(OKABE_ITO["vermillion"], count)},
            error_y=interval(accuracy, low, high),
            customdata=[
                [label, int(bin_), int(n), float(a), float(b)]
                for bin_, n, a, b in zip(np.flatnonzero(used), count, low, high, strict=True)
            ],
            hovertemplate="confidence %{x:.3f}, accuracy %{y:.3f}<br>95 % interval %{customdata[3]:.4g} to "
            f"%{{customdata[4]:.4g}}<br>%{{customdata[2]:,}} rows<extra>{names[row]}</extra>",
            **at(row + 1),
        )
    x_axes = axes(layout, "x")
    for axis in (*x_axes, *axes(layout, "y")):
        axis.update(range=[-0.02, 1.02], tickvals=[0, 0.5, 1], tickformat=".0%")
    x_axes[(down - 1) * across + min(2, len(names), across) - 1]["title"] = title
    return figure(data, **layout, height=130 + 190 * down, margin={"t": 32})


def draw_slice_gaps(gaps: SliceGaps, kind: str = "bias") -> Figure:
    """Draw each group's difference from all other rows with its interval; `kind` is "bias" or "error"."""
    low, high = getattr(gaps, f"{kind}_lower"), getattr(gaps, f"{kind}_upper")
    own, rest = getattr(gaps, kind), getattr(gaps, f"{kind}_of_rest")
    place = np.arange(len(gaps))
    middle = np.clip(own - rest, low, high)
    clear = (low > 0) | (high < 0)
    marks = scatter(
        x=middle,
        y=place,
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
        "interval of the difference %{customdata[3]:+.4g} to %{customdata[4]:+.4g}<br>"
        "%{customdata[5]:,} rows",
    )
    line = {"color": "rgba(138,144,153,0.9)", "width": 1}
    what = "accuracy \u2212 confidence" if kind == "bias" else "error"
    return figure(
        marks,
        height=120 + 30 * max(len(gaps), 2),
        shapes=[{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": line}],
        xaxis={"title": f"{what},<br>minus all other rows'"},
        **named_rows(
            [shorten(str(name)) for name in gaps.group],
            margin={"b": 86},  # a title of two lines
            range=[len(gaps) - 0.5, -0.5],
            ticks="",
        ),
    )
