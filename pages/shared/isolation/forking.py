"""Workers that the standard library's fork server forks in milliseconds, with their imports done."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import connection, forkserver
from typing import IO

#: What the fork server imports.
IMPORTS = ["pages.shared.isolation.worker", "pages.shared.isolation.computing"]

#: Lock, held while this process has the environment of the fork server.
_environment = threading.Lock()


@dataclass(frozen=True)
class Start:
    """The code of a new process of the fork server: a worker between the two pipes it is sent."""

    arguments: Sequence[int]

    def _bootstrap(self, parent_sentinel: int) -> int:
        """Work until the input ends, and return the exit code; `multiprocessing.spawn` calls it."""
        worker = import_module(IMPORTS[0])  # which the fork server has imported
        for end, place in zip(forkserver.get_inherited_fds() or (), (0, 1), strict=True):
            os.dup2(end, place)
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        worker.main(*self.arguments)
        return 0


class Forked:
    """A worker that the fork server forks as soon as its imports are done; as `subprocess.Popen`.

    Parameters
    ----------
    arguments : sequence of int
        Arguments of `pages.shared.isolation.worker.main`.
    environment : dict of str to str
        Variables of the fork server, if there is none yet.
    pipe_size : int
        Size of each pipe in bytes.

    Raises
    ------
    OSError
        If no process can be started.
    """

    def __init__(self, arguments: Sequence[int], environment: dict[str, str], pipe_size: int) -> None:
        self.returncode: int | None = None
        self._pid: int | None = None
        self._lock = threading.RLock()
        (incoming, to_worker), (from_worker, outgoing) = os.pipe(), os.pipe()
        self.stdin: IO[bytes] = open(to_worker, "wb")  # noqa: SIM115 - whoever has this object closes them
        self.stdout: IO[bytes] = open(from_worker, "rb")  # noqa: SIM115
        try:
            for end in (incoming, outgoing):
                with suppress(OSError):  # the number of large pipes of a user is limited; smaller ones do
                    fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, pipe_size)
            self._status, order = _connected([incoming, outgoing], environment)
        except OSError:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(incoming)
            os.close(outgoing)
        with open(order, "wb") as file:
            file.write(pickle.dumps({}) + pickle.dumps(Start(arguments)))

    @property
    def pid(self) -> int | None:
        """Process id; waits until there is one."""
        with self._lock:
            if self._pid is None and self.returncode is None:
                self._hear()
            return self._pid

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while the process runs."""
        with self._lock:
            while self.returncode is None and connection.wait([self._status], 0):
                self._hear()
            return self.returncode

    def wait(self) -> int:
        """Wait for the exit code of a process that was killed or is ending."""
        with self._lock:
            while self.returncode is None:
                self._hear()
            return self.returncode

    def kill(self) -> None:
        """End the process at once, or as soon as it starts."""
        with self._lock:
            pid = self.pid
            if self.poll() is None and pid is not None:
                with suppress(ProcessLookupError):  # it has just ended, and the fork server will say so
                    os.kill(pid, signal.SIGKILL)

    def _hear(self) -> None:
        """Read the next number from the fork server: the process id, then the exit code."""
        try:
            number = forkserver.read_signed(self._status)
        except EOFError:  # the fork server has ended; a worker ends with its pipes
            number, self._pid = -signal.SIGKILL, self._pid or 0
        if self._pid is None:
            self._pid = number
        else:
            self.returncode = number
            os.close(self._status)


def _connected(ends: list[int], environment: dict[str, str]) -> tuple[int, int]:
    """Ask the fork server for a process; return the pipe ends of its status and of its order."""
    with _environment:  # the fork server starts with this process's, and the path to `pages`
        before = {name: os.environ[name] for name in environment.keys() & os.environ.keys()}
        os.environ.update(environment)
        try:
            forkserver.set_forkserver_preload(IMPORTS)
            return forkserver.connect_to_new_process(ends)
        finally:
            for name in environment:
                del os.environ[name]
            os.environ.update(before)
