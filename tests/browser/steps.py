"""Actions a user performs on every page."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.screen import settled


def go(page: Page, name: str) -> None:
    """Follow the link of the navigation to a page."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    settled(page)
    title = (
        re.compile("among whom") if name == "Learn" else re.compile(f"^{name}$")
    )  # Learn: of its first step
    page.get_by_role("heading", level=1, name=title).wait_for()


def open_tab(page: Page, title: str) -> None:
    """Open a tab by its title."""
    page.get_by_role("tab", name=title, exact=True).click()
    settled(page)


def upload_file(page: Page, label: str, path: Path) -> None:
    """Upload a file through the uploader with this label."""
    uploader = page.get_by_test_id("stFileUploader").filter(has_text=label)
    uploader.locator("input[type=file]").set_input_files(path)
    settled(page)
