"""Figures of computed diagrams; the only package that imports plotly."""

from calib.figures.reliability_figures import (
    BARS,
    FONT,
    MAX_NAMED,
    METHOD_COLOURS,
    OKABE_ITO,
    TEMPLATE,
    class_shares,
    ece_curves,
    escape,
    reliability,
    template,
    unit_axes,
    zoom,
)

__all__ = [
    "BARS",
    "FONT",
    "MAX_NAMED",
    "METHOD_COLOURS",
    "OKABE_ITO",
    "TEMPLATE",
    "class_shares",
    "ece_curves",
    "escape",
    "reliability",
    "template",
    "unit_axes",
    "zoom",
]
