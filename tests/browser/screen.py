"""Wait for the app to come to rest, and keep pictures of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings
from playwright.sync_api import Page

from tests import PAGE_FILES, ROOT

OUTPUT = ROOT / "test-output"
#: Name of every page.
PAGES = sorted(path.stem.replace("_", " ").capitalize() for path in PAGE_FILES)

#: Settled: connected, no script running, nothing awaited, no skeleton left and every chart drawn, for `calm`
#: ms on end.
SETTLED = """calm => {
    const app = document.querySelector("[data-testid=stApp]");
    const charts = [...document.querySelectorAll("[data-testid=stPlotlyChart]")];
    const ready = app !== null
        && app.dataset.testScriptState === "notRunning"
        && app.dataset.testConnectionState === "CONNECTED"
        && document.querySelector("[data-testid=stSkeleton], [class*=st-key-cancel-]") === null
        && charts.every(chart => chart.querySelector(".main-svg") !== null);
    if (!ready) { window.calmSince = null; return false; }
    window.calmSince ??= performance.now();
    return performance.now() - window.calmSince >= calm;
}"""


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


def settled(page: Page, calm: int = 500, timeout: int = 150_000) -> Page:
    """Wait until the app has answered and drawn everything; fail if it shows an exception."""
    page.evaluate("window.calmSince = null")
    page.wait_for_function(SETTLED, arg=calm, timeout=timeout, polling=100)
    exceptions = page.get_by_test_id("stException").all_inner_texts()
    assert not exceptions, f"{page.url} shows {exceptions}"
    return page


@contextmanager
def whole(page: Page) -> Iterator[None]:
    """Make the window as tall as the page, so that all of it is rendered, also what one would scroll to."""
    before = page.viewport_size
    tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": before["width"], "height": max(before["height"], tall)})
    settled(page, calm=200)
    yield
    page.set_viewport_size(before)


def unfold(page: Page) -> None:
    """Open every expander."""
    page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(one => one.click())")
    settled(page, calm=200)


def keep_picture(page: Page, name: str) -> None:
    """Save the whole page as test-output/screens/<name>.png.

    Nothing in the fast profile: Chromium draws a long page for seconds.
    """
    if settings.get_current_profile_name() == "thorough":
        with whole(page):
            page.screenshot(path=OUTPUT / "screens" / f"{name}.png")


#: Texts of figures that reach beyond their figure, ticks that are turned, prose that its box cuts, and prose
#: that lies on other prose.
TEXT_FAULTS = """() => {
    const faults = [];
    const main = document.querySelector("[data-testid=stMain]");
    for (const figure of main.querySelectorAll(".js-plotly-plot")) {
        const box = figure.getBoundingClientRect();
        for (const text of figure.querySelectorAll(".main-svg text")) {
            const { left, right, top, bottom, width } = text.getBoundingClientRect();
            const across = left < box.left - 2 || right > box.right + 2;
            const down = top < box.top - 2 || bottom > box.bottom + 2;
            if (width > 0 && (across || down)) faults.push(`cut: ${text.textContent}`);
        }
        for (const text of figure.querySelectorAll(".xtick text, .ytick text")) {
            const turned = /rotate\\((-?[\\d.]+)/.exec(text.getAttribute("transform") ?? "");
            if (turned && Number(turned[1]) !== 0) faults.push(`turned: ${text.textContent}`);
        }
    }
    const prose = [...main.querySelectorAll("h1, h2, h3, [data-testid=stMarkdownContainer] p")]
        .filter((each) => each.checkVisibility() && !each.closest("button, label, [role=tab]"))
        .map((each) => {
            const range = document.createRange();
            range.selectNodeContents(each);
            return [each, range.getBoundingClientRect()];
        })
        .filter(([, box]) => box.width > 0 && box.height > 0);
    for (const [each] of prose) {
        const hides = getComputedStyle(each).overflowX !== "visible";
        if (hides && each.scrollWidth > each.clientWidth + 1) faults.push(`cut: ${each.innerText}`);
    }
    prose.forEach(([first, a], at) => {
        for (const [second, b] of prose.slice(at + 1, at + 4)) {
            if (first.contains(second)) continue;
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 3 && down > 6) faults.push(`on each other: ${second.innerText}`);
        }
    });
    return faults.map((fault) => fault.slice(0, 160));
}"""
