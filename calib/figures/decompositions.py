"""Figure of proper scores in parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib.figures.style import OKABE_ITO, TEMPLATE, escape
from calib.metrics.decompositions import Decomposition


def score_parts(by_method: Mapping[str, Decomposition], score: str) -> go.Figure:
    """Draw calibration and refinement of a proper score as stacked bars, one per method.

    `score` is its name, for the axis.
    """
    figure = go.Figure()
    place = np.arange(len(by_method))
    found = list(by_method.values())
    for name, colour, words in (
        ("refinement", "grey", "refinement: what these cells cannot tell apart"),
        ("calibration", "vermillion", "calibration: what recalibration can remove"),
    ):
        values = [getattr(parts, name) for parts in found]
        figure.add_bar(
            x=values,
            y=place,
            orientation="h",
            marker={"color": OKABE_ITO[colour]},
            name=words,
            customdata=[
                [escape(method), parts.score, parts.binning]
                for method, parts in zip(by_method, found, strict=True)
            ],
            hovertemplate="%{customdata[0]}: " + name + " %{x:.5f}<br>of a score of %{customdata[1]:.5f}; "
            "differences inside bins %{customdata[2]:+.5f}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=150 + 46 * len(place), barmode="stack", bargap=0.35)
    figure.update_yaxes(
        tickvals=place, ticktext=[escape(name) for name in by_method], autorange="reversed", showgrid=False
    )
    figure.update_xaxes(title_text=f"{score[0].upper()}{score[1:]}, in parts", rangemode="tozero")
    return figure
