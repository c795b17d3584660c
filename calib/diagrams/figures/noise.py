"""Figure of observed errors beside their noise floors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, named_rows
from calib.stats.floors import NoiseFloor


def floors(by_metric: Mapping[str, NoiseFloor]) -> go.Figure:
    """Draw each observed error against what a perfect model of the same size shows (5 to 95 %).

    Errors differ widely in size, so each is divided by the mean of its floor: 1 is noise alone.
    """
    figure = Drawing()
    floors = list(by_metric.values())
    y = np.arange(len(floors))
    mean = np.array([max(floor.mean, 1e-300) for floor in floors])
    low, high = (np.array([floor.quantile(q) for floor in floors]) for q in (0.05, 0.95))
    observed = np.array([floor.observed for floor in floors])
    values = [
        [escape(name), floor.observed, floor.mean, floor.quantile(0.95), floor.p_value]
        for name, floor in by_metric.items()
    ]
    hover = (
        "%{customdata[0]} %{customdata[1]:.4f}<br>a perfect model shows %{customdata[2]:.4f}, "
        "at most %{customdata[3]:.4f} in 95 of 100 cases<br>p = %{customdata[4]:.3g}<extra></extra>"
    )
    figure.add_bar(
        x=(high - low) / mean,
        base=low / mean,
        y=y,
        orientation="h",
        width=0.5,
        marker={"color": "rgba(86,180,233,0.55)", "line": {"width": 0}},
        name="a perfect model, 90 of 100 cases",
        customdata=values,
        hovertemplate=hover,
    )
    above = np.array([floor.p_value <= 0.05 for floor in floors])
    for shown, colour, symbol, words in (
        (above, "vermillion", "diamond", "observed, above noise"),
        (~above, "green", "circle", "observed, not distinguishable from noise"),
    ):
        figure.add_scatter(
            x=(observed / mean)[shown],
            y=y[shown],
            mode="markers",
            marker={"size": 13, "color": OKABE_ITO[colour], "symbol": symbol},
            cliponaxis=False,
            name=words,
            customdata=[values[row] for row in np.flatnonzero(shown)],
            hovertemplate=hover,
        )
    figure.update_layout(template=TEMPLATE, height=150 + 46 * len(floors), bargap=0.3)
    figure.update_xaxes(title_text="Multiple of what noise alone shows", rangemode="tozero")
    named_rows(figure, by_metric, autorange="reversed")
    return figure
