"""The rows in a mark of a figure: a bin, a (class, bin) cell, a class, a group, a difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.notions import Strategy
from calib.evidence.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.evidence.reductions import event_scores, outcomes_of, top_label


def rows_behind(
    problems: BinaryProblems, cells: BinStatistics, *, label: int | None = None, bin: int | None = None
) -> np.ndarray:
    """Return the rows of the cells of a class, of a bin, or of both, (m,) int64, ascending.

    Parameters
    ----------
    problems : BinaryProblems
        From `reduce_to_binary` without rows of weight 0: "confidence" for bins, "top-label" for cells.
    cells : BinStatistics
        Of these problems.
    label, bin : int, optional
        Class code and bin of the cells; by default all.

    Examples
    --------
    >>> from calib import bin_statistics, reduce_to_binary
    >>> proba = [[0.9, 0.1], [0.3, 0.7], [0.25, 0.75], [0.4, 0.6]]
    >>> problems = reduce_to_binary([0, 1, 1, 0], proba, "top-label")
    >>> rows_behind(problems, bin_statistics(problems, n_bins=4), label=1, bin=2).tolist()
    [1, 3]
    """
    chosen = np.ones(len(cells.count), dtype=bool)
    if label is not None:
        chosen &= cells.label == label
    if bin is not None:
        chosen &= cells.bin == bin
    inside = np.zeros(problems.n_samples, dtype=bool)
    for start, stop in zip(cells.start[chosen], cells.stop[chosen], strict=True):
        inside[problems.rows[start:stop]] = True
    return np.flatnonzero(inside)


def cell_order(
    problems: BinaryProblems, *, n_bins: int = N_BINS, strategy: Strategy = "uniform"
) -> np.ndarray:
    """Return a sort key, descending, that puts rows of the cells that add most to the error first."""
    cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy)
    rank = np.empty(len(cells.count))
    rank[np.argsort(np.abs(cells.gap) * cells.share, kind="stable")] = np.arange(len(rank))
    off = np.abs(problems.scores.astype(np.float64) - problems.outcomes)
    order = np.zeros(problems.n_samples)
    np.maximum.at(order, problems.rows, 2.0 * np.repeat(rank, cells.stop - cells.start) + off)
    return order


def row_table(
    y_true: Any, rows: Any, which: Any, *, after: Mapping[str, Any] | None = None, by: Any = None
) -> pd.DataFrame:
    """Describe rows: predicted and true class, the score before and after, and further columns.

    Parameters
    ----------
    y_true : (n,) array_like
        True class codes, or whether the event happened.
    rows : predictions of any kind
        The base model.
    which : (m,) array_like of int
        The rows to describe.
    after : mapping of str to scores of the same rows, optional
        Scores of calibrators, or of other models, by the name of their column.
    by : (n,) array_like of float, optional
        What rows are sorted by, descending; by default the distance of the score from the outcome.

    Returns
    -------
    DataFrame
        "row" (from 0), then "predicted", "true" and "confidence", or score and outcome; a column for each of
        `after`; the further columns of the rows.
    """
    numbers = np.asarray(which, dtype=np.int64)
    n_samples = len(rows)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_samples:
        raise InputError(f"rows must be 0 to {n_samples - 1:,}; got {numbers.min():,} to {numbers.max():,}")
    names = getattr(rows, "class_names", None)
    columns: dict[str, Any] = {"row": numbers}
    event = event_scores(rows)
    if event is None:
        label, score = (array[numbers] for array in top_label(rows))
        truth = np.asarray(y_true)[numbers]
        right = label == truth
        for head, codes in (("predicted", label), ("true", truth)):
            columns[head] = codes if names is None else np.asarray(names, dtype=object)[codes]
        columns["confidence"] = score
    else:
        score, right = event[numbers], np.asarray(outcomes_of(y_true, rows))[numbers]
        binary = rows.kind == "binary"
        columns[f"p({rows.positive})" if binary else "confidence"] = score
        columns["true" if binary else "correct"] = (
            np.asarray(names, dtype=object)[right.astype(np.int64)] if binary else right
        )
    for head, scores in (after or {}).items():
        columns[head] = _score(scores)[numbers]
    wrong = np.abs(score.astype(np.float64) - right) if by is None else np.asarray(by)[numbers]
    order = np.argsort(-wrong, kind="stable")
    table = pd.DataFrame(columns)
    if getattr(rows, "metadata", None) is not None:
        further = rows.metadata.iloc[numbers].reset_index(drop=True)
        table = pd.concat([table, further.rename(columns={name: f"{name} (file)" for name in table})], axis=1)
    return table.iloc[order].reset_index(drop=True)


def _score(scores: Any) -> np.ndarray:
    event = event_scores(scores)
    return event if event is not None else top_label(scores)[1]
