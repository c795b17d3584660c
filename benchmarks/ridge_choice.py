"""What a chosen ridge saves: ``python -m benchmarks.ridge_choice``.

Log loss on 20,000 new rows after fits to few rows. Each draw is a population with a seed of its own.
"""

from __future__ import annotations

import warnings
from itertools import count

import numpy as np

import calib
from benchmarks.populations import softmax
from benchmarks.simulation import Draws, Table, main, mean

SCALINGS = {
    "TS": calib.TemperatureScaling(),
    "ETS": calib.EnsembleTemperatureScaling(),
    "VS": calib.VectorScaling(),
    "SVS": calib.StructuredVectorScaling(),
    "DS": calib.DirichletScaling(),
    "SMS": calib.StructuredMatrixScaling(),
    "VS, ridge by CV": calib.VectorScaling(l2="cv"),
    "DS, l2 = 0.1": calib.DirichletScaling(l2=0.1),
    "DS, ridge by CV": calib.DirichletScaling(l2="cv"),
    "DS, ODIR by CV": calib.DirichletScaling(off_diagonal="cv"),
}


def confusing(
    n: int, n_classes: int, random: np.random.Generator, confusion: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores too sharp, of a model that takes classes for their neighbours, and labels."""
    labels = random.integers(0, n_classes, n)
    logits = random.standard_normal((n, n_classes))
    logits[np.arange(n), labels] += 1.2
    logits[np.arange(n), (labels + 1) % n_classes] += confusion
    return softmax(1.6 * logits), labels


def losses(n_classes: int, n: int, confusion: float) -> Draws:
    """Yield the log loss of each scaling."""
    warnings.simplefilter("ignore", calib.TooManyParametersWarning)
    for seed in count():
        random = np.random.default_rng(seed)
        proba, labels = confusing(n, n_classes, random, confusion)
        new, truth = confusing(20_000, n_classes, random, confusion)
        said = {name: scaling.fit(proba, labels).predict_proba(new) for name, scaling in SCALINGS.items()}
        yield {name: calib.log_loss(truth, each) for name, each in ({"base": new} | said).items()}


TABLES = [
    Table(
        ("classes", "rows", "confusion"),
        [(30, 600, 0.0), (30, 600, 1.2), (10, 500, 0.6), (3, 300, 0.6)],
        losses,
        {name: (name, mean(".3f")) for name in ("base", *SCALINGS)},
    )
]

if __name__ == "__main__":
    main(3)
