"""Overview: the verdict on the confidence, and how certain each number is."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.page_parts import run_tab

ui.heading(
    "Overview",
    "calib shows how far a classifier's confidence can be trusted, for which predicted classes, and which "
    "calibrator repairs it.",
)
ui.show_tabs(
    {
        "Verdict": partial(run_tab, "verdict"),
        "Noise": partial(run_tab, "noise"),
    },
    "overview_tab",
    in_address=True,
)
