"""Learn: the lesson in eight steps, and the glossary."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.address import presenting
from pages.shared.page_parts import run_tab

if presenting():
    run_tab("lessons")
else:
    ui.show_tabs(
        {"Lessons": partial(run_tab, "lessons"), "Glossary": partial(run_tab, "glossary")},
        "learn_tab",
        in_address=True,
    )
