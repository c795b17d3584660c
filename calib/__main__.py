"""``calib COMMAND FILE``, also ``python -m calib COMMAND FILE``: see `calib.cli`."""

import atexit
import contextlib
import os
import sys
from typing import NoReturn

from calib.base.interrupts import handle_interrupts
from calib.cli.parser import main


def run() -> None:
    """Run one command and end with its exit code."""
    handle_interrupts(by_python=True)
    code = main()
    handle_interrupts(by_python=False)
    end(code)


def end(code: int) -> NoReturn:
    """End the process here: what was registered for its end runs, and nothing is written after it.

    Before 3.14, Python's own end can abort the process (SIGABRT) if a thread of pyarrow lets go of a file
    late.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
