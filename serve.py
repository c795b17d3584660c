"""Serve the app: `python serve.py [options of streamlit run]`, as `make run` and the container do.

`streamlit run app.py` serves it with the same protection; what only this file does is to allow the hosts in
CALIB_HOSTS, and to tell the C library to give freed memory back, which it reads when a process starts.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from urllib.parse import urlencode

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import net_util, runtime
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

#: Settings of the GNU C library: one arena, and arrays up to 4 MB in memory that was used before, since new
#: pages take as long as most work on them. Housekeeping gives back what is free.
MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(32 << 20),
}
#: Seconds after which a busy thread hands on Python's lock. Others wait for it after each long step of NumPy:
#: with the usual 5 ms, a hundred steps would wait half a second beside a busy session.
TURN = 0.0005
LOG = logging.getLogger("calib.app")
#: Set while a session is there for the addresses of the pages alone.
ADDRESSES_ONLY = threading.Event()

#: The page loads from its server alone, and runs no script but Streamlit's files and those named. Streamlit
#: and plotly write styles into the page; the camera of a figure saves its picture through `blob:`.
POLICY = (
    "default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors {frames}"
)


def headers() -> dict[str, str]:
    """Return the headers of every answer; CALIB_EMBEDDED_IN names pages that may show the app in a frame."""
    page = (Path(streamlit.__file__).parent / "static/index.html").read_text(encoding="utf-8")
    inline = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    inline += [file.read_text(encoding="utf-8") for file in (Path(__file__).parent / "assets").glob("*.js")]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    frames = " ".join(["'self'", *words("CALIB_EMBEDDED_IN")])
    return {
        "Content-Security-Policy": POLICY.format(scripts=scripts, frames=frames),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }


def words(variable: str) -> list[str]:
    """Return the words of an environment variable, which commas separate."""
    return [word.strip() for word in os.environ.get(variable, "").split(",") if word.strip()]


class Protection:
    """Refuse foreign hosts, add the protective headers, and log uploads that the server refuses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.headers = app, headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, request = time.perf_counter(), Headers(scope=scope)

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
                if scope["method"] == "PUT" and message["status"] >= 400:
                    status, length = message["status"], request.get("content-length", "unknown")
                    seconds = time.perf_counter() - begin
                    LOG.info("upload refused status=%d bytes=%s seconds=%.2f", status, length, seconds)
            await send(message)

        # Whoever watches a container asks for its health by an address of the inner network.
        watched = scope["path"].endswith("/_stcore/health")
        if watched or is_host_allowed(request.get("host")):
            await self.app(scope, receive, protected)
        else:
            refusal = PlainTextResponse("This name of the host is not among server.allowedHosts.", 400)
            await refusal(scope, receive, protected)


class Moved:
    """Send whoever asks for a former page to its room; and for the first page, which has no name, to the app.

    `moved` are rooms and their tabs, by the names of the former pages; the settings in the address stay.
    """

    def __init__(self, app: ASGIApp, first: str, moved: Mapping[str, tuple[str, str]]) -> None:
        self.app, self.first, self.moved = app, first, moved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = scope["path"].rstrip("/").rpartition("/")[2] if scope["type"] == "http" else ""
        if asked != self.first and asked not in self.moved:
            await self.app(scope, receive, send)
            return
        room, tab = self.moved.get(asked, (self.first, ""))
        settings = [urlencode({f"{room}_tab": tab})] if tab else []
        settings += [scope["query_string"].decode("latin-1")] if scope["query_string"] else []
        up = "../" if scope["path"].endswith("/") else "./"
        address = up if room == self.first else up + room
        await RedirectResponse("?".join([address, *(["&".join(settings)] if settings else [])]))(
            scope, receive, send
        )


def protection(first: str, moved: Mapping[str, tuple[str, str]]) -> list[Middleware]:
    """Return what stands between the network and Streamlit; `first` is the name of the first page."""
    from pages.shared.door import Door  # and with it most of calib, which `streamlit` need not import first

    return [Middleware(Protection), Middleware(Moved, first=first, moved=moved), Middleware(Door)]


@asynccontextmanager
async def first_session(app: streamlit.App) -> AsyncIterator[None]:
    """Let Streamlit learn the addresses of the pages before it answers; then load what the first page needs.

    Else the first visitor who comes by a deep link is told that the page was not found.
    """
    ADDRESSES_ONLY.set()
    await _run_once()
    ADDRESSES_ONLY.clear()
    warming = asyncio.create_task(_warm())
    yield
    warming.cancel()


async def _run_once() -> None:
    runs, fault = await runtime.get_instance().does_script_run_without_error()
    if not runs:
        LOG.error("the first session failed: %s", fault)


async def _warm() -> None:
    begin = time.monotonic()
    await _run_once()
    await asyncio.to_thread(import_module, "pandas.io.formats.style")  # what writes tables: 0.2 s
    from calib.base.parallel import blas_libraries
    from pages.shared.isolation import computing

    await asyncio.to_thread(blas_libraries)  # 20 ms of the first fit
    await asyncio.to_thread(computing.pool.start)  # goes on for seconds in a process of its own
    LOG.info("ready seconds=%.1f", time.monotonic() - begin)
    gc.collect()
    gc.freeze()  # what is imported stays: later searches for garbage, during which all wait, leave it out


def prepare() -> None:
    """Let Streamlit neither ask for this machine's address nor try a route to it; set up lock and log."""
    net_util._external_ip = net_util._internal_ip = "127.0.0.1"
    sys.setswitchinterval(TURN)
    if not LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s calib %(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)


def hosts() -> list[str]:
    """Return options that allow the names in CALIB_HOSTS, separated by commas, and this machine itself."""
    names = words("CALIB_HOSTS")
    allowed = [*names, "localhost", "127.0.0.1"] if names else []
    return [word for name in allowed for word in ("--server.allowedHosts", name)]


def main() -> None:
    """Serve the app with the options of the command line."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **MEMORY})  # noqa: S606
    from streamlit.web import cli

    prepare()
    os.chdir(Path(__file__).parent)
    sys.argv = ["streamlit", "run", "app.py", *hosts(), *sys.argv[1:]]
    cli.main()


if __name__ == "__main__":
    main()
