"""PyTorch modules: a calibrator's program as a `torch.fx` graph of PyTorch's functions (extra ``torch``)."""

from __future__ import annotations

from operator import getitem
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import not_installed
from calib.export.description import describe
from calib.export.replay import replay


def torch_module(calibrator: BaseEstimator, *, logits: bool = False) -> Any:
    """Return a calibrator as a `torch.nn.Module`, which `torch.jit.script` and `torch.export.export` take.

    ``module(proba)`` takes a tensor of floats, (n, L) or (n,) for a binary calibrator, and returns a
    dictionary of tensors as `calib.export.to_onnx` does. With groups, a second tensor holds their places in
    `groups_`, int64, -1 for any other group. It has buffers and no parameters; floats inside are float64.

    Parameters as for `calib.export.to_onnx`.
    """
    program, torch = describe(calibrator, logits=logits), _torch()
    graph, root = torch.fx.Graph(), torch.nn.Module()
    values: dict[Any, Any] = {name: graph.placeholder(name) for name in program.inputs}
    for name, columns in program.inputs.items():
        values[name] = graph.call_method("long" if columns < 0 else "double", (values[name],))
    for name, array in program.with_eps(np.float32).items():
        root.register_buffer(name, torch.from_numpy(np.array(array)))
        values[name] = graph.get_attr(name)
    for function, result, *operands in program.steps:
        inputs = [values.get(operand, operand) for operand in operands]
        values[result] = _step(torch, graph, function, inputs)
    outputs = {}
    for name, (value, _) in program.outputs.items():
        outputs[name] = values[value.name]
        if value.kind == "b":
            outputs[name] = graph.call_method("long", (outputs[name],))
    graph.output(outputs)
    graph.lint()
    return torch.fx.GraphModule(root, graph, "Calibrator").eval()


def verify_torch(
    module: Any, calibrator: BaseEstimator, proba: Any, *, groups: Any = None, logits: bool = False
) -> float:
    """Run a module on predictions and return its largest absolute difference from the calibrator.

    As `verify_onnx`; `module` is from `torch_module`, scripted or exported or as it is. `logits` says whether
    module and rows are of logits.
    """
    torch = _torch()

    def run(*inputs: np.ndarray) -> dict[str, np.ndarray]:
        with torch.no_grad():
            found = module(*(torch.from_numpy(np.array(values)) for values in inputs))
        return {name: values.numpy() for name, values in found.items()}

    rows = np.asarray(getattr(proba, "proba", proba), dtype=np.float32)
    return replay(run, calibrator, rows, groups, logits=logits)


def _torch() -> Any:
    try:  # an extra, and slow to import
        import torch
        import torch.fx
    except ImportError:
        raise not_installed("torch", "torch") from None
    return torch


def _step(torch: Any, graph: Any, function: str, inputs: list[Any]) -> Any:
    """Add the calls of PyTorch's functions that do a step; most have NumPy's names."""
    call = graph.call_function
    if function in ("floats", "whole"):
        return graph.call_method("double" if function == "floats" else "long", tuple(inputs))
    if function == "ranked":
        ordered = call(torch.sort, (inputs[0],), {"stable": True, "dim": 1, "descending": True})
        return call(torch.narrow, (call(getitem, (ordered, 1)), 1, 0, inputs[1]))
    if function == "columns":
        matrix, start, stop = inputs
        return call(torch.narrow, (matrix, 1, start, stop - start))
    if function == "along":
        return call(torch.gather, (inputs[0], 1, inputs[1]))
    along_rows = {
        "column": (torch.unsqueeze, {}),
        "largest": (torch.amax, {}),
        "running": (torch.cumsum, {}),
        "softmax": (torch.softmax, {}),
        "sums": (torch.sum, {"keepdim": True}),
        "top": (torch.argmax, {}),
    }
    if function in along_rows:
        operation, options = along_rows[function]
        return call(operation, (*inputs, [1] if function == "sums" else 1), options)
    others = {"equal": torch.eq, "expit": torch.sigmoid, "rint": torch.round, "take": getitem}
    return call(others.get(function) or getattr(torch, function), tuple(inputs))
