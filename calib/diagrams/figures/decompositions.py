"""Figure of proper scores split into calibration and refinement."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, named_rows
from calib.stats.decompositions import Decomposition


def score_parts(by_method: Mapping[str, Decomposition], score: str) -> go.Figure:
    """Draw calibration and refinement of a proper score as stacked bars, one per method.

    `score` is its name, for the axis.
    """
    figure = Drawing()
    for name, colour, words in (
        ("refinement", "grey", "refinement: what these cells cannot tell apart"),
        ("calibration", "vermillion", "calibration: what recalibration can remove"),
    ):
        figure.add_bar(
            x=[getattr(terms, name) for terms in by_method.values()],
            y=np.arange(len(by_method)),
            orientation="h",
            marker={"color": OKABE_ITO[colour]},
            name=words,
            customdata=[[escape(method), terms.score, terms.binning] for method, terms in by_method.items()],
            hovertemplate="%{customdata[0]}: " + name + " %{x:.5f}<br>of a score of %{customdata[1]:.5f}; "
            "differences inside bins %{customdata[2]:+.5f}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=150 + 46 * len(by_method), barmode="stack", bargap=0.35)
    named_rows(figure, by_method, autorange="reversed")
    figure.update_xaxes(title_text=f"{score[0].upper()}{score[1:]}, in parts", rangemode="tozero")
    return figure
