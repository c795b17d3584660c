"""Files are read in a worker process: if a file ends it, the user reads a sentence, and a new one starts.

The process is started once, and again after a death; a job never pays for its imports, unless it comes first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calib.files.findings.examination import Examination, examine
from calib.files.readers.raw_predictions import RawPredictions, parts_of
from calib.files.readers.roles import Roles
from calib.files.readers.source import Progress
from calib.files.readers.tables import Table
from pages.shared.isolation import limits
from pages.shared.isolation.objects import Packer
from pages.shared.isolation.process import LOST, Pool, Worker

#: Memory that a job may take beyond the imports, and processor time; each has an environment variable.
MEMORY_MIB = int(os.environ.get("CALIB_READER_MEMORY_MIB", "4096"))
SECONDS = int(os.environ.get("CALIB_READER_SECONDS", "120"))
#: Number of readers: files of more sessions wait their turn.
READERS = 2


class Reader(Worker):
    """A process that reads strangers' files and does nothing else."""

    name = "reader of files"
    memory_mib, seconds = MEMORY_MIB, SECONDS
    ended = (
        f"the file ended the reader: {{}}. Files are read in a process of their own. {LOST} Write the file "
        "again, or pass a sample of its rows."
    )
    overflowed = (
        "the file holds more than the {:,.0f} MB that this server allows a session (CALIB_SESSION_MB). "
        f"{LOST} Pass a sample of its rows."
    )
    faulted = f"the file was not read because of a fault of calib {{}}. {LOST}"

    @property
    def max_reply_mb(self) -> float:
        """Largest content of a file, in MB: the limit of a session."""
        return min(super().max_reply_mb, limits.limit("CALIB_SESSION_MB"))


#: The readers that all sessions of a server share.
pool = Pool(Reader, READERS)


def read_files(
    files: Sequence[tuple[str, Any] | Table | None],
    *,
    roles: Roles | None = None,
    progress: Progress | None = None,
) -> tuple[list[Table | None], Roles | None, dict[str, Examination]]:
    """Read and examine predictions, labels, calibration predictions and calibration labels elsewhere."""
    blobs: list[Any] = []
    described: list[tuple[str, int] | Table | None] = []
    for file in files:
        if isinstance(file, tuple):
            described.append((file[0], len(blobs)))
            blobs.append(file[1])
        else:
            described.append(file)
    packer = Packer()
    job = {"job": "read", "call": packer.pack([described, roles])}
    new, found_roles, found = pool.ask(job, blobs, packer.arrays, progress=progress)
    tables = [table if isinstance(file, tuple) else file for table, file in zip(new, described, strict=True)]
    raw_by_part = parts_of(tables, found_roles)
    reports: dict[str, Examination] = {}
    for part, (findings, effects) in sorted(found.items()):
        other = reports["calibration"].raw if part != "calibration" and "calibration" in reports else None
        repairs = {code: partial(_fixed, calibration=other, code=code) for code in effects}
        whole = [replace(each, raw=raw_by_part[part], repair=repairs.get(each.code)) for each in findings]
        reports[part] = Examination(raw_by_part[part], tuple(whole), other, effects=effects)
    return tables, found_roles, reports


def _fixed(data: RawPredictions, calibration: RawPredictions | None, code: str) -> RawPredictions:
    """Return what a fix makes of data; functions that repair are not sent between processes."""
    fix = examine(data, calibration=calibration)[code].fix
    assert fix is not None
    return fix()


def load(kind: str, content: Any) -> Any:
    """Read a "calibrator", "project", "summary" or plain "table" in another process.

    Raises
    ------
    InputError
        If it cannot be used or ended the reader.
    """
    return pool.ask({"job": "load", "call": kind}, [content])
