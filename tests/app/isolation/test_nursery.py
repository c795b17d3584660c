"""Workers that are forked, or started where the system cannot fork them: the same answers and ends."""

from __future__ import annotations

import os
import signal
import socket
import time

import pytest

from calib import InputError
from pages.shared.isolation import process
from pages.shared.isolation.forking import Nursery, is_possible
from pages.shared.isolation.process import PIPE, Pool, environment
from pages.shared.isolation.reader import Reader
from pages.shared.isolation.wire import Channel
from tests.app.isolation.test_reader import CSV, LARGE, LOST, ask

pytestmark = pytest.mark.skipif(not is_possible(), reason="this system has no handles of processes")


@pytest.fixture
def nursery(monkeypatch):
    """A nursery of the test's own."""
    own = Nursery()
    monkeypatch.setattr(process, "NURSERY", own)
    yield own
    own.close()


def test_workers_start_without_a_nursery(monkeypatch, own_reader, caplog):
    """As where a system has nothing to fork with, or lets no process be started for it."""
    own = own_reader()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(process, "NURSERY", None)
        assert own._forked() is None
    broken = Nursery()
    monkeypatch.setattr(process, "NURSERY", broken)
    monkeypatch.setattr(broken, "_start", lambda environment: socket.socket(family=-2))
    assert ask(own, CSV)[0]["tables"][0]["format"] == "csv"
    assert "not forked" in caplog.text
    pid = own.process.pid

    def kill(share, words):
        os.kill(pid, signal.SIGABRT)

    with pytest.raises(InputError, match=f"gave up on it .SIGABRT.*{LOST}"):
        ask(own, LARGE, kill)


def test_a_worker_ended_before_it_begins_never_begins(nursery, own_reader):
    own = own_reader()
    own.start()
    first = own.process
    own.close()  # while the nursery imports
    assert first.poll() == -signal.SIGKILL
    assert ask(own, CSV)[0]["tables"][0]["format"] == "csv"
    first = own.process
    own.close()
    assert first.returncode == -signal.SIGKILL
    assert not os.path.exists(f"/proc/{first.pid}")


def test_another_nursery_takes_the_place_of_a_dead_one(nursery, own_reader):
    own = own_reader()
    ask(own, CSV)
    nursery.process.kill()
    nursery.process.wait()
    ask(own, CSV)  # its workers go on
    own.close()
    ask(own, CSV)


def test_a_nursery_ends_with_its_last_worker(nursery):
    pool = Pool(Reader, 1)
    pool.start()
    kept = nursery.process
    pool.rest(60.0)
    assert kept.poll() is None
    time.sleep(0.01)
    pool.rest(0.0)
    assert nursery.process is None
    assert kept.poll() is not None


def test_what_a_worker_is_given_is_its_own():
    """No worker holds the pipes of another: each ends when its own input does."""
    one, other = (process.NURSERY.fork([1 << 30, 60, 0], (), environment(), PIPE) for _ in range(2))
    Channel(one.stdout, one.stdin).receive()  # it has begun
    held = {os.readlink(f"/proc/{one.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{one.pid}/fd")}
    assert len([name for name in held if name.startswith(("pipe", "socket"))]) == 2
    one.stdin.close()
    assert one.wait() == 0
    assert other.poll() is None
    other.kill()
    assert other.wait() == -signal.SIGKILL
    for each in (one.stdout, other.stdin, other.stdout):
        each.close()
