"""Ctrl-C while ``calib`` still imports its packages ends the process, without a traceback.

Imported before all others: before it, an interruption would be raised inside some package's import.
"""

import os
import signal
import sys

__all__: list[str] = []  # nothing here is a name of calib

# While Python looks for the module to run, the first argument is "-m"; else it is the path of a script.
_started = sys.argv[0] if sys.argv else ""
if (
    "calib" in sys.orig_argv if _started == "-m" else os.path.basename(_started) in ("calib", "calib.exe")
) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def handle_interrupts(by_python: bool) -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` or end the process, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler if by_python else signal.SIG_DFL)
