"""What figures share: JSON types, defaults written where they apply, and grids of axes."""

from __future__ import annotations

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from calib.diagrams.style import (
    AXIS,
    AXIS_TITLE,
    DIAGONAL,
    GREY,
    INK,
    LINE,
    at,
    axes,
    bar,
    faint,
    figure,
    grid,
    in_theme,
    method_line,
    names_above,
    plotted,
    scatter,
    theme,
    with_layout,
)
from tests import ROOT
from tests.figures import accepted


def test_a_figure_is_made_of_json_types():
    drawn = figure(
        scatter(
            x=np.array([0.1, np.nan, np.inf], dtype=np.float32),
            y=np.array([1, 2, 3]),
            marker={"size": np.int64(7)},
            customdata=[["x", np.float64(1.5)], ["y", np.int64(2)], ("z", None)],
        )
        + [{"type": "heatmap", "z": np.array([[np.nan, 1.0]])}]
    )
    assert json.loads(json.dumps(drawn, allow_nan=False)) == drawn
    marks, cells = drawn["data"]
    assert marks["x"] == [pytest.approx(0.1), None, None]
    assert marks["customdata"] == [["x", 1.5], ["y", 2], ["z", None]]
    assert cells["z"] == [[None, 1.0]]


def test_defaults_are_written_where_they_apply():
    data = scatter(x=[0], y=[0], **at(1)) + bar(x=[1], y=[1], **at(2))
    line = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "line": {"width": 3}}
    look = {"yaxis2": {"title": "Rows", "range": [0, 1]}, "legend": {"y": 1.1}}
    layout = accepted_layout(figure(data, shapes=[line], **look))
    assert layout["xaxis"] == {**AXIS, "title": AXIS_TITLE}
    assert layout["xaxis2"]["showgrid"] is False  # across its bars
    assert layout["yaxis2"]["title"] == {"text": "Rows", **AXIS_TITLE}
    assert layout["yaxis2"]["gridcolor"] == AXIS["gridcolor"]
    assert layout["shapes"] == [{**line, "line": {**LINE, "width": 3}}]
    assert (layout["legend"]["x"], layout["legend"]["y"]) == (0, 1.1)
    assert "template" not in layout


def accepted_layout(drawn):
    accepted(drawn)
    return drawn["layout"]


def test_a_theme_changes_text_and_ground_alone():
    drawn = figure(scatter(x=[0], y=[0]))
    dark = with_layout(drawn, **theme(dark=True))
    changed = {name for name, value in dark["layout"].items() if value != drawn["layout"][name]}
    assert changed == {"font", "paper_bgcolor", "plot_bgcolor"}
    assert dark["layout"]["font"] == {**drawn["layout"]["font"], **theme(dark=True)["font"]}
    assert drawn["layout"]["paper_bgcolor"] == theme()["paper_bgcolor"]


def test_plotly_gets_the_same_figure_in_no_template_and_checks_it():
    drawn = figure(scatter(x=[0, 1], y=[1, 0], name="a"), shapes=[DIAGONAL])
    made = plotted(drawn)
    assert isinstance(made, go.Figure)
    written = json.loads(made.to_json())
    assert written["data"] == drawn["data"]
    assert {**written["layout"], "template": None} == {**drawn["layout"], "template": None}
    assert not made.layout.template.layout.to_plotly_json()
    with pytest.raises(ValueError, match="nonsense"):
        plotted(figure(scatter(x=[0], y=[0], mode="nonsense")))


def test_marks_that_are_not_clicked_stay_as_they_are():
    traces = scatter(marker={"color": faint("#D55E00", np.array([19, 20]))}) + bar(marker={"opacity": 0.5})
    traces += scatter(marker={"opacity": 0}, unselected={"marker": {"opacity": 0.1}}) + scatter(mode="lines")
    marks, bars, squares, line = figure(traces)["data"]
    assert marks["marker"]["color"] == ["rgba(213,94,0,0.4)", "#D55E00"]
    assert marks["marker"]["opacity"] == marks["unselected"]["marker"]["opacity"] == 1
    assert bars["unselected"]["marker"]["opacity"] == 0.5
    assert squares["unselected"]["marker"]["opacity"] == 0.1
    assert "unselected" not in line


def test_a_trace_shows_what_it_has():
    bare = scatter(x=[0], y=[0], line={"width": 2}, text=["a"])[0]
    assert (bare["mode"], bare["showlegend"], bare["hoverinfo"]) == ("lines+text", False, "skip")
    told = scatter(x=[0], y=[0], marker={}, name="a", hovertemplate="%{x}")[0]
    assert told["mode"] == "markers"
    assert not {"showlegend", "hoverinfo"} & set(told)
    assert bar(x=[0], y=[0], name="a", showlegend=False)[0]["showlegend"] is False


def test_a_grid_is_that_of_plotly():
    options = {"shared_yaxes": True}
    layout = grid(2, 2, ("a", "b", "c", "d"), column_widths=(0.7, 0.3), **options)
    plain = make_subplots(rows=2, cols=2, subplot_titles=list("abcd"), column_widths=[0.7, 0.3], **options)
    expected = plain.to_dict()["layout"]
    del expected["template"]
    assert layout == expected
    assert axes(layout, "y")[2] is layout["yaxis3"]
    plain.add_scatter(x=[0], y=[0], row=2, col=1)
    assert at(3) == {"xaxis": plain.data[0].xaxis, "yaxis": plain.data[0].yaxis}
    layout["xaxis"]["range"] = [0, 1]
    assert "range" not in grid(2, 2, ("a", "b", "c", "d"), column_widths=(0.7, 0.3), **options)["xaxis"]


def test_names_above_a_figure_have_room():
    data = scatter(name="a") + scatter(name="b") + scatter(name="c")
    assert names_above(data + scatter(showlegend=False), 500)["margin"] == {"t": 25 + 63 + 10}
    assert names_above(data[:1], 500)["margin"] == {"t": 12}


def test_hues_are_for_directions():
    """Figures and lessons name the colours of the two directions only as `LESS` and `MORE`."""
    folders = (ROOT / "calib" / "diagrams", ROOT / "pages")
    sources = {path: path.read_text() for folder in folders for path in folder.rglob("*.py")}
    hue = re.compile(r'OKABE_ITO\["(vermillion|blue|orange)"\]|\("(vermillion|blue|orange)", ')
    assert [path.name for path, text in sources.items() if hue.search(text)] == ["style.py"]


def test_lines_in_ink_are_light_on_a_dark_page():
    lines = [scatter(x=[0], y=[0], line=method_line(position))[0] for position in range(3)]
    dark = in_theme(figure(lines), dark=True)
    text = dark["layout"]["font"]["color"]
    assert text != INK
    assert [trace["line"]["color"] for trace in dark["data"]] == [GREY, text, GREY]
    looks = {tuple(sorted(method_line(position).items())) for position in range(8)}
    assert len(looks) == 8
