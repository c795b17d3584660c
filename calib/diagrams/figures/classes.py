"""Figures of the classes: class x bin heat map, one class's diagram and its confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.classes import ClassDiagram, ClassHeat
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import (
    MAX_NAMED,
    OKABE_ITO,
    TEMPLATE,
    count_bars,
    escape,
    faint,
    interval,
    mark_span,
    named_rows,
    share_bars,
    shorten,
    unit_axes,
)
from calib.diagrams.reliability import FEW_ROWS

#: Orange-red is overconfident, blue underconfident; what lies between shows the page through.
GAP_COLOURS = [[0.0, OKABE_ITO["vermillion"]], [0.5, "rgba(138,144,153,0.16)"], [1.0, OKABE_ITO["blue"]]]

#: Pixels of the colour bar: its length, and the height it takes with title and ticks.
SCALE_LENGTH, SCALE_HEIGHT = 260, 44
#: Pixels above a map for plotly's tools, which would lie on its cells and take their clicks.
TOOLS_HEIGHT = 30
#: More columns than this have their names from top to bottom.
SIDE_BY_SIDE = 6


def heat(
    diagram: ClassHeat,
    class_names: Sequence[str],
    *,
    rows: str = "Predicted",
    columns: Sequence[str] | None = None,
    chosen: tuple[int, int] | None = None,
    limit: float | None = None,
) -> go.Figure:
    """Draw class x bin cells coloured by accuracy minus confidence; cells under 20 rows are lighter.

    The squares that answer clicks carry [class code, bin] first in their customdata. `rows` is the word
    before the name of a row; `columns` names the columns where these are no bins of the confidence; `chosen`
    is the (class code, bin) to be framed; `limit` is the end of the colour scale, by default that of
    `diagram`: give maps of some rows the limit of all, so that a colour keeps its meaning.
    """
    figure = Drawing()
    limit = diagram.limit if limit is None else limit
    n_rows, n_bins = diagram.count.shape
    middles = np.arange(n_bins) if columns else (diagram.edges[:-1] + diagram.edges[1:]) / 2
    for few, opacity in ((False, 1.0), (True, 0.4)):
        shown = (diagram.count < FEW_ROWS) == few
        figure.add_heatmap(
            x=middles,
            y=np.arange(n_rows),
            z=np.where(shown, diagram.gap, np.nan),
            coloraxis="coloraxis",
            opacity=opacity,
            hoverinfo="skip",
            xgap=2,
            ygap=2,
        )
    row, bin_ = np.nonzero(diagram.count)
    code, at = chosen or (None, None)
    is_chosen = (diagram.label[row] == code) & (bin_ == at)
    names = [escape(class_names[code]) for code in diagram.label]
    if columns:
        of_column = [f"predicted {escape(columns[b])}" for b in bin_.tolist()]
    else:
        ends = zip(diagram.edges[bin_], diagram.edges[bin_ + 1], strict=True)
        of_column = [f"{low:.3g} to {high:.3g}" for low, high in ends]
    figure.add_scatter(
        x=middles[bin_],
        y=row,
        mode="markers",
        # A click shows the frame of its cell: no figure is drawn again for it.
        marker={
            "symbol": "square-open",
            "size": 21,
            "opacity": 0,
            "color": OKABE_ITO["orange"],
            "line": {"width": 3},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        selectedpoints=np.flatnonzero(is_chosen).tolist(),
        hoverlabel={"bgcolor": "#5B6670"},  # white text on the orange of the frame would be hard to read
        customdata=[
            [int(diagram.label[r]), int(b), names[r], *values]
            for r, b, *values in zip(
                row,
                bin_,
                of_column,
                diagram.confidence[row, bin_],
                diagram.accuracy[row, bin_],
                diagram.gap[row, bin_],
                diagram.count[row, bin_],
                diagram.accuracy_lower[row, bin_],
                diagram.accuracy_upper[row, bin_],
                strict=True,
            )
        ],
        hovertemplate=(
            f"{rows} %{{customdata[2]}} at %{{customdata[3]}}<br>"
            "says %{customdata[4]:.3f}, right %{customdata[5]:.3f} (%{customdata[6]:+.3f})<br>"
            "95 % interval %{customdata[8]:.3f} to %{customdata[9]:.3f}<br>"
            "%{customdata[7]:,} rows<extra></extra>"
        ),
        showlegend=False,
    )
    figure.update_layout(
        coloraxis={
            "colorscale": GAP_COLOURS,
            "cmin": -limit,
            "cmax": limit,
            "colorbar": {
                # Below the map, so that the map has the width also on a telephone.
                "orientation": "h",
                "x": 0.02,  # its title, on the left, begins at the edge
                "xref": "container",
                "xanchor": "left",
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
                "len": SCALE_LENGTH,
                "lenmode": "pixels",
                "ypad": 4,
                "title": {"text": "right \u2212 says", "side": "right"},
                "thickness": 12,
                "outlinewidth": 0,
                "tickvals": [-limit, 0, limit],
                "ticktext": [f"\u2212{limit:.1f}", "0", f"+{limit:.1f}"],
            },
        }
    )
    height = TOOLS_HEIGHT + 60 + SCALE_HEIGHT + 24 * max(n_rows, 3)
    margin = {"t": TOOLS_HEIGHT, "b": 60 + SCALE_HEIGHT}
    figure.update_layout(template=TEMPLATE, height=height, hoverdistance=40, margin=margin)
    named_rows(
        figure, [shorten(class_names[code]) for code in diagram.label], range=[n_rows - 0.5, -0.5], ticks=""
    )
    if columns:
        figure.update_xaxes(
            title_text="Predicted class",
            range=[-0.5, n_bins - 0.5],
            showgrid=False,
            tickvals=middles,
            ticktext=[shorten(name, 12) for name in columns],
            tickangle=90 if n_bins > SIDE_BY_SIDE else 0,
        )
        if n_bins > SIDE_BY_SIDE:
            figure.update_layout(height=height + 7 * max(len(shorten(name, 12)) for name in columns))
        return figure
    # Left of the lowest bin with rows there is nothing to see.
    lowest = diagram.edges[bin_.min()] if len(bin_) else 0.0
    figure.update_xaxes(title_text="Confidence in the predicted class", range=[lowest, 1], showgrid=False)
    return figure


def class_reliability(diagram: ClassDiagram, *, chosen: int | None = None, n_bins: int = 15) -> go.Figure:
    """Draw the reliability diagram of one class, with 95 % Wilson intervals and shares of rows.

    Marks carry the ends of their bin first in their customdata; `chosen` of `n_bins` bins is marked.
    """
    top = diagram.notion == "top-label"
    custom = np.column_stack(
        [diagram.lower, diagram.upper, diagram.count, diagram.frequency_lower, diagram.frequency_upper]
    ).tolist()
    figure = Drawing()
    share_bars(
        figure,
        (diagram.lower, diagram.upper),
        diagram.count / diagram.count.sum(),
        custom,
        "%{customdata[0]:.3g} to %{customdata[1]:.3g}: %{customdata[2]:,} rows",
    )
    figure.add_scatter(
        x=diagram.mean_score,
        y=diagram.frequency,
        mode="markers",
        marker={
            "size": 11,
            "symbol": "circle" if top else "square",
            "color": OKABE_ITO["vermillion" if top else "purple"],
            "opacity": faint(diagram.count),
        },
        error_y=interval(
            diagram.frequency, diagram.frequency_lower, diagram.frequency_upper, "rgba(138,144,153,0.9)"
        ),
        name="rows where it is predicted" if top else "all rows",
        customdata=custom,
        hovertemplate=(
            "says %{x:.3f}, is it %{y:.3f}<br>95 % interval %{customdata[3]:.3f} to %{customdata[4]:.3f}<br>"
            "%{customdata[2]:,} rows<extra></extra>"
        ),
    )
    if chosen is not None:
        mark_span(figure, chosen / n_bins, (chosen + 1) / n_bins)
    x_title = "Confidence where it is predicted" if top else "Score of the class, all rows"
    figure.update_layout(barmode="overlay")
    return unit_axes(figure, x_title, "How often it is the true class", 400)


def confused(
    codes: np.ndarray,
    counts: np.ndarray,
    class_names: Sequence[str],
    n_shown: int = 8,
    *,
    chosen: int | None = None,
) -> go.Figure:
    """Draw how many rows one class shares with each other class it is confused with, most first.

    Bars carry the class code last in their customdata; `chosen` is the code of a bar to be marked.
    """
    codes, counts = codes[:n_shown], counts[:n_shown]
    figure = Drawing()
    custom = [[escape(class_names[code]), int(code)] for code in codes]
    hover = "%{customdata[0]}: %{x:,} rows<extra></extra>"
    count_bars(figure, counts, OKABE_ITO["grey"], custom, hover, y=np.arange(len(codes)))
    figure.update_layout(template=TEMPLATE, height=90 + 30 * len(codes), bargap=0.35, margin={"r": 48})
    if chosen is not None and chosen in codes:
        line = int(np.argmax(codes == chosen))
        mark_span(figure, line - 0.5, line + 0.5, across=True)
    rows = [shorten(class_names[code]) for code in codes]
    named_rows(figure, rows, range=[len(codes) - 0.4, -0.6], ticks="")
    figure.update_xaxes(title_text="Rows", rangemode="tozero", nticks=4)
    return figure


def class_shares(shares: Mapping[str, np.ndarray], class_names: Sequence[str]) -> go.Figure:
    """Draw shares of rows per class, one colour per series (true, predicted); at most 30 classes."""
    order = np.argsort(-next(iter(shares.values())), kind="stable")[:MAX_NAMED]
    figure = Drawing()
    for colour, (name, values) in zip(("blue", "orange"), shares.items(), strict=False):
        figure.add_bar(
            x=values[order],
            y=np.arange(len(order)),
            orientation="h",
            name=name,
            marker={"color": OKABE_ITO[colour]},
            customdata=[[escape(class_names[code]), int(code)] for code in order],
            hovertemplate=f"%{{customdata[0]}}: %{{x:.2%}} {name}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=max(240, 34 * len(order) + 90), bargap=0.3)
    named_rows(figure, [shorten(class_names[code], 24) for code in order], autorange="reversed")
    largest = max(float(values[order].max()) for values in shares.values())
    # Five ticks or so: as many digits as tell them apart.
    digits = max(0, int(np.ceil(-np.log10(max(largest, 1e-6) / 5))) - 2)
    figure.update_xaxes(title_text="Share of rows", tickformat=f".{digits}%", rangemode="tozero", nticks=8)
    return figure
