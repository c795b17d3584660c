"""Figures of the Learn page, drawn a little larger than elsewhere: they are shown to a room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.diagrams.reliability import ReliabilityDiagram, draw_reliability
from calib.diagrams.style import (
    BARS,
    OKABE_ITO,
    Figure,
    at,
    axes,
    bar,
    escape,
    figure,
    grid,
    scatter,
    span,
    unit_axes,
    with_layout,
)
from calib.evidence.binning import BinStatistics

TEXT = 16
#: Fills that dark text is readable on, one per class; a cell also carries its problem's name as text.
FILLS = ("#56B4E9", "#E69F00", "#3CC99B", "#DDA0BF")
#: Over the fill, one per rank.
PATTERNS = ("", "/", "\\", "x")
INK = "#14181C"
#: Colour and symbol of patients a and b (problem 0 and 1), and of both pooled.
SIDES = (("vermillion", "circle"), ("green", "square"))


def patients(groups: BinStatistics, names: Sequence[str]) -> Figure:
    """Draw groups of patients: what they were told against how often it was right, and the gap between.

    Parameters
    ----------
    groups : BinStatistics
        From `TwoPatients.groups`: pooled ("confidence") or one per disease ("top-label").
    names : sequence of str
        Names of the patients told each disease; pooled groups are called "all".
    """
    data = []
    pooled = groups.notion == "confidence"
    for position in range(len(groups.count)):
        side = int(groups.problem[position])
        colour, symbol = ("blue", "star") if pooled else SIDES[side]
        name = "all patients told this" if pooled else f"patients {names[side]}"
        told, right = groups.mean_score[position], groups.mean_outcome[position]
        data += scatter(
            x=[told, told],
            y=[told, right],
            mode="lines",
            line={"color": OKABE_ITO[colour], "width": 5},
            opacity=0.5,
            hoverinfo="skip",
            showlegend=False,
        )
        data += scatter(
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
    axes = unit_axes(data, "Confidence the patient is told", "How often it is right", 400)
    return figure(data, **axes, font={"size": TEXT})


def jensen(share: float, gaps: tuple[float, float], pooled: float, apart: float) -> Figure:
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
    data = []
    for x, y, colour, width, dash, name in (
        ([-0.5, 0, 0.5], [0.5, 0, 0.5], "grey", 3, "solid", "size of a gap, |gap|"),
        (list(gaps), [abs(gap) for gap in gaps], "grey", 2, "dot", None),
        ([mean, mean], [pooled, apart], "orange", 6, "solid", "what pooling hides"),
    ):
        line = {"color": OKABE_ITO[colour], "width": width, "dash": dash}
        shown = name is not None
        data += scatter(x=x, y=y, mode="lines", line=line, name=name, showlegend=shown, hoverinfo="skip")
    for side, gap in enumerate(gaps):
        colour, symbol = SIDES[side]
        data += scatter(
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
        data += scatter(
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
    signed = {"text": "Signed gap: accuracy minus confidence"}
    return figure(
        data,
        height=460,
        font={"size": TEXT},
        xaxis={"title": signed, "range": [-0.56, 0.56], "dtick": 0.25},
        yaxis={"title": {"text": "Size of the gap"}, "range": [-0.04, 0.56], "dtick": 0.1},
    )


def signed_bars(share: float, gaps: tuple[float, float], pooled: float, apart: float) -> Figure:
    """Draw what each class adds: signed gap times share, their sum, and the sum of their sizes."""
    adds = (share * gaps[0], (1.0 - share) * gaps[1])
    data = []
    bars = (
        ("class 1", adds[0], SIDES[0][0], ""),
        ("class 2", adds[1], SIDES[1][0], ""),
        ("pooled", sum(adds), "blue", "/"),
        ("apart", apart, "orange", "x"),
    )
    for name, value, colour, shape in bars:
        data += bar(
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
    zero = {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": 0, "y1": 0, "yref": "y"}
    reach = max(0.12, 1.3 * max(abs(value) for _, value, _, _ in bars))
    return figure(
        data,
        height=460,
        font={"size": TEXT},
        bargap=0.35,
        shapes=[{**zero, "line": {"dash": "solid", "width": 1.5}}],
        yaxis={"title": {"text": "Share times signed gap"}, "range": [-reach, reach]},
    )


def cell_table(
    proba: np.ndarray, labels: np.ndarray, cells: np.ndarray, names: Sequence[str], points: Sequence[str]
) -> Figure:
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
    data = []
    for value in np.unique(cells[cells > 0]).tolist():
        rows, columns = np.nonzero(cells == value)
        data += bar(
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
        data += scatter(
            x=columns,
            y=rows,
            mode="text",
            text=text,
            textfont={"size": TEXT, "color": INK} if used else {"size": TEXT},
            name="used" if used else "not used",
            hoverinfo="skip",
            showlegend=False,
        )
    bare = {"showgrid": False, "showline": False, "ticks": "", "fixedrange": True}
    return figure(
        data,
        height=56 * n_samples + 70,
        barmode="overlay",
        font={"size": TEXT},
        margin={"t": 50},
        xaxis={
            **bare,
            "tickvals": list(range(n_classes)),
            "ticktext": [f"class {code + 1}" for code in range(n_classes)],
            "side": "top",
            "range": [-0.55, n_classes - 0.45],
        },
        yaxis={
            **bare,
            "tickvals": list(range(n_samples)),
            "ticktext": [f"<b>{point}</b>, Y = {labels[row] + 1}" for row, point in enumerate(points)],
            "range": [n_samples - 0.45, -0.55],
        },
    )


def question(diagram: ReliabilityDiagram, bin_: int, names: Sequence[str], *, answered: bool) -> Figure:
    """Draw all classes together, or each predicted class once the answer is given, with a bin framed."""
    drawn = draw_reliability(diagram, names, panels=("classes",) if answered else ("pooled",))
    low, high = bin_ / diagram.n_bins, (bin_ + 1) / diagram.n_bins
    frame = {
        **span(low, high),
        "line": {"color": OKABE_ITO["orange"], "width": 3, "dash": "solid"},
        "label": {"text": f"bin {bin_ + 1}", "font": {"size": TEXT}, "textposition": "top center"},
    }
    shapes = [*drawn["layout"]["shapes"], frame]
    return with_layout(
        drawn,
        shapes=shapes,
        font={"size": TEXT},
        height=480,
    )


def perfect_curves(curves: Sequence[pd.DataFrame], chosen: int, n_samples: int, draws: np.ndarray) -> Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes, and single redraws."""
    data = []
    styles = (("sky", "dot"), ("green", "dash"), ("purple", "dashdot"), ("vermillion", "solid"))
    for curve, (colour, dash) in zip(curves, styles, strict=True):
        classes = int(curve["n_classes"].iloc[0])
        data += scatter(
            x=curve["n_samples"].to_numpy(),
            y=curve["tl_ece_mean"].to_numpy(),
            mode="lines",
            line={"color": OKABE_ITO[colour], "dash": dash, "width": 5 if classes == chosen else 2.5},
            name=f"L = {classes}",
            hovertemplate=f"{classes} classes, %{{x:,}} rows<br>mean TL-ECE of a perfect model %{{y:.3f}}"
            "<extra></extra>",
        )
    chosen_curve = next(curve for curve in curves if int(curve["n_classes"].iloc[0]) == chosen)
    data += scatter(
        x=chosen_curve["n_samples"].to_numpy(),
        y=chosen_curve["conf_ece_mean"].to_numpy(),
        mode="lines",
        line={"color": OKABE_ITO["blue"], "dash": "longdash", "width": 2},
        name=f"conf-ECE, L = {chosen}",
        hovertemplate="mean conf-ECE of a perfect model %{y:.3f}<extra></extra>",
    )
    data += scatter(
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
    ticks = {"type": "log", "tickvals": chosen_curve["n_samples"].tolist()}
    return figure(
        data,
        height=460,
        font={"size": TEXT},
        xaxis={"title": {"text": "Rows n"}, **ticks},
        yaxis={"title": {"text": "TL-ECE of a perfect model"}, "rangemode": "tozero"},
    )


def binned_curve(
    binned: pd.DataFrame,
    band: float,
    grid: np.ndarray,
    truth: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray],
) -> Figure:
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
    data = []
    x = binned[["lower", "upper"]].to_numpy().ravel()
    y = np.repeat(binned["value"].to_numpy(), 2)
    low, high = np.clip(y - band, 0, 1), np.clip(y + band, 0, 1)
    data += scatter(x=x, y=low, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
    data += scatter(
        x=x,
        y=high,
        mode="lines",
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(86,180,233,0.30)",
        name="guarantee, \u00b1 \u03b5\u2081",
        hoverinfo="skip",
    )
    data += scatter(
        x=rows[0],
        y=np.where(rows[1], 1.03, -0.03),
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1, "color": BARS}},
        name="calibration rows: wrong 0, right 1",
        hoverinfo="skip",
    )
    data += scatter(
        x=grid,
        y=truth,
        mode="lines",
        line={"color": OKABE_ITO["green"], "width": 3, "dash": "dash"},
        name="truth (known: simulated)",
        hovertemplate="score %{x:.2f}: truly right %{y:.3f}<extra></extra>",
    )
    data += scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": OKABE_ITO["vermillion"], "width": 3.5},
        name="histogram binning",
        customdata=np.repeat(binned["count"].to_numpy(), 2)[:, None].tolist(),
        hovertemplate="calibrated %{y:.3f}, from %{customdata[0]:,} rows<extra></extra>",
    )
    data += scatter(
        x=binned[["lower", "upper"]].to_numpy().mean(axis=1),
        y=binned["true_mean"].to_numpy(),
        mode="markers",
        marker={"symbol": "diamond-open", "size": 9, "color": OKABE_ITO["green"], "line": {"width": 2}},
        name="truth, mean of each bin",
        hovertemplate="truly right %{y:.3f} in this bin<extra></extra>",
    )
    layout = unit_axes(data, "Score of the model", "Right", 500)
    layout["yaxis"]["range"] = [-0.07, 1.07]
    return figure(data, **layout, font={"size": TEXT})


def trade_off(table: pd.DataFrame, points_per_bin: int) -> Figure:
    """Draw guarantee and error (above) and sharpness (below) against points per bin."""
    data = []
    x = table["points_per_bin"].to_numpy()
    for column, name, colour, dash, row in (
        ("marginal", "guarantee \u03b5\u2081", "sky", "solid", 1),
        ("expected_ece", "bound on expected ECE", "purple", "dashdot", 1),
        ("error", "ECE on fresh rows", "vermillion", "solid", 1),
        ("sharpness", "sharpness", "green", "dash", 2),
    ):
        data += scatter(
            x=x,
            y=table[column].to_numpy(),
            mode="lines+markers",
            line={"color": OKABE_ITO[colour], "dash": dash, "width": 3},
            name=name,
            hovertemplate=f"k = %{{x}}: {name} %{{y:.3f}}<extra></extra>",
            **at(row),
        )
    layout = grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.6, 0.4))
    line = {"color": OKABE_ITO["orange"], "width": 3, "dash": "dot"}
    upright = {"type": "line", "x0": points_per_bin, "x1": points_per_bin, "y0": 0, "y1": 1, "line": line}
    layout["shapes"] = [{**upright, "xref": f"x{n}", "yref": f"y{n} domain"} for n in ("", "2")]
    for axis in axes(layout, "x"):
        axis.update(type="log", tickvals=[5, 10, 20, 50, 100, 200, 500, 1_000, 2_000])
    layout["xaxis2"]["title"] = {"text": "Points per bin k"}
    layout["yaxis"]["rangemode"] = "tozero"
    layout["yaxis2"]["title"] = {"text": "Sharpness"}
    return figure(data, **layout, height=480, font={"size": TEXT})


def one_row(series: Sequence[tuple[str, np.ndarray]], class_names: Sequence[str], true_label: int) -> Figure:
    """Draw the scores of one row by several methods, a group of bars per class; each sum in the legend."""
    data = []
    looks = (("grey", ""), ("green", "/"), ("orange", "x"))
    for (name, scores), (colour, shape) in zip(series, looks, strict=True):
        data += bar(
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
    return figure(
        data,
        height=430,
        font={"size": TEXT},
        bargap=0.25,
        xaxis={"tickvals": np.arange(len(ticks)), "ticktext": ticks, "showgrid": False},
        yaxis={"title": {"text": "Score"}, "rangemode": "tozero"},
    )
