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

    Python would take itself down first. Before 3.14 it then ends every thread that asks for the interpreter,
    and one of pyarrow, which may let go of a block of a file that late, takes the process with it (SIGABRT):
    on a busy machine up to one command of ten, after its work was done.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
