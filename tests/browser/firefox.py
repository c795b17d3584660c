"""A Firefox without a window, by WebDriver BiDi: the build that Playwright makes is none that people use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("firefox", "firefox-esr")
#: Seconds in which Firefox starts.
START = 60
#: Bytes of the largest message, which can hold a picture of the window.
LARGEST = 2**26


class Firefox:
    """One window; an error of a script on its page is kept in `complaints`."""

    def __init__(self, line: ClientConnection) -> None:
        self.line, self.numbers, self.complaints = line, count(1), list[str]()
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        number = next(self.numbers)
        self.line.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.line.recv(timeout=2 * START))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.complaints.append(answer["params"]["text"])
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, address: str, *, width: int = 1280, height: int = 900) -> None:
        size = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self.context, viewport=size)
        self.send("browsingContext.navigate", context=self.context, url="about:blank", wait="complete")
        self.complaints.clear()  # of requests that the page before had not ended
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the JSON value of an expression, or of its promise."""
        found = self.send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"].get("value", "null"))

    def wait_for(self, condition: str, seconds: float = 60) -> None:
        """Wait until an expression is true."""
        waited = f"""new Promise(done => {{
            const end = performance.now() + {1000 * seconds};
            const look = () => ({condition}) ? done(true)
                : performance.now() > end ? done(false) : setTimeout(look, 100);
            look();
        }})"""
        assert self.evaluate(waited), f"not within {seconds} s: {condition}"

    def move(self, x: float, y: float, *, drag_to: tuple[float, float] | None = None) -> None:
        """Move the mouse to a point of the window, and from there drag to another one."""

        def to(place: tuple[float, float]) -> dict[str, Any]:
            return {"type": "pointerMove", "x": round(place[0]), "y": round(place[1]), "duration": 50}

        steps = [to((x, y))]
        if drag_to is not None:
            steps += [{"type": "pointerDown", "button": 0}, to(drag_to), {"type": "pointerUp", "button": 0}]
        actions = [{"type": "pointer", "id": "mouse", "actions": steps}]
        self.send("input.performActions", context=self.context, actions=actions)

    def press(self, *keys: str) -> None:
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keys", "actions": steps}]
        self.send("input.performActions", context=self.context, actions=actions)


@contextmanager
def launched(profile: Path) -> Iterator[Firefox]:
    """Have a Firefox with a new profile; without one the test is skipped."""
    found = [shutil.which(name) for name in (os.environ.get("FIREFOX"), *NAMES) if name]
    program = next(filter(None, found), None)
    if program is None:
        pytest.skip("needs Firefox: install it, or set FIREFOX to its program")
    command = [
        program,
        "--headless",
        "--no-remote",
        "--profile",
        str(profile),
        "--remote-debugging-port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            lines = iter(process.stderr or ())
            address = next(filter(None, (re.search(r"ws://[\d.:]+", line) for line in lines))).group()
            with connect(f"{address}/session", open_timeout=START, max_size=LARGEST) as line:
                yield Firefox(line)
        finally:
            process.terminate()
