"""Summarize large files, on threads and in processes, beside pyarrow's plain scan of the same columns.

    python -m benchmarks.scale_speed --rows 10_000_000 --folder DIR

Rows are drawn part by part (float32, 10 classes) and kept in the folder for the next run. Measurements are
made by turns, each in a process of its own, and their medians told. The address space of a process is capped
at `--cap` MiB beyond what its imports take, except that of the plain scan, which reads further ahead.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import alone

L, GROUP = 10, 1_000_000
SCHEMA = pa.schema([*((f"p{code}", pa.float32()) for code in range(L)), ("label", pa.int8())])


def written(folder: str, n_rows: int) -> str:
    """Write files of up to 10 row groups of 10^6 rows of a calibrated model; return their pattern."""
    folder = os.path.join(folder, f"rows-{n_rows}")
    os.makedirs(folder, exist_ok=True)
    for file, start in enumerate(range(0, n_rows, 10 * GROUP)):
        path = os.path.join(folder, f"{file:03d}.parquet")
        if os.path.exists(path):
            continue
        with pq.ParquetWriter(path + ".partial", SCHEMA, use_dictionary=["label"]) as writer:
            for begin in range(start, min(start + 10 * GROUP, n_rows), GROUP):
                writer.write_table(drawn(begin, min(GROUP, n_rows - begin)), row_group_size=GROUP)
        os.replace(path + ".partial", path)
    return os.path.join(folder, "*.parquet")


def drawn(seed: int, size: int) -> pa.Table:
    random = np.random.default_rng(seed)
    logits = random.standard_normal((size, L), dtype=np.float32) * 2
    logits[np.arange(size), random.integers(0, L, size)] += 3
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    label = (proba.cumsum(axis=1) > random.random(size, dtype=np.float32)[:, None]).argmax(axis=1)
    columns = {f"p{code}": np.ascontiguousarray(proba[:, code]) for code in range(L)}
    return pa.table(columns | {"label": label.astype(np.int8)}, SCHEMA)


def plainly(pattern: str, workers: int) -> int:
    """Read all columns as `pyarrow.dataset` does by itself, and do nothing with them."""
    import pyarrow.dataset as pads

    from calib.scale.parts import find_files

    pa.set_cpu_count(workers)
    scanner = pads.dataset(find_files(pattern)).scanner(use_threads=workers > 1)
    return sum(batch.num_rows for batch in scanner.to_batches())


def summarized(pattern: str, workers: int) -> int:
    from calib import scale

    return scale.summarize(pattern, workers=workers).n_samples


def in_processes(pattern: str, workers: int) -> int:
    from calib import scale
    from calib.scale.engines import Threads

    return scale.summarize(pattern, engine=Threads(workers, processes=True)).n_samples


RUNS = {"plain scan": plainly, "summarize": summarized, "processes": in_processes}


def measure(what: str, pattern: str, workers: int, cap: int) -> None:
    """Do something in this process, and print what it took."""
    import calib.scale.scan  # noqa: F401

    run = RUNS[what]
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    if run is not plainly:
        resource.setrlimit(resource.RLIMIT_AS, (held + cap * 2**20,) * 2)
    start, before = time.perf_counter(), time.process_time()
    run(pattern, workers)
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "processor": busy, "peak_mib": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", default="test-output")
    parser.add_argument("--cap", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "PATTERN", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        what, pattern, workers = options.one
        measure(what, pattern, int(workers), options.cap)
        return
    pattern, runs = written(options.folder, options.rows), {}
    for _ in range(options.repeat):
        for workers, what in itertools.product((1, 2), RUNS):
            run = alone("benchmarks.scale_speed", "--cap", options.cap, "--one", what, pattern, workers)
            runs.setdefault((workers, what), []).append(run)
    print("| work | workers | s | processor, s | peak memory, MiB | x plain scan |\n| --- |" + 5 * " --: |")
    for (workers, what), found in runs.items():
        scan = statistics.median(run["seconds"] for run in runs[workers, "plain scan"])
        seconds = statistics.median(run["seconds"] for run in found)
        busy = statistics.median(run["processor"] for run in found)
        peak = max(run["peak_mib"] for run in found)
        print(f"| {what} | {workers} | {seconds:.2f} | {busy:.1f} | {peak:,.0f} | {seconds / scan:.2f} |")


if __name__ == "__main__":
    main()
