"""Continuous binary calibrators: isotonic regression, Platt scaling and beta calibration.

Each maps a score in [0, 1] to a calibrated probability of the outcome 1. They differ from
`calib.HistogramBinning` in that their output takes (nearly) as many values as their input, so their
calibration error cannot be estimated without binning and carries no distribution-free guarantee.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.likelihood import logistic_fit
from calib.validation import as_scores, check_binary

#: Scores are taken this far inside (0, 1) before their log-odds: half the gap between 1 and the float32
#: number below it, so that a saturated score means the same in float32 and in float64.
SCORE_CLIP = 2.0**-24


class IsotonicCalibration(BaseEstimator):
    """Isotonic regression of the outcome on the score (Zadrozny & Elkan, 2002).

    The non-decreasing function with the least squared error on the calibration rows, linear between
    their scores and constant outside their range. Equal scores are pooled first.

    Attributes
    ----------
    scores_ : (m,) float64 array
        Increasing scores where the function bends.
    values_ : (m,) float64 array
        Its values there, non-decreasing, in [0, 1].
    """

    def fit(self, scores: Any, outcomes: Any) -> Self:
        """Fit to (n,) scores in [0, 1] and (n,) outcomes 0/1.

        Raises
        ------
        InputError
            If a score is not in [0, 1], an outcome is not 0 or 1, or the lengths differ.
        """
        score, outcome = check_binary(scores, outcomes)
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(score, outcome)
        self.scores_ = np.asarray(regression.X_thresholds_, dtype=np.float64)
        self.values_ = np.asarray(regression.y_thresholds_, dtype=np.float64)
        return self

    def predict(self, scores: Any) -> np.ndarray:
        """Calibrated probabilities, (n,) float64 in [0, 1], of (n,) scores."""
        check_is_fitted(self)
        score = as_scores(scores, ndim=1, what="scores").astype(np.float64)
        return np.clip(np.interp(score, self.scores_, self.values_), 0.0, 1.0)


class PlattScaling(BaseEstimator):
    """Logistic regression of the outcome on the log-odds of the score (Platt, 1999).

    The probability is ``expit(slope * log(s / (1 - s)) + intercept)``. Instead of 0 and 1 it is fitted to
    Platt's prior-corrected targets, 1 / (n0 + 2) and (n1 + 1) / (n1 + 2) with n0 zeros and n1 ones among
    the outcomes, so that the optimum is finite for any outcomes.

    Attributes
    ----------
    slope_ : float
        0.0 if all calibration scores are equal: the fitted map is then constant.
    intercept_ : float

    Notes
    -----
    Scores are clipped to [`SCORE_CLIP`, 1 - `SCORE_CLIP`] before the log-odds.
    """

    def fit(self, scores: Any, outcomes: Any) -> Self:
        """Fit to (n,) scores in [0, 1] and (n,) outcomes 0/1.

        Raises
        ------
        InputError
            If a score is not in [0, 1], an outcome is not 0 or 1, or the lengths differ.
        """
        score, outcome = check_binary(scores, outcomes)
        ones = int(outcome.sum())
        targets = np.where(outcome, (ones + 1.0) / (ones + 2.0), 1.0 / (len(outcome) - ones + 2.0))
        log_p, log_q = _clipped_logs(score)
        features = (log_p - log_q)[:, None] if _varies(score) else np.empty((len(score), 0))
        theta, _ = logistic_fit(features, targets)
        self.slope_ = float(theta[0]) if len(theta) > 1 else 0.0
        self.intercept_ = float(theta[-1])
        return self

    def predict(self, scores: Any) -> np.ndarray:
        """Calibrated probabilities, (n,) float64 in [0, 1], of (n,) scores."""
        check_is_fitted(self)
        log_p, log_q = _clipped_logs(as_scores(scores, ndim=1, what="scores"))
        return expit(self.slope_ * (log_p - log_q) + self.intercept_)


class BetaCalibration(BaseEstimator):
    """Beta calibration with three parameters (Kull, Silva Filho & Flach, AISTATS 2017).

    The probability is ``expit(a * log(s) - b * log(1 - s) + c)`` with a, b >= 0, which makes it
    non-decreasing in s. The identity is a = b = 1, c = 0.

    Attributes
    ----------
    a_, b_ : float
        Non-negative; both 0.0 if all calibration scores are equal: the fitted map is then constant.
    c_ : float

    Notes
    -----
    As in the paper, a negative a or b is fixed at 0 and the others are fitted again. Where that
    leaves two choices the one with the smaller log loss is taken, so the result is the constrained
    optimum. Scores are clipped to [`SCORE_CLIP`, 1 - `SCORE_CLIP`]. Where the likelihood has no maximum
    (outcomes all alike, or separated by the score) `LEAST_RIDGE` keeps a, b and c finite.
    """

    def fit(self, scores: Any, outcomes: Any) -> Self:
        """Fit to (n,) scores in [0, 1] and (n,) outcomes 0/1.

        Raises
        ------
        InputError
            If a score is not in [0, 1], an outcome is not 0 or 1, or the lengths differ.
        """
        score, outcome = check_binary(scores, outcomes)
        log_p, log_q = _clipped_logs(score)
        features = np.column_stack([log_p, -log_q])
        targets = outcome.astype(np.float64)
        best, best_loss = np.zeros(3), np.inf
        for columns in ([0, 1], [0], [1], []) if _varies(score) else ([],):
            theta, loss = logistic_fit(features[:, columns], targets)
            if (theta[:-1] >= 0.0).all() and loss < best_loss:
                best, best_loss = np.zeros(3), loss
                best[[*columns, 2]] = theta
                if len(columns) == 2:
                    break
        self.a_, self.b_, self.c_ = (float(value) for value in best)
        return self

    def predict(self, scores: Any) -> np.ndarray:
        """Calibrated probabilities, (n,) float64 in [0, 1], of (n,) scores."""
        check_is_fitted(self)
        log_p, log_q = _clipped_logs(as_scores(scores, ndim=1, what="scores"))
        return expit(self.a_ * log_p - self.b_ * log_q + self.c_)


def _clipped_logs(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    clipped = np.clip(score.astype(np.float64), SCORE_CLIP, 1.0 - SCORE_CLIP)
    return np.log(clipped), np.log1p(-clipped)


def _varies(score: np.ndarray) -> bool:
    clipped = np.clip(score, SCORE_CLIP, 1.0 - SCORE_CLIP)
    return bool(clipped.min() < clipped.max())
