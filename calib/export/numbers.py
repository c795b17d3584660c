"""A fitted calibrator as plain numbers, from which scorer files and ONNX graphs are made."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.calibrators.catalogue import BINARY, VECTOR, method_of
from calib.calibrators.curves import Logistic, Spline, Steps
from calib.calibrators.multiclass import MulticlassToBinary


def plain_data(calibrator: Any) -> dict[str, Any]:
    """Return a fitted calibrator as a dict of numbers, lists of numbers, words of calib, and flags.

    Class names and everything else a user can write are left out.

    Raises
    ------
    InputError
        If the calibrator is not one of calib's.
    NotFittedError
        If it is not fitted.
    """
    check_is_fitted(calibrator)
    rule = getattr(calibrator, "rule_", None)
    if rule is None:
        return _fitted_numbers(calibrator)
    thresholds = np.asarray(rule.thresholds, dtype=np.float64).tolist()
    return _fitted_numbers(calibrator) | {"accept_from": thresholds, "of_event": rule.of_event}


def _fitted_numbers(calibrator: Any) -> dict[str, Any]:
    if type(calibrator) is MulticlassToBinary:
        return _multiclass(calibrator)
    if type(calibrator) is CanonicalBinning:
        return _canonical(calibrator)
    method = method_of(calibrator)
    if method not in VECTOR:
        return {"kind": "binary", "calibrators": [0], **_curves([calibrator])}
    parameters = {
        name: np.asarray(getattr(calibrator, f"{name}_")).tolist()
        for name in ("n_classes", "floor", "temperature", "n_samples", "mixture", "weights", "biases")
        if hasattr(calibrator, f"{name}_")
    }
    return {"kind": method, **parameters}


def _multiclass(calibrator: MulticlassToBinary) -> dict[str, Any]:
    distinct, position = calibrator.everyone_.distinct
    shape = calibrator.shape_
    by = {"groups": shape.n_groups, "by_class": shape.by_class} if calibrator.has_groups else {}
    return {
        "kind": "multiclass",
        "n_classes": calibrator.n_classes_,
        "notion": calibrator.notion,
        "ranks": shape.n_ranks,
        "normalize": bool(calibrator.normalize),
        "complete": calibrator.complete is not None,
        **by,
        "calibrators": position.tolist(),
        **_curves(distinct),
    }


def _curves(calibrators: list[Any]) -> dict[str, Any]:
    """Return the curves of binary calibrators of one type: weights, or knots and values end to end.

    The values of a spline are its `segments`, one row after the other.
    """
    for calibrator in calibrators:
        if method_of(calibrator) not in BINARY:
            raise InputError(f"a {type(calibrator).__name__} cannot be written as a scorer")
    curves = [calibrator.curve_ for calibrator in calibrators]
    curve_type = type(curves[0]) if curves else Steps
    if curve_type is Logistic:
        return {"curve": "logistic", "weights": [list(curve) for curve in curves]}
    knots = [curve.knots for curve in curves]
    if curve_type is Spline:
        values = [curve.segments().ravel() for curve in curves]
    else:
        values = [curve.values for curve in curves]
    return {
        "curve": curve_type.__name__.lower(),
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
