"""Summarize large files beside pyarrow's plain scan of the same columns, and beside DuckDB.

    python -m benchmarks.scale_speed --rows 10_000_000 --folder DIR [--page]

Rows are drawn part by part (float32, 10 classes) and kept in the folder for the next run. Measurements are
made by turns, each the second call in a process of its own, and their medians told. The address space of a
process of calib is capped at `--cap` MiB beyond what its imports take. ``--page`` writes the table into
docs/speed.md.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import Work, alone, put_table, simulated, table_head

L, GROUP = 10, 1_000_000
SCHEMA = pa.schema([*((f"p{code}", pa.float32()) for code in range(L)), ("label", pa.int8())])
#: Measurements of each kind.
REPEATS = 3


def written(folder: Path, n_rows: int) -> str:
    """Write files of up to 10 row groups of 10^6 rows of a calibrated model; return their pattern."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, start in enumerate(range(0, n_rows, 10 * GROUP)):
        path = folder / f"{file:03d}.parquet"
        if path.exists():
            continue
        partial = path.with_suffix(".partial")
        with pq.ParquetWriter(partial, SCHEMA, use_dictionary=["label"]) as writer:
            for begin in range(start, min(start + 10 * GROUP, n_rows), GROUP):
                proba, labels = simulated(min(GROUP, n_rows - begin), L, seed=begin)
                columns = [*np.ascontiguousarray(proba.T), labels.astype(np.int8)]
                writer.write_table(pa.table(columns, schema=SCHEMA), row_group_size=GROUP)
        partial.rename(path)
    return str(folder / "*.parquet")


SCANNER = """
import pyarrow
import pyarrow.dataset
from calib.scale.parts import find_files
pyarrow.set_cpu_count(workers)
scanner = pyarrow.dataset.dataset(find_files(pattern)).scanner(use_threads=workers > 1)
"""
CALIB = """
import calib.scale.scan
from calib import scale
"""
#: Predicted class and confidence of the rows of the files, which DuckDB groups by a query.
DUCKDB = """
import duckdb
from calib.scale.warehouse import sql
connection = duckdb.connect(config={"threads": workers})
scores = ", ".join(f"p{code}" for code in range(10))
rows = (
    f"(SELECT list_position([{scores}], greatest({scores})) - 1 AS predicted, "
    f"least(greatest({scores}), 1) AS confidence, label FROM read_parquet('{pattern}'))"
)
bins = (
    "SELECT predicted, least(floor(confidence * 15), 14) AS bin, count(*), avg(confidence), "
    f"avg(CAST(predicted = label AS INTEGER)) FROM {rows} GROUP BY ALL"
)
"""
#: The plain scan reads all columns as `pyarrow.dataset` does by itself, and does nothing with them.
RUNS = {
    "plain scan": Work("sum(batch.num_rows for batch in scanner.to_batches())", SCANNER),
    "DuckDB, bins of the TL-ECE": Work("connection.sql(bins).fetchall()", DUCKDB),
    "DuckDB, query of `calib sql`": Work("connection.sql(sql('duckdb', table=rows)).fetchall()", DUCKDB),
    "summarize": Work("scale.summarize(pattern, workers=workers)", CALIB),
}


def measure(what: str, pattern: str, workers: int, cap: int) -> tuple[float, float, float]:
    """Return seconds, processor seconds and the most memory in MiB that a run takes in this process."""
    run = RUNS[what].ready(pattern=pattern, workers=workers)
    if what == "summarize":
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (held * resource.getpagesize() + cap * 2**20,) * 2)
    run()  # loads modules
    start, before = time.perf_counter(), time.process_time()
    run()
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    return seconds, busy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default="test-output")
    parser.add_argument("--cap", type=int, default=2048)
    parser.add_argument("--page", action="store_true", help="write the table into docs/speed.md")
    options = parser.parse_args()
    pattern, runs = written(options.folder / f"rows-{options.rows}", options.rows), defaultdict(list)
    for _ in range(REPEATS):
        for workers, what in itertools.product((1, 2), RUNS):
            runs[workers, what].append(alone(measure, what, pattern, workers, options.cap))
    head = "work | rows | workers | s | processor, s | peak memory, MiB | processor time, x plain scan"
    lines = table_head(head, 1)
    for (workers, what), found in runs.items():
        scan = statistics.median(busy for _, busy, _ in runs[workers, "plain scan"])
        seconds, busy = (statistics.median(values) for values in list(zip(*found, strict=True))[:2])
        peak = max(peak for _, _, peak in found)
        numbers = f"{workers} | {seconds:.2f} | {busy:.2f} | {peak:,.0f} | {busy / scan:.1f}"
        lines.append(f"| {what} | {options.rows:,} | {numbers} |")
    print(*lines, sep="\n")
    if options.page:
        put_table("speed.md", "Files, beside DuckDB", lines, "duckdb", "pyarrow")


if __name__ == "__main__":
    main()
