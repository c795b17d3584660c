"""Figures of noise: observed errors beside their floors, also of several models; proper scores in parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.answers.model_tables import ModelComparison
from calib.data.validation import check_choice
from calib.diagrams import style
from calib.stats.decompositions import Decomposition
from calib.stats.floors import ABOVE_NOISE, WITHIN_NOISE, NoiseFloor
from calib.stats.measures import MEASURES

#: Proper scores as the axis of a figure names them.
RULES = {"brier": "Brier score", "log_loss": "Log loss"}
#: Share of the space between two methods that the markers of all models take.
SPREAD = 0.6


def draw_floors(by_metric: Mapping[str, NoiseFloor]) -> style.Figure:
    """Draw each observed error against the range of a perfect model of the same size (5 to 95 %).

    Each is divided by the mean of its floor, so that 1 is noise alone.
    """
    floors = list(by_metric.values())
    y = np.arange(len(floors))
    mean = np.array([max(floor.mean, 1e-300) for floor in floors])
    low, high = (np.array([floor.quantile(q) for floor in floors]) for q in (0.05, 0.95))
    observed = np.array([floor.observed for floor in floors])
    names, p_value = (
        np.array([*map(style.escape, by_metric)], object),
        np.array([each.p_value for each in floors]),
    )
    columns = names, observed, np.array([floor.mean for floor in floors]), high, p_value
    hover = (
        "%{customdata[0]} %{customdata[1]:.4f}<br>a perfect model shows %{customdata[2]:.4f}, "
        "at most %{customdata[3]:.4f} in 95 of 100 cases<br>p = %{customdata[4]:.3g}"
    )
    data = style.bar(
        x=(high - low) / mean,
        base=low / mean,
        y=y,
        orientation="h",
        width=0.5,
        marker={"color": "rgba(86,180,233,0.55)", "line": {"width": 0}},
        name="a perfect model, 90 of 100 cases",
        customdata=columns,
        hovertemplate=hover,
    )
    verdicts = np.array([floor.verdict for floor in floors])
    looks = {ABOVE_NOISE: (style.INK, "diamond"), WITHIN_NOISE: (style.GREY, "circle")}
    for verdict in [*looks, *sorted({*verdicts.tolist()} - {*looks})]:
        (colour, symbol), shown = looks.get(verdict, (style.GREY, "circle-open")), verdicts == verdict
        data += style.scatter(
            x=(observed / mean)[shown],
            y=y[shown],
            marker=style.marks(colour, 13, symbol),
            cliponaxis=False,
            name=f"observed, {verdict}",
            customdata=tuple(column[shown] for column in columns),
            hovertemplate=hover,
        )
    return style.figure(
        data,
        height=150 + 46 * len(floors),
        bargap=0.3,
        xaxis={"title": "Multiple of what noise alone shows", "rangemode": "tozero"},
        **style.named_rows(by_metric, autorange="reversed"),
    )


def draw_decompositions(by_method: Mapping[str, Decomposition]) -> style.Figure:
    """Draw calibration and refinement of a proper score as stacked bars, one per method."""
    data = []
    rule = RULES[next(iter(by_method.values())).rule]
    for name, colour, words in (
        ("refinement", style.GREY, "refinement: what recalibration cannot change"),
        ("calibration", style.INK, "calibration: what recalibration can remove"),
    ):
        data += style.bar(
            x=[getattr(terms, name) for terms in by_method.values()],
            y=np.arange(len(by_method)),
            orientation="h",
            marker={"color": colour},
            name=words,
            customdata=[
                [style.escape(method), terms.score, terms.binning] for method, terms in by_method.items()
            ],
            hovertemplate="%{customdata[0]}: " + name + " %{x:.5f}<br>of a score of %{customdata[1]:.5f}; "
            "differences inside bins %{customdata[2]:+.5f}",
        )
    return style.figure(
        data,
        height=150 + 46 * len(by_method),
        barmode="stack",
        bargap=0.35,
        xaxis={"title": f"{rule}, in parts", "rangemode": "tozero"},
        **style.named_rows(by_method, autorange="reversed"),
    )


def draw_model_comparison(comparison: ModelComparison, measure: str = "tl_ece") -> style.Figure:
    """Draw a number of every model and method; for errors with the range of a perfect model, up to 95 %.

    `measure` is the key of the number in the comparison, from `calib.compare_models`.
    """
    check_choice(measure, comparison.measures, "measure")
    table = comparison.frame().query("measure == @measure")
    offsets = SPREAD * ((np.arange(len(comparison.models)) + 0.5) / len(comparison.models) - 0.5)
    width = SPREAD / len(comparison.models)
    title, is_error = MEASURES[measure].title, MEASURES[measure].is_error
    data = []
    for position, model in enumerate(comparison.models):
        rows = table[table["model"] == model]
        x = np.arange(len(rows)) + offsets[position]
        if is_error:
            data += style.bar(
                x=x,
                y=rows["floor_upper"].to_numpy(),
                width=0.8 * width,
                marker={"color": "rgba(128,128,128,0.25)", "line": {"width": 0}},
                name="a perfect model, 95 of 100 cases",
                showlegend=position == 0,
            )
        data += style.scatter(
            x=x,
            y=rows["value"].to_numpy(),
            marker=style.method_marker(position, 11),
            name=style.escape(model),
            customdata=(
                [*map(style.escape, rows["method"])],
                rows["mark"].replace("", "not marked").tolist(),
            ),
            hovertemplate=f"{style.escape(model)}, %{{customdata[0]}}<br>{title} %{{y:.4f}}<br>"
            "against the base: %{customdata[1]}",
        )
    ticks = {"tickvals": list(range(len(comparison.methods)))}
    return style.figure(
        data,
        height=420,
        xaxis={**ticks, "ticktext": [style.escape(method) for method in comparison.methods]},
        yaxis={"title": title, "rangemode": "tozero" if is_error else "normal"},
    )
