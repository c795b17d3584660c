"""Reliability: confidence against accuracy, pooled and for each predicted class."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.page_parts import run_tab

ui.heading(
    "Reliability",
    "How often is the model right at each confidence, over all classes and for each predicted class?",
)
ui.show_tabs(
    {
        "Bins": partial(run_tab, "bins"),
        "Classes": partial(run_tab, "classes"),
    },
    "reliability_tab",
    in_address=True,
)
