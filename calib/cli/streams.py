"""Input and output of commands: files, or `-` for standard input and output; progress on a terminal."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

import pandas as pd

from calib.base.exceptions import InputError, printable
from calib.base.outputs import write_whole
from calib.files.readers.roles import Choice
from calib.files.readers.source import Limits

#: Stands for standard input or output in place of a file.
PIPE = "-"
#: Options that name a file to read.
INPUTS = ("file", "labels", "evaluate", "calibration", "calibrator", "baseline")
#: Columns of the line of progress.
WIDTH = 60


class Piped(io.BytesIO):
    """Standard input as a file that can be read more than once."""

    name = "standard input"

    def __str__(self) -> str:
        return PIPE


def read_piped(options: Namespace) -> None:
    """Read standard input for the option that is `-`."""
    named = [name for name in INPUTS if getattr(options, name, None) == PIPE]
    if not named:
        return
    if len(named) > 1:
        raise InputError(f"only one input can be -; got {' and '.join(named)}")
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- reads standard input, and nothing is piped in; name a file, or pipe one in")
    content = sys.stdin.buffer.read(Limits().file_bytes + 1)
    if not content:
        raise InputError("- reads standard input, which is empty")
    setattr(options, named[0], Piped(content))


def is_piped(output: Any) -> bool:
    """Whether an output goes to standard output, by `-` or a name such as /dev/stdout."""
    if output == PIPE:
        return True
    try:
        return output is not None and os.path.samestat(os.stat(output), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # no such file or name; no standard output, or no file
        return False


def terminal_width(stream: TextIO | None) -> int | None:
    """Return the columns of a terminal; None if lines go elsewhere."""
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def wrapped(text: str, stream: TextIO | None) -> str:
    """Break the lines that are longer than a terminal's; files and pipes get them whole."""
    if (width := terminal_width(stream)) is None:
        return text
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)  # paths stay whole
    lines = []
    for line in text.splitlines():
        wrapper.subsequent_indent = line[: len(line) - len(line.lstrip())]
        lines += [line] if len(line) <= width else wrapper.wrap(line)
    return "\n".join(lines)


def table_lines(table: pd.DataFrame, *, index: bool = False, **written: Any) -> list[str]:
    """Return the lines of a table; columns that a terminal has no room for come below.

    Each part begins with the index, or with the first column. Texts are shortened to half of a line.
    `written` are options of `DataFrame.to_string`.
    """
    width = terminal_width(sys.stdout)
    if width is not None:
        most = (width - 2) // 2
        short = partial(_shortened, most)
        table = table.map(short).rename(index=short, columns=short)

    def lines_of(columns: list[int]) -> list[str]:
        return table.iloc[:, columns].to_string(index=index, **written).splitlines()

    keys = [] if index else [0]
    rest = list(range(len(keys), table.shape[1]))
    lines = [] if rest else lines_of(keys)
    while rest:
        shown = len(rest)
        while width is not None and shown > 1 and max(map(len, lines_of([*keys, *rest[:shown]]))) > width:
            shown -= 1
        lines += [""] * bool(lines) + lines_of([*keys, *rest[:shown]])
        rest = rest[shown:]
    return lines


def _shortened(most: int, cell: Any) -> Any:
    return f"{cell[: most - 3]}..." if isinstance(cell, str) and len(cell) > most else cell


def deliver(output: str | os.PathLike[str], content: bytes) -> str:
    """Write a file whole or not at all, or pipe it out; return a line that says so.

    A reader that stops early is no error.
    """
    written = f"wrote {output}"
    if not is_piped(output):
        write_whole(output, content)
        return written
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        close(sys.stdout)
    return written


def close(stream: TextIO) -> None:
    """Close a stream, so that Python does not report its error again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(text: str, stream: TextIO | None) -> OSError | None:
    """Print text, escaped if needed; return why it could not be printed, None if its reader has left."""
    if stream is None:  # closed before the start
        return None
    try:
        print(_printable(text, stream.encoding or "utf-8"), file=stream, flush=True)
    except OSError as error:
        close(stream)
        return None if isinstance(error, BrokenPipeError) else error
    return None


def _printable(text: str, encoding: str) -> str:
    """Escape control characters and what the terminal cannot show: names come from users' files."""
    return printable(text).encode(encoding, errors="backslashreplace").decode(encoding)


@contextmanager
def progress_line() -> Iterator[Callable[[float, str], None] | None]:
    """Return a callback that shows progress in one line of standard error; None without a terminal."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield None
        return

    def progress(share: float, words: str) -> None:
        line = _printable(f"{share:4.0%} {words}"[:WIDTH], stream.encoding or "utf-8")
        stream.write(f"\r{line:<{WIDTH}}")
        stream.flush()

    try:
        yield progress
    finally:
        stream.write(f"\r{'':<{WIDTH}}\r")
        stream.flush()


def options_of(choices: Sequence[Choice]) -> str:
    """Return the options that decide how columns are read."""
    each = [_options(choice) for choice in choices if not choice.command]
    each += [f"run {_options(choice)}" for choice in choices if choice.command]
    return " or ".join(each) or "--score, --label, --predicted or --correct COLUMN"


def question_lines(choices: Sequence[Choice]) -> list[str]:
    """Return each possible reading: what speaks for and against it, rows as it reads them, its options."""
    told = [(choice, choice.lines(number)) for number, choice in enumerate(choices, 1) if choice.title]
    return [line for choice, lines in told for line in (*lines, f"  choose with {_options(choice)}")]


def _options(choice: Choice) -> str:
    options = (f"--{o.replace('_', '-')} {shlex.quote(value)}" for o, value in choice.given.items())
    return " ".join((*([f"calib {choice.command} FILE"] if choice.command else []), *options))
