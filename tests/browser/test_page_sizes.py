"""How much there is to read and to scroll in each room: at most 200 words (Data 250) and 1,600 pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from playwright.sync_api import Page

from tests.browser.screen import CUT_OFF, PAGES, settled

WORDS, DATA_WORDS, HEIGHT = 200, 250, 1_600
WIDTHS = (1280, 1920, 390)
#: The data that each room was longest with; the thorough profile shows every room all data.
LONGEST = {
    "ten classes": ("Groups", "Judge", "Learn", "Validity"),
    "1,000 classes": ("Decide", "Imbalance", "Overview", "Reliability", "Repair", "Simplex"),
    "one event": ("Data", "Reliability"),
    "two classes": ("Overview", "Data"),
}
EXAMPLES = {"ten classes": "resnet", "1,000 classes": "many-classes"}
SIZE = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    return [main.innerText.split(/\\s+/).filter((word) => word).length, main.scrollHeight];
}"""


def table_of(data: str) -> pd.DataFrame:
    """A file of 900 rows with groups and times."""
    random, n = np.random.default_rng(3), 900
    score = random.beta(1.2, 1.2, n)
    true = random.random(n) < 0.2 + 0.6 * score
    further = {
        "hospital": random.choice(list("ABCDEFG"), n),
        "admitted": pd.date_range("2025-01-01", periods=n, freq="6h").strftime("%Y-%m-%d"),
    }
    if data == "one event":
        return pd.DataFrame({"p_event": score.round(4), "died": true.astype(int), **further})
    spam = score.round(4)
    return pd.DataFrame(
        {"p_spam": spam, "p_ham": 1 - spam, "label": np.where(true, "spam", "ham"), **further}
    )


def load(page: Page, data: str, folder: Path) -> None:
    if data not in EXAMPLES:
        table_of(data).to_csv(folder / "rows.csv", index=False)
        page.locator("input[type=file]").first.set_input_files(folder / "rows.csv")
        page.get_by_text("rows.csv is on every page").wait_for()
        settled(page)


@pytest.mark.parametrize("data", LONGEST)
def test_a_room_is_short(open_page, tmp_path, data):
    thorough = settings.get_current_profile_name() == "thorough"
    query = f"?example={EXAMPLES[data]}" if data in EXAMPLES else ""
    scheme = "dark" if data in ("1,000 classes", "one event") else "light"
    page = open_page(f"data{query}", scheme=scheme)
    load(page, data, tmp_path)
    long = []
    for name in PAGES if thorough else LONGEST[data]:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
        settled(page, calm=1_000)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            settled(page, calm=300)
            words, height = page.evaluate(SIZE)
            if words > (DATA_WORDS if name == "Data" else WORDS) or height > HEIGHT:
                long.append((name, width, words, height))
            assert page.evaluate(CUT_OFF) == [], (name, width)
    assert long == []
