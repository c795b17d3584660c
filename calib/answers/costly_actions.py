"""The best action for each row if every action has a cost for every true class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.data.predictions import BinaryPrediction, Scores, Values, as_vectors, score_matrix
from calib.data.validation import as_finite, as_names, check_level
from calib.evidence.row_scores import weighted_mean
from calib.evidence.rows import Rows, Source, as_evidence
from calib.stats.bootstrap import limits_of_means


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
    rows = as_evidence(y_true, scores, sample_weight, cluster)
    if not isinstance(rows, Rows):
        raise InputError("actions are chosen row by row; a summary holds only sums")
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
    unseen = np.array([most_unseen, -most_unseen])
    own, others = limits_of_means(losses, level, most, rows, unseen)
    limits = max(own[1], float(costs.min())), min(own[2], float(costs.max()))
    return ActionCosts(names, action, count, cost, *limits, alone, *others, level)
