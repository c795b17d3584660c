"""Scores of single rows: whether the predicted class is right, its Brier score and its log loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.data.effective import effective_rows
from calib.data.predictions import (
    Announcement,
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    TopKPrediction,
    TopLabelPrediction,
    score_matrix,
)
from calib.data.validation import as_labels, as_outcomes, check_choice, n_axes, plain
from calib.evidence.reductions import event_scores, outcomes_of, top_label

#: Most rows on which the loss of a wrong prediction is averaged.
MAX_WRONG_ROWS = 1_000

#: Least probability of a logarithm.
TINY = float(np.finfo(np.float64).eps)


def weighted_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean of (n,) values with weights from `weighted_rows`, whose mean is 1."""
    return float(values.mean() if weights is None else values @ weights / weights.sum())


def row_values(y_true: Any, scores: Any, metric: str) -> np.ndarray:
    """Return the metric of each single row, (n,) float64; the metric is their mean."""
    check_choice(metric, ("accuracy", "brier", "log_loss"), "metric")
    if isinstance(scores, MultilabelPrediction):
        return _mean_over_classes(y_true, scores, metric)
    if isinstance(scores, TopKPrediction):
        scores = scores.top
    if isinstance(scores, ConfidencePrediction) and metric == "accuracy":
        return outcomes_of(y_true, scores).astype(np.float64)
    if metric == "accuracy" and _are_texts(y_true) and _are_texts(scores):
        return (np.asarray(y_true).astype(str) == np.asarray(scores).astype(str)).astype(np.float64)
    if metric == "accuracy" and (label := _predicted(scores)) is not None:
        return (as_labels(y_true, len(label), None) == label).astype(np.float64)
    event = event_scores(scores)
    if event is not None or isinstance(scores, TopLabelPrediction):
        if event is None:
            happened, event = as_labels(y_true, len(scores), None) == scores.label, scores.confidence
        else:
            happened = outcomes_of(y_true, scores)
        if metric == "accuracy":
            return ((event > 0.5) == happened).astype(np.float64)
        p = event.astype(np.float64)
        if metric == "brier":
            return (p - happened) ** 2
        return -np.log(np.maximum(np.where(happened, p, 1.0 - p), TINY))
    matrix = score_matrix(scores)
    return vector_values(as_labels(y_true, *matrix.shape), matrix, (metric,))[metric]


def vector_values(labels: np.ndarray, matrix: np.ndarray, metrics: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the `row_values` of "brier" or "log_loss", or of both, of whole vectors in one pass."""
    values = {metric: np.empty(len(matrix)) for metric in metrics}

    def fill(rows: slice) -> None:
        block = matrix[rows]
        at_true = block[np.arange(len(block)), labels[rows]].astype(np.float64)
        if "log_loss" in values:
            values["log_loss"][rows] = -np.log(np.maximum(at_true, TINY))
        if "brier" in values:  # sum_l (h_l - y_l)^2 = sum_l h_l^2 - 2 h_Y + 1
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            values["brier"][rows] = squares - 2.0 * at_true + 1.0

    map_threads(fill, row_blocks(len(matrix), matrix.shape[1]))
    return values


def unseen_error(
    y_true: Any,
    scores: Any,
    predicted: Any,
    metric: str,
    weights: np.ndarray | None,
    cluster: np.ndarray | None,
) -> float:
    """Return how much one more wrong row changes the mean of `row_values`; 0 for accuracy with wrong rows."""
    if isinstance(scores, MultilabelPrediction):
        return 0.0
    seen = row_values(y_true, scores, metric)
    if metric == "accuracy" and not seen.all():
        return 0.0
    some, labels = wrong_rows(predicted)
    chosen = scores.take(some) if isinstance(scores, Announcement) else np.asarray(plain(scores))[some]
    wrong = row_values(labels, chosen, metric).mean() - weighted_mean(seen, weights)
    return float(wrong) * error_share(y_true, predicted, weights, cluster)


def error_share(y_true: Any, scores: Any, weights: np.ndarray | None, cluster: np.ndarray | None) -> float:
    """Return the share of rows in one further error: a row, or a cluster's rows that are wrong together."""
    wrong = row_values(y_true, scores, "accuracy") == 0.0
    n_rows = len(wrong) if weights is None else effective_rows(weights.sum(), weights @ weights)
    if cluster is None:
        return float(1.0 / n_rows)
    if not wrong.any():
        return 1.0 / (int(cluster.max()) + 1)
    return float(wrong.sum() / len(np.unique(cluster[wrong])) / n_rows)


def wrong_rows(scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows, and wrong outcomes for them, drawn with the other classes' probabilities."""
    n_rows = getattr(scores, "n_samples", None) or len(scores)
    some = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_WRONG_ROWS)).astype(np.int64))
    if isinstance(scores, ConfidencePrediction):
        return some, np.zeros(len(some), dtype=np.int64)
    if (event := event_scores(scores)) is not None:
        return some, (event[some] <= 0.5).astype(np.int64)
    if isinstance(scores, (TopLabelPrediction, TopKPrediction)):
        return some, top_label(scores)[0][some] + 1
    rest = score_matrix(scores)[some].astype(np.float64) + TINY
    rest[np.arange(len(some)), rest.argmax(axis=1)] = 0.0
    reach = rest.cumsum(axis=1)
    at = np.random.default_rng(0).random(len(some)) * reach[:, -1]
    return some, (reach <= at[:, None]).sum(axis=1)


def _mean_over_classes(y_true: Any, rows: MultilabelPrediction, metric: str) -> np.ndarray:
    if metric == "accuracy":
        raise InputError(
            "accuracy needs a predicted class for each row; of these predictions several classes can be true"
        )
    happened = as_outcomes(y_true, rows.scores.shape, "labels")
    p = rows.scores.astype(np.float64)
    if metric == "brier":
        return ((p - happened) ** 2).mean(axis=1)
    return -np.log(np.maximum(np.where(happened, p, 1.0 - p), TINY)).mean(axis=1)


def _are_texts(values: Any) -> bool:
    if isinstance(values, Announcement):
        return False
    array = np.asarray(plain(values))
    return array.ndim == 1 and array.dtype.kind in "OUST" and any(isinstance(value, str) for value in array)


def _predicted(predicted: Any) -> np.ndarray | None:
    if isinstance(predicted, Announcement) or n_axes(predicted) != 1:
        return None if isinstance(predicted, BinaryPrediction) else top_label(predicted)[0]
    given = np.asarray(plain(predicted))
    if given.dtype.kind == "f" and ((given > 0) & (given < 1)).any():
        return None
    return as_labels(given, len(given), None)
