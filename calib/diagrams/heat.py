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
    LESS,
    MORE,
    POOLED,
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
GAP_COLOURS = [(0.0, LESS), (0.5, "#B9BEC4"), (1.0, MORE)]

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


def draw_heat(diagram: ClassHeat, class_names: Sequence[str] | None = None) -> Figure:
    """Draw class x bin cells, coloured by accuracy minus confidence.

    Cells of more rows are taller. Cells beyond noise have an outline. The customdata of each mark begin with
    its class code and bin.
    """
    limit, edges = diagram.limit, diagram.edges
    cells, row, column = diagram.cells, diagram.row, diagram.column
    named = class_names or codes_of(diagram.label)
    names = [named[code] for code in diagram.label]
    middles, ends = (edges[:-1] + edges[1:]) / 2, edges[[column, column + 1]]
    height = 0.92 * sizes(cells.count, cells.count.max(initial=1))
    data = bar(
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
    data += scatter(
        x=middles[column],
        y=row,
        marker={**marks(POOLED, ROW - 2, "square"), "opacity": 0},  # carries the hover texts
        customdata=(
            *(diagram.label[row], column, [escape(names[r]) for r in row], *ends),
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
    data += scatter(x=[None], y=[None], marker={"color": [0], "coloraxis": "coloraxis"})
    n_rows, lowest = len(names), edges[column.min()] if len(column) else 0.0
    return figure(
        data,
        height=TOOLS_HEIGHT + 60 + SCALE_HEIGHT + ROW * max(n_rows, 3),
        barmode="overlay",
        hoverdistance=40,
        coloraxis=_scale_of_colours(limit),
        xaxis={"title": "Confidence", "range": [lowest, 1], "tickformat": ".0%", "showgrid": False},
        **named_rows(
            [*map(shorten, names)],
            margin={"t": TOOLS_HEIGHT, "b": 60 + SCALE_HEIGHT},
            range=[n_rows - 0.5, -0.5],
            ticks="",
        ),
    )


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
