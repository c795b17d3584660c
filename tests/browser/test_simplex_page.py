"""The Simplex page in a real browser: controls, exports, and predictions other than the built-in ones."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from playwright.sync_api import Page

from calib import load
from calib.datasets import load_example
from tests.browser.screen import keep_picture, settled


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_test_id("stSelectbox").filter(has_text=label).locator("input").click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def arrows(page: Page) -> list[list[float]]:
    """Hover data of the arrow heads of the first figure, one per bin."""
    return page.evaluate(
        """() => document.querySelector(".js-plotly-plot").data.find(trace => trace.name === "arrows")
            .customdata.filter((_, index) => index % 3 === 1).map(entry => entry.slice(0, 3))"""
    )


def saved(page: Page, click) -> bytes:
    with page.expect_download() as download:
        click()
    return download.value.path().read_bytes()


@pytest.mark.thorough  # 174,304 rows, fitted five times
def test_controls_and_downloads(open_page, tmp_path):
    page = open_page("simplex")
    assert len(arrows(page)) == 13

    page.get_by_role("button", name="Save").first.click()
    table = saved(page, page.get_by_role("button", name="Data (CSV)").click)
    (tmp_path / "bins.csv").write_bytes(table)
    frame = pd.read_csv(tmp_path / "bins.csv")
    assert frame["evaluation_rows"].sum() == 174_304
    assert [[row.bin, row.evaluation_rows, row.calibration_rows] for row in frame.itertuples()] == arrows(
        page
    )

    (tmp_path / "cal.json").write_bytes(
        saved(page, page.get_by_role("button", name="Calibrator file (JSON)").click)
    )
    calibrator = load(tmp_path / "cal.json")
    assert calibrator.n_bins_ == 13
    cells = calibrator.assign(load_example("three-classes").evaluation.proba)
    assert (cells == 0).sum() == frame["evaluation_rows"][0]

    page.get_by_role("button", name="Figure (HTML)").click()
    html = saved(page, page.get_by_role("button", name="Save recalibration.html").click)
    assert b"Plotly.newPlot" in html
    camera = page.locator(".js-plotly-plot").first.locator("[data-title^='Download plot']")
    page.locator(".js-plotly-plot").first.hover()
    assert saved(page, camera.click).startswith(b"<svg")
    page.get_by_test_id("stButtonGroup").get_by_text("PNG").click()
    settled(page)
    assert saved(page, page.get_by_text("Save picture").click).startswith(b"\x89PNG")
    page.keyboard.press("Escape")
    settled(page)

    choose(page, "Scheme", "Grid")
    assert {bin_ for bin_, *_ in arrows(page)} <= set(range(25))
    choose(page, "Scheme", "Projection")
    slider = page.get_by_test_id("stSlider").filter(has_text="Bins B").locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert len(arrows(page)) == 28
    assert "sizeB=28" in page.url


#: Where the n-th point of a trace of the first figure is on the screen, and the bin it belongs to.
MARK = """([trace, n]) => {
    const figure = document.querySelector(".js-plotly-plot");
    figure.scrollIntoView({ block: "center" });
    const { x, y, customdata } = figure._fullData.find(drawn => drawn.name === trace);
    const { xaxis, yaxis } = figure._fullLayout, box = figure.getBoundingClientRect();
    const [left, top] = [box.x + xaxis._offset, box.y + yaxis._offset];
    return [left + xaxis.d2p(x[n]), top + yaxis.d2p(y[n]), customdata[n][0]];
}"""


def test_many_classes_are_merged_or_renormalised(open_page):
    """Clicks on a point and on an arrow head list the rows of their bins."""
    page = open_page("simplex?example=digits")
    for trace, n in (("predictions", 40), ("arrows", 1)):
        page.evaluate(MARK, [trace, n])
        settled(page)
        x, y, bin_ = page.evaluate(MARK, [trace, n])
        page.mouse.click(x, y)
        page.get_by_text(re.compile(rf"Bin {bin_} of the triangle: [\d,]+ rows")).wait_for()
        settled(page)

    shown = page.evaluate(
        """() => document.querySelector(".js-plotly-plot").layout.annotations.map(note => note.text)"""
    )
    assert shown[2] == "other"
    page.get_by_role("button", name="Options").click()
    page.get_by_text("Three classes, renormalised").click()
    settled(page)
    assert page.get_by_text("conditional on one of the three classes being true").is_visible()
    keep_picture(page, "simplex-renormalised")
