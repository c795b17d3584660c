"""Run the app as Streamlit's own test runner does, and read its pages."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests import PAGE_FILES, ROOT

PAGES = [path.relative_to(ROOT).as_posix() for path in PAGE_FILES]


def open_page(page: str, **query: str) -> AppTest:
    """Run the app at a page's address; `query` are the parameters of the address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return app.switch_page(page).run()


def words(app: AppTest) -> str:
    """All prose of a page, which shows no exception."""
    assert not app.exception
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.info, *app.warning])


def press(app: AppTest, label: str) -> None:
    """Press the button that reads `label`."""
    next(button for button in app.button if button.label == label).click().run()
