"""ONNX models: a calibrator as a graph for onnxruntime, alone or after a classifier (extra `onnx`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError, not_installed
from calib.export.description import describe
from calib.export.onnx_graph import BEHIND, Graph, as_model, dtype_of, to_go_before
from calib.export.replay import replay


def to_onnx(
    calibrator: BaseEstimator, *, opset: Any = None, prefix: str | None = None, logits: bool = False
) -> bytes:
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
        its bytes) stands for its opset and IR version.
    prefix : str, optional
        Put before every name. Default: ``"calibrated_"`` if `opset` is a model, else none.
    logits : bool
        Whether the input is "logits", (n, L) float32, or (n,) log-odds for a binary calibrator.
    """
    return Graph(describe(calibrator, logits=logits), opset, prefix).serialised()


def onnx_behind(
    model: BaseEstimator,
    calibrator: BaseEstimator,
    *,
    output: str | None = None,
    logits: bool = False,
    prefix: str = BEHIND,
) -> bytes:
    """Return a classifier followed by a calibrator as one ONNX model.

    Inputs are the classifier's. Outputs are as in `to_onnx`, with the prefix, and the classifier's other
    outputs.

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
    prefix : str
        Put before the calibrator's names.
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
    graph = Graph(program, first, prefix, dtype=floats[output])
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
