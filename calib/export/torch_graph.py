"""PyTorch modules: one calibrator as an `nn.Module` that scripts and exports (extra ``torch``).

The graph that ONNX models are written from is recorded as a `torch.fx` graph, whose `GraphModule` is made of
PyTorch's own functions and buffers.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import numpy as np

from calib.base.exceptions import not_installed
from calib.export.lowering import write
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
    graph = TorchGraph()
    write(graph, calibrator, logits=logits)
    return graph.module()


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
    except ImportError:
        raise not_installed("torch", "torch") from None
    return torch


class TorchGraph:
    """A `torch.fx` graph under construction, with the methods of `calib.export.onnx_graph.Graph`.

    What the methods take and return are nodes of the graph.
    """

    n_classes: int

    def __init__(self) -> None:
        self._torch = _torch()
        import torch.fx

        self._graph = torch.fx.Graph()
        self._root = torch.nn.Module()
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self._values: dict[Any, np.ndarray] = {}
        self._outputs: dict[str, Any] = {}

    def module(self) -> Any:
        """Return the module."""
        self._graph.output(self._outputs)
        self._graph.lint()
        return self._torch.fx.GraphModule(self._root, self._graph, "Calibrator").eval()

    def input(self, name: str, shape: list[Any]) -> Any:
        """Declare an input of probabilities and return it as float64, at most 1."""
        return self.call(self._torch.clamp, self.logits(name, shape), max=1.0)

    def logits(self, name: str, shape: list[Any]) -> Any:
        """Declare an input of any numbers and return it as float64."""
        if len(shape) == 2:
            self.n_classes = shape[1]
        return self.cast(self._graph.placeholder(name), "DOUBLE")

    def whole_input(self, name: str, shape: list[Any]) -> Any:
        """Declare an int64 input and return it."""
        return self._graph.placeholder(name)

    def output(self, name: str, value: Any, shape: list[Any], *, whole: bool = False) -> None:
        """Declare an output."""
        self._outputs[name] = value

    def call(self, function: Any, *inputs: Any, **options: Any) -> Any:
        """Add a call of one of PyTorch's functions."""
        return self._graph.call_function(function, inputs, options)

    def op(self, operator: str, *inputs: Any, **attributes: Any) -> Any:
        """Add an operator of ONNX with one result."""
        torch = self._torch
        plain = {
            "Abs": torch.abs,
            "Add": torch.add,
            "And": torch.logical_and,
            "Ceil": torch.ceil,
            "Div": torch.div,
            "Equal": torch.eq,
            "Greater": torch.gt,
            "GreaterOrEqual": torch.ge,
            "Less": torch.lt,
            "LessOrEqual": torch.le,
            "Log": torch.log,
            "MatMul": torch.matmul,
            "Max": torch.maximum,
            "Min": torch.minimum,
            "Mul": torch.mul,
            "Round": torch.round,
            "Sigmoid": torch.sigmoid,
            "Sub": torch.sub,
            "Where": torch.where,
        }
        if operator in plain:
            return self.call(plain[operator], *inputs)
        if operator == "Identity":
            return inputs[0]
        if operator == "Softmax":
            return self.call(torch.softmax, *inputs, dim=attributes["axis"])
        if operator == "ArgMax":
            return self.call(torch.argmax, *inputs, dim=attributes["axis"])
        if operator == "Gather":  # rows of a table, for indices of any shape
            table, index = inputs
            rows = self.call(torch.index_select, table, 0, self.call(torch.reshape, index, (-1,)))
            if self._values[table].ndim == 2:
                return rows
            return self.call(torch.reshape, rows, self._graph.call_method("size", (index,)))
        values, axis = inputs[0], int(self._values[inputs[1]].ravel()[0])
        if operator == "Unsqueeze":
            return self.call(torch.unsqueeze, values, axis)
        if operator == "ReduceSum":
            return self.call(torch.sum, values, dim=[axis], keepdim=bool(attributes["keepdims"]))
        if operator == "CumSum":
            sums = self.call(torch.cumsum, values, dim=axis)
            return self.call(torch.sub, sums, values) if attributes.get("exclusive") else sums
        raise NotImplementedError(operator)

    def op_many(self, operator: str, n_results: int, *inputs: Any, **attributes: Any) -> list[Any]:
        """Add TopK: the largest of each row in descending order, the first of equals first."""
        if operator != "TopK":
            raise NotImplementedError(operator)
        ordered = self.call(self._torch.sort, inputs[0], stable=True, dim=1, descending=True)
        most = int(self._values[inputs[1]][0])
        return [
            self.call(self._torch.narrow, self.call(getitem, ordered, which), 1, 0, most) for which in (0, 1)
        ]

    def array(self, values: Any) -> Any:
        """Add a constant as a buffer; equal constants are stored once."""
        array = np.array(values, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._root.register_buffer(name, self._torch.from_numpy(array))
            node = self._graph.get_attr(name)
            self._constants[key], self._values[node] = node, array
        return self._constants[key]

    def number(self, value: float) -> Any:
        """Add a float64 constant."""
        return self.array(np.float64(value))

    def cast(self, value: Any, kind: str) -> Any:
        """Convert to "DOUBLE" or "INT64"."""
        return self._graph.call_method("double" if kind == "DOUBLE" else "long", (value,))

    def top(self, matrix: Any) -> Any:
        """Column of the largest entry of each row, the first of equals."""
        return self.call(self._torch.argmax, matrix, dim=1)

    def largest(self, matrix: Any) -> Any:
        """Largest entry of each row."""
        return self.call(self._torch.amax, matrix, dim=1)

    def sums(self, matrix: Any) -> Any:
        """Sum of each row, as a column."""
        return self.call(self._torch.sum, matrix, dim=[1], keepdim=True)

    def columns(self, matrix: Any, start: int, stop: int) -> Any:
        """Columns start..stop-1."""
        return self.call(self._torch.narrow, matrix, 1, start, stop - start)
