"""Time the app's answers in a real Chromium, with files of several sizes uploaded, or an example opened.

    python -m benchmarks.click_times [ROWSxCLASSES or EXAMPLE ...] [--repeats 20] [--page]

Starts the app on a free port, uploads a simulated file and times each answer inside the browser: from the
user's key or click to the last change of the page before it stays as it is for `CALM` ms. What is inside a
canvas, the text of a table for screen readers, does not count: it is not drawn, and the table's component
writes it 200 ms after the table. Nor does the bar of a recommendation that the page awaits: it has a line of
its own, until it is shown. Each page is visited once before answers are timed; the first visits are
reported apart. ``--page`` writes the table into docs/answers.md. Needs playwright and a Chromium, as the
browser tests do, and reads /proc for the server's memory.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.load.visitor import as_npz, resident, served
from benchmarks.timing import put_table, simulated, table_head
from calib.datasets.example import EXAMPLE_TITLES
from tests.browser.chromium import launched
from tests.browser.steps import upload_file

SIZES = ("10000x10", "174000x3", "1000000x10", "50000x1000", "three-classes", "many-classes")
#: Milliseconds without any change after which an answer is taken to be complete.
CALM = 350
#: Runs of the page that have ended, when the user last did something, and when the page last changed.
CLOCK = """
window.clock = { runs: 0, begin: 0, last: 0, state: "" };
for (const kind of ["pointerup", "keydown"]) {
    addEventListener(kind, event => { if (event.isTrusted) clock.begin = event.timeStamp; }, true);
}
const element = node => node.nodeType === 1 ? node : node.parentElement;
const unseen = change => element(change.target)?.closest("canvas, [data-testid=stProgress]");
new MutationObserver(changes => {
    if (!changes.every(unseen)) clock.last = performance.now();
    const state = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState ?? "";
    if (state === "notRunning" && clock.state !== state) clock.runs += 1;
    clock.state = state;
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""
#: A run can begin and end between two drawings of the page: after so many ms, what has changed is the answer.
UNSEEN = 5_000
ANSWERED = f"""runs => (clock.runs > runs || (clock.begin && performance.now() - clock.begin > {UNSEEN}))
    && clock.state === "notRunning"
    && performance.now() - clock.last > {CALM}
    && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(
        chart => chart.querySelector(".main-svg") !== null)"""


class Browser:
    """A page of the app, the bytes of the answer that it received last, and lines of the table."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name, self.received, self.lines = page, name, 0, list[str]()
        page.set_default_timeout(60_000)
        page.add_init_script(CLOCK)
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _count(self, frame: bytes | str) -> None:
        self.received += len(frame)

    def open(self, url: str) -> None:
        """Open the app and wait until its first page stays as it is."""
        self.page.goto(url)
        self.page.get_by_test_id("stSidebarNav").wait_for()
        self.answered()

    def answered(self, runs: int = 0) -> float:
        """Return the seconds from the user's last key or click to the end of the answer, after some runs."""
        self.page.wait_for_function(ANSWERED, arg=runs, polling=50)
        return self.page.evaluate("clock.last - clock.begin") / 1e3

    def answer(self, act: Callable[[], None]) -> tuple[float, int]:
        """Return the seconds of an answer, and its bytes."""
        runs, self.received = self.page.evaluate("clock.runs"), 0
        act()
        seconds = self.answered(runs)
        if self.page.get_by_test_id("stException").count():
            raise RuntimeError(f"{self.page.url} shows an error of Python")
        if self.page.evaluate("clock.runs") == runs:
            print(f"no run was seen within {UNSEEN} ms; what changed counts as the answer", flush=True)
        if seconds < 0:
            raise RuntimeError(f"nothing that can be seen changed on {self.page.url}")
        return seconds, self.received

    def first_visit(self, name: str) -> None:
        """Report the first visit of a page, and the time until it has the recommendation if it awaits it."""
        self.report(f"{name}, first visit", self.answer(turn(self.page, name)))
        bar = self.page.locator("[class*=st-key-cancel-]")
        if bar.count():
            bar.wait_for(state="detached")
            self.report(f"{name}, its recommendation", (self.answered(), self.received))

    def report(self, what: str, *answers: tuple[float, int]) -> None:
        """Keep the median and the worst of some answers, and the bytes of the largest."""
        seconds, sizes = zip(*answers, strict=True)
        numbers = (1e3 * statistics.median(seconds), 1e3 * max(seconds), len(answers), max(sizes) / 1e3)
        self.say(what, *(f"{number:,.0f}" for number in numbers))

    def say(self, what: str, *cells: str) -> None:
        """Keep and print a line of the table."""
        self.lines.append(f"| {' | '.join([self.name, what, *cells, *[''] * (4 - len(cells))])} |")
        print(self.lines[-1], flush=True)


def point(page: Page, chart: str, column: float, row: float) -> Callable[[], None]:
    """Bring a chart on screen and point inside its plot area, at shares of its width and height."""
    area = page.locator(f".st-key-{chart} .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    x, y = box["x"] + column * box["width"], box["y"] + row * box["height"]
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y, steps=3)
    page.wait_for_timeout(400)
    return lambda: page.mouse.click(x, y)


def press(page: Page, key: str) -> Callable[[], None]:
    """Focus the first slider of a page, to press a key on it."""
    knob = page.locator("[data-testid=stSlider] input[type=range]").first
    knob.focus()
    return lambda: knob.press(key)


def turn(page: Page, name: str) -> Callable[[], None]:
    """Point at the link of a page."""
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True)
    return link.click


def cells_with_rows(page: Page, chart: str, repeats: int) -> list[tuple[float, float]]:
    """Return where the cells of a map or the marks of a diagram that hold rows are, as shares of the plot."""
    found = page.evaluate(
        """chart => {
            const plot = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
            const full = plot._fullLayout, [w, h] = [full.xaxis._length, full.yaxis._length];
            const at = (x, y) => [full.xaxis.c2p(x) / w, full.yaxis.c2p(y) / h];
            const found = [];
            for (const trace of plot._fullData) {
                if (trace.customdata && trace.mode?.includes("markers")) [...trace.x].forEach((x, i) => {
                    if (trace.customdata[i] !== null) found.push(
                        at(full.xaxis.d2c(x), full.yaxis.d2c(trace.y[i])));
                });
            }
            return found;
        }""",
        chart,
    )
    inside = [(x, y) for x, y in found if 0.01 < x < 0.99 and 0.01 < y < 0.99]
    if not inside:
        raise ValueError(f"{chart} shows no mark to click")
    order = np.random.default_rng(0).permutation(len(inside))
    return [inside[order[index % len(order)]] for index in range(repeats)]


def repeated(browser: Browser, repeats: int) -> None:
    """Report answers to some keys and clicks."""
    page, links = browser.page, repeats // 2 * ("Classes", "Reliability")
    browser.answer(turn(page, "Reliability"))
    browser.report(
        "from page to page: Classes, Reliability", *(browser.answer(turn(page, name)) for name in links)
    )
    for key, what in (("ArrowRight", "bins not seen before"), ("ArrowLeft", "bins seen before")):
        answers = [browser.answer(press(page, key)) for _ in range(repeats)]
        browser.report(f"Reliability, slider: {what}", *answers)
    marks = cells_with_rows(page, "reliability", repeats)
    answers = [browser.answer(point(page, "reliability", *at)) for at in marks]
    browser.report("Reliability, click on a bin", *answers)
    browser.answer(turn(page, "Classes"))
    marks = cells_with_rows(page, "class-heat", repeats)
    answers = [browser.answer(point(page, "class-heat", *at)) for at in marks]
    browser.report("Classes, click on a cell of the map", *answers)


def measured(size: str, repeats: int) -> list[str]:
    """Measure a size with a server and a browser of its own; return the lines of the table."""
    with tempfile.TemporaryDirectory() as folder, served() as (url, pid), launched() as chromium:
        time.sleep(12)  # the server and its workers load what pages need
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        if size in EXAMPLE_TITLES:
            browser = Browser(page, EXAMPLE_TITLES[size])
            browser.open(f"{url}/data?example={size}")
            page.wait_for_timeout(3000)
            for name in ("Overview", "Noise", "Compare", "Simplex"):
                browser.first_visit(name)
        else:
            rows, classes = map(int, size.split("x"))
            file = Path(folder, "simulated.npz")
            file.write_bytes(as_npz(*simulated(rows, classes)))
            browser = Browser(page, f"{rows:,} x {classes:,}")
            browser.open(f"{url}/data")
            browser.answer(lambda: upload_file(page, "Predictions (with labels", file))
            for name in ("Overview", "Reliability", "Classes", "Noise", "Compare", "Decide", "Simplex"):
                browser.first_visit(name)
            repeated(browser, repeats)
        browser.say("the server's memory at the end", f"{resident(pid):,.0f} MB")
        return browser.lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=list(SIZES), metavar="ROWSxCLASSES or EXAMPLE")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--page", action="store_true", help="write the table into docs/answers.md")
    options = parser.parse_args()
    lines = table_head("rows x classes | answer | median, ms | worst, ms | of | most sent, kB")
    print("\n".join(lines), flush=True)
    for size in options.sizes:
        lines += measured(size, options.repeats)
    if options.page:
        put_table("answers.md", "From a click to the last change", lines)


if __name__ == "__main__":
    main()
