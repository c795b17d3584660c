"""Scores of single rows: accuracy, Brier score, log loss and ranks, and the variance of their means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import map_threads, row_blocks
from calib.data.predictions import (
    BasePrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    TopKPrediction,
    TopLabelPrediction,
    score_matrix,
)
from calib.data.validation import check_choice
from calib.data.weights import effective_rows
from calib.evidence.binning import BinaryProblems, true_places
from calib.evidence.clusters import Clusters
from calib.evidence.reductions import event_scores, outcomes_of, top_label

#: Most rows on which the loss of a wrong prediction is averaged.
MAX_WRONG_ROWS = 1_000
#: Least probability of a logarithm.
TINY = float(np.finfo(np.float64).eps)


class Mean:
    """Mean of a score over rows, and the variance of this mean, computed when it is first asked for."""

    def __init__(self, value: float, variance: Callable[[], float]) -> None:
        self.value = value
        self._variance = variance

    @cached_property
    def variance(self) -> float:
        """Variance of `value`; NaN if it is unknown from sums."""
        return self._variance()


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / weights.sum())


def row_values(rows: BasePrediction, metric: str) -> np.ndarray:
    """Return the metric of each row of labelled predictions, (n,) float64; the metric is their mean."""
    check_choice(metric, ("accuracy", "brier", "log_loss"), "metric")
    if isinstance(rows, MultilabelPrediction):
        return _mean_over_classes(rows, metric)
    event, happened = event_scores(rows), None
    if isinstance(rows, (TopLabelPrediction, TopKPrediction)):
        event, happened = rows.confidence, rows.label == rows.truth
    if metric == "accuracy":
        is_known = isinstance(rows, ConfidencePrediction)
        return (outcomes_of(rows) if is_known else top_label(rows)[0] == rows.truth).astype(np.float64)
    if event is None:
        return vector_values(rows.truth, score_matrix(rows), (metric,))[metric]
    happened = outcomes_of(rows) if happened is None else happened
    p = event.astype(np.float64)
    if metric == "brier":
        return (p - happened) ** 2
    return -np.log(np.maximum(np.where(happened, p, 1.0 - p), TINY))


def vector_values(labels: np.ndarray, matrix: np.ndarray, metrics: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the `row_values` of "brier" or "log_loss", or of both, of whole vectors in one pass."""
    values = {metric: np.empty(len(matrix)) for metric in metrics}

    def fill(rows: slice) -> None:
        block = matrix[rows]
        at_true = block.take(true_places(labels[rows], block.shape[1])).astype(np.float64, copy=False)
        if "log_loss" in values:
            values["log_loss"][rows] = -np.log(np.maximum(at_true, TINY))
        if "brier" in values:  # sum_l (h_l - y_l)^2 = sum_l h_l^2 - 2 h_Y + 1
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            values["brier"][rows] = squares - 2.0 * at_true + 1.0

    map_threads(fill, row_blocks(len(matrix), matrix.shape[1]))
    return values


def unseen_error(
    rows: BasePrediction, predicted: BasePrediction, metric: str, weights: np.ndarray, clusters: Clusters
) -> float:
    """Return how much one more wrong row changes the mean of `row_values`; 0 for accuracy with wrong rows.

    `predicted` are the predictions before calibration, whose errors decide what a wrong row is.
    """
    if isinstance(rows, MultilabelPrediction):
        return 0.0
    seen = row_values(rows, metric)
    if metric == "accuracy" and not seen.all():
        return 0.0
    some, labels = wrong_rows(predicted)
    wrong = row_values(rows.take(some).with_labels(labels), metric).mean() - weighted_mean(seen, weights)
    return float(wrong) * error_share(predicted, weights, clusters)


def error_share(rows: BasePrediction, weights: np.ndarray, clusters: Clusters) -> float:
    """Return the share of rows in one further error: a row, or the rows of a cluster that err together.

    With clusters these are as many as the design effect of the share of errors: 1 if each cluster has the
    same share, all its rows if clusters are right or wrong as a whole, or if there is no error.
    """
    alone = 1.0 / float(effective_rows(weights.sum(), weights @ weights))
    if clusters.independent:
        return alone
    wrong = row_values(rows, "accuracy") == 0.0
    share = weighted_mean(wrong, weights)
    if share in (0.0, 1.0):
        return 1.0 / clusters.n_clusters
    sums = clusters.sums(weights * (wrong - share)) / weights.sum()
    return max(float(sums @ sums) / (share * (1.0 - share)), alone)


def wrong_rows(rows: BasePrediction) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows, and wrong outcomes for them, drawn with the other classes' probabilities."""
    n_rows = rows.n_samples
    some = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_WRONG_ROWS)).astype(np.int64))
    if isinstance(rows, ConfidencePrediction):
        return some, np.zeros(len(some), dtype=np.int64)
    if (event := event_scores(rows)) is not None:
        return some, (event[some] <= 0.5).astype(np.int64)
    if isinstance(rows, (TopLabelPrediction, TopKPrediction)):
        return some, top_label(rows)[0][some] + 1
    rest = score_matrix(rows)[some].astype(np.float64) + TINY
    rest[np.arange(len(some)), rest.argmax(axis=1)] = 0.0
    reach = rest.cumsum(axis=1)
    at = np.random.default_rng(0).random(len(some)) * reach[:, -1]
    return some, (reach <= at[:, None]).sum(axis=1)


def _mean_over_classes(rows: MultilabelPrediction, metric: str) -> np.ndarray:
    if metric == "accuracy":
        raise InputError(
            "accuracy needs a predicted class for each row; of these predictions several classes can be true"
        )
    p = rows.scores.astype(np.float64)
    if metric == "brier":
        return ((p - rows.truth) ** 2).mean(axis=1)
    return -np.log(np.maximum(np.where(rows.truth, p, 1.0 - p), TINY)).mean(axis=1)


class Area(NamedTuple):
    """Mean over binary problems of the area under the ROC curve (AUC); NaN if no problem has both outcomes.

    `variance` is the variance of the mean. `fewest` is the number of rows of the rarer outcome, the lowest of
    all problems times the number of problems. Rows are effective rows, and divided by the design effect of
    clusters; if the area is 0 or 1, clusters are counted.
    """

    value: float
    variance: float
    fewest: float


def mean_area(problems: Iterable[BinaryProblems], clusters: Clusters) -> Area:
    """Return the mean area of problems that have one claim about each row.

    The area is the chance that a row with the outcome has a higher score than a row without, ties counting
    one half. Its variance is DeLong, DeLong & Clarke-Pearson's (1988): each row adds the difference of its
    own component from the area. Clusters add the sums of their rows (Obuchowski 1997, here times the square
    of G / (G - 1): components compare rows with rows of the same cluster, too); problems are averaged.
    """
    values, fewest, added = [], np.inf, np.zeros(1)
    for each in problems:
        edges = np.append(each.tie_starts, len(each.scores))
        true = each.outcome_sums[edges]
        false = each.weight_sums[edges] - true
        if min(true[-1], false[-1]) <= 0.0:
            continue
        beaten = (false[1:] + false[:-1]) / (2.0 * false[-1])
        beating = 1.0 - (true[1:] + true[:-1]) / (2.0 * true[-1])
        value = float(np.diff(true) @ beaten / true[-1])
        values.append(value)
        happened = each.outcomes.astype(bool)
        own = np.empty(len(happened))
        size, worth = np.diff(edges), []
        for side, component, total in ((happened, beaten, true[-1]), (~happened, beating, false[-1])):
            n_rows = int(side.sum())
            component = (component - value) * np.sqrt(n_rows / max(n_rows - 1, 1)) / total
            np.copyto(own, component if len(size) == len(own) else np.repeat(component, size), where=side)
            worth.append(effective_rows(float(total), float(each.weights[side] @ each.weights[side])))
        by_row = np.bincount(each.rows, own * each.weights, each.n_samples)
        added, sums, alone = added + by_row, clusters.sums(by_row), float(by_row @ by_row)
        if alone > 0.0:
            fewest = min(fewest, min(worth) / max(float(sums @ sums) / alone, 1.0))
        else:
            fewest = min(fewest, *(clusters.n_among(each.rows[side]) for side in (happened, ~happened)))
    if not values:
        return Area(np.nan, np.nan, 0.0)
    spread = clusters.variance_factor * clusters.spread(added) / len(values) ** 2
    return Area(float(np.mean(values)), spread, fewest * len(values))
