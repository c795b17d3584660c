"""Figures of noise: observed errors beside their floors, and proper scores in parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.diagrams.style import GREY, INK, Figure, bar, escape, figure, marks, named_rows, scatter
from calib.stats.decompositions import Decomposition
from calib.stats.floors import ABOVE_NOISE, WITHIN_NOISE, NoiseFloor

#: Proper scores as the axis of a figure names them.
RULES = {"brier": "Brier score", "log_loss": "Log loss"}


def draw_floors(by_metric: Mapping[str, NoiseFloor]) -> Figure:
    """Draw each observed error against the range of a perfect model of the same size (5 to 95 %).

    Each is divided by the mean of its floor, so that 1 is noise alone.
    """
    floors = list(by_metric.values())
    y = np.arange(len(floors))
    mean = np.array([max(floor.mean, 1e-300) for floor in floors])
    low, high = (np.array([floor.quantile(q) for floor in floors]) for q in (0.05, 0.95))
    observed = np.array([floor.observed for floor in floors])
    names, p_value = np.array([*map(escape, by_metric)], object), np.array([each.p_value for each in floors])
    columns = names, observed, np.array([floor.mean for floor in floors]), high, p_value
    hover = (
        "%{customdata[0]} %{customdata[1]:.4f}<br>a perfect model shows %{customdata[2]:.4f}, "
        "at most %{customdata[3]:.4f} in 95 of 100 cases<br>p = %{customdata[4]:.3g}"
    )
    data = bar(
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
    looks = {ABOVE_NOISE: (INK, "diamond"), WITHIN_NOISE: (GREY, "circle")}
    for verdict in [*looks, *sorted({*verdicts.tolist()} - {*looks})]:
        (colour, symbol), shown = looks.get(verdict, (GREY, "circle-open")), verdicts == verdict
        data += scatter(
            x=(observed / mean)[shown],
            y=y[shown],
            marker=marks(colour, 13, symbol),
            cliponaxis=False,
            name=f"observed, {verdict}",
            customdata=tuple(column[shown] for column in columns),
            hovertemplate=hover,
        )
    return figure(
        data,
        height=150 + 46 * len(floors),
        bargap=0.3,
        xaxis={"title": "Multiple of what noise alone shows", "rangemode": "tozero"},
        **named_rows(by_metric, autorange="reversed"),
    )


def draw_decompositions(by_method: Mapping[str, Decomposition]) -> Figure:
    """Draw calibration and refinement of a proper score as stacked bars, one per method."""
    data = []
    rule = RULES[next(iter(by_method.values())).rule]
    for name, colour, words in (
        ("refinement", GREY, "refinement: what recalibration cannot change"),
        ("calibration", INK, "calibration: what recalibration can remove"),
    ):
        data += bar(
            x=[getattr(terms, name) for terms in by_method.values()],
            y=np.arange(len(by_method)),
            orientation="h",
            marker={"color": colour},
            name=words,
            customdata=[[escape(method), terms.score, terms.binning] for method, terms in by_method.items()],
            hovertemplate="%{customdata[0]}: " + name + " %{x:.5f}<br>of a score of %{customdata[1]:.5f}; "
            "differences inside bins %{customdata[2]:+.5f}",
        )
    return figure(
        data,
        height=150 + 46 * len(by_method),
        barmode="stack",
        bargap=0.35,
        xaxis={"title": f"{rule}, in parts", "rangemode": "tozero"},
        **named_rows(by_method, autorange="reversed"),
    )
