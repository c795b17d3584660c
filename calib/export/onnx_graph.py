"""A small writer of ONNX graphs: named nodes, constants, float64 inside."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calib.base.exceptions import InputError, not_installed

#: Oldest operator set that models can be written in, and the newest that every onnxruntime of the range in
#: `pyproject.toml` runs.
OLDEST, EVERYWHERE = 13, 21
#: Prefix of the names of a calibrator that stands behind a classifier.
BEHIND = "calibrated_"


def _onnx() -> Any:
    try:  # an extra, and slow to import: only graphs need it
        import onnx
    except ImportError:
        raise not_installed("onnx", "onnx") from None
    return onnx


def as_model(model: Any) -> Any:
    """Return an ONNX model of a model or its bytes.

    Raises
    ------
    InputError
        If it is neither, or the onnx package is not installed.
    """
    onnx = _onnx()
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, bytes):
        raise InputError(f"expected an ONNX model or its bytes; got {type(model).__name__}")
    return onnx.load_model_from_string(model)


def dtype_of(value: Any) -> str | None:
    """Return "FLOAT" or "DOUBLE" where an input or output is a tensor of these, else None."""
    kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
    return {1: "FLOAT", 11: "DOUBLE"}.get(kind)


def opset_of(model: Any) -> int:
    """Return the version of the operators that a model uses."""
    return max(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))


def to_go_before(model: Any) -> Any:
    """Return a copy of a model that a calibrator can stand behind.

    Outputs that a ZipMap made dictionaries are the tensors they were, and the operators are of `OLDEST` or
    newer: skl2onnx writes both by default.
    """
    onnx = _onnx()
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    once = {one.domain: one.version for one in copy.opset_import if one.domain not in ("", "ai.onnx")}
    once[""] = opset_of(copy)
    del copy.opset_import[:]
    copy.opset_import.extend(onnx.helper.make_opsetid(*one) for one in once.items())
    if once[""] < OLDEST:
        from onnx.version_converter import convert_version

        copy = convert_version(copy, OLDEST)
        copy.ir_version = max(copy.ir_version, onnx.helper.find_min_ir_version_for(copy.opset_import))
    nodes, outputs = copy.graph.node, copy.graph.output
    for node in [one for one in nodes if one.op_type == "ZipMap"]:
        (old,) = [one for one in outputs if one.name == node.output[0]]
        nodes.remove(node)
        for other in nodes:  # the tensor gets the name of the output
            other.output[:] = [old.name if name == node.input[0] else name for name in other.output]
            other.input[:] = [old.name if name == node.input[0] else name for name in other.input]
        new = onnx.helper.make_tensor_value_info(old.name, onnx.TensorProto.FLOAT, [None, None])
        place = [one.name for one in outputs].index(old.name)
        del outputs[place]
        outputs.insert(place, new)
    return copy


@cache
def newest_opset() -> int:
    """Return the newest operator set that the installed onnx writes and the installed onnxruntime runs.

    Where onnxruntime is not installed: `EVERYWHERE`, or what the installed onnx knows if that is less.
    """
    onnx = _onnx()
    known: int = onnx.defs.onnx_opset_version()
    try:
        import onnxruntime
    except ImportError:
        return min(known, EVERYWHERE)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    refused = onnxruntime.capi.onnxruntime_pybind11_state
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
    nodes = [  # operators that are renewed most often
        onnx.helper.make_node("Cast", ["x"], ["z"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Identity", ["z"], ["y"]),
    ]
    graph = onnx.helper.make_graph(nodes, "trial", ends[:1], ends[1:])
    for opset in range(known, EVERYWHERE, -1):  # onnxruntime names no newest one; it refuses what is too new
        trial = _of_versions(graph, opset).SerializeToString()
        try:
            onnxruntime.InferenceSession(trial, options, providers=["CPUExecutionProvider"])
        except (refused.Fail, refused.InvalidArgument, refused.NotImplemented):
            continue
        return opset
    return min(known, EVERYWHERE)


def _of_versions(graph: Any, opset: int, ir_version: int | None = None) -> Any:
    """Return a model of a graph, with the lowest IR version that its operators allow, or a given one."""
    helper = _onnx().helper
    versions = [helper.make_opsetid("", opset)]
    ir_version = ir_version or max(8, helper.find_min_ir_version_for(versions))
    return helper.make_model(graph, opset_imports=versions, ir_version=ir_version, producer_name="calib")


class Graph:
    """A graph under construction; methods add nodes and return the names of their results.

    Attributes
    ----------
    inputs, outputs : list of str
        Names of the model's inputs and outputs, with the prefix.
    n_classes : int
        Columns of the input.
    """

    n_classes: int

    def __init__(self, opset: Any = None, prefix: str | None = None, dtype: str = "FLOAT") -> None:
        onnx = _onnx()
        self._helper, self._types = onnx.helper, onnx.TensorProto
        self._stored, self._check = onnx.numpy_helper.from_array, onnx.checker.check_model
        self._ir_version = None
        if opset is None:
            opset = newest_opset()
        elif not isinstance(opset, (int, np.integer)):
            model = as_model(opset)
            opset, self._ir_version = opset_of(model), model.ir_version
            prefix = BEHIND if prefix is None else prefix
        known = onnx.defs.onnx_opset_version()
        if not OLDEST <= opset <= known:
            raise InputError(
                f"opset must be from {OLDEST} to {known}, which the installed onnx knows; got {opset}"
            )
        self._opset, self._prefix, self._dtype = int(opset), prefix or "", dtype
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, the scores first."""
        return [one.name for one in self._inputs]

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return [one.name for one in self._outputs]

    def _declare(self, name: str, shape: list[Any], kind: str) -> str:
        name = self._prefix + name
        self._inputs.append(self._helper.make_tensor_value_info(name, getattr(self._types, kind), shape))
        return name

    def input(self, name: str, shape: list[Any]) -> str:
        """Declare an input of probabilities and return it as float64, at most 1."""
        name = self._declare(name, shape, self._dtype)
        if len(shape) == 2:
            self.n_classes = shape[1]
        one = np.float32(1.0) if self._dtype == "FLOAT" else np.float64(1.0)
        return self.cast(self.op("Min", name, self.array(one)), "DOUBLE")

    def logits(self, name: str, shape: list[Any]) -> str:
        """Declare an input of any numbers and return it as float64."""
        name = self._declare(name, shape, self._dtype)
        if len(shape) == 2:
            self.n_classes = shape[1]
        return self.cast(name, "DOUBLE")

    def whole_input(self, name: str, shape: list[Any]) -> str:
        """Declare an int64 input and return it."""
        return self._declare(name, shape, "INT64")

    def output(self, name: str, value: str, shape: list[Any], *, whole: bool = False) -> None:
        """Declare an output: float64, or int64 where `whole`."""
        kind = self._types.INT64 if whole else self._types.DOUBLE
        name = self._prefix + name
        self._nodes.append(
            self._helper.make_node("Identity", [value], [name], name=f"{self._prefix}n{len(self._nodes)}")
        )
        self._outputs.append(self._helper.make_tensor_value_info(name, kind, shape))

    def op(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result."""
        return self.op_many(operator, 1, *inputs, **attributes)[0]

    def op_many(self, operator: str, n_results: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several results."""
        results = [f"{self._prefix}v{len(self._nodes)}_{number}" for number in range(n_results)]
        name = f"{self._prefix}n{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, list(inputs), results, name=name, **attributes))
        return results

    def array(self, values: Any) -> str:
        """Add a constant; equal constants are stored once."""
        array = np.ascontiguousarray(values)
        array = array.reshape(np.shape(values))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"{self._prefix}c{len(self._constants)}"
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

    def largest(self, matrix: str) -> str:
        """Largest entry of each row; its axis became an input in opset 18."""
        if self._opset < 18:
            return self.op("ReduceMax", matrix, axes=[1], keepdims=0)
        return self.op("ReduceMax", matrix, self.array(np.array([1])), keepdims=0)

    def sums(self, matrix: str) -> str:
        """Sum of each row, as a column."""
        return self.op("ReduceSum", matrix, self.array(np.array([1])), keepdims=1)

    def columns(self, matrix: str, start: int, stop: int) -> str:
        """Columns start..stop-1."""
        return self.op("Slice", matrix, *(self.array(np.array([number])) for number in (start, stop, 1)))

    def serialised(self) -> bytes:
        """Check the model and return its bytes."""
        graph = self._helper.make_graph(self._nodes, "calib", self._inputs, self._outputs, self._initializers)
        model = _of_versions(graph, self._opset, self._ir_version)
        self._check(model)
        return model.SerializeToString()
