"""Tests: the packages of calib one by one, then the app's pages (app/) and the app in Chromium (browser/)."""

from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Files of the pages; what pages share is in pages/shared.
PAGE_FILES = sorted(path for path in (ROOT / "pages").glob("*/*.py") if path.parent.name != "shared")
