"""What a worker process runs in the test of killed workers; a module of its own, which is quick to import."""

from __future__ import annotations

import os
import signal


def end_of_worker(part):
    """Return the rows of a part; the first worker that gets row group 2 is killed before it answers."""
    flag = os.path.join(os.path.dirname(part.path), "ended")
    if part.row_group == 2 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return part.n_rows
