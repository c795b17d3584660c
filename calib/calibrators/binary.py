"""Calibrators of one score: their base class, isotonic regression, Platt scaling and beta calibration."""

from __future__ import annotations

from typing import Self, overload

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.calibrators.calibrator import Calibrator
from calib.calibrators.curves import SCORE_CLIP, Curve, Lines, Logistic, clipped_logs
from calib.calibrators.likelihood import logistic_fit
from calib.data.notions import Strategy
from calib.data.predictions import (
    BasePrediction,
    BinaryPrediction,
    ConfidencePrediction,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    Values,
    check_same_classes,
    labelled,
    names_given,
)
from calib.data.validation import as_scores, check_binary
from calib.data.weights import RowWeights, row_weights
from calib.evidence.rows import Rows

#: Largest shift of the log-odds that an update in the large can find.
MOST_SHIFT = 100.0


class BinaryCalibrator(Calibrator):
    """Base class: `fit` learns a curve from score to probability, `predict` follows it.

    A subclass defines `_fit`, which sets the attributes that files hold, and `curve_`, from which exports are
    written. `_fit` gets the rows that count, with their weights.
    `is_binned` says whether it predicts one value for each bin of many rows.
    """

    is_binned = False

    @property
    def curve_(self) -> Curve:
        """The fitted curve: Steps, Lines, Logistic or Spline."""
        raise NotImplementedError

    def _strategy(self, whole: bool) -> Strategy:
        return "discrete" if self.is_binned else "uniform"

    def fit(
        self, scores: Scores, outcomes: Values | None = None, sample_weight: Values | None = None
    ) -> Self:
        """Fit to scores and outcomes of one event.

        Parameters
        ----------
        scores : (n,) array_like of float, or labelled predictions
            Scores in [0, 1]. Of predictions, P(Y = 1), or the confidence and whether it is right.
        outcomes : (n,) array_like of bool or 0/1, optional
            Whether the event happened; by default what the predictions know.
        sample_weight : (n,) array_like of float, optional
            Weights, 0 or more. Only their ratios matter; rows of weight 0 are left out.
        """
        self.__dict__.pop("class_names_", None)
        if isinstance(scores, BasePrediction) or outcomes is None:
            evidence = Rows(labelled(outcomes, scores, sample_weight))
            if "event" in evidence.predictions.has:
                self.class_names_ = names_given(evidence.predictions)
            _, scores, outcomes = evidence.claims()
            sample_weight = evidence.weights
        scores, outcomes = check_binary(scores, outcomes)
        weights = row_weights(sample_weight, len(scores))
        self._fit(scores[weights.counts], outcomes[weights.counts], weights)
        return self

    @overload
    def predict(self, scores: BasePrediction) -> BasePrediction: ...
    @overload
    def predict(self, scores: Values) -> np.ndarray: ...
    def predict(self, scores: Scores) -> np.ndarray | BasePrediction:
        """Calibrated probabilities, (n,) float64, of (n,) scores in [0, 1].

        Predictions of P(Y = 1), a confidence or a predicted class give the same rows with calibrated scores.
        """
        check_is_fitted(self)
        if not isinstance(scores, BasePrediction):
            return self.curve_(as_scores(scores, ndim=1, what="scores").astype(np.float64, copy=False))
        check_same_classes(self, scores)
        rows = scores.top if isinstance(scores, TopKPrediction) else scores
        if not isinstance(rows, (BinaryPrediction, ConfidencePrediction, TopLabelPrediction)):
            raise InputError(
                f"{type(self).__name__} calibrates one score per row; got a {type(rows).__name__}. Use "
                "MulticlassToBinary for several classes"
            )
        return self._given_back(rows, self.predict(getattr(rows, rows.scored_by)))

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        raise NotImplementedError


class IsotonicCalibration(BinaryCalibrator):
    """Isotonic regression of the outcome on the score (Zadrozny & Elkan, 2002).

    The non-decreasing function with the least squared error, linear between calibration scores and constant
    outside them. Equal scores are pooled first.

    Attributes
    ----------
    scores_ : (m,) float64 array
        Increasing scores at which the function bends.
    values_ : (m,) float64 array
        Its values there, in [0, 1].
    """

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        regression.fit(scores, outcomes, weights.each)
        self.scores_ = np.asarray(regression.X_thresholds_, dtype=np.float64)
        self.values_ = np.asarray(regression.y_thresholds_, dtype=np.float64)

    @property
    def curve_(self) -> Lines:
        return Lines(self.scores_, self.values_)


class PlattScaling(BinaryCalibrator):
    """Logistic regression of the outcome on the log-odds of the score (Platt, 1999).

    ``expit(slope_ * log(s / (1 - s)) + intercept_)``, with s clipped to [`SCORE_CLIP`, 1 - `SCORE_CLIP`].
    Targets are Platt's 1 / (n0 + 2) and (n1 + 1) / (n1 + 2), with n0 zeros and n1 ones (sums of weights that
    have mean 1), so that the optimum is finite.

    Parameters
    ----------
    fixed_slope : bool, default False
        Whether the slope is 1 and only the intercept is fitted: an update in the large, for few rows.

    Attributes
    ----------
    slope_ : float
        0.0 if all calibration scores are equal and the slope is not fixed.
    intercept_ : float
    """

    def __init__(self, *, fixed_slope: bool = False) -> None:
        self.fixed_slope = fixed_slope

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        happened = float(weights.each @ outcomes)
        targets = np.where(
            outcomes, (happened + 1.0) / (happened + 2.0), 1.0 / (len(outcomes) - happened + 2.0)
        )
        log_p, log_q = clipped_logs(scores)
        if self.fixed_slope:
            odds, events = log_p - log_q, float(weights.each @ targets)
            self.slope_ = 1.0
            self.intercept_ = float(
                brentq(lambda shift: weights.each @ expit(odds + shift) - events, -MOST_SHIFT, MOST_SHIFT)
            )
            return
        features = (log_p - log_q)[:, None] if _varies(scores) else np.empty((len(scores), 0))
        theta, _ = logistic_fit(features, targets, weights.each)
        self.slope_ = float(theta[0]) if len(theta) > 1 else 0.0
        self.intercept_ = float(theta[-1])

    @property
    def curve_(self) -> Logistic:
        return Logistic(self.slope_, self.slope_, self.intercept_)


class BetaCalibration(BinaryCalibrator):
    """Beta calibration with three parameters (Kull, Silva Filho & Flach, AISTATS 2017).

    ``expit(a_ * log(s) - b_ * log(1 - s) + c_)`` with a, b >= 0 and s clipped to [`SCORE_CLIP`,
    1 - `SCORE_CLIP`]. The identity is a = b = 1, c = 0.

    Attributes
    ----------
    a_, b_ : float
        Both 0.0 if all calibration scores are equal.
    c_ : float

    Notes
    -----
    As in the paper, a negative a or b is set to 0 and the others are fitted again; of two such fits, the fit
    with the smaller log loss is kept. `LEAST_RIDGE` keeps the parameters finite.
    """

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        log_p, log_q = clipped_logs(scores)
        features = np.column_stack([log_p, -log_q])
        targets = outcomes.astype(np.float64)
        best, best_loss = np.zeros(3), np.inf
        for columns in ([0, 1], [0], [1], []) if _varies(scores) else ([],):
            theta, loss = logistic_fit(features[:, columns], targets, weights.each)
            if (theta[:-1] >= 0.0).all() and loss < best_loss:
                best, best_loss = np.zeros(3), loss
                best[[*columns, 2]] = theta
                if len(columns) == 2:
                    break
        self.a_, self.b_, self.c_ = (float(value) for value in best)

    @property
    def curve_(self) -> Logistic:
        return Logistic(self.a_, self.b_, self.c_)


def _varies(scores: np.ndarray) -> bool:
    clipped = np.clip(scores, SCORE_CLIP, 1.0 - SCORE_CLIP)
    return bool(clipped.min() < clipped.max())
