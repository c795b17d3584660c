"""Scorer files: one calibrator as a Python file that needs NumPy and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.export.description import describe
from calib.export.replay import replay

#: The code of every scorer file, and the text around the entries of the literal at its end.
_TEMPLATE = Path(__file__).with_name("scorer_template.py")
_BEFORE, _AFTER = "DATA = _arrays({\n", "})\n"


def scorer(calibrator: BaseEstimator) -> str:
    """Return the text of a Python file with a function `calibrate(proba)` that replays a calibrator.

    The code is the same for every calibrator that `calib.save` can store, followed by a literal of steps and
    numbers. The file holds nothing that a user typed.

    Examples
    --------
    >>> from calib import HistogramBinning
    >>> space = {}
    >>> exec(scorer(HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1])), space)
    >>> space["calibrate"]([0.4, 0.8])
    {'scores': array([0.5, 1. ])}
    """
    program = describe(calibrator)
    data = {
        "inputs": program.inputs,
        "constants": {name: _packed(array) for name, array in program.constants.items()},
        "steps": tuple(program.steps),
        "outputs": {name: value.name for name, (value, _) in program.outputs.items()},
    }
    return _template() + _literal(data)


def verify_scorer(code: str, calibrator: BaseEstimator, proba: Any, *, groups: Any = None) -> float:
    """Run a scorer file on predictions and return its largest absolute difference from the calibrator.

    As `verify_onnx`; `code` is from `scorer`: any other is refused and not run. The difference is 0.0 for
    histogram and simplex binning, about 1e-16 for others.
    """
    template = _template()
    if not code.startswith(template):
        raise InputError("the code is not a scorer of this version of calib; it was not run")
    data = code[len(template) :]
    try:
        literal = ast.literal_eval(data.removeprefix(_BEFORE[:-2]).removesuffix(_AFTER[1:]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        literal = None
    if not isinstance(literal, dict) or data != _literal(literal):
        raise InputError("the data of the scorer are not a single literal; it was not run")
    space: dict[str, Any] = {"__name__": "scorer"}
    exec(compile(code, "<scorer>", "exec"), space)  # noqa: S102 (our template and a literal, checked above)
    return replay(space["calibrate"], calibrator, np.asarray(getattr(proba, "proba", proba)), groups)


def _packed(array: np.ndarray) -> tuple[str, tuple[int, ...], str]:
    """Write an array as (type, shape, text), because parsing a list takes a hundred times its memory."""
    kind = "int" if array.dtype.kind == "i" else "float"
    return kind, array.shape, " ".join(map(repr, array.ravel().tolist()))


def _literal(data: dict[str, Any]) -> str:
    lines = []
    for key, value in data.items():
        if isinstance(value, dict):
            opening, closing = "{}"
            entries = [f"{name!r}: {entry!r}" for name, entry in value.items()]
        else:
            opening, closing = "()"
            entries = [repr(entry) for entry in value]
        inside = "".join(f"        {entry},\n" for entry in entries)
        lines.append(f"    {key!r}: {opening}\n{inside}    {closing},\n")
    return _BEFORE + "".join(lines) + _AFTER


def _template() -> str:
    code, _, _ = _TEMPLATE.read_text(encoding="utf-8").partition(_BEFORE.rstrip("{\n"))
    return code
