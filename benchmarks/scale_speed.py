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
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import alone

L, GROUP = 10, 1_000_000


def written(folder: str, n_rows: int) -> str:
    """Write files of up to 10 row groups of 10^6 rows; return their pattern.

    The rows of the first file are drawn; in each further one the classes of these are rotated by one more.
    """
    folder = os.path.join(folder, f"rows-{n_rows}")
    os.makedirs(folder, exist_ok=True)
    for file, start in enumerate(range(0, n_rows, 10 * GROUP)):
        path = os.path.join(folder, f"{file:03d}.parquet")
        if os.path.exists(path):
            continue
        first = None if file == 0 else pq.ParquetFile(os.path.join(folder, "000.parquet"))
        writer = None
        for group, begin in enumerate(range(start, min(start + 10 * GROUP, n_rows), GROUP)):
            size = min(GROUP, n_rows - begin)
            table = drawn(begin, size) if first is None else rotated(first.read_row_group(group), file, size)
            if writer is None:
                writer = pq.ParquetWriter(path + ".partial", table.schema, use_dictionary=["label"])
            writer.write_table(table, row_group_size=GROUP)
        writer.close()
        os.replace(path + ".partial", path)
    return os.path.join(folder, "*.parquet")


def drawn(seed: int, size: int) -> pa.Table:
    """Draw rows of a model that is calibrated."""
    random = np.random.default_rng(seed)
    logits = random.standard_normal((size, L), dtype=np.float32) * 2
    logits[np.arange(size), random.integers(0, L, size)] += 3
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    label = (proba.cumsum(axis=1) > random.random(size, dtype=np.float32)[:, None]).argmax(axis=1)
    columns = {f"p{code}": np.ascontiguousarray(proba[:, code]) for code in range(L)}
    return pa.table(columns | {"label": label.astype(np.int8)})


def rotated(table: pa.Table, by: int, size: int) -> pa.Table:
    """Return the first rows with every class called by the name of another."""
    columns = {f"p{code}": table[f"p{(code + by) % L}"] for code in range(L)}
    label = (table["label"].to_numpy() - by) % L
    return pa.table(columns | {"label": label.astype(np.int8)}).slice(0, size)


def plainly(pattern: str, workers: int) -> int:
    """Read all columns as `pyarrow.dataset` does by itself, and do nothing with them."""
    import pyarrow.dataset as pads

    from calib.scale.parts import find_files

    pa.set_cpu_count(workers)
    scanner = pads.dataset(find_files(pattern)).scanner(use_threads=workers > 1)
    return sum(batch.num_rows for batch in scanner.to_batches())


def scanned(pattern: str, workers: int) -> int:
    """Read all columns of all row groups on threads as calib does, and do nothing with them."""
    from calib.scale.parts import find_files, find_parts

    def read(part):
        return sum(batch.num_rows for batch in part.batches([f"p{code}" for code in range(L)] + ["label"]))

    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(read, find_parts(find_files(pattern))))


def summarized(pattern: str, workers: int) -> int:
    from calib import scale

    return scale.summarize(pattern, workers=workers).n_samples


def in_processes(pattern: str, workers: int) -> int:
    from calib import scale
    from calib.scale.engines import Threads

    return scale.summarize(pattern, engine=Threads(workers, processes=True)).n_samples


RUNS = {"plain scan": plainly, "scan": scanned, "summarize": summarized, "processes": in_processes}


def measure(what: str, pattern: str, workers: int, cap: int) -> None:
    """Run one of the two in this process, and print what it took."""
    import calib.scale.scan  # noqa: F401

    run = RUNS[what]
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    if run is not plainly:
        resource.setrlimit(resource.RLIMIT_AS, (held + cap * 2**20,) * 2)
    start, before = time.perf_counter(), time.process_time()
    n_rows = run(pattern, workers)
    seconds, busy = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": n_rows, "seconds": seconds, "processor": busy, "peak_mib": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", default="test-output")
    parser.add_argument("--cap", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--runs", default=",".join(RUNS))
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "PATTERN", "WORKERS"))
    options = parser.parse_args()
    if options.one:
        what, pattern, workers = options.one
        measure(what, pattern, int(workers), options.cap)
        return
    pattern = written(options.folder, options.rows)
    kinds, runs = options.runs.split(","), {}
    for turn in range(options.repeat):
        for workers, what in itertools.product((1, 2), kinds if turn % 2 == 0 else kinds[::-1]):
            runs.setdefault((workers, what), []).append(
                alone("benchmarks.scale_speed", "--cap", options.cap, "--one", what, pattern, workers)
            )
    first = {workers: median(runs[workers, kinds[0]], "seconds") for workers in (1, 2)}
    titles = f"{'workers':>8}{'seconds':>10}{'rows/s':>14}{'cpu s':>8}{'peak MiB':>10}"
    print(f"{'':<12}{titles}{'x ' + kinds[0]:>15}")
    for (workers, what), found in runs.items():
        seconds = median(found, "seconds")
        print(
            f"{what:<12}{workers:>8}{seconds:>10.2f}{found[0]['rows'] / seconds:>14,.0f}"
            f"{median(found, 'processor'):>8.1f}{max(run['peak_mib'] for run in found):>10.0f}"
            f"{seconds / first[workers]:>15.2f}"
        )


def median(runs: list[dict[str, float]], what: str) -> float:
    return statistics.median(run[what] for run in runs)


if __name__ == "__main__":
    main()
