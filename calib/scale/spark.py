"""Summaries of Spark data frames: `mapInArrow` sums each partition, and the driver adds the sums up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from calib.base.exceptions import InputError
from calib.scale.batches import SAMPLE, check_streamed, decide
from calib.scale.files import dumps, load
from calib.scale.partial import Accumulator, combined, examined, read_batches
from calib.scale.summary import Summary


def summarize_spark(frame: Any, *, class_wise: bool = False, **options: Any) -> Summary:
    """Summarize a Spark data frame on the session that it belongs to.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows with the columns that `calib.scale.summarize` takes. Workers need calib.
    class_wise, **options
        As for `calib.scale.summarize`: by, part, weighted, scores and class_names.

    Raises
    ------
    InputError
        If the rows cannot be summed. A row that cannot be used ends the work; Spark's error names its
        place in the partition.
    """
    first = frame.limit(SAMPLE).toArrow().combine_chunks().to_batches()
    if not first:
        raise InputError("the data frame has no rows")
    reader = decide(first[0], **options)
    check_streamed(reader.kind, class_wise)

    def sum_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = Accumulator.of(reader, class_wise=class_wise)
        for _, _, rows in read_batches(batches, reader, "a partition", squares=True):
            total.add(rows)
        sums = total.sums()
        if sums.n_samples:
            yield pa.RecordBatch.from_pydict({"sums": [dumps(Summary.of(sums, (sums.fingerprint,)))]})

    parts = frame.select(*reader.columns).mapInArrow(sum_partition, "sums binary").collect()
    if not parts:
        raise InputError("no row can be used: all are of another part, or without an answer")
    summaries = [load(bytes(part["sums"])) for part in parts]
    digests = sorted(part for summary in summaries for part in summary.parts)
    found = tuple(line for _, line in examined(first[0], "the data frame"))
    return Summary.of(combined(summaries), tuple(digests), found, "a Spark data frame")
