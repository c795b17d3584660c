"""Binning of the simplex as ONNX nodes: the cell of each row, then the mean label vector of the cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.export.onnx_graph import Graph


def canonical(graph: Graph, data: dict[str, Any], proba: str) -> str:
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
    place = graph.op("Mul", cell, graph.array(np.int64(0)))
    step = width // 2
    while step:
        further = graph.op("Add", place, graph.array(np.int64(step)))
        last = graph.op("Sub", further, graph.array(np.int64(1)))
        reached = graph.op("Less", graph.op("Gather", table, last), cell)
        place = graph.op("Where", reached, further, place)
        step //= 2
    found = graph.op("Equal", graph.op("Gather", table, place), cell)
    row = graph.op("Where", found, place, graph.array(np.int64(len(cells))))
    return graph.op("Gather", graph.array(values), row)


def _sierpinski(graph: Graph, data: dict[str, Any], proba: str) -> str:
    n_classes = data["n_classes"]
    one_hot_of = graph.array(np.arange(n_classes))
    column = graph.array(np.array([1]))
    local = proba
    active = graph.op("Greater", graph.op("ReduceMax", proba, axes=[1], keepdims=0), graph.number(-1.0))
    cell = graph.op("Mul", graph.top(proba), graph.array(np.int64(0)))
    in_corner = (data["n_bins"] - 1) // n_classes
    for _ in range(data["depth"]):
        corner = graph.top(local)
        inside = graph.op("Greater", graph.op("ReduceMax", local, axes=[1], keepdims=0), graph.number(0.5))
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
    total = None
    for column in range(data["n_classes"]):
        part = graph.op(
            "Mul",
            graph.columns(proba, column, column + 1),
            graph.array(directions[:, column]),
        )
        total = part if total is None else graph.op("Add", total, part)
    assert total is not None
    taken = graph.cast(graph.op("Less", total, graph.array(thresholds)), "INT64")
    # The last column is 1.01, above every projection: every row is taken by some cut.
    return graph.op("ArgMax", taken, axis=1, keepdims=0)
