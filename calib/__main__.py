"""``python -m calib COMMAND FILE``: see `calib.cli`."""

import sys

from calib.cli.parser import main

if __name__ == "__main__":
    sys.exit(main())
