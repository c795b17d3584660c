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

This text is the same for every calibrator. The fitted numbers are the literal `DATA` at the end of the file.
"""

import numpy as np

from calib.calibrators.completed_rows import completed, normalised
from calib.calibrators.simplex_cells import find_cells, grid_cells, projection_cells, sierpinski_cells


def calibrate(proba, group=None):
    """Return the calibrated outputs for (n, L) probabilities, float32 or float64, and (n,) groups if any."""
    outputs = _outputs(proba, group)
    if "accept_from" in DATA:
        outputs["accept"] = _accepted(outputs)
    return outputs


def _accepted(outputs):
    """Return whether the confidence is at least the threshold of the predicted class, or of all."""
    if "scores" in outputs:
        confidence = outputs["scores"]
        label = (confidence > 0.5).astype(np.int64)
        if DATA["of_event"]:
            confidence = np.maximum(confidence, 1.0 - confidence)
    elif "labels" in outputs:
        label, confidence = outputs["labels"][:, 0], outputs["confidences"][:, 0]
    else:
        label = outputs["label"]
        confidence = outputs.get("confidence")
        if confidence is None:
            confidence = outputs["probabilities"][np.arange(len(label)), label]
    thresholds = DATA["accept_from"]
    return confidence >= (thresholds[label] if len(thresholds) > 1 else thresholds[0])


def _outputs(proba, group):
    kind = DATA["kind"]
    proba = _checked(proba, 1 if kind == "binary" else 2)
    if (group is None) != ("groups" not in DATA):
        raise ValueError("this calibrator " + ("takes no" if "groups" not in DATA else "needs a") + " group")
    if kind == "binary":
        return {"scores": _calibrated(np.zeros(len(proba), dtype=np.int64), proba)}
    if kind == "multiclass":
        return _multiclass(proba, group)
    if kind == "canonical":
        return _with_label(_canonical(proba))
    return _with_label(_scaled(kind, np.log(np.maximum(proba, DATA["floor"], dtype=np.float64))))


def _scaled(kind, log_p):
    if "temperature" in DATA:
        tempered = _softmax(log_p / DATA["temperature"])
    if kind == "temperature":
        return tempered
    if kind == "ensemble-temperature":
        first, second, uniform = DATA["mixture"]
        mixed = first * tempered + second * _softmax(log_p) + uniform / DATA["n_classes"]
        return np.minimum(mixed, 1.0)
    if kind == "vector":
        logits = np.zeros(log_p.shape)
        logits[:, :-1] = (log_p[:, :-1] - log_p[:, -1:]) * DATA["weights"] + DATA["biases"]
        return _softmax(logits)
    if kind == "top-versus-all":
        return _softmax(log_p * DATA["weights"])
    if kind != "dirichlet":
        log_p = np.log((DATA["n_samples"] * tempered + 1.0 / DATA["n_classes"]) / (DATA["n_samples"] + 1.0))
    if kind == "structured-vector":
        return _softmax(log_p * DATA["weights"] + DATA["biases"])
    return _softmax(log_p @ DATA["weights"].T + DATA["biases"])


def _checked(proba, ndim):
    proba = np.asarray(proba)
    if proba.dtype not in (np.float32, np.float64):
        proba = proba.astype(np.float64)
    if proba.ndim != ndim or (ndim == 2 and proba.shape[1] != DATA["n_classes"]):
        expected = "a vector" if ndim == 1 else f"a matrix with {DATA['n_classes']} columns"
        raise ValueError(f"expected {expected}, got shape {proba.shape}")
    if not ((proba >= 0.0) & (proba <= 1.0 + 1e-6)).all():
        raise ValueError("probabilities must be finite and in [0, 1]")
    return np.minimum(proba, proba.dtype.type(1.0))


def _multiclass(proba, group):
    notion, rows = DATA["notion"], np.arange(len(proba))
    n_classes = proba.shape[1]
    if notion == "class-wise":
        columns = [_calibrated(np.full(len(proba), j), proba[:, j]) for j in range(n_classes)]
        matrix = np.stack(columns, axis=1)
        return _with_label(normalised(matrix) if DATA["normalize"] else matrix)
    if notion in ("top-k-confidence", "top-k-label"):
        labels = np.argsort(-proba, axis=1, kind="stable")[:, : DATA["ranks"]]
        ranks = np.arange(DATA["ranks"])
        problem = ranks + 0 * labels if notion == "top-k-confidence" else ranks * n_classes + labels
        scores = np.take_along_axis(proba, labels, axis=1)
        confidences = _calibrated(problem.ravel(), scores.ravel()).reshape(scores.shape)
        return {"labels": labels, "confidences": confidences}
    label = proba.argmax(axis=1)
    problem = label if notion == "top-label" else 0 * label
    if group is not None:
        problem = _in_groups(label, np.asarray(group), n_classes)
    confidence = _calibrated(problem, proba[rows, label])
    result = {"label": label, "confidence": confidence}
    if DATA["complete"]:
        result["probabilities"] = completed(proba, label, confidence)
    return result


def _in_groups(label, group, n_classes):
    """Return the number of the calibrator of each row's group, or class and group; other groups come last."""
    if group.shape != label.shape or group.dtype.kind not in "iu":
        raise ValueError(f"expected {len(label)} whole numbers as groups, got {group.dtype} {group.shape}")
    cell, n_cells = group.astype(np.int64), DATA["groups"]
    other = n_cells + 0 * label
    if DATA["by_class"]:
        cell, other = cell * n_classes + label, n_cells * n_classes + label
    return np.where((group >= 0) & (group < n_cells), cell, other)


def _calibrated(problem, scores):
    """Send each score through the calibrator of its binary problem."""
    result = scores.astype(np.float64)
    order = np.argsort(problem, kind="stable")
    problems, starts = np.unique(problem[order], return_index=True)
    for number, rows in zip(problems, np.split(order, starts[1:])):  # noqa: B905
        index = DATA["calibrators"][number]
        if index >= 0:
            result[rows] = _binary(index, result[rows])
    return result


def _binary(index, scores):
    clipped = np.clip(scores, 2.0**-24, 1.0 - 2.0**-24)
    if DATA["curve"] == "logistic":
        slope, slope_below, intercept = DATA["weights"][index]
        return _expit(slope * np.log(clipped) - slope_below * np.log1p(-clipped) + intercept)
    knots = DATA["knots"][DATA["knots_from"][index] : DATA["knots_from"][index + 1]]
    values = DATA["values"][DATA["values_from"][index] : DATA["values_from"][index + 1]]
    if DATA["curve"] == "steps":
        return values[np.searchsorted(knots, scores, side="right")]
    if DATA["curve"] == "spline":
        odds = np.log(clipped) - np.log1p(-clipped)
        segments = values.reshape(4, -1)
        start, value, slope, bend = segments[:, np.searchsorted(knots, odds, side="right")]
        away = odds - start
        return _expit(away * (bend * away + slope) + value)
    return np.clip(np.interp(scores, knots, values), 0.0, 1.0)


def _expit(logit):
    small = np.exp(-np.abs(logit))
    return np.where(logit >= 0.0, 1.0, small) / (1.0 + small)


def _canonical(proba):
    """Mean label vector of each row's simplex cell; 1/L in cells without calibration rows."""
    if DATA["scheme"] == "sierpinski":
        cells = sierpinski_cells(proba, DATA["depth"])
    elif DATA["scheme"] == "grid":
        cells = grid_cells(proba, DATA["side"], DATA["left"])
    else:
        cells = projection_cells(proba, DATA["directions"], DATA["thresholds"])
    position, occupied = find_cells(cells, DATA["cells"])
    result = np.full(proba.shape, 1.0 / proba.shape[1])
    result[occupied] = DATA["values"][position[occupied]]
    return result


def _softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _with_label(matrix):
    return {"probabilities": matrix, "label": matrix.argmax(axis=1)}


def _arrays(data):
    """Return the data with the arrays that are written as (type, shape, text)."""
    types = {"int": int, "float": float}
    arrays = {}
    for key, value in data.items():
        if isinstance(value, tuple):
            kind, shape, text = value
            value = np.array([types[kind](word) for word in text.split()], dtype=types[kind]).reshape(shape)
        arrays[key] = value
    return arrays


DATA = _arrays({})
