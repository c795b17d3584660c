"""The animation of the README: the living picture under a hand; `make pictures` keeps it."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Page

from tests import ROOT
from tests.browser.screen import settled
from tests.browser.test_picture import page, picture, spot  # noqa: F401  a fixture
from tests.browser.test_tour import FOLDER

README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = "living.gif"
MOST_BYTES = 1_000_000
COLOURS = 48
#: Milliseconds between two frames while the dots move
MORPH = 75


class Film:
    """Frames of the living picture with the milliseconds that each is shown."""

    def __init__(self, shown: Page) -> None:
        self.page = shown
        box, canvas = picture(shown).bounding_box(), picture(shown).locator("canvas").bounding_box()
        assert box is not None
        assert canvas is not None
        end = canvas["y"] + canvas["height"] + 4
        self.clip = FloatRect(x=box["x"] - 8, y=box["y"], width=box["width"] + 16, height=end - box["y"])
        self.images: list[Image.Image] = []
        self.milliseconds: list[int] = []

    def take(self, milliseconds: int) -> None:
        image = Image.open(io.BytesIO(self.page.screenshot(clip=self.clip))).convert("RGB")
        self.images.append(image.quantize(COLOURS, dither=Image.Dither.NONE))
        self.milliseconds.append(milliseconds)

    def save(self) -> int:
        first, *others = self.images
        FOLDER.mkdir(parents=True, exist_ok=True)
        options = {"save_all": True, "append_images": others, "duration": self.milliseconds, "loop": 0}
        first.save(FOLDER / NAME, optimize=True, **options)
        return (FOLDER / NAME).stat().st_size


@pytest.mark.thorough
def test_the_animation_of_the_readme(page):  # noqa: F811
    assert f"(docs/pictures/{NAME})" in README
    page.set_viewport_size({"width": 1280, "height": 1200})
    settled(page)
    picture(page).locator(".stage").scroll_into_view_if_needed()
    film = Film(page)
    film.take(1200)
    for confidence in (0.43, 0.5, 0.56, 0.63, 0.7, 0.77, 0.83, 0.9):
        page.mouse.move(*spot(page, confidence, 0.4))
        film.take(1200 if confidence == 0.56 else 500)
    page.mouse.move(*spot(page, 0.6, 0.915))
    page.mouse.down()
    for edge in (0.61, 0.62, 0.63, 0.64, 0.65):
        page.mouse.move(*spot(page, edge, 0.915))
        film.take(250)
    page.mouse.up()
    picture(page).get_by_role("button", name="Equal widths").click()
    page.emulate_media(reduced_motion="no-preference")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    picture(page).get_by_role("button", name="After TL-Platt").click()
    for _ in range(12):
        page.clock.run_for(MORPH)
        film.take(MORPH)
    film.take(1800)
    assert film.save() < MOST_BYTES
    assert len({image.tobytes() for image in film.images}) > 12
