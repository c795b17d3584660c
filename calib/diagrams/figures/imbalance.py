"""Figures of imbalance: histogram binning by points or by bins, class by class, and the plan of bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagrams.figures.drawing import Drawing
from calib.diagrams.figures.style import OKABE_ITO, TEMPLATE, escape, faint, shorten
from calib.diagrams.imbalance import BinPlan, ClassBinning

_BASE, _HB = OKABE_ITO["orange"], OKABE_ITO["green"]


def class_errors(
    side: ClassBinning, codes: Sequence[int], shares: np.ndarray, class_names: Sequence[str], limit: float
) -> go.Figure:
    """Draw the TL-ECE of classes before and after, with shares, bins and noise floors (Figure 4, right).

    Parameters
    ----------
    side : ClassBinning
        One way to choose bins.
    codes : sequence of int
        Classes to show, top to bottom.
    shares : (L,) array
        Share of the evaluation rows of each true class.
    class_names : sequence of str
        Names by code.
    limit : float
        End of the error axis: give both sides the same.
    """
    chosen = np.asarray(codes, dtype=np.int64)
    y = np.arange(len(chosen))
    custom = [
        [
            *(escape(class_names[code]), 100 * shares[code]),
            *(int(side.n_bins[code]), int(side.n_calibration[code]), int(code)),
        ]
        for code in chosen
    ]
    about = (
        "%{customdata[0]}: TL-ECE %{x:.4f}<br>%{customdata[1]:.2f} % of rows<br>"
        "%{customdata[2]} bins from %{customdata[3]:,} calibration rows"
    )
    figure = Drawing()
    series = (("base model", _BASE, side.base_ece, side.base_floor), ("HB", _HB, side.ece, side.floor))
    for name, colour, errors, _ in series:
        figure.add_bar(
            x=errors[chosen],
            y=y,
            orientation="h",
            name=name,
            offsetgroup=name,
            marker={"color": colour},
            customdata=custom,
            hovertemplate=f"{about}<extra>{name}</extra>",
        )
    for shift, (name, _, _, floors) in zip((-0.2, 0.2), series, strict=True):
        figure.add_scatter(
            x=floors[chosen],
            y=y + shift,
            mode="markers",
            marker={"symbol": "line-ns", "size": 12, "line": {"width": 3, "color": OKABE_ITO["purple"]}},
            name="noise floor: mean of a perfect model",
            legendgroup="floor",
            showlegend=name == "HB",
            hovertemplate=f"A perfect model would show %{{x:.4f}}<extra>{name}</extra>",
        )
    figure.update_layout(
        template=TEMPLATE,
        barmode="group",
        height=110 + 54 * max(len(chosen), 2),
        bargap=0.28,
        bargroupgap=0.08,
    )
    figure.update_yaxes(
        tickvals=y,
        ticktext=[_class_note(side, int(code), shares, class_names) for code in chosen],
        range=[len(chosen) - 0.5, -0.5],
        showgrid=False,
        ticks="",
    )
    figure.update_xaxes(title_text="TL-ECE of the class", range=[0, limit * 1.05])
    return figure


def class_panels(
    side: ClassBinning, codes: Sequence[int], class_names: Sequence[str], eps: float
) -> go.Figure:
    """Draw reliability diagram and validity plot of each class, one row per class (Figures 4 and 9).

    Parameters are those of `class_errors` with a row for each of `codes`, and `eps`, the end of the validity
    plots' axis: give both sides the same.
    """
    codes = [int(code) for code in codes]
    titles = tuple(
        text for code in codes for text in (f"Predicted {escape(shorten(class_names[code], 18))}", "Validity")
    )
    figure = Drawing.grid(
        len(codes),
        2,
        titles,
        title_size=13,
        shared_xaxes="columns",
        vertical_spacing=0.22 / len(codes),
        horizontal_spacing=0.18,
    )
    for row, code in enumerate(codes, 1):
        cells = side.label == code
        opacity = faint(side.count[cells], 0.9)
        figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, layer="below", row=row, col=1)
        for name, colour, symbol, says in (
            ("base model", _BASE, "circle", side.base_confidence[cells]),
            ("HB", _HB, "diamond", side.confidence[cells]),
        ):
            figure.add_scatter(
                x=says,
                y=side.accuracy[cells],
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 7, "opacity": opacity},
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                customdata=side.count[cells][:, None].tolist(),
                hovertemplate="says %{x:.3f}, right %{y:.3f}<br>%{customdata[0]:,} rows"
                f"<extra>{name}</extra>",
                row=row,
                col=1,
            )
            steps, share = side.validity(code, base=name == "base model")
            figure.add_scatter(
                x=np.append(steps, max(1.0, steps[-1])),
                y=np.append(share, share[-1]),
                mode="lines",
                line={"color": colour, "width": 2.5, "shape": "hv"},
                legendgroup=name,
                showlegend=False,
                hovertemplate="%{y:.1%} of rows within %{x:.3f}" + f"<extra>{name}</extra>",
                row=row,
                col=2,
            )
        figure.update_xaxes(range=[-0.02, 1.02], dtick=0.5, row=row, col=1)
        figure.update_yaxes(range=[-0.03, 1.05], dtick=0.5, title_text="right", row=row, col=1)
        figure.update_xaxes(range=[0, eps], nticks=4, row=row, col=2)
        figure.update_yaxes(range=[-0.03, 1.05], dtick=0.5, row=row, col=2)
    figure.update_xaxes(title_text="says", row=len(codes), col=1)
    figure.update_xaxes(title_text="\u03b5", row=len(codes), col=2)
    figure.update_layout(template=TEMPLATE, height=130 + 210 * len(codes))
    figure.update_layout(legend={"y": 1 + 34 / (210 * len(codes))}, margin={"t": 56})
    return figure


def bin_plan(plan: BinPlan) -> go.Figure:
    """Draw, for each k, how many classes get how many bins, and the TL-ECE on the evaluation rows."""
    figure = Drawing.grid(2, 1, shared_xaxes=True, vertical_spacing=0.08, row_heights=(0.5, 0.5))
    counts = plan.class_counts()
    colours = ("rgba(138,144,153,0.55)", OKABE_ITO["sky"], OKABE_ITO["blue"], "#00456B")
    for group, colour in zip(counts.columns, colours, strict=True):
        words = (
            "no bin (scores unchanged)" if group == "none" else f"{group} bin{'' if group == '1' else 's'}"
        )
        figure.add_bar(
            x=plan.points_per_bin,
            y=counts[group].to_numpy(),
            name=words,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"k = %{{x}}: %{{y:,}} classes with {words}<extra></extra>",
            row=1,
            col=1,
        )
    lines = (
        ("after calibration", plan.tl_ece, "solid", _HB),
        ("base model", np.full(len(plan.tl_ece), plan.base_tl_ece), "dash", _BASE),
        ("noise floor of the base model", np.full(len(plan.tl_ece), plan.floor), "dot", OKABE_ITO["grey"]),
    )
    for name, values, dash, colour in lines:
        figure.add_scatter(
            x=plan.points_per_bin,
            y=values,
            mode="lines+markers" if dash == "solid" else "lines",
            line={"color": colour, "dash": dash, "width": 2.5},
            name=name,
            hovertemplate=f"k = %{{x}}: TL-ECE %{{y:.4f}}<extra>{name}</extra>",
            row=2,
            col=1,
        )
    figure.update_layout(
        template=TEMPLATE, barmode="stack", height=520, bargap=0.25, legend={"traceorder": "normal"}
    )
    figure.update_yaxes(title_text="Classes", row=1, col=1)
    figure.update_yaxes(title_text="TL-ECE", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text="Points per bin k", row=2, col=1)
    return figure


def _class_note(side: ClassBinning, code: int, shares: np.ndarray, class_names: Sequence[str]) -> str:
    bins = int(side.n_bins[code])
    points = 0 if not bins else round(side.points_per_bin[code])
    each = f"{_several(bins, 'bin')} of {_several(points, 'row')}" if bins else "no bins"
    note = f"{100 * shares[code]:.2g} %, {each}"
    return f'{escape(shorten(class_names[code]))}<br><span style="font-size:11px">{note}</span>'


def _several(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
