"""The rows that a bar or point of a figure stands for, and tables of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.predictions import BinaryPrediction, Scores, Values
from calib.data.validation import as_floats, check_shape
from calib.evidence.binning import BinStatistics
from calib.evidence.reductions import event_scores, top_label
from calib.evidence.rows import Rows, Source, as_evidence, scores_and_next, single_rows


def rows_behind(
    y_true: Source,
    scores: Scores | BinStatistics | None = None,
    cells: BinStatistics | None = None,
    *,
    label: int | None = None,
    bin: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> np.ndarray:
    """Return the rows of the cells of a class, of a bin, or of both, (m,) int64, ascending.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.ece`. Rows of weight 0 are left out, and are not numbered.
    cells : BinStatistics
        Of these rows, such as `ReliabilityDiagram.cells`.
    label, bin : int, optional
        Class code and bin of the cells; by default all.

    Examples
    --------
    >>> from calib import Predictions, reliability_diagram
    >>> rows = Predictions([[0.9, 0.1], [0.3, 0.7], [0.25, 0.75], [0.4, 0.6]], [0, 1, 1, 0])
    >>> rows_behind(rows, cells=reliability_diagram(rows, n_bins=4).cells, label=1, bin=2).tolist()
    [1, 3]
    """
    own, cells = scores_and_next(y_true, scores, cells)
    evidence = as_evidence(y_true, own, sample_weight, cluster)
    if not isinstance(cells, BinStatistics):
        raise InputError(f"cells must be a diagram's, as reliability_diagram(test).cells; got {cells!r:.60}")
    problems = evidence.problems(cells.notion)
    chosen = np.ones(len(cells.count), dtype=bool)
    if label is not None:
        chosen &= cells.label == label
    if bin is not None:
        chosen &= cells.bin == bin
    return np.unique(problems.rows[chosen[cells.of_entries]].astype(np.int64))


def row_table(
    y_true: Source,
    scores: Scores | None = None,
    which: Values | None = None,
    *,
    after: Mapping[str, Scores | Rows] | None = None,
    by: Values | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> pd.DataFrame:
    """Describe rows: predicted and true class, the score before and after, and further columns.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        The base model, as for `calib.ece`. Rows of weight 0 are left out, and are not numbered.
    which : (m,) array_like of int, optional
        The rows to describe; by default all.
    after : mapping of str to scores of the same rows, optional
        Scores of calibrators, or of other models, by the name of their column.
    by : (n,) array_like of float, optional
        What rows are sorted by, descending; by default the distance of the score from the outcome.

    Returns
    -------
    DataFrame
        "row" (from 0), then "predicted", "true" and "confidence", or score and outcome; "weight" if there are
        weights; a column for each of `after`; the further columns of the rows.
    """
    evidence = single_rows(y_true, scores, sample_weight, cluster, "The list of rows")
    rows, n_samples = evidence.predictions, evidence.n_samples
    numbers = np.arange(n_samples) if which is None else np.asarray(which, dtype=np.int64)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_samples:
        raise InputError(f"rows must be 0 to {n_samples - 1:,}; got {numbers.min():,} to {numbers.max():,}")
    label, score, right = (values[numbers] for values in evidence.claims())
    columns: dict[str, Values] = {"row": numbers}
    if event_scores(rows) is None:
        for head, codes in (("predicted", label), ("true", evidence.labels[numbers])):
            columns[head] = _named(codes, evidence.class_names)
        columns["confidence"] = score
    elif isinstance(rows, BinaryPrediction):
        columns |= {f"p({rows.positive})": score, "true": _named(right.astype(np.int64), rows.class_names)}
    else:
        columns |= {"confidence": score, "correct": right}
    if evidence.is_weighted and rows.sample_weight is not None:
        columns["weight"] = rows.sample_weight[numbers]
    for head, other in (after or {}).items():
        columns[head] = _score(other, evidence)[numbers]
    if by is not None:
        by = as_floats(by, ndim=1, what="by")
        check_shape(by.shape, n_samples, "by must hold one number per row")
    wrong = np.abs(score.astype(np.float64) - right) if by is None else by[numbers]
    table = pd.DataFrame(columns)
    if rows.metadata is not None:
        further = rows.metadata.iloc[numbers].reset_index(drop=True)
        table = pd.concat([table, further.rename(columns={name: f"{name} (file)" for name in table})], axis=1)
    return table.iloc[np.argsort(-wrong, kind="stable")].reset_index(drop=True)


def _named(codes: np.ndarray, names: tuple[str, ...] | None) -> np.ndarray:
    return codes if names is None else np.asarray(names, dtype=object)[codes]


def _score(scores: Scores | Rows, evidence: Rows) -> np.ndarray:
    """Return the confidence, or the score of the event, of each row of the evidence."""
    if isinstance(scores, Rows):
        return scores.claims()[1]
    event = event_scores(scores)
    return (top_label(scores)[1] if event is None else event)[evidence.counts]
