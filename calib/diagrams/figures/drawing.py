"""Figures gathered as plain JSON types, which plotly checks only where somebody looks at its objects.

Plotly checks every property when it is set: 45 ms for a reliability diagram. There are up to 5 on a page, and
no other page of the server runs meanwhile. Gathered, the same figure takes 1 ms.
"""

from __future__ import annotations

import base64
import copy
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.graph_objs.layout import Template
from plotly.subplots import make_subplots

#: Names of properties that contain "_"; elsewhere it stands between a property and one inside it.
WITH_UNDERSCORE = ("error_x", "error_y", "paper_bgcolor", "plot_bgcolor")
#: Defaults of a template that apply to each axis, shape and annotation.
PER_ELEMENT = ("xaxis", "yaxis", "shapedefaults", "annotationdefaults")
#: Elements up to which an array is written as a list: plotly takes two typed arrays for different.
LISTED = 20_000


class Drawing(go.Figure):
    """A plotly figure. What the methods below add becomes plotly's objects when one is asked for.

    Parameters
    ----------
    drawn : dict, optional
        `data` and `layout` to start with.
    columns : int
        Columns of its grid of axes.
    written : bool
        Whether `drawn` is in JSON types already, and stays so.
    """

    def __init__(self, drawn: dict[str, Any] | None = None, columns: int = 1, written: bool = False) -> None:
        drawn, self._written = drawn or {}, written
        self._drawn = {"data": drawn.get("data", []), "layout": drawn.get("layout", {})}
        self._columns = columns

    @classmethod
    def grid(
        cls, rows: int, columns: int, titles: tuple[str, ...] = (), *, title_size: int = 16, **options: Any
    ) -> Drawing:
        """Return a figure with a grid of axes; `options` are more of plotly's `make_subplots`."""
        drawn = copy.deepcopy(_grid(rows, columns, len(titles), tuple(options.items())))
        for annotation, title in zip(drawn["layout"].get("annotations", ()), titles, strict=True):
            annotation.update(text=title, font={"size": title_size})
        return cls(drawn, columns)

    def __getattr__(self, name: str) -> Any:
        """Make plotly's objects, and give what was asked for."""
        drawn = self.__dict__.pop("_drawn", None)
        if drawn is None:
            raise AttributeError(f"a figure has no attribute {name}")
        super().__init__(drawn)
        return getattr(self, name)

    @property
    def gathers(self) -> bool:
        """Whether plotly's objects are still to be made."""
        return "_drawn" in self.__dict__

    @property
    def legend_entries(self) -> int:
        """Traces that the legend names."""
        traces = self._drawn["data"] if self.gathers else self.to_dict()["data"]
        return sum(bool(trace.get("showlegend", True)) for trace in traces)

    def to_dict(self) -> dict[str, Any]:
        """Return the figure in JSON types, large arrays in plotly's base64 form."""
        if not self.gathers:
            return super().to_dict()
        return {**self._drawn} if self._written else _plain(self._drawn)

    def comparable(self) -> Drawing:
        """Return the figure such that plotly takes a copy of it for the same, and need not draw it again.

        Streamlit hands plotly every figure twice, the second time as a copy. To plotly a template is always
        another one, and so is an array, unless it is a list and the layout has a `datarevision`.

        Raises
        ------
        ValueError
            If the template has defaults of traces, which the template of `style.py` has not.
        """
        drawn = self.to_dict()
        defaults = drawn["layout"].get("template", {})
        if defaults.get("data"):
            raise ValueError(f"expected a template of the layout alone, got one of {list(defaults['data'])}")
        layout = _templated(drawn, defaults.get("layout", {})) | {"datarevision": 0}
        return Drawing({**drawn, "layout": layout}, written=True)

    @property
    def marked(self) -> tuple[int, list[int]] | None:
        """The trace whose marked points a click changes, and these; None without such a trace."""
        for number, trace in enumerate(self.to_dict()["data"]):
            if "selectedpoints" in trace:
                return number, trace["selectedpoints"]
        return None

    def with_marked(self, points: list[int], revision: int) -> Drawing:
        """Return the figure with other marked points; plotly draws it again where `revision` is another."""
        drawn = self.to_dict()
        data = [
            {**one, "selectedpoints": points} if "selectedpoints" in one else one for one in drawn["data"]
        ]
        return Drawing({"data": data, "layout": drawn["layout"] | {"datarevision": revision}}, written=True)

    def keep_unselected(self) -> Drawing:
        """Draw marks and bars that were not clicked as before: plotly fades them until the next drawing."""
        if not self.gathers:
            raise TypeError("a figure answers clicks before plotly's objects are made of it")
        for trace in self._drawn["data"]:
            marker = trace.get("marker")
            if marker is None or trace["type"] not in ("scatter", "bar") or "unselected" in trace:
                continue
            opacity = marker.get("opacity")
            if np.ndim(opacity):  # opacities of unselected marks are one number: put these into the colours
                changed: dict[str, Any] = {"opacity": 1.0}
                if isinstance(marker.get("color"), str):
                    changed["color"] = _faded(marker["color"], opacity)
                if isinstance(marker.get("line", {}).get("color"), str):
                    changed["line"] = {**marker["line"], "color": _faded(marker["line"]["color"], opacity)}
                trace["marker"] = {**marker, **changed}
                opacity = 1.0
            trace["unselected"] = {"marker": {"opacity": 1.0 if opacity is None else opacity}}
        return self

    # Positional arguments are plotly's own: it passes objects of its types.

    def add_scatter(self, *given: Any, row: Any = None, col: Any = None, **trace: Any) -> Drawing:
        """Add a trace of markers or lines."""
        if given or not self.gathers:
            return super().add_scatter(*given, row=row, col=col, **trace)
        return self._add("scatter", trace, row, col)

    def add_bar(self, *given: Any, row: Any = None, col: Any = None, **trace: Any) -> Drawing:
        """Add bars."""
        if given or not self.gathers:
            return super().add_bar(*given, row=row, col=col, **trace)
        return self._add("bar", trace, row, col)

    def add_heatmap(self, *given: Any, row: Any = None, col: Any = None, **trace: Any) -> Drawing:
        """Add a heat map."""
        if given or not self.gathers:
            return super().add_heatmap(*given, row=row, col=col, **trace)
        return self._add("heatmap", trace, row, col)

    def add_shape(self, *given: Any, row: Any = None, col: Any = None, **shape: Any) -> Drawing:
        """Add a line or a rectangle."""
        if given or not self.gathers:
            return super().add_shape(*given, row=row, col=col, **shape)
        return self._list("shapes", shape, row, col)

    def add_annotation(self, *given: Any, row: Any = None, col: Any = None, **note: Any) -> Drawing:
        """Add a text."""
        if given or not self.gathers:
            return super().add_annotation(*given, row=row, col=col, **note)
        return self._list("annotations", note, row, col)

    def update_layout(self, *given: Any, **changes: Any) -> Drawing:
        """Change properties of the layout."""
        if given or not self.gathers:
            return super().update_layout(*given, **changes)
        _merge(self._drawn["layout"], _nested(changes))
        return self

    def update_xaxes(self, *given: Any, row: Any = None, col: Any = None, **changes: Any) -> Drawing:
        """Change horizontal axes: all, or those at a place of the grid."""
        if given or not self.gathers:
            return super().update_xaxes(*given, row=row, col=col, **changes)
        return self._axes("xaxis", changes, row, col)

    def update_yaxes(self, *given: Any, row: Any = None, col: Any = None, **changes: Any) -> Drawing:
        """Change vertical axes: all, or those at a place of the grid."""
        if given or not self.gathers:
            return super().update_yaxes(*given, row=row, col=col, **changes)
        return self._axes("yaxis", changes, row, col)

    def _number(self, row: int | None, col: int | None) -> str:
        number = (row - 1) * self._columns + (col or 1) if row is not None else 1
        return "" if number == 1 else str(number)

    def _add(self, kind: str, trace: dict[str, Any], row: int | None, col: int | None) -> Drawing:
        number = self._number(row, col)
        at = {"xaxis": f"x{number}", "yaxis": f"y{number}"} if row is not None else {}
        given = {name: value for name, value in _nested(trace).items() if value is not None}
        self._drawn["data"].append({"type": kind, **given, **at})
        return self

    def _list(self, where: str, one: dict[str, Any], row: int | None, col: int | None) -> Drawing:
        number = self._number(row, col)
        at = {"xref": f"x{number}", "yref": f"y{number}"} if row is not None else {}
        self._drawn["layout"].setdefault(where, []).append({**_nested(one), **at})
        return self

    def _axes(self, kind: str, changes: dict[str, Any], row: int | None, col: int | None) -> Drawing:
        layout = self._drawn["layout"]
        here = [f"{kind}{self._number(row, col)}"]
        if row is None:
            here = [name for name in layout if name.startswith(kind)] or here
        for name in here:
            _merge(layout.setdefault(name, {}), _nested(changes))
        return self


def _faded(colour: str, opacity: Any) -> list[str]:
    """Return a colour #rrggbb with each opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return [f"rgba({red},{green},{blue},{share:g})" for share in np.asarray(opacity, dtype=np.float64)]


@cache
def _grid(rows: int, columns: int, n_titles: int, options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    titles = [str(number) for number in range(n_titles)] or None
    drawn: dict[str, Any] = make_subplots(
        rows=rows, cols=columns, subplot_titles=titles, **{name: _listed(value) for name, value in options}
    ).to_dict()
    drawn["layout"].pop("template", None)
    return drawn


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _nested(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties with `title_text=...` as `title={"text": ...}`."""
    nested: dict[str, Any] = {}
    for name, value in properties.items():
        outer, _, inner = (name, "", "") if name in WITH_UNDERSCORE else name.partition("_")
        _merge(nested, {outer: _nested({inner: value}) if inner else value})
    return nested


def _merge(target: dict[str, Any], changes: dict[str, Any]) -> None:
    """Change properties; those that hold others keep what is not changed."""
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            target[name] = dict(target[name])  # it may be shared with other figures
            _merge(target[name], value)
        else:
            target[name] = value


def _templated(drawn: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the layout of a figure in JSON types, a template's defaults written where they apply."""
    layout = {name: value for name, value in drawn["layout"].items() if name != "template"}
    written = {name: value for name, value in defaults.items() if name not in PER_ELEMENT}
    for kind in ("xaxis", "yaxis"):
        used = {kind, *(name for name in layout if name.startswith(kind))}
        used |= {kind + trace[kind][1:] for trace in drawn["data"] if kind in trace}
        written |= {name: dict(defaults.get(kind, {})) for name in used}
    for trace in drawn["data"]:
        if trace["type"] == "bar":  # plotly draws no grid across bars, unless a figure gives its colour
            kind = "yaxis" if trace.get("orientation") == "h" else "xaxis"
            written[kind + trace.get(kind, "x")[1:]]["showgrid"] = False
    _merge(written, layout)
    for elements, default in (("shapes", "shapedefaults"), ("annotations", "annotationdefaults")):
        if elements in layout:
            written[elements] = [dict(defaults.get(default, {})) for _ in layout[elements]]
            for element, given in zip(written[elements], layout[elements], strict=True):
                _merge(element, given)
    return written


def _plain(value: Any) -> Any:
    """Return a value in JSON types."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Template):
        return value.to_plotly_json()
    return value.item() if isinstance(value, np.generic) else value


def _array(array: np.ndarray) -> Any:
    """Return an array as plotly.js reads it: as a list, and many numbers of 4 or 8 bytes in base64."""
    if array.size <= LISTED or array.dtype.kind not in "iuf":
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            gaps, array = ~np.isfinite(array), array.astype(object)
            array[gaps] = None
        return _plain(array.tolist())
    if array.dtype.kind in "iu" and array.min() >= -(2**31) and array.max() < 2**31:
        array = array.astype("<i4")
    elif array.dtype in (np.float32, np.float64):
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    else:
        return array.tolist()
    written = {"dtype": array.dtype.str[1:], "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return written | ({"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else {})
