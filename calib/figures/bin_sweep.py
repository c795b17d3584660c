"""Figure of the ECE against the number of bins (Figure 2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from calib.diagrams.bin_sweep import EceSweep
from calib.figures.style import TEMPLATE, escape, method_colour
from calib.metrics.catalogue import ECES


def ece_curves(sweeps: Mapping[str, Mapping[str, EceSweep]]) -> go.Figure:
    """Draw Figure 2: TL-ECE (solid) and conf-ECE (dashed) against the number of bins, per method."""
    figure = go.Figure()
    for position, (method, by_notion) in enumerate(sweeps.items()):
        colour = method_colour(position)
        for notion, sweep in by_notion.items():
            short = ECES[sweep.notion].title
            figure.add_scatter(
                x=sweep.n_bins,
                y=sweep.ece,
                mode="lines",
                line={"color": colour, "width": 2.5, "dash": "solid" if notion == "top-label" else "dash"},
                name=escape(f"{method}, {short}"),
                hovertemplate=f"{escape(method)}<br>{short} %{{y:.4f}} with %{{x}} bins<extra></extra>",
            )
    figure.update_layout(template=TEMPLATE, height=460)
    figure.update_xaxes(title_text="Number of bins B")
    figure.update_yaxes(title_text="ECE", rangemode="tozero")
    return figure
