"""Whole rows from calibrated scores: divided by their sums, or completed around the predicted class."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.data.matrices import highest
from calib.data.predictions import Scores, TopLabelPrediction, check_same_classes, score_matrix, top_of
from calib.data.validation import check_columns

#: Rows of smaller calibrated scores count as zeros: histogram binning separates bins of value 0 by less.
NOTHING = 1e-9

#: Least sum of the other classes that their shares are taken from.
LEAST_REST = 1e-300


class VectorCalibrator(BaseEstimator):
    """A calibrator with `predict_proba`: it predicts the class with the largest calibrated probability."""

    def predict(self, proba: Scores) -> np.ndarray:
        """Class codes with the largest calibrated probability, (n,) int64."""
        return self.predict_top(proba).label

    def predict_top(self, proba: Scores) -> TopLabelPrediction:
        """Return that class and its calibrated probability."""
        return top_of(proba, *highest(self.predict_proba(proba)))

    def _checked(self, proba: Scores) -> np.ndarray:
        check_is_fitted(self)
        check_same_classes(self, proba)
        return check_columns(score_matrix(proba, "proba"), self.n_classes_)


def normalised(scores: np.ndarray) -> np.ndarray:
    """Divide each row of (n, L) scores by its sum; rows of zeros become 1/L."""
    sums = _sums(scores)
    empty = sums <= NOTHING * scores.shape[1]
    if empty.any():
        scores = np.where(empty[:, None], scores.dtype.type(1.0), scores)
        sums[empty] = scores.shape[1]
    return scores / sums[:, None]


def completed(proba: np.ndarray, label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Give `label` its confidence; the others share the rest in proportion to `proba`, or evenly."""
    rows = np.arange(len(proba))
    rest = proba.astype(np.float64)
    rest[rows, label] = 0.0
    sums = _sums(rest)
    empty = sums < LEAST_REST
    rest[empty] = 1.0
    rest[rows[empty], label[empty]] = 0.0
    sums[empty] = proba.shape[1] - 1
    rest *= ((1.0 - confidence) / sums)[:, None]
    rest[rows, label] = confidence
    return rest


def _sums(rows: np.ndarray) -> np.ndarray:
    """Use einsum, because `sum` takes ten times as long for few columns."""
    return np.einsum("ij->i", rows, dtype=np.float64).astype(rows.dtype)
