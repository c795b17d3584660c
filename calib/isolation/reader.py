"""Files read in a worker process that may die: its death is one sentence, and another takes its place.

The process is started once, and again after a death; a job never pays for its imports, unless it comes
first. Where the system has no limits for processes (`resource`), the wall clock alone ends a job, and the
log says so.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calib.doctor.examination import Examination
from calib.exceptions import InputError
from calib.formats.raw_predictions import parts_of
from calib.formats.roles import Roles
from calib.formats.source import Progress
from calib.formats.tables import Table
from calib.isolation.wire import (
    Channel,
    pack_roles,
    pack_table,
    unpack_examination,
    unpack_roles,
    unpack_table,
)

log = logging.getLogger(__name__)

#: Memory that a job may take beyond the imports, and processor time; each has an environment variable.
MEMORY_MIB = int(os.environ.get("CALIB_READER_MEMORY_MIB", "4096"))
SECONDS = int(os.environ.get("CALIB_READER_SECONDS", "120"))
#: A job that waits or sleeps is ended after this many times its processor time.
PATIENCE = 3
#: Readers at a time: files of more sessions wait their turn.
READERS = 2
#: A reader that keeps more than this after a job is replaced, which gives the memory back.
MOST_KEPT = 1 << 30

_LOST = "Nothing you had loaded is lost."


class Reader:
    """One worker process and the way to talk to it; one job at a time."""

    def __init__(self, memory_mib: int = MEMORY_MIB, seconds: int = SECONDS) -> None:
        self.memory_mib, self.seconds = memory_mib, seconds
        self.process: subprocess.Popen[bytes] | None = None
        self.channel: Channel | None = None
        self.greeted = False

    def start(self) -> None:
        """Start the process if there is none, without waiting for its imports."""
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        root = str(Path(__file__).parents[2])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "MALLOC_ARENA_MAX": "2",
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        arguments = [str(self.memory_mib << 20), str(self.seconds)]
        try:
            self.process = subprocess.Popen(  # noqa: S603 - this Python, and a module of calib
                [sys.executable, "-m", "calib.isolation.worker", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise InputError(f"the reader of files cannot be started: {error.strerror}. {_LOST}") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        self.greeted = False

    def close(self) -> None:
        """End the process."""
        process, self.process, self.channel = self.process, None, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                try:
                    pipe.close()  # type: ignore[union-attr]
                except BrokenPipeError:
                    log.debug("the reader ended before it took its last message")

    def ask(
        self,
        job: dict[str, Any],
        blobs: Sequence[Any] = (),
        arrays: Sequence[np.ndarray] = (),
        progress: Progress | None = None,
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Have a job done.

        Raises
        ------
        InputError
            If the file cannot be used, or it ended the process.
        """
        self.start()
        process, channel = self.process, self.channel
        assert process is not None
        assert channel is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(PATIENCE * self.seconds, give_up)
        clock.daemon = True
        clock.start()
        try:
            if not self.greeted:
                self._greet(channel.receive()[0])
            channel.send(job, blobs, arrays)
            while True:
                reply, _, results = channel.receive()
                if "progress" not in reply:
                    break
                if progress is not None:
                    progress(*reply["progress"])
        except (EOFError, BrokenPipeError):
            process.kill()
            raise InputError(_obituary(process.wait(), late.is_set(), self)) from None
        except BaseException:  # the session was stopped in the middle: what comes next is not for it
            self.close()
            raise
        finally:
            clock.cancel()
        if reply["resident"] > MOST_KEPT:
            self.close()
        if "error" in reply:
            raise InputError(reply["error"])
        if "fault" in reply:
            raise InputError(
                f"the file led the reader into a fault of calib ({reply['fault']}; the server's log has it), "
                f"so it was not read. {_LOST}"
            )
        return reply, results

    def _greet(self, head: dict[str, Any]) -> None:
        self.greeted = True
        missing = {"memory", "time", "files"} - set(head["limits"])
        if missing:
            log.warning("this system sets the reader of files no limits of %s", ", ".join(sorted(missing)))


def _obituary(code: int, late: bool, reader: Reader) -> str:
    """Say in one sentence why a reader ended."""
    cpu = getattr(signal, "SIGXCPU", None)
    if late or (cpu is not None and code == -cpu):
        why = f"reading took longer than {reader.seconds} seconds of processor time"
    elif code == -getattr(signal, "SIGKILL", 9):
        why = "the system ended the process, most likely for its memory"
    else:
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        why = f"a library that reads this format gave up on it ({name})"
    return (
        f"the file ended the reader: {why}. Files are read in a process of their own. {_LOST} Write the file "
        "again, or pass a sample of its rows."
    )


class _Readers:
    """The readers that all sessions of a server share."""

    def __init__(self) -> None:
        self.all = [Reader() for _ in range(READERS)]
        self.idle: queue.LifoQueue[Reader] = queue.LifoQueue()
        for reader in reversed(self.all):
            self.idle.put(reader)
        atexit.register(self.close)

    def close(self) -> None:
        for reader in self.all:
            reader.close()

    def ask(
        self,
        job: dict[str, Any],
        blobs: Sequence[Any] = (),
        arrays: Sequence[np.ndarray] = (),
        progress: Progress | None = None,
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Have a job done by the reader that is free next; as `Reader.ask`."""
        while True:
            try:
                reader = self.idle.get(timeout=0.5)
                break
            except queue.Empty:
                if progress is not None:
                    progress(0.0, "waiting for other files to be read")
        try:
            return reader.ask(job, blobs, arrays, progress)
        finally:
            try:
                reader.start()  # a dead one is replaced now, not by the next file
            finally:
                self.idle.put(reader)


_readers = _Readers()


def start() -> None:
    """Start a reader, so that the first file does not wait for its imports."""
    if _readers.idle.qsize() == READERS:
        _readers.all[0].start()


def read_files(
    files: Sequence[tuple[str, Any] | Table | None],
    *,
    roles: Roles | None = None,
    evaluation_only: bool = False,
    progress: Progress | None = None,
) -> tuple[list[Table | None], Roles | None, dict[str, Examination]]:
    """Read and examine predictions, labels, calibration predictions and calibration labels elsewhere.

    Parameters
    ----------
    files : four of (name, bytes), Table or None
        Files, or tables that were read before.
    roles : Roles, optional
        Roles of the columns of the predictions, instead of the guess.
    evaluation_only : bool
        Whether to leave calibration rows alone.
    progress : callable, optional
        Called with the share done and a word.

    Returns
    -------
    tuple of (list of Table or None, Roles or None, dict of str to Examination)
        The tables; the roles, None for arrays; the examination of each part.

    Raises
    ------
    InputError
        If the files cannot be used, or one of them ended the reader.
    """
    blobs: list[Any] = []
    arrays: list[np.ndarray] = []
    described: list[dict[str, Any] | None] = []
    for file in files:
        if file is None:
            described.append(None)
        elif isinstance(file, Table):
            described.append({"table": pack_table(file, arrays)})
        else:
            described.append({"name": file[0], "at": len(blobs)})
            blobs.append(file[1])
    job = {
        "job": "read",
        "files": described,
        "roles": pack_roles(roles),
        "evaluation_only": evaluation_only,
    }
    reply, results = _readers.ask(job, blobs, arrays, progress=progress)
    tables = [
        unpack_table(new, results) if new is not None else file if isinstance(file, Table) else None
        for new, file in zip(reply["tables"], files, strict=True)
    ]
    found_roles = unpack_roles(reply["roles"])
    raw_by_part = parts_of(tables, found_roles, evaluation_only=evaluation_only)
    reports: dict[str, Examination] = {}
    for part, findings in sorted(reply["reports"].items()):
        other = reports["calibration"].raw if part != "calibration" and "calibration" in reports else None
        reports[part] = unpack_examination(findings, results, raw_by_part[part], other)
    return tables, found_roles, reports


def check_calibrator(content: bytes) -> None:
    """Read a calibrator file elsewhere; raise InputError if it cannot be used or ended the reader."""
    _readers.ask({"job": "calibrator"}, [content])


def read_covtype(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read an uploaded COVTYPE file elsewhere: (n, 54) features and (n,) labels; raise as `read_files`."""
    features, labels = _readers.ask({"job": "covtype"}, [content])[1]
    return features, labels
