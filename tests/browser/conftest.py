"""The app on a port of its own, a Chromium, and pages that fail their test when the browser complains."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests import ROOT
from tests.browser.chromium import HOW_TO, launched
from tests.browser.screen import OUTPUT, settled
from tests.installed import free_port

SERVER_LOG = OUTPUT / "server.log"
#: Streamlit looks for itself beneath a deep link's path before it tries the root. It also asks once for the
#: file of each download button that appears, which the next run may have replaced. Tests read their files.
BENIGN_404 = re.compile(r"/[^/]+/_stcore/(health|host-config)$|/media/\w+\.(csv|html|json|py|zip|onnx|gz)$")
BENIGN_COMPLAINT = "Client Error: Download Button source error - 404"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and not isinstance(item, pytest.DoctestItem):
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Say once, not of each test, that there is no Chromium."""
    report = yield
    if report.skipped and HOW_TO in str(report.longrepr):
        report.longrepr = (__file__, 0, f"Skipped: {HOW_TO}")
    return report


def answers(url: str) -> bool:
    """Whether the app at `url` answers; it loads afterwards what its first page needs, and logs that."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=90):
            return True
    except OSError:
        return False


@contextmanager
def serving(port: int, log_file: Path = SERVER_LOG) -> Iterator[str]:
    """Run the app on a port; its log is test-output/server.log, or another file."""
    OUTPUT.mkdir(exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    command += ["--server.address=127.0.0.1"]
    with log_file.open("w") as log, subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as server:
        try:
            deadline = time.monotonic() + 180
            while not answers(url) or " calib ready " not in log_file.read_text():
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the app did not start; it said: {log_file.read_text()}")
                time.sleep(0.2)
            yield url
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    """Address of the running app: one server for all tests, as it is for all visitors."""
    with serving(free_port()) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def context(browser: Browser, app_url: str) -> Iterator[BrowserContext]:
    """One context with a tab that stays open: tabs of a site share a process, which compiles scripts once."""
    context = browser.new_context(reduced_motion="reduce", accept_downloads=True)
    context.set_default_timeout(60_000)
    context.new_page().goto(f"{app_url}/_stcore/health")
    yield context
    context.close()


@pytest.fixture
def open_page(
    context: BrowserContext, app_url: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Open a page of the app by its path: `open_page("reliability", width=390, scheme="dark")`.

    Every page opened is watched until the end of the test, which fails on an error in the console, an
    uncaught error of a script, or a request to any other machine. How each page looked when the test
    ended, also when it failed, is kept in test-output/last/.
    """
    complaints: list[str] = []
    pages: list[Page] = []

    def watch_console(message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        benign = message.text == BENIGN_COMPLAINT or BENIGN_404.search(urlsplit(where).path)
        if message.type == "error" and not benign:
            complaints.append(f"console: {message.text} ({where})")

    def watch_address(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            complaints.append(f"request to another machine: {address}")

    def opener(path: str = "", *, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        context.clear_cookies()
        context.pages[0].evaluate("localStorage.clear()")
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.on("console", watch_console)
        page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
        page.on("request", lambda request: watch_address(request.url))
        page.on("websocket", lambda socket: watch_address(socket.url))
        page.goto(f"{app_url}/{path}")
        settled(page)
        assert page.get_by_role("dialog").count() == 0, "a page's address is not known before a first session"
        return page

    yield opener
    for number, page in enumerate(pages):
        name = re.sub(r"[^\w.-]+", "-", f"{request.node.name}-{number}")
        page.screenshot(path=OUTPUT / "last" / f"{name}.png")
        page.close()
    assert not complaints, "\n".join(complaints)
