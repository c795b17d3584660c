"""Groups of rows: maps of their gaps, small reliability diagrams, and gaps to all other rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from calib.answers.centres import TITLES, CentreTable
from calib.answers.slice_tables import Grouping, SliceTable, groups_of
from calib.data.defaults import N_BINS
from calib.data.notions import NotionShape
from calib.data.predictions import Scores, Values
from calib.diagrams.heat import ClassHeat, class_heat
from calib.diagrams.style import (
    WHISKERS,
    Figure,
    at,
    axes,
    diagonal,
    escape,
    figure,
    hues,
    interval,
    marks,
    named_rows,
    scatter,
    shorten,
    small_multiples,
)
from calib.evidence.rows import Source, as_evidence

#: Small diagrams in a row.
ACROSS = 3


def slice_heat(
    y_true: Source,
    scores: Scores | None = None,
    column: Grouping | None = None,
    *,
    groups: Iterable[int] | None = None,
    n_bins: int = N_BINS,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> ClassHeat:
    """Arrange group x bin cells of the confidence, all predicted classes pooled.

    `column` is one column of `calib.slices`, and `groups` are the codes of its groups to show.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    part = groups_of(evidence, column, None, "confidence")[0]
    cells = part.evidence.cells(n_bins=n_bins, strategy="uniform")
    owner = part.owner[cells.problem]
    shape = NotionShape("top-label", len(part.names))
    return class_heat(replace(cells, shape=shape, problem=owner), groups)


def draw_slice_panels(
    diagram: ClassHeat,
    groups: Sequence[str],
    title: str,
    *,
    across: int = ACROSS,
) -> Figure:
    """Draw a small reliability diagram of each group, with 95 % Wilson intervals; `title` of the x axes.

    Marks carry [code of the group, bin] first in their customdata.
    """
    names = [escape(shorten(groups[code], 18)) for code in diagram.label]
    layout, data = small_multiples(names, across, 0.09), []
    down = -(-len(names) // across)
    for row, label in enumerate(diagram.label.tolist()):
        own = np.flatnonzero(diagram.row == row)
        cells, low, high = diagram.cells.of(own), diagram.accuracy_lower[own], diagram.accuracy_upper[own]
        layout["shapes"].append(diagonal(row + 1))
        data += scatter(
            x=cells.mean_score,
            y=cells.mean_outcome,
            marker={
                "size": 7,
                "color": hues(cells.gap, (low > cells.mean_score) | (high < cells.mean_score)),
            },
            error_y=interval(cells.mean_outcome, low, high),
            customdata=(np.full(len(own), label), diagram.column[own], cells.count, low, high),
            hovertemplate="confidence %{x:.3f}, accuracy %{y:.3f}<br>95 % interval %{customdata[3]:.4g} to "
            f"%{{customdata[4]:.4g}}<br>%{{customdata[2]:,}} rows<extra>{names[row]}</extra>",
            **at(row + 1),
        )
    x_axes = axes(layout, "x")
    for axis in (*x_axes, *axes(layout, "y")):
        axis.update(range=[-0.02, 1.02], tickvals=[0, 0.5, 1], tickformat=".0%")
    x_axes[(down - 1) * across + min(2, len(names), across) - 1]["title"] = title
    return figure(data, **layout)


def draw_centres(table: CentreTable, number: str = "ratio") -> Figure:
    """Draw a number of `TITLES` in each centre, its mean over centres, and its range in a new centre."""
    ends = [getattr(table, f"{number}{end}") for end in ("", "_lower", "_upper")]
    shown = np.flatnonzero(np.isfinite(ends[0]))
    shown = shown[np.argsort(ends[0][shown], kind="stable")]
    names = [str(table.centre[at]) for at in shown]
    cells = [np.array([end[at] for at in shown]) for end in ends]
    counts = table.count[shown]
    for each in (each for each in table.across if each.key == number):
        names += [f"All {each.n_centres} centres", "A new centre"]
        further = ([each.mean] * 2, [each.lower, each.new_lower], [each.upper, each.new_upper])
        cells = [np.append(known, more) for known, more in zip(cells, further, strict=True)]
        counts = np.append(counts, [counts.sum()] * 2)
    middle, low, high = cells
    ideal = 0.0 if number == "in_the_large" else 1.0
    away = (low > ideal) | (high < ideal)
    dots = scatter(
        x=middle,
        y=np.arange(len(names)),
        marker=marks(hues(middle - ideal, away), 10),
        error_x=interval(middle, low, high),
        customdata=([escape(name) for name in names], low, high, counts),
        hovertemplate="%{customdata[0]}: %{x:.2f}, interval %{customdata[1]:.2f} to %{customdata[2]:.2f}<br>"
        "%{customdata[3]:,} rows",
    )
    line = {"color": WHISKERS, "width": 1}
    return figure(
        dots,
        height=120 + 30 * max(len(names), 2),
        shapes=[{"type": "line", "x0": ideal, "x1": ideal, "y0": 0, "y1": 1, "yref": "paper", "line": line}],
        xaxis={"title": TITLES[number]},
        **named_rows([shorten(escape(name)) for name in names], range=[len(names) - 0.5, -0.5], ticks=""),
    )


def draw_slice_gaps(table: SliceTable) -> Figure:
    """Draw each group's gap minus the gap of all other rows, with its interval; coloured if it differs."""
    shown = np.flatnonzero(np.isfinite(table.lower))
    low, high, place = table.lower[shown], table.upper[shown], np.arange(len(shown))
    middle = table.difference[shown]
    several = len(set(table.column.tolist())) > 1
    names = [
        escape(f"{group} ({column})" if several else str(group))
        for column, group in zip(table.column[shown], table.group[shown], strict=True)
    ]
    dots = scatter(
        x=100 * middle,
        y=place,
        marker=marks(hues(middle, table.differs[shown]), 10),
        error_x=interval(100 * middle, 100 * low, 100 * high),
        customdata=(
            names,
            100 * table.gap[shown],
            100 * table.gap_of_rest[shown],
            100 * low,
            100 * high,
            table.count[shown],
            table.column[shown],
            table.group[shown].astype(str),
        ),
        hovertemplate="%{customdata[0]}: %{customdata[1]:+.1f} points, all others %{customdata[2]:+.1f}<br>"
        "difference %{x:+.1f}, interval %{customdata[3]:+.1f} to %{customdata[4]:+.1f}<br>"
        "%{customdata[5]:,} rows",
    )
    line = {"color": WHISKERS, "width": 1}
    return figure(
        dots,
        height=120 + 30 * max(len(shown), 2),
        shapes=[{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": line}],
        xaxis={"title": "gap minus the gap of all others,<br>percentage points"},
        **named_rows(
            [shorten(name) for name in names],
            margin={"b": 86},  # a title of two lines
            range=[len(shown) - 0.5, -0.5],
            ticks="",
        ),
    )
