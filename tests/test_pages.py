"""Every page on every built-in example, run by Streamlit's own test runner."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from calib.datasets import EXAMPLE_TITLES

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").glob("*/[!_]*.py"))


def open_page(page: str, **query: str) -> AppTest:
    """Run the app, then the page; `query` are the parameters of its address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run().switch_page(page).run()


def words(app: AppTest) -> str:
    """All prose of a page."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.info, *app.warning])


def test_navigation_lists_every_page_file():
    listing = (ROOT / "app.py").read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"{page}"' not in listing] == []


@pytest.mark.parametrize("example", EXAMPLE_TITLES)
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_on_example(page, example):
    app = open_page(page, example=example)
    assert not app.exception
    assert not app.error
    assert len(app.title) == 1
