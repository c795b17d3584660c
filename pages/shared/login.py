"""A login before any page, on servers whose secrets name an OpenID Connect provider."""

from __future__ import annotations

import json

import streamlit as st
from starlette.requests import Request
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks


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
