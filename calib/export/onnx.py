"""ONNX models: a calibrator as a graph for onnxruntime, alone or after a classifier (extra `onnx`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError, not_installed
from calib.export.description import describe
from calib.export.program import Program
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
    return graph_of(describe(calibrator, logits=logits), opset).SerializeToString()


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
    floats = {tensor.name: kind for tensor in first.graph.output if (kind := type_of_floats(tensor))}
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

    model = graph_of(describe(calibrator, logits=logits or output == "logits"), first, floats[output])
    outputs = [*(name for name in named if name != output), *(tensor.name for tensor in model.graph.output)]
    merged = merge_models(first, model, io_map=[(output, model.graph.input[0].name)], outputs=outputs)
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


def type_of_floats(value: Any) -> int | None:
    """Return the type of an input or output if it is a tensor of float32 or float64, else None."""
    kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
    return kind if kind in (_FLOAT32, _FLOAT64) else None


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


#: Operators of functions of `calib.export.program.Program` that have another name in ONNX.
_NAMES = {
    "absolute": "Abs",
    "divide": "Div",
    "expit": "Sigmoid",
    "greater_equal": "GreaterOrEqual",
    "less_equal": "LessOrEqual",
    "logical_and": "And",
    "matmul": "MatMul",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "rint": "Round",
    "subtract": "Sub",
    "take": "Gather",
}
#: Operators with further operands and attributes.
_OPERATORS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "along": ("GatherElements", (), {"axis": 1}),
    "column": ("Unsqueeze", (1,), {}),
    "columns": ("Slice", (1,), {}),
    "floats": ("Cast", (), {"to": _FLOAT64}),
    "largest": ("ReduceMax", (1,), {"keepdims": 0}),
    "ranked": ("TopK", (), {"axis": 1, "largest": 1, "sorted": 1}),
    "running": ("CumSum", ("axis",), {}),
    "softmax": ("Softmax", (), {"axis": 1}),
    "sums": ("ReduceSum", (1,), {"keepdims": 1}),
    "top": ("ArgMax", (), {"axis": 1, "keepdims": 0}),
    "whole": ("Cast", (), {"to": _INT64}),
}


def graph_of(program: Program, opset: Any = None, given: int = _FLOAT32) -> Any:
    """Return a program as an ONNX model whose first input has floats of the `given` type."""
    onnx = _onnx()
    known, first = onnx.defs.onnx_opset_version(), None
    if opset is None:
        opset = min(EVERYWHERE, known)
    elif not isinstance(opset, (int, np.integer)):
        first = as_model(opset)
        opset = opset_of(first)
    if not OLDEST <= opset <= known:
        raise InputError(
            f"opset must be from {OLDEST} to {known}, which the installed onnx knows; got {opset}"
        )
    arrays = program.with_eps(np.float32 if given == _FLOAT32 else np.float64)
    nodes = _nodes(onnx.helper.make_node, program, arrays, int(opset))

    def declare(name: str, kind: int, columns: int) -> Any:
        return onnx.helper.make_tensor_value_info(name, kind, ["n", columns] if columns > 0 else ["n"])

    read = {name for node in nodes for name in node.input}
    stored = [onnx.numpy_helper.from_array(np.asarray(arrays[name]), name) for name in arrays if name in read]
    graph = onnx.helper.make_graph(
        nodes,
        "calib",
        [
            declare(name, given if columns >= 0 else _INT64, columns)
            for name, columns in program.inputs.items()
        ],
        [
            declare(name, _FLOAT64 if value.kind == "f" else _INT64, columns)
            for name, (value, columns) in program.outputs.items()
        ],
        stored,
    )
    versions = [onnx.helper.make_opsetid("", int(opset))]
    least = max(8, onnx.helper.find_min_ir_version_for(versions))
    options = {"opset_imports": versions, "producer_name": "calib"}
    options["ir_version"] = least if first is None else first.ir_version
    model = onnx.helper.make_model(graph, **options)
    onnx.checker.check_model(model)
    return model if first is None else onnx.compose.add_prefix(model, BEHIND)


def _nodes(make_node: Any, program: Program, arrays: dict[str, np.ndarray], opset: int) -> list[Any]:
    """Return the nodes of a program, and store the constants that they need besides the program's."""
    arrays |= {"axis": np.array(1), "one": np.array(1.0)}  # of CumSum, and of log1p
    nodes: list[Any] = []

    def named(value: str | int) -> str:
        if isinstance(value, str):
            return f"wide_{value}" if value in program.inputs else value
        arrays[f"i{value}"] = np.array([value])
        return f"i{value}"

    def add(operator: str, result: str, *inputs: str, **attributes: Any) -> None:
        results = [result]
        if operator == "TopK":  # values, and their places, which are the result
            results.insert(0, f"{result}_values")
        nodes.append(make_node(operator, inputs, results, name=f"n{len(nodes)}", **attributes))

    for name, columns in program.inputs.items():
        add("Cast", f"wide_{name}", name, to=_FLOAT64 if columns >= 0 else _INT64)
    for function, result, *operands in program.steps:
        inputs = [named(operand) for operand in operands]
        if function == "log1p":
            add("Add", f"{result}_more", *inputs, "one")
            function, inputs = "log", [f"{result}_more"]
        operator, more, attributes = _OPERATORS.get(
            function, (_NAMES.get(function, function.capitalize()), (), {})
        )
        if function == "largest" and opset < 18:  # its axis became an input
            more, attributes = (), {"axes": [1], "keepdims": 0}
        add(operator, result, *inputs, *map(named, more), **attributes)
    for name, (value, _) in program.outputs.items():
        add("Cast", name, named(value.name), to=_FLOAT64 if value.kind == "f" else _INT64)
    return nodes
