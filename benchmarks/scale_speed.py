"""Summarize large files beside pyarrow's plain scan of the same columns.

    python -m benchmarks.scale_speed --rows 10_000_000 --folder DIR

Rows are drawn part by part (float32, 10 classes) and kept in the folder for the next run. Measurements are
made by turns, each in a process of its own, and their medians told. The address space of a process is capped
at `--cap` MiB beyond what its imports take, except that of the plain scan, which reads further ahead.
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

from benchmarks.timing import Work, alone, simulated, table_head

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
#: The plain scan reads all columns as `pyarrow.dataset` does by itself, and does nothing with them.
RUNS = {
    "plain scan": Work("sum(batch.num_rows for batch in scanner.to_batches())", SCANNER),
    "summarize": Work("scale.summarize(pattern, workers=workers)", CALIB),
}


def measure(what: str, pattern: str, workers: int, cap: int) -> tuple[float, float, float]:
    """Return seconds, processor seconds and the most memory in MiB that a run takes in this process."""
    run = RUNS[what].ready(pattern=pattern, workers=workers)
    if what != "plain scan":
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (held * resource.getpagesize() + cap * 2**20,) * 2)
    start, before = time.perf_counter(), time.process_time()
    run()
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    return seconds, busy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default="test-output")
    parser.add_argument("--cap", type=int, default=2048)
    options = parser.parse_args()
    pattern, runs = written(options.folder / f"rows-{options.rows}", options.rows), defaultdict(list)
    for _ in range(REPEATS):
        for workers, what in itertools.product((1, 2), RUNS):
            runs[workers, what].append(alone(measure, what, pattern, workers, options.cap))
    print(*table_head("work | workers | s | processor, s | peak memory, MiB | x plain scan", 1), sep="\n")
    for (workers, what), found in runs.items():
        scan = statistics.median(seconds for seconds, _, _ in runs[workers, "plain scan"])
        seconds, busy = (statistics.median(values) for values in list(zip(*found, strict=True))[:2])
        peak = max(peak for _, _, peak in found)
        print(f"| {what} | {workers} | {seconds:.2f} | {busy:.1f} | {peak:,.0f} | {seconds / scan:.2f} |")


if __name__ == "__main__":
    main()
