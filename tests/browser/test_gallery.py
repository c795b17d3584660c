"""The gallery of the documentation: each block draws a figure; `make pictures` keeps them."""

from __future__ import annotations

import re

import pytest

from calib.diagrams.style import figure_html, plotly_script
from tests import ROOT
from tests.browser.test_tour import FOLDER, save
from tests.printed import blocks

GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
PAGE = (
    '<!DOCTYPE html><meta charset="utf-8">{script}<body style="margin:12px;background:#fff">{figure}</body>'
)


@pytest.mark.thorough
def test_gallery(browser, tmp_path):
    names: dict[str, object] = {}
    first, *others = blocks(GALLERY)
    exec(first.text, names)
    pictures = re.findall(r"!\[.*\]\(pictures/(gallery-\w+)\.png\)", GALLERY)
    context = browser.new_context(offline=True, viewport={"width": 760, "height": 500})
    page = context.new_page()
    for block, picture in zip(others, pictures, strict=True):
        exec(block.text, names)
        figure = names.pop("figure")
        assert len(figure.data) > 0
        drawn = figure_html(figure.to_plotly_json(), "figure", picture)
        html = PAGE.format(script=plotly_script(), figure=drawn)
        (tmp_path / "figure.html").write_text(html, encoding="utf-8")
        page.goto((tmp_path / "figure.html").as_uri())
        page.wait_for_selector(".main-svg")
        page.set_viewport_size({"width": 760, "height": int(figure.layout.height or 450) + 24})
        save(page.screenshot(), FOLDER / f"{picture}.png")
    context.close()
