"""The five-minute tour of the documentation; `make pictures` keeps its pictures in docs/pictures."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests import ROOT
from tests.browser.screen import OUTPUT, settled
from tests.browser.steps import go, open_tab

FOLDER = ROOT / "docs" / "pictures" if os.environ.get("CALIB_PICTURES") else OUTPUT / "tour"
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


def save(picture: bytes, file: Path) -> None:
    """Save a picture in 256 colours: half of the size, and no difference to the eye."""
    file.parent.mkdir(parents=True, exist_ok=True)
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def keep(page: Page, name: str, height: int = 900) -> None:
    """Save what the window shows as a picture that the page of the tour names."""
    assert f"pictures/{name}.png" in TOUR
    page.set_viewport_size({"width": 1280, "height": height})
    page.mouse.move(1278, height - 2)  # off what it pressed
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    settled(page)
    page.wait_for_timeout(500)  # the end of an animation
    save(page.screenshot(), FOLDER / f"{name}.png")


@pytest.mark.thorough
def test_tour(open_page):
    """Every step of the page, in its order; the sentences that it quotes are on the screen."""
    page = open_page()
    main = page.get_by_test_id("stMain")
    quoted = re.findall(r"^> (.*)", TOUR, re.MULTILINE)
    assert len(quoted) >= 2
    seen = main.inner_text()
    keep(page, "tour-overview", 900)
    open_tab(page, "How sure is each number?")
    seen += main.inner_text()
    keep(page, "tour-noise", 830)
    go(page, "Reliability")
    seen += main.inner_text()
    keep(page, "tour-reliability", 1030)
    go(page, "Repair")
    seen += main.inner_text()
    keep(page, "tour-calibrate", 1120)
    go(page, "Decide")
    seen += main.inner_text()
    keep(page, "tour-decide", 860)
    words = " ".join(seen.split())
    for sentence in quoted:
        assert sentence in words, sentence
