"""Parts of a page that run alone: an error in one is told there, and what it changes is remembered."""

from __future__ import annotations

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from pages.shared.page_parts import COOKIE
from pages.shared.session import DEFAULT_EXAMPLE
from tests.app.running import open_page, words
from tests.app.test_several_models import files  # noqa: F401


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


@pytest.fixture
def reopened(monkeypatch):
    """Open an address in the tab that showed a page before."""

    def opener(app, page, **query):
        monkeypatch.setattr(ContextProxy, "cookies", {COOKIE: app.session_state["tab"]})
        return open_page(page, patient=False, **query)

    return opener


def fitted(**query):
    app = open_page("pages/views/repair.py", patient=False, **query)
    app.selectbox(key="chosen").select("ETS").run()
    assert "fitted" in app.query_params
    return app


@pytest.mark.parametrize("query", [{"example": "two-patients"}, {}])  # without one, the default example
def test_a_reloaded_page_has_its_fitted_calibrators(reopened, query):
    app = fitted(**query)
    after = reopened(app, "pages/views/repair.py", **app.query_params)
    assert "no longer on the server" not in words(after)
    assert "ETS" in after.session_state["methods"]


def test_a_link_to_other_data_opens_those(reopened):
    app = fitted(example="two-patients")
    assert reopened(app, "pages/views/data.py").session_state["dataset"].example == DEFAULT_EXAMPLE
    assert "no longer on the server" in words(reopened(app, "pages/views/data.py", data="uploaded"))


def test_a_reloaded_page_has_every_model_and_what_was_fitted_for_each(reopened, files):  # noqa: F811
    app = open_page("pages/views/data.py", example="two-patients")
    app.file_uploader(key="up").set_value(files).run()
    app.switch_page("pages/views/repair.py").run()
    app.selectbox(key="chosen").select("ETS").run()
    app.selectbox(key="model").select("good").run()
    after = reopened(app, "pages/views/data.py", **app.query_params)
    assert not after.exception
    state = after.session_state
    assert list(state["dataset"].models) == ["sure", "good", "noisy"]
    assert state["dataset"].model == "good"
    assert "ETS" in state["elsewhere"]["sure"]
    after.button(key="undo-data").click().run()
    assert state["dataset"].example == "two-patients"
