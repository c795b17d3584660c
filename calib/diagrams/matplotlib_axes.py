"""Figures on matplotlib's axes, for papers: one translation of the traces and layouts that pages draw."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.base.exceptions import not_installed
from calib.diagrams.style import Figure, Properties

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

#: Default size in inches, and plotly's pixels in an inch of paper.
WIDTH, HEIGHT, PIXELS = 6.4, 4.4, 100.0
#: Points of paper per pixel, for diameters and line widths.
POINTS = 0.6
DASHES = {"dash": "--", "dot": ":", "dashdot": "-.", "solid": "-"}
MARKERS = {"circle": "o", "diamond": "D", "square": "s", "cross": "P", "x": "X", "star": "*"}
STEPS = {"hv": "steps-post", "vh": "steps-pre", "hvh": "steps-mid"}


@contextmanager
def matplotlib_pyplot() -> Iterator[Any]:
    """Return matplotlib's pyplot, set to draw all text literally, not as formulas."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise not_installed("matplotlib, which draws for papers,", "paper") from None
    with plt.rc_context({"text.parse_math": False}):
        yield plt


def on_matplotlib(figure: Figure) -> MatplotlibFigure:
    layout = figure["layout"]
    with matplotlib_pyplot() as plt:
        size = layout.get("width", WIDTH * PIXELS) / PIXELS, layout.get("height", HEIGHT * PIXELS) / PIXELS
        drawn = plt.figure(figsize=size, layout="none")
        places = dict.fromkeys(trace.get("xaxis", "x") for trace in figure["data"]) or ["x"]
        axes = {name: _axes(drawn, name, layout) for name in places}
        for trace in figure["data"]:
            draw = _draw_bars if trace["type"] == "bar" else _draw_points
            draw(axes[trace.get("xaxis", "x")], trace)
        for shape in layout.get("shapes", ()):
            _draw_shape(axes, shape)
        for note in layout.get("annotations", ()):
            _write(axes, note)
        for name, each in axes.items():
            _finish(each, layout, name)
    return drawn


def _of(layout: Properties, letter: str, name: str) -> Properties:
    return layout.get(f"{letter}axis{name[1:]}", {})


def _axes(drawn: MatplotlibFigure, name: str, layout: Properties) -> Axes:
    width, height = drawn.get_size_inches()
    texts = [_plain(text) for text in layout.get("yaxis", {}).get("ticktext") or ()]
    left, bottom = (0.6 + 0.07 * max(map(len, texts), default=3)) / width, 0.65 / height
    right, top = 1.0 - 0.15 / width, 1.0 - 0.4 / height
    (x0, x1), (y0, y1) = (_of(layout, letter, name).get("domain", (0.0, 1.0)) for letter in "xy")
    wide, high = right - left, top - bottom
    place = left + x0 * wide, bottom + y0 * high, (x1 - x0) * wide, (y1 - y0) * high
    return drawn.add_axes(place)


def _draw_bars(axes: Axes, trace: Properties) -> None:
    flat = trace.get("orientation") == "h"
    at, length = (trace["y"], trace["x"]) if flat else (trace["x"], trace["y"])
    marker = trace.get("marker", {})
    options = {
        "color": _colours(marker.get("color", "grey")),
        "label": _label(trace),
        "left" if flat else "bottom": _numbers(trace.get("base", 0.0)),
        "height" if flat else "width": trace.get("width", 0.8),
        "zorder": 1,
    }
    (axes.barh if flat else axes.bar)(at, _numbers(length), **options)


def _draw_points(axes: Axes, trace: Properties) -> None:
    mode, line, marker = trace.get("mode", "lines"), trace.get("line", {}), trace.get("marker", {})
    x, y = trace["x"], _numbers(trace["y"])
    if not (x and isinstance(x[0], str)):
        x = _numbers(x)
    colour = _colours(line.get("color", marker.get("color", "grey")))
    if "lines" in mode and trace.get("fill"):
        _fill(axes, trace, x, y)
    if "lines" in mode and line.get("width", 2.0):
        style = {
            "linestyle": DASHES.get(line.get("dash", "solid"), "--"),
            "drawstyle": STEPS.get(line.get("shape"), "default"),
            "linewidth": POINTS * line.get("width", 2.0),
        }
        axes.plot(x, y, color=colour, label=_label(trace), **style)
    for letter in "xy":
        if error := trace.get(f"error_{letter}"):
            ends = error.get("arrayminus", error["array"]), error["array"]
            bars = {f"{letter}err": np.abs(np.array([_numbers(each) for each in ends]))}
            axes.errorbar(
                x, y, fmt="none", ecolor=_colours(error.get("color", "grey")), elinewidth=0.6, **bars
            )
    if "markers" in mode and len(y):
        sizes = (POINTS * np.asarray(marker.get("size", 6.0), dtype=float)) ** 2
        symbol = marker.get("symbol", "circle")
        axes.scatter(
            x,
            y,
            s=sizes,
            c=_colours(marker.get("color", line.get("color", "grey"))),
            marker=MARKERS.get(symbol.removesuffix("-open") if isinstance(symbol, str) else "circle", "o"),
            label="_" if "lines" in mode else _label(trace),
            zorder=3,
        )


def _fill(axes: Axes, trace: Properties, x: Any, y: np.ndarray) -> None:
    """Fill the area to 0, inside a closed line, or to the line before."""
    colour = _colours(trace.get("fillcolor", trace.get("line", {}).get("color", "grey")))
    if trace["fill"] == "toself":
        axes.fill(x, y, color=colour, linewidth=0)
        return
    before: Any = 0.0
    if trace["fill"] == "tonexty" and axes.lines:
        before = np.asarray(axes.lines[-1].get_ydata())
    step: Any = {"hv": "post", "vh": "pre"}.get(trace.get("line", {}).get("shape"))
    axes.fill_between(x, y, before, color=colour, linewidth=0, step=step)


def _draw_shape(axes: dict[str, Axes], shape: Properties) -> None:
    each = axes.get(_reference(shape, "x"), next(iter(axes.values())))
    (x0, x1), (y0, y1) = ((shape[f"{letter}0"], shape[f"{letter}1"]) for letter in "xy")
    transform = _transform(each, shape)
    line = shape.get("line", {})
    style = {"color": _colours(line.get("color", "grey")), "linewidth": POINTS * line.get("width", 1.0)}
    if shape["type"] == "rect":
        from matplotlib.patches import Rectangle

        fill = _colours(shape.get("fillcolor", "none"))
        each.add_patch(
            Rectangle((x0, y0), x1 - x0, y1 - y0, transform=transform, facecolor=fill, linewidth=0, zorder=0)
        )
    else:
        dashes = DASHES.get(line.get("dash", "solid"), "--")
        each.plot([x0, x1], [y0, y1], transform=transform, linestyle=dashes, label="_", zorder=1, **style)


def _write(axes: dict[str, Axes], note: Properties) -> None:
    each = axes.get(_reference(note, "x"), next(iter(axes.values())))
    anchors = {"left": "left", "right": "right"}, {"top": "top", "bottom": "bottom"}
    each.text(
        note["x"],
        note["y"],
        _plain(note["text"]),
        transform=_transform(each, note),
        horizontalalignment=anchors[0].get(note.get("xanchor", ""), "center"),
        verticalalignment=anchors[1].get(note.get("yanchor", ""), "center"),
        rotation=-note.get("textangle", 0),
        fontsize="small",
    )


def _reference(element: Properties, letter: str) -> str:
    return element.get(f"{letter}ref", letter).partition(" ")[0]


def _transform(axes: Axes, element: Properties) -> Any:
    from matplotlib.transforms import blended_transform_factory

    units = []
    for letter in "xy":
        reference = element.get(f"{letter}ref", letter)
        units.append(axes.transAxes if reference == "paper" or " domain" in reference else axes.transData)
    return blended_transform_factory(*units)


def _finish(axes: Axes, layout: Properties, name: str) -> None:
    from matplotlib.ticker import FuncFormatter

    for letter, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        properties = _of(layout, letter, name)
        if properties.get("type") == "log":
            getattr(axes, f"set_{letter}scale")("log")
        if (ends := properties.get("range")) is not None and None not in ends:
            powers = properties.get("type") == "log"
            getattr(axes, f"set_{letter}lim")(*(10.0**end if powers else end for end in ends))
        elif properties.get("rangemode") == "tozero":
            getattr(axes, f"set_{letter}lim")(**{"left" if letter == "x" else "bottom": 0.0})
        if properties.get("autorange") == "reversed":
            axis.set_inverted(True)
        form = properties.get("tickformat", "")
        if (values := properties.get("tickvals")) is not None:
            texts = properties.get("ticktext") or [_formatted(value, form) for value in values]
            axis.set_ticks(values, [_plain(text) for text in texts])
        elif form:
            axis.set_major_formatter(FuncFormatter(lambda value, _, form=form: _formatted(value, form)))
        if properties.get("showticklabels") is False:
            axis.set_tick_params(labelbottom=False, labelleft=False)
        axis.set_label_text(_plain(properties.get("title", {}).get("text", "")))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if labels and layout.get("showlegend", True) and len(labels) <= 12:
        axes.legend(handles, labels, fontsize="small", frameon=False)


def _formatted(value: float, form: str) -> str:
    try:
        return format(value, form.replace("~", "").removeprefix("+"))
    except ValueError:
        return f"{value:g}"


def _label(trace: Properties) -> str:
    return _plain(trace["name"]) if trace.get("name") and trace.get("showlegend", True) else "_"


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br\s*/?>", "\n", str(text))))


def _numbers(values: Any) -> np.ndarray:
    return np.array(values, dtype=float)  # what is missing, None, becomes NaN


def _colours(colour: Any) -> Any:
    if isinstance(colour, list):
        return [_colours(shade) for shade in colour]
    if isinstance(colour, str) and (found := re.fullmatch(r"rgba?\(([^)]*)\)", colour)):
        red, green, blue, *alpha = (float(part) for part in found[1].split(","))
        return red / 255, green / 255, blue / 255, alpha[0] if alpha else 1.0
    return colour
