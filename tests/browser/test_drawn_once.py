"""What plotly.js makes of a copy of a figure: nothing, so that each is drawn once."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from plotly.offline import get_plotlyjs

from calib.diagrams.style import (
    Figure,
    at,
    bar,
    figure,
    grid,
    plotted,
    scatter,
    theme,
    with_layout,
    with_swatches,
)
from tests.browser.test_gallery import GALLERY
from tests.printed import blocks

DRAW = """async ({data, layout}) => {
    const place = document.body.appendChild(document.createElement("div"));
    const copy = () => JSON.parse(JSON.stringify({data, layout}));
    await Plotly.newPlot(place, data, layout);
    let changes = 0;
    const watch = new MutationObserver(seen => { changes += seen.length; });
    watch.observe(place, {subtree: true, childList: true, attributes: true});
    const again = copy();
    await Plotly.react(place, again.data, again.layout);
    await new Promise(done => setTimeout(done, 100));
    watch.disconnect();
    return changes;
}"""


def example() -> Figure:
    rows = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    marks = scatter(
        x=rows,
        y=np.where(rows > 0.8, np.nan, rows),
        error_y={"array": rows / 9},
        marker={"color": [f"rgba(0,0,0,{share:g})" for share in rows]},
        customdata=[[letter] for letter in "abcdefghi"],
        **at(1),
    )
    bars = bar(x=rows, y=np.arange(9), marker={"color": "#8A9099"}, **at(2))
    heat = [{"type": "heatmap", "z": np.eye(3), **at(1)}]
    layout = grid(1, 2, ("Left", "Right"), column_widths=(0.7, 0.3))
    layout["shapes"] = [{"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1}]
    layout["annotations"].append({"x": 0, "y": 0, "text": "here", "font": {"size": 16}})
    layout["yaxis"] |= {"title": "Rows", "range": [0, 1]}
    look = {"width": 700, "height": 300, "legend": {"y": 1.1}}
    return with_layout(figure(bars + marks + heat, **layout, **look), **theme(dark=True))


def shown() -> Iterator[Figure]:
    """The figures of the gallery, as pages draw them."""
    names: dict[str, object] = {}
    for block in blocks(GALLERY):
        exec(block.text, names)
        if "figure" in names:
            drawn = json.loads(names.pop("figure").to_json())
            drawn["layout"].pop("template")
            yield with_swatches(drawn)


def test_a_copy_of_a_figure_is_not_drawn(browser):
    page = browser.new_page()
    page.add_script_tag(content=get_plotlyjs())
    for drawn in (example(), *shown()):
        assert page.evaluate(DRAW, drawn) == 0
    in_template = json.loads(plotted(example()).to_json())
    assert page.evaluate(DRAW, in_template) > 100  # when it is no longer, figures may have a template
    page.close()
