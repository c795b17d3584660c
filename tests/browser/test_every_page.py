"""Every page by its own address, light and dark, on a wide and a narrow screen."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.browser.accessibility import findings
from tests.browser.screen import PAGES, keep_picture, settled, whole

#: Elements of the page that reach beyond its right edge, where nothing scrolls.
CUT_OFF = """() => {
    const width = document.documentElement.clientWidth;
    return [...document.querySelectorAll("[data-testid=stMain] *")]
        .filter(element => {
            const box = element.getBoundingClientRect();
            if (box.width === 0 || box.right <= width + 1) return false;
            for (let parent = element.parentElement; parent; parent = parent.parentElement) {
                const flow = getComputedStyle(parent).overflowX;
                if (flow !== "visible" && parent.getBoundingClientRect().right <= width + 1) return false;
            }
            return true;
        })
        .map(element => `${element.tagName} ${element.className}`.slice(0, 120));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_by_address(open_page, app_url, scheme):
    """In one browser context, which keeps Streamlit's own files: a first page spends most time on them."""
    page, thorough = open_page(scheme=scheme), settings.get_current_profile_name() == "thorough"
    for name in map(str.lower, PAGES):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"{app_url}/{'' if name == 'overview' else name}")
        settled(page)
        assert page.get_by_test_id("stMain").get_by_role("heading", level=1).count() == 1, name
        assert page.get_by_role("dialog").count() == 0, name
        for width in (1280, 390) if scheme == "light" or thorough else (1280,):  # colours move nothing
            page.set_viewport_size({"width": width, "height": 900})
            settled(page, calm=200)
            keep_picture(page, f"{name}-{scheme}-{width}")
            assert page.evaluate(CUT_OFF) == [], name
            if width == 1280:
                with whole(page):
                    assert findings(page, ["color-contrast"] if scheme == "dark" else None) == [], name
