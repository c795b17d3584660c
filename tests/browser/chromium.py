"""Find a Chromium for the browser tests; run as a script, also install one or say how."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO = (
    "The browser tests need Chromium. Run: sudo apt-get install chromium  "
    "(elsewhere: install Chrome or Chromium and set CHROMIUM to its program)"
)


def find() -> str | None:
    """Path of a Chromium that starts: the one in $CHROMIUM, else the first of `NAMES` on the path."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *NAMES)):
        program = shutil.which(name)
        # Ubuntu's chromium-browser can be a stub that only says "install the snap".
        if program and subprocess.run([program, "--version"], capture_output=True).returncode == 0:
            return program
    return None


def install() -> None:
    """Install Debian's package, if this is Debian and we may."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("Installing Chromium for the browser tests ...", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *step], env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    if find() is None:
        install()
    if find() is None:
        sys.exit(HOW_TO)
