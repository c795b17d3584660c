"""How one type of calibrator is written to a file, checked and built again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import Fallback
from calib.exceptions import CalibratorFileError
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
        needed = _needed(estimator.get_params(deep=False))
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
        n_claims, n_problems = _count_problems(params, n_classes, where)
        sizes["P"] = n_problems
        n_points = self.state["n_points_"].decode(raw["n_points_"], f"{where}.n_points_", sizes)
        needed = _needed(params)
        per_claim = n_points.reshape(n_claims, -1).sum(axis=1)
        if (per_claim != per_claim[0]).any() or per_claim[0] < 1:
            raise CalibratorFileError(
                f"calibrator file: {where}.n_points_ must add up to the same number of rows for every claim"
            )
        sizes["n"] = int(per_claim[0])
        own = self._binary_states(params, raw["calibrators_"], f"{where}.calibrators_", n_points, needed)
        unused = params["fallback"] != "pooled" or n_problems == n_claims
        pooled = self._binary_states(
            params,
            raw["pooled_"],
            f"{where}.pooled_",
            np.zeros_like(per_claim) if unused else per_claim,
            needed,
        )
        claim = [index * n_claims // n_problems for index in range(n_problems)]
        about_class = params["notion"] not in ("confidence", "top-k-confidence")
        return {
            "calibrators_": tuple(pooled[claim[i]] if one is None else one for i, one in enumerate(own)),
            "pooled_": tuple(pooled),
            "n_points_": n_points,
            "n_classes_": n_classes,
            "fallbacks_": tuple(
                Fallback(
                    problem=i,
                    label=i % n_classes if about_class else -1,
                    rank=claim[i],
                    n_points=int(n_points[i]),
                    needed=needed,
                    used="identity" if pooled[claim[i]] is None else "pooled",
                )
                for i, one in enumerate(own)
                if one is None
            ),
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


def _needed(params: Values) -> int:
    least = params["min_points"]
    return max(int(getattr(_binary(params["binary"]), "min_points", 1) if least is None else least), 1)


def _count_problems(params: Values, n_classes: int, where: str) -> tuple[int, int]:
    """Return the numbers of claims and of problems, and check that the parameters fit the notion."""
    notion, top_k = params["notion"], params["top_k"]
    ranked = notion.startswith("top-k")
    for name, allowed in (
        ("top_k", ranked),
        ("normalize", notion == "class-wise"),
        ("complete", notion in ("confidence", "top-label")),
    ):
        if params[name] and not allowed:
            raise CalibratorFileError(f"calibrator file: params.{name} does not belong to notion {notion!r}")
    k = (min(n_classes, 5) if top_k is None else top_k) if ranked else 1
    if k > n_classes:
        raise mismatch("params.top_k", f"at most the number of classes, {n_classes}", k)
    if notion == "class-wise":
        return n_classes, n_classes
    return k, k if notion in ("confidence", "top-k-confidence") else k * n_classes
