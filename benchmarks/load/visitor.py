"""A server of the app, and visitors that speak to it as the browser does: websocket, uploads, downloads."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import requests
from requests.adapters import HTTPAdapter
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from urllib3.util.retry import Retry
from websockets.sync.client import connect

from tests.installed import free_port

ROOT = Path(__file__).parents[2]
#: Seconds after which a run of a page counts as failed.
PATIENCE = 180


def asking(again: Retry) -> requests.Session:
    """Return a session that asks again."""
    web = requests.Session()
    web.mount("http://", HTTPAdapter(max_retries=again))
    return web


@contextmanager
def served(*options: str, root: Path = ROOT, **environment: str) -> Iterator[tuple[str, int]]:
    """Serve the app of a tree on a free port of 127.0.0.1; give its address and process id."""
    port = free_port()
    command = [sys.executable, "serve.py", f"--server.port={port}"]
    command += ["--server.address=127.0.0.1", *options]
    variables = {**os.environ, **environment}
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, cwd=root, env=variables, stdout=subprocess.DEVNULL) as server:
        try:
            with asking(Retry(300, backoff_factor=0.1, backoff_max=0.2)) as web:
                web.get(f"{url}/_stcore/health", timeout=PATIENCE).raise_for_status()
            yield url, server.pid
        finally:
            server.terminate()


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds now (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def as_npz(proba: np.ndarray, labels: np.ndarray) -> bytes:
    """Return a file of predictions."""
    file = io.BytesIO()
    np.savez(file, proba=proba, labels=labels)
    return file.getvalue()


class Visitor:
    """One session. `elements` are those of its last run, each as (kind, message, fragment)."""

    def __init__(self, url: str, page: str) -> None:
        self.url, self.page, self.query, self.widgets = url, page, "", dict[str, WidgetState]()
        # As browsers do, ask again if the server closed an idle connection just before a request on it.
        self.web = asking(Retry(2, status=0))
        self.web.get(f"{url}/_stcore/host-config", timeout=PATIENCE)
        self.web.get(f"{url}/_stcore/health", timeout=PATIENCE)
        self.token = self.web.cookies.get("_streamlit_xsrf", "")
        self.leaving = ExitStack()
        self.socket = self.leaving.enter_context(
            connect(
                url.replace("http", "ws", 1) + "/_stcore/stream",
                subprotocols=["streamlit", self.token or "none"],
                additional_headers={"Cookie": self.cookies},
                max_size=None,
                compression=None,
            )
        )
        self.session, self.elements = "", list[tuple[str, Any, str]]()
        #: Seconds between two runs of the fragments that the browser runs again by itself.
        self.repeated: dict[str, float] = {}
        self.script = ""
        self.run()

    @property
    def cookies(self) -> str:
        """The cookies of the visitor, as a header has them."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.web.cookies)

    def close(self) -> None:
        """Leave, as by closing the tab."""
        self.leaving.close()
        self.web.close()

    def run(self, *changes: WidgetState, fragment: str = "") -> None:
        """Run the page with the widgets as set so far; raise RuntimeError if it shows an exception."""
        self.widgets.update({change.id: change for change in changes if not change.trigger_value})
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.fragment_id = self.query, self.page, fragment
        state.is_auto_rerun = fragment in self.repeated
        state.page_script_hash = self.script if fragment else ""  # for the page that a fragment may run again
        pressed = {change.id: change for change in changes}
        state.widget_states.widgets.extend({**self.widgets, **pressed}.values())
        self.socket.send(message.SerializeToString())
        self.elements = [] if not fragment else self.elements
        while True:
            answer = self.receive()
            kind = answer.WhichOneof("type")
            if kind == "new_session":
                self.session = answer.new_session.initialize.session_id or self.session
                if not answer.metadata.run.fragment_ids:
                    self.repeated = {}
            elif kind == "navigation":
                self.script = answer.navigation.page_script_hash
            elif kind == "auto_rerun":
                self.repeated[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            elif kind == "delta" and answer.delta.HasField("new_element"):
                element = answer.delta.new_element
                name = element.WhichOneof("type")
                self.elements.append((name, getattr(element, name), answer.delta.fragment_id))
            elif kind == "delta" and answer.delta.add_block.HasField("popover"):
                self.elements.append(("popover", answer.delta.add_block.popover, answer.delta.fragment_id))
            elif kind == "script_finished":
                if answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    break
                self.elements = []
        if faults := [item.message for name, item, _ in self.elements if name == "exception"]:
            raise RuntimeError(f"{self.page}: {faults}")

    def wait(self) -> None:
        """Look again and again at what the page awaits, until it has it."""
        while self.repeated:
            fragment, interval = next(iter(self.repeated.items()))
            time.sleep(interval)
            self.run(fragment=fragment)

    def look_at(self, page: str) -> None:
        """Go to a page, whose elements are then known."""
        self.page, self.widgets = page, {}
        self.run()

    def named(self, kind: str, label: str = "") -> list[tuple[Any, str]]:
        """Elements of a kind whose label begins so, each with its fragment."""
        return [
            (item, at) for name, item, at in self.elements if name == kind and item.label.startswith(label)
        ]

    def texts(self, kind: str) -> list[str]:
        """Return the texts of the elements of a kind, such as "markdown" or "alert"."""
        return [item.body for name, item, _ in self.elements if name == kind]

    def receive(self) -> ForwardMsg:
        """Return the next message of the server."""
        return ForwardMsg.FromString(self.socket.recv(timeout=PATIENCE))

    def press(self, label: str) -> None:
        """Press the first button whose label begins so."""
        button, fragment = self.named("button", label)[0]
        self.run(WidgetState(id=button.id, trigger_value=True), fragment=fragment)

    def open(self, label: str) -> None:
        """Open the first menu whose label begins so."""
        menu, fragment = self.named("popover", label)[0]
        self.run(WidgetState(id=menu.id, bool_value=True), fragment=fragment)

    def use(self, name: str, content: bytes) -> None:
        """Upload a file on the Data page, which puts it to use."""
        uploader, fragment = self.named("file_uploader", "Predictions")[0]
        urls = self.address(name)
        self.put(urls.upload_url, content, name).raise_for_status()
        change = WidgetState(id=uploader.id)
        entry = change.file_uploader_state_value.uploaded_file_info.add()
        entry.name, entry.size, entry.file_id = name, len(content), urls.file_id
        entry.file_urls.CopyFrom(urls)
        self.run(change, fragment=fragment)

    def address(self, name: str = "file") -> Any:
        """Ask for the address of an upload."""
        message = BackMsg()
        request = message.file_urls_request
        request.request_id, request.session_id = "1", self.session
        request.file_names.append(name)
        self.socket.send(message.SerializeToString())
        while (answer := self.receive()).WhichOneof("type") != "file_urls_response":
            pass
        (urls,) = answer.file_urls_response.file_urls
        return urls

    def put(self, address: str, content: Any, name: str = "file") -> requests.Response:
        """Send a file to an address of an upload."""
        return self.web.put(
            self.url + address,
            files={name: (name, content)},
            headers={"X-Xsrftoken": self.token},
            timeout=PATIENCE,
        )
