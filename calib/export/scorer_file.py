"""Scorer files: one calibrator as a Python file that needs NumPy and nothing else."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.calibrators import completed_rows, simplex_cells
from calib.export.numbers import plain_data
from calib.export.replay import replay

#: The modules a scorer file is made of, and the lines of them that it leaves out.
_TEMPLATE = Path(__file__).with_name("scorer_template.py")
_SHARED = Path(completed_rows.__file__), Path(simplex_cells.__file__)
_IMPORTS = re.compile(r"\n(from calib\..*\n)+")
_EMPTY = "DATA = _arrays({})\n"

#: What stands around the entries of the literal.
_BEFORE, _AFTER = "DATA = _arrays({\n", "})\n"


def scorer(calibrator: Any) -> str:
    """Return the text of a Python file with a function `calibrate(proba)` that replays a calibrator.

    The code is the same for every calibrator: `calib/export/scorer_template.py`, and what it imports from
    `calib/calibrators`. The fitted numbers follow as one literal. The file holds nothing that a user typed:
    no class names, no file names.

    Parameters
    ----------
    calibrator : fitted calibrator
        Any that `calib.save` can store.

    Raises
    ------
    InputError
        If the calibrator is not one of calib's.

    Examples
    --------
    >>> from calib import HistogramBinning
    >>> text = scorer(HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1]))
    >>> print(text[text.index("DATA ="):].strip())
    DATA = _arrays({
        'kind': 'binary',
        'calibrators': ('int', (1,), '0'),
        'curve': 'steps',
        'knots': ('float', (1,), '0.5'),
        'knots_from': ('int', (2,), '0 1'),
        'values': ('float', (2,), '0.5 1.0'),
        'values_from': ('int', (2,), '0 2'),
    })
    """
    data = plain_data(calibrator).items()
    return _template() + _literal({key: _packed(value) for key, value in data})


def verify_scorer(code: str, calibrator: Any, proba: Any, *, groups: Any = None) -> float:
    """Run a scorer file on predictions and return its largest difference from the calibrator.

    Parameters
    ----------
    code : str
        Text from `scorer`. Any other code is refused and not run.
    calibrator : fitted calibrator
        The one it was written from.
    proba : (n, L) array_like or Predictions
        Rows to replay ((n,) scores for a binary calibrator).
    groups : (n,) array_like, optional
        Their groups, for a calibrator that conditions on them.

    Returns
    -------
    float
        Largest absolute difference over all outputs; infinite if labels or shapes differ. Histogram
        and simplex binning give 0.0, the others differ by the rounding of exp and log, about 1e-16.

    Raises
    ------
    InputError
        If the code is not that of a scorer file.
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


def _packed(value: Any) -> Any:
    """Write an array as (type, shape, text): parsing a list of numbers takes a hundred times its size."""
    if not isinstance(value, list):
        return value
    array = np.array(value)
    kind = "int" if array.dtype.kind == "i" else "float"
    return kind, array.shape, " ".join(map(repr, array.ravel().tolist()))


def _literal(packed: dict[str, Any]) -> str:
    return _BEFORE + "".join(f"    {key!r}: {value!r},\n" for key, value in packed.items()) + _AFTER


def _template() -> str:
    """Return the code of every scorer, with the text of what the template imports from calib."""
    code = _IMPORTS.sub("", _TEMPLATE.read_text(encoding="utf-8")).removesuffix(_EMPTY)
    for module in _SHARED:
        _, _, shared = module.read_text(encoding="utf-8").partition("import numpy as np\n")
        code += f"{shared.strip()}\n\n\n"
    return code
