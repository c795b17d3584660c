"""Programs: a calibrator as a list of steps on arrays, which NumPy, ONNX and PyTorch can run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

#: Type of an array by NumPy's letter for its kind.
_TYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}
#: Letter of a result whose kind differs from its operands'.
_KINDS = dict.fromkeys(("equal", "greater", "greater_equal", "less", "less_equal", "logical_and"), "b")
_KINDS |= dict.fromkeys(("top", "ranked", "whole"), "i") | {"floats": "f"}


#: Methods of a value that are not functions of NumPy's:
#: take(index): entries of a vector, or rows of a matrix, for an index of any shape;
#: top(): column of the largest entry of each row, the first if several tie; largest(): that entry;
#: sums(): sum of each row, as a column; running(): its cumulative sums; softmax(): its softmax;
#: ranked(n): columns of the n largest entries of each row, in descending order, ties in order of columns;
#: along(columns): entries of each row in these columns.
METHODS = frozenset(("take", "top", "largest", "sums", "softmax", "running", "ranked", "along"))


class Value(NDArrayOperatorsMixin):
    """A value of a program. An operator or NumPy function on it adds a step and returns the step's result.

    Formulas of calibrators accept values in place of arrays. Numbers and arrays combined with a value become
    constants of its kind.
    """

    def __init__(self, program: Program, name: str, kind: str) -> None:
        self.program, self.name, self.kind = program, name, kind

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> Any:
        return self.program.step(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        return self.program.step(function.__name__, *inputs)

    def __getitem__(self, key: tuple[slice, slice | None]) -> Any:
        """Make a vector a column, ``[:, None]``, or take columns of a matrix, ``[:, start:stop]``."""
        if key[1] is None:
            return self.program.step("column", self)
        start, stop, _ = key[1].indices(self.program.n_classes)
        return self.program.step("columns", self, start, stop)

    def astype(self, kind: type) -> Any:
        """Convert to int or float."""
        return self.program.step("whole" if kind is int else "floats", self)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        return partial(self.program.step, name, self)


class Program:
    """Steps from inputs through constants to outputs; all numbers are float64, int64 or bool.

    `inputs` has the columns of each input: 0 for a vector of floats, -1 for a vector of whole numbers. A step
    is (function, result, operand, ...): NumPy's functions by name, SciPy's `expit`, and the methods of
    `Value`; operands are names or whole numbers, "eps" the machine epsilon of the first input's type.
    `outputs` has (value, columns) by name, 0 columns for a vector.
    """

    def __init__(self) -> None:
        self.inputs: dict[str, int] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.steps: list[tuple[Any, ...]] = []
        self.outputs: dict[str, tuple[Value, int]] = {}
        self._stored: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    @property
    def n_classes(self) -> int:
        return next(iter(self.inputs.values()))

    @property
    def eps(self) -> Any:
        """Machine epsilon of the type in which the first input is given."""
        return Value(self, "eps", "f")

    def with_eps(self, kind: type) -> dict[str, np.ndarray]:
        """Return the constants for a first input of a type, "eps" among them if it is used."""
        used = any("eps" in step for step in self.steps)
        return self.constants | ({"eps": np.array(np.finfo(kind).eps, np.float64)} if used else {})

    def input(self, name: str, columns: int) -> Any:
        self.inputs[name] = columns
        return Value(self, name, "i" if columns < 0 else "f")

    def output(self, name: str, value: Value, columns: int = 0) -> None:
        self.outputs[name] = (value, columns)

    def constant(self, values: Any, kind: str = "") -> Any:
        """Store an array, equal ones once."""
        array = np.asarray(values, order="C")
        array = array.astype(_TYPES[kind or array.dtype.kind])
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._stored:
            name = f"c{len(self.constants)}"
            self.constants[name] = array
            self._stored[key] = Value(self, name, array.dtype.kind)
        return self._stored[key]

    def keep_used(self) -> None:
        """Drop the steps and constants that no output needs."""
        used = {value.name for value, _ in self.outputs.values()}
        steps = []
        for step in reversed(self.steps):
            if step[1] in used:
                used.update(operand for operand in step[2:] if isinstance(operand, str))
                steps.append(step)
        self.steps = steps[::-1]
        self.constants = {name: array for name, array in self.constants.items() if name in used}

    def step(self, function: str, *operands: Any) -> Any:
        """Add a step: whole numbers beside a method of `Value` stay numbers, others become constants."""
        kind = [operand.kind for operand in operands if isinstance(operand, Value)][-1]
        if function not in ("columns", "ranked"):
            operands = tuple(
                operand if isinstance(operand, Value) else self.constant(operand, kind)
                for operand in operands
            )
        if function in ("take", "along"):
            kind = operands[0].kind
        name = f"v{len(self.steps)}"
        given = [operand.name if isinstance(operand, Value) else operand for operand in operands]
        self.steps.append((function, name, *given))
        return Value(self, name, _KINDS.get(function, kind))
