"""The closed table of calibrators that a file can hold, and what each one's params and state may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.calibrators.temperature import LEAST_FLOOR, MOST_FLOOR
from calib.exceptions import CalibratorFileError
from calib.notions import NOTIONS
from calib.persistence.fields import Array, Choice, Field, Flag, Maybe, Real, Seed, Sizes, Whole, mismatch
from calib.persistence.kinds import Kind, MulticlassKind, Part, Values


def _check_histogram(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    total = int(state["counts_"].sum())
    if total != sizes.setdefault("n", total):
        raise mismatch(f"{where}.counts_", f"counts that sum to {sizes['n']:,}", total)
    most = params["n_bins"] or max(total // params["points_per_bin"], 1)
    if len(state["values_"]) > most:
        raise mismatch(f"{where}.values_", f"at most {most:,} bins", state["values_"].tolist())
    edges = state["edges_"]
    noise = params["delta"] if params["ties"] == "randomize" else 0.0
    if len(edges) and edges[-1] > 1.0 + noise:
        raise mismatch(f"{where}.edges_", f"at most {1.0 + noise}", float(edges[-1]))
    if noise == 0.0 and params["ties"] == "group" and (np.diff(edges) <= 0).any():
        raise CalibratorFileError(f"calibrator file: {where}.edges_ must be increasing")


def _check_isotonic(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    if not len(state["scores_"]):
        raise mismatch(f"{where}.scores_", "a list of at least one number", [])


def _check_grid(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    _same_cells(
        state,
        where,
        lambda n_classes: _log_comb(params["cells"], n_classes),
        lambda n: _grid(params["cells"], n),
    )


def _check_sierpinski(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    depth = params["depth"]
    _same_cells(state, where, lambda n: depth * math.log(n), lambda n: (n ** (depth + 1) - 1) // (n - 1))


#: Natural logarithm above which a number of cells is not worked out: far above any that fits int64.
_HOPELESS = 1_000.0


def _same_cells(
    state: Values, where: str, log_size: Callable[[int], float], cells: Callable[[int], int]
) -> None:
    n_classes, n_bins = state["n_classes_"], state["n_bins_"]
    expected = cells(n_classes) if log_size(n_classes) < _HOPELESS else -1
    if n_bins != expected:
        raise mismatch(f"{where}.n_bins_", "the number of cells of the scheme", n_bins)


def _log_comb(cells: int, n_classes: int) -> float:
    return math.lgamma(cells + n_classes) - math.lgamma(cells) - math.lgamma(n_classes + 1)


def _grid(cells: int, n: int) -> int:
    return math.comb(cells - 1 + n, n) - (math.comb(cells, n) if cells >= n else 0)


def _check_canonical(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    scheme = state["scheme_"]
    if type(scheme) is not type(params["scheme"]) or scheme.get_params() != params["scheme"].get_params():
        raise CalibratorFileError(f"calibrator file: {where}.scheme_ must be the fitted params.scheme")
    cells, values = state["cells_"], state["values_"]
    if len(cells) and cells[-1] >= state["n_bins_"]:
        raise mismatch(f"{where}.cells_", f"cell numbers below {state['n_bins_']:,}", int(cells[-1]))
    if (np.abs(values.sum(axis=1) - 1.0) > 1e-9).any():
        raise CalibratorFileError(f"calibrator file: {where}.values_ must have rows that sum to 1")
    sizes["n"] = int(state["counts_"].sum()) + state["n_boundary_"]


#: Largest weight or bias: the least ridge keeps fitted ones below 1e6, and no product overflows.
_STEEP = 1e12
_WEIGHT = Real(-_STEEP, _STEEP)

_FLOOR = Real(LEAST_FLOOR, MOST_FLOOR)
_CLASSES = Whole(2, 2**31, size="L")
_CELLS: dict[str, Field] = {"n_classes_": Whole(3, 2**31, size="L"), "n_bins_": Whole(1, size="B")}

#: Binary calibrators: score in [0, 1] to probability of one event.
_BINARY: dict[str, Kind] = {
    "HistogramBinning": Kind(
        HistogramBinning,
        {
            "points_per_bin": Whole(),
            "n_bins": Maybe(Whole()),
            "delta": Real(0.0, 1.0),
            "ties": Choice(("group", "randomize")),
            "random_state": Seed(),
        },
        {
            "edges_": Array(("b-1",), 0.0, order="non-decreasing"),
            "values_": Array(("b",), 0.0, 1.0),
            "counts_": Array(("b",), 1, whole=True),
        },
        _check_histogram,
    ),
    "IsotonicCalibration": Kind(
        IsotonicCalibration,
        {},
        {
            "scores_": Array(("m",), 0.0, 1.0, order="increasing"),
            "values_": Array(("m",), 0.0, 1.0, order="non-decreasing"),
        },
        _check_isotonic,
    ),
    "PlattScaling": Kind(PlattScaling, {}, {"slope_": _WEIGHT, "intercept_": _WEIGHT}),
    "BetaCalibration": Kind(
        BetaCalibration, {}, {"a_": Real(0.0, _STEEP), "b_": Real(0.0, _STEEP), "c_": _WEIGHT}
    ),
}

_SCHEMES: dict[str, Kind] = {
    "SierpinskiScheme": Kind(SierpinskiScheme, {"depth": Whole(1, 62)}, _CELLS, _check_sierpinski),
    "GridScheme": Kind(GridScheme, {"cells": Whole(1, 10_000)}, _CELLS, _check_grid),
    "ProjectionScheme": Kind(
        ProjectionScheme,
        {"n_bins": Whole(), "directions": Choice(("rotating", "random")), "random_state": Seed()},
        {
            **_CELLS,
            "directions_": Array(("B", "L"), -1.0 - 1e-9, 1.0 + 1e-9),
            "thresholds_": Array(("B",), -2.0, 2.0),
        },
    ),
}

#: Every type a calibrator file may name.
KINDS: dict[str, Kind] = {
    **_BINARY,
    "MulticlassToBinary": MulticlassKind(
        MulticlassToBinary,
        {
            "binary": Maybe(Part(_BINARY)),
            "notion": Choice(NOTIONS),
            "top_k": Maybe(Whole()),
            "normalize": Flag(),
            "fallback": Choice(("identity", "pooled")),
            "min_points": Maybe(Whole()),
            "complete": Maybe(Choice(("rescale",))),
        },
        {"n_classes_": _CLASSES, "n_points_": Array(("P",), 0, whole=True)},
        binary=_BINARY,
    ),
    "TemperatureScaling": Kind(
        TemperatureScaling,
        {"objective": Choice(("log_loss", "conf_ece"))},
        {"n_classes_": _CLASSES, "floor_": _FLOOR, "temperature_": Real(0.001, 1_000.0)},
    ),
    "VectorScaling": Kind(
        VectorScaling,
        {"l2": Real(0.0)},
        {
            "n_classes_": _CLASSES,
            "floor_": _FLOOR,
            "weights_": Array(("L-1",), -_STEEP, _STEEP),
            "biases_": Array(("L-1",), -_STEEP, _STEEP),
        },
    ),
    "DirichletScaling": Kind(
        DirichletScaling,
        {"l2": Real(0.0)},
        {
            "n_classes_": _CLASSES,
            "floor_": _FLOOR,
            "weights_": Array(("L", "L"), -_STEEP, _STEEP),
            "biases_": Array(("L",), -_STEEP, _STEEP),
        },
    ),
    "CanonicalBinning": Kind(
        CanonicalBinning,
        {"scheme": Part(_SCHEMES)},
        {
            **_CELLS,
            "scheme_": Part(_SCHEMES, fitted=True),
            "cells_": Array(("m",), 0, order="increasing", whole=True),
            "counts_": Array(("m",), 1, whole=True),
            "values_": Array(("m", "L"), 0.0, 1.0),
            "n_boundary_": Whole(0),
        },
        _check_canonical,
    ),
}


def kind_of(calibrator: Any) -> Kind:
    """Return the entry of `KINDS` for a calibrator, or raise `CalibratorFileError`."""
    kind = KINDS.get(type(calibrator).__name__)
    if kind is None or kind.make is not type(calibrator):
        raise CalibratorFileError(
            f"a {type(calibrator).__name__} cannot be stored in a calibrator file; "
            f"these can: {', '.join(KINDS)}"
        )
    return kind
