"""Files that calib writes: a reader finds the former file or the new one, never something between."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from calib.exceptions import InputError


def write_whole(file: str | os.PathLike[str], content: bytes) -> None:
    """Write a file under a temporary name in its folder and put it in place when all of it is stored.

    A symbolic link stays, and the file it leads to is replaced. What is no regular file, such as a pipe or
    a terminal, is written directly.

    Raises
    ------
    OSError
        If the content cannot be stored, for example because the disk is full. The former file is unchanged.
    """
    target = os.path.realpath(file)
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
        try:
            with open(target, "wb", buffering=0) as stream:
                stream.write(content)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(file)) from error
        return
    with whole_file(file) as stream:
        stream.write(content)


@contextlib.contextmanager
def whole_file(file: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write that appears under its name when the block ends, and not at all if it fails.

    Raises
    ------
    OSError
        As for `write_whole`.
    """
    target = os.path.realpath(file)
    partial = os.path.join(os.path.dirname(target), f".calib-{secrets.token_hex(8)}.partial")
    try:
        with open(partial, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, "Permission denied")
            os.chmod(partial, os.stat(target).st_mode & 0o7777)
        os.replace(partial, target)
    except OSError as error:
        if error.strerror is None:  # of what was read to be written, not of the file
            raise
        reason = f"{error.strerror}; nothing was written"
        if os.path.exists(target):
            reason += ", and what was there is unchanged"
        raise type(error)(error.errno, reason, os.fspath(file)) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)


def check_output(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Check before the work starts that an output can be written and is not also an input.

    Raises
    ------
    InputError
        If one of `inputs` is the same file, under this name or through a link, or if the output is a folder
        or in a folder that does not exist.
    """
    folder = Path(output).parent
    if not folder.is_dir():
        raise InputError(f"the output cannot be written: there is no folder {str(folder)!r}")
    if Path(output).is_dir():
        raise InputError(f"the output must be a file; {str(output)!r} is a folder")
    for path in inputs:
        if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise InputError(
                f"the output {str(output)!r} is the same file as the input {str(path)!r}, which would be "
                "lost; give the output another name"
            )
