"""The fast pass over the scores of all classes: highest score, its class, squares, whether rows sum to 1.

Files of 10^8 rows are summed at the speed of this pass. It takes columns as they are stored, without a matrix
of rows, and needs nothing of the rest of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.data.matrices import ROW_SUM_TOLERANCE
from calib.evidence.row_scores import TINY

#: Rows of a block: its columns stay in the cache of a processor.
BLOCK = 64_000


@dataclass(frozen=True, eq=False)
class Sweep:
    """Results of one pass over columns of scores, block by block."""

    #: (n,) arrays: highest score of each row, at most 1, and its column, ties to the lowest
    score: np.ndarray
    label: np.ndarray
    squares: np.ndarray | None  #: (n,) float64 array: sum of the squares of each row, if asked for
    are_probabilities: bool  #: Whether all scores are 0 or more, and all rows sum to 1

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], *, squares: bool) -> Sweep:
        n_rows, dtype = len(columns[0]), columns[0].dtype
        kind = np.uint8 if len(columns) <= 2**8 else np.uint16 if len(columns) <= 2**16 else np.uint32
        score, label = np.empty(n_rows, dtype), np.zeros(n_rows, kind)
        total = np.empty(n_rows) if squares else None
        space = [np.empty(min(n_rows, BLOCK), kept) for kept in (dtype, dtype, bool, kind, np.float64)]
        fine = True
        for start in range(0, n_rows, BLOCK):
            rows = slice(start, min(start + BLOCK, n_rows))
            block = [column[rows] for column in columns]
            scratch = [array[: rows.stop - start] for array in space]
            found = score[rows], label[rows], None if total is None else total[rows]
            fine = _sweep_block(block, *found, scratch) and fine
        return cls(score, label, total, fine)


def _sweep_block(
    block: Sequence[np.ndarray],
    best: np.ndarray,
    label: np.ndarray,
    squares: np.ndarray | None,
    scratch: Sequence[np.ndarray],
) -> bool:
    """Fill in the highest score, its class and the squares of each row; whether all are probabilities."""
    sums, lowest, higher, place, exact = scratch
    for start in (best, sums, lowest):
        np.copyto(start, block[0])
    if squares is not None:
        np.copyto(exact, best)
        np.multiply(exact, exact, out=squares)
    with np.errstate(invalid="ignore", over="ignore"):
        for code, scores in enumerate(block[1:], start=1):
            sums += scores
            np.minimum(lowest, scores, out=lowest)
            np.greater(scores, best, out=higher)
            np.maximum(best, scores, out=best)
            if place.dtype == np.uint8:  # all bits if it is higher: its code's bits remain
                np.negative(higher.view(np.int8), out=place.view(np.int8))
                np.bitwise_and(place, np.uint8(code), out=place)
            else:
                np.multiply(higher, place.dtype.type(code), out=place, dtype=place.dtype)
            np.maximum(label, place, out=label)
            if squares is not None:
                np.copyto(exact, scores)
                exact *= exact
                squares += exact
        off = max(1.0 - float(sums.min()), float(sums.max()) - 1.0)
    fine = bool(lowest.min() >= 0.0) and off <= ROW_SUM_TOLERANCE
    np.minimum(best, best.dtype.type(1.0), out=best)
    return fine


def vector_losses(
    columns: Sequence[np.ndarray],
    score: np.ndarray,
    squares: np.ndarray,
    truth: np.ndarray,
    outcome: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return the values of a block's rows whose means are the `LOSSES` of sums (`calib.evidence.sums`)."""
    at_true = score.astype(np.float64)  # if the predicted class is true, as in most rows
    wrong = np.flatnonzero(~outcome)
    missed = at_true[wrong]
    places = truth[wrong].astype(np.intp)
    places *= len(score)
    places += wrong
    at_true[wrong] = np.concatenate(columns).take(places)
    logs = minus_log(at_true)
    events = logs.copy()
    events[wrong] = minus_log(1.0 - missed)
    at_true *= -2.0
    at_true += squares
    at_true += 1.0
    return {"accuracy": outcome, "brier": at_true, "log_loss": logs, "event_log_loss": events}


def minus_log(chance: np.ndarray) -> np.ndarray:
    logs = np.maximum(chance, TINY)
    np.log(logs, out=logs)
    return np.negative(logs, out=logs)
