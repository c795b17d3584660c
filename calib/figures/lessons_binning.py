"""Figures of the Learn page about noise, binning and normalising."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from calib.figures.lessons import TEXT
from calib.figures.reliability_figures import BARS, OKABE_ITO, TEMPLATE, escape, unit_axes


def perfect_curves(
    curves: Sequence[pd.DataFrame], chosen: int, n_samples: int, draws: np.ndarray
) -> go.Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes, and single redraws."""
    figure = go.Figure()
    styles = (("sky", "dot"), ("green", "dash"), ("purple", "dashdot"), ("vermillion", "solid"))
    for curve, (colour, dash) in zip(curves, styles, strict=True):
        classes = int(curve["n_classes"].iloc[0])
        figure.add_scatter(
            x=curve["n_samples"].to_numpy(),
            y=curve["tl_ece_mean"].to_numpy(),
            mode="lines",
            line={"color": OKABE_ITO[colour], "dash": dash, "width": 5 if classes == chosen else 2.5},
            name=f"L = {classes}",
            hovertemplate=f"{classes} classes, %{{x:,}} rows<br>mean TL-ECE of a perfect model %{{y:.3f}}"
            "<extra></extra>",
        )
    own = next(curve for curve in curves if int(curve["n_classes"].iloc[0]) == chosen)
    figure.add_scatter(
        x=own["n_samples"].to_numpy(),
        y=own["conf_ece_mean"].to_numpy(),
        mode="lines",
        line={"color": OKABE_ITO["blue"], "dash": "longdash", "width": 2},
        name=f"conf-ECE, L = {chosen}",
        hovertemplate="mean conf-ECE of a perfect model %{y:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=np.full(len(draws), n_samples),
        y=draws,
        mode="markers",
        marker={
            "symbol": ["circle-open"] * (len(draws) - 1) + ["diamond"],
            "size": [9] * (len(draws) - 1) + [14],
            "color": OKABE_ITO["orange"],
            "line": {"width": 2, "color": OKABE_ITO["orange"]},
        },
        name="your redraws",
        hovertemplate="TL-ECE of one redraw %{y:.4f}<extra></extra>",
    )
    figure.update_layout(template=TEMPLATE, height=460, font_size=TEXT)
    figure.update_xaxes(title_text="Rows n", type="log", tickvals=own["n_samples"].tolist())
    figure.update_yaxes(title_text="TL-ECE of a perfect model", rangemode="tozero")
    return figure


def binned_curve(
    binned: pd.DataFrame,
    band: float,
    grid: np.ndarray,
    truth: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray],
) -> go.Figure:
    """Draw histogram binning over the known curve, with a band of +- `band` around each step.

    Parameters
    ----------
    binned : DataFrame
        From `BinnedCurve.frame`.
    band : float
        Half width of the band.
    grid, truth : arrays
        The known curve.
    rows : (scores, outcomes)
        Calibration rows, drawn as ticks at 0 and 1; pass a sample of many.
    """
    figure = go.Figure()
    x = binned[["lower", "upper"]].to_numpy().ravel()
    y = np.repeat(binned["value"].to_numpy(), 2)
    low, high = np.clip(y - band, 0, 1), np.clip(y + band, 0, 1)
    figure.add_scatter(x=x, y=low, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=x,
        y=high,
        mode="lines",
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(86,180,233,0.30)",
        name="guarantee, \u00b1 \u03b5\u2081",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=rows[0],
        y=np.where(rows[1], 1.03, -0.03),
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1, "color": BARS}},
        name="calibration rows: wrong 0, right 1",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=grid,
        y=truth,
        mode="lines",
        line={"color": OKABE_ITO["green"], "width": 3, "dash": "dash"},
        name="truth (known: simulated)",
        hovertemplate="score %{x:.2f}: truly right %{y:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": OKABE_ITO["vermillion"], "width": 3.5},
        name="histogram binning",
        customdata=np.repeat(binned["count"].to_numpy(), 2)[:, None].tolist(),
        hovertemplate="announces %{y:.3f}, from %{customdata[0]:,} rows<extra></extra>",
    )
    figure.add_scatter(
        x=binned[["lower", "upper"]].to_numpy().mean(axis=1),
        y=binned["true_mean"].to_numpy(),
        mode="markers",
        marker={"symbol": "diamond-open", "size": 9, "color": OKABE_ITO["green"], "line": {"width": 2}},
        name="truth, mean of each bin",
        hovertemplate="truly right %{y:.3f} in this bin<extra></extra>",
    )
    figure = unit_axes(figure, "Score of the model", "Right", 500)
    figure.update_yaxes(range=[-0.07, 1.07])
    return figure.update_layout(font_size=TEXT)


def trade_off(table: pd.DataFrame, points_per_bin: int) -> go.Figure:
    """Draw guarantee and error (above) and sharpness (below) against points per bin."""
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.6, 0.4])
    x = table["points_per_bin"].to_numpy()
    for column, name, colour, dash, row in (
        ("marginal", "guarantee \u03b5\u2081", "sky", "solid", 1),
        ("expected_ece", "bound on expected ECE", "purple", "dashdot", 1),
        ("error", "ECE on fresh rows", "vermillion", "solid", 1),
        ("sharpness", "sharpness", "green", "dash", 2),
    ):
        figure.add_scatter(
            x=x,
            y=table[column].to_numpy(),
            mode="lines+markers",
            line={"color": OKABE_ITO[colour], "dash": dash, "width": 3},
            name=name,
            hovertemplate=f"k = %{{x}}: {name} %{{y:.3f}}<extra></extra>",
            row=row,
            col=1,
        )
    for row in (1, 2):
        figure.add_vline(
            x=points_per_bin, line={"color": OKABE_ITO["orange"], "width": 3, "dash": "dot"}, row=row, col=1
        )
    ticks = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000]
    figure.update_layout(template=TEMPLATE, height=480, font_size=TEXT)
    figure.update_xaxes(type="log", tickvals=ticks)
    figure.update_xaxes(title_text="Points per bin k", row=2, col=1)
    figure.update_yaxes(rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="Sharpness", row=2, col=1)
    return figure


def one_row(
    series: Sequence[tuple[str, np.ndarray]], class_names: Sequence[str], true_label: int
) -> go.Figure:
    """Draw the scores of one row by several methods, a group of bars per class; each sum in the legend."""
    figure = go.Figure()
    looks = (("grey", ""), ("green", "/"), ("orange", "x"))
    for (name, scores), (colour, shape) in zip(series, looks, strict=True):
        figure.add_bar(
            x=np.arange(len(scores)),
            y=scores,
            name=f"{name}, sum {scores.sum():.2f}",
            marker={
                "color": OKABE_ITO[colour],
                "pattern": {"shape": shape, "solidity": 0.25},
            },
            text=["max" if code == scores.argmax() else "" for code in range(len(scores))],
            textposition="outside",
            textfont={"size": TEXT},
            constraintext="none",
            cliponaxis=False,
            hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
        )
    ticks = [
        f"<b>{escape(name)} \u2713</b>" if code == true_label else escape(name)
        for code, name in enumerate(class_names)
    ]
    figure.update_layout(template=TEMPLATE, height=430, font_size=TEXT, bargap=0.25)
    figure.update_xaxes(tickvals=np.arange(len(ticks)), ticktext=ticks, showgrid=False)
    figure.update_yaxes(title_text="Score", rangemode="tozero")
    return figure
