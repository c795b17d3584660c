"""A login before any page, on servers whose secrets name an OpenID Connect provider."""

from __future__ import annotations

import streamlit as st


def ask_for_login() -> None:
    """Stop with a button where `.streamlit/secrets.toml` has a section `auth` and nobody is logged in."""
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets or st.user.get("is_logged_in"):
        return
    st.title("calib", anchor=False)
    st.markdown("This server shows calib to users who are logged in.")
    st.button("Log in", type="primary", on_click=st.login)
    st.stop()
