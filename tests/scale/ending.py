"""What worker processes run in the tests of killed workers; a module of its own, which is quick to import."""

from __future__ import annotations

import os
import signal
from functools import partial


def end_of_worker(part):
    """Return the rows of a part; the first worker that gets row group 2 is killed before it answers."""
    end_once(part)
    return part.n_rows


def end_once(part):
    """Kill this process, by its id, where it is the first that gets row group 2."""
    flag = flag_of(part)
    if part.row_group == 2 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)


def flag_of(part):
    """The file that says that a worker was killed."""
    return os.path.join(os.path.dirname(part.path), "ended")


def then(function, part):
    """What `function` gives of a part, unless this worker is the one that is killed."""
    end_once(part)
    return function(part)


class Ending:
    """An engine of processes, the first of which that gets row group 2 is killed while it works."""

    def __init__(self, engine):
        self.engine, self.flag = engine, None

    @property
    def ended(self):
        """Whether a worker was killed."""
        return os.path.exists(self.flag)

    def map(self, function, parts):
        self.flag = flag_of(parts[0])
        return self.engine.map(partial(then, function), parts)
