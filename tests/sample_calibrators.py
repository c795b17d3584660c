"""One calibrator of every type and option, for tests of files, scorers, ONNX graphs and contracts."""

from __future__ import annotations

import copy

from calib import (
    BetaCalibration,
    CanonicalBinning,
    DirichletScaling,
    GridScheme,
    HistogramBinning,
    IsotonicCalibration,
    MulticlassToBinary,
    PlattScaling,
    ProjectionScheme,
    SierpinskiScheme,
    TemperatureScaling,
    VectorScaling,
)
from tests.populations import rows

BINARY = {
    "default": None,
    "isotonic": IsotonicCalibration(),
    "platt": PlattScaling(),
    "beta": BetaCalibration(),
    "bins": HistogramBinning(n_bins=4),
    "noise": HistogramBinning(points_per_bin=20, ties="randomize", delta=1e-3, random_state=3),
}
MULTICLASS = {
    **{
        f"{notion}/{name}": MulticlassToBinary(binary, notion=notion)
        for notion in ("confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label")
        for name, binary in BINARY.items()
    },
    "normalized": MulticlassToBinary(HistogramBinning(n_bins=3), notion="class-wise", normalize=True),
    "pooled": MulticlassToBinary(fallback="pooled"),
    "pooled top-k": MulticlassToBinary(notion="top-k-label", top_k=2, fallback="pooled", min_points=90),
    "completed": MulticlassToBinary(complete="rescale", min_points=1),
    "TS": TemperatureScaling(objective="conf_ece"),
    "VS": VectorScaling(),
    "DS": DirichletScaling(l2=0.01),
    "sierpinski": CanonicalBinning(SierpinskiScheme(depth=3)),
    "grid": CanonicalBinning(GridScheme(cells=7)),
    "rotating": CanonicalBinning(ProjectionScheme(n_bins=9)),
    "random": CanonicalBinning(ProjectionScheme(n_bins=5, directions="random", random_state=0)),
}


def fitted(name: str):
    return copy.deepcopy(MULTICLASS[name]).fit(*rows(1))
