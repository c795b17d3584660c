"""Find a Chromium for the browser tests; run as a script, also install one or say how."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

#: The first draws no window and takes a fifth less processor time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--process-per-site",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOW_TO = (
    "the browser tests need Chromium: run sudo apt-get install chromium, "
    "or elsewhere install Chrome or Chromium and set CHROMIUM to its program"
)


def find() -> str | None:
    """Path of a Chromium that starts: the one in $CHROMIUM, else the first of `NAMES` on the path."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *NAMES)):
        program = shutil.which(name)
        # Ubuntu's chromium-browser can be a stub that only says "install the snap".
        if program and subprocess.run([program, "--version"], capture_output=True).returncode == 0:
            return program
    return None


def is_required() -> bool:
    """Whether it is a failure that there is no Chromium: in CI; elsewhere its tests are skipped."""
    return os.environ.get("CI") == "true"


def find_or_skip() -> str:
    """Path of a Chromium; without one skip the test, or fail it."""
    program = find()
    if program is None:
        (pytest.fail if is_required() else pytest.skip)(HOW_TO)
    return program


@contextmanager
def launched() -> Iterator[Browser]:
    """Have a Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_or_skip(), args=FLAGS)
        yield chromium
        chromium.close()


def install() -> None:
    """Install one of Debian's packages, if this is Debian and we may."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("Installing Chromium for the browser tests ...", flush=True)
        _apt("update")
        for package in NAMES[:2]:
            if _apt("install", "-y", "--no-install-recommends", package) and find() is not None:
                return


def _apt(*step: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", "-qq", *step], env=environment, stdout=subprocess.DEVNULL)
    return done.returncode == 0


if __name__ == "__main__":
    if find() is None:
        install()
    if is_required() and find() is None:
        sys.exit(HOW_TO)
