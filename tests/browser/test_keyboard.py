"""The keyboard alone: few stops, each of them visible, every mark and row within reach."""

from __future__ import annotations

import re

import pandas as pd
from playwright.sync_api import Page, expect

from calib import load
from calib.datasets import load_example
from tests.browser.screen import settled
from tests.browser.steps import open_tab

#: Press Tab, and ask: where the focus is now, whether it left the page's elements, and whether the place it
#: came from, or a box around it, looks other than while it had the focus. A grid draws its focus itself.
STOP = """() => {
    const look = element => [0, 1, 2, 3, 4].map(() => {
        if (element === null) return "";
        const style = getComputedStyle(element);
        element = element.parentElement;
        return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
    }).join("|");
    const left = window.lastStop;
    const drawn = left?.element.closest("[data-testid=stDataFrame]");
    const shown = !left || drawn || look(left.element) !== left.look;
    const invisible = shown ? null : left.element.outerHTML.slice(0, 200);
    let now = document.activeElement;
    const host = now;  // of a component with a shadow root
    while (now.shadowRoot?.activeElement) now = now.shadowRoot.activeElement;
    window.lastStop = now === document.body ? null : { element: now, look: look(now) };
    const main = host.closest("[data-testid=stMain]") !== null && host.dataset.testid !== "stMain";
    const key = host.closest("[class*=st-key-]")?.className.match(/st-key-(\\S+)/)?.[1] ?? "";
    return { end: now === document.body, main, key, invisible };
}"""


def stops(page: Page) -> list[dict]:
    """The stops of the keyboard in the content of the page; each one shows that it has the focus."""
    page.evaluate("() => { document.activeElement.blur(); window.lastStop = null; }")
    found = []
    for _ in range(90):
        page.keyboard.press("Tab")
        page.wait_for_timeout(30)
        stop = page.evaluate(STOP)
        assert stop["invisible"] is None
        if stop["end"]:
            return found
        found += [stop] if stop["main"] else []
    raise AssertionError("the focus never leaves the page")


def test_every_bin_is_a_few_visible_stops_away(open_page):
    page = open_page("reliability?example=digits&class=-1&bin=10")
    keys = [stop["key"] for stop in stops(page)]
    assert len([key for key in keys if key != "class-table"]) < 25, keys  # a grid has a stop for each column
    assert keys.index("bin") < 16, keys
    page.get_by_role("combobox", name="Confidence", exact=True).focus()
    before = page.get_by_text(re.compile("All classes together:")).inner_text()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    settled(page)
    assert page.get_by_text(re.compile("All classes together:")).inner_text() != before


def test_rows_are_picked_by_keys_and_uploads_have_names(open_page):
    page = open_page("classes")
    panel = page.get_by_text(re.compile("is predicted for .* rows"))
    expect(panel).to_contain_text("horse")
    open_tab(page, "All classes")
    page.evaluate("document.querySelector('.st-key-class-table canvas').focus()")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    settled(page)
    expect(panel).to_be_visible()  # in its tab, which the choice has opened
    expect(panel).not_to_contain_text("horse")

    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Data").click()
    settled(page)
    settled(page)
    page.get_by_text("Calibration rows", exact=True).first.click()
    for what in ("predictions", "labels", "calibration predictions", "calibration labels"):
        assert page.get_by_role("button", name=re.compile(f"Upload ?{what}$")).count() == 1
    assert len(stops(page)) < 25


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the focus is on the control of this name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText || ''").strip().endswith(name):
            return
    raise AssertionError(f"{name} is no stop of the keyboard")


def test_from_drop_to_download(open_page, tmp_path):
    example = load_example("digits")
    table = pd.DataFrame(example.evaluation.proba, columns=[f"p_{name}" for name in "0123456789"])
    table.assign(label=example.evaluation.labels).to_csv(tmp_path / "mine.csv", index=False)
    page = open_page("data")
    with page.expect_file_chooser() as chooser:
        tab_to(page, "Upload")  # asks the page, which has then learned to hand over its chooser
        page.keyboard.press("Enter")
    chooser.value.set_files(tmp_path / "mine.csv")
    page.get_by_text("mine.csv is on every page").wait_for()
    settled(page)
    tab_to(page, "What Overview concludes")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Overview").wait_for()
    page.get_by_text(re.compile("helps\\.")).first.wait_for()
    settled(page)
    tab_to(page, "Calibrator file (JSON)")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert load(download.value.path()).n_classes_ == 10
