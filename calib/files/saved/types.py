"""Every type of calibrator in a file: its parameters, its fitted state, and how they must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import CalibratorFileError, InputError
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.calibrators.catalogue import BINARY, SCHEMES, VECTOR, CatalogueEntry
from calib.calibrators.curves import MOST_ODDS
from calib.calibrators.label_shift import CorrectedCalibrator, CorrectedScores
from calib.calibrators.multiclass import MulticlassToBinary, ProblemCalibrators, with_shrunken
from calib.calibrators.scaling import LEAST_FLOOR, MOST_FLOOR
from calib.calibrators.softmax_fit import CROSS_VALIDATED
from calib.calibrators.venn_abers import VennAbersCalibration
from calib.data.notions import NOTIONS
from calib.files.saved.fields import (
    FLAG,
    SEED,
    Array,
    Field,
    Listed,
    Maybe,
    Record,
    Sizes,
    WordOr,
    choice,
    closed,
    closed_schema,
    either,
    mismatch,
    real,
    whole,
)

Values = dict[str, Any]
StateCheck = Callable[[Values, Values, str, Sizes], None]


@dataclass(frozen=True)
class Layout:
    """One type of calibrator (or scheme) in a file."""

    make: type  #: Its class
    #: Constructor parameters and fitted attributes, each `whole` that names a size before arrays that use it
    params: Record
    state: Record
    #: Raises `CalibratorFileError` if decoded params and state do not agree; may add to the sizes
    check: StateCheck | None = None

    def encode(self, estimator: BaseEstimator, *, fitted: bool = True) -> Values:
        coded = {"type": self.make.__name__, "params": self.params.encode(estimator)}
        return coded | ({"state": self.encode_state(estimator)} if fitted else {})

    def encode_state(self, estimator: BaseEstimator) -> Values:
        return self.state.encode(estimator)

    def decode_state(self, params: Values, raw: Any, where: str, sizes: Sizes) -> Values:
        state = self.state.decode(raw, where, sizes)
        if self.check is not None:
            self.check(params, state, where, sizes)
        return state

    def build(self, params: Values, state: Values) -> Any:
        estimator = self.make(**params)
        for name, value in state.items():
            setattr(estimator, name, value)
        return estimator

    @property
    def state_schema(self) -> dict[str, Any]:
        return self.state.schema

    def schema(self, *, fitted: bool = True) -> dict[str, Any]:
        keys = {"type": {"const": self.make.__name__}, "params": self.params.schema}
        return closed_schema(keys | ({"state": self.state_schema} if fitted else {}))


Layouts = Mapping[str, Layout]


def layout_named(name: Any, layouts: Layouts, where: str) -> Layout:
    """Return the layout of the type that a file names, or raise `CalibratorFileError`."""
    if not isinstance(name, str) or name not in layouts:
        raise mismatch(where, "one of " + ", ".join(layouts), name)
    return layouts[name]


def layout_of(calibrator: BaseEstimator, layouts: Layouts) -> Layout:
    """Return the layout of an object's exact type, or raise `CalibratorFileError`."""
    layout = layouts.get(type(calibrator).__name__)
    if layout is None or layout.make is not type(calibrator):
        raise CalibratorFileError(
            f"a {type(calibrator).__name__} cannot be stored in a calibrator file; it must be one of "
            f"{', '.join(layouts)}"
        )
    return layout


@dataclass(frozen=True)
class OneOf:
    """An object inside a calibrator, of one of a few types: {type, params} and, if fitted, state."""

    layouts: Layouts
    fitted: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [layout.schema(fitted=self.fitted) for layout in self.layouts.values()]}

    def encode(self, value: Any) -> Any:
        return layout_of(value, self.layouts).encode(value, fitted=self.fitted)

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        closed(value, ("type", "params", "state") if self.fitted else ("type", "params"), where)
        layout = layout_named(value["type"], self.layouts, f"{where}.type")
        params = layout.params.decode(value["params"], f"{where}.params", sizes)
        if not self.fitted:
            return layout.make(**params)
        return layout.build(params, layout.decode_state(params, value["state"], f"{where}.state", sizes))


def _check_histogram(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    total = int(state["counts_"].sum())
    if total != sizes.setdefault("n", total):
        raise mismatch(f"{where}.counts_", f"counts that sum to {sizes['n']:,}", total)
    max_bins = params["n_bins"] or max(total // params["points_per_bin"], 1)
    if (state["misplaced_"] or 0) > total:
        raise mismatch(f"{where}.misplaced_", f"at most {total:,}", state["misplaced_"])
    left_out = state["left_out_"]
    if left_out is not None and (
        params["n_bins"] or left_out[0] >= 0 or state["counts_"][left_out >= 0].min(initial=2) < 2
    ):
        raise CalibratorFileError(
            f"calibrator file: {where}.left_out_ needs points_per_bin, and each bin another point"
        )
    if len(state["values_"]) > max_bins:
        raise mismatch(f"{where}.values_", f"at most {max_bins:,} bins", state["values_"].tolist())
    edges = state["edges_"]
    noise = params["delta"] if params["ties"] == "randomize" else 0.0
    if len(edges) and edges[-1] > 1.0 + noise:
        raise mismatch(f"{where}.edges_", f"at most {1.0 + noise}", float(edges[-1]))
    if noise == 0.0 and params["ties"] == "group" and (np.diff(edges) <= 0).any():
        raise CalibratorFileError(f"calibrator file: {where}.edges_ must be increasing")


def _check_venn_abers(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    pair = VennAbersCalibration()
    for name, value in state.items():
        setattr(pair, name, value)
    p0, p1 = pair.interval(np.concatenate([[0.0, 1.0], state["lower_scores_"]]))
    if (p0 > p1).any():
        raise CalibratorFileError(f"calibrator file: {where}.lower_ must nowhere be above upper_")


def _check_cells(make: type) -> StateCheck:
    """Return the check of a scheme whose parameters fix the number of its cells."""

    def check(params: Values, state: Values, where: str, sizes: Sizes) -> None:
        if state["n_bins_"] != make(**params).count_cells(state["n_classes_"]):
            raise mismatch(f"{where}.n_bins_", "the number of cells of the scheme", state["n_bins_"])

    return check


def _check_ridge(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    if (state["ridge_"] is not None) != (CROSS_VALIDATED in params.values()):
        raise CalibratorFileError(
            f'calibrator file: {where}.ridge_ must be there exactly if a parameter is "{CROSS_VALIDATED}"'
        )


def _check_mixture(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    weights = state["mixture_"]
    if len(weights) != 3 or abs(weights.sum() - 1.0) > 1e-9:
        raise mismatch(f"{where}.mixture_", "three numbers that sum to 1", weights.tolist())


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


#: Parameters and state that files written before version 0.2 lack.
_LATER = dict.fromkeys(("misplaced_", "off_diagonal", "ridge_", "effective_", "left_out_"))
_LATER |= {"fixed_slope": False}


def _layouts(methods: Mapping[str, CatalogueEntry], rows: Mapping[str, tuple[Any, ...]]) -> dict[str, Layout]:
    """Return the layouts of the catalogue's methods, each from (params, state) or (params, state, check)."""
    return {
        methods[name].make.__name__: Layout(
            methods[name].make, Record(params, _LATER), Record(state, _LATER), *check
        )
        for name, (params, state, *check) in rows.items()
    }


#: Largest weight or bias: fitted ones are below 1e6, and no product overflows.
_MAX_WEIGHT = 1e12
_WEIGHT = real(-_MAX_WEIGHT, _MAX_WEIGHT)

#: Weight of a ridge, or the word for a choice by cross-validation.
_RIDGE = either(real(0.0), choice(CROSS_VALIDATED))

#: What top-label calibration conditions on.
_CONDITION = choice("class", "group")

_CLASSES = whole(2, 2**31, size="L")
_SCALING: dict[str, Field] = {"n_classes_": _CLASSES, "floor_": real(LEAST_FLOOR, MOST_FLOOR)}
_TEMPERATURE = real(0.001, 1_000.0)
_FULL: dict[str, Field] = {
    "weights_": Array(("L", "L"), -_MAX_WEIGHT, _MAX_WEIGHT),
    "biases_": Array(("L",), -_MAX_WEIGHT, _MAX_WEIGHT),
}
_STRUCTURED: dict[str, Field] = {**_SCALING, "temperature_": _TEMPERATURE, "n_samples_": whole(size="n")}
_CELLS: dict[str, Field] = {"n_classes_": whole(3, 2**31, size="L"), "n_bins_": whole(1, size="B")}

#: Binary calibrators: score in [0, 1] to probability of one event.
_BINARY = _layouts(
    BINARY,
    {
        "histogram": (
            {
                "points_per_bin": whole(),
                "n_bins": Maybe(whole()),
                "delta": real(0.0, 1.0),
                "ties": choice("group", "randomize"),
                "random_state": SEED,
            },
            {
                "edges_": Array(("b-1",), 0.0, order="non-decreasing"),
                "values_": Array(("b",), 0.0, 1.0),
                "counts_": Array(("b",), 1, whole=True),
                "left_out_": Array(("b",), -1, 1, whole=True),
                "misplaced_": whole(0),
                "effective_": Array(("b",), 1.0),
            },
            _check_histogram,
        ),
        "isotonic": (
            {},
            {
                "scores_": Array(("m",), 0.0, 1.0, order="increasing", least=1),
                "values_": Array(("m",), 0.0, 1.0, order="non-decreasing"),
            },
        ),
        "platt": ({"fixed_slope": FLAG}, {"slope_": _WEIGHT, "intercept_": _WEIGHT}),
        "beta": ({}, {"a_": real(0.0, _MAX_WEIGHT), "b_": real(0.0, _MAX_WEIGHT), "c_": _WEIGHT}),
        "venn-abers": (
            {},
            {
                "lower_": Array(("a",), 0.0, 1.0, order="increasing"),
                "lower_scores_": Array(("a-1",), 0.0, 1.0, order="increasing"),
                "upper_": Array(("b",), 0.0, 1.0, order="increasing"),
                "upper_scores_": Array(("b-1",), 0.0, 1.0, order="increasing"),
            },
            _check_venn_abers,
        ),
        "spline": (
            {},
            {
                "knots_": Array(("m",), -MOST_ODDS, MOST_ODDS, order="increasing", least=1),
                "slopes_": Array(("m",), 0.0, _MAX_WEIGHT),
                "level_": _WEIGHT,
                "strength_": real(0.0),
            },
        ),
    },
)

_SCHEMES = _layouts(
    SCHEMES,
    {
        "sierpinski": ({"depth": whole(1, 62)}, _CELLS, _check_cells(SierpinskiScheme)),
        "grid": ({"cells": whole(1, 10_000)}, _CELLS, _check_cells(GridScheme)),
        "projection": (
            {
                "n_bins": whole(),
                # Tuples, so that parameters can be compared.
                "directions": WordOr(
                    choice("rotating", "random"),
                    Array(("D", "L")),
                    lambda array: tuple(map(tuple, array.tolist())),
                ),
                "random_state": SEED,
            },
            {
                **_CELLS,
                "directions_": Array(("B", "L"), -1.0 - 1e-9, 1.0 + 1e-9),
                "thresholds_": Array(("B",), -2.0, 2.0),
            },
        ),
    },
)

_VECTOR = _layouts(
    VECTOR,
    {
        "temperature": (
            {"objective": choice("log_loss", "conf_ece", "top_versus_all")},
            {**_SCALING, "temperature_": _TEMPERATURE},
        ),
        "vector": (
            {"l2": _RIDGE},
            {
                **_SCALING,
                "weights_": Array(("L-1",), -_MAX_WEIGHT, _MAX_WEIGHT),
                "biases_": Array(("L-1",), -_MAX_WEIGHT, _MAX_WEIGHT),
                "ridge_": real(0.0),
            },
            _check_ridge,
        ),
        "top-versus-all": (
            {"l2": real(0.0)},
            {**_SCALING, "weights_": Array(("L",), -_MAX_WEIGHT, _MAX_WEIGHT)},
        ),
        "dirichlet": (
            {"l2": _RIDGE, "off_diagonal": _RIDGE},
            {**_SCALING, **_FULL, "ridge_": real(0.0)},
            _check_ridge,
        ),
        "ensemble-temperature": (
            {"objective": choice("log_loss", "brier")},
            {**_SCALING, "temperature_": _TEMPERATURE, "mixture_": Array(("w",), 0.0, 1.0)},
            _check_mixture,
        ),
        "structured-vector": (
            dict.fromkeys(("lambda_intercept", "lambda_diagonal"), real(0.0)),
            {
                **_STRUCTURED,
                "weights_": Array(("L",), -_MAX_WEIGHT, _MAX_WEIGHT),
                "biases_": Array(("L",), -_MAX_WEIGHT, _MAX_WEIGHT),
            },
        ),
        "structured-matrix": (
            dict.fromkeys(("lambda_intercept", "lambda_diagonal", "lambda_off_diagonal"), real(0.0)),
            {**_STRUCTURED, **_FULL},
        ),
    },
)


class _MulticlassLayout(Layout):
    """`MulticlassToBinary` with its binary calibrators' states, null for problems with too few rows."""

    def encode_state(self, estimator: BaseEstimator) -> Values:
        layout = layout_of(estimator.binary_calibrator, _BINARY)
        fell_back = {fallback.problem for fallback in estimator.fallbacks_}
        fitted = [None if i in fell_back else binary for i, binary in enumerate(estimator.calibrators_)]
        lists = {"calibrators_": fitted, "pooled_": estimator.pooled_}
        lists |= {"by_class_": estimator.by_class_} if hasattr(estimator, "by_class_") else {}
        groups: Values = {"groups_": list(estimator.groups_)} if estimator.has_groups else {}
        if hasattr(estimator, "shrunk_"):
            rows = [None if row is None else row.tolist() for row in estimator.shrunk_]
            groups |= {"shrunk_": rows}
        return (
            self.state.encode(estimator)
            | groups
            | {
                name: [None if binary is None else layout.encode_state(binary) for binary in calibrators]
                for name, calibrators in lists.items()
            }
        )

    def decode_state(self, params: Values, raw: Any, where: str, sizes: Sizes) -> Values:
        fields = self.state.fields
        closed(raw, (*fields, "calibrators_", "pooled_", *_OPTIONAL), where, _OPTIONAL)
        n_classes = fields["n_classes_"].decode(raw["n_classes_"], f"{where}.n_classes_", sizes)
        unfitted = MulticlassToBinary(**params)
        try:
            both = unfitted.has_groups and unfitted.shape_for(n_classes).by_class
            for name, wanted in zip(_OF_GROUPS, (unfitted.has_groups, both), strict=True):
                if (name in raw) != wanted:
                    expected = "needs" if wanted else "cannot have"
                    raise CalibratorFileError(
                        f"calibrator file: {where} {expected} {name!r} with by={unfitted.by!r}"
                    )
            names = _group_names(raw["groups_"], f"{where}.groups_") if unfitted.has_groups else ()
            shape, needed = unfitted.shape_for(n_classes, len(names)), unfitted.least_points
        except CalibratorFileError:
            raise
        except InputError as error:
            raise CalibratorFileError(f"calibrator file: params: {error}") from None
        sizes["P"] = shape.n_problems
        n_points = fields["n_points_"].decode(raw["n_points_"], f"{where}.n_points_", sizes)
        per_claim = n_points.reshape(shape.n_claims, -1).sum(axis=1)
        if (per_claim != per_claim[0]).any() or per_claim[0] < 1:
            raise CalibratorFileError(
                f"calibrator file: {where}.n_points_ must add up to the same number of rows for every claim"
            )
        sizes["n"] = int(per_claim[0])
        pools = params["fallback"] != "identity" and shape.problems_per_claim > 1
        n_pooled = per_claim if pools else np.zeros_like(per_claim)
        counted = {"calibrators_": n_points, "pooled_": n_pooled}
        counted |= {"by_class_": n_points.reshape(-1, n_classes).sum(axis=0)} if both else {}
        read = {
            name: _binary_states(unfitted.binary_calibrator, raw[name], f"{where}.{name}", counts, needed)
            for name, counts in counted.items()
        }
        fitted, pooled, by_class = read["calibrators_"], read["pooled_"], read.get("by_class_", [])
        claims = shape.claims_of(np.arange(shape.n_problems))
        if by_class:
            fitted = [
                by_class[at % n_classes] if binary is None else binary for at, binary in enumerate(fitted)
            ]
        calibrators = ProblemCalibrators(
            pooled[claim] if binary is None else binary for binary, claim in zip(fitted, claims, strict=True)
        )
        shrinks = params["fallback"] == "shrink" and pooled[0] is not None
        if ("shrunk_" in raw) != shrinks:
            raise CalibratorFileError(f"calibrator file: {where} needs 'shrunk_' exactly if it shrinks")
        groups: Values = {"groups_": names} if unfitted.has_groups else {}
        if shrinks:
            shrunk = _shrunk_values(raw["shrunk_"], f"{where}.shrunk_", n_points < needed, pooled[0])
            groups |= {"shrunk_": shrunk}
            calibrators = with_shrunken(calibrators, pooled[0], shrunk)
        groups |= {"by_class_": tuple(by_class)} if both else {}
        return groups | {
            "calibrators_": calibrators,
            "pooled_": tuple(pooled),
            "n_points_": n_points,
            "n_classes_": n_classes,
        }

    @property
    def state_schema(self) -> dict[str, Any]:
        states = {"$ref": "#/$defs/binary_state"}
        stated = ("calibrators_", "pooled_", "by_class_")
        lists: dict[str, Any] = dict.fromkeys(stated, {"type": "array", "items": states})
        lists["groups_"] = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
        values = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}}
        lists["shrunk_"] = {"type": "array", "items": {"anyOf": [{"type": "null"}, values]}}
        return closed_schema(self.state.schema["properties"] | lists, _OPTIONAL)


#: State that only calibrators with groups have, and only those by class and group.
_OF_GROUPS = ("groups_", "by_class_")

#: State that only some calibrators have.
_OPTIONAL = (*_OF_GROUPS, "shrunk_")


def _shrunk_values(raw: Any, where: str, short: np.ndarray, pooled: Any) -> list[Any]:
    """Return the values of the pooled bins for each problem with too few points, else None."""
    if not isinstance(raw, list) or len(raw) != len(short):
        raise mismatch(where, f"a list of {len(short):,}", raw)
    row = Array(("b",), 0.0, 1.0)
    values: list[Any] = [None] * len(raw)
    for index, (cells, is_short) in enumerate(zip(raw, short.tolist(), strict=True)):
        if (cells is None) == is_short:
            raise mismatch(f"{where}[{index}]", "a list" if is_short else "null", cells)
        if is_short:
            values[index] = row.decode(cells, f"{where}[{index}]", {"b": len(pooled.values_)})
    return values


def _group_names(names: Any, where: str) -> tuple[str, ...]:
    """Return the names of groups: distinct texts in ascending order, at least one."""
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise mismatch(where, "a list of names", names)
    if any(name >= following for name, following in pairwise(names)):
        raise mismatch(where, "distinct names in ascending order", names)
    return tuple(names)


def _binary_states(
    unfitted: BaseEstimator, raw: Any, where: str, n_points: np.ndarray, needed: int
) -> list[Any]:
    """Return the calibrator of each entry, None if it has fewer than `needed` points."""
    if not isinstance(raw, list) or len(raw) != len(n_points):
        raise mismatch(where, f"a list of {len(n_points):,}", raw)
    layout, params = layout_of(unfitted, _BINARY), unfitted.get_params(deep=False)
    calibrators: list[Any] = [None] * len(raw)
    for index, (state, n) in enumerate(zip(raw, n_points.tolist(), strict=True)):
        entry = f"{where}[{index}]"
        if (state is None) != (n < needed):
            expected = "null" if n < needed else "an object"
            raise mismatch(entry, f"{expected} (it has {n:,} points, {needed:,} needed)", state)
        if state is not None:
            calibrators[index] = layout.build(params, layout.decode_state(params, state, entry, {"n": n}))
    return calibrators


def _check_corrected(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    inner = params["calibrator"]
    if inner is not None and not hasattr(inner, "predict_proba"):
        raise mismatch(
            "params.calibrator", "a calibrator that gives a probability for every class", type(inner).__name__
        )


def _check_two_classes(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    if sizes.pop("L") != 2:
        raise mismatch("params.weights", "two numbers", len(params["weights"]))


#: Every type a calibrator file may name.
TYPES: dict[str, Layout] = {
    **_BINARY,
    "MulticlassToBinary": _MulticlassLayout(
        MulticlassToBinary,
        Record(
            {
                "binary": Maybe(OneOf(_BINARY)),
                "notion": choice(*NOTIONS),
                "top_k": Maybe(whole()),
                "normalize": FLAG,
                "fallback": choice("identity", "pooled", "shrink"),
                "min_points": Maybe(whole()),
                "complete": Maybe(choice("rescale")),
                "by": WordOr(_CONDITION, Listed(_CONDITION, 1, 2)),
            },
            {"by": "class"},
        ),
        Record({"n_classes_": _CLASSES, "n_points_": Array(("P",), 0, whole=True)}),
    ),
    **_VECTOR,
    "CanonicalBinning": Layout(
        CanonicalBinning,
        Record({"scheme": OneOf(_SCHEMES)}),
        Record(
            {
                **_CELLS,
                "scheme_": OneOf(_SCHEMES, fitted=True),
                "cells_": Array(("m",), 0, order="increasing", whole=True),
                "counts_": Array(("m",), 1, whole=True),
                "values_": Array(("m", "L"), 0.0, 1.0),
                "n_boundary_": whole(0),
            }
        ),
        _check_canonical,
    ),
}

_CORRECTION = Array(("L",), 0.0, _MAX_WEIGHT)
_OF_VECTORS = {name: layout for name, layout in TYPES.items() if hasattr(layout.make, "predict_proba")}
TYPES |= {
    "CorrectedCalibrator": Layout(
        CorrectedCalibrator,
        Record({"calibrator": Maybe(OneOf(_OF_VECTORS, fitted=True)), "weights": _CORRECTION}),
        Record({}),
        _check_corrected,
    ),
    "CorrectedScores": Layout(
        CorrectedScores,
        Record({"calibrator": Maybe(OneOf(_BINARY, fitted=True)), "weights": _CORRECTION}),
        Record({}),
        _check_two_classes,
    ),
}


def binary_state_schema() -> dict[str, Any]:
    """Return the JSON Schema of the state of a calibrator of one binary problem; null if it has none."""
    return {"anyOf": [{"type": "null"}, *(layout.state_schema for layout in _BINARY.values())]}
