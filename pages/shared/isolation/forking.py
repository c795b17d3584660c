"""Workers forked in milliseconds by a process that has imported what they need, where a system allows it."""

from __future__ import annotations

import array
import atexit
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

#: Bytes of the longest message, to the nursery and back.
MOST = 1 << 12


class Forked:
    """A worker that the nursery forked, or will fork as soon as its imports are done; as `subprocess.Popen`.

    Parameters
    ----------
    control : socket.socket
        Brings the worker's id and a handle of its process, then its exit code.
    stdin, stdout : binary files
        Ends of the pipes to and from the worker.
    """

    def __init__(self, control: socket.socket, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        self._control, self._lock = control, threading.RLock()
        self._pid = self._handle = -1

    @property
    def pid(self) -> int:
        """Process id; waits until there is one."""
        with self._lock:
            while self._handle < 0 and self.returncode is None:
                self._hear()
            return self._pid

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while the process runs."""
        with self._lock:
            while self.returncode is None and self._hear(socket.MSG_DONTWAIT):
                pass
            return self.returncode

    def wait(self) -> int:
        """Wait for the exit code of a process that was killed, or ends."""
        with self._lock:
            while self.returncode is None:
                self._hear()
            return self.returncode

    def kill(self) -> None:
        """End the process at once, or have it end before it begins."""
        with self._lock:
            if self.poll() is not None:
                return
            if self._handle < 0:  # the nursery finds nobody to tell of it, unless it just did
                self._control.shutdown(socket.SHUT_RDWR)
                self._hear()
            if self.returncode is None:
                kill(self._handle)

    def abandon(self) -> None:
        """Let go of a process that there will not be."""
        self.returncode = -signal.SIGKILL
        for end in (self._control, self.stdin, self.stdout):
            end.close()

    def _hear(self, flags: int = 0) -> bool:
        """Take the next message; return whether there was one."""
        try:
            text, handles = receive(self._control, 1, flags)
        except BlockingIOError:
            return False
        if handles:
            self._pid, self._handle = json.loads(text), handles[0]
            return True
        self.returncode = json.loads(text) if text else -signal.SIGKILL  # nothing: the nursery has ended
        self._control.close()
        if self._handle >= 0:
            os.close(self._handle)
        return True


class Nursery:
    """The nursery of a server, started when a worker is first asked for."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._forked: list[Forked] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def fork(
        self, arguments: Sequence[int], imports: Sequence[str], environment: dict[str, str], pipe_size: int
    ) -> Forked:
        """Ask for a worker that has imported these modules, without waiting for it.

        Raises
        ------
        OSError
            If no process can be started.
        """
        import fcntl

        control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        to_worker, from_worker = os.pipe(), os.pipe()
        for end in (to_worker[1], from_worker[1]):
            with suppress(OSError):  # a user has so many large pipes; smaller ones do
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, pipe_size)
        given = [to_worker[0], from_worker[1], other.detach()]
        forked = Forked(
            control,
            io.BufferedWriter(io.FileIO(to_worker[1], "w")),
            io.BufferedReader(io.FileIO(from_worker[0])),
        )
        try:
            with self._lock:
                self._start(environment)
                assert self._requests is not None
                message = json.dumps([list(arguments), list(imports)]).encode()
                socket.send_fds(self._requests, [message], given)
                self._forked.append(forked)
        except OSError:
            forked.abandon()
            raise
        finally:
            for end in given:
                os.close(end)
        return forked

    def _start(self, environment: dict[str, str]) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self.process = subprocess.Popen(  # noqa: S603 - this Python, and a module of calib
                [sys.executable, "-m", "pages.shared.isolation.nursery", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={**environment, "JE_ARROW_MALLOC_CONF": "background_thread:false"},
            )

    def rest(self) -> None:
        """End the process if none of its workers is left, which gives its memory back."""
        with self._lock:
            self._forked = [one for one in self._forked if one.poll() is None]
            if not self._forked:
                self.close()

    def close(self) -> None:
        """End the process; workers that it forked go on."""
        if self.process is not None:
            assert self._requests is not None
            self._requests.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def is_possible() -> bool:
    """Whether this system has what a nursery needs."""
    if sys.platform != "linux" or not hasattr(signal, "pidfd_send_signal"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def receive(control: socket.socket, most: int, flags: int = 0) -> tuple[bytes, list[int]]:
    """Take a message and the files that came with it; `socket.recv_fds` knows of no flags (Python 3.11)."""
    size = array.array("i").itemsize
    text, ancillary, _, _ = control.recvmsg(MOST, socket.CMSG_LEN(most * size), flags)
    handles = array.array("i")
    for _, _, data in ancillary:
        handles.frombytes(data[: len(data) - len(data) % size])
    return text, handles.tolist()


def kill(handle: int) -> None:
    """End a process, if it has not ended."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
