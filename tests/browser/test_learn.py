"""The lesson in a real browser: every step by its buttons and by its address, on a projector and a phone."""

from __future__ import annotations

import re

import pytest

from tests.browser.accessibility import findings
from tests.browser.screen import keep_picture, settled, unfold, whole

TITLES = (
    "Right 60\u00a0% of the time: among whom?",
    "Ten classes in one bin",
    "A perfect model, and what it shows",
    "Why it can never be better",
    "Binning by hand",
    "Five notions of calibration",
    "What normalising costs",
    "Exercises and notes",
)


def heading(page) -> str:
    return page.get_by_test_id("stMain").get_by_role("heading", level=1).first.inner_text()


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.thorough)]
)
def test_walking_through_every_step(open_page, width, scheme):
    page = open_page("learn", width=width, scheme=scheme)
    for number, title in enumerate(TITLES, start=1):
        assert heading(page) == f"{number}. {title}"
        keep_picture(page, f"learn-{number}-{scheme}-{width}")
        with whole(page):
            unfold(page)
            assert findings(page, ["color-contrast"] if scheme == "dark" else None) == [], title
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if number < len(TITLES):
            page.get_by_role("button", name=re.compile(f"^{number + 1}\\. ")).click()
            page.get_by_role("heading", level=1, name=f"{number + 1}. {TITLES[number]}").wait_for()
            settled(page)
    assert "step=teaching" in page.url
    page.go_back()
    page.get_by_role("heading", level=1, name=f"7. {TITLES[6]}").wait_for()


def test_dots_are_dragged_and_the_address_keeps_them(open_page):
    page = open_page("learn")
    page.locator(".st-key-lesson-guess").get_by_text("fewer", exact=True).click()
    settled(page)
    figure = page.locator(".st-key-patients .js-plotly-plot")
    box = figure.bounding_box()
    (x, y), (_, goal) = figure.evaluate(
        """({layout, _fullLayout: {xaxis, yaxis}}) => {
            const [dot] = JSON.parse(layout.meta);
            return [dot.y, 0.4].map(
                (value) => [xaxis._offset + xaxis.d2p(dot.x), yaxis._offset + yaxis.d2p(value)]);
        }"""
    )
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + x, box["y"] + goal, steps=4)
    page.mouse.up()
    page.wait_for_url("**right_a=0.4*")
    settled(page)
    # P(a) = 1/2, right 0.4 and 1, both told 0.6: pooled |0.7 - 0.6|, apart (0.2 + 0.4) / 2.
    shown = page.get_by_text("conf-ECE").last.inner_text()
    assert "0.100" in shown
    assert "0.300" in shown
    slider = (
        page.get_by_test_id("stSlider").filter(has_text="told disease 1").locator("input[type=range]").first
    )
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**share=0.49*")


def test_links_from_a_heading_and_from_the_notes(open_page):
    page = open_page("reliability")
    page.get_by_role("link", name="Terms on this page").click()
    page.get_by_role("heading", level=1, name="Glossary").wait_for()
    settled(page)
    assert page.get_by_text("Top-label ECE: mean gap").is_visible()
    assert page.get_by_text("Bretagnolle").count() == 0

    page = open_page("learn?step=teaching")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Canonical").click()
    page = popup.value
    page.get_by_role("heading", level=1, name="6. Five notions of calibration").wait_for()
    settled(page)
    assert page.get_by_text("6 different vectors for six points").is_visible()
    assert "notion=canonical" in page.url


def test_a_presentation_by_keyboard_and_its_link(open_page):
    page = open_page("learn")
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.get_by_role("button", name="Present").click()
    page.get_by_role("button", name="End").wait_for()
    settled(page)
    main = page.get_by_test_id("stMain")
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert page.get_by_role("button", name="Save").count() == 0
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == 1920 * 0.0115
    # Every step with a picture is whole on a beamer's screens, before and after the guess.
    cut = []
    for number, title in enumerate(TITLES[:-1], start=1):
        page.get_by_role("heading", level=1, name=f"{number}. {title}").wait_for()
        settled(page)
        for height, width in ((1080, 1920), (720, 1280)):
            page.set_viewport_size({"width": width, "height": height})
            settled(page, calm=200)
            if rest := main.evaluate("main => main.scrollHeight - main.clientHeight"):
                cut.append((title, height, rest))
        keep_picture(page, f"learn-presented-{number}-light-1280")
        page.keyboard.press("PageDown")
    assert not cut
    for number in (8, 7):
        page.get_by_role("heading", level=1, name=f"{number}. {TITLES[number - 1]}").wait_for()
        settled(page)
        page.keyboard.press("PageUp")
    page.get_by_role("heading", level=1, name=f"6. {TITLES[5]}").wait_for()
    settled(page)
    page.locator(".st-key-lesson-guess").get_by_text("4", exact=True).click()
    page.get_by_role("radio", name="class-wise").click()
    settled(page)

    page = open_page(page.url.split("/", 3)[3], width=1920)
    assert heading(page) == f"6. {TITLES[5]}"
    assert page.get_by_role("radio", name="class-wise").is_checked()
    assert not page.get_by_test_id("stSidebar").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Present").wait_for()
    settled(page)
    assert page.get_by_role("button", name="Save").count() > 0
    assert page.get_by_role("radio", name="class-wise").is_checked()
