"""Exported pages in a real Chromium, without a network: every figure is drawn and nothing complains."""

from __future__ import annotations

import pytest

from calib.calibrators.catalogue import named_methods
from calib.datasets import load_example
from calib.diagrams import draw_reliability, reliability_diagram
from calib.report import ReportInput, report_html
from pages.shared.widgets import figure_page
from tests.browser.screen import OUTPUT


@pytest.fixture
def offline(browser):
    """A page without a network, which must draw all it holds under its own policy, and ask for nothing."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    yield page
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def drawn(page) -> int:
    """Number of figures, once all are drawn."""
    page.wait_for_function(
        "() => document.querySelectorAll('.figure').length === "
        "document.querySelectorAll('.figure .plot-container').length"
    )
    figures = page.locator(".figure")
    assert figures.count() == page.locator(".figure:has(.main-svg)").count()
    return figures.count()


def test_report_opens_offline(offline, tmp_path):
    example = load_example("resnet")
    calibration = example.calibration
    methods = named_methods()
    fitted = {name: methods[name].fit(calibration.proba, calibration.labels) for name in ("TL-HB", "TS")}
    contents = ReportInput(example.evaluation, fitted, calibration, title=example.title, simulated=True)
    (tmp_path / "report.html").write_text(report_html(contents), encoding="utf-8")
    offline.goto((tmp_path / "report.html").as_uri())
    assert drawn(offline) == 7
    picture = offline.locator("#living")
    picture.get_by_role("button", name="After TL-HB").click()
    picture.locator("canvas").hover(position={"x": 400, "y": 150})
    assert " are right. " in picture.locator(".words").inner_text()
    assert not offline.locator("#reliability-0").is_visible()
    offline.emulate_media(media="print")
    assert offline.locator("#reliability-0").is_visible()
    assert not picture.is_visible()
    offline.emulate_media(media="screen")
    offline.get_by_role("link", name="Guarantee").click()
    assert offline.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    (OUTPUT / "screens").mkdir(parents=True, exist_ok=True)
    offline.screenshot(path=OUTPUT / "screens" / "report.png", full_page=True)


def test_exported_figure_opens_offline_and_saves_its_picture(offline, tmp_path):
    rows = load_example("two-patients").evaluation
    figure = draw_reliability(reliability_diagram(rows.labels, rows))
    fix = "<img src=http://example.com/x.png>"
    (tmp_path / "figure.html").write_bytes(figure_page(figure, "figure", "What is <b>seen</b>", (fix,)))
    offline.goto((tmp_path / "figure.html").as_uri())
    assert drawn(offline) == 1
    assert offline.get_by_text(f"Fixed in the data: {fix}").is_visible()
    policy = offline.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline';")
    with offline.expect_download() as download:
        offline.locator("[data-title^='Download plot']").dispatch_event("click")
    assert download.value.path().read_bytes().startswith(b"<svg")
