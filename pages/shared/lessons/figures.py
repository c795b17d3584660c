"""Figures of the Learn page, drawn a little larger than elsewhere: they are shown to a room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.diagrams.reliability import ReliabilityDiagram
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
)
from calib.evidence.binning import BinStatistics
from pages.shared.lessons.two_patients import TwoPatients

TEXT = 16
#: Pixels of a step's picture: with question and controls it fits a screen of 720 lines.
LESSON_HEIGHT = 370
#: Fills that dark text is readable on, one per class; a cell also carries its problem's name as text.
FILLS = ("#56B4E9", "#E69F00", "#3CC99B", "#DDA0BF")
#: Over the fill, one per rank.
PATTERNS = ("", "/", "\\", "x")
INK = "#14181C"
#: Colour and symbol of patients a and b (problem 0 and 1), and of both pooled.
SIDES = (("vermillion", "circle"), ("green", "square"))


def patients(pooled: BinStatistics, apart: BinStatistics, *, split: bool) -> Figure:
    """Draw what patients were told against how often it was right: all together and, if `split`, by disease.

    Dots that are not split yet lie where their patients are pooled, so that the browser can move them.
    """
    data = []
    for position in range(len(apart.count)):
        colour, symbol = SIDES[int(apart.problem[position])]
        told, right = apart.mean_score[position], apart.mean_outcome[position]
        together = pooled.mean_outcome[int(np.abs(pooled.mean_score - told).argmin())]
        name = f"told disease {apart.problem[position] + 1}"
        data += scatter(
            x=[told, told],
            y=[together, right if split else together],
            mode="lines",
            line={"color": OKABE_ITO[colour], "width": 5},
            opacity=0.5,
            hoverinfo="skip",
            showlegend=False,
        )
        data += scatter(
            x=[told],
            y=[right if split else together],
            mode="markers+text",
            text=[f"<b>disease {apart.problem[position] + 1}</b>" if split else ""],
            textposition="middle right" if told < 0.7 else "middle left",
            textfont={"size": TEXT, "color": OKABE_ITO[colour]},
            marker={"symbol": symbol, "size": 20, "color": OKABE_ITO[colour]},
            opacity=1.0 if split else 0.0,
            showlegend=False,
            hovertemplate=f"{name} with confidence %{{x:.2f}}, right %{{y:.3f}}<br>"
            f"{100 * apart.share[position]:.0f} % of all patients<extra></extra>",
        )
    data += scatter(
        x=pooled.mean_score,
        y=pooled.mean_outcome,
        mode="markers+text",
        text=["all together"] * len(pooled.count) if len(pooled.count) == 1 else None,
        textposition="middle left",
        textfont={"size": TEXT},
        marker={"symbol": "star", "size": 18, "color": OKABE_ITO["blue"]},
        showlegend=False,
        hovertemplate="all patients told %{x:.2f}: right %{y:.3f}<extra></extra>",
    )
    axes = unit_axes(data, "Confidence told", "How often it was right", LESSON_HEIGHT)
    axes["xaxis"]["range"] = [-0.01, 1.1]
    return figure(data, **axes, font={"size": TEXT})


def crowd(population: TwoPatients, *, split: bool, people: int = 100) -> Figure:
    """Draw patients as dots, filled if they have the disease they were told; if `split`, also by disease.

    Shares and accuracies are rounded to whole patients.
    """
    first = round(people * population.share)
    sizes = (first, people - first)
    right = [round(size * accuracy) for size, accuracy in zip(sizes, population.accuracy, strict=True)]
    side = np.repeat([0, 1], sizes)
    number = np.concatenate([np.arange(size) for size in sizes])
    ill = number < np.repeat(right, sizes)
    place = np.empty(people, dtype=np.int64)
    place[np.argsort(~ill, kind="stable")] = np.arange(people)
    below = -(-first // 10) + 2 if first else 0
    x, y = place % 10, place // 10
    apart = (number % 10 + 13, number // 10 + below * side)
    words = [f"<b>{ill.sum()} of {people}</b> were told right"]
    notes = [_note(0, 10.2, words[0]), _note(0, -1.2, "<b>All together</b>")]
    data = _people(x, y, ill, BARS)
    for code in (0, 1):
        mine = side == code
        colour = OKABE_ITO[SIDES[code][0]]
        if not mine.any():
            continue
        where = (apart[0][mine], apart[1][mine]) if split else (x[mine], y[mine])
        data += _people(*where, ill[mine], colour, opacity=1.0 if split else 0.0)
        if split:
            title = f"<b>Told disease {code + 1}</b>: {right[code]} of {sizes[code]}"
            notes.append(_note(13, below * code - 1.2, title, colour))
    bare = {"showgrid": False, "showline": False, "zeroline": False, "ticks": "", "showticklabels": False}
    return figure(
        data,
        height=LESSON_HEIGHT,
        font={"size": TEXT},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        annotations=notes,
        xaxis={**bare, "range": [-0.8, 23.5], "fixedrange": True, "constrain": "domain"},
        yaxis={**bare, "range": [12.5, -2], "fixedrange": True, "scaleanchor": "x", "constrain": "domain"},
    )


def _people(x: np.ndarray, y: np.ndarray, filled: np.ndarray, colour: str, opacity: float = 1.0) -> list[Any]:
    return scatter(
        x=x,
        y=y,
        mode="markers",
        marker={
            "symbol": np.where(filled, "circle", "circle-open").tolist(),
            "size": 12,
            "color": colour,
            "line": {"width": 1.5, "color": colour},
        },
        opacity=opacity,
        hoverinfo="skip",
        showlegend=False,
    )


def _note(x: float, y: float, words: str, colour: str | None = None) -> dict[str, Any]:
    font = {"size": TEXT - 2} if colour is None else {"size": TEXT - 2, "color": colour}
    return {"x": x - 0.4, "y": y, "text": words, "showarrow": False, "xanchor": "left", "font": font}


def jensen(share: float, gaps: tuple[float, float], pooled: float, apart: float, *, answered: bool) -> Figure:
    """Draw Proposition 4: the size of the pooled gap lies on the V, the mean size of the two on the chord.

    Parameters
    ----------
    share : float
        Share of class 1.
    gaps : (2,) tuple of float
        Signed gaps, accuracy minus confidence, of class 1 and class 2.
    pooled, apart : float
        conf-ECE and TL-ECE.
    answered : bool
        Whether chord and errors are drawn.
    """
    mean = share * gaps[0] + (1.0 - share) * gaps[1]
    lines: list[tuple[list[float], list[float], str, float, str]] = [
        ([-0.5, 0, 0.5], [0.5, 0, 0.5], "grey", 3, "solid")
    ]
    dots = [(gap, abs(gap), *SIDES[side], f"class {side + 1}", "top center") for side, gap in enumerate(gaps)]
    if answered:
        lines += [
            ([*gaps], [abs(gap) for gap in gaps], "grey", 2, "dot"),
            ([mean, mean], [pooled, apart], "orange", 6, "solid"),
        ]
        dots += [
            (mean, apart, "vermillion", "cross-thin", "apart: TL-ECE", "top center"),
            (mean, pooled, "blue", "star", "pooled: conf-ECE", "middle right"),
        ]
    data = []
    for across, up, colour, width, dash in lines:
        line = {"color": OKABE_ITO[colour], "width": width, "dash": dash}
        data += scatter(x=across, y=up, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    for x, y, colour, symbol, name, position in dots:
        data += scatter(
            x=[x],
            y=[y],
            mode="markers+text",
            text=[f"<b>{name}</b>"],
            textposition=position,
            textfont={"size": TEXT, "color": OKABE_ITO[colour]},
            cliponaxis=False,
            marker={
                "symbol": symbol,
                "size": 18,
                "color": OKABE_ITO[colour],
                "line": {"width": 4 if symbol == "cross-thin" else 0, "color": OKABE_ITO[colour]},
            },
            showlegend=False,
            hovertemplate=f"{name}: gap %{{x:+.2f}}, size %{{y:.3f}}<extra></extra>",
        )
    signed = {"text": "Signed gap: accuracy minus confidence"}
    return figure(
        data,
        height=LESSON_HEIGHT,
        font={"size": TEXT},
        xaxis={"title": signed, "range": [-0.56, 0.56], "dtick": 0.25},
        yaxis={"title": {"text": "Size of the gap"}, "range": [-0.04, 0.56], "dtick": 0.1},
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
            if used:
                name = names[cells[row, column] - 1]
                number = f"<b>{number}</b><br><span style='font-size:12px'>{name}</span>"
            text.append(number)
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


def one_bin(diagram: ReliabilityDiagram, bin_: int, names: Sequence[str], *, split: bool) -> Figure:
    """Draw all classes together with a bin framed, whose star, if `split`, is split into its classes.

    Dots that are not split yet lie under the star, so that the browser can move them.
    """
    inside = diagram.zoom(bin_)
    count = len(inside.label)
    star = (inside.mean_confidence, inside.accuracy)
    low, high = bin_ / diagram.n_bins, (bin_ + 1) / diagram.n_bins
    frame = {**span(low, high), "line": {"color": OKABE_ITO["orange"], "width": 3, "dash": "solid"}}
    data = scatter(
        x=diagram.mean_confidence,
        y=diagram.accuracy,
        mode="lines+markers",
        line={"color": OKABE_ITO["blue"], "width": 2},
        marker={"symbol": "star", "size": 14, "color": OKABE_ITO["blue"]},
        showlegend=False,
        hovertemplate="all classes: confidence %{x:.2f}, right %{y:.2f}<extra></extra>",
    )
    data += scatter(
        x=inside.class_confidence if split else np.full(count, star[0]),
        y=inside.class_accuracy if split else np.full(count, star[1]),
        mode="markers",
        marker={"size": 13, "color": OKABE_ITO["vermillion"], "line": {"width": 1, "color": INK}},
        opacity=1.0 if split else 0.0,
        customdata=[
            [escape(names[code]), n] for code, n in zip(inside.label, inside.class_count, strict=True)
        ],
        showlegend=False,
        hovertemplate="%{customdata[0]}: confidence %{x:.2f}, right %{y:.2f} of %{customdata[1]:,}"
        "<extra></extra>",
    )
    layout = unit_axes(data, "Confidence", "Accuracy", LESSON_HEIGHT, marked=[frame])
    return figure(data, **layout, font={"size": TEXT})


def perfect_curves(
    curves: Sequence[pd.DataFrame], chosen: int, n_samples: int, draws: np.ndarray, *, answered: bool
) -> Figure:
    """Draw TL-ECE of a perfect model against its rows, a line per number of classes, and single redraws.

    Before the answer there are the axes and the chosen number of rows.
    """
    data = []
    styles = (("sky", "dot"), ("green", "dash"), ("purple", "dashdot"), ("vermillion", "solid"))
    line = {"color": OKABE_ITO["orange"], "width": 4}
    upright = {"type": "line", "x0": n_samples, "x1": n_samples, "y0": 0, "y1": 1, "yref": "y domain"}
    for curve, (colour, dash) in zip(curves if answered else [], styles, strict=answered):
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
    if answered:
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
        y=draws if answered else np.full(len(draws), np.nan),
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
    counts = chosen_curve["n_samples"].to_numpy()
    ends = [float(np.log10(counts[0] / 1.2)), float(np.log10(counts[-1] * 1.2))]
    most = max(float(curve["tl_ece_mean"].max()) for curve in curves)
    return figure(
        data,
        height=LESSON_HEIGHT,
        font={"size": TEXT},
        shapes=[{**upright, "line": line}],
        xaxis={"title": {"text": "Rows n"}, "type": "log", "tickvals": counts.tolist(), "range": ends},
        yaxis={"title": {"text": "TL-ECE of a perfect model"}, "range": [0, 1.1 * most]},
    )


def binned_curve(
    binned: pd.DataFrame,
    band: float,
    grid: np.ndarray,
    truth: np.ndarray | None,
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
        The known curve; None leaves it out.
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
    if truth is not None:
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
    layout = unit_axes(data, "Score of the model", "Right", LESSON_HEIGHT + 60)
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
        height=LESSON_HEIGHT,
        font={"size": TEXT},
        bargap=0.25,
        xaxis={"tickvals": np.arange(len(ticks)), "ticktext": ticks, "showgrid": False},
        yaxis={"title": {"text": "Score"}, "rangemode": "tozero"},
    )
