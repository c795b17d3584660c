"""Class names come from users' files: on every page they are text, never markup, and fetch nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.browser.screen import PAGES, settled
from tests.browser.steps import go, upload_file

NAMES = (
    "![x](http://example.com/x.png)",
    "<img src=http://example.com/y.png onerror=\"document.title='taken'\">",
    "<b>bold</b> %{y} $x^2$",
    "[link](http://example.com) :red[red] `code`",
    "=1+1",
    "a" * 80,
)


def test_class_names_stay_text_on_every_page(open_page, tmp_path):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(len(NAMES), 0.4), 600)
    codes = [rng.choice(len(NAMES), p=row / row.sum()) for row in proba]
    table = pd.DataFrame(proba, columns=list(NAMES)).assign(label=[NAMES[code] for code in codes])
    table["day"] = np.datetime_as_string(np.datetime64("2026-01-01") + rng.integers(0, 90, 600))
    path = tmp_path / "![name](http:--example.com).csv"
    table.to_csv(path, index=False)

    page = open_page("data")
    upload_file(page, "Predictions (with labels", path)
    settled(page)
    assert page.get_by_test_id("stAlertContentError").count() == 0
    for name in PAGES:
        go(page, name)
        main = page.get_by_test_id("stMain")
        assert main.locator("img[src*='example.com'], a[href*='example.com']").count() == 0
        assert page.title() != "taken"
