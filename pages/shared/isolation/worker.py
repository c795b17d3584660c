"""A worker: a process that reads files or computes, one job after another, until its input ends.

`pages.shared.isolation.process` starts it, never by hand.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.findings.examination import examine_parts
from calib.files.readers.raw_predictions import parts_of
from calib.files.readers.reading import read_table
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import ChoiceError
from calib.files.readers.source import Progress, Source
from pages.shared.isolation.objects import Packer, unpack
from pages.shared.isolation.wire import Channel

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

#: Seconds between two messages of progress.
PAUSE = 0.05

#: Computes the result from the arguments sent, the bytes of files, and a function to report progress.
JobFunction = Callable[[Any, list[bytes], Progress], Any]


def read_files(call: Any, blobs: list[bytes], progress: Progress) -> Any:
    """Read files and examine them, together with tables that were read before."""
    files, roles = call
    tables: list[Any] = []
    for each in files:
        if isinstance(each, tuple):
            name, at = each
            each = read_table(Source(name, len(blobs[at]), blobs[at]), progress=progress)
        tables.append(each)
    table = tables[0]
    if roles is None and table.tabular and not table.matrices:
        roles = guess_roles(table)
    raw_by_part = parts_of(tables, roles)
    reports = examine_parts(raw_by_part, progress=progress)
    found = {
        part: (
            [replace(finding, repair=None, raw=None) for finding in report.findings],
            {finding.code: report.effect(finding.code) for finding in report.findings if finding.fix},
        )
        for part, report in reports.items()
    }
    new = [table if isinstance(file, tuple) else None for table, file in zip(tables, files, strict=True)]
    return [new, roles, found]


def load(kind: str, blobs: list[bytes], progress: Progress) -> Any:
    """Read a file of calib or a plain table, and send its objects, so that it is not read again."""
    from calib.files.readers.judged import graded_rows
    from calib.files.saved.document import loads  # scikit-learn, which readers of tables do without
    from calib.files.saved.project import Project
    from calib.scale.files import load as load_summary

    read: dict[str, Callable[[bytes], Any]] = {
        "calibrator": loads,
        "project": Project.load,
        "summary": load_summary,
        "table": partial(read_table, unwrap=graded_rows),
    }
    return read[kind](blobs[0])


def compute(call: Any, blobs: list[bytes], progress: Progress) -> Any:
    from pages.shared.isolation.computing import carry_out  # what only reads does without most of calib

    return carry_out(call, progress)


JOBS: dict[str, JobFunction] = {
    "read": read_files,
    "load": load,
    "compute": compute,
}
#: Why a job was not done.
TOO_LARGE = "the {} needs more memory than it may take; pass a sample of the rows"


def limit(memory_bytes: int) -> list[str]:
    """Set limits of this process, if the system has them; return their names."""
    if resource is None:
        return []
    page = os.sysconf("SC_PAGE_SIZE")
    wanted = {"files": (resource.RLIMIT_NOFILE, 64)}
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            wanted["memory"] = (resource.RLIMIT_AS, int(file.read().split()[0]) * page + memory_bytes)
    except OSError:
        pass  # not Linux: the size of the address space means nothing there
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, most in wanted.values():
        resource.setrlimit(kind, (most, most))
    return [*wanted, "time"]


def limit_time(seconds: int) -> None:
    """Allow this number of further seconds of processor time, until the next job."""
    if resource is None:
        return
    used = sum(os.times()[:2])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, hard))


def resident_bytes() -> int:
    """Memory that this process holds now; 0 if the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main(memory_bytes: int, seconds: int, niceness: int) -> None:
    """Do jobs until the input ends or the output is closed."""
    # Own copies of the two pipes: whatever else prints goes to the log.
    ends = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with contextlib.suppress(BrokenPipeError, EOFError), ends[0], ends[1]:
        _work(Channel(*ends), memory_bytes, seconds, niceness)


def _work(channel: Channel, memory_bytes: int, seconds: int, niceness: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its server
    os.dup2(2, 1)
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    channel.send({"limits": limit(memory_bytes)})
    latest = 0.0

    def progress(share: float, words: str) -> None:
        nonlocal latest
        if time.monotonic() - latest > PAUSE:
            latest = time.monotonic()
            channel.send({"progress": [min(max(float(share), 0.0), 1.0), words]})

    while True:
        head, blobs, arrays = channel.receive()
        limit_time(seconds)
        results: list[np.ndarray] = []
        try:
            reply, results = _done(head, blobs, arrays, progress)
        except ChoiceError as error:  # the page has menus of columns
            reply = {"error": str(error) if error.choices else f"{error.fact}; choose the columns below"}
        except InputError as error:
            reply = {"error": str(error)}
        except (MemoryError, RecursionError):
            reply = {"error": TOO_LARGE.format("computation" if head["job"] == "compute" else "file")}
        except BrokenPipeError:
            raise
        except Exception as error:
            traceback.print_exc()  # to the log; the user gets one sentence
            reply = {"fault": type(error).__name__}
        del blobs, arrays
        channel.send({**reply, "resident": resident_bytes()}, (), results)
        del results


def _done(
    head: dict[str, Any], blobs: list[bytes], arrays: list[np.ndarray], progress: Progress
) -> tuple[dict[str, Any], list[np.ndarray]]:
    packer = Packer(texts=head["job"] == "load")
    result = JOBS[head["job"]](unpack(head["call"], arrays), blobs, progress)
    return {"result": packer.pack(result)}, packer.arrays


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
