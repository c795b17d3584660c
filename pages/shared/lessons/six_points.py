"""Six points and their binary problems, in the spirit of Figure 3 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.data.notions import TOP_K_NOTIONS, NotionShape
from calib.data.predictions import Predictions
from calib.evidence.reductions import ranked_classes, reduce_to_binary

POINTS = ("a", "b", "c", "d", "e", "f")

#: Six points a..f over four classes in the spirit of Figure 3 of the paper, which prints its numbers only
#: as a picture: the labels of a, b and f are the paper's, the probabilities are ours.
SIX_POINTS = Predictions(
    [
        [0.15, 0.10, 0.70, 0.05],
        [0.10, 0.20, 0.10, 0.60],
        [0.80, 0.10, 0.05, 0.05],
        [0.25, 0.60, 0.10, 0.05],
        [0.10, 0.15, 0.70, 0.05],
        [0.60, 0.10, 0.20, 0.10],
    ],
    [2, 3, 0, 0, 1, 0],
    ["1", "2", "3", "4"],
)

#: A row whose sum is within this of 1 is taken as rounded.
ROUNDING = 0.005


def used_cells(proba: np.ndarray, notion: str, top_k: int = 2) -> np.ndarray:
    """Tell which binary problem each probability enters: its index + 1, or 0 where it is not used.

    For "canonical", which is not an M2B notion, every row is one unit: its entries carry the number of their
    row's distinct vector, counted from the first row.

    Parameters
    ----------
    proba : (n, L) array
        Probabilities.
    notion : str
        A notion of `reduce_to_binary`, or "canonical".
    top_k : int
        K of the top-K notions.

    Returns
    -------
    (n, L) int64 array
    """
    n_classes = proba.shape[1]
    cells = np.zeros(proba.shape, dtype=np.int64)
    if notion == "canonical":
        _, first, inverse = np.unique(proba, axis=0, return_index=True, return_inverse=True)
        cells[:] = (np.argsort(np.argsort(first)) + 1)[inverse.reshape(-1, 1)]
    elif notion == "class-wise":
        cells[:] = np.arange(1, n_classes + 1)
    else:
        shape = NotionShape.of(notion, n_classes, top_k if notion in TOP_K_NOTIONS else None)
        ranked, _ = ranked_classes(proba, shape.n_ranks)
        np.put_along_axis(cells, ranked, shape.problems_of(ranked, np.arange(shape.n_ranks)) + 1, axis=1)
    return cells


def binary_tables(
    predictions: Predictions, notion: str, *, points: Sequence[str] = POINTS, top_k: int = 2
) -> dict[int, pd.DataFrame]:
    """Return the binary problems of a notion as small tables, by index, as in Figure 3 (b) to (d).

    Each table has a column per point that enters the problem, in the order of `points`, and two rows:
    "score" and "outcome" (0 or 1). Problems without points are left out.
    """
    ranks = top_k if notion in TOP_K_NOTIONS else None
    problems = reduce_to_binary(
        predictions.labels,
        predictions,
        notion,
        top_k=ranks,
    )
    tables = {}
    for index in range(problems.n_problems):
        entries = slice(problems.offsets[index], problems.offsets[index + 1])
        if entries.start == entries.stop:
            continue
        rows = problems.rows[entries]
        order = np.argsort(rows)
        tables[index] = pd.DataFrame(
            [problems.scores[entries][order], problems.outcomes[entries][order].astype(float)],
            index=["score", "outcome"],
            columns=[points[row] for row in rows[order]],
        )
    return tables


def rows_off(table: np.ndarray) -> np.ndarray:
    """Return the indices of the rows of an (n, L) table that are not probability vectors, up to rounding."""
    values = np.asarray(table, dtype=np.float64)
    inside = ((values >= 0) & (values <= 1)).all(axis=1)
    return np.flatnonzero(~(inside & (np.abs(values.sum(axis=1) - 1.0) <= ROUNDING)))
