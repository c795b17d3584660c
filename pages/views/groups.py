"""Groups: whether a group is worse than the rest, and whether calibration changed."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.page_parts import run_tab

ui.heading(
    "Groups",
    "Which groups of rows are off by more, or by less, than all other rows, and did it change over time?",
)
ui.show_tabs(
    {
        "Slices": partial(run_tab, "slices"),
        "Over time": partial(run_tab, "over_time"),
    },
    "groups_tab",
    in_address=True,
)
