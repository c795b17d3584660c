"""Events that are observed against events that the scores P(Y = 1) expect: O/E, and in the large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from calib.base.exceptions import InputError
from calib.base.interval_words import with_interval
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.data.kinds import KINDS
from calib.data.predictions import BinaryPrediction, Scores, Values, score_matrix
from calib.data.validation import check_level
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.stats.binless import CalibrationSlope, calibration_slope
from calib.stats.bootstrap import Ends, Interval
from calib.stats.effective import rows_with_unseen
from calib.stats.intervals import binomial_limits, few_clusters_factor

#: With fewer rows with the event, or without it, the interval of O/E is no narrower than without scores:
#: residuals about one row can be tiny by chance.
FEW = 3


@dataclass(frozen=True, repr=False)
class EventCounts(Result):
    """How often Y = 1 is observed, and how often the scores expect it."""

    observed: float  #: Events, weighted if rows are
    expected: float  #: Sum of the scores
    #: Observed divided by expected, O/E: below 1, scores are too high; NaN if nothing is expected
    ratio: float
    #: Ends of its interval
    lower: float
    upper: float
    level: float  #: Coverage of the interval
    log_error: float  #: Standard error of log O/E; NaN without events

    @property
    def words(self) -> str:
        """The numbers as a sentence without its full stop."""
        ends = with_interval(self.ratio, self.lower, self.upper, least=2)
        observed = f"{self.observed:,.{int(self.observed % 1.0 != 0.0)}f}"
        return f"observed {observed}, expected {self.expected:,.1f}, O/E {ends}"


def observed_expected(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> EventCounts:
    """Compare the number of events with the number that the scores expect.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        Outcomes and P(Y = 1) of each row, as for `calib.ece`; or the vectors of two classes, of which the
        second one is the event.
    level : float in (0, 1)
        Coverage of the interval.

    Notes
    -----
    With R = O/E, the variance of the observed share is the sum of squares of y - R p (over clusters, if there
    are), which is the linearised variance of R. The interval is Clopper & Pearson's for the number of rows
    with this variance (Korn & Graubard 1998); without events, for all rows. With 1 or 2 rows with the event,
    or without it, the variance is at least p (1 - p) / n for the observed share p. With weights there are
    fewer rows if the weights of few events do not show how unequal the weights of others are.

    Examples
    --------
    >>> found = observed_expected([1, 0, 0, 1, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    >>> found.observed, found.expected, found.ratio
    (2.0, 4.0, 0.5)
    """
    evidence = event_evidence(as_evidence(y_true, scores, sample_weight, cluster))
    alpha = 1.0 - check_level(level)
    cells = evidence.cells(n_bins=1, strategy="uniform", effects=False)
    total = float(cells.weight.sum())
    share, expected = float(cells.mean_outcome[0]), float(cells.mean_score[0])
    voted = evidence.predictions.voted if type(evidence) is Rows else None
    n_rows = total if voted is None else float(len(np.unique(voted)))  # the votes about a row are one row
    observed = round(share * n_rows, 9)  # 911 events, not 911.0000000000001
    if expected <= 0.0:
        return EventCounts(observed, 0.0, np.nan, np.nan, np.nan, level, np.nan)
    log_error = np.nan
    rows = evidence.effective_samples if evidence.n_clusters is None else float(evidence.n_clusters)
    if isinstance(evidence, Rows) and 0.0 < share < 1.0:
        problems, ratio = evidence.problems(), share / expected
        clusters, spread = evidence.clusters.take(problems.rows), share * (1.0 - share)
        variance, alone = (
            max(clusters.spread(problems.weights * (problems.outcomes - mean)) / total**2, 1e-300)
            for mean in (ratio * problems.scores, share)
        )
        rarer, most, by_weight = min(share, 1.0 - share), rows, evidence.effective_samples
        rows, log_error = spread / variance, np.sqrt(variance) / share
        if evidence.is_weighted and alone < np.inf:
            rows *= float(rows_with_unseen(spread / alone, rarer, by_weight, alpha)) * alone / spread
        if rarer * n_rows < FEW:
            rows, log_error = min(rows, most), max(log_error, np.sqrt(spread / most) / share)
    rows = min(rows * few_clusters_factor(evidence.even_clusters, alpha), 1e15)
    low, high = binomial_limits(np.array([share * rows]), np.array([rows]), alpha)
    ends = float(low[0]) / expected, float(high[0]) / expected
    return EventCounts(observed, expected * n_rows, share / expected, *ends, level, log_error)


def calibration_in_the_large(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> Interval:
    """Estimate the intercept of the logistic recalibration with the slope held at 1: 0 if calibrated.

    Parameters as for `observed_expected`; `calib.calibration_slope` has the same number beside the slope.

    >>> round(calibration_in_the_large([1, 0, 0, 1], [0.75, 0.75, 0.75, 0.75]).estimate, 4)  # -log 3
    -1.0986
    """
    line = calibration_slope(event_evidence(as_evidence(y_true, scores, sample_weight, cluster)), level=level)
    ends = line.in_the_large, line.in_the_large_lower, line.in_the_large_upper
    return Interval("in the large", *ends, level)


def line_numbers(line: CalibrationSlope) -> tuple[Ends, Ends]:
    """Return in the large and slope, each with its interval; NaN if rows do not determine them."""
    if not line.determined:
        return (np.nan,) * 3, (np.nan,) * 3
    large = line.in_the_large, line.in_the_large_lower, line.in_the_large_upper
    return large, (line.slope, line.slope_lower, line.slope_upper)


@overload
def event_evidence(evidence: Rows) -> Rows: ...
@overload
def event_evidence(evidence: Evidence) -> Evidence: ...
def event_evidence(evidence: Evidence) -> Evidence:
    """Return the evidence of one event: the rows' own score, or the score of the second of two classes."""
    kind = KINDS[evidence.kind]
    if kind.scored:
        return evidence
    if type(evidence) is Rows and kind.name == "vectors" and len(evidence.true) == 2:
        rows = evidence.predictions
        names, score = rows.class_names or ("0", "1"), np.ascontiguousarray(score_matrix(rows)[:, 1])
        carried = {**rows.carried, "strategy": "uniform"}
        event = BinaryPrediction._of(score=score, labels=evidence.labels, class_names=names, **carried)
        return evidence.of_scores(event)
    raise InputError(
        f"this is about P(Y = 1), one score and an outcome of 0 or 1 for each row; these predictions are "
        f"{kind.title}: pass the score of one class, and whether that class is true"
    )
