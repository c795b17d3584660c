"""Maps of signed gaps: class x bin cells and other tables of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.diagrams.reliability_diagrams import with_class_names
from calib.diagrams.style import (
    FEW_ROWS,
    OKABE_ITO,
    Figure,
    Properties,
    bar,
    codes_of,
    escape,
    figure,
    marks,
    named_rows,
    scatter,
    shorten,
    sizes,
)
from calib.evidence.binning import BinStatistics
from calib.stats.intervals import beyond_noise, frequency_interval

#: Orange-red is overconfident, blue underconfident; the grey between is seen on light and dark pages.
GAP_COLOURS = [(0.0, OKABE_ITO["vermillion"]), (0.5, "#B9BEC4"), (1.0, OKABE_ITO["blue"])]

#: Pixels of a row.
ROW = 26
#: Colour around cells beyond noise.
OUTLINE = "#6B7680"
#: Pixels of the colour bar: its length, and the height it takes with title and ticks.
SCALE_LENGTH, SCALE_HEIGHT = 320, 44
#: Pixels above a map for plotly's tools, which would cover its cells.
TOOLS_HEIGHT = 30
#: Most columns with horizontal names.
SIDE_BY_SIDE = 6


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
        gaps = np.abs(self.cells.gap[self.cells.count >= FEW_ROWS])
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
    if labels is None:
        contribution = np.bincount(cells.label, cells.share * np.abs(cells.gap))
        predicted = np.unique(cells.label)
        labels = predicted[np.argsort(-contribution[predicted], kind="stable")]
    return heat_of_cells(cells, labels, cells.label, cells.bin, np.arange(cells.n_bins + 1) / cells.n_bins)


def heat_of_cells(
    cells: BinStatistics, codes: Iterable[int], row: np.ndarray, column: np.ndarray, edges: np.ndarray
) -> ClassHeat:
    """Arrange cells in a map: `row` is the code of each cell's row, one of `codes` if it is shown."""
    chosen = np.array(list(dict.fromkeys(codes)), dtype=np.int64)
    n_codes = 1 + max(int(row.max(initial=0)), int(chosen.max(initial=0)))
    row_of = np.full(n_codes, -1)
    row_of[chosen] = np.arange(len(chosen))
    order = np.lexsort((column, row_of[row]))
    order = order[row_of[row[order]] >= 0]
    shown = cells.of(order)
    return ClassHeat(
        chosen,
        np.bincount(row, cells.share * np.abs(cells.gap), n_codes)[chosen],
        edges,
        shown,
        row_of[row[order]],
        column[order],
        *frequency_interval(shown),
        beyond_noise(cells, FEW_ROWS)[order],
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


def draw_heat(
    diagram: ClassHeat,
    class_names: Sequence[str] | None = None,
    *,
    rows: str = "Predicted",
    columns: Sequence[str] | None = None,
    chosen: tuple[int, int] | None = None,
    limit: float | None = None,
) -> Figure:
    """Draw class x bin cells, coloured by accuracy minus confidence.

    Cells of more rows are taller. Cells beyond noise have an outline. `chosen` is the (class code, bin) of a
    cell that gets a frame; the customdata of each mark begin with its pair. `rows` is the word before the
    name of a row. `columns` names columns that are not bins of confidence. `limit` is the end of the colour
    scale: a map of some rows gets the limit of all rows.
    """
    limit = diagram.limit if limit is None else limit
    cells, row, column = diagram.cells, diagram.row, diagram.column
    named = class_names or codes_of(diagram.label)
    names = [named[code] for code in diagram.label]
    middles, xaxis, labels = _named_columns(columns) if columns else _confidence_bins(diagram)
    height = 0.92 * sizes(cells.count, cells.count.max(initial=1))
    data = bar(
        x=middles[column],
        y=height,
        base=row - height / 2,
        width=0.94 * np.diff(middles)[0] if len(middles) > 1 else 0.94,
        marker={
            "color": gap_colours(cells.gap, limit),
            "line": {"width": np.where(diagram.beyond_noise, 2.5, 0), "color": OUTLINE},
        },
    )
    code, at = chosen or (None, None)
    is_chosen = (diagram.label[row] == code) & (column == at)
    means = cells.mean_score, cells.mean_outcome, cells.gap, cells.count
    data += scatter(
        x=middles[column],
        y=row,
        # A click shows the frame of its cell, without another drawing.
        marker={**marks(OKABE_ITO["orange"], ROW - 2, "square-open", width=3), "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        selectedpoints=np.flatnonzero(is_chosen).tolist(),
        hoverlabel={"bgcolor": "#5B6670"},  # white text on the orange of the frame would be hard to read
        customdata=(
            *(diagram.label[row], column, [escape(names[r]) for r in row], [labels[c] for c in column]),
            *(*means, diagram.accuracy_lower, diagram.accuracy_upper),
        ),
        hovertemplate=(
            f"{rows} %{{customdata[2]}} at %{{customdata[3]}}<br>"
            "confidence %{customdata[4]:.3f}, accuracy %{customdata[5]:.3f} (%{customdata[6]:+.3f})<br>"
            "95 % interval %{customdata[8]:.4g} to %{customdata[9]:.4g}<br>"
            "%{customdata[7]:,} rows"
        ),
    )
    # an invisible trace that carries the scale of colours
    data += scatter(x=[None], y=[None], marker={"color": [0], "coloraxis": "coloraxis"})
    n_rows, upright = len(names), 7 * max(map(len, xaxis["ticktext"])) if xaxis.get("tickangle") else 0
    return figure(
        data,
        height=TOOLS_HEIGHT + 60 + SCALE_HEIGHT + ROW * max(n_rows, 3) + upright,
        barmode="overlay",
        hoverdistance=40,
        coloraxis=_scale_of_colours(limit),
        xaxis={**xaxis, "showgrid": False},
        **named_rows(
            [*map(shorten, names)],
            margin={"t": TOOLS_HEIGHT, "b": 60 + SCALE_HEIGHT},
            range=[n_rows - 0.5, -0.5],
            ticks="",
        ),
    )


def _confidence_bins(diagram: ClassHeat) -> tuple[np.ndarray, Properties, list[str]]:
    """Return the middle of each column, the axis, and the words of each column."""
    edges, ends = diagram.edges, diagram.edges[:-1]
    # left of the lowest bin with rows there is nothing to see
    lowest = ends[diagram.column.min(initial=len(ends) - 1)] if len(diagram.column) else 0.0
    words = [f"{low:.3g} to {high:.3g}" for low, high in zip(ends, edges[1:], strict=True)]
    axis = {"title": "Confidence", "range": [lowest, 1], "tickformat": ".0%"}
    return (ends + edges[1:]) / 2, axis, words


def _named_columns(names: Sequence[str]) -> tuple[np.ndarray, Properties, list[str]]:
    """Return what `_confidence_bins` does, of columns with names."""
    middles, ticks = np.arange(len(names)), [shorten(name, 12) for name in names]
    axis: Properties = {"title": "Predicted class", "range": [-0.5, len(names) - 0.5], "tickvals": middles}
    axis |= {"ticktext": ticks, "tickangle": 90 if len(names) > SIDE_BY_SIDE else 0}
    return middles, axis, [f"predicted {escape(name)}" for name in names]


def _scale_of_colours(limit: float) -> Properties:
    """Return a colour bar below the map, which then has the whole width, also on a telephone."""
    place = {"orientation": "h", "xref": "container", "yref": "container", "y": 0, "yanchor": "bottom"}
    place |= {"x": 0.05, "xanchor": "left"}  # its title, on the left, begins at the edge
    look = {"len": SCALE_LENGTH, "lenmode": "pixels", "ypad": 4, "thickness": 12, "outlinewidth": 0}
    ticks = {"tickvals": [-limit, 0, limit], "ticktext": [f"\u2212{limit:.1f}", "0", f"+{limit:.1f}"]}
    ticks |= {"ticklabeloverflow": "allow", "tickangle": 0}
    title = {"title": {"text": "accuracy \u2212 confidence", "side": "right"}}
    scale = {"colorscale": [list(stop) for stop in GAP_COLOURS], "cmin": -limit, "cmax": limit}
    return {**scale, "colorbar": {**place, **look, **ticks, **title}}
