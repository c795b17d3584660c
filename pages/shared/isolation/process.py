"""Worker processes that may die, and pools of them: a queue, progress, and an end on request.

A worker does one job after another and is replaced when it dies; its death is one sentence in one session.
If the system has no limits for processes (`resource`), the wall clock alone ends a job, and the log
says so.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.source import Progress
from pages.shared.isolation.objects import unpack
from pages.shared.isolation.wire import Channel, MessageTooLarge

if TYPE_CHECKING:
    from pages.shared.isolation.forking import Forked

log = logging.getLogger(__name__)

#: A job that waits or sleeps is ended after this many times its processor time.
PATIENCE = 3
#: A worker that keeps more than this after a job is replaced, which gives the memory back.
MOST_KEPT = 1 << 30
#: Seconds between two calls of `progress`, at which a session that was stopped ends its job.
PAUSE = 0.2
#: A job stands in the queue as if it had come later, by this multiple of its seconds.
YIELD = 3.0

LOST = "Nothing you had loaded is lost."
#: Size of a pipe in bytes. It is large, because every piece of a message waits for Python's lock.
PIPE = 1 << 20


#: Whether workers are forked. Elsewhere each is a new Python, which takes seconds.
FORKS = sys.platform == "linux"


def environment() -> dict[str, str]:
    """Environment of a worker: this calib, one thread, and allocators that return freed memory."""
    root = str(Path(__file__).parents[3])
    return {
        "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "MALLOC_ARENA_MAX": "2",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # one thread: what is forked is whole
    }


class JobEnded(InputError):
    """A process ended before its job was done; another attempt may succeed."""


class Worker:
    """One process and its pipes, for one job at a time. Subclasses differ in their messages and limits."""

    name: str
    #: Its priority below the server's when both need the processor.
    niceness = 0
    #: Memory of a job beyond the imports, and its processor time.
    memory_mib: int
    seconds: int
    #: Messages to users: with the cause of an end, with the MB allowed for a result, with a fault.
    ended: str
    overflowed: str
    faulted: str

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.channel: Channel | None = None
        self.greeted = False
        self.used = time.monotonic()

    def start(self) -> None:
        """Start the process if there is none, without waiting for its imports."""
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        try:
            self.process = self._forked() or self._started()
        except OSError as error:
            raise InputError(f"the {self.name} cannot be started: {error.strerror}. {LOST}") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        self.greeted = False

    @property
    def max_reply_mb(self) -> float:
        return self.memory_mib * (1 << 20) / 1e6

    @property
    def _arguments(self) -> list[int]:
        return [self.memory_mib << 20, self.seconds, self.niceness]

    def _forked(self) -> Forked | None:
        if not FORKS:
            return None
        from pages.shared.isolation.forking import Forked

        try:
            return Forked(self._arguments, environment(), PIPE)
        except OSError as error:
            log.warning("the %s is not forked, which takes seconds longer: %s", self.name, error)
            return None

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this Python, and a module of calib
            [sys.executable, "-m", "pages.shared.isolation.worker", *map(str, self._arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment()},
            pipesize=PIPE,
        )

    def stop(self) -> None:
        """End the job that another thread waits for, and with it the process."""
        if self.process is not None:
            self.process.kill()

    def close(self) -> None:
        process, self.process, self.channel = self.process, None, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                try:
                    pipe.close()
                except BrokenPipeError:
                    log.debug("the %s ended before it took its last message", self.name)

    def ask(
        self,
        job: dict[str, Any],
        blobs: Sequence[Any] = (),
        arrays: Sequence[np.ndarray] = (),
        progress: Progress | None = None,
    ) -> Any:
        """Return the result of a job.

        Raises
        ------
        InputError
            If the job cannot be done; `JobEnded` if the process ended.
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
                reply, _, results = channel.receive(self.max_reply_mb * 1e6)
                if "progress" not in reply:
                    break
                if progress is not None:
                    progress(*reply["progress"])
        except (EOFError, BrokenPipeError):
            process.kill()
            raise JobEnded(self.ended.format(self._cause(process.wait(), late.is_set()))) from None
        except MessageTooLarge:
            self.close()
            raise InputError(self.overflowed.format(self.max_reply_mb)) from None
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
            raise InputError(self.faulted.format(f"({reply['fault']}; the server's log has it)"))
        return unpack(reply["result"], results)

    def _greet(self, head: dict[str, Any]) -> None:
        self.greeted = True
        missing = {"memory", "time", "files"} - set(head["limits"])
        if missing:
            log.warning("this system sets the %s no limits of %s", self.name, ", ".join(sorted(missing)))

    def _cause(self, code: int, late: bool) -> str:
        cpu = getattr(signal, "SIGXCPU", None)
        if late or (cpu is not None and code == -cpu):
            return f"it took longer than {self.seconds} seconds of processor time"
        if code == -getattr(signal, "SIGKILL", 9):
            return "the system ended the process, most likely because of its memory"
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"a library ended the process ({name})"


def session_of_thread() -> str:
    """Return the session that this thread works for, by Streamlit's context or the thread's name."""
    thread = threading.current_thread()
    context = getattr(thread, "streamlit_script_run_ctx", None)
    return getattr(context, "session_id", thread.name)


class Pool:
    """A bounded number of workers that all sessions of a server share.

    Jobs are done in order of arrival, except that a long job lets shorter jobs pass that arrive a little
    later, and a session that has used workers for some seconds lets others' jobs pass that arrive within the
    same number of seconds.

    Parameters
    ----------
    make : callable
        Makes a worker.
    size : int
        Workers at a time.
    """

    def __init__(self, make: Callable[[], Worker], size: int) -> None:
        self.size = size
        self.all = [make() for _ in range(size)]
        self.idle = list(reversed(self.all))
        #: Jobs that wait for a worker: when each is due, and its number.
        self.waiting: list[tuple[float, int]] = []
        self.numbers = count()
        #: By session, the time until which other sessions go first.
        self.yielding: dict[str, float] = {}
        self.turn = threading.Condition()
        atexit.register(self.close)

    def close(self) -> None:
        for worker in self.all:
            worker.close()

    def start(self) -> None:
        """Start a worker if all are idle, so that the first job does not wait for its imports."""
        with self.turn:
            if len(self.idle) == self.size:
                self.idle[-1].used = time.monotonic()
                self.idle[-1].start()

    def rest(self, seconds: float) -> None:
        """End processes that have been idle for this time, to release their memory."""
        with self.turn:
            for worker in self.idle:
                if worker.process is not None and time.monotonic() - worker.used > seconds:
                    worker.close()

    def ask(
        self,
        job: dict[str, Any],
        blobs: Sequence[Any] = (),
        arrays: Sequence[np.ndarray] = (),
        progress: Progress | None = None,
        seconds: float = 0.0,
    ) -> Any:
        """Return the result of a job of about `seconds`, from the worker that is free next.

        `progress` is called on this thread, again and again, with the share done and a word, also while
        the job waits. What it raises ends the job.

        Raises
        ------
        InputError
            As for `Worker.ask`.
        """
        progress = progress or (lambda share, words: None)
        session = session_of_thread()
        worker = self._next_worker(progress, seconds, session)
        begin, answer, latest = time.monotonic(), Future[Any](), deque([(0.0, "")], maxlen=1)

        def exchange() -> None:
            try:
                answer.set_result(worker.ask(job, blobs, arrays, lambda *step: latest.append(step)))
            except BaseException as error:
                answer.set_exception(error)

        try:
            worker.start()
            threading.Thread(target=exchange, daemon=True, name="calib-job").start()
            try:
                while not wait([answer], PAUSE).done:
                    progress(*latest[0])
            except BaseException:  # the session wants another page, or has ended
                worker.stop()
                wait([answer])
                raise
            return answer.result()
        finally:
            try:
                worker.start()  # a dead one is replaced now, not by the next job
            finally:
                worker.used = now = time.monotonic()
                with self.turn:
                    self.yielding = {name: until for name, until in self.yielding.items() if until > now}
                    self.yielding[session] = self.yielding.get(session, now) + now - begin
                    self.idle.append(worker)
                    self.turn.notify_all()

    def _next_worker(self, progress: Progress, seconds: float, session: str) -> Worker:
        now = time.monotonic()
        ticket = max(now, self.yielding.get(session, now)) + YIELD * seconds, next(self.numbers)
        with self.turn:
            insort(self.waiting, ticket)
        try:
            while (worker := self._idle_worker(ticket)) is None:
                before = self.waiting.index(ticket) + self.size - len(self.idle)
                progress(0.0, f"Waiting: {before} other {'job' if before == 1 else 'jobs'} first")
            return worker
        except BaseException:
            with self.turn:
                self.waiting.remove(ticket)
                self.turn.notify_all()
            raise

    def _idle_worker(self, ticket: tuple[float, int]) -> Worker | None:
        """Return a worker for a waiting job if its turn comes within `PAUSE`."""
        with self.turn:
            if not self.turn.wait_for(lambda: self.idle and self.waiting[0] == ticket, PAUSE):
                return None
            self.waiting.remove(ticket)
            return self.idle.pop()
