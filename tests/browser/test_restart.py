"""A server is restarted while three users work: pages say what is lost, and a project brings it back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import serving
from tests.browser.screen import settled
from tests.browser.steps import go, upload_file
from tests.installed import free_port

FIELD = "Predictions (with labels)"
ROWS = {"anna": 201, "ben": 202, "carl": 203}


def write_table(user: str, path: Path) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), ROWS[user])
    table = pd.DataFrame(proba, columns=[f"p_{user}_{name}" for name in "abc"])
    labels = [f"{user}_{name}" for name in rng.choice(list("abc"), len(table))]
    table.assign(label=labels).to_csv(path, index=False)


def work(browser: Browser, url: str, path: Path) -> Page:
    """Let a user upload a file on the Data page."""
    page = browser.new_context(reduced_motion="reduce", accept_downloads=True).new_page()
    page.goto(f"{url}/data")
    settled(page)
    upload_file(page, FIELD, path)
    expect(page.get_by_text(f"{path.name} is on every page")).to_be_visible()
    return page


def test_each_user_learns_what_a_restart_lost(browser, tmp_path):
    port, users = free_port(), {}
    with serving(port, tmp_path / "first.log") as url:
        for user in ROWS:
            write_table(user, tmp_path / f"{user}.csv")
            users[user] = work(browser, url, tmp_path / f"{user}.csv")
        with users["ben"].expect_download() as download:
            users["ben"].get_by_role("button", name="Save project").click()
        download.value.save_as(tmp_path / "ben.calib")
        go(users["carl"], "Reliability")
    for page in users.values():
        expect(page.get_by_test_id("stApp")).not_to_have_attribute("data-test-connection-state", "CONNECTED")
    with serving(port, tmp_path / "second.log"):
        for user, page in users.items():
            main = page.get_by_test_id("stMain")
            expect(main).to_contain_text("no longer on the server", timeout=120_000)
            settled(page)
            for name in ROWS:  # nothing lost is claimed, and nobody sees another one's data
                expect(main).not_to_contain_text(f"{name}.csv")
            assert "data=" not in page.url, user
        upload_file(users["anna"], FIELD, tmp_path / "anna.csv")
        upload_file(users["ben"], FIELD, tmp_path / "ben.calib")
        users["ben"].get_by_role("button", name="Open this project").click()
        settled(users["ben"])
        for user in ("anna", "ben"):
            main = users[user].get_by_test_id("stMain")
            expect(main).to_contain_text(f"{ROWS[user]} evaluation rows")
            expect(main).not_to_contain_text("no longer on the server")
        go(users["carl"], "Data")
        expect(users["carl"].get_by_test_id("stMain")).to_contain_text("no longer on the server")
    for page in users.values():
        page.context.close()
