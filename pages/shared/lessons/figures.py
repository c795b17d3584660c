"""Figures of the Learn page, drawn a little larger than elsewhere: they are shown to a room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.reliability_diagram import reliability
from calib.diagrams.figures.style import BARS, OKABE_ITO, TEMPLATE, escape, unit_axes
from calib.diagrams.reliability import ReliabilityDiagram
from calib.evidence.binning import BinStatistics

TEXT = 16
#: Fills that dark text is readable on, one per class; a cell also carries its problem's name as text.
FILLS = ("#56B4E9", "#E69F00", "#3CC99B", "#DDA0BF")
#: Over the fill, one per rank.
PATTERNS = ("", "/", "\\", "x")
INK = "#14181C"
#: Colour and symbol of patients a and b (problem 0 and 1), and of both pooled.
SIDES = (("vermillion", "circle"), ("green", "square"))


def patients(groups: BinStatistics, names: Sequence[str]) -> go.Figure:
    """Draw groups of patients: what they were told against how often it was right, and the gap between.

    Parameters
    ----------
    groups : BinStatistics
        From `TwoPatients.groups`: pooled ("confidence") or one per disease ("top-label").
    names : sequence of str
        Names of the patients told each disease; pooled groups are called "all".
    """
    figure = Drawing()
    pooled = groups.notion == "confidence"
    for position in range(len(groups.count)):
        side = int(groups.problem[position])
        colour, symbol = ("blue", "star") if pooled else SIDES[side]
        name = "all patients told this" if pooled else f"patients {names[side]}"
        told, right = groups.mean_score[position], groups.mean_outcome[position]
        figure.add_scatter(
            x=[told, told],
            y=[told, right],
            mode="lines",
            line={"color": OKABE_ITO[colour], "width": 5},
            opacity=0.5,
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=[told],
            y=[right],
            mode="markers+text",
            text=["" if pooled else f"<b>{names[side]}</b>"],
            textposition="middle right",
            textfont={"size": TEXT + 4},
            marker={"symbol": symbol, "size": 22 if pooled else 17, "color": OKABE_ITO[colour]},
            name=name,
            showlegend=not pooled or position == 0,
            hovertemplate=f"{name}<br>told %{{x:.2f}}, right %{{y:.3f}}<br>"
            f"{100 * groups.share[position]:.0f} % of all patients<extra></extra>",
        )
    figure = unit_axes(figure, "Confidence the patient is told", "How often it is right", 400)
    return figure.update_layout(font_size=TEXT)


def jensen(share: float, gaps: tuple[float, float], pooled: float, apart: float) -> go.Figure:
    """Draw Proposition 4: the size of the pooled gap lies on the V, the mean size of the two on the chord.

    Parameters
    ----------
    share : float
        Share of class 1.
    gaps : (2,) tuple of float
        Signed gaps, accuracy minus confidence, of class 1 and class 2.
    pooled, apart : float
        conf-ECE and TL-ECE.
    """
    mean = share * gaps[0] + (1.0 - share) * gaps[1]
    figure = Drawing()
    for x, y, colour, width, dash, name in (
        ([-0.5, 0, 0.5], [0.5, 0, 0.5], "grey", 3, "solid", "size of a gap, |gap|"),
        (list(gaps), [abs(gap) for gap in gaps], "grey", 2, "dot", None),
        ([mean, mean], [pooled, apart], "orange", 6, "solid", "what pooling hides"),
    ):
        line = {"color": OKABE_ITO[colour], "width": width, "dash": dash}
        shown = name is not None
        figure.add_scatter(x=x, y=y, mode="lines", line=line, name=name, showlegend=shown, hoverinfo="skip")
    for side, gap in enumerate(gaps):
        colour, symbol = SIDES[side]
        figure.add_scatter(
            x=[gap],
            y=[abs(gap)],
            mode="markers",
            marker={"symbol": symbol, "size": 16, "color": OKABE_ITO[colour]},
            name=f"class {side + 1}",
            hovertemplate=f"class {side + 1}: gap %{{x:+.2f}}, size %{{y:.2f}}<extra></extra>",
        )
    for value, symbol, colour, name in (
        (apart, "cross-thin", "vermillion", "kept apart: TL-ECE"),
        (pooled, "star", "blue", "pooled: conf-ECE"),
    ):
        figure.add_scatter(
            x=[mean],
            y=[value],
            mode="markers",
            marker={
                "symbol": symbol,
                "size": 20,
                "color": OKABE_ITO[colour],
                "line": {"width": 4 if symbol == "cross-thin" else 0, "color": OKABE_ITO[colour]},
            },
            name=name,
            hovertemplate=name + " %{y:.3f}<extra></extra>",
        )
    figure.update_layout(template=TEMPLATE, height=460, font_size=TEXT)
    figure.update_xaxes(title_text="Signed gap: accuracy minus confidence", range=[-0.56, 0.56], dtick=0.25)
    figure.update_yaxes(title_text="Size of the gap", range=[-0.04, 0.56], dtick=0.1)
    return figure


def signed_bars(share: float, gaps: tuple[float, float], pooled: float, apart: float) -> go.Figure:
    """Draw what each class adds: signed gap times share, their sum, and the sum of their sizes."""
    adds = (share * gaps[0], (1.0 - share) * gaps[1])
    figure = Drawing()
    bars = (
        ("class 1", adds[0], SIDES[0][0], ""),
        ("class 2", adds[1], SIDES[1][0], ""),
        ("pooled", sum(adds), "blue", "/"),
        ("apart", apart, "orange", "x"),
    )
    for name, value, colour, shape in bars:
        figure.add_bar(
            x=[name],
            y=[value],
            text=[f"{value:+.3f}" if name != "apart" else f"{value:.3f}"],
            textposition="outside",
            textfont={"size": TEXT},
            constraintext="none",
            cliponaxis=False,
            marker={"color": OKABE_ITO[colour], "pattern": {"shape": shape, "solidity": 0.25}},
            name=name,
            hovertemplate=name + ": %{y:+.3f}<extra></extra>",
            showlegend=False,
        )
    figure.add_hline(y=0, line={"dash": "solid", "width": 1.5})
    reach = max(0.12, 1.3 * max(abs(value) for _, value, _, _ in bars))
    figure.update_layout(template=TEMPLATE, height=460, font_size=TEXT, bargap=0.35)
    figure.update_yaxes(title_text="Share times signed gap", range=[-reach, reach])
    return figure


def cell_table(
    proba: np.ndarray, labels: np.ndarray, cells: np.ndarray, names: Sequence[str], points: Sequence[str]
) -> go.Figure:
    """Draw Figure 3a: the table of predictions, with the numbers that a notion uses filled and named.

    Parameters
    ----------
    proba : (n, L) array
        Probabilities of the points.
    labels : (n,) array
        True classes; a tick stands beside the probability of the true class.
    cells : (n, L) array
        0 where a number is not used, else the number of its problem: it decides colour and pattern.
    names : sequence of str
        Name of cell value v at v - 1, written under the number.
    points : sequence of str
        Names of the points.
    """
    n_samples, n_classes = proba.shape
    figure = Drawing()
    for value in np.unique(cells[cells > 0]).tolist():
        rows, columns = np.nonzero(cells == value)
        figure.add_bar(
            x=columns,
            y=np.full(len(rows), 0.9),
            base=rows - 0.45,
            width=0.94,
            marker={
                "color": FILLS[(value - 1) % n_classes],
                "line": {"color": INK, "width": 1.5},
                "pattern": {
                    "shape": PATTERNS[(value - 1) // n_classes % len(PATTERNS)],
                    "fillmode": "overlay",
                    "fgcolor": "rgba(20,24,28,0.35)",
                    "size": 7,
                    "solidity": 0.12,
                },
            },
            name=names[value - 1],
            hoverinfo="skip",
            showlegend=False,
        )
    for used in (True, False):
        rows, columns = np.nonzero((cells > 0) == used)
        text = []
        for row, column in zip(rows, columns, strict=True):
            number = f"{proba[row, column]:.2f}" + (" \u2713" if labels[row] == column else "")
            small = f"<br><span style='font-size:12px'>{names[cells[row, column] - 1]}</span>"
            text.append(f"<b>{number}</b>{small}" if used else number)
        figure.add_scatter(
            x=columns,
            y=rows,
            mode="text",
            text=text,
            textfont={"size": TEXT, "color": INK} if used else {"size": TEXT},
            name="used" if used else "not used",
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_layout(
        template=TEMPLATE, height=56 * n_samples + 70, barmode="overlay", font_size=TEXT, margin={"t": 50}
    )
    figure.update_xaxes(
        tickvals=list(range(n_classes)),
        ticktext=[f"class {code + 1}" for code in range(n_classes)],
        side="top",
        range=[-0.55, n_classes - 0.45],
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    figure.update_yaxes(
        tickvals=list(range(n_samples)),
        ticktext=[f"<b>{point}</b>, Y = {labels[row] + 1}" for row, point in enumerate(points)],
        range=[n_samples - 0.45, -0.55],
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    return figure


def question(diagram: ReliabilityDiagram, bin_: int, *, answered: bool) -> go.Figure:
    """Draw Figure 1a with one bin framed; the top-label marks are left out until the answer is given."""
    figure = reliability(diagram)
    if not answered:
        figure.data = tuple(trace for trace in figure.data if not str(trace.name).startswith("top-label"))
    figure.add_vrect(
        x0=bin_ / diagram.n_bins,
        x1=(bin_ + 1) / diagram.n_bins,
        line={"color": OKABE_ITO["orange"], "width": 3, "dash": "solid"},
        fillcolor="rgba(230,159,0,0.10)",
        annotation={"text": f"bin {bin_ + 1}", "font": {"size": TEXT}},
        annotation_position="outside top",
    )
    return figure.update_layout(font_size=TEXT, height=480, legend_y=1.1)


def perfect_curves(
    curves: Sequence[pd.DataFrame], chosen: int, n_samples: int, draws: np.ndarray
) -> go.Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes, and single redraws."""
    figure = Drawing()
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
    chosen_curve = next(curve for curve in curves if int(curve["n_classes"].iloc[0]) == chosen)
    figure.add_scatter(
        x=chosen_curve["n_samples"].to_numpy(),
        y=chosen_curve["conf_ece_mean"].to_numpy(),
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
    figure.update_xaxes(title_text="Rows n", type="log", tickvals=chosen_curve["n_samples"].tolist())
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
    figure = Drawing()
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
        hovertemplate="calibrated %{y:.3f}, from %{customdata[0]:,} rows<extra></extra>",
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
    figure = Drawing.grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.6, 0.4))
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
    for number in ("", "2"):
        figure.add_shape(
            type="line",
            x0=points_per_bin,
            x1=points_per_bin,
            y0=0,
            y1=1,
            xref=f"x{number}",
            yref=f"y{number} domain",
            line={"color": OKABE_ITO["orange"], "width": 3, "dash": "dot"},
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
    figure = Drawing()
    looks = (("grey", ""), ("green", "/"), ("orange", "x"))
    for (name, scores), (colour, shape) in zip(series, looks, strict=True):
        figure.add_bar(
            x=np.arange(len(scores)),
            y=scores,
            name=f"{name}, sum {scores.sum():.2f}",
            marker={"color": OKABE_ITO[colour], "pattern": {"shape": shape, "solidity": 0.25}},
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
