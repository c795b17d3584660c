"""Frames to CSV that a spreadsheet cannot run."""

from __future__ import annotations

import io
import re

import pandas as pd

#: A cell that starts with one of these is run as a formula by spreadsheets (OWASP, "CSV injection").
#: Full-width signs count, because some spreadsheets read them as the narrow ones.
FORMULA = re.compile(r"\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20\t\r\n]")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_csv(frame: pd.DataFrame) -> bytes:
    r"""Return a frame as CSV (UTF-8, no index) whose text no spreadsheet runs as a formula.

    Text cells and column names that begin with ``=``, ``+``, ``-``, ``@`` (also full-width), ``|``, ``%``,
    tab or a line break get an apostrophe in front, unless they are numbers; line breaks inside text become
    spaces; numbers are written bit for bit.

    Examples
    --------
    >>> write_csv(pd.DataFrame({"class": ["=cmd()", "cat"], "p": [-0.1, 0.2]}))
    b"class,p\n'=cmd(),-0.1\ncat,0.2\n"
    >>> [neutral(text) for text in ("\uff1dcmd()", "|calc", "%0A", "5 %", "-1")]
    ["'\uff1dcmd()", "'|calc", "'%0A", '5 %', '-1']
    """
    safe = frame.copy()
    safe.columns = [neutral(str(name)) for name in frame.columns]
    for j in range(safe.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "iufbmM":
            neutral_of = {value: neutral(value) for value in column.unique() if isinstance(value, str)}
            safe.isetitem(j, [neutral_of[v] if isinstance(v, str) else v for v in column.tolist()])
    buffer = io.BytesIO()
    safe.to_csv(buffer, index=False, lineterminator="\n")
    return buffer.getvalue()


def neutral(text: str) -> str:
    """Return text on one line, with an apostrophe in front where a spreadsheet would see a formula."""
    marked = "'" + text if FORMULA.match(text) and not PLAIN_NUMBER.fullmatch(text.strip()) else text
    return " ".join(marked.splitlines()) if "\n" in marked or "\r" in marked else marked
