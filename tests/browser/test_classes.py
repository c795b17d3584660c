"""Clicks on the Reliability page: a row of the table opens a class, and a mark its bin."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.screen import settled
from tests.browser.steps import go, open_tab


@pytest.fixture
def answers(context):
    """What the server sends to a page that is opened, as bytes."""
    found = []

    def keep(answer):
        found.append(answer)

    def listen(page):
        page.on("websocket", lambda socket: socket.on("framereceived", keep))

    context.on("page", listen)
    yield found
    context.remove_listener("page", listen)


def test_a_row_and_a_bin_open_their_class(answers, open_page):
    page = open_page("classes?example=many-classes")
    assert any(b"over all classes and for each" in answer for answer in answers)
    answers.clear()
    panel = page.get_by_text(re.compile("is predicted for .* rows"))
    expect(panel).to_contain_text("class 006")

    open_tab(page, "All classes")
    table = page.locator(".st-key-class-table").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 35 * 5.5)  # the fifth row's check box, below the heads
    settled(page)
    expect(panel).not_to_contain_text("class 006")
    shown = panel.inner_text().split(" is predicted")[0]
    assert any(b"is predicted for" in answer for answer in answers)
    assert not any(b"over all classes and for each" in answer for answer in answers)  # a part ran alone

    area = page.locator(".st-key-class-bins .nsewdrag").first
    area.scroll_into_view_if_needed()
    mark = page.locator(".st-key-class-bins .scatterlayer .point").last.bounding_box()
    x, y = mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    settled(page)
    expect(page.get_by_text(re.compile(f"Predicted {shown} at .*: .* rows"))).to_be_visible()

    go(page, "Overview")
    go(page, "Reliability")
    open_tab(page, "Class or bin")
    expect(panel).to_contain_text(shown)  # the address that a part has changed is remembered
