"""Workers that are forked, or started where the system cannot fork them: the same answers and ends."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import forkserver

import pytest

from calib import InputError
from pages.shared.isolation import process
from pages.shared.isolation.wire import Channel
from tests.app.isolation.test_reader import CSV, LARGE, ask

pytestmark = pytest.mark.skipif(not process.FORKS, reason="this system forks no workers")


def forked():
    from pages.shared.isolation.forking import Forked

    return Forked([1 << 30, 60, 0], process.environment(), process.PIPE)


def server() -> int:
    return forkserver._forkserver._forkserver_pid


def end_server() -> None:
    os.kill(server(), signal.SIGKILL)
    os.waitid(os.P_PID, server(), os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("why", ["a system without fork servers", "no process can be started"])
def test_workers_start_without_a_fork_server(monkeypatch, own_reader, caplog, why):
    def refuse(ends):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    if why == "no process can be started":
        monkeypatch.setattr(forkserver, "connect_to_new_process", refuse)
    else:
        monkeypatch.setattr(process, "FORKS", False)
    own = own_reader()
    assert ask(own, CSV).format == "csv"
    assert ("not forked" in caplog.text) == (why == "no process can be started")
    pid = own.process.pid

    def kill(share, words):
        os.kill(pid, signal.SIGABRT)

    with pytest.raises(InputError, match="SIGABRT"):
        ask(own, LARGE, kill)


@pytest.mark.thorough
def test_a_worker_may_be_ended_before_it_begins(own_reader):
    close(forked())
    end_server()  # the next fork server has to import first
    own = own_reader()
    own.start()
    first = own.process
    own.close()
    assert first.returncode == -signal.SIGKILL
    assert ask(own, CSV).format == "csv"
    first = own.process
    own.close()
    assert first.returncode == -signal.SIGKILL
    assert not os.path.exists(f"/proc/{first.pid}")


def test_a_worker_may_end_just_before_it_is_ended(monkeypatch):
    worker, kill = forked(), os.kill

    def come_late(pid, number):
        worker.stdin.close()
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.001)
        kill(pid, number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", come_late)
        worker.kill()
    assert worker.wait() == 0
    close(worker)


@pytest.mark.thorough
def test_another_fork_server_takes_the_place_of_a_dead_one(own_reader):
    own = own_reader()
    ask(own, CSV)
    dead = server()
    end_server()
    ask(own, CSV)
    own.close()
    ask(own, CSV)
    assert server() != dead


def test_the_fork_server_has_one_thread_and_the_environment_of_workers(monkeypatch):
    """With more threads a fork would not be whole; with BLAS threads workers would take all processors."""
    worker = forked()
    Channel(worker.stdout, worker.stdin).receive()  # it has begun
    assert len(os.listdir(f"/proc/{server()}/task")) == 1
    with open(f"/proc/{server()}/environ", encoding="utf-8") as file:
        given = dict(line.partition("=")[::2] for line in file.read().split("\0"))
    assert process.environment().items() <= given.items()
    assert not process.environment().items() <= os.environ.items()
    close(worker)


def test_what_a_worker_is_given_is_its_own():
    """No worker holds the pipes of another: each ends when its own input does."""
    item, other = forked(), forked()
    Channel(item.stdout, item.stdin).receive()
    held = {os.readlink(f"/proc/{item.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{item.pid}/fd")}
    assert len([name for name in held if name.startswith(("pipe", "socket"))]) == 2
    item.stdin.close()
    assert item.wait() == 0
    assert other.poll() is None
    close(item)
    close(other)


def close(worker):
    worker.kill()
    worker.wait()
    worker.stdin.close()
    worker.stdout.close()
