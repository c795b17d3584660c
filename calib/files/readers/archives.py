"""Zip archives and compressed files that may be damaged; errors of reading become an `InputError`."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from calib.base.exceptions import InputError

#: What reading a damaged archive or compressed file raises.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


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
