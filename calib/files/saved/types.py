"""Every type of calibrator in a file: its parameters, its fitted state, and how they must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import CalibratorFileError, InputError
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.calibrators.catalogue import BINARY, SCHEMES, VECTOR, CatalogueEntry
from calib.calibrators.curves import MOST_ODDS
from calib.calibrators.ensemble import EnsembleTemperatureScaling
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.label_shift import CorrectedCalibrator, CorrectedScores
from calib.calibrators.multiclass import MulticlassToBinary, with_shrunken
from calib.calibrators.scaling import LEAST_FLOOR, MOST_FLOOR, AffineScaling
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
    Scalar,
    Sizes,
    WordOr,
    bind,
    choice,
    closed,
    closed_schema,
    either,
    mismatch,
    real,
    text,
    whole,
)

Values = dict[str, Any]
Check = Callable[[Any, str, Sizes], None]


@dataclass(frozen=True)
class Layout:
    """One type of calibrator (or scheme) in a file."""

    make: type  #: Its class
    #: Constructor parameters and fitted attributes, each `whole` that names a size before arrays that use it
    params: Record
    state: Record
    #: Raises `CalibratorFileError` if parameters and state do not agree; may change both and the sizes
    check: Check | None = None

    def encode(self, estimator: BaseEstimator, *, fitted: bool = True) -> Values:
        coded = {"type": self.make.__name__, "params": self.params.encode(estimator)}
        return coded | ({"state": self.encode_state(estimator)} if fitted else {})

    def encode_state(self, estimator: BaseEstimator) -> Values:
        return self.state.encode(estimator)

    def decode_state(self, params: Values, raw: Any, where: str, sizes: Sizes) -> Any:
        """Return the fitted object of checked parameters and the state in a file."""
        estimator = self.make(**params)
        vars(estimator).update(self.state.decode(raw, where, sizes))
        if self.check is not None:
            self.check(estimator, where, sizes)
        return estimator

    def schema(self, *, fitted: bool = True) -> dict[str, Any]:
        keys = {"type": {"const": self.make.__name__}, "params": self.params.schema}
        return closed_schema(keys | ({"state": self.state.schema} if fitted else {}))


Layouts = Mapping[str, Layout]


def layout_of(calibrator: BaseEstimator, layouts: Layouts) -> Layout:
    """Return the layout of an object's exact type, or raise `CalibratorFileError`."""
    if hasattr(calibrator, "carried_by"):
        raise CalibratorFileError(
            "a rule is stored in the calibrator that it was made for: pass rule.carried_by(calibrator)"
        )
    layout = layouts.get(type(calibrator).__name__)
    if layout is None or layout.make is not type(calibrator):
        raise CalibratorFileError(
            f"a {type(calibrator).__name__} cannot be stored in a calibrator file; it must be one of "
            f"{', '.join(layouts)}. `calib.save_model` stores a CalibratedModel"
        )
    return layout


@dataclass(frozen=True)
class OneOf:
    """A calibrator, or an object inside one, of a few types: {type, params} and, if fitted, state."""

    layouts: Layouts
    fitted: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [layout.schema(fitted=self.fitted) for layout in self.layouts.values()]}

    def encode(self, value: Any) -> Any:
        return layout_of(value, self.layouts).encode(value, fitted=self.fitted)

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        closed(value, ("type", "params", "state") if self.fitted else ("type", "params"), where)
        name, prefix = value["type"], where and f"{where}."
        if not isinstance(name, str) or name not in self.layouts:
            raise mismatch(f"{prefix}type", "one of " + ", ".join(self.layouts), name)
        layout = self.layouts[name]
        params = layout.params.decode(value["params"], f"{prefix}params", sizes)
        if not self.fitted:
            return layout.make(**params)
        return layout.decode_state(params, value["state"], f"{prefix}state", sizes)


def _check_histogram(binning: HistogramBinning, where: str, sizes: Sizes) -> None:
    total = int(binning.counts_.sum())
    if total != sizes.setdefault("n", total):
        raise mismatch(f"{where}.counts_", f"counts that sum to {sizes['n']:,}", total)
    max_bins = binning.n_bins or max(total // binning.points_per_bin, 1)
    if (binning.misplaced_ or 0) > total:
        raise mismatch(f"{where}.misplaced_", f"at most {total:,}", binning.misplaced_)
    left_out = binning.left_out_
    if left_out is not None and (
        binning.n_bins or left_out[0] >= 0 or binning.counts_[left_out >= 0].min(initial=2) < 2
    ):
        raise CalibratorFileError(
            f"calibrator file: {where}.left_out_ needs points_per_bin, and one further point in each bin"
        )
    if len(binning.values_) > max_bins:
        raise mismatch(f"{where}.values_", f"at most {max_bins:,} bins", binning.values_.tolist())
    edges = binning.edges_
    noise = binning.delta if binning.ties == "randomize" else 0.0
    if len(edges) and edges[-1] > 1.0 + noise:
        raise mismatch(f"{where}.edges_", f"at most {1.0 + noise}", float(edges[-1]))
    if noise == 0.0 and binning.ties == "group" and (np.diff(edges) <= 0).any():
        raise CalibratorFileError(f"calibrator file: {where}.edges_ must be increasing")


def _check_venn_abers(pair: VennAbersCalibration, where: str, sizes: Sizes) -> None:
    p0, p1 = pair.interval(np.concatenate([[0.0, 1.0], pair.lower_scores_]))
    if (p0 > p1).any():
        raise CalibratorFileError(f"calibrator file: {where}.lower_ must nowhere be above upper_")


def _check_cells(scheme: SierpinskiScheme | GridScheme, where: str, sizes: Sizes) -> None:
    if scheme.n_bins_ != scheme.count_cells(scheme.n_classes_):
        raise mismatch(f"{where}.n_bins_", "the number of cells of the scheme", scheme.n_bins_)


def _check_ridge(scaling: AffineScaling, where: str, sizes: Sizes) -> None:
    if (scaling.ridge_ is not None) != (CROSS_VALIDATED in scaling.get_params().values()):
        raise CalibratorFileError(
            f'calibrator file: {where}.ridge_ must be there exactly if a parameter is "{CROSS_VALIDATED}"'
        )


def _check_mixture(scaling: EnsembleTemperatureScaling, where: str, sizes: Sizes) -> None:
    weights = scaling.mixture_
    if len(weights) != 3 or abs(weights.sum() - 1.0) > 1e-9:
        raise mismatch(f"{where}.mixture_", "three numbers that sum to 1", weights.tolist())


def _check_canonical(binning: CanonicalBinning, where: str, sizes: Sizes) -> None:
    scheme, fitted = binning.scheme, binning.scheme_
    if type(fitted) is not type(scheme) or fitted.get_params() != scheme.get_params():
        raise CalibratorFileError(f"calibrator file: {where}.scheme_ must be the fitted params.scheme")
    cells, values = binning.cells_, binning.values_
    if len(cells) and cells[-1] >= binning.n_bins_:
        raise mismatch(f"{where}.cells_", f"cell numbers below {binning.n_bins_:,}", int(cells[-1]))
    if (np.abs(values.sum(axis=1) - 1.0) > 1e-9).any():
        raise CalibratorFileError(f"calibrator file: {where}.values_ must have rows that sum to 1")
    sizes["n"] = int(binning.counts_.sum()) + binning.n_boundary_


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
_BY_CLASS = Array(("L",), -_MAX_WEIGHT, _MAX_WEIGHT)
_FULL: dict[str, Field] = {"weights_": Array(("L", "L"), -_MAX_WEIGHT, _MAX_WEIGHT), "biases_": _BY_CLASS}
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
        "sierpinski": ({"depth": whole(1, 62)}, _CELLS, _check_cells),
        "grid": ({"cells": whole(1, 10_000)}, _CELLS, _check_cells),
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
                **dict.fromkeys(("weights_", "biases_"), Array(("L-1",), -_MAX_WEIGHT, _MAX_WEIGHT)),
                "ridge_": real(0.0),
            },
            _check_ridge,
        ),
        "top-versus-all": (
            {"l2": real(0.0)},
            {**_SCALING, "weights_": _BY_CLASS},
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
            {**_STRUCTURED, "weights_": _BY_CLASS, "biases_": _BY_CLASS},
        ),
        "structured-matrix": (
            dict.fromkeys(("lambda_intercept", "lambda_diagonal", "lambda_off_diagonal"), real(0.0)),
            {**_STRUCTURED, **_FULL},
        ),
    },
)


class _ReductionLayout(Layout):
    """`MulticlassToBinary` with the states of its binary calibrators, null for problems with too few rows."""

    def encode_state(self, estimator: BaseEstimator) -> Values:
        enough = (estimator.n_points_ >= estimator.least_points).tolist()
        own = [binary if fits else None for binary, fits in zip(estimator.calibrators_, enough, strict=True)]
        return super().encode_state(
            SimpleNamespace(**{**self.state.later, **vars(estimator), "calibrators_": own})
        )


def _check_reduction(reduction: MulticlassToBinary, where: str, sizes: Sizes) -> None:
    """Put the calibrators of all problems in place of the states, if these agree with the parameters."""
    listed = ("groups_", "shrunk_", "calibrators_", "pooled_", "by_class_")
    state: Values = {name: reduction.__dict__.pop(name) for name in listed}
    n_points, n_classes, names = reduction.n_points_, reduction.n_classes_, state["groups_"]
    try:
        shape, needed = reduction.shape_for(n_classes, len(names)), reduction.least_points
    except InputError as error:
        raise CalibratorFileError(f"calibrator file: params: {error}") from None
    both = reduction.has_groups and shape.by_class
    for name, wanted in (("groups_", reduction.has_groups), ("by_class_", both)):
        if bool(state[name]) != wanted:
            expected = "needs" if wanted else "cannot have"
            raise CalibratorFileError(
                f"calibrator file: {where} {expected} {name!r} with by={reduction.by!r}"
            )
    if list(names) != sorted(names):
        raise mismatch(f"{where}.groups_", "distinct names in ascending order", list(names))
    bind("P", len(n_points), f"{where}.n_points_", {"P": shape.n_problems})
    per_claim = n_points.reshape(shape.n_claims, -1).sum(axis=1)
    if (per_claim != per_claim[0]).any() or per_claim[0] < 1:
        raise CalibratorFileError(
            f"calibrator file: {where}.n_points_ must add up to the same number of rows for every claim"
        )
    sizes["n"] = int(per_claim[0])
    pools = reduction.fallback != "identity" and shape.problems_per_claim > 1
    counted = {"calibrators_": n_points, "pooled_": per_claim if pools else np.zeros_like(per_claim)}
    counted["by_class_"] = n_points.reshape(-1, n_classes).sum(axis=0) if both else n_points[:0]
    own, pooled, by_class = (
        _binary_states(reduction.binary_calibrator, state[name], f"{where}.{name}", counts, needed)
        for name, counts in counted.items()
    )
    reduction.fit_problems(shape, n_points, own.__getitem__, pooled.__getitem__, by_class.__getitem__)
    if reduction.has_groups:
        reduction.groups_ = names
    shrunk, short = state["shrunk_"], (n_points < needed).tolist()
    if (shrunk is not None) != (reduction.fallback == "shrink" and pooled[0] is not None):
        raise CalibratorFileError(f"calibrator file: {where} needs 'shrunk_' exactly if it shrinks")
    if shrunk is not None:
        if [values is not None for values in shrunk] != short:
            raise mismatch(f"{where}.shrunk_", "values for each problem with too few rows, else null", shrunk)
        bind("s", len(pooled[0].values_), f"{where}.pooled_[0].values_", sizes)
        reduction.shrunk_ = list(shrunk)
        reduction.calibrators_ = with_shrunken(reduction.calibrators_, pooled[0], shrunk)


def _binary_states(
    unfitted: BaseEstimator, states: Sequence[Any], where: str, n_points: np.ndarray, needed: int
) -> list[Any]:
    """Return the calibrator of each entry, None if it has fewer than `needed` points."""
    if len(states) != len(n_points):
        raise mismatch(where, f"a list of {len(n_points):,}", list(states))
    layout, params = layout_of(unfitted, _BINARY), unfitted.get_params(deep=False)
    calibrators: list[Any] = []
    for index, (state, n) in enumerate(zip(states, n_points.tolist(), strict=True)):
        entry = f"{where}[{index}]"
        if (state is None) != (n < needed):
            expected = "null" if n < needed else "an object"
            raise mismatch(entry, f"{expected} (it has {n:,} points, {needed:,} needed)", state)
        calibrators.append(None if state is None else layout.decode_state(params, state, entry, {"n": n}))
    return calibrators


#: States of binary calibrators, which `_check_reduction` checks.
_STATES = Scalar(
    "a list of states",
    lambda value: isinstance(value, list) and bool(value),
    {"type": "array", "items": {"$ref": "#/$defs/binary_state"}},
    lambda states: [each and layout_of(each, _BINARY).encode_state(each) for each in states],
)


def _check_corrected(corrected: CorrectedCalibrator, where: str, sizes: Sizes) -> None:
    inner = corrected.calibrator
    if inner is not None and not hasattr(inner, "predict_proba"):
        raise mismatch(
            "params.calibrator", "a calibrator that gives a probability for every class", type(inner).__name__
        )


def _check_two_classes(corrected: CorrectedScores, where: str, sizes: Sizes) -> None:
    if sizes.pop("L") != 2:
        raise mismatch("params.weights", "two numbers", len(corrected.weights))


#: Every type a calibrator file may name.
TYPES: dict[str, Layout] = {
    **_BINARY,
    "MulticlassToBinary": _ReductionLayout(
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
        Record(
            {
                "n_classes_": _CLASSES,
                "n_points_": Array(("P",), 0, whole=True),
                "groups_": Listed(text("a name", lambda name: True), 1, distinct=True),
                "shrunk_": Listed(Maybe(Array(("s",), 0.0, 1.0))),
                **dict.fromkeys(("calibrators_", "pooled_", "by_class_"), _STATES),
            },
            {"groups_": (), "shrunk_": None, "by_class_": ()},
        ),
        _check_reduction,
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
    return {"anyOf": [{"type": "null"}, *(layout.state.schema for layout in _BINARY.values())]}
