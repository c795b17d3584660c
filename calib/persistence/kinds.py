"""How one type of calibrator is written to a file, checked and built again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary, find_fallbacks
from calib.exceptions import CalibratorFileError, InputError
from calib.persistence.fields import Field, Sizes, closed, closed_schema, mismatch

Values = dict[str, Any]
Check = Callable[[Values, Values, str, Sizes], None]


def _nothing_more(params: Values, state: Values, where: str, sizes: Sizes) -> None:
    pass


@dataclass(frozen=True)
class Kind:
    """One type of calibrator: its constructor parameters, its fitted state, and how they must agree.

    Adding a type to the file format is adding one of these to `KINDS`. The fields of `state` are decoded in
    order; a `Whole` with `size="L"` comes before arrays that use L.
    """

    make: type
    params: dict[str, Field]
    state: dict[str, Field]
    check: Check = _nothing_more

    def encode_params(self, estimator: Any) -> Values:
        """Return the constructor parameters as JSON types."""
        return {name: field.encode(getattr(estimator, name)) for name, field in self.params.items()}

    def encode_state(self, estimator: Any) -> Values:
        """Return the fitted state as JSON types."""
        return {name: field.encode(getattr(estimator, name)) for name, field in self.state.items()}

    def decode_params(self, raw: Any, where: str, sizes: Sizes) -> Values:
        """Return the checked parameters."""
        return _decoded(self.params, raw, where, sizes)

    def decode_state(self, params: Values, raw: Any, where: str, sizes: Sizes) -> Values:
        """Return the checked state."""
        state = _decoded(self.state, raw, where, sizes)
        self.check(params, state, where, sizes)
        return state

    def build(self, params: Values, state: Values) -> Any:
        """Make the calibrator from checked values."""
        estimator = self.make(**params)
        for name, value in state.items():
            setattr(estimator, name, value)
        return estimator

    def schema(self, *, fitted: bool = True) -> dict[str, Any]:
        """Return the JSON Schema of an object with type, params and (where fitted) state."""
        parts = {
            "type": {"const": self.make.__name__},
            "params": closed_schema({name: field.schema() for name, field in self.params.items()}),
        }
        return closed_schema(parts | ({"state": self.state_schema()} if fitted else {}))

    def state_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the state."""
        return closed_schema({name: field.schema() for name, field in self.state.items()})


@dataclass(frozen=True)
class Part:
    """An object inside a calibrator, of one of a few types: {type, params} and, if fitted, state."""

    kinds: dict[str, Kind]
    fitted: bool = False

    def encode(self, value: Any) -> Any:
        """Return type, params and state."""
        kind = self._kind(type(value).__name__, "the type of a part")
        if kind.make is not type(value):
            raise mismatch("the type of a part", f"calib's own {kind.make.__name__}", value)
        coded = {"type": kind.make.__name__, "params": kind.encode_params(value)}
        return coded | ({"state": kind.encode_state(value)} if self.fitted else {})

    def decode(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Check all values and make the object."""
        closed(value, ("type", "params", "state") if self.fitted else ("type", "params"), where)
        kind = self._kind(value["type"], f"{where}.type")
        params = kind.decode_params(value["params"], f"{where}.params", sizes)
        if not self.fitted:
            return kind.make(**params)
        return kind.build(params, kind.decode_state(params, value["state"], f"{where}.state", sizes))

    def schema(self) -> dict[str, Any]:
        """Return any of the types."""
        return {"anyOf": [kind.schema(fitted=self.fitted) for kind in self.kinds.values()]}

    def _kind(self, name: Any, where: str) -> Kind:
        if not isinstance(name, str) or name not in self.kinds:
            raise mismatch(where, "one of " + ", ".join(self.kinds), name)
        return self.kinds[name]


@dataclass(frozen=True)
class MulticlassKind(Kind):
    """`MulticlassToBinary`: its state holds the states of its binary calibrators, null where there is none.

    A problem with fewer rows than the least has null, and what it falls back to follows from `pooled_`.
    """

    binary: dict[str, Kind] = field(default_factory=dict)

    def encode_state(self, estimator: Any) -> Values:
        """Return the fitted state as JSON types."""
        kind = self._binary_kind(estimator.binary)
        needed = estimator.least_points
        fitted = zip(estimator.n_points_.tolist(), estimator.calibrators_, strict=True)
        own = [None if n < needed else calibrator for n, calibrator in fitted]
        return super().encode_state(estimator) | {
            name: [None if one is None else kind.encode_state(one) for one in calibrators]
            for name, calibrators in (("calibrators_", own), ("pooled_", estimator.pooled_))
        }

    def decode_state(self, params: Values, raw: Any, where: str, sizes: Sizes) -> Values:
        """Return the checked state, with what follows from it."""
        closed(raw, (*self.state, "calibrators_", "pooled_"), where)
        n_classes = self.state["n_classes_"].decode(raw["n_classes_"], f"{where}.n_classes_", sizes)
        calibrator = MulticlassToBinary(**params)
        try:
            shape, needed = calibrator.shape_for(n_classes), calibrator.least_points
        except InputError as error:
            raise CalibratorFileError(f"calibrator file: params: {error}") from None
        sizes["P"] = shape.n_problems
        n_points = self.state["n_points_"].decode(raw["n_points_"], f"{where}.n_points_", sizes)
        per_claim = n_points.reshape(shape.n_claims, -1).sum(axis=1)
        if (per_claim != per_claim[0]).any() or per_claim[0] < 1:
            raise CalibratorFileError(
                f"calibrator file: {where}.n_points_ must add up to the same number of rows for every claim"
            )
        sizes["n"] = int(per_claim[0])
        own = self._binary_states(params, raw["calibrators_"], f"{where}.calibrators_", n_points, needed)
        unused = params["fallback"] != "pooled" or shape.problems_per_claim == 1
        pooled = self._binary_states(
            params,
            raw["pooled_"],
            f"{where}.pooled_",
            np.zeros_like(per_claim) if unused else per_claim,
            needed,
        )
        claims = shape.claims_of(np.arange(shape.n_problems)).tolist()
        calibrators = tuple(
            pooled[claim] if one is None else one for one, claim in zip(own, claims, strict=True)
        )
        return {
            "calibrators_": calibrators,
            "pooled_": tuple(pooled),
            "n_points_": n_points,
            "n_classes_": n_classes,
            "fallbacks_": find_fallbacks(shape, n_points, needed, calibrators),
        }

    def state_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the state."""
        states = {"anyOf": [{"type": "null"}, *(kind.state_schema() for kind in self.binary.values())]}
        schema = super().state_schema()
        for name in ("calibrators_", "pooled_"):
            schema["properties"][name] = {"type": "array", "items": states}
            schema["required"].append(name)
        return schema

    def _binary_kind(self, binary: Any) -> Kind:
        kind = self.binary.get(type(_binary(binary)).__name__)
        if kind is None or kind.make is not type(_binary(binary)):
            raise mismatch("params.binary", "one of " + ", ".join(self.binary), binary)
        return kind

    def _binary_states(
        self, params: Values, raw: Any, where: str, n_points: np.ndarray, needed: int
    ) -> list[Any | None]:
        """Return a calibrator per entry: one exactly where there are at least `needed` points."""
        if not isinstance(raw, list) or len(raw) != len(n_points):
            raise mismatch(where, f"a list of {len(n_points):,}", raw)
        binary = _binary(params["binary"])
        kind = self._binary_kind(binary)
        own = binary.get_params(deep=False)
        calibrators: list[Any | None] = []
        for index, (state, n) in enumerate(zip(raw, n_points.tolist(), strict=True)):
            place = f"{where}[{index}]"
            if (state is None) != (n < needed):
                wanted = "null" if n < needed else "an object"
                raise mismatch(place, f"{wanted} (it has {n:,} points, {needed:,} needed)", state)
            calibrators.append(
                None if state is None else kind.build(own, kind.decode_state(own, state, place, {"n": n}))
            )
        return calibrators


def _decoded(fields: dict[str, Field], raw: Any, where: str, sizes: Sizes) -> Values:
    closed(raw, fields, where)
    return {name: field.decode(raw[name], f"{where}.{name}", sizes) for name, field in fields.items()}


def _binary(binary: Any) -> Any:
    return HistogramBinning() if binary is None else binary
