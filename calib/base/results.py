"""How results are shown: one screen of text, a table in notebooks, a figure.

`import calib` imports this module, so that its functions import what takes time: NumPy, and dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from calib.base.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as MatplotlibFigure
    from plotly.graph_objects import Figure as PlotlyFigure

#: Longest text of a field, in characters, and most fields that are printed.
LONGEST_FIELD, MOST_FIELDS = 70, 20
#: Rows of the table that notebooks show.
ROWS_SHOWN = 10


class Result:
    """A dataclass of numbers whose text fits on one screen, for any number of rows."""

    def __repr__(self) -> str:
        from dataclasses import fields

        shown = fields(self)[:MOST_FIELDS]  # type: ignore[arg-type]
        parts = [f"{field.name}={_short(getattr(self, field.name))}" for field in shown]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __float__(self) -> float:
        """Return the estimate of a result that has a field `value`."""
        if not hasattr(self, "value"):
            raise InputError(f"{type(self).__name__} holds several numbers; name one of its fields")
        return float(self.value)

    @property
    def sentence(self) -> str:
        """What the numbers say, if that fits in a few sentences."""
        found: Any = getattr(self, "words" if hasattr(self, "words") else "reason")
        return str(found() if callable(found) else found)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            names = (each for each in dir(self) if not each.startswith("_") and each != "sentence")
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(names)}")

    def frame(self) -> pd.DataFrame:
        """Return the numbers and texts as a table: one row, or one for each element of the arrays."""
        from dataclasses import fields

        import numpy as np
        import pandas as pd

        found = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        columns = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
        single = {
            name: value
            for name, value in found.items()
            if value is None or isinstance(value, (str, bool, int, float, np.generic))
        }
        return pd.DataFrame(single | columns, index=None if columns else [0])

    def _repr_html_(self) -> str:
        table = self.frame()
        return str(table.to_html(max_rows=ROWS_SHOWN, float_format=lambda value: f"{value:.4g}", escape=True))


class Drawn(Result):
    """A result with a figure."""

    #: `calib.diagrams.plot`, which stands in a later package: `calib/__init__.py` sets it
    _plotter: ClassVar[Callable[..., PlotlyFigure | MatplotlibFigure]]

    @overload
    def plot(self, *, backend: Literal["plotly"] = ..., **options: Any) -> PlotlyFigure: ...
    @overload
    def plot(self, *, backend: Literal["matplotlib"], **options: Any) -> MatplotlibFigure: ...
    def plot(
        self, *, backend: Literal["plotly", "matplotlib"] = "plotly", **options: Any
    ) -> PlotlyFigure | MatplotlibFigure:
        """Return the figure; options are those of the function of `calib.diagrams` that draws this type."""
        return Drawn._plotter(self, backend=backend, **options)


def parts(names: str) -> dict[str, dict[str, str]]:
    """Return the metadata of a dataclass field of whose object only these attributes are printed as JSON."""
    return {"parts": dict.fromkeys(names.split(), "")}


def _short(value: Any) -> str:
    import numpy as np

    if isinstance(value, np.ndarray):
        if value.size <= 6 and value.ndim == 1:
            return np.array2string(value, precision=4, separator=", ")
        ends = ""
        if value.size and value.dtype.kind in "iuf":
            ends = (
                f", {np.nanmin(value):.4g} to {np.nanmax(value):.4g}"
                if not np.isnan(value).all()
                else ", nan"
            )
        return f"<{value.dtype} {'x'.join(map(str, value.shape))}{ends}>"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}={_short(field)}' for key, field in value.items())}}}"
    if isinstance(value, (tuple, list)) and len(value) > 6:
        return f"<{len(value):,} of {type(value).__name__}: {_cut(repr(value[0]), 20)}, ...>"
    if hasattr(value, "to_html") and hasattr(value, "shape"):
        return f"<table of {value.shape[0]:,} rows, {value.shape[1]} columns>"
    return _cut(repr(value), LONGEST_FIELD)


def _cut(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
