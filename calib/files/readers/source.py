"""Sources of files, gzip and zip archives included, and the limits within which they are read."""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from calib.base.exceptions import InputError

#: Called with the share done (0..1) and a few words about the step.
Progress = Callable[[float, str], None]
#: What reading a damaged archive or compressed file raises.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Limits:
    """Bounds enforced while a file is read; the `InputError` names the exceeded limit."""

    #: Size of the stored file: 1 GiB holds 250,000 rows of 1,000 float32 classes.
    file_bytes: int = 1 << 30
    expanded_bytes: int = 2 << 30  #: Size after decompression, and size of the arrays made from it
    #: Expanded size over stored size: text shrinks 2 to 20 times, a bomb 1,000 times.
    expansion: int = 100
    #: Expanded size up to which `expansion` is not checked: one-hot matrices shrink more
    free_bytes: int = 256 << 20
    #: ImageNet-21k, the widest classifier in common use, has 21,841 classes
    rows: int = 20_000_000
    columns: int = 32_768
    members: int = 1_000  #: Arrays in an NPZ file
    #: Size of a JSON text: its objects take about ten times as much
    json_bytes: int = 256 << 20
    #: Seconds to read and examine a file, checked between blocks
    seconds: float = math.inf
    #: When that time is over, by `time.monotonic`; set when reading begins
    until: float = field(default=math.inf, repr=False)
    #: Told how much of the work is done
    progress: Progress | None = field(default=None, repr=False)

    def begun(self, progress: Progress | None = None) -> Limits:
        """Return these limits with the time started, unless it has started already."""
        if not self.seconds >= 0.0:
            raise InputError(f"the limit seconds must be 0 or more; got {self.seconds}")
        until = min(self.until, time.monotonic() + self.seconds)
        return replace(self, until=until, progress=progress or self.progress)

    def check_time(self) -> None:
        if time.monotonic() > self.until:
            raise InputError(
                f"the file takes more than {self.seconds:g} seconds to read and examine (limit seconds); "
                "pass a sample of the rows"
            )

    def step(self, share: float, words: str) -> None:
        """Tell `progress` the share done and the step; raise `InputError` once the time is over."""
        self.check_time()
        if self.progress is not None:
            self.progress(share, words)

    def _check(self, fits: bool, limit: str, fact: str, advice: str) -> None:
        self.check_time()
        if not fits:
            raise InputError(f"the file {fact} (limit {limit}); {advice}")

    def check_rows(self, n_rows: int) -> None:
        fact = f"has more than {self.rows:,} rows"
        self._check(n_rows <= self.rows, "rows", fact, "pass a sample of the rows")

    def check_columns(self, n_columns: int) -> None:
        fact = f"has {n_columns:,} columns, more than {self.columns:,}"
        self._check(n_columns <= self.columns, "columns", fact, "keep one column per class")

    def check_filled(self, cells: int, given: int) -> None:
        """Refuse tables with few filled cells: their size grows with the square of the file's size."""
        self.check_expanded(8 * cells, self.expanded_bytes)
        fact = f"gives {given:,} values for a table of {cells:,} cells, fewer than one in {self.expansion}"
        advice = "give every row the same names, or a matrix as NPZ"
        self._check(cells <= self.expansion * max(given, 10_000), "expansion", fact, advice)

    def check_expanded(self, expanded: int, stored: int) -> None:
        """Refuse content that is too large once expanded, or suspiciously larger than what is stored."""
        fact = f"expands to more than {_size(self.expanded_bytes)}"
        advice = "pass a sample of the rows, or float32 instead of float64"
        self._check(expanded <= self.expanded_bytes, "expanded_bytes", fact, advice)
        fits = expanded <= max(self.free_bytes, self.expansion * max(stored, 1))
        fact = f"of {_size(stored)} expands more than {self.expansion} times"
        self._check(fits, "expansion", fact, "files of predictions do not, so it was not read further")


@dataclass(frozen=True)
class Source:
    """A file to read, on disk or in memory: `name` for messages and extension, stored `size` in bytes."""

    name: str
    size: int
    content: bytes | memoryview | Path

    def head(self, n_bytes: int) -> bytes:
        with self.open() as file:
            return file.read(n_bytes)

    def open(self) -> BinaryIO:
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)

    @contextmanager
    def expanded(self, limits: Limits) -> Iterator[Expander]:
        """Open for reading from the start, decompressed when gzip, within `limits`."""
        with self.open() as file:
            yield Expander(file, self.size, limits)


def open_source(source: Any, limits: Limits) -> Source:
    """Turn a path, bytes or a binary file object into a `Source`, checking its size."""
    if isinstance(source, Source):
        opened = source
    elif isinstance(source, (str, os.PathLike)):
        opened = _on_disk(Path(source))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        opened = Source("the file", len(bytes(source)), bytes(source))
    elif hasattr(source, "read"):
        name = Path(str(getattr(source, "name", "the file"))).name
        if hasattr(source, "seek"):
            source.seek(0)
        content = source.read(limits.file_bytes + 1)
        if not isinstance(content, bytes):
            raise InputError(f"{name!r} must be opened in binary mode ('rb'); reading it gave text")
        opened = Source(name, len(content), content)
    else:
        raise InputError(f"source must be a path, bytes or a binary file; got {type(source).__name__}")
    if opened.size == 0:
        raise InputError(f"{opened.name!r} is empty: 0 bytes")
    if opened.size > limits.file_bytes:
        raise InputError(
            f"{opened.name!r} is larger than {_size(limits.file_bytes)} (limit file_bytes); pass a sample of "
            "the rows, or Parquet or compressed NPZ with float32 values"
        )
    return opened


def _on_disk(path: Path) -> Source:
    name = path.name.encode("utf-8", "replace").decode("utf-8")  # a name of other bytes, with ? for them
    try:
        directory, size = path.is_dir(), path.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(f"cannot open {str(path)[:200]!r}: {reason}") from None
    if directory:
        raise InputError(f"{name!r} is a directory; name one file")
    return Source(name, size, path)


class Expander:
    """Binary file that decompresses a file if it is gzip, counts what comes out and enforces `limits`."""

    closed = False

    def __init__(self, file: BinaryIO, stored: int, limits: Limits) -> None:
        self._file, self._stored, self._limits = file, stored, limits
        is_gzip = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._content = gzip.GzipFile(fileobj=file) if is_gzip else file
        self.expanded = 0

    def position(self) -> float:
        """Share of the stored bytes that has been read."""
        return self._file.tell() / max(self._stored, 1)

    def close(self) -> None:
        """Stop reading; the file itself is closed by whoever opened it."""
        self.closed = True

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes`; empty at the end."""
        with refuse_damage("file"):
            out = self._content.read(n_bytes)
        self.expanded += len(out)
        self._limits.check_expanded(self.expanded, self._stored)
        return out


def whole(source: Source, limits: Limits) -> bytes:
    """Return all bytes, decompressed when gzip."""
    with source.expanded(limits) as file:
        return b"".join(iter(lambda: file.read(1 << 24), b""))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:.4g} MiB"


@contextmanager
def refuse_damage(what: str) -> Iterator[None]:
    """Turn errors of a damaged file into `InputError`; use this block around reading only."""
    try:
        yield
    except InputError:
        raise
    except DAMAGED as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"the {what} is damaged or cut short ({reason}); copy it again") from None


def open_archive(file: BinaryIO, what: str) -> zipfile.ZipFile:
    """Open a zip archive; members must be stored or deflated, as NumPy and calib write them."""
    with refuse_damage(what):
        archive = zipfile.ZipFile(file)
    for member in archive.infolist():
        if member.comment:  # NumPy and calib write none: a damaged length lets it swallow the next member
            raise InputError(f"the {what} is damaged ({member.filename[:60]!r} has a comment); copy it again")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(
                f"the {what} holds {member.filename[:60]!r}, compressed by method {member.compress_type}; "
                "members must be stored or deflated: save the file again"
            )
    return archive
