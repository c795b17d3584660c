"""The address of a page: unusable parameters are dropped before a control reads them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st
from streamlit.runtime.state.session_state_proxy import get_session_state

#: Parameters that say which data are on screen; all others are settings of a page.
ABOUT_DATA = ("data", "example", "fitted", "model")
#: Settings that all pages share, and their values. A page that is opened takes them from the page before, not
#: its own last ones.
SHARED = {"bins": range(2, 51)}
#: Characters of the longest value: a state of the lesson with all votes has 300.
LONGEST = 2_000


def drop_unusable() -> None:
    """Drop parameters that no control accepts, and run the page again without them.

    Controls check range and choice themselves; an infinite number or an empty choice would stop the page.
    """
    unusable = [
        name for name in st.query_params if not all(usable(value) for value in st.query_params.get_all(name))
    ]
    if unusable:
        for name in unusable:
            del st.query_params[name]
        st.rerun()


def restore_settings(page: str, settings: Mapping[str, str]) -> None:
    """Put the last settings of a page into its address when it is opened, unless the address has settings."""
    before = st.session_state.get("page-shown")
    st.session_state["page-shown"] = page
    st.session_state["arrived"] = before not in (None, page)
    if before in (None, page) or any(name not in ABOUT_DATA for name in st.query_params):
        return
    for name, value in settings.items():
        if name not in SHARED:
            st.query_params[name] = value
    # Controls that are bound to the address read the browser's address, which lacks these settings.
    with get_session_state().query_params() as parameters:
        parameters.set_initial_query_params_from_current()


def settled() -> None:
    """Note that the page has been shown once: from now on its parts run alone."""
    st.session_state["arrived"] = False


def keep_in_address(name: str, values: Collection[Any], default: Any) -> None:
    """Keep the value of a control in the address, and take it from there at first.

    Call it before the control. The default is not added to an address, because it would be a further step to
    go back. A control that was moved since it was last shown keeps its value: the browser may still send an
    old address.
    """
    given, written = st.query_params.get(name), st.session_state.get(f"{name}-written")
    named = {str(value): value for value in values}
    arrived = st.session_state.get("arrived")
    now, shown = st.session_state.get(name), st.session_state.get(f"{name}-shown")
    moved = not arrived and now is not None and now != shown
    if not moved and (given != written or arrived) and given in named:
        st.session_state[name] = named[given]
    elif now not in values:
        st.session_state[name] = default
    elif arrived:  # this page's control is another one than the page before's
        st.session_state[name] = now
    value = st.session_state[name]
    if str(value) != given and (given is not None or value != default):
        st.query_params[name] = str(value)
    st.session_state[f"{name}-shown"] = value
    st.session_state[f"{name}-written"] = st.query_params.get(name)


def usable(value: str) -> bool:
    """Return whether a value of the address is text on one line or a finite number."""
    if not value or len(value) > LONGEST or not value.isprintable():
        return False
    try:
        return math.isfinite(float(value))
    except ValueError:
        return True
