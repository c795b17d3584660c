"""The command that watches a stream of files: each call adds rows to a monitor's state."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.outputs import alone
from calib.base.results import parts
from calib.cli.input import Output, changed, read_rows
from calib.data.predictions import BasePrediction, further_column
from calib.data.times import are_dates
from calib.files.saved.document import content_of
from calib.files.saved.monitors import monitor_of
from calib.files.saved.saving import save
from calib.stats.bets import time_words
from calib.stats.monitor import Count, Monitor, Unit

#: Options of the first call that a state keeps.
KEPT = ("notion", "by", "tolerance", "alpha")


@dataclass(frozen=True)
class WatchData:
    state: str  #: File of the state
    monitor: Monitor = field(metadata=parts("alarm evidence threshold alpha_spent"))
    since: str | None  #: After an alarm, the start of the change that explains it best: a date or a batch
    #: Rows used for bets, rows of this call, rows without a label, and rows of clusters that came before
    n_rows: int
    n_added: int
    n_unlabelled: int
    n_returned: int
    units: Sequence[Unit]
    ended: Sequence[Count]  #: Earlier counts, which --acknowledge ended


def watch(options: Namespace) -> Output[WatchData]:
    """Add the rows of files to the state, and exit with 1 if there is an alarm in its last count."""
    if not os.path.exists(options.state) and not options.files:
        raise InputError(f"{options.state} does not exist; pass a FILE of rows to begin it")
    if options.batch is not None and len(options.files) != 1:
        raise InputError(f"--batch names the rows of one file; got {len(options.files)} files")
    if not options.files and options.acknowledge is None and options.start is None:
        return _shown(options, _begun(options), ())
    with alone(options.state) as check_unchanged:
        monitor, words = _begun(options), []
        if options.acknowledge is not None:
            n_ended = len(monitor.ended)
            if len(monitor.acknowledge(options.acknowledge).ended) == n_ended:
                words.append(f"{options.acknowledge!r} was acknowledged before: no new count begins.")
        if options.start:
            if monitor.blocks:
                raise InputError("--start is for a new STATE or count; leave it out, or add --acknowledge")
            rows = _rows(options, options.start)
            monitor.compare_with(rows, groups=_column(rows, monitor.by))
        before = monitor.n_rows
        if options.batch in monitor.batches:
            words.append(f"Batch {options.batch!r} was added before: nothing was added.")
        else:
            for file in options.files:
                _add(options, monitor, file)
        check_unchanged()
        save(monitor, options.state)
    return _shown(options, monitor, words, monitor.n_rows - before)


def _begun(options: Namespace) -> Monitor:
    asked = {name: value for name in KEPT if (value := getattr(options, name)) is not None}
    if not os.path.exists(options.state):
        return Monitor(**asked)
    monitor = monitor_of(content_of(options.state))
    for name, value in asked.items():
        if value != getattr(monitor, name):
            raise InputError(
                f"{options.state} was begun with {name} {getattr(monitor, name)!r}; got {value!r}. Leave "
                f"--{name} out, or begin another state"
            )
    return monitor


def _add(options: Namespace, monitor: Monitor, file: str) -> None:
    rows, now = _rows(options, file), datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    name = "".join(letter if letter.isprintable() else "?" for letter in os.path.basename(file))
    batch = f"{name} of {now}" if options.batch is None else options.batch
    columns = {"time": _column(rows, options.time), "groups": _column(rows, monitor.by)}
    try:
        monitor.update(rows, batch=batch, **columns)
    except InputError as error:
        raise InputError(f"{file}: {error}; nothing was added to {options.state}") from None


def _shown(options: Namespace, monitor: Monitor, words: Sequence[str], n_added: int = 0) -> Output[WatchData]:
    units = monitor.units()
    lines = [
        f"{unit.level} {unit.name}".rstrip()
        + f": gap {with_interval(unit.gap, unit.lower, unit.upper, sign='+')} of {unit.rows:,} rows"
        for unit in units
        if unit.named or unit.level == "all"
    ]
    since = None if monitor.since is None else time_words(monitor.since)
    counts = monitor.n_rows, n_added, monitor.n_unlabelled, monitor.n_returned
    data = WatchData(str(options.state), monitor, since, *counts, units, monitor.ended)
    return Output("\n".join([*words, monitor.words(), "", *lines]), data, int(monitor.alarm))


def _rows(options: Namespace, file: str) -> BasePrediction:
    rows = read_rows(changed(options, file=file)).evaluation
    held = pd.DataFrame() if rows.metadata is None else rows.metadata
    if (name := options.cluster) is not None and (name not in held or are_dates(held[name].to_numpy())):
        raise InputError(
            f"--cluster {name} is a block of time, in which a change makes rows alike; a monitor would miss "
            "it. Name what rows belong to, such as patients"
        )
    return rows.with_cluster(None) if options.independent else rows


def _column(rows: BasePrediction, name: str | None) -> np.ndarray | None:
    return None if name is None else further_column(rows, name).to_numpy()
