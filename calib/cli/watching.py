"""The command that watches a stream of files: each call adds rows to a monitor's state."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.cli.input import Outcome, further_column, read_rows
from calib.files.saved.document import content_of
from calib.files.saved.monitors import monitor_of
from calib.files.saved.saving import save
from calib.stats.monitor import Monitor

#: Options of the first call that a state keeps.
KEPT = ("notion", "by", "tolerance", "alpha")


def watch(options: Namespace) -> Outcome:
    """Add the rows of files to the state, and exit with 1 if there has ever been an alarm."""
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
            monitor.compare_with(rows.labels, rows, groups=_column(rows, monitor.by))
    for file in options.files:
        rows = _rows(options, file)
        time, groups = _column(rows, options.time), _column(rows, monitor.by)
        try:
            monitor.update(rows.labels, rows, time, groups=groups, cluster=_column(rows, options.cluster))
        except InputError as error:
            raise InputError(f"{file}: {error}; nothing was added to {options.state}") from None
    save(monitor, options.state)
    table = monitor.frame()
    units = [
        f"{level} {name}".rstrip() + f": gap {with_interval(gap, low, high, sign='+')} of {count:,} rows"
        for level, name, gap, low, high, count in table[table["named"] | (table["level"] == "all")][
            ["level", "name", "gap", "lower", "upper", "rows"]
        ].itertuples(index=False)
    ]
    data: dict[str, Any] = {
        "state": str(options.state),
        "alarm": monitor.alarm,
        "evidence": monitor.evidence,
        "threshold": monitor.threshold,
        "since": None if monitor.since is None else str(monitor.since),
        "n_rows": monitor.n_rows,
        "n_unlabelled": monitor.n_unlabelled,
        "units": [
            {name: _plain(value) for name, value in record.items()} for record in table.to_dict("records")
        ],
    }
    return Outcome("\n".join([monitor.words(), "", *units]), data, int(monitor.alarm))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _rows(options: Namespace, file: str) -> Any:
    return read_rows(Namespace(**{**vars(options), "file": file})).evaluation


def _column(rows: Any, name: str | None) -> Any:
    return None if name is None else further_column(rows, name).to_numpy()
