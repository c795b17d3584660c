"""Groups in detail: group x bin and group x predicted class, in the form that classes are drawn in."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.answers.cuts import Cut
from calib.answers.slice_tables import claims
from calib.data.predictions import TopLabelPrediction, weighted_rows, weights_of
from calib.diagrams.classes import ClassHeat, class_heat
from calib.diagrams.reliability import wilson_interval
from calib.evidence.binning import bin_statistics
from calib.evidence.reductions import reduce_to_binary


def slice_heat(
    y_true: Any,
    scores: Any,
    cut: Cut,
    *,
    groups: Any = None,
    n_bins: int = 15,
    sample_weight: Any = None,
) -> ClassHeat:
    """Arrange group x bin cells of the confidence, all predicted classes together.

    Parameters
    ----------
    y_true, scores, sample_weight
        As for `calib.slices`.
    cut : Cut
        The groups; `label` of the result holds their codes.
    groups : (R,) array_like of int, optional
        Codes of the groups to show; by default all with rows.
    n_bins : int
        Equal-width bins.
    """
    group, _, score, right, weights = _rows(y_true, scores, cut, sample_weight)
    outcome = np.where(right, group, len(cut.groups))
    problems = reduce_to_binary(outcome, TopLabelPrediction(group, score), "top-label", sample_weight=weights)
    return class_heat(bin_statistics(problems, n_bins=n_bins), groups)


def slice_class_heat(
    y_true: Any, scores: Any, cut: Cut, *, groups: Any, classes: Any, sample_weight: Any = None
) -> ClassHeat:
    """Arrange group x predicted class, all confidences together.

    Parameters
    ----------
    y_true, scores, cut, groups, sample_weight
        As for `slice_heat`.
    classes : (C,) array_like of int
        Codes of the predicted classes: the columns of the result, whose `edges` mean nothing.
    """
    group, label, score, right, weights = _rows(y_true, scores, cut, sample_weight)
    groups, classes = np.asarray(groups, dtype=np.int64), np.asarray(classes, dtype=np.int64)
    row_of, column_of = np.full(len(cut.groups), -1), np.full(int(label.max()) + 1, -1)
    row_of[groups] = np.arange(len(groups))
    column_of[classes[classes < len(column_of)]] = np.flatnonzero(classes < len(column_of))
    row, column = row_of[group], column_of[label]
    shown = (row >= 0) & (column >= 0)
    shape = len(groups), len(classes)
    cell, each = (row * shape[1] + column)[shown], np.ones(len(row)) if weights is None else weights
    values = (np.ones(len(row)), each, each**2, each * score.astype(np.float64), each * right)
    count, weight, square, says, happened = (
        np.bincount(cell, weights=one[shown], minlength=shape[0] * shape[1]).reshape(shape) for one in values
    )
    with np.errstate(invalid="ignore"):
        confidence, accuracy, effective = says / weight, happened / weight, weight**2 / square
    ends = wilson_interval(accuracy, effective)
    contribution = np.nansum(weight * np.abs(accuracy - confidence), axis=1) / each.sum()
    edges = np.arange(shape[1] + 1.0)
    return ClassHeat(groups, contribution, edges, count.astype(np.int64), confidence, accuracy, *ends)


def _rows(y_true: Any, scores: Any, cut: Cut, sample_weight: Any) -> tuple[Any, ...]:
    """Group, class, score, outcome and weight of each row that counts."""
    sample_weight = weights_of(scores, sample_weight)
    group = weighted_rows(cut.code, cut.code, sample_weight)[0]
    y_true, scores, weights = weighted_rows(y_true, scores, sample_weight)
    return group, *claims(y_true, scores), weights
