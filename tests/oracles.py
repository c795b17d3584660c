"""The paper's definitions written out as loops over rows, to check the library against.

Nothing here imports calib, sorts arrays of rows or sums prefixes: each function reads like the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: One binary problem: scores and outcomes of its rows, in row order.
Problem = tuple[list[float], list[int]]

NOTIONS = ("confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label")
STRATEGIES = ("uniform", "quantile", "discrete")


def ranking(row: Sequence[float]) -> list[int]:
    """Class codes from the highest score to the lowest; ties to the lowest code."""
    return sorted(range(len(row)), key=lambda code: (-row[code], code))


def claims(y: Any, proba: Any, notion: str, top_k: int | None = None) -> list[list[Problem]]:
    """Table 1: the claims of a notion, each a list of binary problems (one per class, or one in all)."""
    rows = [[float(value) for value in row] for row in proba]
    labels = [int(label) for label in y]
    n_classes = len(rows[0])
    if notion == "class-wise":
        return [
            [([row[code] for row in rows], [int(label == code) for label in labels])]
            for code in range(n_classes)
        ]
    k = (min(n_classes, 5) if top_k is None else top_k) if notion.startswith("top-k") else 1
    result = []
    for rank in range(k):
        predicted = [ranking(row)[rank] for row in rows]
        scores = [row[code] for row, code in zip(rows, predicted, strict=True)]
        outcomes = [int(label == code) for label, code in zip(labels, predicted, strict=True)]
        if notion in ("confidence", "top-k-confidence"):
            result.append([(scores, outcomes)])
        else:
            chosen = [[i for i, code in enumerate(predicted) if code == label] for label in range(n_classes)]
            result.append(
                [([scores[i] for i in entries], [outcomes[i] for i in entries]) for entries in chosen]
            )
    return result


def uniform_bin(score: float, n_bins: int) -> int:
    """Bin of a score among [0, 1/B), ..., [1 - 1/B, 1], comparing with every edge j/B."""
    return max(b for b in range(n_bins) if b == 0 or score >= b / n_bins)


def equal_mass_groups(scores: Sequence[float], n_bins: int) -> list[list[float]]:
    """Distinct scores of each equal-mass bin.

    Walk the distinct scores upwards. A bin is full at ceil(entries left / bins left), and never below
    floor(n / B); what is left at the end and is no full share joins the last bin.
    """
    share = max(len(scores) // n_bins, 1)
    bins: list[list[float]] = []
    values = sorted(set(scores))
    left = len(scores)
    while values:
        if len(bins) == n_bins - 1:
            bins.append(values)
            break
        target = max(share, math.ceil(left / (n_bins - len(bins))))
        taken: list[float] = []
        size = 0
        while values and size < target:
            taken.append(values.pop(0))
            size += sum(score == taken[-1] for score in scores)
        left -= size
        if left < share:
            taken, values = taken + values, []
        bins.append(taken)
    return bins


def bin_of_each(scores: Sequence[float], n_bins: int, strategy: str) -> list[int]:
    """Bin of every score of one binary problem."""
    if strategy == "uniform":
        return [uniform_bin(score, n_bins) for score in scores]
    if strategy == "quantile":
        groups = equal_mass_groups(scores, n_bins)
        return [next(b for b, group in enumerate(groups) if score in group) for score in scores]
    values = sorted(set(scores))
    return [values.index(score) for score in scores]


def cells(problem: Problem, n_bins: int, strategy: str) -> dict[int, tuple[int, float, float]]:
    """Count, mean score and mean outcome of every bin that is not empty."""
    scores, outcomes = problem
    bins = bin_of_each(scores, n_bins, strategy)
    table = {}
    for b in sorted(set(bins)):
        entries = [i for i, bin_ in enumerate(bins) if bin_ == b]
        mean_score = math.fsum(scores[i] for i in entries) / len(entries)
        table[b] = (len(entries), mean_score, sum(outcomes[i] for i in entries) / len(entries))
    return table


def ece(y: Any, proba: Any, notion: str, n_bins: int, strategy: str, norm: float, top_k: Any = None) -> float:
    """Mean over claims of (sum over classes and bins of share |acc - conf|^p)^(1/p)."""
    errors = []
    for problems in claims(y, proba, notion, top_k):
        terms = [
            count / len(y) * abs(accuracy - confidence) ** norm
            for problem in problems
            for count, confidence, accuracy in cells(problem, n_bins, strategy).values()
        ]
        errors.append(math.fsum(terms) ** (1 / norm))
    return math.fsum(errors) / len(errors)


def mce(
    y: Any, proba: Any, notion: str, n_bins: int, strategy: str, aggregate: str, top_k: Any = None
) -> float:
    """Largest |acc - conf| of a cell, or of a bin after averaging its cells by their counts."""
    listed = [
        (b, count, abs(accuracy - confidence))
        for problems in claims(y, proba, notion, top_k)
        for problem in problems
        for b, (count, confidence, accuracy) in cells(problem, n_bins, strategy).items()
    ]
    if aggregate == "cell":
        return max(gap for _, _, gap in listed)
    deltas = []
    for b in {b for b, _, _ in listed}:
        entries = [(count, gap) for bin_, count, gap in listed if bin_ == b]
        deltas.append(math.fsum(count * gap for count, gap in entries) / sum(count for count, _ in entries))
    return max(deltas)


def fit_histogram(
    scores: Sequence[float], outcomes: Sequence[int], n_bins: int, *, on_rows: bool = False
) -> Callable[[float], tuple[float, int]]:
    """Uniform-mass histogram binning; the fitted function gives (bin value, calibration points in it).

    With `on_rows` an edge is a score, and its point is left out unless others share it or it is alone.
    """
    groups = equal_mass_groups(scores, min(n_bins, len(scores)))
    values = []
    for number, group in enumerate(groups):
        points = [pair for pair in zip(scores, outcomes, strict=True) if pair[0] in group]
        entries = [outcome for _, outcome in points]
        at_edge = [outcome for score, outcome in points if score == group[0]]
        if on_rows and number and len(at_edge) == 1 and len(entries) > 1:
            entries.remove(at_edge[0])
        values.append((sum(entries) / len(entries), len(points)))
    pairs = zip(groups, groups[1:], strict=False)
    edges = [above[0] if on_rows else (below[-1] + above[0]) / 2 for below, above in pairs]
    return lambda score: values[sum(edge <= score for edge in edges)]


def histogram_m2b(
    proba: Any,
    y: Any,
    test: Any,
    notion: str,
    *,
    points_per_bin: int | None = None,
    n_bins: int | None = None,
    fallback: str = "identity",
    top_k: int | None = None,
) -> list[list[float]]:
    """Algorithm 5 with histogram binning: the calibrated scores of `test`, one list per claim."""

    def fit(problem: Problem) -> Callable[[float], float] | None:
        needed = points_per_bin or n_bins or 1
        if len(problem[0]) < needed:
            return None
        bins = n_bins or max(len(problem[0]) // (points_per_bin or 1), 1)
        fitted = fit_histogram(*problem, bins, on_rows=n_bins is None)
        return lambda score: fitted(score)[0]

    result = []
    no_labels = [0] * len(test)
    test_claims = claims(no_labels, test, notion, top_k)
    for claim, problems in enumerate(claims(y, proba, notion, top_k)):
        together: Problem = ([s for p in problems for s in p[0]], [z for p in problems for z in p[1]])
        pooled = fit(together) if fallback == "pooled" and len(problems) > 1 else None
        fitted = [fit(problem) or pooled for problem in problems]
        if len(problems) == 1:
            scores, owners = test_claims[claim][0][0], [0] * len(test)
        else:
            owners = [ranking([float(v) for v in row])[claim] for row in test]
            scores = [float(row[code]) for row, code in zip(test, owners, strict=True)]
        calibrated = []
        for score, owner in zip(scores, owners, strict=True):
            function = fitted[owner]
            calibrated.append(score if function is None else function(score))
        result.append(calibrated)
    return result


def random_predictions(
    rng: np.random.Generator, n_samples: int, n_classes: int, *, digits: int | None = None, dtype: Any = float
) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident probabilities and labels; with `digits`, printed that short, so scores tie.

    The last class is never true and the first column is never highest, where there are more than 2.
    """
    logits = rng.normal(size=(n_samples, n_classes)) * 2.0
    if n_classes > 2:
        logits[:, 0] -= 30.0
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    honest = proba**0.5
    if n_classes > 2:
        honest[:, -1] = 0.0
    honest /= honest.sum(axis=1, keepdims=True)
    y = (honest.cumsum(axis=1) < rng.random((n_samples, 1))).sum(axis=1)
    y = np.minimum(y, n_classes - 2 if n_classes > 2 else n_classes - 1)
    if digits is not None:
        proba = proba.round(digits)
    return proba.astype(dtype), y
