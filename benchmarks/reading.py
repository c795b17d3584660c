"""How long reading and examining a CSV takes, and how much memory beside the arrays that come out.

Run ``python benchmarks/reading.py [rows] [classes]`` (default 1,000,000 x 10).
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from calib import examine
from calib.files.readers import read_raw


def write(path, n_rows, n_classes):
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, 100_000):
        proba = rng.dirichlet(np.ones(n_classes), min(100_000, n_rows - start))
        frame = pd.DataFrame(proba, columns=[f"c{j}" for j in range(n_classes)])
        frame["label"] = (proba.cumsum(axis=1) > rng.random((len(proba), 1))).argmax(axis=1)
        frame.to_csv(path, index=False, header=start == 0, mode="a")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(n_rows=1_000_000, n_classes=10):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        # In a process of its own, so that its memory does not count.
        writer = multiprocessing.get_context("spawn").Process(target=write, args=(path, n_rows, n_classes))
        writer.start()
        writer.join()
        size = path.stat().st_size / 2**20
        before, start = peak(), time.perf_counter()
        raw = read_raw(path)
        read, middle = peak(), time.perf_counter()
        report = examine(raw)
        end = time.perf_counter()
    arrays = (raw.proba.nbytes + raw.labels.nbytes) / 2**20
    print(f"{n_rows:,} x {n_classes} CSV of {size:.0f} MiB, arrays {arrays:.0f} MiB")
    print(
        f"read    {middle - start:6.2f} s, peak + {read - before:.0f} MiB ({(read - before) / arrays:.1f} x)"
    )
    added = peak() - before
    print(f"examine {end - middle:6.2f} s, peak + {added:.0f} MiB ({added / arrays:.1f} x)")
    print(f"findings: {', '.join(report.codes) or 'none'}")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))
