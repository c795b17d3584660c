"""A calibrator written as a graph of operators, for ONNX and for PyTorch alike.

Everything inside the graph is float64: a float32 input is widened first, as the library does, so scores
fall on the same side of every edge. The operators are those of ONNX; `calib.export.onnx_graph` and
`calib.export.torch_graph` carry them out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.calibrators.completed_rows import NOTHING
from calib.data.notions import TOP_K_NOTIONS
from calib.export.numbers import plain_data

#: A graph under construction: `calib.export.onnx_graph.Graph`, or `calib.export.torch_graph.TorchGraph`.
Graph = Any


def write(graph: Graph, calibrator: Any, *, logits: bool = False) -> None:
    """Write a fitted calibrator into an empty graph, its inputs and outputs as `calib.export.to_onnx` says.

    Raises
    ------
    InputError
        If the calibrator is none of calib's.
    """
    data = plain_data(calibrator)
    if data["kind"] == "binary":
        if logits:
            scores = graph.op("Sigmoid", graph.logits("logits", ["n"]))
        else:
            scores = graph.input("scores_in", ["n"])
        zeros = graph.cast(graph.op("Mul", scores, graph.number(0.0)), "INT64")
        calibrated = _calibrated(graph, data, zeros, scores)
        graph.output("scores", calibrated, ["n"])
        if "accept_from" in data:
            above = graph.cast(graph.op("Less", graph.number(0.5), calibrated), "INT64")
            if data["of_event"]:
                calibrated = graph.op("Max", calibrated, graph.op("Sub", graph.number(1.0), calibrated))
            _accepted(graph, data, above, calibrated)
        return
    shape = ["n", data["n_classes"]]
    proba = (
        graph.op("Softmax", graph.logits("logits", shape), axis=1) if logits else graph.input("proba", shape)
    )
    if data["kind"] == "multiclass":
        _multiclass(graph, data, proba)
    elif data["kind"] == "canonical":
        _output_matrix(graph, data, _canonical(graph, data, proba))
    else:
        _output_matrix(graph, data, _scaled(graph, data, proba))


def _output_matrix(graph: Graph, data: dict[str, Any], matrix: str) -> None:
    label = graph.top(matrix)
    graph.output("probabilities", matrix, ["n", data["n_classes"]])
    graph.output("label", label, ["n"], whole=True)
    if "accept_from" in data:
        _accepted(graph, data, label, graph.largest(matrix))


def _accepted(graph: Graph, data: dict[str, Any], label: str, confidence: str) -> None:
    """Write the output "accept", 0 or 1: whether the confidence is at least the threshold of the rule."""
    thresholds = np.asarray(data["accept_from"], dtype=np.float64)
    limit = graph.number(float(thresholds[0]))
    if len(thresholds) > 1:
        limit = graph.op("Gather", graph.array(thresholds), label)
    accepted = graph.cast(graph.op("GreaterOrEqual", confidence, limit), "INT64")
    graph.output("accept", accepted, ["n"], whole=True)


def _scaled(graph: Graph, data: dict[str, Any], proba: str) -> str:
    log_p = graph.op("Log", graph.op("Max", proba, graph.number(data["floor"])))
    kind = data["kind"]
    if "temperature" in data:
        logits = graph.op("Div", log_p, graph.number(data["temperature"]))
        tempered = graph.op("Softmax", logits, axis=1)
    if kind == "temperature":
        return tempered
    if kind == "ensemble-temperature":
        uniform = graph.number(1.0 / data["n_classes"])
        components = tempered, graph.op("Softmax", log_p, axis=1), uniform
        first, second, third = (
            graph.op("Mul", component, graph.number(weight))
            for component, weight in zip(components, data["mixture"], strict=True)
        )
        return graph.op("Min", graph.op("Add", graph.op("Add", first, second), third), graph.number(1.0))
    if kind in ("structured-vector", "structured-matrix"):
        weighted = graph.op("Mul", tempered, graph.number(data["n_samples"]))
        smoothed = graph.op("Add", weighted, graph.number(1.0 / data["n_classes"]))
        log_p = graph.op("Log", graph.op("Div", smoothed, graph.number(data["n_samples"] + 1.0)))
    if kind == "top-versus-all":
        logits = graph.op("Mul", log_p, graph.array(np.array(data["weights"])))
    elif kind != "vector":
        product = "Mul" if kind == "structured-vector" else "MatMul"
        scaled = graph.op(product, log_p, graph.array(np.array(data["weights"]).T))
        logits = graph.op("Add", scaled, graph.array(np.array(data["biases"])))
    else:
        # Weight 0 and bias 0 for the last class, whose logit is 0.
        last = graph.columns(log_p, data["n_classes"] - 1, data["n_classes"])
        odds = graph.op("Sub", log_p, last)
        weights, biases = (
            graph.array(np.array([*data["weights"], 0.0])),
            graph.array(np.array([*data["biases"], 0.0])),
        )
        logits = graph.op("Add", graph.op("Mul", odds, weights), biases)
    return graph.op("Softmax", logits, axis=1)


def _multiclass(graph: Graph, data: dict[str, Any], proba: str) -> None:
    n_classes, notion = data["n_classes"], data["notion"]
    if notion == "class-wise":
        # Row-major entries (row, class): the class of an entry is its binary problem.
        classes = graph.array(np.arange(n_classes))
        problem = graph.op("Add", classes, graph.cast(graph.op("Mul", proba, graph.number(0.0)), "INT64"))
        matrix = _calibrated(graph, data, problem, proba)
        if data["normalize"]:
            sums = graph.sums(matrix)
            empty = graph.op("LessOrEqual", sums, graph.number(NOTHING * n_classes))
            shared = graph.op("Div", matrix, graph.op("Where", empty, graph.number(1.0), sums))
            matrix = graph.op("Where", empty, graph.number(1.0 / n_classes), shared)
        _output_matrix(graph, data, matrix)
        return
    if notion in TOP_K_NOTIONS:
        k = graph.array(np.array([data["ranks"]]))
        scores, labels = graph.op_many("TopK", 2, proba, k, axis=1, largest=1, sorted=1)
        ranks = np.arange(data["ranks"])
        if notion == "top-k-label":
            problem = graph.op("Add", labels, graph.array(ranks * n_classes))
        else:
            problem = graph.op("Add", graph.op("Mul", labels, graph.array(np.int64(0))), graph.array(ranks))
        graph.output("labels", labels, ["n", data["ranks"]], whole=True)
        confidences = _calibrated(graph, data, problem, scores)
        graph.output("confidences", confidences, ["n", data["ranks"]])
        if "accept_from" in data:
            _accepted(graph, data, graph.top(proba), graph.largest(graph.columns(confidences, 0, 1)))
        return
    label = graph.top(proba)
    problem = label if notion == "top-label" else graph.op("Mul", label, graph.array(np.int64(0)))
    if "groups" in data:
        problem = _in_groups(graph, data, label)
    score = graph.largest(proba)
    confidence = _calibrated(graph, data, problem, score)
    if data["complete"]:
        graph.output("probabilities", _completed(graph, proba, label, confidence), ["n", n_classes])
    graph.output("label", label, ["n"], whole=True)
    graph.output("confidence", confidence, ["n"])
    if "accept_from" in data:
        _accepted(graph, data, label, confidence)


def _in_groups(graph: Graph, data: dict[str, Any], label: str) -> str:
    """Return the number of the calibrator of each row's group, or class and group; other groups come last."""
    group, n_groups = graph.whole_input("group", ["n"]), data["groups"]
    known = graph.op(
        "And",
        graph.op("GreaterOrEqual", group, graph.array(np.int64(0))),
        graph.op("Less", group, graph.array(np.int64(n_groups))),
    )
    width = data["n_classes"] if data["by_class"] else 1
    within = label if data["by_class"] else graph.op("Mul", label, graph.array(np.int64(0)))
    cell = graph.op("Add", graph.op("Mul", group, graph.array(np.int64(width))), within)
    return graph.op("Where", known, cell, graph.op("Add", within, graph.array(np.int64(n_groups * width))))


def _completed(graph: Graph, proba: str, label: str, confidence: str) -> str:
    column = graph.array(np.array([1]))
    top = graph.op("Equal", graph.op("Unsqueeze", label, column), graph.array(np.arange(graph.n_classes)))
    h = graph.op("Unsqueeze", confidence, column)
    rest = graph.op("Where", top, graph.number(0.0), proba)
    sums = graph.sums(rest)
    empty = graph.op("Equal", sums, graph.number(0.0))
    rest = graph.op("Where", empty, graph.number(1.0), rest)
    sums = graph.op("Where", empty, graph.number(graph.n_classes - 1.0), sums)
    spread = graph.op("Mul", rest, graph.op("Div", graph.op("Sub", graph.number(1.0), h), sums))
    return graph.op("Where", top, h, spread)


def _calibrated(graph: Graph, data: dict[str, Any], problem: str, scores: str) -> str:
    """Send each score through the calibrator of its binary problem; shapes are kept."""
    table = np.array(data["calibrators"])
    if not (table >= 0).any():
        return graph.op("Identity", scores)
    index = graph.op("Gather", graph.array(table), problem)
    fitted_index = graph.op("Max", index, graph.array(np.int64(0)))
    if data["curve"] == "logistic":
        calibrated = _logistic(graph, np.array(data["weights"]), fitted_index, scores)
    else:
        calibrated = _looked_up(graph, data, fitted_index, scores)
    if (table >= 0).all():
        return calibrated
    return graph.op("Where", graph.op("Less", index, graph.array(np.int64(0))), scores, calibrated)


def _clipped_logs(graph: Graph, scores: str) -> tuple[str, str]:
    clipped = graph.op("Max", scores, graph.number(2.0**-24))
    clipped = graph.op("Min", clipped, graph.number(1.0 - 2.0**-24))
    return graph.op("Log", clipped), graph.op("Log", graph.op("Sub", graph.number(1.0), clipped))


def _logistic(graph: Graph, weights: np.ndarray, index: str, scores: str) -> str:
    slope, below, intercept = (graph.op("Gather", graph.array(row), index) for row in weights.T.copy())
    log_p, log_q = _clipped_logs(graph, scores)
    logit = graph.op("Sub", graph.op("Mul", slope, log_p), graph.op("Mul", below, log_q))
    return graph.op("Sigmoid", graph.op("Add", logit, intercept))


def _looked_up(graph: Graph, data: dict[str, Any], index: str, scores: str) -> str:
    """Values of steps, lines or splines, by a binary search in a table, a padded row per calibrator."""
    starts, knots = np.array(data["knots_from"]), np.array(data["knots"])
    sizes = np.diff(starts)
    steps = int(sizes.max()).bit_length()
    width = 2**steps
    padded = np.full((len(sizes), width), 99.0)
    values = np.zeros((4 if data["curve"] == "spline" else 1, len(sizes), width))
    values_from, all_values = np.array(data["values_from"]), np.array(data["values"])
    for row in range(len(sizes)):
        padded[row, : sizes[row]] = knots[starts[row] : starts[row + 1]]
        curve_values = all_values[values_from[row] : values_from[row + 1]].reshape(len(values), -1)
        values[:, row, : curve_values.shape[1]] = curve_values
    flat_knots, *tables = (graph.array(table.ravel()) for table in (padded, *values))
    base = graph.op("Mul", index, graph.array(np.int64(width)))
    if data["curve"] == "spline":
        scores = graph.op("Sub", *_clipped_logs(graph, scores))
    position = _count_below(graph, flat_knots, steps, scores, base)
    gathered = [graph.op("Gather", table, graph.op("Add", base, position)) for table in tables]
    if data["curve"] == "steps":
        return gathered[0]
    if data["curve"] == "spline":
        start, value, slope, bend = gathered
        away = graph.op("Sub", scores, start)
        bent = graph.op("Mul", away, graph.op("Add", graph.op("Mul", bend, away), slope))
        return graph.op("Sigmoid", graph.op("Add", bent, value))
    final = graph.op("Gather", graph.array(sizes - 1), index)
    left = graph.op("Max", graph.op("Sub", position, graph.array(np.int64(1))), graph.array(np.int64(0)))
    right = graph.op("Min", position, final)
    at = {
        (table, side): graph.op("Gather", flat, graph.op("Add", base, where))
        for table, flat in (("x", flat_knots), ("y", tables[0]))
        for side, where in (("left", left), ("right", right))
    }
    run = graph.op("Sub", at["x", "right"], at["x", "left"])
    flat = graph.op("Equal", run, graph.number(0.0))
    rise = graph.op("Sub", at["y", "right"], at["y", "left"])
    slope = graph.op("Div", rise, graph.op("Where", flat, graph.number(1.0), run))
    return graph.op("Add", graph.op("Mul", slope, graph.op("Sub", scores, at["x", "left"])), at["y", "left"])


def _count_below(
    graph: Graph, table: str, steps: int, value: str, base: str | None = None, compare: str = "LessOrEqual"
) -> str:
    """Count the entries of an ascending table of 2**steps that compare with the value, by binary search.

    The count starts at 0; the bit of each step stays set if the last entry it adds still compares. `base` is
    where each value's table starts if there are several; without it, the values are whole numbers.
    """
    position = graph.op("Mul", value if base is None else base, graph.array(np.int64(0)))
    for step in range(steps - 1, -1, -1):
        further = graph.op("Add", position, graph.array(np.int64(2**step)))
        end = further if base is None else graph.op("Add", base, further)
        last = graph.op("Sub", end, graph.array(np.int64(1)))
        reached = graph.op(compare, graph.op("Gather", table, last), value)
        position = graph.op("Where", reached, further, position)
    return position


def _canonical(graph: Graph, data: dict[str, Any], proba: str) -> str:
    """Add the nodes of a `CanonicalBinning` and return its (n, L) probabilities."""
    assign = {"sierpinski": _sierpinski, "grid": _grid, "projection": _projection}[data["scheme"]]
    cell = assign(graph, data, proba)
    cells = np.array(data["cells"], dtype=np.int64)
    n_classes = data["n_classes"]
    values = np.vstack([np.reshape(data["values"], (-1, n_classes)), np.full(n_classes, 1.0 / n_classes)])
    width = 2 ** len(cells).bit_length()
    padded = np.full(width, np.iinfo(np.int64).max)
    padded[: len(cells)] = cells
    table = graph.array(padded)
    position = _count_below(graph, table, len(cells).bit_length(), cell, compare="Less")
    occupied = graph.op("Equal", graph.op("Gather", table, position), cell)
    row = graph.op("Where", occupied, position, graph.array(np.int64(len(cells))))
    return graph.op("Gather", graph.array(values), row)


def _sierpinski(graph: Graph, data: dict[str, Any], proba: str) -> str:
    n_classes = data["n_classes"]
    one_hot_of = graph.array(np.arange(n_classes))
    column = graph.array(np.array([1]))
    local = proba
    active = graph.op("Greater", graph.largest(proba), graph.number(-1.0))
    cell = graph.op("Mul", graph.top(proba), graph.array(np.int64(0)))
    in_corner = (data["n_bins"] - 1) // n_classes
    for _ in range(data["depth"]):
        corner = graph.top(local)
        inside = graph.op("Greater", graph.largest(local), graph.number(0.5))
        moved = graph.op("Where", inside, corner, graph.array(np.int64(n_classes)))
        added = graph.op("Mul", moved, graph.array(np.int64(in_corner)))
        cell = graph.op("Where", active, graph.op("Add", cell, added), cell)
        active = graph.op("And", active, inside)
        top = graph.op("Equal", graph.op("Unsqueeze", corner, column), one_hot_of)
        doubled = graph.op("Add", local, local)
        less = graph.op("Sub", doubled, graph.cast(top, "DOUBLE"))
        # A row that stopped is not used again; its numbers are kept as they are so that none overflows.
        local = graph.op("Where", graph.op("Unsqueeze", active, column), less, local)
        in_corner = (in_corner - 1) // n_classes
    return cell


def _grid(graph: Graph, data: dict[str, Any], proba: str) -> str:
    side, n_classes = data["side"], data["n_classes"]
    scaled = graph.op("Mul", graph.op("Div", proba, graph.sums(proba)), graph.number(side))
    whole = graph.op("Round", scaled)
    gap = graph.op("Abs", graph.op("Sub", scaled, whole))
    on_face = graph.op("LessOrEqual", gap, graph.number(4 * side * np.finfo(np.float32).eps))
    chosen = graph.op("Where", on_face, whole, graph.op("Ceil", scaled))
    tuples = graph.op("Max", graph.cast(chosen, "INT64"), graph.array(np.int64(1)))
    corner = graph.op("Equal", graph.sums(tuples), graph.array(np.int64(side)))
    last = graph.array(np.eye(n_classes, dtype=np.int64)[-1])
    tuples = graph.op("Add", tuples, graph.op("Mul", graph.cast(corner, "INT64"), last))
    # Used before and after each column: running sums of k - 1.
    spent = graph.op("Sub", tuples, graph.array(np.int64(1)))
    offset = np.arange(n_classes) * side
    table = graph.array(np.array(data["left"], dtype=np.int64).ravel())
    axis = graph.array(np.int64(1))
    before = graph.op("CumSum", spent, axis, exclusive=1)
    after = graph.op("CumSum", spent, axis)
    counts = [
        graph.op("Gather", table, graph.op("Add", used, graph.array(offset))) for used in (before, after)
    ]
    ranks = graph.op("Sub", *counts)
    return graph.op("ReduceSum", ranks, graph.array(np.array([1])), keepdims=0)


def _projection(graph: Graph, data: dict[str, Any], proba: str) -> str:
    """First cut that takes the row; columns are added one by one, in the library's order."""
    directions, thresholds = np.array(data["directions"]), np.array(data["thresholds"])

    def product(column: int) -> str:
        scores = graph.columns(proba, column, column + 1)
        return graph.op("Mul", scores, graph.array(directions[:, column]))

    total = product(0)
    for column in range(1, data["n_classes"]):
        total = graph.op("Add", total, product(column))
    taken = graph.cast(graph.op("Less", total, graph.array(thresholds)), "INT64")
    # The last column is 1.01, above every projection: every row is taken by some cut.
    return graph.op("ArgMax", taken, axis=1, keepdims=0)
