"""Choosing the strength of a ridge by cross-validation on the calibration rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calib.base.parallel import map_row_blocks
from calib.calibrators.softmax_fit import SoftmaxFit
from calib.data.equal_rows import mixed
from calib.evidence.row_scores import weighted_mean

#: In place of a strength: choose it by cross-validation.
CROSS_VALIDATED = "cv"

#: Strengths tried, in nats per row, from an unchanged model to almost no ridge.
STRENGTHS = tuple(10.0 ** np.arange(3, -9, -1))

N_FOLDS = 5

#: Distance from the optimum at which fits of folds stop, in nats per row.
FOLD_GAP = 1e-6

#: The search ends if the held-out loss is twice in a row this much above the smallest, in nats.
WORSE = 1e-3


def folds(matrix: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the fold of each row, stratified by class and independent of the order of rows."""

    def hashed(rows: np.ndarray) -> np.ndarray:
        bits = (rows.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: no negative zeros
        return mixed(mixed(bits).sum(axis=1, dtype=np.uint64))

    order = np.lexsort((map_row_blocks(hashed, matrix), codes))
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % min(N_FOLDS, len(codes))
    return fold


def search_strength(
    fold: np.ndarray,
    fit: Callable[[Any, float, SoftmaxFit | None, float | None], SoftmaxFit],
    losses: Callable[[SoftmaxFit, np.ndarray], np.ndarray],
    weights: np.ndarray,
) -> np.ndarray:
    """Return strengths, mean held-out log loss and its standard error, (m, 3) float64, strongest first.

    Strengths come from `STRENGTHS` until weaker ones are clearly worse, and half-way between the best and its
    neighbours. One row gives only the strongest, without a loss.
    """
    numbers = np.unique(fold)
    begins: dict[int, SoftmaxFit | None] = dict.fromkeys(numbers.tolist())

    def tried(strength: float) -> tuple[float, float, float]:
        loss = np.empty(len(fold))
        for number in begins:
            out = fold == number
            begins[number] = fitted = fit(~out, strength, begins[number], FOLD_GAP)
            loss[out] = losses(fitted, out)
        mean = weighted_mean(loss, weights)
        values = weights * (loss - mean)
        return strength, mean, float(values.std(ddof=1) / np.sqrt(len(loss)))

    if len(numbers) == 1:
        return np.array([[STRENGTHS[0], np.nan, np.nan]])
    table: list[tuple[float, float, float]] = []
    for strength in STRENGTHS:
        table.append(tried(strength))
        least = min(row[1] for row in table)
        if len(table) > 1 and min(table[-1][1], table[-2][1]) > least + WORSE:
            break
    best = best_strength(np.array(table))
    between = [best * 10.0**half for half in (0.5, -0.5) if table[-1][0] <= best * 10.0**half <= STRENGTHS[0]]
    return np.array(sorted([*table, *map(tried, between)], reverse=True))


def best_strength(search: np.ndarray) -> float:
    """Return the strength with the smallest mean held-out log loss, the strongest of equal ones."""
    return float(search[search[:, 1].argmin(), 0])
