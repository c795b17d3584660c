"""A fitted calibrator as plain numbers: what a scorer file and an ONNX graph are made from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.exceptions import InputError

#: Binary calibrators that can be written as a scorer or an ONNX graph.
BINARY = (HistogramBinning, IsotonicCalibration, PlattScaling, BetaCalibration)


def plain_data(calibrator: Any) -> dict[str, Any]:
    """Return a fitted calibrator as a dict of numbers, lists of numbers, words of calib, and flags.

    Class names and everything else a user can write are left out.

    Raises
    ------
    InputError
        If the calibrator is of another type than those of `calib`.
    NotFittedError
        If it is not fitted.
    """
    check_is_fitted(calibrator)
    if type(calibrator) in BINARY:
        return {"kind": "binary", "calibrators": [0], **_binaries([calibrator])}
    if type(calibrator) is MulticlassToBinary:
        return _multiclass(calibrator)
    if type(calibrator) is CanonicalBinning:
        return _canonical(calibrator)
    if type(calibrator) not in (TemperatureScaling, VectorScaling, DirichletScaling):
        raise InputError(f"a {type(calibrator).__name__} cannot be written as a scorer")
    shared = {"n_classes": calibrator.n_classes_, "floor": calibrator.floor_}
    if type(calibrator) is TemperatureScaling:
        return {"kind": "temperature", **shared, "temperature": calibrator.temperature_}
    kind = "vector" if type(calibrator) is VectorScaling else "dirichlet"
    weights, biases = calibrator.weights_.tolist(), calibrator.biases_.tolist()
    return {"kind": kind, **shared, "weights": weights, "biases": biases}


def _multiclass(calibrator: MulticlassToBinary) -> dict[str, Any]:
    n_classes = calibrator.n_classes_
    ranked = calibrator.notion.startswith("top-k")
    per_rank = n_classes if calibrator.notion == "top-k-label" else 1
    distinct: list[Any] = []
    place: dict[int, int] = {}
    for one in calibrator.calibrators_:
        if one is not None and id(one) not in place:
            place[id(one)] = len(distinct)
            distinct.append(one)
    return {
        "kind": "multiclass",
        "n_classes": n_classes,
        "notion": calibrator.notion,
        "ranks": len(calibrator.calibrators_) // per_rank if ranked else 1,
        "normalize": bool(calibrator.normalize),
        "complete": calibrator.complete is not None,
        "calibrators": [-1 if one is None else place[id(one)] for one in calibrator.calibrators_],
        **_binaries(distinct),
    }


def _binaries(calibrators: list[Any]) -> dict[str, Any]:
    """Knots and values of several calibrators of one type, end to end, or their logistic weights."""
    make = type(calibrators[0]) if calibrators else HistogramBinning
    if make in (PlattScaling, BetaCalibration):
        weights = [
            [one.slope_, one.slope_, one.intercept_] if make is PlattScaling else [one.a_, one.b_, one.c_]
            for one in calibrators
        ]
        return {"binary": "logistic", "weights": weights}
    if make not in (HistogramBinning, IsotonicCalibration):
        raise InputError(f"a {make.__name__} cannot be written as a scorer")
    binned = make is HistogramBinning
    knots = [one.edges_ if binned else one.scores_ for one in calibrators]
    values = [one.values_ for one in calibrators]
    return {
        "binary": "histogram" if binned else "isotonic",
        "knots": _joined(knots),
        "knots_from": _starts(knots),
        "values": _joined(values),
        "values_from": _starts(values),
    }


def _joined(arrays: list[np.ndarray]) -> list[float]:
    return np.concatenate([np.zeros(0), *arrays]).tolist()


def _starts(arrays: list[np.ndarray]) -> list[int]:
    return np.cumsum([0, *(len(array) for array in arrays)]).tolist()


def _canonical(calibrator: CanonicalBinning) -> dict[str, Any]:
    scheme, n_classes = calibrator.scheme_, calibrator.n_classes_
    data: dict[str, Any] = {
        "kind": "canonical",
        "n_classes": n_classes,
        "n_bins": calibrator.n_bins_,
        "cells": calibrator.cells_.tolist(),
        "values": calibrator.values_.tolist(),
    }
    if isinstance(scheme, SierpinskiScheme):
        return data | {"scheme": "sierpinski", "depth": int(scheme.depth)}
    if isinstance(scheme, GridScheme):
        return data | {"scheme": "grid", "side": int(scheme.cells), "left": scheme.ways_left().tolist()}
    directions, thresholds = scheme.directions_.tolist(), scheme.thresholds_.tolist()
    return data | {"scheme": "projection", "directions": directions, "thresholds": thresholds}
