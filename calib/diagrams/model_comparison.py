"""Errors of several models, before and after each calibrator, beside their noise floors."""

from __future__ import annotations

import numpy as np

from calib.answers.model_tables import ModelComparison
from calib.data.validation import check_choice
from calib.diagrams.style import Figure, bar, escape, figure, method_marker, scatter
from calib.stats.measures import MEASURES

#: Share of the space between two methods that the markers of all models take.
SPREAD = 0.6


def draw_model_comparison(comparison: ModelComparison, measure: str = "tl_ece") -> Figure:
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
            data += bar(
                x=x,
                y=rows["floor_upper"].to_numpy(),
                width=0.8 * width,
                marker={"color": "rgba(128,128,128,0.25)", "line": {"width": 0}},
                name="a perfect model, 95 of 100 cases",
                showlegend=position == 0,
            )
        data += scatter(
            x=x,
            y=rows["value"].to_numpy(),
            marker=method_marker(position, 11),
            name=escape(model),
            customdata=([*map(escape, rows["method"])], rows["mark"].replace("", "not marked").tolist()),
            hovertemplate=f"{escape(model)}, %{{customdata[0]}}<br>{title} %{{y:.4f}}<br>"
            "against the base: %{customdata[1]}",
        )
    ticks = {"tickvals": list(range(len(comparison.methods)))}
    return figure(
        data,
        height=420,
        xaxis={**ticks, "ticktext": [escape(method) for method in comparison.methods]},
        yaxis={"title": title, "rangemode": "tozero" if is_error else "normal"},
    )
