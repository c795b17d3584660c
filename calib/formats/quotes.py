"""Quoted cells that hold line breaks (RFC 4180): each is brought to one line before the text is divided."""

from __future__ import annotations

import re

#: A quoted cell between delimiters or line ends; quotes inside a plain cell are not quoting.
_CELL = re.compile(
    r'(?:\A\ufeff?|(?<=[,;\t|:^~&\x1f\x01\r\n ]))"(?:[^"]|"")*"(?=[,;\t|:^~&\x1f\x01\r\n ]|\Z)'
)
_OPEN = re.compile(r'(?:\A\ufeff?|[,;\t|:^~&\x1f\x01\r\n ])"(?:[^"\r\n]|"")*[\r\n]')


def breaks_lines(text: str) -> bool:
    """Whether a quoted cell may hold a line break: a quote that opens is not closed on its line."""
    return '"' in text and _OPEN.search(text) is not None


def on_one_line(text: str) -> str:
    r"""Return the text with a space in place of each line break inside a quoted cell.

    >>> on_one_line('"tabby\ncat",dog\n0.9,0.1\n')
    '"tabby cat",dog\n0.9,0.1\n'
    """
    return _CELL.sub(lambda cell: re.sub(r"[ ]*(?:\r\n|\r|\n)[ ]*", " ", cell[0]), text)
