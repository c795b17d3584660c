"""Runs of a page or of a part of it: errors are shown, and settings and data are remembered.

A control in a part runs that part alone: the server sends less, and the browser draws less.

A reloaded page continues its former session, as long as the server still has it. Streamlit gives a reloaded
page a new session and keeps the former for a minute. What the former holds is found by a random name: the
page puts it into a cookie while it is unloaded (`assets/session.js`).
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ParamSpec

import streamlit as st

from calib import InputError
from pages.shared.session import DEFAULT_EXAMPLE, KEPT, LOG, name_data_in_address, remember_address
from pages.shared.widgets import escaped

Arguments = ParamSpec("Arguments")
SCRIPT = Path("assets/session.js")
COOKIE = "calib-tab"


def part(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Make a function a part of its page: controls in it run it again, with the same arguments.

    It draws all that changes with them. A part inside a part runs alone, too.
    """

    @wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        with keeping_session():
            function(*arguments, **options)

    return st.fragment(run)


def log_error(error: Exception) -> None:
    """Log an error of a page or a callback; Streamlit shows it."""
    LOG.error("error type=%s", type(error).__name__)


@contextmanager
def keeping_session() -> Iterator[None]:
    """Show an unforeseen error; remember the settings and the content of the session."""
    try:
        yield
    except InputError as error:  # a computation that ended its process, for example
        log_error(error)
        st.error(f"Not shown: {escaped(error)}")
    finally:
        name_data_in_address()
        remember_address(st.session_state["page-shown"])
        remember()


class Held(SimpleNamespace):
    """The content of a session; it ends with the session, because only the session refers to it."""


_held: weakref.WeakValueDictionary[str, Held] = weakref.WeakValueDictionary()


def load_again_if_older() -> None:
    """Load a page again that is older than its session: the server was restarted, or ended the former one.

    The browser still shows files that this session lacks. It names the former session when it connects again.
    """
    sent = st.context.headers.get("Sec-WebSocket-Protocol", "").split(",")  # protocol, token, former session
    if "tab" not in st.session_state and len(sent) == 3:
        st.html(f"<script>{Path('assets/reload.js').read_text()}</script>", unsafe_allow_javascript=True)
        st.stop()


def resume() -> None:
    """Give a new session the content of the session that this tab had before a reload."""
    if "tab" in st.session_state:
        return
    st.session_state["tab"] = secrets.token_urlsafe(24)
    former = _held.get(st.context.cookies.get(COOKIE, ""))
    if former is not None and former.user == _user() and _is_meant(former):
        for name, value in former.state.items():
            st.session_state[name] = value


def remember() -> None:
    """Let a reload of the page find the content of this session."""
    held = st.session_state.setdefault("held", Held(user=_user()))
    held.state = {name: st.session_state[name] for name in KEPT if name in st.session_state}
    _held[st.session_state["tab"]] = held


def script() -> str:
    """Return the element that names the session of this tab, and the script that reads it."""
    return f'<div data-calib-tab="{st.session_state["tab"]}"></div><script>{SCRIPT.read_text()}</script>'


def _is_meant(former: Held) -> bool:
    """Whether the address is about the former session's data; a link to other data opens those."""
    named = None if "data" in st.query_params else st.query_params.get("example", DEFAULT_EXAMPLE)
    return "dataset" in former.state and former.state["dataset"].example == named


def _user() -> Any:
    return st.user.get("email") if st.user.get("is_logged_in") else None
