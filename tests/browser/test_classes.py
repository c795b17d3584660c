"""Clicks on the Classes page: a cell of the heat map and a row of the table open a class."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.screen import settled
from tests.browser.steps import go


def opacity(mark):
    return float(mark.evaluate("one => getComputedStyle(one).opacity"))


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


def test_cell_and_row_open_their_class(answers, open_page):
    page = open_page("classes?example=many-classes")
    assert any(b"Which predicted classes are" in answer for answer in answers)
    answers.clear()
    panel = page.get_by_text(re.compile("is predicted for .* rows"))
    expect(panel).to_contain_text("class 006")

    area = page.locator(".st-key-class-heat .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    names = page.locator(".st-key-class-heat .ytick").all_text_contents()
    x, y = box["x"] + 0.55 * box["width"], box["y"] + 2.5 / len(names) * box["height"]
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    tools = page.locator(".st-key-class-heat .modebar-group").first.bounding_box()
    assert tools["y"] + tools["height"] <= box["y"]  # they would take the clicks on the cells below
    page.evaluate("map = document.querySelector('.st-key-class-heat .main-svg')")
    page.mouse.click(x, y)
    settled(page)
    expect(panel).to_contain_text(names[2])
    framed = page.locator(".st-key-class-heat .scatterlayer .point").filter(visible=True)
    assert [item for item in framed.all() if opacity(item) == 1] != []
    assert page.evaluate("map.isConnected")  # the map is not drawn again, so that it stays zoomed
    assert any(b"is predicted for" in answer for answer in answers)
    assert not any(b"Which predicted classes are" in answer for answer in answers)  # a part ran alone

    table = page.locator(".st-key-class-table").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 35 * 5.5)  # the fifth row's check box, below the heads
    settled(page)
    expect(panel).to_contain_text(names[4])
    assert not page.evaluate("map.isConnected")  # its frame is no longer of the class on the screen
    framed = page.locator(".st-key-class-heat .scatterlayer .point")
    assert [item for item in framed.all() if opacity(item) == 1] == []

    go(page, "Overview")
    go(page, "Reliability")
    expect(panel).to_contain_text(names[4])  # the address that a part has changed is remembered
