"""The lesson as one HTML file, and the teacher's hand-out of two pages."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from calib.base.exceptions import InputError
from calib.base.outputs import check_output, write_whole
from calib.data.predictions import Scores, Values
from calib.datasets import load_example
from calib.evidence.rows import Source, as_evidence
from calib.lessons.chapters import StarSplit, lesson_content, star_split
from calib.report.html import bullets, page, paragraph, section, text

#: The browser's module and stylesheet.
BROWSER_FILES = Path(__file__).parent / "browser"
#: Both themes, and the width of a lecture hall's screen.
FILE_STYLE = """<style>:root { color-scheme: light dark; } body { max-width: 100rem; padding: 1rem;
  background: light-dark(#fff, #14181c); color: light-dark(#1b2026, #e6eaed); }</style>"""
#: The hand-out is two sheets of A4: chapters, exercises.
HANDOUT_STYLE = """<style>h1 { font-size: 1.4rem; } h2 { margin: 1rem 0 .25rem; font-size: 1.1rem; }
  p, ul { max-width: none; } p, ul, li { margin: .2rem 0; } #exercises { break-before: page; }
  @media print { body { font-size: 10pt; } }</style>"""


@dataclass(frozen=True)
class Lesson:
    """Three chapters about a generated example and a bin of your own predictions, if any; six exercises."""

    example: StarSplit
    own: StarSplit | None

    def content(self) -> dict[str, Any]:
        """Return texts and numbers in JSON types, as the browser's module takes them."""
        return lesson_content(self.example, self.own)

    def frame(self) -> pd.DataFrame:
        """Return one row per class that is drawn in your bin, or in the example's without yours."""
        return pd.DataFrame([asdict(dot) for dot in (self.own or self.example).dots])

    def page(self) -> str:
        """Return one HTML page, which opens from a disk and loads nothing from anywhere."""
        content = self.content()
        given = json.dumps(content).replace("<", "\\u003c")  # inside a script element only "<" could end it
        body = (
            f"{FILE_STYLE}<style>{_file('lesson.css')}</style>\n"
            f'<main class="calib-lesson" id="lesson"></main>\n'
            f'<script type="module">{_file("lesson.js")}\n'
            f'mount(document.getElementById("lesson"), {given});</script>'
        )
        return page(content["title"], body, "")

    def handout(self) -> str:
        """Return the teacher's notes as an HTML page to print on two sheets: steps, and solved exercises."""
        content = self.content()
        blocks = [f"<h1>{text(content['title'])}</h1>"]
        blocks += [paragraph(text(words)) for words in content["handout"].values()]
        for number, chapter in enumerate(content["chapters"], start=1):
            steps = [
                f"<b>{text(step['ask'])}</b> {text(_truth(step, content))} {text(step['words'])}<br>"
                f"{text(step['note'])} Ask: <i>{text(step['question'])}</i>"
                for step in chapter["steps"]
            ]
            title = f"{number}. {chapter['title']} ({chapter['minutes']} minutes)"
            blocks.append(
                section(f"chapter-{number}", title, bullets(steps), paragraph(text(chapter["paper"])))
            )
        solved = [f"<b>{text(each['ask'])}</b><br>{text(_solution(each))}" for each in content["exercises"]]
        blocks.append(section("exercises", "Exercises", bullets(solved)))
        return page(f"{content['title']}: notes", HANDOUT_STYLE + "\n".join(blocks), "")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page; a reader of the file sees the old page or the new page, never a part."""
        check_output(file, ())
        write_whole(file, self.page().encode())


def lesson(
    y_true: Source | None = None,
    scores: Scores | None = None,
    *,
    title: str = "Your predictions",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Lesson:
    """Make a lesson of 15 minutes on confidence and top-label calibration, also about your own predictions.

    Parameters
    ----------
    y_true : (n,) array_like, or labelled predictions, or a summary, optional
        Labels as for `calib.ece`. Without them, the lesson has only its generated example.
    scores : (n, L) array_like, or predictions, optional
        As for `calib.ece`; a predicted class must be known.
    title : str
        What your predictions are.
    sample_weight, cluster
        As for `calib.ece`.

    Returns
    -------
    Lesson
        ``.save("lesson.html")`` writes one page for a class; ``.handout()`` returns the teacher's notes.

    Examples
    --------
    >>> star = lesson().example
    >>> star.count, round(star.confidence, 2), round(star.accuracy, 2), star.dots[star.worst].name
    (179, 0.55, 0.54, 'airplane')
    """
    example = star_split(load_example("resnet").evaluation, "a generated example")
    if y_true is None:
        if scores is not None:
            raise InputError("the lesson got scores without labels; give both, or labelled predictions")
        return Lesson(example, None)
    return Lesson(example, star_split(as_evidence(y_true, scores, sample_weight, cluster), title))


def _truth(step: dict[str, Any], content: dict[str, Any]) -> str:
    if "options" in step:
        return f"({step['options'][int(step['truth'])]})"
    split = content[{"split": "example"}.get(step["picture"], "own")]
    return "" if step["picture"] == "make" else f"({split['dots'][split['worst']]['name']})"


def _solution(exercise: dict[str, Any]) -> str:
    chosen = exercise["options"][exercise["answer"]] + " " if exercise["kind"] == "choose" else ""
    return chosen + exercise["right"]


@cache
def _file(name: str) -> str:
    return (BROWSER_FILES / name).read_text(encoding="utf-8")
