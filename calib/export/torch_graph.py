"""PyTorch modules: one calibrator as an `nn.Module` that scripts and exports (extra ``torch``).

The program that a calibrator is described by becomes a `torch.fx` graph, whose `GraphModule` is made of
PyTorch's own functions and buffers.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import numpy as np

from calib.base.exceptions import not_installed
from calib.export.description import describe
from calib.export.replay import replay


def torch_module(calibrator: Any, *, logits: bool = False) -> Any:
    """Return a calibrator as a `torch.nn.Module`, which `torch.jit.script` and `torch.export.export` take.

    ``module(proba)`` takes (n, L) probabilities ((n,) scores for a binary calibrator) as a tensor of floats,
    and returns a dictionary of tensors with the outputs of `calib.export.to_onnx`: "label" and "confidence";
    "labels" and "confidences"; "probabilities" and "label"; or "scores". Floats inside are float64.
    A calibrator that conditions on groups takes a second tensor, int64: places in its `groups_`, -1 for any
    other group. It has buffers and no parameters: `to(device)` moves it.

    Parameters
    ----------
    calibrator : fitted calibrator
        Any that `calib.save` can store.
    logits : bool
        Whether the input is logits, of which the softmax is calibrated (log-odds for a binary calibrator).

    Raises
    ------
    InputError
        If the calibrator is none of calib's, or torch is not installed.
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
        inputs = [values.get(one, one) for one in operands]
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
    module: Any, calibrator: Any, proba: Any, *, groups: Any = None, logits: bool = False
) -> float:
    """Run a module on predictions and return its largest difference from the calibrator.

    Parameters
    ----------
    module : torch.nn.Module
        From `torch_module`, scripted or exported or as it is.
    calibrator : fitted calibrator
        The one it was made from.
    proba : (n, L) array_like or Predictions
        Rows to replay ((n,) scores for a binary calibrator), given to both as float32.
    groups : (n,) array_like, optional
        Their groups, for a calibrator that conditions on them.
    logits : bool
        Whether the module and the rows are of logits.

    Returns
    -------
    float
        Largest absolute difference over all outputs; infinite if labels or shapes differ.
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
        of_rows, options = along_rows[function]
        return call(of_rows, (*inputs, [1] if function == "sums" else 1), options)
    others = {"equal": torch.eq, "expit": torch.sigmoid, "rint": torch.round, "take": getitem}
    return call(others.get(function) or getattr(torch, function), tuple(inputs))
