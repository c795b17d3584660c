"""How well scores rank: the area under the ROC curve, and how much each row adds to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from calib.data.weights import effective_rows
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import Clusters


class Area(NamedTuple):
    """Mean over binary problems of the area under the ROC curve (AUC); NaN if no problem has both outcomes.

    `variance` is the variance of the mean. `fewest` is the number of rows of the rarer outcome, the lowest of
    all problems times the number of problems. Rows are effective rows, and divided by the design effect of
    clusters; if the area is 0 or 1, clusters are counted.
    """

    value: float
    variance: float
    fewest: float


def area_of(scores: np.ndarray, happened: np.ndarray) -> float:
    """Return the area under the ROC curve of unweighted rows; NaN if all outcomes are equal."""
    are_rare = 2 * np.count_nonzero(happened) <= len(happened)
    ordered, rare = np.sort(scores), np.sort(scores[happened == are_rare])
    twice = 2 * len(rare) * (len(scores) - len(rare))
    before = np.searchsorted(ordered, rare)
    until = before + 1
    tied = np.flatnonzero(ordered[np.minimum(until, len(ordered) - 1)] == rare)
    until[tied] = np.searchsorted(ordered, rare[tied], "right")
    below = int(before.sum() + until.sum()) - len(rare) ** 2
    return (below if are_rare else twice - below) / twice if twice else np.nan


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
    sums = clusters.sums(added)
    spread = clusters.few**2 * float(sums @ sums) / len(values) ** 2
    return Area(float(np.mean(values)), spread, fewest * len(values))
