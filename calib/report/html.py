"""Building blocks of an HTML report: all text from outside is escaped here and nowhere else."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping

import pandas as pd

#: With this policy a report fetches nothing, whatever names a file contains.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)

STYLE = """
:root { color-scheme: light; }
body {
  font: 16px/1.5 'Source Sans', 'Source Sans 3', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  color: #1b2026; background: #fff; max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p, ul { margin: .5rem 0; max-width: 46rem; }
li { margin: .2rem 0; overflow-wrap: anywhere; }
.faint { color: #5b6670; font-size: .9rem; }
.simulated { background: #e69f00; color: #1b2026; border-radius: .25rem; padding: .1rem .5rem; }
.scroll { overflow: auto; max-height: 40rem; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #e6e9ec; text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: #fff; font-weight: 600; }
th.text, td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 7rem;
  max-width: 30rem; }
.figure { width: 100%; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
nav a { color: #0072b2; }
@page { margin: 14mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav { display: none; }
  .scroll { max-height: none; overflow: visible; }
  table { font-size: .72rem; }
  th { position: static; }
  th, td { padding: .2rem .35rem; white-space: normal; }
  h1, h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .figure, tr { break-inside: avoid; }
  p:has(+ .figure) { break-after: avoid; }
}
"""


def text(value: object) -> str:
    """Return any value as escaped HTML text, isolated in its writing direction."""
    whole = re.sub(r"(?<=\d) %", "\u00a0%", str(value))
    return f"<bdi>{html.escape(whole)}</bdi>"


def paragraph(content: str, style: str = "") -> str:
    return f'<p class="{style}">{content}</p>' if style else f"<p>{content}</p>"


def bullets(contents: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{content}</li>" for content in contents) + "</ul>"


def folded(title: str, *blocks: str) -> str:
    """Return blocks of HTML that a click on their title shows."""
    return f"<details><summary>{html.escape(title)}</summary>\n" + "\n".join(blocks) + "</details>"


def section(key: str, title: str, *blocks: str) -> str:
    """Return a section of blocks of HTML under a heading."""
    return f'<section id="{key}"><h2>{html.escape(title)}</h2>\n' + "\n".join(blocks) + "</section>"


def table(
    frame: pd.DataFrame, formats: Mapping[str, str] | None = None, *, words: Iterable[str] | None = None
) -> str:
    """Return a frame as a table: numbers aligned right, `words` (all others) left, missing as a dash."""
    formats = formats or {}
    if words is None:
        words = [column for column in frame.columns if frame[column].dtype.kind not in "iufb"]
    words = set(words)
    head = "".join(
        f'<th class="{"text" if column in words else ""}">{text(column)}</th>' for column in frame.columns
    )
    rows = []
    for values in frame.itertuples(index=False):
        cells = [
            f'<td class="text">{text(value)}</td>'
            if column in words and value is not None
            else f"<td>{number(value, formats.get(column, ''))}</td>"
            for column, value in zip(frame.columns, values, strict=True)
        ]
        rows.append("<tr>" + "".join(cells) + "</tr>")
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>'
        + "\n".join(rows)
        + "</tbody></table></div>"
    )


def page(title: str, body: str, script: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,"><title>{html.escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n{script}</head>\n<body>\n{body}\n</body></html>\n"
    )


def number(value: object, form: str) -> str:
    """Return a value in a format, a missing one as a dash, a truth value in words."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return html.escape(format(value, form))
