"""A report in a real Chromium, without a network: every figure is drawn and nothing complains."""

from __future__ import annotations

from calib.calibrators.catalogue import named_methods
from calib.datasets import load_example
from calib.report import ReportInput, report_html
from tests.browser.screen import OUTPUT


def test_report_opens_offline(browser, tmp_path):
    example = load_example("resnet")
    calibration = example.calibration
    methods = named_methods()
    fitted = {name: methods[name].fit(calibration.proba, calibration.labels) for name in ("TL-HB", "TS")}
    contents = ReportInput(example.evaluation, fitted, calibration, title=example.title, simulated=True)
    (tmp_path / "report.html").write_text(report_html(contents), encoding="utf-8")

    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    figures = page.locator(".figure")
    drawn = page.locator(".figure:has(.main-svg)")
    page.wait_for_function(
        "() => document.querySelectorAll('.figure').length === "
        "document.querySelectorAll('.figure .plot-container').length"
    )
    assert figures.count() == drawn.count() == 7
    page.locator("#reliability-0 .main-svg").first.hover(position={"x": 300, "y": 250})
    page.get_by_role("link", name="Guarantee").click()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    (OUTPUT / "screens").mkdir(parents=True, exist_ok=True)
    page.screenshot(path=OUTPUT / "screens" / "report.png", full_page=True)
    context.close()
    assert complaints == []
    assert len(requests) == 1
