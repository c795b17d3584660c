"""Apply one fitted calibrator to class probabilities. Needs NumPy and nothing else.

>>> calibrate(np.array([[0.7, 0.2, 0.1]]))  # doctest: +SKIP
{'label': array([0]), 'confidence': array([0.63...])}

`calibrate` takes an (n, L) array of probabilities, columns in the order the calibrator was fitted on, and
returns a dict: "label" (n,) with "confidence" (n,); "labels" and "confidences", both (n, K), best first; or
"probabilities" (n, L) with "label". A calibrator of one binary score takes (n,) scores and returns "scores".
With a rule that accepts predictions the dict also holds "accept" (n,), whether each may pass without a
person. A calibrator that conditions on groups takes the group of each row as a second argument: (n,) whole
numbers, 0 for the first group in the order of their names, as in its `groups_`; -1 for a group it was not
fitted on.

This text is the same for every calibrator. The literal `DATA` at the end of the file holds what differs:
"inputs" with their numbers of columns, "constants", and "steps", each a function of `FUNCTIONS`, the name of
its result, and what it is given: earlier results, constants, inputs or numbers. "outputs" names the results
that are returned.
"""

import numpy as np

#: How many numbers go through the steps together, in whole rows.
BLOCK = 65_536


def calibrate(proba, group=None):
    """Return the calibrated outputs for (n, L) probabilities, float32 or float64, and (n,) groups if any."""
    (name, columns), *further = DATA["inputs"].items()
    if columns and hasattr(proba, "columns"):
        raise ValueError(
            "columns have names here, and this file holds none to compare them with; put them in the order "
            "of the fit and pass a matrix, such as table[names].to_numpy()"
        )
    given = {name: _checked(np.asarray(proba), columns)}
    if (group is None) != (not further):
        raise ValueError("this calibrator " + ("needs a" if further else "takes no") + " group")
    if further:
        codes, n_rows = np.asarray(group), len(given[name])
        if codes.shape != (n_rows,) or codes.dtype.kind not in "iu":
            raise ValueError(f"expected {n_rows} whole numbers as groups, got {codes.dtype} {codes.shape}")
        given["group"] = codes.astype(np.int64)
    rows = max(BLOCK // max(columns, 1), 1)
    starts = range(0, max(len(given[name]), 1), rows)
    blocks = [_outputs({key: given[key][start : start + rows] for key in given}, name) for start in starts]
    return {output: np.concatenate([block[output] for block in blocks]) for output in DATA["outputs"]}


def _checked(proba, columns):
    if proba.dtype not in (np.float32, np.float64):
        proba = proba.astype(np.float64)
    if proba.ndim != (2 if columns else 1) or (columns and proba.shape[1] != columns):
        expected = f"a matrix with {columns} columns" if columns else "a vector"
        raise ValueError(f"expected {expected}, got shape {proba.shape}")
    if not ((proba >= 0.0) & (proba <= 1.0 + 1e-6)).all():
        raise ValueError("probabilities must be finite and in [0, 1]")
    return proba


def _outputs(given, first):
    values = {**DATA["constants"], **given, "eps": np.float64(np.finfo(given[first].dtype).eps)}
    values[first] = values[first].astype(np.float64)
    for function, result, *operands in DATA["steps"]:
        values[result] = FUNCTIONS[function](*(values.get(operand, operand) for operand in operands))
    return {name: values[value] for name, value in DATA["outputs"].items()}


def _expit(logit):
    small = np.exp(-np.abs(logit))
    return np.where(logit >= 0.0, 1.0, small) / (1.0 + small)


def _softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


#: Functions of NumPy that steps are made of.
NUMPY = """
    absolute add ceil divide equal greater greater_equal less less_equal log log1p logical_and matmul maximum
    minimum multiply negative rint subtract where
"""
FUNCTIONS = {name: getattr(np, name) for name in NUMPY.split()} | {
    "along": lambda matrix, columns: np.take_along_axis(matrix, columns, axis=1),
    "column": lambda vector: vector[:, None],
    "columns": lambda matrix, start, stop: matrix[:, start:stop],
    "expit": _expit,
    "floats": lambda values: values.astype(np.float64),
    "largest": lambda matrix: matrix.max(axis=1),
    "ranked": lambda matrix, ranks: np.argsort(-matrix, axis=1, kind="stable")[:, :ranks],
    "running": lambda matrix: matrix.cumsum(axis=1),
    "softmax": _softmax,
    "sums": lambda matrix: np.einsum("ij->i", matrix)[:, None],
    "take": lambda table, index: table[index],
    "top": lambda matrix: matrix.argmax(axis=1),
    "whole": lambda values: values.astype(np.int64),
}


def _arrays(data):
    types = {"int": np.int64, "float": np.float64}
    constants = {}
    for name, (kind, shape, text) in data["constants"].items():
        constants[name] = np.array(text.split(), dtype=types[kind]).reshape(shape)
    return {**data, "constants": constants}


DATA = _arrays({"constants": {}})
