"""The door of the server: which uploads are accepted, and who must log in.

There is a login before any page if the server's secrets name an OpenID Connect provider.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
import time
from collections import Counter, deque
from contextlib import ExitStack, suppress
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from pages.shared.isolation import limits

#: Address of an upload: its session and its file.
UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)$")
#: Addresses that need the user's cookie, if there is a login.
OWN = re.compile(r"/(_stcore/upload_file|_stcore/metrics|media)(/|$)")
#: An upload is ended if fewer than `ENOUGH` bytes arrive in `PATIENCE` seconds.
PATIENCE, ENOUGH = 30.0, 1 << 14
#: Seconds for which the rest of a refused upload is received and dropped.
LINGER = 2.0
#: Most addresses that a session may ask for without having used them.
MOST_ADDRESSES = 20
#: Answers if the system refuses.
NO_ROOM = {
    errno.ENOSPC: "The server has no room for this upload: its temporary folder is full. Try again later.",
    errno.EMFILE: "The server has too many files and connections open. Try again later.",
}
#: Free file handles that are kept for connected users: pages, their workers and uploads open some.
SPARE_HANDLES = 16
LOG = logging.getLogger("calib.app")


class Refused(Exception):
    """An upload that is refused: status and sentence."""


class Door:
    """Accept uploads that a field of their session asked for, that fit into memory and that do not stall."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.addresses: dict[str, deque[str]] = {}
        self.coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and lacks_handles():
            await refuse(scope, receive, send, NO_ROOM[errno.EMFILE], 503)
        elif scope["type"] != "http":
            self._watch_addresses()
            await self.app(scope, receive, send)
        elif OWN.search(scope["path"]) and scope["method"] != "OPTIONS" and not may_ask(Request(scope)):
            await refuse(scope, receive, send, "Log in first.", 403)
        elif scope["method"] == "PUT" and (found := UPLOAD.search(scope["path"])):
            await self._take(found[1], found[2], scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _watch_addresses(self) -> None:
        """Note each upload address of a session from now on; Streamlit has no hook for it."""
        manager: Any = runtime.get_instance().uploaded_file_mgr
        if hasattr(manager, "door"):
            return
        give = manager.get_upload_urls

        def noted(session: str, names: Any) -> Any:
            infos = give(session, names[:MOST_ADDRESSES])
            self.addresses.setdefault(session, deque(maxlen=MOST_ADDRESSES)).extend(
                info.file_id for info in infos
            )
            return infos

        manager.door, manager.get_upload_urls = self, noted

    async def _take(self, session: str, file: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept an upload, or refuse it with a sentence."""
        size, received, begun, seen, since = 0, 0, False, 0, time.monotonic()

        async def in_time() -> Message:
            nonlocal received, seen, since
            try:
                message = await asyncio.wait_for(receive(), max(since + PATIENCE - time.monotonic(), 0.0))
            except TimeoutError:
                nothing = f"The upload was ended: no data came for {PATIENCE:.0f} seconds."
                raise Refused(408, nothing) from None
            arrived = len(message.get("body", b""))
            seen, received = seen + arrived, received + arrived
            if received > size:
                raise Refused(413, f"The upload is longer than the {size:,} bytes that it stated.")
            if seen >= ENOUGH:
                seen, since = 0, time.monotonic()
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            size = self._admit(session, file, Headers(scope=scope))
            await self.app(scope, in_time, noted)
            return
        except Refused as refused:
            status, words = refused.args
        except ClientDisconnect:
            LOG.info("upload cut bytes=%d", size)
            return
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            status, words = 507, NO_ROOM[error.errno]
        finally:
            self.coming[session] -= size
            self.coming += Counter()  # without counts of 0
        if not begun:
            await refuse(scope, receive, send, words, status)

    def _admit(self, session: str, file: str, headers: Headers) -> int:
        """Count an upload that arrives; return its stated length."""
        length = headers.get("content-length", "")
        if "transfer-encoding" in headers or not length.isdecimal():  # a chunked body has any length
            raise Refused(411, "An upload must state its length, and come without Transfer-Encoding.")
        given = self.addresses.get(session, ())
        if file not in given or not has_field(session):
            raise Refused(403, "No field of this session asked for this file.")
        manager: Any = runtime.get_instance().uploaded_file_mgr
        stored = {
            name: sum(len(upload.data) for upload in list(files.values()))
            for name, files in list(manager.file_storage.items())
        }
        mine = stored.get(session, 0) + self.coming[session] + int(length)
        total = sum(stored.values()) + sum(self.coming.values()) + int(length)
        if why := limits.exceeded(mine, total):
            raise Refused(413, f"With this file, {why}.")
        given.remove(file)
        self.coming[session] += int(length)
        return int(length)


async def refuse(scope: Scope, receive: Receive, send: Send, words: str, status: int) -> None:
    """Answer with a sentence, and end the connection when its upload has ended, or after `LINGER` seconds.

    If it ended while the client sends, the client would see a broken connection instead of the answer.
    """

    async def lingering(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER):
                    while (await receive()).get("more_body"):
                        pass
            message = {"type": message["type"]}
        await send(message)

    await PlainTextResponse(words, status, {"Connection": "close"})(scope, receive, lingering)


def lacks_handles() -> bool:
    """Return whether fewer than `SPARE_HANDLES` more files may be opened."""
    with ExitStack() as opened:
        try:
            for _ in range(SPARE_HANDLES):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            return True
    return False


def has_field(session: str) -> bool:
    """Return whether the page that a session shows has a field for files."""
    info = runtime.get_instance()._session_mgr.get_active_session_info(session)
    if info is None:
        return False
    state: Any = info.session.session_state
    shown, before = state._new_widget_state, state._old_state
    return any(
        field.value_type == "file_uploader_state_value" and (name in shown.states or name in before)
        for name, field in list(shown.widget_metadata.items())
    )


def forget_ended() -> None:
    server = runtime.get_instance()
    manager: Any = server.uploaded_file_mgr
    known = {info.session.id for info in server._session_mgr.list_sessions()}
    for session in set(manager.file_storage) - known:
        manager.remove_session_files(session)
    door = getattr(manager, "door", None)
    if door is not None:
        door.addresses = {name: given for name, given in door.addresses.items() if name in known}


def is_set_up() -> bool:
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


def may_ask(request: Request) -> bool:
    """Return whether a request has the cookie of a logged-in user, or needs none."""
    if not is_set_up():
        return True
    cookie = _get_signed_cookie_with_chunks(request.cookies, USER_COOKIE_NAME)
    return cookie is not None and json.loads(cookie).get("is_logged_in") is True


def ask_for_login() -> None:
    """Stop with a button if a login is set up and nobody is logged in."""
    if not is_set_up() or st.user.get("is_logged_in"):
        return
    st.title("calib", anchor=False)
    st.markdown("This server shows calib to users who are logged in.")
    st.button("Log in", type="primary", on_click=st.login)
    st.stop()
