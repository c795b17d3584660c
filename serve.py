"""Serve the app: `python serve.py [options of streamlit run]`, as `make run` and the container do.

Streamlit by itself asks an outside service for the address of the machine when a request names a foreign
origin; here it is told that it has none. And the C library is told to give freed memory back, which it reads
from the environment when a process starts.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from streamlit import net_util
from streamlit.web import cli

#: Settings of the GNU C library: few arenas, and memory given back from 128 kB on.
MEMORY = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}


def ask_nobody() -> None:
    """Let Streamlit neither ask for the address of this machine nor try a route to find it."""
    net_util._external_ip = net_util._internal_ip = "127.0.0.1"


def hosts() -> list[str]:
    """Return options that allow the names in CALIB_HOSTS, separated by commas, and this machine itself."""
    names = [name.strip() for name in os.environ.get("CALIB_HOSTS", "").split(",") if name.strip()]
    allowed = [*names, "localhost", "127.0.0.1"] if names else []
    return [word for name in allowed for word in ("--server.allowedHosts", name)]


def main() -> None:
    """Serve the app with the options of the command line."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **MEMORY})  # noqa: S606
    ask_nobody()
    log = logging.getLogger("calib.app")
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s calib %(message)s"))
    log.addHandler(handler)
    os.chdir(Path(__file__).parent)
    sys.argv = ["streamlit", "run", "app.py", *hosts(), *sys.argv[1:]]
    cli.main()


if __name__ == "__main__":
    main()
