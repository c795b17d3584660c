"""A reloaded page continues its former session, as long as the server still has it.

Streamlit gives a reloaded page a new session and keeps the former for a minute. What the former holds is
found by a random name: the page puts it into a cookie while it is unloaded (`assets/session.js`).
"""

from __future__ import annotations

import secrets
import weakref
from pathlib import Path
from typing import Any

import streamlit as st

SCRIPT = Path("assets/session.js")
COOKIE = "calib-tab"
#: Names in the session for what the user uploaded or made; settings are in the address.
KEPT = (
    *("dataset", "methods", "fits", "previous", "notes", "addresses", "chosen", "opened"),
    *("reading", "in_use", "project", "split"),
)


class Held:
    """The content of a session; it ends with the session, because only the session refers to it."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self.state: dict[str, Any] = {}


_held: weakref.WeakValueDictionary[str, Held] = weakref.WeakValueDictionary()


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
    held = st.session_state.setdefault("held", Held(_user()))
    held.state = {name: st.session_state[name] for name in KEPT if name in st.session_state}
    _held[st.session_state["tab"]] = held


def script() -> str:
    """Return the element that names the session of this tab, and the script that reads it."""
    return f'<div data-calib-tab="{st.session_state["tab"]}"></div><script>{SCRIPT.read_text()}</script>'


def _is_meant(former: Held) -> bool:
    """Whether the address is about the former session's data; a link to other data opens those."""
    example = former.state["dataset"].example if "dataset" in former.state else None
    return st.query_params.get("example") == example if example else "data" in st.query_params


def _user() -> Any:
    return st.user.get("email") if st.user.get("is_logged_in") else None
