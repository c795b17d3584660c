"""Frames to CSV files in which spreadsheets find no formula."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pandas as pd

#: Starts of cells that spreadsheets run as formulas (OWASP, "CSV injection"), also in full-width signs.
FORMULA = re.compile(r"\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20\t\r\n]")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_csv(frame: pd.DataFrame) -> bytes:
    r"""Return a frame as CSV (UTF-8, no index) whose text no spreadsheet runs as a formula.

    Text that looks like a formula gets an apostrophe in front, unless it is a number; line breaks become
    spaces; numbers are written bit for bit.

    Examples
    --------
    >>> write_csv(pd.DataFrame({"class": ["=cmd()", "cat"], "p": [-0.1, 0.2]}))
    b"class,p\n'=cmd(),-0.1\ncat,0.2\n"
    >>> [neutral(text) for text in ("\uff1dcmd()", "|calc", "%0A", "5 %", "-1")]
    ["'\uff1dcmd()", "'|calc", "'%0A", '5 %', '-1']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([neutral(str(name)) for name in frame.columns])
    writer.writerows(zip(*(_cells(frame.iloc[:, j]) for j in range(frame.shape[1])), strict=True))
    return text.getvalue().encode()


def _cells(column: pd.Series) -> list[Any]:
    kind, cells = column.dtype.kind, column.tolist()
    if kind in "iub" and isinstance(column.dtype, np.dtype):
        return cells
    if column.dtype == np.float64:
        return ["" if cell != cell else cell for cell in cells]
    if column.dtype == np.float32:  # the shortest digits that read back to the same 4 bytes
        cells = column.to_numpy().astype(str).tolist()
    if kind in "mM":
        return column.astype(str).where(column.notna(), "").tolist()
    if kind != "f":
        neutral_of = {value: neutral(value) for value in column.unique() if isinstance(value, str)}
        cells = [neutral_of[cell] if isinstance(cell, str) else cell for cell in cells]
    return ["" if missing else cell for cell, missing in zip(cells, column.isna().tolist(), strict=True)]


def neutral(text: str) -> str:
    """Return text on one line, with an apostrophe in front if a spreadsheet would see a formula."""
    marked = "'" + text if FORMULA.match(text) and not PLAIN_NUMBER.fullmatch(text.strip()) else text
    return " ".join(marked.splitlines()) if "\n" in marked or "\r" in marked else marked
