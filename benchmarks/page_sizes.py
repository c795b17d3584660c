"""Words, controls and height of every page in a Chromium of 1280 x 800, and where its first figure ends.

    python -m benchmarks.page_sizes [PAGE ...] [--query example=digits] [--pictures FOLDER] [--dark]

`--pictures` also saves each page's first screen, and the whole page as PAGE-whole.png. `--check` lists below
each page what axe-core finds on it, and what reaches beyond the right edge of the window.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.load.visitor import served
from tests.browser.accessibility import findings
from tests.browser.chromium import launched
from tests.browser.screen import CUT_OFF, PAGES, settled, whole

MEASURE = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const seen = [...main.querySelectorAll("button, input, select, textarea, a[href]")]
        .filter(element => element.checkVisibility());
    const ends = [...main.querySelectorAll("[data-testid=stPlotlyChart]")]
        .map(element => element.getBoundingClientRect().bottom);
    return {
        words: main.innerText.split(/\\s+/).filter(word => word).length,
        controls: seen.length,
        height: main.scrollHeight,
        figure: ends.length ? Math.round(Math.min(...ends)) : null,
        primary: seen.filter(one => one.getAttribute("kind") === "primary")
            .map(one => one.innerText.trim().split("\\n").pop()),
    };
}"""


def main() -> None:
    """Print a line per page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="*", default=[name.lower().replace(" ", "_") for name in PAGES])
    parser.add_argument("--query", default="", help="parameters of the address, such as example=words")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print(f"{'page':12} {'words':>6} {'controls':>8} {'px':>6} {'figure ends':>11}  primary buttons")
    with served() as (url, _), launched() as browser:
        context = browser.new_context(
            viewport={"width": 1280, "height": 800},
            color_scheme="dark" if options.dark else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(60_000)
        for name in options.pages:
            page = context.new_page()
            page.goto(f"{url}/{name}?{options.query}")
            settled(page, calm=1_000)
            if options.pictures:
                page.screenshot(path=options.pictures / f"{name}.png")
            found = [f"cut off: {element}" for element in page.evaluate(CUT_OFF)] if options.check else []
            with whole(page):
                size = page.evaluate(MEASURE)
                found += findings(page) if options.check else []
                if options.pictures:
                    page.screenshot(path=options.pictures / f"{name}-whole.png")
            print(
                f"{name:12} {size['words']:6,} {size['controls']:8} {size['height']:6,} "
                f"{size['figure'] or '-':>11}  {', '.join(size['primary']) or '-'}",
                *found,
                sep="\n    ",
                flush=True,
            )
            page.close()


if __name__ == "__main__":
    main()
