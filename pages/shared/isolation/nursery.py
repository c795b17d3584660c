"""The process that forks workers: it has one thread, so that what it forks is whole.

`pages.shared.isolation.forking` starts it, never by hand, and it ends with the process that started it.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, NamedTuple

from pages.shared.isolation.forking import kill, receive
from pages.shared.isolation.worker import main as work


class _Child(NamedTuple):
    """A worker that was forked: its process id and where its exit code is sent."""

    pid: int
    control: socket.socket


def main(requests: socket.socket) -> None:
    """Fork workers until the requests end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its server
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fileobj)
                    _bury(key.fd, key.data)
                    continue
                message, handles = receive(requests, 3)
                if not message:
                    return
                arguments, imports = json.loads(message)
                for module in imports:
                    importlib.import_module(module)
                handle, child = _fork(arguments, handles, selector)
                selector.register(handle, selectors.EVENT_READ, child)


def _fork(arguments: list[int], handles: list[int], selector: Any) -> tuple[int, _Child]:
    """Fork a worker whose input, output and control are `handles`; return a handle of it."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a process of several threads is not forked")
    incoming, outgoing, control = handles
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(incoming, 0)
            os.dup2(outgoing, 1)
            os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
            work(*arguments)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(incoming)
    os.close(outgoing)
    handle = os.pidfd_open(pid)
    child = _Child(pid, socket.socket(fileno=control))
    try:
        socket.send_fds(child.control, [json.dumps(pid).encode()], [handle])
    except OSError:  # nobody wants it any more
        kill(handle)
    return handle, child


def _bury(handle: int, child: _Child) -> None:
    """Send the exit code of a worker that has ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    os.close(handle)
    with child.control, suppress(OSError):  # nobody may ask
        child.control.send(json.dumps(code).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
