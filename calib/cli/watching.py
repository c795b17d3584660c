"""The command that watches a stream of files: each call adds rows to a monitor's state."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.outputs import alone
from calib.base.results import parts
from calib.cli.input import Output, changed, further_column, read_rows
from calib.data.predictions import Announcement
from calib.data.times import are_dates
from calib.files.saved.document import content_of
from calib.files.saved.monitors import monitor_of
from calib.files.saved.saving import save
from calib.stats.arrivals import time_words
from calib.stats.monitor import Monitor, Unit

#: Options of the first call that a state keeps.
KEPT = ("notion", "by", "tolerance", "alpha")


@dataclass(frozen=True)
class WatchData:
    state: str  #: File of the state
    monitor: Monitor = field(metadata=parts("alarm evidence threshold"))
    since: str | None  #: After an alarm, the start of the change that explains it best
    #: Rows used for bets, rows of this call, rows without a label, and rows of clusters that came before
    n_rows: int
    n_added: int
    n_unlabelled: int
    n_returned: int
    units: Sequence[Unit]


def watch(options: Namespace) -> Output[WatchData]:
    """Add the rows of files to the state, and exit with 1 if there has ever been an alarm."""
    if options.batch is not None and len(options.files) > 1:
        raise InputError(f"--batch names the rows of one file; got {len(options.files)} files")
    with alone(options.state) as check_unchanged:
        return _watch(options, check_unchanged)


def _watch(options: Namespace, check_unchanged: Callable[[], None]) -> Output[WatchData]:
    asked = {name: value for name in KEPT if (value := getattr(options, name)) is not None}
    if os.path.exists(options.state):
        monitor = monitor_of(content_of(options.state))
        for name, value in asked.items():
            if value != getattr(monitor, name):
                raise InputError(
                    f"{options.state} was begun with {name} {getattr(monitor, name)!r}; got {value!r}. Leave "
                    f"--{name} out, or begin another state"
                )
        if options.start:
            raise InputError("--start is for a new STATE; leave it out, or begin another state")
    else:
        monitor = Monitor(**asked)
        if options.start:
            rows = _rows(options, options.start)
            monitor.compare_with(rows, groups=_column(rows, monitor.by))
    before, is_known = monitor.n_rows, options.batch in monitor.batches
    for file in () if is_known else options.files:
        rows = _rows(options, file)
        columns = {"time": _column(rows, options.time), "groups": _column(rows, monitor.by)}
        try:
            monitor.update(rows, batch=options.batch, **columns)
        except InputError as error:
            raise InputError(f"{file}: {error}; nothing was added to {options.state}") from None
    if not is_known:
        check_unchanged()
        save(monitor, options.state)
    units = monitor.units()
    lines = [
        f"{unit.level} {unit.name}".rstrip()
        + f": gap {with_interval(unit.gap, unit.lower, unit.upper, sign='+')} of {unit.rows:,} rows"
        for unit in units
        if unit.named or unit.level == "all"
    ]
    since = None if monitor.since is None else time_words(monitor.since, monitor.clock)
    counts = monitor.n_rows, monitor.n_rows - before, monitor.n_unlabelled, monitor.n_returned
    data = WatchData(str(options.state), monitor, since, *counts, units)
    words = [f"Batch {options.batch!r} was added before: nothing was added.", ""] if is_known else []
    return Output("\n".join([*words, monitor.words(), "", *lines]), data, int(monitor.alarm))


def _rows(options: Namespace, file: str) -> Announcement:
    rows = read_rows(changed(options, file=file)).evaluation
    held = pd.DataFrame() if rows.metadata is None else rows.metadata
    if (name := options.cluster) is not None and (name not in held or are_dates(held[name].to_numpy())):
        raise InputError(
            f"--cluster {name} is a block of time, in which a change makes rows alike; a monitor would miss "
            "it. Name what rows belong to, such as patients"
        )
    return rows.with_cluster(None) if options.independent else rows


def _column(rows: Announcement, name: str | None) -> np.ndarray | None:
    return None if name is None else further_column(rows, name).to_numpy()
