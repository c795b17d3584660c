"""Every page by its own address, light and dark, on a wide and a narrow screen."""

from __future__ import annotations

from hypothesis import settings

from app import MOVED
from tests.browser.accessibility import findings
from tests.browser.screen import CUT_OFF, PAGES, TEXT_FAULTS, keep_picture, settled, unfold, whole

#: Theme and width. The fast profile looks at each page in one way, at its neighbours in the others.
LOOKS = [("light", 1280), ("dark", 390), ("light", 390), ("dark", 1280)]

#: Further steps of Learn.
STEPS = [f"learn?learn_tab=More&step={step}" for step in ("noise", "binning", "notions", "normalising")]
#: Whether the app is drawn in this theme, and every figure on the colour of its page.
DRAWN_IN = """scheme => {
    const app = getComputedStyle(document.querySelector("[data-testid=stApp]"));
    return app.colorScheme === scheme
        && [...document.querySelectorAll(".js-plotly-plot .main-svg:first-child")]
            .every(figure => figure.style.background === app.backgroundColor);
}"""
#: Figures that plotly drew twice, since it found too little room around their axes; not those whose names of
#: columns it turns if they do not fit.
DRAWN_TWICE = """() => [...document.querySelectorAll(".js-plotly-plot")]
    .filter(({_fullLayout: {margin, _size}}) => ["l", "r", "t", "b"].some(at => _size[at] > margin[at] + 1))
    .map(figure => figure.closest("[class*=st-key-]").className)
    .filter(name => !name.includes("slice-by-class"))"""


def test_pages_open_by_address(open_page, app_url):
    page, thorough = open_page(), settings.get_current_profile_name() == "thorough"
    for number, name in enumerate([*map(str.lower, PAGES), *MOVED, *STEPS]):  # former addresses, too
        looks = LOOKS if thorough else LOOKS[number % 4 :][:1]
        page.emulate_media(color_scheme=looks[0][0])
        page.goto(f"{app_url}/{name}")
        settled(page)
        assert page.get_by_test_id("stMain").get_by_role("heading", level=1).count() == 1, name
        assert page.get_by_role("dialog").count() == 0, name
        for scheme, width in looks:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(DRAWN_IN, arg=scheme)
            settled(page, calm=300)
            keep_picture(page, f"{name.rpartition('=')[2]}-{scheme}-{width}")
            assert page.evaluate(CUT_OFF) == [], (name, scheme, width)
            assert page.evaluate(TEXT_FAULTS) == [], (name, scheme, width)
            if width == 1280:
                assert page.evaluate(DRAWN_TWICE) == [], (name, scheme)
                with whole(page):
                    unfold(page)
                    assert findings(page) == [], (name, scheme)
