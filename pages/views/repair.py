"""Repair: a calibrator, its candidates, and new predictions."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.page_parts import run_tab

ui.heading(
    "Repair",
    "Which calibrator repairs the confidence, by how much, and what it makes of new predictions.",
)
ui.show_tabs(
    {
        "Calibrate": partial(run_tab, "calibrate"),
        "Compare": partial(run_tab, "compare"),
        "Apply": partial(run_tab, "apply"),
    },
    "repair_tab",
    in_address=True,
)
