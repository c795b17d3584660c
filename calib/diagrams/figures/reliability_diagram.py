"""Figures of the reliability diagram and of one of its bins, class by class (Figure 1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

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
    names_above,
    share_bars,
    shorten,
    unit_axes,
    width_of,
)
from calib.diagrams.reliability import FEW_ROWS, BinZoom, ReliabilityDiagram
from calib.stats.bands import CalibrationBand


def reliability(
    diagram: ReliabilityDiagram,
    *,
    truth: np.ndarray | None = None,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    curve: tuple[np.ndarray, np.ndarray] | None = None,
    bounds: CalibrationBand | None = None,
    event: str | None = None,
    chosen: int | None = None,
    other: tuple[str, ReliabilityDiagram] | None = None,
) -> go.Figure:
    """Draw Figure 1a: stars, red plus, grey bars and the diagonal; of one event the stars alone.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        What to draw, one mark per non-empty bin.
    truth : array, optional
        Known accuracy of each bin of `diagram` (simulated examples).
    band : (lower, upper) arrays, optional
        Where a perfect model's stars would fall, per bin of `diagram`.
    curve : (scores, frequencies) arrays, optional
        Reliability without bins: the CORP curve of all classes pooled.
    bounds : CalibrationBand, optional
        Where that curve runs in truth, everywhere at once.
    event : str, optional
        Name of the class whose probability a binary score is; None where it is a confidence.
    chosen : int, optional
        Index of a bin to be marked.
    other : (name, ReliabilityDiagram), optional
        Another model of the same rows, drawn with open marks.
    """
    figure = Drawing()
    x = diagram.mean_confidence
    hover = np.column_stack(
        [diagram.bin, diagram.lower, diagram.upper, diagram.count, 100 * diagram.share, diagram.accuracy]
        + [diagram.accuracy_lower, diagram.accuracy_upper, diagram.delta, x]
    ).tolist()
    words = ("Confidence", "Confidence in the predicted class", "How often it is right")
    if event is not None:
        name = escape(shorten(event))
        words = (f"P({name})", f"P({name}), the predicted probability", f"How often it is {name}")
    where = f"{words[0]} " + "%{customdata[1]:.3g} to %{customdata[2]:.3g}<br>"
    rows = "%{customdata[3]:,} rows, %{customdata[4]:.1f} % of all"
    share_bars(figure, (diagram.lower, diagram.upper), diagram.share, hover, where + rows)
    if band is not None:
        middle = (diagram.lower + diagram.upper) / 2
        figure.add_bar(
            x=middle,
            y=band[1] - band[0],
            base=band[0],
            width=(diagram.upper - diagram.lower) * 0.94,
            marker={"color": "rgba(86,180,233,0.28)", "line": {"width": 0}},
            name="where a perfect model's stars fall (95 %)",
            hoverinfo="skip",
        )
    if bounds is not None:
        level = f"{bounds.level:.0%}"
        outline = (bounds.steps(bounds.lower, "hv"), bounds.steps(bounds.upper, "vh"))
        for side, (at, value) in enumerate(outline):
            figure.add_scatter(
                x=at,
                y=value,
                mode="lines",
                line={"color": OKABE_ITO["green"], "width": 1, "shape": "hv" if side == 0 else "vh"},
                fill="tonexty" if side else None,
                fillcolor="rgba(0,158,115,0.12)",
                name=f"true curve, {level} everywhere",
                legendgroup="bounds",
                showlegend=bool(side),
                hovertemplate=f"at %{{x:.3f}} at {'most' if side else 'least'} %{{y:.3f}}<extra></extra>",
            )
    if curve is not None:
        figure.add_scatter(
            x=curve[0],
            y=curve[1],
            mode="lines",
            line={"color": OKABE_ITO["purple"], "width": 2.5, "shape": "hv"},
            name="no bins: isotonic (CORP)",
            hovertemplate="says %{x:.3f}, right %{y:.3f} (isotonic)<extra></extra>",
        )
    if truth is not None:
        figure.add_scatter(
            x=x,
            y=truth,
            mode="markers",
            marker={"symbol": "diamond-open", "size": 13, "color": OKABE_ITO["green"], "line": {"width": 2}},
            name="true accuracy (simulated)",
            hovertemplate="True accuracy %{y:.3f} (known: simulated)<extra></extra>",
        )
    if other is not None:
        _add_other(figure, *other)
    opacity = faint(diagram.count)
    if not diagram.one_event:
        figure.add_scatter(
            x=x,
            y=diagram.top_label,
            mode="markers",
            marker={
                "symbol": "cross-thin",
                "size": 13,
                "line": {"width": 3, "color": OKABE_ITO["vermillion"]},
                "opacity": opacity,
            },
            name="top-label: each class on its own",
            customdata=hover,
            hovertemplate=where
            + "class-averaged miscalibration %{customdata[8]:.3f}<br>says %{customdata[9]:.3f}"
            + f"<br>{rows}"
            + "<extra></extra>",
        )
    figure.add_scatter(
        x=x,
        y=diagram.accuracy,
        mode="markers",
        marker={"symbol": "star", "size": 15, "color": OKABE_ITO["blue"], "opacity": opacity},
        error_y=interval(
            diagram.accuracy, diagram.accuracy_lower, diagram.accuracy_upper, "rgba(0,114,178,0.55)"
        ),
        name="rows of each bin" if diagram.one_event else "confidence: all classes pooled",
        customdata=hover,
        hovertemplate=where
        + "says %{customdata[9]:.3f}, right %{customdata[5]:.3f}<br>"
        + "95 % interval %{customdata[6]:.3f} to %{customdata[7]:.3f}"
        + f"<br>{rows}"
        + "<extra></extra>",
    )
    figure.update_layout(barmode="overlay")
    if chosen is not None:
        mark_span(figure, chosen / diagram.n_bins, (chosen + 1) / diagram.n_bins)
    unit_axes(figure, words[1], words[2], 520)
    drawn = [diagram] if other is None else [diagram, other[1]]
    pluses = [one.top_label for one in drawn if not one.one_event and len(one.top_label)]
    if pluses:  # a mark at the confidence less its gap can lie below 0, and above 1
        low, high = float(np.min(np.concatenate(pluses))), float(np.max(np.concatenate(pluses)))
        figure.update_yaxes(range=[min(low, 0.0) - 0.02, max(high, 1.0) + 0.04])
    return figure


def _add_other(figure: go.Figure, name: str, diagram: ReliabilityDiagram) -> None:
    """Add the stars and the top-label marks of another model, open."""
    marks = (
        ("star-open", 14, "sky", diagram.accuracy, "pooled"),
        ("cross-open", 10, "orange", diagram.top_label, "top-label"),
    )
    for symbol, size, colour, y, what in marks:
        if what == "top-label" and diagram.one_event:
            continue
        figure.add_scatter(
            x=diagram.mean_confidence,
            y=y,
            mode="markers",
            marker={
                "symbol": symbol,
                "size": size,
                "color": OKABE_ITO[colour],
                "line": {"width": 2},
                "opacity": faint(diagram.count),
            },
            name=f"{escape(shorten(name))}, {what}",
            customdata=np.column_stack([diagram.bin, diagram.count]).tolist(),
            hovertemplate=f"{escape(name)}: says %{{x:.3f}}, {what} %{{y:.3f}}<br>"
            "%{customdata[1]:,} rows<extra></extra>",
        )


def zoom(diagram: BinZoom, class_names: Sequence[str], *, chosen: int | None = None) -> go.Figure:
    """Draw Figure 1b: what the model says and how often it is right, per predicted class of one bin.

    One line per class, the clearest evidence on top, at most 30; the bars at the right count the rows.
    Diamonds are shrunken accuracies. Marks carry the class code last in their customdata; `chosen` is the
    code of a class to be marked.
    """
    shown = slice(0, MAX_NAMED)
    label, count = diagram.label[shown], diagram.class_count[shown]
    says, right = diagram.class_confidence[shown], diagram.class_accuracy[shown]
    low, high = diagram.class_lower[shown], diagram.class_upper[shown]
    # Two of a user's class names may look alike once shortened: lines are placed by position.
    lines = np.arange(1, len(label) + 1)
    opacity = faint(count)
    names = [escape(shorten(class_names[code], 24)) for code in label]
    values_of = zip(names, says, right, low, high, count, label.tolist(), strict=True)
    custom = [list(values) for values in values_of]
    hover = (
        "Predicted %{customdata[0]}<br>says %{customdata[1]:.3f}, right %{customdata[2]:.3f}<br>"
        "95 % interval %{customdata[3]:.3f} to %{customdata[4]:.3f}<br>%{customdata[5]:,} rows<extra></extra>"
    )
    figure = Drawing.grid(1, 2, shared_yaxes=True, column_widths=(0.72, 0.28), horizontal_spacing=0.05)
    figure.add_scatter(
        x=np.column_stack([says, right, np.full(len(says), np.nan)]).ravel(),
        y=np.repeat(lines, 3),
        mode="lines",
        line={"color": "rgba(213,94,0,0.35)", "width": 6},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=[diagram.mean_confidence],
        y=[0],
        mode="markers",
        marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": OKABE_ITO["blue"]}},
        name="says",
        hovertemplate="All classes: says %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=[diagram.accuracy],
        y=[0],
        mode="markers",
        marker={"symbol": "star", "size": 17, "color": OKABE_ITO["blue"]},
        name="is right, all classes",
        hovertemplate=f"All classes: right %{{x:.3f}}<br>{diagram.count:,} rows<extra></extra>",
    )
    figure.add_scatter(
        x=says,
        y=lines,
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 15,
            "line": {"width": 2, "color": OKABE_ITO["blue"]},
            "opacity": opacity,
        },
        showlegend=False,
        customdata=custom,
        hovertemplate=hover,
    )
    if len(label) > 1:
        figure.add_scatter(
            x=diagram.class_shrunken[shown],
            y=lines,
            mode="markers",
            marker={"symbol": "diamond-open", "size": 11, "color": OKABE_ITO["purple"], "line": {"width": 2}},
            customdata=custom,
            name="shrunk towards all classes (empirical Bayes)",
            hovertemplate="Predicted %{customdata[0]}<br>about %{x:.3f}, from its %{customdata[5]:,} rows "
            "and those of all classes<extra></extra>",
        )
    figure.add_scatter(
        x=right,
        y=lines,
        mode="markers",
        marker={"size": 12, "color": OKABE_ITO["vermillion"], "opacity": opacity},
        error_x=interval(right, low, high, OKABE_ITO["vermillion"], thickness=1, width=3),
        customdata=custom,
        name="is right, predicted class alone (95 % interval)",
        hovertemplate=hover,
    )
    colour = np.where(count < FEW_ROWS, "rgba(138,144,153,0.4)", OKABE_ITO["grey"])
    count_bars(figure, count, colour, custom, hover, y=lines, row=1, col=2)
    if chosen is not None and chosen in label:
        line = int(lines[np.argmax(label == chosen)])
        mark_span(figure, line - 0.5, line + 0.5, across=True)
    margin = {"l": width_of(["all classes", *names]), "r": 48}
    figure.update_layout(template=TEMPLATE, margin=margin, bargap=0.35)
    names_above(figure, 190 + 30 * (len(label) + 1))
    figure.update_yaxes(
        tickvals=[0, *lines], ticktext=["all classes", *names], range=[len(label) + 0.6, -0.6], showgrid=False
    )
    half = {"range": [-0.02, 1.02], "dtick": 0.5, "tickangle": 0, "minor": {"dtick": 0.1, "showgrid": True}}
    figure.update_xaxes(title_text="Says, is right", row=1, col=1, **half)
    figure.update_xaxes(title_text="Rows", rangemode="tozero", nticks=3, row=1, col=2)
    return figure
