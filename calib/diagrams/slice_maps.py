"""Classes and groups of rows: maps of their gaps, small reliability diagrams, and gaps to all other rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.risks import TITLES, CentreTable
from calib.answers.slice_tables import Grouping, SliceTable, groups_of
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.defaults import N_BINS
from calib.data.notions import NotionShape
from calib.data.predictions import Scores, Values
from calib.diagrams import style
from calib.diagrams.reliability_diagrams import with_class_names
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Source, as_evidence
from calib.stats.intervals import beyond_noise, frequency_interval

#: Small diagrams in a row.
ACROSS = 3
#: Orange-red is overconfident, blue underconfident; the grey between is seen on light and dark pages.
GAP_COLOURS = [(0.0, style.LESS), (0.5, "#B9BEC4"), (1.0, style.MORE)]

#: Pixels of a row.
ROW = 26
#: Colour around cells beyond noise.
OUTLINE = "#6B7680"
#: Pixels of the colour bar: its length, and the height it takes with title and ticks.
SCALE_LENGTH, SCALE_HEIGHT = 320, 44
#: Pixels above a map for plotly's tools, which would cover its cells.
TOOLS_HEIGHT = 30


@dataclass(frozen=True, eq=False, repr=False)
class ClassHeat(Drawn):
    """Gaps by class and bin, the classes that add most to the TL-ECE first."""

    label: np.ndarray  #: (R,) int64: Classes, most contribution first
    contribution: np.ndarray  #: (R,) float64: Contribution of each class to the TL-ECE
    edges: np.ndarray  #: (B + 1,) float64: Edges of the equal-width bins
    cells: BinStatistics  #: The C cells with rows, row by row
    #: (C,) int64: Row and column of each cell
    row: np.ndarray
    column: np.ndarray
    #: (C,) float64: 95 % Wilson interval of the accuracy, of the effective rows
    accuracy_lower: np.ndarray
    accuracy_upper: np.ndarray
    #: (C,) bool: Cells of at least 20 rows whose accuracy is beyond noise, all together at 5 %
    beyond_noise: np.ndarray

    @property
    def limit(self) -> float:
        """End of a colour scale for `gap`: 95 % of cells of 20 rows or more are inside; a multiple of 0.1."""
        gaps = np.abs(self.cells.gap[self.cells.count >= style.FEW_ROWS])
        return float(np.clip(np.ceil(10 * np.quantile(gaps, 0.95)) / 10, 0.1, 1.0)) if len(gaps) else 1.0

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per cell with rows in it."""
        cells = self.cells
        table = pd.DataFrame(
            {
                "label": self.label[self.row],
                "bin": self.column,
                "lower": self.edges[self.column],
                "upper": self.edges[self.column + 1],
                "count": cells.count,
                "mean_confidence": cells.mean_score,
                "accuracy": cells.mean_outcome,
                "accuracy_lower": self.accuracy_lower,
                "accuracy_upper": self.accuracy_upper,
                "gap": cells.gap,
                "beyond_noise": self.beyond_noise,
            }
        )
        return with_class_names(table, class_names)


def class_heat(cells: BinStatistics, labels: Iterable[int] | None = None) -> ClassHeat:
    """Arrange equal-width top-label cells by class and bin.

    `labels` are the classes to show, from the top; by default all predicted classes, by their contribution to
    TL-ECE.
    """
    if cells.strategy != "uniform" or cells.notion != "top-label":
        raise InputError(
            f'class_heat needs equal-width top-label bins; got "{cells.strategy}", "{cells.notion}"'
        )
    contribution = np.bincount(cells.label, cells.share * np.abs(cells.gap), cells.n_classes)
    if labels is None:
        predicted = np.unique(cells.label)
        labels = predicted[np.argsort(-contribution[predicted], kind="stable")]
    chosen = np.array(list(dict.fromkeys(labels)), dtype=np.int64)
    row_of = np.full(cells.n_classes, -1)
    row_of[chosen] = np.arange(len(chosen))
    order = np.lexsort((cells.bin, row_of[cells.label]))
    order = order[row_of[cells.label[order]] >= 0]
    shown = cells.of(order)
    return ClassHeat(
        chosen,
        contribution[chosen],
        np.arange(cells.n_bins + 1) / cells.n_bins,
        shown,
        row_of[shown.label],
        shown.bin,
        *frequency_interval(shown),
        beyond_noise(cells, style.FEW_ROWS)[order],
    )


def gap_colours(gap: np.ndarray, limit: float) -> list[str]:
    """Return the colour of each gap on the scale from -limit to limit; plotly.js warns of numbers in bars."""
    stops = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for _, colour in GAP_COLOURS]
    share = np.clip((gap / limit + 1.0) / 2.0, 0.0, 1.0)
    red, green, blue = (
        np.rint(np.interp(share, [place for place, _ in GAP_COLOURS], channel)).astype(int)
        for channel in zip(*stops, strict=True)
    )
    return [f"rgb({r},{g},{b})" for r, g, b in zip(red, green, blue, strict=True)]


def draw_heat(diagram: ClassHeat, class_names: Sequence[str] | None = None) -> style.Figure:
    """Draw class x bin cells, coloured by accuracy minus confidence.

    Cells of more rows are taller. Cells beyond noise have an outline. The customdata of each mark begin with
    its class code and bin.
    """
    limit, edges = diagram.limit, diagram.edges
    cells, row, column = diagram.cells, diagram.row, diagram.column
    named = class_names or style.codes_of(diagram.label)
    names = [named[code] for code in diagram.label]
    middles, ends = (edges[:-1] + edges[1:]) / 2, edges[[column, column + 1]]
    height = 0.92 * style.sizes(cells.count, cells.count.max(initial=1))
    data = style.bar(
        x=middles[column],
        y=height,
        base=row - height / 2,
        width=0.94 * edges[1],
        marker={
            "color": gap_colours(cells.gap, limit),
            "line": {"width": np.where(diagram.beyond_noise, 2.5, 0), "color": OUTLINE},
        },
    )
    means = cells.mean_score, cells.mean_outcome, cells.gap, cells.count
    data += style.scatter(
        x=middles[column],
        y=row,
        marker={**style.marks(style.POOLED, ROW - 2, "square"), "opacity": 0},  # carries the hover texts
        customdata=(
            *(diagram.label[row], column, [style.escape(names[r]) for r in row], *ends),
            *(*means, diagram.accuracy_lower, diagram.accuracy_upper),
        ),
        hovertemplate=(
            "Predicted %{customdata[2]} at %{customdata[3]:.3g} to %{customdata[4]:.3g}<br>"
            "confidence %{customdata[5]:.3f}, accuracy %{customdata[6]:.3f} (%{customdata[7]:+.3f})<br>"
            "95 % interval %{customdata[9]:.4g} to %{customdata[10]:.4g}<br>"
            "%{customdata[8]:,} rows"
        ),
    )
    # an invisible trace that carries the scale of colours
    data += style.scatter(x=[None], y=[None], marker={"color": [0], "coloraxis": "coloraxis"})
    lowest = edges[column.min()] if len(column) else 0.0
    return style.figure(
        data,
        height=TOOLS_HEIGHT + 60 + SCALE_HEIGHT + ROW * max(len(names), 3),
        barmode="overlay",
        hoverdistance=40,
        coloraxis=_scale_of_colours(limit),
        xaxis={"title": "Confidence", "range": [lowest, 1], "tickformat": ".0%", "showgrid": False},
        **style.named_rows(map(style.shorten, names), margin={"t": TOOLS_HEIGHT, "b": 60 + SCALE_HEIGHT}),
    )


def _scale_of_colours(limit: float) -> style.Properties:
    """Return a colour bar below the map, which then has the whole width, also on a telephone."""
    place = {"orientation": "h", "xref": "container", "yref": "container", "y": 0, "yanchor": "bottom"}
    place |= {"x": 0.05, "xanchor": "left"}  # its title, on the left, begins at the edge
    look = {"len": SCALE_LENGTH, "lenmode": "pixels", "ypad": 4, "thickness": 12, "outlinewidth": 0}
    ticks = {"tickvals": [-limit, 0, limit], "ticktext": [f"\u2212{limit:.1f}", "0", f"+{limit:.1f}"]}
    ticks |= {"ticklabeloverflow": "allow", "tickangle": 0}
    title = {"title": {"text": "accuracy \u2212 confidence", "side": "right"}}
    scale = {"colorscale": [list(stop) for stop in GAP_COLOURS], "cmin": -limit, "cmax": limit}
    return {**scale, "colorbar": {**place, **look, **ticks, **title}}


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
) -> style.Figure:
    """Draw a small reliability diagram of each group, with 95 % Wilson intervals; `title` of the x axes.

    Marks carry [code of the group, bin] first in their customdata.
    """
    names = [style.short(groups[code], 18) for code in diagram.label]
    down, data, marked = -(-len(names) // across), [], []
    spacing: style.Properties = {"vertical_spacing": 0.3 / (down + 1), "horizontal_spacing": 0.09}
    titles = (*names, *[""] * (down * across - len(names)))
    layout = style.grid(down, across, titles, shared_xaxes="all", shared_yaxes="all", **spacing)
    for row, label in enumerate(diagram.label.tolist()):
        own = np.flatnonzero(diagram.row == row)
        cells, low, high = diagram.cells.of(own), diagram.accuracy_lower[own], diagram.accuracy_upper[own]
        marked.append(style.diagonal(row + 1))
        data += style.scatter(
            x=cells.mean_score,
            y=cells.mean_outcome,
            marker=style.marks(
                style.hues(cells.gap, (low > cells.mean_score) | (high < cells.mean_score)), 7
            ),
            error_y=style.interval(cells.mean_outcome, low, high),
            customdata=(np.full(len(own), label), diagram.column[own], cells.count, low, high),
            hovertemplate="confidence %{x:.3f}, accuracy %{y:.3f}<br>95 % interval %{customdata[3]:.4g} to "
            f"%{{customdata[4]:.4g}}<br>%{{customdata[2]:,}} rows<extra>{names[row]}</extra>",
            **style.at(row + 1),
        )
    x_axes = style.axes(layout, "x")
    for axis in (*x_axes, *style.axes(layout, "y")):
        axis.update(range=[-0.02, 1.02], tickvals=[0, 0.5, 1], tickformat=".0%")
    x_axes[(down - 1) * across + min(2, len(names), across) - 1]["title"] = title
    return style.figure(data, **layout, shapes=marked, height=130 + 190 * down, margin={"t": 32})


def draw_centres(table: CentreTable, number: str = "ratio") -> style.Figure:
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
    written = [style.escape(name) for name in names]
    return _draw_intervals(
        written,
        (middle, low, high),
        style.hues(middle - ideal, (low > ideal) | (high < ideal)),
        customdata=(written, low, high, counts),
        hovertemplate="%{customdata[0]}: %{x:.2f}, interval %{customdata[1]:.2f} to %{customdata[2]:.2f}<br>"
        "%{customdata[3]:,} rows",
        line_at=ideal,
        title=TITLES[number],
    )


def draw_slice_gaps(table: SliceTable) -> style.Figure:
    """Draw each group's gap minus the gap of all other rows, with its interval; coloured if it differs."""
    shown = np.flatnonzero(np.isfinite(table.lower))
    several = len(set(table.column.tolist())) > 1
    columns, groups = table.column[shown], table.group[shown]
    names = [
        style.escape(f"{group} ({column})" if several else str(group))
        for column, group in zip(columns, groups, strict=True)
    ]
    gaps = [100 * each[shown] for each in (table.gap, table.gap_of_rest, table.lower, table.upper)]
    middle = table.difference[shown]
    return _draw_intervals(
        names,
        (100 * middle, *gaps[2:]),
        style.hues(middle, table.differs[shown]),
        customdata=(names, *gaps, table.count[shown], columns, groups.astype(str)),
        hovertemplate="%{customdata[0]}: %{customdata[1]:+.1f} points, all others %{customdata[2]:+.1f}<br>"
        "difference %{x:+.1f}, interval %{customdata[3]:+.1f} to %{customdata[4]:+.1f}<br>"
        "%{customdata[5]:,} rows",
        title="gap minus the gap of all others,<br>percentage points",
        margin={"b": 86},  # a title of two lines
    )


def _draw_intervals(
    names: Sequence[str],
    ends: Sequence[np.ndarray],
    colours: np.ndarray,
    *,
    title: str,
    line_at: float = 0,
    margin: style.Properties | None = None,
    **about: Any,
) -> style.Figure:
    """Draw a line for each name: a value and the ends of its interval."""
    middle, low, high = ends
    look = {"marker": style.marks(colours, 10), "error_x": style.interval(middle, low, high)}
    return style.figure(
        style.scatter(x=middle, y=np.arange(len(names)), **look, **about),
        height=120 + 30 * max(len(names), 2),
        shapes=[style.upright(line_at, color=style.WHISKERS, width=1)],
        xaxis={"title": title},
        **style.named_rows([style.shorten(name) for name in names], margin=margin),
    )
