"""Time to draw a frame of the living picture in Chromium: `python -m benchmarks.picture`.

Each frame is drawn and read back, so that it is complete when the time is taken.
"""

import json

import numpy as np
from playwright.sync_api import Page

from calib import Predictions
from calib.diagrams.living_picture import living_picture, picture_file
from calib.evidence.rows import Rows
from tests.browser.chromium import launched
from tests.populations import population

ROWS = (1_000, 10_000, 50_000, 60_000)
FRAMES = 60
#: A frame of each kind, given the picture `p` and the number of the frame `i`.
KINDS = {
    "bin under the mouse": "p.lit = i % 14; p.paint()",
    "B is dragged": "p.setBins(2 + i % 49); p.paint()",
    "edge is dragged": "p.moveEdge(7, 0.45 + i / 1000); p.paint()",
    "before to after": "p.shown = (i + 1) / 62; p.paint()",
}
MEASURE = """([frame, n]) => {
    const p = window.picture, draw = new Function("p", "i", frame), times = [];
    p.draw = () => {};
    for (let i = 0; i < n; i++) {
        const begin = performance.now();
        draw(p, i);
        p.canvas.getContext("2d").getImageData(0, 0, 1, 1);
        times.push(performance.now() - begin);
    }
    return times;
}"""


def picture(n: int) -> dict:
    """Return the data of rows before and after they are softened."""
    proba, labels = population(n, 10, seed=1)
    softer = proba**0.8
    after = Predictions(softer / softer.sum(axis=1, keepdims=True), labels)
    return living_picture(Rows(Predictions(proba, labels)), Rows(after), named=[0, 1, 2])


def shown(page: Page, data: dict) -> None:
    """Show a picture alone."""
    show = f"mount(document.body.firstChild, {json.dumps(data)}).then((p) => window.picture = p)"
    script = f'<script type="module">{picture_file("picture.js")}\n{show}</script>'
    style = f"<style>{picture_file('picture.css')}</style>"
    page.set_content(f'<body><div class="calib-picture"></div>{style}{script}')
    page.wait_for_function("window.picture")


def main() -> None:
    """Print a line for each number of rows."""
    print(f"{'rows':>8} {'kB':>6}  " + "  ".join(f"{kind:>20}" for kind in KINDS) + "   (median, 95 % in ms)")
    with launched() as browser:
        for n in ROWS:
            data = picture(n)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            shown(page, data)
            cells = []
            for frame in KINDS.values():
                times = page.evaluate(MEASURE, [frame, FRAMES])
                cells.append(f"{np.median(times):>11.1f} {np.quantile(times, 0.95):>8.1f}")
            print(f"{n:>8,} {len(json.dumps(data)) / 1e3:>6.0f}  " + "  ".join(cells), flush=True)
            page.close()


if __name__ == "__main__":
    main()
