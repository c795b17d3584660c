"""Parts of a page that run alone: an error in one is told there, and what it changes is remembered."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from calib import InputError
    from pages.shared.page_parts import part, resume

    resume()
    st.session_state["page-shown"] = "Some page"

    @part
    def first(words):
        st.markdown(words)
        st.query_params["bins"] = "7"
        raise InputError("no `rows`")

    first("before it")
    st.markdown(f"after it: {st.session_state['addresses']}")


def test_an_error_of_a_part_is_told_in_its_place():
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    assert [error.value for error in app.error] == [r"Not shown: no \`rows\`"]
    assert [item.value for item in app.markdown] == ["before it", "after it: {'Some page': {'bins': '7'}}"]
