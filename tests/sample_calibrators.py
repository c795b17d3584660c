"""One calibrator of every type and option, for tests of files, scorers, ONNX graphs and contracts.

What the catalogue lists is here of itself; options that matter are added by hand.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from calib import (
    CanonicalBinning,
    DirichletScaling,
    EnsembleTemperatureScaling,
    GridScheme,
    HistogramBinning,
    MulticlassToBinary,
    ProjectionScheme,
    SierpinskiScheme,
    TemperatureScaling,
    VectorScaling,
)
from calib.calibrators import CorrectedCalibrator, CorrectedScores, catalogue
from calib.calibrators.curves import Logistic, Spline
from calib.data.notions import NOTIONS
from tests.populations import rows

#: Names of the binary calibrators besides histogram binning.
CONTINUOUS = [name for name in catalogue.BINARY if name != "histogram"]
BINARY: dict[str, Any] = {
    "default": None,
    **{name: catalogue.BINARY[name].make() for name in CONTINUOUS},
    "bins": HistogramBinning(n_bins=4),
    "noise": HistogramBinning(points_per_bin=20, ties="randomize", delta=1e-3, random_state=3),
}
OF_SCORES = BINARY | {"corrected": CorrectedScores(catalogue.BINARY["platt"].make(), np.array([1.5, 0.2]))}
ALONE = [name for name, binary in OF_SCORES.items() if binary is not None]
MULTICLASS: dict[str, Any] = {
    **{
        f"{notion}/{name}": MulticlassToBinary(binary, notion=notion)
        for notion in NOTIONS
        for name, binary in BINARY.items()
    },
    "normalized": MulticlassToBinary(HistogramBinning(n_bins=3), notion="class-wise", normalize=True),
    "pooled": MulticlassToBinary(fallback="pooled"),
    "pooled top-k": MulticlassToBinary(notion="top-k-label", top_k=2, fallback="pooled", min_points=90),
    "completed": MulticlassToBinary(complete="rescale", min_points=1),
    **{method.short: method.make() for method in catalogue.VECTOR.values()},
    "TS": TemperatureScaling(objective="conf_ece"),
    "DS": DirichletScaling(l2=0.01),
    "VS cv": VectorScaling(l2="cv"),
    "DS odir": DirichletScaling(l2=0.001, off_diagonal="cv"),
    "ETS brier": EnsembleTemperatureScaling(objective="brier"),
    **{name: catalogue.make_calibrator(name) for name in catalogue.SCHEMES},
    "sierpinski": CanonicalBinning(SierpinskiScheme(depth=3)),
    "grid": CanonicalBinning(GridScheme(cells=7)),
    "projection": CanonicalBinning(ProjectionScheme(n_bins=9)),
    "random": CanonicalBinning(ProjectionScheme(n_bins=5, directions="random", random_state=0)),
    "corrected": CorrectedCalibrator(TemperatureScaling(), np.array([0.5, 2.0, 1.0, 0.1])),
    "own directions": CanonicalBinning(ProjectionScheme(4, ((-2.0, 0.0, 0.0, 0.0), (0.3, -1.0, 0.0, 0.0)))),
}


def fitted(name: str):
    return copy.deepcopy(MULTICLASS[name]).fit(*rows(1))


def fitted_binary(name: str):
    """Fit a binary calibrator to 300 scores that are right on average."""
    random = np.random.default_rng(0)
    scores = random.random(300)
    return copy.deepcopy(OF_SCORES[name]).fit(scores, random.random(300) < scores)


def is_smooth(calibrator: Any) -> bool:
    """Whether exp and log enter what a fitted calibrator says: they may round differently elsewhere."""
    calibrator = getattr(calibrator, "calibrator", calibrator)
    curves = [getattr(item, "curve_", None) for item in getattr(calibrator, "calibrators_", [calibrator])]
    scaling = catalogue.method_of(calibrator) in catalogue.VECTOR
    return scaling or any(isinstance(curve, (Logistic, Spline)) for curve in curves)
