"""Effects of every threshold: risk against coverage, net benefit, and the cheapest action for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.answers.decision_rules import event_rows, rows_to_accept
from calib.base.exceptions import InputError
from calib.base.results import Drawn, Result
from calib.data.defaults import LEVEL
from calib.data.notions import Notion
from calib.data.predictions import BinaryPrediction, Scores, Values, as_vectors, score_matrix
from calib.data.validation import as_finite, as_floats, as_names, check_level
from calib.evidence.clusters import Clusters
from calib.evidence.row_scores import weighted_mean
from calib.evidence.rows import Known, Source, as_pair, scores_and_next, single_rows
from calib.stats.bootstrap import limits_of_means, with_unseen_changes
from calib.stats.effective import rows_with_unseen
from calib.stats.intervals import combined_difference, few_clusters_factor, jeffreys_limits


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Drawn):
    """Share of wrong predictions among those accepted, for every threshold on the confidence."""

    #: (m,) float64: Distinct confidences, descending: predictions of at least this confidence are accepted
    threshold: np.ndarray
    coverage: np.ndarray  #: (m,) float64: Share of rows, or of their weight, that is accepted, ascending to 1
    #: (m,) float64: Share of wrong predictions among the accepted rows, or among their weight
    risk: np.ndarray
    n_samples: int  #: Rows
    #: Area under the curve (Geifman & El-Yaniv 2017): mean, over n, of the risk of the n most confident rows
    aurc: float

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame({"threshold": self.threshold, "coverage": self.coverage, "risk": self.risk})


def risk_coverage(
    y_true: Source,
    scores: Scores | None = None,
    *,
    label: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> RiskCoverage:
    """Return the risk-coverage curve of predictions accepted by their confidence.

    Parameters
    ----------
    y_true, sample_weight, cluster
        As for `calib.ece`.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores of the model or of a calibrator; 1-D scores are P(Y = 1).
    label : int, optional
        Only rows with this predicted class.

    Examples
    --------
    >>> from calib import ConfidencePrediction
    >>> curve = risk_coverage([1, 1, 0, 1], ConfidencePrediction([0.9, 0.8, 0.7, 0.6]))
    >>> curve.risk.tolist(), round(curve.aurc, 4)
    ([0.0, 0.0, 0.3333333333333333, 0.25], 0.1458)
    """
    notion: Notion = "confidence" if label is None else "top-label"
    problems = rows_to_accept(y_true, scores, sample_weight, cluster).problems(notion)
    code = 0 if label is None else label
    confidence, right = (values[::-1] for values in problems.problem(code))  # the most confident first
    if not (n := len(confidence)):
        raise InputError(f"no row has the predicted class {label}; choose another")
    weight = problems.weights_of(code)[::-1]
    ends = np.append(np.flatnonzero(np.diff(confidence)), n - 1)
    accepted, errors = np.cumsum(weight)[ends], np.cumsum(weight * ~right)[ends]
    # Inside a tie every row has the same weight and the same expected error.
    weight_so_far, expected = (
        np.interp(np.arange(1, n + 1), np.append(0, ends + 1), np.append(0, sums))
        for sums in (accepted, errors)
    )
    return RiskCoverage(
        confidence[ends].astype(np.float64),
        accepted / accepted[-1],
        errors / accepted,
        n,
        float(np.average(expected / weight_so_far, weights=np.diff(weight_so_far, prepend=0.0))),
    )


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Drawn):
    """Net benefit of acting if P(Y = 1) is at least a threshold (Vickers & Elkin 2006)."""

    #: (m,): Thresholds t in (0, 1); t / (1 - t) needless actions are as bad as a missed action
    threshold: NDArray[np.float64]
    #: (m,): Net benefit TP / n - FP / n * t / (1 - t) of acting by the scores, with its interval
    model: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    everyone: NDArray[np.float64]  #: (m,): Net benefit of acting always; of acting never it is 0
    #: (m,): Net benefit over the share of events: 1 for a model that acts on all events and nothing else
    standardised: NDArray[np.float64]
    #: (m,): Actions per row that the scores avoid without missing more events, compared with acting always
    avoided: NDArray[np.float64]
    avoided_lower: NDArray[np.float64]
    avoided_upper: NDArray[np.float64]
    share: float  #: Share of rows with the event
    level: float  #: Coverage of each interval

    def frame(self) -> pd.DataFrame:
        return super().frame().drop(columns=["share", "level"])


@dataclass(frozen=True, eq=False, repr=False)
class BenefitDifference(Result):
    """Net benefit of scores b minus scores a on the same rows."""

    threshold: np.ndarray  #: (m,) float64: Thresholds
    #: (m,) float64: Difference b - a and its interval
    difference: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float  #: Coverage of each interval


def decision_curve(
    y_true: Source,
    scores: Scores | None = None,
    *,
    thresholds: Values | None = None,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> DecisionCurve:
    """Return the decision curve of binary scores, with an interval at each threshold.

    Parameters
    ----------
    y_true, sample_weight, cluster
        As for `calib.noise_floor`.
    scores : (n,) array_like, or binary predictions
        P(Y = 1).
    thresholds : (m,) array_like, optional
        Thresholds in (0, 1); by default 0.01, 0.02, ..., 0.99.
    level : float in (0, 1)
        Coverage of each interval.

    Notes
    -----
    The shares TP / n and FP / n have Jeffreys intervals of the effective rows, combined with their
    correlation (MOVER, Zou & Donner 2008), so that a threshold without needless actions has an interval, too.
    With clusters, variances follow from the sums over clusters; few clusters count as fewer rows. With
    weights, they allow for weights that were not seen.

    Examples
    --------
    >>> decision_curve([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1], thresholds=[0.5]).model.tolist()
    [0.0]
    """
    rows = single_rows(y_true, scores, sample_weight, cluster, "A decision curve")
    happened, event = event_rows(rows)
    grid, alpha = _checked(thresholds), 1.0 - check_level(level)
    odds, weight = grid / (1.0 - grid), rows.weights / rows.weights.sum()
    few = 1.0 if rows.clusters.independent else few_clusters_factor(rows.clusters.n_clusters, alpha)
    by_weight = 1.0 / float(weight @ weight)
    most = by_weight if rows.clusters.independent else float(rows.clusters.n_clusters)
    least = np.inf if rows.clusters.n_clusters == 1 else 1e-30

    def benefit(happened: Any, event: Any, grid: Any, odds: Any) -> tuple[Any, Any, Any]:
        hits, needless, covariance = _shares_acted_on(rows.clusters, happened, event, weight, grid)
        ends, variances = [], np.maximum(covariance[[0, 1], [0, 1]], least)
        for share, variance in zip((hits, needless), variances, strict=True):
            spread = share * (1.0 - share)
            effective = np.where(spread > 1e-12, spread / variance, most)
            rows_seen = rows_with_unseen(effective, np.minimum(share, 1.0 - share), by_weight, alpha) * few
            ends.append((share, *jeffreys_limits(share * rows_seen, rows_seen, alpha)))
        correlation = covariance[0, 1] / np.sqrt(variances[0] * variances[1])
        return combined_difference(ends[0], [end * odds for end in ends[1]], correlation)

    # Actions are avoided for rows below a threshold, which cost a missed event each if Y = 1.
    avoided = benefit(~happened, -event, np.nextafter(-grid, 0.0), 1.0 / odds)
    events = float(weight[happened].sum())
    everyone = events - (1.0 - events) * odds
    model, lower, upper = benefit(happened, event, grid, odds)
    standardised = model / (events or np.nan)
    return DecisionCurve(grid, model, lower, upper, everyone, standardised, *avoided, events, level)


def benefit_difference(
    y_true: Source,
    scores_a: Scores | Known,
    scores_b: Scores | None = None,
    *,
    thresholds: Values | None = None,
    level: float = LEVEL,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> BenefitDifference:
    """Return the net benefit of scores b minus scores a on the same rows, with intervals paired by rows.

    Parameters as for `decision_curve`. Intervals as for `calib.paired_interval`; at a threshold where no row
    differs in one direction they allow for further rows that do.
    """
    a, b = as_pair(y_true, scores_a, scores_b, sample_weight, cluster)
    happened, event = event_rows(a)
    other, grid = event_rows(b)[1], _checked(thresholds)
    found = []
    for threshold in grid:
        cost = threshold / (1.0 - threshold)
        change = (other >= threshold).astype(np.float64) - (event >= threshold)
        worth = np.where(happened, change, -cost * change)
        (ends,) = limits_of_means(worth[None], level, 1.0 + cost, a, None)
        found.append(with_unseen_changes(worth, ends, (1.0, -1.0, cost, -cost), a, level))
    difference, lower, upper = np.array(found).T
    return BenefitDifference(grid, difference, lower, upper, level)


def _checked(thresholds: Values | None) -> np.ndarray:
    grid = np.arange(1, 100) / 100 if thresholds is None else as_floats(thresholds, ndim=1, what="thresholds")
    if not ((grid > 0) & (grid < 1)).all():
        raise InputError(f"thresholds must lie in (0, 1); got {thresholds!r}")
    return grid


def _shares_acted_on(
    clusters: Clusters, happened: np.ndarray, event: np.ndarray, weight: np.ndarray, grid: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of rows that are hits and needless actions, and their covariance, (2, 2, m).

    `weight` sums to 1.
    """
    order = np.argsort(-event, kind="stable")
    n_acted = np.searchsorted(-event[order], -grid, side="right")  # rows with a score of at least t
    cluster, weight = clusters.code[order], weight[order]
    size = np.bincount(cluster, weight)
    masses = weight * happened[order], weight * ~happened[order]
    # of rows of the same cluster with a higher score
    before = [np.zeros(len(mass)) for mass in masses]
    if not clusters.independent:
        before = [pd.Series(mass).groupby(cluster).cumsum().to_numpy() - mass for mass in masses]

    def acted_on(values: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.cumsum(values))[n_acted]

    shares, sizes = (np.array([acted_on(mass * by) for mass in masses]) for by in (1.0, size[cluster]))
    covariance = np.empty((2, 2, len(grid)))
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        products = acted_on(before[a] * masses[b] + before[b] * masses[a] + masses[a] * masses[b])
        apart = shares[a] * sizes[b] + shares[b] * sizes[a] - shares[a] * shares[b] * (size @ size)
        covariance[a, b] = clusters.variance_factor * (products - apart)
    return shares[0], shares[1], covariance


@dataclass(frozen=True, eq=False, repr=False)
class ActionCosts(Result):
    """Effect of the actions with the smallest expected cost on labelled rows."""

    actions: tuple[str, ...]  #: A names, in the order of the columns of the costs
    #: (n,) int64: Action of each row that counts: the one with the smallest expected cost by its scores
    action: np.ndarray
    count: np.ndarray  #: (L, A) int64: Rows by true class and action
    #: Mean cost per row with its interval. It also allows for costs that were not seen.
    cost: float
    lower: float
    upper: float
    alone: int  #: The action that costs least on these rows if all get the same
    #: Saving per row by the scores: the mean cost of `alone` minus `cost`, with its interval
    saved: float
    saved_lower: float
    saved_upper: float
    level: float  #: Nominal coverage of the intervals

    @property
    def sentence(self) -> str:
        """State the cost of the actions, and how much the scores save."""
        return (
            f"The mean cost is {self.cost:.4g} per row ({100 * self.level:g} % interval {self.lower:.4g} to "
            f"{self.upper:.4g}); {self.actions[self.alone]!r} for every row costs {self.saved:.4g} more "
            f"({self.saved_lower:.4g} to {self.saved_upper:.4g})."
        )

    def frame(self, class_names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows by true class and action as a table."""
        names = as_names(class_names, len(self.count))
        return pd.DataFrame(self.count, columns=list(self.actions)).assign(label=names).set_index("label")


def choose_actions(
    y_true: Source,
    scores: Scores | None = None,
    costs: Values | None = None,
    *,
    actions: Sequence[str] | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> ActionCosts:
    """Choose for each row the action with the smallest expected cost by its scores, and measure the cost.

    Parameters
    ----------
    y_true, sample_weight, cluster
        As for `calib.noise_floor`.
    scores : (n, L) array_like, Predictions or BinaryPrediction
        Calibrated probabilities of all classes.
    costs : (L, A) or (n, L, A) array_like of float
        Cost of each action (column) for each true class (row), in any unit: the same for all rows, or one
        table for each row, such as the amount that a missed fraud costs.
    actions : sequence of A str, optional
        Names of the actions; by default their numbers.
    level : float in (0, 1)
        Coverage of the intervals.

    Notes
    -----
    Action a costs sum over l of p_l C[l, a] by the scores (Berger, "Statistical decision theory and Bayesian
    analysis", 1985, section 1.5). Intervals as for `calib.bootstrap_interval`; they hold for rows that
    neither model nor calibrator was fitted on.

    Examples
    --------
    >>> found = choose_actions([0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [[0, 1], [5, 0]])
    >>> found.action.tolist(), round(found.cost, 3)
    ([0, 1, 1], 0.0)
    """
    check_level(level)
    own, costs = scores_and_next(y_true, scores, costs)
    rows = single_rows(y_true, own, sample_weight, cluster, "A choice of actions")
    if costs is None:
        raise InputError("costs are missing: pass the cost of each action (column) for each class (row)")
    if isinstance(rows.predictions, BinaryPrediction):
        rows = rows.of_scores(as_vectors(rows.predictions))
    proba, labels, weights = score_matrix(rows.predictions), rows.labels, rows.weights
    costs = as_finite(costs, ndim=3 if np.ndim(costs) == 3 else 2, what="costs")
    if costs.shape[-2] != proba.shape[1] or costs.ndim == 3 and len(costs) != rows.n_given:
        raise InputError(
            f"costs must have one row for each of {proba.shape[1]} classes, or such a table for each of "
            f"{rows.n_given:,} rows; got shape {costs.shape}"
        )
    n_actions = costs.shape[-1]
    if not n_actions:
        raise InputError("costs must have one column for each action; got none")
    names = as_names(actions, n_actions)
    if costs.ndim == 3:
        costs = costs[rows.counts]
        action = np.argmin(np.einsum("il,ila->ia", proba, costs), axis=1)
        of_label = costs[np.arange(len(labels)), labels]
    else:
        action, of_label = np.argmin(proba @ costs, axis=1), costs[labels]
    row_cost = of_label[np.arange(len(labels)), action]
    alone = int(np.argmin([weighted_mean(each, weights) for each in of_label.T]))
    count = np.zeros(costs.shape[-2:], dtype=np.int64)
    np.add.at(count, (labels, action), 1)
    taken = np.unique(action)
    not_seen = costs[..., taken][..., count[:, taken] == 0]
    cost = weighted_mean(row_cost, weights)
    most_unseen = max(float(np.max(not_seen, initial=cost)) - cost, 0.0) / len(labels)
    losses = np.stack([row_cost, of_label[:, alone] - row_cost])
    most = float(np.ptp(costs)) + float(np.abs(costs).max())
    own, others = limits_of_means(losses, level, most, rows, np.array([most_unseen, -most_unseen]))
    limits = max(own[1], float(costs.min())), min(own[2], float(costs.max()))
    return ActionCosts(names, action, count, cost, *limits, alone, *others, level)


def cost_thresholds(costs: np.ndarray) -> np.ndarray:
    """Return P(Y = 1) at which two actions cost the same, for (2, 2) or (n, 2, 2) costs.

    Rows of costs are Y = 0 and Y = 1, columns are actions. Outside [0, 1], one action always costs less;
    the threshold is infinite if the actions differ by the same cost in both.

    >>> float(cost_thresholds(np.array([[0.0, 1.0], [9.0, 1.0]])).round(3))
    0.111
    """
    needless, missed = costs[..., 0, 1] - costs[..., 0, 0], costs[..., 1, 0] - costs[..., 1, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(needless / (needless + missed))
