"""Times of scalings, and what a chosen ridge saves: `python benchmarks/scaling_times.py [--large]`.

First table: fits of simulated predictions whose classes are each miscalibrated in their own way, with
processor and wall-clock seconds and how far from the optimum they stopped. `--large` adds 50,000 x 1,000.
Second table: log loss on 20,000 new rows of fits to few rows, mean over populations drawn with several seeds.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np

import calib

SIZES = [(5_000, 10), (5_000, 30), (12_500, 400)]
LARGE = (50_000, 1_000)
SCALINGS = {
    "TS": calib.TemperatureScaling(),
    "ETS": calib.EnsembleTemperatureScaling(),
    "VS": calib.VectorScaling(),
    "SVS": calib.StructuredVectorScaling(),
    "DS": calib.DirichletScaling(),
    "SMS": calib.StructuredMatrixScaling(),
}
CHOSEN = {
    "VS, ridge by CV": calib.VectorScaling(l2="cv"),
    "DS, l2 = 0.1": calib.DirichletScaling(l2=0.1),
    "DS, ridge by CV": calib.DirichletScaling(l2="cv"),
    "DS, ODIR by CV": calib.DirichletScaling(off_diagonal="cv"),
}
#: Parameters of a full map above which it is left out of the table of times.
MANY = 100_000


def distorted(n_rows, n_classes, seed):
    """Logits of a class raised by 8 on average; each class has a weight and a bias of its own."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, n_classes, n_rows)
    logits = 2 * random.standard_normal((n_rows, n_classes), dtype=np.float32)
    logits[np.arange(n_rows), labels] += random.normal(8, 3, n_rows).astype(np.float32)
    logits *= random.normal(1.3, 0.15, n_classes).astype(np.float32)
    logits += random.normal(0, 0.5, n_classes).astype(np.float32)
    return softmax(logits), labels


def confusing(n_rows, n_classes, random, confusion):
    """Too sharp a model that takes classes for their neighbours, by `confusion`."""
    labels = random.integers(0, n_classes, n_rows)
    logits = random.standard_normal((n_rows, n_classes))
    logits[np.arange(n_rows), labels] += 1.2
    logits[np.arange(n_rows), (labels + 1) % n_classes] += confusion
    return softmax(1.6 * logits), labels


def softmax(logits):
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


def clock(task):
    wall, processor = time.perf_counter(), time.process_time()
    task()
    return time.perf_counter() - wall, time.process_time() - processor


def times(sizes):
    print("| rows x classes | scaling | processor, s | wall, s | loss gap, nats | gradient | peak, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n_rows, n_classes in sizes:
        proba, labels = distorted(n_rows, n_classes, 0)
        for name, scaling in SCALINGS.items():
            if name != "VS" and (n_rows, n_classes) == LARGE or scaling.n_parameters(n_classes) > MANY:
                continue
            wall, processor = clock(lambda s=scaling, p=proba, y=labels: s.fit(p, y))
            gap, norm = (getattr(scaling, key, float("nan")) for key in ("loss_gap_", "gradient_norm_"))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"| {n_rows:,} x {n_classes:,} | {name} | {processor:.2f} | {wall:.2f} | {gap:.1e} | "
                f"{norm:.1e} | {peak:,} |",
                flush=True,
            )


def losses(populations, seeds):
    methods = {**SCALINGS, **CHOSEN}
    print("\n| classes, rows, confusion | base | " + " | ".join(methods) + " |")
    print("| --- " * (len(methods) + 2) + "|")
    for n_classes, n_rows, confusion in populations:
        table = np.empty((seeds, len(methods) + 1))
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            proba, labels = confusing(n_rows, n_classes, random, confusion)
            new, truth = confusing(20_000, n_classes, random, confusion)
            fitted = [scaling.fit(proba, labels).predict_proba(new) for scaling in methods.values()]
            table[seed] = [calib.log_loss(truth, said) for said in (new, *fitted)]
        cells = " | ".join(f"{loss:.3f}" for loss in table.mean(axis=0))
        print(f"| {n_classes}, {n_rows:,}, {confusion} | {cells} |", flush=True)


def main():
    warnings.simplefilter("ignore", calib.TooManyParametersWarning)
    times([*SIZES, LARGE] if "--large" in sys.argv else SIZES)
    losses([(30, 600, 0.0), (30, 600, 1.2), (10, 500, 0.6), (3, 300, 0.6)], seeds=3)


if __name__ == "__main__":
    main()
