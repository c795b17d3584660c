"""How fast the app answers a click with 50,000 rows x 1,000 classes loaded, and what memory it holds.

Starts the app on a free port, opens it in a real Chromium and times, from the user's action until the app
has settled (script done, every chart drawn): the first visit of a page, and the clicks on it.

    python benchmarks/click_times.py [example] [repeats]

`example` is a key of `calib.datasets.EXAMPLE_TITLES` ("many-classes" by default). Needs playwright and a
Chromium, as the browser tests do, and reads /proc for the memory.
"""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser.chromium import find  # noqa: E402
from browser.conftest import FLAGS, answers, free_port  # noqa: E402

from calib.datasets import EXAMPLE_TITLES  # noqa: E402

SETTLED = """() => {
    const app = document.querySelector("[data-testid=stApp]");
    const charts = [...document.querySelectorAll("[data-testid=stPlotlyChart]")];
    return app !== null && app.dataset.testScriptState === "notRunning"
        && app.dataset.testConnectionState === "CONNECTED"
        && document.querySelector("[data-stale=true]") === null
        && charts.every(chart => chart.querySelector(".main-svg") !== null);
}"""


def wait_until_settled(page: Page) -> None:
    page.wait_for_function(SETTLED, polling=10, timeout=180_000)


def wait_for_change(page: Page, act: Callable[[], None]) -> float:
    """Seconds from an action until the page has changed and settled again; NaN if it never changes."""
    prose = "() => document.querySelector('[data-testid=stMain]').innerText"
    before = page.evaluate(prose)
    begin = time.perf_counter()
    act()
    try:
        page.wait_for_function(f"before => ({prose})() !== before", arg=before, polling=10, timeout=15_000)
    except TimeoutError:
        return math.nan
    wait_until_settled(page)
    return time.perf_counter() - begin


def aim(page: Page, chart: str, column: float, row: float) -> Callable[[], None]:
    """Bring a chart on screen and point inside its plot area, at shares of its width and height."""
    area = page.locator(f".st-key-{chart} .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    x, y = box["x"] + column * box["width"], box["y"] + row * box["height"]
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y, steps=3)
    page.wait_for_timeout(300)
    return lambda: page.mouse.click(x, y)


def press(page: Page, slider: int, key: str) -> None:
    knob = page.locator("[data-testid=stSlider] input[type=range]").nth(slider)
    knob.focus()
    knob.press(key)


def pick_option(page: Page, label: str, text: str) -> None:
    box = page.get_by_label(label, exact=True).first
    box.click()
    box.fill(text)
    box.press("Enter")


def report(name: str, seconds: list[float]) -> None:
    changed = [value for value in seconds if not math.isnan(value)]
    unchanged = f"   ({len(seconds) - len(changed)} changed nothing)" if len(changed) < len(seconds) else ""
    if changed:
        print(
            f"{name:50s} median {statistics.median(changed):6.2f} s   max {max(changed):6.2f} s{unchanged}",
            flush=True,
        )


def memory(pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    now, peak = (int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1e3 for field in ("VmRSS", "VmHWM"))
    return f"server memory {now:,.0f} MB, at most {peak:,.0f} MB so far"


def visit(page: Page, url: str, path: str) -> None:
    begin = time.perf_counter()
    page.goto(f"{url}/{path}")
    page.wait_for_selector("h1", timeout=180_000)
    wait_until_settled(page)
    report(f"open {path.split('?')[0] or 'overview'} (new session)", [time.perf_counter() - begin])


def measure(page: Page, url: str, example: str, repeats: int) -> None:
    visit(page, url, f"?example={example}")
    visit(page, url, f"classes?example={example}")
    shares = [(0.55, (row + 0.5) / 20) for row in range(1, repeats + 1)]
    report(
        "Classes: click a cell of the heat map",
        [wait_for_change(page, aim(page, "class-heat", *at)) for at in shares],
    )
    names = [f"{code:03d}" for code in range(11, 11 + repeats)]
    report(
        "Classes: choose a class (open list, type, Enter)",
        [wait_for_change(page, lambda name=name: pick_option(page, "Class", name)) for name in names],
    )
    report(
        "Classes: move the slider of bins (new floors)",
        [wait_for_change(page, lambda: press(page, 0, "ArrowRight")) for _ in range(repeats)],
    )
    report(
        "Classes: back to bins seen before",
        [wait_for_change(page, lambda: press(page, 0, "ArrowLeft")) for _ in range(repeats)],
    )
    visit(page, url, f"imbalance?example={example}")
    report(
        "Imbalance: other k",
        [wait_for_change(page, lambda: press(page, 0, "ArrowRight")) for _ in range(repeats)],
    )
    visit(page, url, f"reliability?example={example}")
    report(
        "Reliability: click a bin",
        [
            wait_for_change(page, aim(page, "reliability", x, 0.96))
            for x in (0.95, 0.85, 0.75, 0.65, 0.45)[:repeats]
        ],
    )
    report(
        "Reliability: move the slider of bins",
        [wait_for_change(page, lambda: press(page, 0, "ArrowRight")) for _ in range(repeats)],
    )


def main() -> None:
    example = sys.argv[1] if len(sys.argv) > 1 else "many-classes"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    command += ["--server.address=127.0.0.1", "--server.fileWatcherType=none"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while not answers(url):
                time.sleep(0.1)
            print(f"{EXAMPLE_TITLES[example]}; server idle: {memory(server.pid)}")
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=find(), args=FLAGS)
                page = chromium.new_page(viewport={"width": 1280, "height": 900})
                measure(page, url, example, repeats)
                chromium.close()
            print(memory(server.pid))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
