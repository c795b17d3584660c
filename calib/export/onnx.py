"""ONNX models: a calibrator as a graph for onnxruntime, alone or after a classifier (extra `onnx`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError, not_installed
from calib.export.description import describe
from calib.export.program import Program, Value
from calib.export.replay import replay

#: Oldest operator set of a model, and the default: the newest that every supported onnxruntime runs.
OLDEST, EVERYWHERE = 13, 21
#: Prefix of the names of a calibrator that follows a classifier.
BEHIND = "calibrated_"


#: Types by their numbers in ONNX.
_FLOAT32, _INT64, _FLOAT64 = 1, 7, 11


def to_onnx(calibrator: BaseEstimator, *, opset: Any = None, logits: bool = False) -> bytes:
    """Return a calibrator as a serialised ONNX model.

    Input "proba" is (n, L) float32 ("scores_in", (n,) float32, for a binary calibrator). Outputs are "label"
    (n,) int64 and "confidence" (n,) float64; "labels" and "confidences", both (n, K); or "probabilities" (n,
    L) float64 and "label"; for a binary calibrator "scores" (n,). With groups there is an input "group", (n,)
    int64: places in `groups_`, -1 for any other group. With a rule of `calib.decide` there is "accept" (n,)
    int64, 0 or 1.

    Parameters
    ----------
    calibrator : fitted calibrator
        Any that `calib.save` can store.
    opset : int or ONNX model, optional
        Version of the operators, from 13 on; by default 21, which onnxruntime runs from 1.20 on. A model (or
        its bytes) stands for its opset and IR version; every name then begins with ``calibrated_``.
    logits : bool
        Whether the input is "logits", (n, L) float32, or (n,) log-odds for a binary calibrator.
    """
    return Graph(describe(calibrator, logits=logits), opset).serialised()


def onnx_behind(
    model: BaseEstimator,
    calibrator: BaseEstimator,
    *,
    output: str | None = None,
    logits: bool = False,
) -> bytes:
    """Return a classifier followed by a calibrator as one ONNX model.

    Inputs are the classifier's. Outputs are as in `to_onnx`, their names begin with ``calibrated_``, and the
    classifier's other outputs.

    Parameters
    ----------
    model : ONNX model or bytes
        The classifier, such as one exported by skl2onnx (without its ZipMap) or `torch.onnx.export`.
    calibrator : fitted calibrator
        Fitted on the classifier's scores, classes in the same order.
    output : str, optional
        The classifier's output that is calibrated, (n, L). Default: "probabilities" or "logits", else the
        only output of floats.
    logits : bool
        Whether that output holds logits. Set if the name says so.
    """
    first = to_go_before(as_model(model))
    named = [tensor.name for tensor in first.graph.output]
    floats = {tensor.name: dtype for tensor in first.graph.output if (dtype := dtype_of(tensor)) is not None}
    if output is None:
        known = [name for name in ("probabilities", "logits") if name in floats] or list(floats)
        if len(known) != 1:
            raise InputError(
                f"name the output that is calibrated, output=; the model has {', '.join(map(repr, named))}"
            )
        (output,) = known
    if output not in floats:
        listed = ", ".join(map(repr, floats)) or "none"
        raise InputError(f"the output {output!r} is no tensor of floats of the model; those are {listed}")
    from onnx.compose import merge_models

    program = describe(calibrator, logits=logits or output == "logits")
    graph = Graph(program, first, dtype=floats[output])
    merged = merge_models(
        first,
        as_model(graph.serialised()),
        io_map=[(output, graph.inputs[0])],
        outputs=[*(name for name in named if name != output), *graph.outputs],
    )
    return merged.SerializeToString()


def verify_onnx(model: bytes, calibrator: BaseEstimator, proba: Any, *, groups: Any = None) -> float:
    """Run an ONNX model on predictions and return its largest absolute difference from the calibrator.

    Parameters
    ----------
    model, calibrator
        Bytes from `to_onnx`, and the fitted calibrator that they were made from.
    proba : (n, L) array_like or Predictions
        Rows to replay as float32: (n,) scores for a binary calibrator, or logits.
    groups : (n,) array_like, optional
        Their groups, for a calibrator that conditions on them.

    Returns
    -------
    float
        Infinite if labels or shapes differ.
    """
    try:
        import onnxruntime
    except ImportError:
        raise not_installed("onnxruntime", "onnx") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    sources = [source.name for source in session.get_inputs()]
    first = next(name for name in ("proba", "scores_in", "logits") if sources[0].endswith(name))
    prefix = sources[0].removesuffix(first)
    names = [output.name for output in session.get_outputs()]

    def run(*inputs: np.ndarray) -> dict[str, np.ndarray]:
        given = dict(zip(sources, inputs, strict=True))
        found = session.run(names, given)
        return {name.removeprefix(prefix): values for name, values in zip(names, found, strict=True)}

    rows = np.asarray(getattr(proba, "proba", proba), dtype=np.float32)
    return replay(run, calibrator, rows, groups, logits=first == "logits")


def _onnx() -> Any:
    try:  # an extra, and slow to import: only graphs need it
        import onnx
    except ImportError:
        raise not_installed("onnx", "onnx") from None
    return onnx


def as_model(model: BaseEstimator) -> Any:
    onnx = _onnx()
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, bytes):
        raise InputError(f"expected an ONNX model or its bytes; got {type(model).__name__}")
    return onnx.load_model_from_string(model)


def dtype_of(value: Any) -> str | None:
    """Return "FLOAT" or "DOUBLE" if an input or output is a tensor of these, else None."""
    kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
    return {_FLOAT32: "FLOAT", _FLOAT64: "DOUBLE"}.get(kind)


def opset_of(model: BaseEstimator) -> int:
    return max(known.version for known in model.opset_import if known.domain in ("", "ai.onnx"))


def to_go_before(model: BaseEstimator) -> Any:
    """Return a copy of a model to which a calibrator can be added: no ZipMap, operators of `OLDEST`."""
    onnx = _onnx()
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    once = {known.domain: known.version for known in copy.opset_import if known.domain not in ("", "ai.onnx")}
    once[""] = opset_of(copy)
    del copy.opset_import[:]
    copy.opset_import.extend(onnx.helper.make_opsetid(*version) for version in once.items())
    if once[""] < OLDEST:
        from onnx.version_converter import convert_version

        copy = convert_version(copy, OLDEST)
        copy.ir_version = max(copy.ir_version, onnx.helper.find_min_ir_version_for(copy.opset_import))
    nodes, outputs = copy.graph.node, copy.graph.output
    for node in [zip_map for zip_map in nodes if zip_map.op_type == "ZipMap"]:
        (old,) = [output for output in outputs if output.name == node.output[0]]
        nodes.remove(node)
        for other in nodes:  # the tensor gets the name of the output
            other.output[:] = [old.name if name == node.input[0] else name for name in other.output]
            other.input[:] = [old.name if name == node.input[0] else name for name in other.input]
        new = onnx.helper.make_tensor_value_info(old.name, onnx.TensorProto.FLOAT, [None, None])
        place = [output.name for output in outputs].index(old.name)
        del outputs[place]
        outputs.insert(place, new)
    return copy


#: Operators by functions of `calib.export.program.Program`, with further operands and attributes.
_OPERATORS: dict[str, tuple[str, tuple[Any, ...], dict[str, int]]] = {
    "absolute": ("Abs", (), {}),
    "add": ("Add", (), {}),
    "along": ("GatherElements", (), {"axis": 1}),
    "ceil": ("Ceil", (), {}),
    "column": ("Unsqueeze", (1,), {}),
    "divide": ("Div", (), {}),
    "equal": ("Equal", (), {}),
    "expit": ("Sigmoid", (), {}),
    "floats": ("Cast", (), {"to": _FLOAT64}),
    "greater": ("Greater", (), {}),
    "greater_equal": ("GreaterOrEqual", (), {}),
    "largest": ("ReduceMax", (1,), {"keepdims": 0}),
    "less": ("Less", (), {}),
    "less_equal": ("LessOrEqual", (), {}),
    "log": ("Log", (), {}),
    "logical_and": ("And", (), {}),
    "matmul": ("MatMul", (), {}),
    "maximum": ("Max", (), {}),
    "minimum": ("Min", (), {}),
    "multiply": ("Mul", (), {}),
    "negative": ("Neg", (), {}),
    "ranked": ("TopK", (), {"axis": 1, "largest": 1, "sorted": 1}),
    "rint": ("Round", (), {}),
    "running": ("CumSum", ("axis",), {}),
    "softmax": ("Softmax", (), {"axis": 1}),
    "subtract": ("Sub", (), {}),
    "sums": ("ReduceSum", (1,), {"keepdims": 1}),
    "take": ("Gather", (), {}),
    "top": ("ArgMax", (), {"axis": 1, "keepdims": 0}),
    "where": ("Where", (), {}),
    "whole": ("Cast", (), {"to": _INT64}),
}


class Graph:
    """A program as an ONNX graph; `dtype` "FLOAT" or "DOUBLE" is the type of the first input."""

    def __init__(self, program: Program, opset: Any = None, dtype: str = "FLOAT") -> None:
        onnx = _onnx()
        self._helper, self._stored = onnx.helper, onnx.numpy_helper.from_array
        self._ir_version, self._prefix = None, ""
        known = onnx.defs.onnx_opset_version()
        if opset is None:
            opset = min(EVERYWHERE, known)
        elif not isinstance(opset, (int, np.integer)):
            model = as_model(opset)
            opset, self._ir_version = opset_of(model), model.ir_version
            self._prefix = BEHIND
        if not OLDEST <= opset <= known:
            raise InputError(
                f"opset must be from {OLDEST} to {known}, which the installed onnx knows; got {opset}"
            )
        self._opset, self._given = int(opset), program.inputs
        self._nodes: list[Any] = []
        self._arrays = program.with_eps(np.float32 if dtype == "FLOAT" else np.float64)
        self._arrays |= {"axis": np.array(1), "one": np.array(1.0)}  # of CumSum, and of log1p
        self._inputs = [self._input(name, columns, dtype) for name, columns in program.inputs.items()]
        for function, result, *operands in program.steps:
            self._step(function, result, operands)
        self._outputs = [self._output(name, *declared) for name, declared in program.outputs.items()]

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, the scores first."""
        return [declared.name for declared in self._inputs]

    @property
    def outputs(self) -> list[str]:
        return [output.name for output in self._outputs]

    def _input(self, name: str, columns: int, dtype: str) -> Any:
        kind = _FLOAT64 if dtype == "DOUBLE" else _FLOAT32
        self._node("Cast", f"wide_{name}", name, to=_FLOAT64 if columns >= 0 else _INT64)
        return self._declared(name, kind if columns >= 0 else _INT64, columns)

    def _output(self, name: str, value: Value, columns: int) -> Any:
        kind = _FLOAT64 if value.kind == "f" else _INT64
        self._node("Cast", name, self._named(value.name), to=kind)
        return self._declared(name, kind, columns)

    def _declared(self, name: str, kind: int, columns: int) -> Any:
        shape = ["n", columns] if columns > 0 else ["n"]
        return self._helper.make_tensor_value_info(self._prefix + name, kind, shape)

    def _named(self, value: str | int) -> str:
        """Return the name of a value of the program, or of a constant with one whole number."""
        if isinstance(value, str):
            return f"wide_{value}" if value in self._given else value
        self._arrays[f"i{value}"] = np.array([value])
        return f"i{value}"

    def _node(self, operator: str, result: str, *inputs: str, **attributes: Any) -> None:
        names = [self._prefix + name for name in inputs]
        results = [self._prefix + result]
        if operator == "TopK":  # values, and their places, which are the result
            results.insert(0, f"{results[0]}_values")
        name = f"{self._prefix}n{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, names, results, name=name, **attributes))

    def _step(self, function: str, result: str, operands: list[Any]) -> None:
        inputs = [self._named(operand) for operand in operands]
        if function == "log1p":
            self._node("Add", f"{result}_more", *inputs, "one")
            self._node("Log", result, f"{result}_more")
        elif function == "largest" and self._opset < 18:  # its axis became an input
            self._node("ReduceMax", result, *inputs, axes=[1], keepdims=0)
        elif function == "columns":
            self._node("Slice", result, *inputs, self._named(1))
        else:
            operator, more, attributes = _OPERATORS[function]
            self._node(operator, result, *inputs, *map(self._named, more), **attributes)

    def serialised(self) -> bytes:
        read = {name for node in self._nodes for name in node.input}
        stored = [
            self._stored(np.asarray(array), self._prefix + name)
            for name, array in self._arrays.items()
            if self._prefix + name in read
        ]
        graph = self._helper.make_graph(self._nodes, "calib", self._inputs, self._outputs, stored)
        opset = [self._helper.make_opsetid("", self._opset)]
        version = self._ir_version or max(8, self._helper.find_min_ir_version_for(opset))
        options = {"opset_imports": opset, "ir_version": version, "producer_name": "calib"}
        model = self._helper.make_model(graph, **options)
        _onnx().checker.check_model(model)
        return model.SerializeToString()
