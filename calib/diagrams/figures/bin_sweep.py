"""Errors against the size of bins: ECE against their number (Figure 2), Brier score against their points."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from calib.answers.advice import PointsPerBinChoice
from calib.diagrams.bin_sweep import EceSweep
from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, method_colour
from calib.stats.measures import ECES


def ece_curves(sweeps: Mapping[str, Mapping[str, EceSweep]]) -> go.Figure:
    """Draw Figure 2: errors against the number of bins, per method; conf-ECE is dashed, all others solid."""
    figure = Drawing()
    for position, (method, by_notion) in enumerate(sweeps.items()):
        colour = method_colour(position)
        for notion, sweep in by_notion.items():
            short = "ECE" if notion == "binary" else ECES[sweep.notion].title
            short = short.replace("ECE", sweep.metric.upper())
            figure.add_scatter(
                x=sweep.n_bins,
                y=sweep.ece,
                mode="lines+markers",
                marker={"size": 5},
                line={"color": colour, "width": 2.5, "dash": "dash" if notion == "confidence" else "solid"},
                name=escape(f"{method}, {short}"),
                hovertemplate=f"{escape(method)}<br>{short} %{{y:.4f}} with %{{x}} bins<extra></extra>",
            )
    figure.update_layout(template=TEMPLATE, height=460)
    figure.update_xaxes(title_text="Number of bins B")
    metrics = {sweep.metric.upper() for by_notion in sweeps.values() for sweep in by_notion.values()}
    figure.update_yaxes(title_text=" and ".join(sorted(metrics)), rangemode="tozero")
    return figure


def points_per_bin(choice: PointsPerBinChoice) -> go.Figure:
    """Draw the cross-validated Brier score against the points per bin k, with the k proposed and the base."""
    k = choice.points_per_bin
    figure = Drawing()
    figure.add_scatter(
        x=k,
        y=choice.brier,
        error_y={"type": "data", "array": choice.standard_error, "thickness": 1.5, "width": 4},
        mode="lines+markers",
        line={"color": OKABE_ITO["blue"], "width": 2.5},
        marker={"size": 7},
        name="histogram binning",
        customdata=choice.standard_error[:, None],
        hovertemplate="k = %{x}<br>Brier score %{y:.5f}<br>difference from the lowest: standard error "
        "%{customdata[0]:.5f}<extra></extra>",
    )
    proposed = k == choice.chosen
    figure.add_scatter(
        x=k[proposed],
        y=choice.brier[proposed],
        mode="markers",
        marker={"color": OKABE_ITO["vermillion"], "size": 15, "symbol": "circle-open", "line": {"width": 3}},
        name=f"proposed, k = {choice.chosen}",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=k[[0, -1]],
        y=[choice.base_brier] * 2,
        mode="lines",
        line={"color": OKABE_ITO["grey"], "width": 2, "dash": "dash"},
        name="base model",
        hovertemplate="base model %{y:.5f}<extra></extra>",
    )
    figure.update_layout(template=TEMPLATE, height=340)
    figure.update_xaxes(
        title_text="Points per bin k", type="log", tickvals=k, ticktext=[str(one) for one in k]
    )
    figure.update_yaxes(title_text="Brier score")
    return figure
