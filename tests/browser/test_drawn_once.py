"""What plotly makes of a figure: the same with and without a template, and the same of its copy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import plotly.io
from plotly.offline import get_plotlyjs

from calib.diagrams.figures import template
from calib.diagrams.figures.drawing import Drawing
from tests.browser.test_gallery import GALLERY
from tests.printed import blocks

DRAW = """async ({data, layout}) => {
    const place = document.body.appendChild(document.createElement("div"));
    const copy = () => JSON.parse(JSON.stringify({data, layout}));
    await Plotly.newPlot(place, data, layout);
    const told = JSON.stringify([place._fullLayout, place._fullData], (name, value) =>
        name.startsWith("_") || ["uid", "template", "datarevision", "newshape"].includes(name) ? undefined
        : ArrayBuffer.isView(value) ? [...value] : value);
    let changes = 0;
    const watch = new MutationObserver(seen => { changes += seen.length; });
    watch.observe(place, {subtree: true, childList: true, attributes: true});
    const again = copy();
    await Plotly.react(place, again.data, again.layout);
    await new Promise(done => setTimeout(done, 100));
    watch.disconnect();
    return [told, changes];
}"""


def figure() -> Drawing:
    drawn = Drawing.grid(1, 2, ("Left", "Right"), column_widths=(0.7, 0.3))
    rows = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    drawn.add_bar(x=rows, y=np.arange(9), marker_color="#8A9099", row=1, col=2)
    drawn.add_scatter(
        x=rows,
        y=np.where(rows > 0.8, np.nan, rows),
        error_y={"array": rows / 9},
        marker={"opacity": rows},
        customdata=[[one] for one in "abcdefghi"],
        row=1,
        col=1,
    )
    drawn.add_heatmap(z=np.eye(3), row=1, col=1)
    drawn.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, row=1, col=1)
    drawn.add_annotation(x=0, y=0, text="here", font={"size": 16})
    drawn.update_yaxes(title_text="Rows", range=[0, 1], row=1, col=1)
    drawn.update_layout(template=template(dark=True), width=700, height=300, font_size=18, legend={"y": 1.1})
    return drawn


def shown() -> Iterator[Drawing]:
    """The figures of the gallery."""
    names: dict[str, object] = {}
    for block in blocks(GALLERY):
        exec(block.text, names)
        if "figure" in names:
            yield names.pop("figure")


def test_a_comparable_figure_is_the_same_and_its_copy_is_not_drawn(browser):
    page = browser.new_page()
    page.add_script_tag(content=get_plotlyjs())
    for one in (figure(), *shown()):
        given, written = (
            json.loads(plotly.io.to_json(each, validate=False)) for each in (one, one.comparable())
        )
        plain, drawn_again = page.evaluate(DRAW, given)
        comparable, untouched = page.evaluate(DRAW, written)
        assert json.loads(comparable) == json.loads(plain)
        assert untouched == 0
        assert drawn_again > 100  # when it is no longer, `comparable` is no longer needed
    page.close()
