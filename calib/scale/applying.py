"""Applying a calibrator to Parquet files of any size: batch by batch, in order, with every column kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator

from calib.answers.calibrated import applied_frame
from calib.base.exceptions import InputError
from calib.base.outputs import atomic_write, check_output
from calib.calibrators.multiclass import groups_in
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    ConfidencePrediction,
    Predictions,
    TopLabelPrediction,
)
from calib.files.readers.arrow import table_of_batch
from calib.files.saved.document import aligned, dumps
from calib.scale.batches import SAMPLE, Batch, BatchReader, decide, read_batches
from calib.scale.parts import Part, Paths, find_files, find_parts, first_rows
from calib.scale.scan import Progress, timed

#: Metadata key of an output file that names its calibrator and input.
MADE_OF = b"calib_applied"


@dataclass(frozen=True)
class Applied:
    files: tuple[str, ...]  #: Output files, in the order of the input
    n_rows: int  #: Their rows
    n_resumed: int  #: Files that an earlier run had finished, and that were left as they are


def apply(
    calibrator: BaseEstimator,
    paths: Paths,
    output: str | os.PathLike[str],
    *,
    scores: str = "auto",
    progress: Progress | None = None,
    **columns: Any,
) -> Applied:
    """Calibrate the predictions in Parquet or Feather files of any size, and write Parquet files.

    Parameters
    ----------
    calibrator : fitted calibrator
        As from `calib.load` or `calib.scale.fit`.
    paths : path, pattern, folder, or several of these
        Predictions; labels are not needed.
    output : path
        The output file for one input file, else a folder, which gets a file of the same name for each.
    scores, progress, columns
        As for `calib.scale.summarize`.

    Raises
    ------
    InputError
        If the calibrator needs more than the rows have, or a row cannot be used; the message names file, row
        group and row.
    OSError
        If a file cannot be written. Finished files stay, and no other file is left.

    Notes
    -----
    Rows and columns stay as they are; a column called like a new column gets " (before)" behind its name.
    New columns are `applied_frame`'s; the column of groups is found as in `calibrated_scores`. A file
    appears when all of it is written, and names its calibrator and input: a second run leaves finished
    files alone.
    """
    inputs = find_files(paths)
    targets = _targets(inputs, os.fspath(output))
    parts = find_parts(inputs)
    first = first_rows(parts, SAMPLE)
    groups = groups_in(calibrator, pd.DataFrame(dict(table_of_batch(first).columns)))
    names = [None if groups is None else str(groups.name)]
    names.append(getattr(getattr(calibrator, "rule_", None), "column", None))
    by = list(dict.fromkeys(name for name in names if name is not None))
    reader = decide(first, by=by, scores=scores, labelled=False, **columns)
    digest = hashlib.blake2b(dumps(calibrator).split(b'"checksum"')[-1], digest_size=16).hexdigest()
    done = {
        path: _finished(target, _origin(path, digest)) for path, target in zip(inputs, targets, strict=True)
    }

    def work() -> Iterator[None]:
        for path, target in zip(inputs, targets, strict=True):
            own = [part for part in parts if part.path == path]
            left = _write(calibrator, own, reader, target, _origin(path, digest))
            yield from (None for _ in own) if done[path] else left

    for _ in timed(work(), parts, progress):
        pass
    return Applied(tuple(targets), sum(part.n_rows for part in parts), sum(done.values()))


def _targets(inputs: list[str], output: str) -> list[str]:
    if len(inputs) == 1 and not os.path.isdir(output):
        targets = [output]
    else:
        os.makedirs(output, exist_ok=True)
        names = [os.path.splitext(os.path.basename(path))[0] + ".parquet" for path in inputs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two input files are called {twice!r}; apply to one folder at a time")
        targets = [os.path.join(output, name) for name in names]
    for target in targets:
        check_output(target, [path for path in inputs if "://" not in path])
    return targets


def _origin(path: str, digest: str) -> bytes:
    size = time = 0
    if "://" not in path:
        found = os.stat(path)
        size, time = found.st_size, found.st_mtime_ns
    return f"{os.path.basename(path)}|{size}|{time}|{digest}".encode()


def _finished(target: str, origin: bytes) -> bool:
    """Return whether an earlier run wrote the file from the same input with the same calibrator."""
    if not os.path.isfile(target):
        return False
    try:
        return (pq.read_schema(target).metadata or {}).get(MADE_OF) == origin
    except (OSError, pa.ArrowException):
        return False  # it is no Parquet file, and will be replaced by one


def _write(
    calibrator: BaseEstimator, parts: list[Part], reader: BatchReader, target: str, origin: bytes
) -> Iterator[None]:
    """Write the output of one input file, and yield after each of its parts."""
    writer: pq.ParquetWriter | None = None
    with atomic_write(target) as stream, ExitStack() as closing:
        for part in parts:
            for table in _calibrated(calibrator, part, reader):
                marked = table.schema.with_metadata({MADE_OF: origin})
                writer = writer or closing.enter_context(pq.ParquetWriter(stream, marked))
                writer.write_table(table.cast(writer.schema))
            yield


def _calibrated(calibrator: BaseEstimator, part: Part, reader: BatchReader) -> Iterator[pa.Table]:
    batches = part.batches(reader.columns, further=True)
    for _, batch, rows in read_batches(batches, reader, part.name, part.first):
        if not rows.n_rows:
            raise InputError("a whole batch of rows holds no answer; leave out such rows first")
        frame = applied_frame(calibrator, aligned(_predictions(rows, reader), calibrator))
        frame = frame.drop(columns=[name for name in reader.by if name in frame])
        new = {name: _column(frame[name], rows, batch.num_rows) for name in frame}
        kept = {
            f"{name} (before)" if name in new else name: batch.column(name) for name in batch.schema.names
        }
        yield pa.table({**kept, **new}).replace_schema_metadata(None)


def _column(values: pd.Series, rows: Batch, n_rows: int) -> pa.Array:
    """Return a new column with an entry for each row of the batch, missing if there is no answer."""
    array = pa.array(values.to_numpy(), from_pandas=values.dtype.kind == "O")  # texts are missing, not NaN
    if rows.index is None:
        return array
    place = np.full(n_rows, -1, dtype=np.int64)
    place[rows.index] = np.arange(len(rows.index))
    return array.take(pa.array(place, mask=place < 0))


def _predictions(rows: Batch, reader: BatchReader) -> BasePrediction:
    groups = [np.array(names, dtype=object)[codes] for codes, names in rows.groups]
    table = pd.DataFrame(dict(zip(reader.by, groups, strict=True))) if groups else None
    if reader.kind == "vectors":
        return Predictions(np.stack(rows.columns, axis=1), None, rows.names, metadata=table)
    if reader.kind == "binary":
        return BinaryPrediction(rows.score, None, rows.names, metadata=table)
    if reader.kind == "confidence":
        return ConfidencePrediction(rows.score, None, metadata=table)
    used, label = np.unique(rows.predicted, return_inverse=True)
    names = tuple(rows.names[at] for at in used)
    return TopLabelPrediction(label, rows.score, None, names, metadata=table)
