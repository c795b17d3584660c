"""The living picture under the mouse and the keys, in the app."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from calib import conclude, reliability_diagram
from calib.datasets import load_example
from tests.browser.accessibility import findings
from tests.browser.screen import settled
from tests.browser.steps import go


def picture(page: Page) -> Locator:
    """The picture, once it is drawn."""
    place = page.locator(".calib-picture")
    place.locator("canvas").wait_for()
    expect(place.locator(".words")).not_to_be_empty()
    return place


def spot(page: Page, confidence: float, part: float, panel: int = 0) -> tuple[float, float]:
    """A point of the window: at a confidence, and at a part of the picture's height."""
    stage = picture(page).locator(".stage").bounding_box()
    low = 0.09  # of the built-in example, before and after
    width = (stage["width"] - 20) / 2
    left = stage["x"] + panel * (width + 20) + 48
    x = left + (confidence - low) / (1.012 - low) * (width - 62)
    return x, stage["y"] + part * stage["height"]


@pytest.fixture
def page(open_page) -> Page:
    """The overview of the built-in example, with a calibrator."""
    shown = open_page()
    picture(shown).get_by_role("button", name="After TL-Platt").wait_for()
    return shown


def words(page: Page) -> str:
    return picture(page).locator(".words").inner_text()


def test_a_bin_is_lit_and_said_with_calibs_numbers(page):
    evaluation = load_example("resnet").evaluation
    diagram = reliability_diagram(evaluation)
    page.mouse.move(*spot(page, 0.56, 0.4))
    at = diagram.pooled.bin.tolist().index(8)
    share, count = diagram.pooled.mean_outcome[at], diagram.pooled.count[at]
    assert words(page).startswith(f"Told 53 to 60 %: {100 * share:.0f} % of {count} are right.")
    for code in conclude(evaluation).named:
        cell = (diagram.cells.label == code) & (diagram.cells.bin == 8)
        said = f"{evaluation.class_names[code]} {100 * diagram.cells.mean_outcome[cell][0]:.0f} %"
        assert f"{said} of {diagram.cells.count[cell][0]}" in words(page)
    picture(page).locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    assert words(page).startswith("Told 60 to 67 %")
    page.keyboard.press("Shift+ArrowRight")
    assert words(page).startswith("Told 60 to 67 %")
    assert picture(page).get_by_role("button", name="Equal widths").get_attribute("aria-pressed") == "false"
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator(".st-key-drop-choice")).to_contain_text("rows at 60 to 67.2 %")


def test_edges_bins_and_views_follow_the_hand(page):
    place = picture(page)
    page.mouse.move(*spot(page, 0.56, 0.4))
    first = words(page)
    page.mouse.move(*spot(page, 0.6, 0.915))
    page.mouse.down()
    page.mouse.move(*spot(page, 0.63, 0.915), steps=4)
    assert "63 %" in words(page)
    page.mouse.up()
    page.mouse.move(*spot(page, 0.56, 0.4))
    assert words(page).startswith("Told 53 to 63 %")
    place.get_by_role("button", name="Equal widths").click()
    page.mouse.move(*spot(page, 0.56, 0.4))
    assert words(page) == first
    place.get_by_role("button", name="After TL-Platt").click()
    page.mouse.move(*spot(page, 0.57, 0.4))
    assert words(page) != first
    place.get_by_role("button", name="Equal mass").click()
    place.get_by_text("The numbers of this picture").click()
    expect(place.locator("tbody tr")).to_have_count(15)
    assert {*place.locator("tbody td:nth-child(2)").all_inner_texts()} == {"666", "667"}


def test_a_choice_is_a_chip_on_every_page(page):
    page.mouse.click(*spot(page, 0.56, 0.3))
    settled(page)
    chip = page.locator(".st-key-drop-choice")
    expect(chip).to_contain_text("117 rows at 53.3 to 60 %")
    page.mouse.move(*spot(page, 0.5, 0.8))
    page.mouse.down()
    page.mouse.move(*spot(page, 0.7, 0.8), steps=4)
    page.mouse.up()
    settled(page)
    expect(chip).to_contain_text("rows at 50 to 70 %")
    go(page, "Groups")
    expect(chip).to_contain_text("rows at 50 to 70 %")
    chip.get_by_role("button").click()
    settled(page)
    assert chip.count() == 0


def test_b_reaches_the_other_numbers_when_it_is_let_go(open_page):
    page = open_page("reliability")
    slider = page.get_by_role("slider", name="Number of bins B")
    slider.focus()
    slider.press("ArrowLeft")
    page.wait_for_url("**bins=14*")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_fits_every_window(open_page, width, scheme):
    page = open_page("reliability", width=width, scheme=scheme)
    canvas = picture(page).locator("canvas").bounding_box()
    panels = 2 if width > 640 else 1
    across = (canvas["width"] - 20 * (panels - 1)) / panels
    down = canvas["height"] / (1 if panels == 2 else 2)
    assert across / down == pytest.approx(4 / 3, rel=0.03)
    assert canvas["x"] + canvas["width"] <= width
    assert picture(page).get_attribute("data-dark") == str(scheme == "dark").lower()
    assert not findings(page)


def test_a_picture_that_fails_leaves_the_static_figure(open_page, context):
    context.route(
        "**/picture.js",
        lambda route: route.fulfill(
            body="export default ({setTriggerValue}) => setTriggerValue('failed', 'tried')",
            content_type="text/javascript",
        ),
    )
    try:
        page = open_page("reliability")
        page.locator(".st-key-reliability-pooled .main-svg").first.wait_for()
    finally:
        context.unroute("**/picture.js")
