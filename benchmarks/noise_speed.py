"""How long do noise floors and error intervals take? `python benchmarks/noise_speed.py [--large]`.

Perfectly calibrated simulated predictions, 1,000 redraws, 15 bins; reduction not counted.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from calib.evidence.reductions import reduce_to_binary
from calib.stats import noise_floor_of, problem_floors
from calib.stats.intervals import error_interval_of

SIZES = [(10_000, 10), (100_000, 100)]
LARGE = [(50_000, 1_000)]


def simulated(n_rows, n_classes):
    random = np.random.default_rng(0)
    proba = random.standard_normal((n_rows, n_classes), dtype=np.float32) * 3
    proba -= proba.max(axis=1, keepdims=True)
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    labels = (proba.cumsum(axis=1) < random.random((n_rows, 1))).sum(axis=1)
    return proba, labels.clip(0, n_classes - 1)


def clock(task):
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def main():
    print("| rows x classes | notion | floor, s | floors of all classes, s | interval, s | p | peak, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n_rows, n_classes in SIZES + (LARGE if "--large" in sys.argv else []):
        proba, labels = simulated(n_rows, n_classes)
        for notion in ("confidence", "top-label", "class-wise"):
            problems = reduce_to_binary(labels, proba, notion)
            floor_seconds, floor = clock(lambda p=problems: noise_floor_of(p, random_state=0))
            floors_seconds, _ = clock(lambda p=problems: problem_floors(p, random_state=0))
            seconds, _ = clock(lambda p=problems: error_interval_of(p))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"| {n_rows:,} x {n_classes:,} | {notion} | {floor_seconds:.2f} | {floors_seconds:.2f} | "
                f"{seconds:.2f} | {floor.p_value:.2f} | {peak:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
