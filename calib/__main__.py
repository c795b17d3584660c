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
    """End the process now: exit handlers run, and nothing is written afterwards.

    Before Python 3.14, a normal exit can abort (SIGABRT) if a thread of pyarrow closes a file late.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
