"""A small writer of ONNX graphs: named nodes, constants, float64 inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.exceptions import InputError

#: Version of the operator set, understood by onnxruntime 1.12 and later.
OPSET = 17


class Graph:
    """A graph under construction; methods add nodes and return the names of their results."""

    n_classes: int

    def __init__(self) -> None:
        try:  # an extra, and slow to import: only graphs need it
            from onnx import TensorProto, checker, helper, numpy_helper
        except ImportError:
            raise InputError("the onnx package is not installed; install calib[onnx]") from None
        self._helper, self._types = helper, TensorProto
        self._stored, self._check = numpy_helper.from_array, checker.check_model
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: list[Any]) -> str:
        """Declare a float32 input and return it as float64, at most 1."""
        self._inputs.append(self._helper.make_tensor_value_info(name, self._types.FLOAT, shape))
        if len(shape) == 2:
            self.n_classes = shape[1]
        return self.cast(self.op("Min", name, self.array(np.float32(1.0))), "DOUBLE")

    def whole_input(self, name: str, shape: list[Any]) -> str:
        """Declare an int64 input and return it."""
        self._inputs.append(self._helper.make_tensor_value_info(name, self._types.INT64, shape))
        return name

    def output(self, name: str, value: str, shape: list[Any], *, whole: bool = False) -> None:
        """Declare an output: float64, or int64 where `whole`."""
        kind = self._types.INT64 if whole else self._types.DOUBLE
        self._nodes.append(self._helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._helper.make_tensor_value_info(name, kind, shape))

    def op(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result."""
        return self.op_many(operator, 1, *inputs, **attributes)[0]

    def op_many(self, operator: str, n_results: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several results."""
        results = [f"v{len(self._nodes)}_{number}" for number in range(n_results)]
        self._nodes.append(self._helper.make_node(operator, list(inputs), results, **attributes))
        return results

    def array(self, values: Any) -> str:
        """Add a constant; equal constants are stored once."""
        array = np.ascontiguousarray(values)
        array = array.reshape(np.shape(values))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"c{len(self._constants)}"
            self._initializers.append(self._stored(array, self._constants[key]))
        return self._constants[key]

    def number(self, value: float) -> str:
        """Add a float64 constant."""
        return self.array(np.float64(value))

    def cast(self, value: str, kind: str) -> str:
        """Convert to "DOUBLE" or "INT64"."""
        return self.op("Cast", value, to=getattr(self._types, kind))

    def top(self, matrix: str) -> str:
        """Column of the largest entry of each row, the first of equals."""
        return self.op("ArgMax", matrix, axis=1, keepdims=0)

    def sums(self, matrix: str) -> str:
        """Sum of each row, as a column."""
        return self.op("ReduceSum", matrix, self.array(np.array([1])), keepdims=1)

    def columns(self, matrix: str, start: int, stop: int) -> str:
        """Columns start..stop-1."""
        return self.op("Slice", matrix, *(self.array(np.array([number])) for number in (start, stop, 1)))

    def serialised(self) -> bytes:
        """Check the model and return its bytes."""
        graph = self._helper.make_graph(self._nodes, "calib", self._inputs, self._outputs, self._initializers)
        model = self._helper.make_model(
            graph, opset_imports=[self._helper.make_opsetid("", OPSET)], ir_version=8, producer_name="calib"
        )
        self._check(model)
        return model.SerializeToString()
