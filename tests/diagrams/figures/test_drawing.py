"""Figures gathered as JSON types are the figures that plotly makes of the same calls."""

from __future__ import annotations

import base64
import copy
import json

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest
from plotly.subplots import make_subplots

from calib.diagrams.figures import template
from calib.diagrams.figures.drawing import LISTED, Drawing
from calib.diagrams.figures.style import names_above


def written(figure):
    """What is sent to the browser, arrays as lists, missing numbers as None."""
    return json.loads(plotly.io.to_json(figure.to_dict(), validate=False), object_hook=read)


def read(found):
    if "bdata" not in found:
        return found
    array = np.frombuffer(base64.b64decode(found["bdata"]), dtype=found["dtype"])
    shape = [int(n) for n in found["shape"].split(",")] if "shape" in found else -1
    return np.where(np.isnan(array), None, array).reshape(shape).tolist()


def draw(figure, **place):
    figure.add_scatter(
        x=np.array([0.1, np.nan]),
        y=np.array([1, 2]),
        marker={"opacity": np.array([0.5, 1.0], dtype=np.float32), "size": 7},
        error_y={"array": np.array([0.1, 0.2])},
        name="a <b>",
        fill=None,
        customdata=[["x", np.float64(1.5)], ["y", np.int64(2)]],
        **place,
    )
    figure.add_bar(x=["p", "q"], y=np.array([2**30, 1]), marker_color="#123456", **place)
    figure.add_heatmap(z=np.eye(2), x=[0, 1], y=[0, 1], **place)
    figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, **place)
    figure.add_annotation(x=0, y=0, text="here", font={"size": 16})
    figure.update_xaxes(title_text="Rows", range=[0, 1])
    figure.update_yaxes(title={"standoff": 3}, **place)
    figure.update_yaxes(title_text="Right", **place)
    figure.update_layout(template=template(dark=True), height=300, font_size=18, legend={"y": 1.1})
    figure.update_layout(legend_x=0.2)
    return figure


def test_it_is_the_figure_of_plotly():
    drawn = draw(Drawing())
    gathered = written(drawn)
    assert drawn.gathers
    assert "bdata" not in str(drawn.to_dict())
    expected = written(draw(go.Figure()))
    assert gathered["layout"] == expected["layout"]
    assert gathered["data"] == expected["data"]


def test_a_grid_is_that_of_plotly():
    options = {"shared_yaxes": True, "column_widths": [0.7, 0.3]}
    grid = Drawing.grid(2, 2, ("a", "b", "c", "d"), **options | {"column_widths": (0.7, 0.3)})
    drawn = draw(grid, row=2, col=1)
    plain = make_subplots(rows=2, cols=2, subplot_titles=["a", "b", "c", "d"], **options)
    plain.layout.template = None
    expected = written(draw(plain, row=2, col=1))
    gathered = written(drawn)
    assert drawn.gathers
    assert gathered["layout"] == expected["layout"]
    assert [trace["xaxis"] for trace in gathered["data"]] == ["x3"] * 3


def test_plotlys_objects_are_made_when_they_are_asked_for():
    drawn = draw(Drawing())
    gathered = written(drawn)
    assert drawn.layout.height == 300
    assert not drawn.gathers
    assert [trace.type for trace in drawn.data] == ["scatter", "bar", "heatmap"]
    assert written(drawn)["layout"] == gathered["layout"]
    assert draw(drawn).add_hline(y=0).data[5].type == "heatmap"
    assert written(copy.deepcopy(draw(Drawing()))) == gathered
    with pytest.raises(ValueError, match="nonsense"):
        Drawing().update_layout(nonsense=1).data  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        _ = drawn.nothing


def test_many_numbers_are_written_in_base64():
    many = np.arange(LISTED + 1.0).reshape(-1, 1)
    figure = Drawing().add_scatter(x=many, y=many.astype(int), text=many.astype(str))
    (trace,) = figure.to_dict()["data"]
    assert (trace["x"]["dtype"], trace["y"]["dtype"]) == ("f8", "i4")
    (read_back,) = written(figure)["data"]
    assert read_back["x"] == read_back["y"] == many.tolist()
    assert read_back["text"] == many.astype(str).tolist()


def test_a_comparable_figure_has_the_defaults_of_its_template_where_they_apply():
    drawn = draw(Drawing.grid(1, 2, ("a", "b")), row=1, col=2)
    given, found = drawn.to_dict()["layout"], drawn.comparable().to_dict()["layout"]
    defaults = given.pop("template")["layout"]
    assert found["datarevision"] == 0
    assert found["font"] == {**defaults["font"], "size": 18}
    assert found["legend"] == {**defaults["legend"], "y": 1.1, "x": 0.2}
    assert found["yaxis2"]["title"] == {"text": "Right", "standoff": 3}
    assert found["xaxis"]["gridcolor"] == found["xaxis2"]["gridcolor"] == defaults["xaxis"]["gridcolor"]
    assert not found["xaxis2"]["showgrid"]  # across its bars
    assert found["shapes"] == [{**defaults["shapedefaults"], **given["shapes"][0]}]
    assert found["annotations"][-1]["font"] == {
        "size": 16,
        "color": defaults["annotationdefaults"]["font"]["color"],
    }
    assert {"template", "shapedefaults", "annotationdefaults"}.isdisjoint(found)
    assert drawn.to_dict()["layout"]["template"]["layout"] == defaults
    with pytest.raises(ValueError, match="layout alone"):
        Drawing({"layout": {"template": {"data": {"bar": [{"opacity": 0.5}]}}}}).comparable()


def test_marked_points_are_found_and_changed():
    figure = Drawing()
    figure.add_bar(x=[1, 2], y=[1, 2])
    assert figure.marked is None
    figure.add_scatter(x=[1, 2], y=[1, 2], selectedpoints=[1])
    assert figure.marked == (1, [1])
    changed = figure.with_marked([0], 7).to_dict()
    assert changed["data"][1]["selectedpoints"] == [0]
    assert changed["data"][0] == figure.to_dict()["data"][0]
    assert changed["layout"]["datarevision"] == 7
    assert figure.marked == (1, [1])


def test_names_above_a_figure_have_room():
    figure = Drawing()
    for name in "abc":
        figure.add_scatter(x=[0], y=[0], name=name)
    figure.add_bar(x=[0], y=[1], showlegend=False)
    assert figure.legend_entries == 3
    names_above(figure, 500)
    few = Drawing().add_scatter(x=[0], y=[0], name="a")
    names_above(few, 500)
    assert figure.layout.margin.t == 25 + 3 * 21 + 10
    assert few.layout.margin.t == 12


def test_marks_that_are_not_clicked_stay_as_they_are():
    figure = Drawing()
    figure.add_scatter(x=[1, 2], y=[1, 2], marker={"color": "#D55E00", "opacity": np.array([0.4, 1.0])})
    figure.add_bar(x=[1, 2], y=[1, 2], marker={"color": "#8A9099"})
    figure.add_scatter(x=[1], y=[1], marker={"opacity": 0}, unselected={"marker": {"opacity": 0}})
    marks, bars, squares = figure.keep_unselected().data
    assert marks.marker.color == ("rgba(213,94,0,0.4)", "rgba(213,94,0,1)")
    assert marks.marker.opacity == marks.unselected.marker.opacity == 1.0
    assert bars.unselected.marker.opacity == 1.0
    assert bars.marker.color == "#8A9099"
    assert squares.unselected.marker.opacity == 0
