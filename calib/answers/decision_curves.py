"""Effects of every threshold: risk against coverage, and the net benefit of acting on binary scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.answers.decision_rules import rows_to_accept
from calib.answers.event_rules import event_rows
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.evidence.binning import BinaryProblems
from calib.evidence.rows import Source, as_evidence


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Drawn):
    """Share of wrong predictions among those accepted, for every threshold on the confidence."""

    #: (m,) float64: Distinct confidences, descending: predictions of at least this confidence are accepted
    threshold: np.ndarray
    coverage: np.ndarray  #: (m,) float64: Share of rows, or of their weight, that is accepted, ascending to 1
    #: (m,) float64: Share of wrong predictions among the accepted rows, or among their weight
    risk: np.ndarray
    n_samples: int  #: Rows
    #: Area under the curve (Geifman & El-Yaniv 2017): mean risk of the n most confident rows, over n
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
    confidence, weight, lost = _accepted_first(problems, label)
    n = len(confidence)
    ends = np.append(np.flatnonzero(np.diff(confidence)), n - 1)
    rows = np.diff(np.append(-1, ends))
    accepted, errors = np.cumsum(weight)[ends], np.cumsum(lost)[ends]
    before, errors_before = np.append(0, accepted[:-1]), np.append(0, errors[:-1])
    # Inside a tie every row has the same weight and the same expected error.
    position = np.arange(1, n + 1) - np.repeat(ends + 1 - rows, rows)
    each, step = (accepted - before) / rows, (errors - errors_before) / rows
    weight_so_far = np.repeat(before, rows) + np.repeat(each, rows) * position
    expected = np.repeat(errors_before, rows) + np.repeat(step, rows) * position
    return RiskCoverage(
        confidence[ends].astype(np.float64),
        accepted / accepted[-1],
        errors / accepted,
        n,
        float(np.average(expected / weight_so_far, weights=np.repeat(each, rows))),
    )


def _accepted_first(problems: BinaryProblems, label: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return confidence, weight and weight if wrong of each row, the most confident rows first."""
    if label is not None and not 0 <= label < problems.n_problems:
        raise InputError(f"label must be a predicted class 0..{problems.n_problems - 1}; got {label}")
    confidence, right = problems.problem(label or 0)
    if not len(confidence):
        raise InputError(f"no row has the predicted class {label}; choose another")
    weight = problems.weights_of(label or 0)
    return confidence[::-1], weight[::-1], (weight * ~right)[::-1]


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Drawn):
    """Net benefit of acting if P(Y = 1) is at least a threshold (Vickers & Elkin 2006)."""

    #: (m,) float64: Thresholds t in (0, 1); t / (1 - t) needless actions are as bad as a missed action
    threshold: np.ndarray
    #: (m,) float64: Net benefit TP / n - FP / n * t / (1 - t) of acting by the scores, per row
    model: np.ndarray
    everyone: np.ndarray  #: (m,) float64: Net benefit of acting always; of acting never it is 0


def decision_curve(
    y_true: Source,
    scores: Scores | None = None,
    *,
    thresholds: Values | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> DecisionCurve:
    """Return the decision curve of binary scores.

    Parameters
    ----------
    y_true, sample_weight, cluster
        As for `calib.ece`.
    scores : (n,) array_like, or binary predictions
        P(Y = 1).
    thresholds : (m,) array_like, optional
        Thresholds in (0, 1); by default 0.01, 0.02, ..., 0.99.

    Examples
    --------
    >>> decision_curve([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1], thresholds=[0.5]).model.tolist()
    [0.0]
    """
    happened, event, weight = event_rows(as_evidence(y_true, scores, sample_weight, cluster))
    grid = np.arange(1, 100) / 100 if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    if grid.ndim != 1 or not len(grid) or not ((grid > 0) & (grid < 1)).all():
        raise InputError(f"thresholds must lie in (0, 1); got {thresholds!r}")
    order = np.argsort(event, kind="stable")
    first = np.searchsorted(event[order], grid)  # rows from here on have a score of at least t
    hits, acted = (_sums_to_the_end(mass[order])[first] for mass in (weight * happened, weight))
    odds, total = grid / (1 - grid), weight.sum()
    share = (weight * happened).sum() / total
    return DecisionCurve(grid, (hits - (acted - hits) * odds) / total, share - (1 - share) * odds)


def _sums_to_the_end(values: np.ndarray) -> np.ndarray:
    return np.append(np.cumsum(values[::-1])[::-1], 0)
