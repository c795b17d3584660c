"""Frames to CSV files in which spreadsheets find no formula."""

from __future__ import annotations

import re

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
    columns = {j: frame.iloc[:, j] for j in range(frame.shape[1])}
    for j, column in columns.items():
        if column.dtype.kind not in "iubfmM":
            columns[j] = column.map(lambda cell: neutral(cell) if isinstance(cell, str) else cell)
    table = pd.DataFrame(columns, index=frame.index).set_axis([neutral(str(name)) for name in frame], axis=1)
    return table.to_csv(index=False, lineterminator="\n").encode()


def neutral(text: str) -> str:
    """Return text on one line, with an apostrophe in front if a spreadsheet would see a formula."""
    marked = "'" + text if FORMULA.match(text) and not PLAIN_NUMBER.fullmatch(text.strip()) else text
    return " ".join(marked.splitlines()) if "\n" in marked or "\r" in marked else marked
