"""The command that writes the lesson."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from calib.cli.input import Output, read_rows
from calib.cli.streams import deliver
from calib.lessons.page import lesson as make_lesson


@dataclass(frozen=True)
class LessonData:
    output: str
    bytes: int
    rows: int | None  #: Rows of the bin of one's own predictions, if any


def lesson(options: Namespace) -> Output[LessonData]:
    """Write the lesson, or the teacher's notes, as one self-contained HTML page."""
    if options.file is None:
        made = make_lesson()
    else:
        title = Path(getattr(options.file, "name", options.file)).name
        made = make_lesson(read_rows(options).evaluation, title=title)
    content = (made.handout() if options.handout else made.page()).encode(errors="backslashreplace")
    deliver(options.output, content)
    rows = None if made.own is None else made.own.count
    own = "" if rows is None else f", with a bin of {rows:,} rows of your predictions"
    return Output(
        f"wrote {options.output} ({len(content) / 1e3:.0f} kB){own}",
        LessonData(options.output, len(content), rows),
    )
