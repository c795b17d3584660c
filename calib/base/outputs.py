"""Files that calib writes: a reader sees the old file or the new file, never a partial file."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import platform
import secrets
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from calib.base.exceptions import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]

#: Seconds for which a process waits for another one that changes the same file.
PATIENCE = 60.0
#: Start and end of the names of partial files; other machines may not see locks in a shared folder.
MINE, ENDING = f".calib-{zlib.crc32(platform.node().encode()):08x}-", ".partial"


def write_whole(file: str | os.PathLike[str] | BinaryIO, content: bytes) -> None:
    if not isinstance(file, (str, os.PathLike)):
        file.write(content)
        return
    with atomic_write(file) as stream:
        stream.write(content)


@contextlib.contextmanager
def atomic_write(file: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that appears when the block ends, and not at all if the block fails.

    Temporary files of killed writers are removed. A symbolic link stays, and its target is replaced.
    """
    if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
        with tempfile.TemporaryFile() as stream:
            yield stream
            stream.seek(0)
            with _named_in_errors(file), open(file, "wb") as opened:
                shutil.copyfileobj(stream, opened)
        return
    target = os.path.realpath(file)
    try:
        _remove_abandoned(os.path.dirname(target))
        with _partial_file(os.path.dirname(target)) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
            exists = os.path.exists(target)
            if exists and not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, "Permission denied")
            if exists:
                os.chmod(stream.name, os.stat(target).st_mode & 0o7777)
            os.replace(stream.name, target)
    except OSError as error:
        if error.strerror is None:  # of what was read to be written, not of the file
            raise
        reason = f"{error.strerror}; nothing was written"
        if os.path.exists(target):
            reason += ", and what was there is unchanged"
        raise type(error)(error.errno, reason, os.fspath(file)) from error


@contextlib.contextmanager
def _named_in_errors(file: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(file)) from error


@contextlib.contextmanager
def _partial_file(folder: str) -> Iterator[BinaryIO]:
    """Create a locked file that is removed when the block ends; the lock also ends with the process."""
    with contextlib.ExitStack() as ending:
        while True:
            path = os.path.join(folder, f"{MINE}{secrets.token_hex(8)}{ENDING}")
            ending.callback(_remove, path)
            stream = ending.enter_context(open(path, "xb"))
            if fcntl is None:
                break
            lock = os.dup(stream.fileno())  # stays locked when the stream is closed
            ending.callback(os.close, lock)
            with contextlib.suppress(OSError):  # a file system without locks: none can lock it and remove it
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):  # another writer may have removed it before it was locked
                break
        yield stream


def _remove_abandoned(folder: str) -> None:
    """Remove the unlocked partial files in a folder: their writers were killed."""
    if fcntl is None:
        return
    for path in glob.glob(os.path.join(glob.escape(folder), f"{MINE}*{ENDING}")):
        with contextlib.suppress(OSError), open(path, "r+b") as stream:  # locked, or just gone
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


@contextlib.contextmanager
def alone(file: str | os.PathLike[str]) -> Iterator[Callable[[], None]]:
    """Let one process or thread at a time read a file, change it and write it.

    A lock file beside it holds the lock, which also ends with its process. Raises InputError if another one
    holds it for `PATIENCE` seconds. Some systems have no locks: call what is yielded before writing, which
    raises InputError if the file has changed.
    """
    path, until = f"{os.path.realpath(file)}.lock", time.monotonic() + PATIENCE
    while True:
        with contextlib.ExitStack() as ending:
            with _named_in_errors(file):
                lock = ending.enter_context(open(path, "ab"))
            if _takes(lock) and _is_open_file(path, lock):
                ending.callback(_remove, path)
                yield partial(_check_version, file, _version(file))
                return
        if time.monotonic() > until:
            raise InputError(f"{os.fspath(file)} is being changed by another process; run this again later")
        time.sleep(0.02)


def _version(file: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """Return what differs after a file was replaced; None if there is none."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _check_version(file: str | os.PathLike[str], before: tuple[int, ...] | None) -> None:
    if _version(file) != before:
        raise InputError(f"{os.fspath(file)} was changed meanwhile; run this again")


def _is_open_file(path: str, stream: BinaryIO) -> bool:
    """Whether a path still is the file that was opened: its former holder may have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def _takes(lock: BinaryIO) -> bool:
    """Lock a file; return False if another process or thread has locked it."""
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # else: no locks on this system
    return True


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # open on Windows
        os.unlink(path)


def check_output(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Check before the work starts that an output can be written and is not also an input."""
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
