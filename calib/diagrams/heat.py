"""Maps of signed gaps: class x bin cells and other tables of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.diagrams.reliability_diagrams import beyond_noise, with_class_names
from calib.diagrams.style import (
    FEW_ROWS,
    OKABE_ITO,
    Figure,
    Properties,
    bar,
    escape,
    figure,
    marks,
    named_rows,
    scatter,
    shorten,
    sizes,
)
from calib.evidence.binning import BinStatistics
from calib.stats.frequencies import wilson_interval

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
    count: np.ndarray  #: (R, B) int64: Rows in each cell
    #: (R, B) float64: Mean confidence and accuracy of each cell; NaN if it is empty
    confidence: np.ndarray
    accuracy: np.ndarray
    #: (R, B) float64: 95 % Wilson interval of the accuracy, of the effective rows
    accuracy_lower: np.ndarray
    accuracy_upper: np.ndarray
    #: (R, B) bool: Cells of at least 20 rows whose accuracy is beyond noise, all together at 5 %
    beyond_noise: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """Accuracy minus confidence, (R, B): positive is underconfident; NaN if empty."""
        return self.accuracy - self.confidence

    @property
    def limit(self) -> float:
        """End of a colour scale for `gap`: 95 % of cells of 20 rows or more are inside; a multiple of 0.1."""
        gaps = np.abs(self.gap[self.count >= FEW_ROWS])
        return float(np.clip(np.ceil(10 * np.quantile(gaps, 0.95)) / 10, 0.1, 1.0)) if len(gaps) else 1.0

    def frame(self, class_names: tuple[str, ...] | None = None) -> pd.DataFrame:
        """Return one row per cell with rows in it."""
        row, bin_ = np.nonzero(self.count)
        table = pd.DataFrame(
            {
                "label": self.label[row],
                "bin": bin_,
                "lower": self.edges[bin_],
                "upper": self.edges[bin_ + 1],
                "count": self.count[row, bin_],
                "mean_confidence": self.confidence[row, bin_],
                "accuracy": self.accuracy[row, bin_],
                "accuracy_lower": self.accuracy_lower[row, bin_],
                "accuracy_upper": self.accuracy_upper[row, bin_],
                "gap": self.gap[row, bin_],
                "beyond_noise": self.beyond_noise[row, bin_],
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
    shown = row_of[row] >= 0

    def placed(values: np.ndarray, empty: float) -> np.ndarray:
        table = np.full((len(chosen), len(edges) - 1), empty, dtype=values.dtype)
        table[row_of[row[shown]], column[shown]] = values[shown]
        return table

    ends = wilson_interval(cells.mean_outcome, cells.effective)
    confidence, accuracy, lower, upper = (
        placed(values, np.nan) for values in (cells.mean_score, cells.mean_outcome, *ends)
    )
    return ClassHeat(
        label=chosen,
        contribution=np.bincount(row, cells.share * np.abs(cells.gap), n_codes)[chosen],
        edges=edges,
        count=placed(cells.count, 0),
        confidence=confidence,
        accuracy=accuracy,
        accuracy_lower=lower,
        accuracy_upper=upper,
        beyond_noise=placed(beyond_noise(cells, FEW_ROWS), False),
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
    class_names: Sequence[str],
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
    n_rows, n_bins = diagram.count.shape
    middles = np.arange(n_bins) if columns else (diagram.edges[:-1] + diagram.edges[1:]) / 2
    row, bin_ = np.nonzero(diagram.count)
    count, beyond = diagram.count[row, bin_], diagram.beyond_noise[row, bin_]
    height = 0.92 * sizes(count, count.max(initial=1))
    data = bar(
        x=middles[bin_],
        y=height,
        base=row - height / 2,
        width=0.94 * np.diff(middles)[0] if len(middles) > 1 else 0.94,
        marker={
            "color": gap_colours(diagram.gap[row, bin_], limit),
            "line": {"width": np.where(beyond, 2.5, 0), "color": OUTLINE},
        },
    )
    code, at = chosen or (None, None)
    is_chosen = (diagram.label[row] == code) & (bin_ == at)
    names = [escape(class_names[code]) for code in diagram.label]
    shown = "confidence", "accuracy", "gap", "count", "accuracy_lower", "accuracy_upper"
    values = [getattr(diagram, name)[row, bin_] for name in shown]
    if columns:
        column_words = [f"predicted {escape(columns[b])}" for b in bin_.tolist()]
    else:
        ends = zip(diagram.edges[bin_], diagram.edges[bin_ + 1], strict=True)
        column_words = [f"{low:.3g} to {high:.3g}" for low, high in ends]
    data += scatter(
        x=middles[bin_],
        y=row,
        # A click shows the frame of its cell, without another drawing.
        marker={**marks(OKABE_ITO["orange"], ROW - 2, "square-open", width=3), "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        selectedpoints=np.flatnonzero(is_chosen).tolist(),
        hoverlabel={"bgcolor": "#5B6670"},  # white text on the orange of the frame would be hard to read
        customdata=(diagram.label[row], bin_, [names[r] for r in row], column_words, *values),
        hovertemplate=(
            f"{rows} %{{customdata[2]}} at %{{customdata[3]}}<br>"
            "confidence %{customdata[4]:.3f}, accuracy %{customdata[5]:.3f} (%{customdata[6]:+.3f})<br>"
            "95 % interval %{customdata[8]:.4g} to %{customdata[9]:.4g}<br>"
            "%{customdata[7]:,} rows"
        ),
    )
    # an invisible trace that carries the scale of colours
    data += scatter(x=[None], y=[None], marker={"color": [0], "coloraxis": "coloraxis"})
    pixels = TOOLS_HEIGHT + 60 + SCALE_HEIGHT + ROW * max(n_rows, 3)
    if columns:
        short = [shorten(name, 12) for name in columns]
        upright = n_bins > SIDE_BY_SIDE
        pixels += 7 * max(map(len, short)) if upright else 0
        xaxis = {"title": "Predicted class", "range": [-0.5, n_bins - 0.5], "tickvals": middles}
        xaxis |= {"ticktext": short, "tickangle": 90 if upright else 0}
    else:  # left of the lowest bin with rows there is nothing to see
        lowest = diagram.edges[bin_.min()] if len(bin_) else 0.0
        xaxis = {"title": "Confidence", "range": [lowest, 1], "tickformat": ".0%"}
    return figure(
        data,
        height=pixels,
        barmode="overlay",
        hoverdistance=40,
        coloraxis=_scale_of_colours(limit),
        xaxis={**xaxis, "showgrid": False},
        **named_rows(
            [shorten(class_names[code]) for code in diagram.label],
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
