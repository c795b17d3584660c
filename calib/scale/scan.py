"""Summarizing files and Spark data frames, part by part; sums are added up in the order of the parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from calib.base.exceptions import InputError
from calib.base.parallel import WORKERS
from calib.data.validation import check_choice, check_count
from calib.evidence.sums import SummedRows
from calib.files.findings.examination import examine
from calib.files.findings.labels import shuffled_words
from calib.files.readers.arrow import is_text, table_of_batch
from calib.files.readers.raw_predictions import divide
from calib.scale.batches import SAMPLE, BatchReader, check_streamed, decide, placed_fault, read_batches
from calib.scale.engines import Engine, Found, Threads
from calib.scale.files import dumps, load
from calib.scale.parts import Part, Paths, find_files, find_parts, first_rows
from calib.scale.summary import Summary, Sums, combined, sums_of

#: Called with the share of the rows that are done, and words on their number, speed and the time left.
Progress = Callable[[float, str], None]
#: Rows examined at the start of each file and every `EVERY` rows.
EXAMINED, EVERY = 4_000, 1_000_000
OF_SOME_ROWS = (
    *("sigmoid_scores", "one_hot", "saturated", "few_distinct"),
    *("labels_one_based", "columns_disagree", "column_order", "labels_shuffled"),
)
#: Most findings of a code whose places are listed; further findings are counted.
MOST_ALIKE = 10
#: The error if no row is left to sum.
NO_ROWS = "no row can be used: all are of another part, without an answer, or faulty"


@dataclass(frozen=True)
class Scan:
    """Files with how their batches are read, and who works on them."""

    parts: list[Part]  #: Row groups of all files, in order
    reader: BatchReader
    engine: Engine
    progress: Progress | None = None

    @classmethod
    def of(
        cls,
        paths: Paths,
        *,
        workers: int | Engine | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Scan:
        """Find the files, and decide how they are read by the first rows; options as for `decide`."""
        n_threads = WORKERS if workers is None else workers
        engine = workers if isinstance(workers, Engine) else Threads(check_count(n_threads, "workers"))
        files = find_files(paths)
        parts = find_parts(files)
        first = first_rows(parts, SAMPLE)
        reader = decide(first, **options)
        texts = [name for name in reader.words if is_text(first.schema.field(name).type)]
        return cls(find_parts(files, texts) if texts else parts, reader, engine, progress)

    def over(self, work: Callable[..., Found], **options: Any) -> Iterable[Found]:
        """Yield what a function of a part and the reader gives for each part, in their order."""
        work = partial(work, reader=self.reader, **options)
        return timed(self.engine.map(work, self.parts), self.parts, self.progress)


def summarize(
    paths: Paths,
    *,
    by: str | Sequence[str] = (),
    class_wise: bool = False,
    part: str = "evaluation",
    weighted: bool = True,
    scores: str = "auto",
    class_names: Sequence[str] | None = None,
    faults: str = "stop",
    workers: int | Engine | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> Summary:
    """Summarize the predictions in Parquet, Feather, CSV or JSON lines of any size, in bounded memory.

    Parameters
    ----------
    paths : path, pattern, folder, or several of these
        Files with the same columns, named as for `calib.read`: a probability for every class, a predicted
        class with its confidence, a confidence with whether it was right, or P(Y = 1); and the true label.
        Scores and labels stand in columns of single values or in lists of equally many numbers.
    by : str or sequence of str
        Columns whose groups are summed, too, for `calib.slices`.
    class_wise : bool
        Whether to sum the scores of every class, too, for the notion "class-wise".
    part : {"evaluation", "calibration"}
        Rows that count, if a column says which are which.
    weighted : bool
        Whether to use a column of weights.
    scores : {"auto", "probabilities", "logits", "log_probabilities"}
        What the scores are.
    class_names : sequence of str, optional
        In the order of the columns of scores.
    faults : {"stop", "drop"}
        Whether a row that cannot be used ends the work, or is left out and listed in `Summary.findings`.
    workers : int or Engine, optional
        Number of threads, by default one per processor; or an engine of `calib.scale.engines`.
    progress : callable, optional
        Called with the share of the rows that are done, and a text about it.
    **columns
        Roles of columns, as for `calib.read`: label, score and the like.

    Examples
    --------
    >>> import tempfile, os
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = tempfile.mkdtemp()
    >>> rows = {"predicted": ["a", "b"] * 50, "confidence": [0.75] * 100, "label": ["a"] * 100}
    >>> pq.write_table(pa.table(rows), os.path.join(folder, "rows.parquet"), row_group_size=40)
    >>> summary = summarize(folder)
    >>> summary.n_samples, summary.ece("confidence"), summary.ece("top-label")
    (100, 0.25, 0.5)
    """
    check_choice(faults, ("stop", "drop"), "faults")
    scan = Scan.of(
        paths,
        workers=workers,
        progress=progress,
        by=by,
        part=part,
        weighted=weighted,
        scores=scores,
        class_names=class_names,
        **columns,
    )
    check_streamed(scan.reader.kind, class_wise)
    total, digests, findings = Sums(), list[str](), list[tuple[str, str]]()
    for sums, found in scan.over(_sum_part, class_wise=class_wise, drop=faults == "drop"):
        digests += sums.summary().parts if sums.n_samples else ()
        findings += found
        total.merge(sums)
    if not total.n_samples:
        raise InputError(NO_ROWS)
    source = ", ".join(dict.fromkeys(piece.path for piece in scan.parts))[:1000]
    parts = tuple(sorted(digests))
    return replace(total.summary(), parts=parts, findings=_listed(findings), source=source)


def _sum_part(
    part: Part, reader: BatchReader, *, class_wise: bool, drop: bool
) -> tuple[Sums, list[tuple[str, str]]]:
    """Return the sums over the rows of a part, and the codes and lines of its findings and omitted rows."""
    total, found, batches = Sums(), [], part.batches(reader.columns)
    for row, batch, rows in read_batches(batches, reader, part.name, part.first, drop=drop):
        total.merge(sums_of(rows, reader.kind, class_wise=class_wise, by=reader.by))
        found += [(fault.code, placed_fault(part.name, fault, row)) for fault in rows.faults]
        found += _examined(batch, reader, part.name, row)
    if total.n_samples and "labels_shuffled" not in dict(found):
        found += _shuffled(total.summary(), part.name)
    return total, found


def _examined(
    batch: pa.RecordBatch, reader: BatchReader, where: str, first: int = 0
) -> list[tuple[str, str]]:
    """Return the findings of the rows that are examined; the batch begins with row `first` of the file."""
    start = -first % EVERY
    if start >= batch.num_rows:
        return []
    start = max(min(start, batch.num_rows - EXAMINED), 0)
    some, first = batch.slice(start, EXAMINED), first + start
    which = f"{some.num_rows:,} rows" + (f" from row {first:,}" if first else "")
    which = which if first else f"the first {which}"
    parts = divide(table_of_batch(some), reader.roles).values()
    lines, counted = [], [raw for raw in parts if raw.n_samples]
    for found in examine(counted[-1]).findings if counted else ():  # the last part is "evaluation"
        if found.code in OF_SOME_ROWS:
            row = first + (int(found.rows[0]) if len(found.rows) else 0)
            lines.append((found.code, f"{where}, row {row}, of {which}: {found.message} ({found.code})"))
    return lines


def _shuffled(sums: SummedRows, where: str) -> list[tuple[str, str]]:
    """Return the finding on the order of all rows of a part, if labels look shuffled."""
    if sums.kind != "vectors" or not sums.n_samples:
        return []
    cells = sums.top
    confidence = float(cells.total("score").sum() / cells.total("weight").sum())
    right = int(cells.count[cells.outcome == 1].sum())
    words = shuffled_words(sums.predicted.astype(np.float64), sums.true_rows, right, confidence)
    return [] if words is None else [("labels_shuffled", f"{where}: {words} (labels_shuffled)")]


def _listed(found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the lines of findings, given with their codes, and how many more of a kind there are."""
    by_code: dict[str, list[str]] = {}
    for code, line in found:
        by_code.setdefault(code, []).append(line)
    lines = []
    for code, each in by_code.items():
        lines += each[:MOST_ALIKE]
        if len(each) > MOST_ALIKE:
            lines.append(f"and {len(each) - MOST_ALIKE:,} more findings of this kind ({code})")
    return tuple(lines)


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
        total = Sums()
        for _, _, rows in read_batches(batches, reader, "a partition"):
            total.merge(sums_of(rows, reader.kind, class_wise=class_wise, by=reader.by))
        if total.n_samples:
            yield pa.RecordBatch.from_pydict({"sums": [dumps(total.summary())]})

    parts = frame.select(*reader.columns).mapInArrow(sum_partition, "sums binary").collect()
    if not parts:
        raise InputError("no row can be used: all are of another part, or without an answer")
    summaries = [load(bytes(part["sums"])) for part in parts]
    digests = sorted(part for summary in summaries for part in summary.parts)
    found = tuple(line for _, line in _examined(first[0], reader, "the data frame"))
    return Summary.of(combined(summaries), tuple(digests), found, "a Spark data frame")


def timed(results: Iterator[Found], parts: Sequence[Part], progress: Progress | None) -> Iterator[Found]:
    total, done, start = sum(part.n_rows for part in parts), 0, time.monotonic()
    for part, result in zip(parts, results, strict=True):
        done += part.n_rows
        if progress is not None:
            seconds = max(time.monotonic() - start, 1e-9)
            left = seconds * (total - done) / max(done, 1)
            progress(done / total, f"{done:,} rows, {done / seconds:,.0f} a second, {left:,.0f} s left")
        yield result
