"""The lesson in a real browser: every step by its buttons and by its address, on a projector and a phone."""

from __future__ import annotations

import re

import pytest

from tests.browser.accessibility import findings
from tests.browser.screen import keep_picture, settled, unfold, whole

TITLES = (
    "Two patients",
    "Why it can only be worse",
    "Six points, five notions",
    "Ten classes in one bin",
    "Noise game",
    "Binning by hand",
    "What normalising costs",
    "Exercises and notes",
)


def heading(page) -> str:
    return page.get_by_test_id("stMain").get_by_role("heading", level=2).first.inner_text()


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
            page.get_by_role("heading", level=2, name=f"{number + 1}. {TITLES[number]}").wait_for()
            settled(page)
    assert "step=teaching" in page.url
    page.go_back()
    page.get_by_role("heading", level=2, name=f"7. {TITLES[6]}").wait_for()


def test_the_worst_case_by_keyboard_and_its_address(open_page):
    page = open_page("learn")
    share = page.get_by_test_id("stSlider").filter(has_text="P(X = a)").locator("input[type=range]")
    share.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
        settled(page, calm=100)  # the browser asks for the file of each download button that it shows
    page.get_by_role("button", name="Find the worst case").focus()
    page.keyboard.press("Enter")
    settled(page)
    # P(a) = 0.4, h = 0.6: raise b to 1, 0.6 * 0.4 = 0.24 = 0.4 * 0.6, so a falls to 0 and TL-ECE is 0.48.
    values = page.get_by_test_id("stMetricValue").all_inner_texts()
    assert values == ["0.000", "0.480"]
    assert "share=0.4" in page.url
    again = open_page(page.url.split("/", 3)[3])
    assert again.get_by_test_id("stMetricValue").all_inner_texts() == values


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
    page.get_by_role("heading", level=2, name="3. Six points, five notions").wait_for()
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
    # A whole step on a beamer's picture; the next one begins at its top, however far one has read.
    page.keyboard.press("PageDown")
    page.get_by_role("heading", level=2, name="2. Why it can only be worse").wait_for()
    settled(page)
    assert main.evaluate("main => main.scrollHeight - main.clientHeight") == 0
    keep_picture(page, "learn-presented-light-1920")
    page.keyboard.press("PageDown")
    page.get_by_role("heading", level=2, name="3. Six points, five notions").wait_for()
    settled(page)
    page.get_by_role("radio", name="class-wise").click()
    settled(page)
    main.evaluate("main => main.scrollTo(0, main.scrollHeight)")
    link = page.url
    page.keyboard.press("PageUp")
    page.get_by_role("heading", level=2, name="2. Why it can only be worse").wait_for()
    assert main.evaluate("main => main.scrollTop") == 0

    page = open_page(link.split("/", 3)[3], width=1920)
    assert heading(page) == "3. Six points, five notions"
    assert page.get_by_role("radio", name="class-wise").is_checked()
    assert not page.get_by_test_id("stSidebar").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1, name="Learn").wait_for()
    settled(page)
    assert page.get_by_role("button", name="Save").count() > 0
    assert page.get_by_role("radio", name="class-wise").is_checked()
