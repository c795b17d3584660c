"""``python -m calib COMMAND FILE``: see `calib.cli`."""

import sys

from calib.cli.parser import main
from calib.interrupts import handle_interrupts

if __name__ == "__main__":
    handle_interrupts(by_python=True)
    code = main()
    handle_interrupts(by_python=False)
    sys.exit(code)
