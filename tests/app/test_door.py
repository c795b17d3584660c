"""The door of a running server: uploads that are refused, and what only logged-in users may ask for."""

from __future__ import annotations

import asyncio
import errno
import http.client
import logging
import os
import types
from contextlib import ExitStack

import pytest
from starlette.requests import ClientDisconnect
from streamlit import runtime
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from benchmarks.load.visitor import Visitor, served
from pages.shared import door
from pages.shared.isolation import limits
from tests.app.test_serving import table

LIMITS = {"CALIB_SESSION_MB": "10", "CALIB_SERVER_MB": "15"}


@pytest.fixture(scope="module")
def url():
    with served(**LIMITS) as (url, _):
        yield url


@pytest.fixture
def visit(url):
    """Open a session on a page; all are closed in the end."""
    visitors = []

    def visited(page="data"):
        visitors.append(Visitor(url, page))
        return visitors[-1]

    yield visited
    for visitor in visitors:
        visitor.close()


def refused(visitor, address, content=b"a,b\n1,2\n"):
    answer = visitor.put(address, content)
    return answer.status_code, answer.text


def test_a_file_must_fit_into_what_a_session_may_hold(visit):
    visitor = visit()
    assert refused(visitor, visitor.address().upload_url, bytes(9_900_000)) == (204, "")
    status, words = refused(visitor, visitor.address().upload_url, bytes(200_000))
    assert status == 413
    assert "CALIB_SESSION_MB" in words


def test_others_who_hold_much_lock_nobody_out(visit):
    for _ in range(2):
        visitor = visit()
        visitor.put(visitor.address().upload_url, bytes(7_000_000))
    small = visit()
    small.use("rows.csv", table())
    assert any("rows.csv" in text for text in small.texts("markdown"))


def test_only_a_field_of_the_page_asks_for_a_file_and_once(visit):
    visitor = visit()
    address = visitor.address().upload_url
    assert refused(visitor, address)[0] == 204
    assert refused(visitor, address)[0] == 403
    assert refused(visitor, address[:-4] + "0000")[0] == 403
    visitor.look_at("glossary")
    assert refused(visitor, visitor.address().upload_url)[0] == 403
    other = visit()
    assert refused(other, other.address().upload_url.replace(other.session, visitor.session))[0] == 403


def test_a_chunked_upload_is_refused_whatever_length_it_announces(visit):
    """HTTP lets the chunks win over the length, so that 10 announced bytes may be 250 MB."""
    visitor = visit()
    asking = http.client.HTTPConnection(visitor.url.removeprefix("http://"), timeout=60)
    asking.putrequest("PUT", visitor.address().upload_url)
    for name, value in (("X-Xsrftoken", visitor.token), ("Cookie", f"_streamlit_xsrf={visitor.token}")):
        asking.putheader(name, value)
    asking.putheader("Content-Length", "10")
    asking.putheader("Transfer-Encoding", "chunked")
    asking.endheaders()
    asking.send(b"5\r\nhello\r\n0\r\n\r\n")
    assert asking.getresponse().status == 411
    asking.close()


def test_an_upload_that_brings_more_than_it_announced_is_refused(monkeypatch):
    assert asked(reads_all, [part(10, more=False)], monkeypatch)[0] == [204]
    assert asked(reads_all, [part(10), part(1, more=False)], monkeypatch)[0] == [413]


def asked(app, messages, monkeypatch, patience=0.05):
    """What a door answers to an upload that brings these messages and then nothing."""
    monkeypatch.setattr(door, "PATIENCE", patience)
    monkeypatch.setattr(door, "LINGER", patience)
    own = door.Door(app)
    monkeypatch.setattr(own, "_admit", lambda *_: 10)
    sent, waiting = [], list(messages)

    async def receive():
        if waiting:
            return waiting.pop(0)
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/a/b", "headers": []}
    asyncio.run(own(scope, receive, send))
    assert not own.coming
    return [item["status"] for item in sent if "status" in item], b"".join(
        item.get("body", b"") for item in sent
    )


async def reads_all(scope, receive, send):
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    await send({"type": "http.response.start", "status": 204})


def part(size, more=True):
    return {"type": "http.request", "body": bytes(size), "more_body": more}


def test_an_upload_that_brings_nothing_is_ended(monkeypatch):
    assert asked(reads_all, [part(5), part(5, more=False)], monkeypatch)[0] == [204]
    status, words = asked(reads_all, [part(10)], monkeypatch)
    assert status == [408]
    assert b"no data came" in words


def test_a_cut_upload_is_a_line_in_the_log(monkeypatch, caplog):
    with caplog.at_level(logging.INFO, logger="calib.app"):
        assert asked(reads_all, [part(10), {"type": "http.disconnect"}], monkeypatch)[0] == []
    assert [record.getMessage() for record in caplog.records if record.name == "calib.app"] == [
        "upload cut bytes=10"
    ]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
def test_a_server_without_room_says_so(monkeypatch, number):
    async def fails(scope, receive, send):
        raise OSError(number, "")

    status, words = asked(fails, [], monkeypatch)
    assert status == [507]
    assert words.decode() == door.NO_ROOM[number]


def test_a_refused_upload_is_read_to_its_end_so_that_the_client_hears_why(monkeypatch):
    sent = []
    parts = [part(10), part(10), part(10, more=False)]

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent.append(len(parts))

    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/a/b", "headers": []}
    asyncio.run(door.Door(reads_all)(scope, receive, send))
    assert sent == [3, 3, 0], "status and words first, the end last"


@pytest.mark.parametrize(("free", "answer"), [(door.SPARE_HANDLES - 1, 503), (2 * door.SPARE_HANDLES, 204)])
def test_a_server_with_few_handles_says_so(monkeypatch, free, answer):
    """The free handles lie below others that are open, as after connections that came and went."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        opened = [held.enter_context(open(os.devnull, "rb")) for _ in range(3 * door.SPARE_HANDLES)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened[-1].fileno() + 1, before[1]))
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for item in opened[:free]:
            item.close()
        status, words = asked(reads_all, [part(10, more=False)], monkeypatch)
    assert status == [answer]
    assert (words.decode() == door.NO_ROOM[errno.EMFILE]) == (answer == 503)


@pytest.mark.parametrize(("mine", "of_all", "why"), [(11, 11, "SESSION"), (9, 31, "SERVER"), (2, 31, "")])
def test_a_session_that_holds_less_than_its_share_goes_on(monkeypatch, mine, of_all, why):
    monkeypatch.setenv("CALIB_SESSION_MB", "10")
    monkeypatch.setenv("CALIB_SERVER_MB", "30")
    monkeypatch.setattr(limits, "n_sessions", lambda: 10)
    told = limits.exceeded(mine * 1e6, of_all * 1e6)
    assert (f"CALIB_{why}_MB" in told) if why else told == ""


def test_what_ended_sessions_uploaded_is_dropped(monkeypatch):
    removed = []
    manager = types.SimpleNamespace(
        file_storage={"ended": {}, "here": {}},
        remove_session_files=removed.append,
        door=types.SimpleNamespace(addresses={"ended": 1, "here": 2}),
    )
    sessions = types.SimpleNamespace(
        list_sessions=lambda: [types.SimpleNamespace(session=types.SimpleNamespace(id="here"))]
    )
    server = types.SimpleNamespace(uploaded_file_mgr=manager, _session_mgr=sessions)
    monkeypatch.setattr(runtime, "get_instance", lambda: server)
    door.forget_ended()
    assert removed == ["ended"]
    assert manager.door.addresses == {"here": 2}


@pytest.mark.parametrize(
    "path", ["/_stcore/upload_file/a/b", "/_stcore/metrics", "/x/media/a.html", "/media/a"]
)
def test_who_is_not_logged_in_gets_nothing_of_a_user(monkeypatch, path):
    monkeypatch.setattr(door, "is_set_up", lambda: True)
    sent = []

    async def app(scope, receive, send):
        sent.append({"status": 200})

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    def status(cookie=b""):
        sent.clear()
        headers = [(b"cookie", b"_streamlit_user=" + cookie)]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        asyncio.run(door.Door(app)(scope, receive, send))
        return sent[0]["status"]

    monkeypatch.setattr("streamlit.web.server.starlette.starlette_websocket.get_cookie_secret", lambda: "s")
    assert status() == 403
    assert status(create_signed_value("other", "_streamlit_user", '{"is_logged_in": true}')) == 403
    assert status(create_signed_value("s", "_streamlit_user", '{"is_logged_in": false}')) == 403
    assert status(create_signed_value("s", "_streamlit_user", '{"is_logged_in": true}')) == 200
    monkeypatch.setattr(door, "is_set_up", lambda: False)
    assert status() == 200
