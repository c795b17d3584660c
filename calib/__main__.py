"""``calib COMMAND FILE``, also ``python -m calib COMMAND FILE``: see `calib.cli`."""

import sys

from calib.cli.parser import main
from calib.interrupts import handle_interrupts


def run() -> None:
    """Run one command and end with its exit code."""
    handle_interrupts(by_python=True)
    code = main()
    handle_interrupts(by_python=False)
    sys.exit(code)


if __name__ == "__main__":
    run()
