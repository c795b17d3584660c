"""Learn: the lesson, further steps, and the glossary."""

from __future__ import annotations

from functools import partial

from pages.shared import widgets as ui
from pages.shared.lessons import chapters
from pages.shared.page_parts import run_tab

ui.show_tabs(
    {
        "Lesson": chapters.show,
        "More": partial(run_tab, "more"),
        "Glossary": partial(run_tab, "glossary"),
    },
    "learn_tab",
    in_address=True,
)
