"""A classifier and a calibrator as one scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable

from calib.calibrators.multiclass import MulticlassToBinary
from calib.exceptions import InputError
from calib.predictions import TopLabelPrediction
from calib.validation import check_share


def _calibrator_has(method: str) -> Any:
    def has(model: CalibratedModel) -> bool:
        calibrator = MulticlassToBinary() if model.calibrator is None else model.calibrator
        return hasattr(getattr(model, "calibrator_", calibrator), method)

    return available_if(has)


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities go through a calibrator.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Fitted by `fit` on some of the rows. Wrapped in `sklearn.frozen.FrozenEstimator` it stays as it is,
        and all rows go to the calibrator.
    calibrator : MulticlassToBinary, a scaling or CanonicalBinning, optional
        Fitted on the estimator's predictions for rows it has not seen. Default `MulticlassToBinary()`.
    calibration : float in (0, 1), default 0.25
        Share of each class's rows set aside for the calibrator, rounded down, so that every class leaves the
        estimator a row to learn from.
    random_state : int, RandomState or None
        Seed of the split.

    Attributes
    ----------
    estimator_, calibrator_
        The fitted pair. ``calib.save(model.calibrator_, file, class_names=model.classes_)`` stores the
        calibrator.
    classes_ : (L,) array
        Classes in the order of the columns.
    n_calibration_ : int
        Rows the calibrator was fitted on.

    Examples
    --------
    A fitted classifier, calibrated on rows it has not seen, in two lines:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = LogisticRegression(C=0.1).fit(X[::2], y[::2])
    >>> model = CalibratedModel(FrozenEstimator(classifier), MulticlassToBinary(min_points=1))
    >>> top = model.fit(X[1::2], y[1::2]).predict_top(X[:3])
    >>> top.label.tolist(), top.confidence.tolist()
    ([0, 0, 0], [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        estimator: Any,
        calibrator: Any = None,
        *,
        calibration: float = 0.25,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> CalibratedModel:
        """Fit the estimator on some of the rows and the calibrator on the rest.

        Parameters
        ----------
        X : (n, features) array_like or DataFrame
            Whatever the estimator takes.
        y : (n,) array_like
            Class labels.

        Raises
        ------
        InputError
            If the estimator has no predict_proba, no rows are left for the calibrator, or `y` has a class
            that a frozen estimator does not know.
        """
        if not hasattr(self.estimator, "predict_proba"):
            name = type(self.estimator).__name__
            raise InputError(f"the estimator needs predict_proba; {name} has none")
        X, y = indexable(X, y)
        check_classification_targets(y)
        labels = np.asarray(y)
        if isinstance(self.estimator, FrozenEstimator):
            held_out = np.arange(len(labels))
            self.estimator_ = self.estimator
        else:
            held_out, rest = self._divide(labels)
            self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, rest), labels[rest])
        self.classes_ = np.asarray(self.estimator_.classes_)
        codes = np.searchsorted(self.classes_, labels[held_out]).clip(0, len(self.classes_) - 1)
        unknown = self.classes_[codes] != labels[held_out]
        if unknown.any():
            raise InputError(
                f"y has the class {labels[held_out][unknown][0]!r}, which the estimator was not fitted on"
            )
        calibrator = MulticlassToBinary() if self.calibrator is None else clone(self.calibrator)
        proba = self.estimator_.predict_proba(_safe_indexing(X, held_out))
        self.calibrator_ = calibrator.fit(proba, codes)
        self.n_calibration_ = len(held_out)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels, (n,)."""
        return self.classes_[self.calibrator_.predict(self._proba(X))]

    @_calibrator_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of all classes, (n, L), where the calibrator gives them.

        Rows of class-wise calibrators sum to 1 only with ``normalize=True``.
        """
        return self.calibrator_.predict_proba(self._proba(X))

    @_calibrator_has("predict_top")
    def predict_top(self, X: Any) -> TopLabelPrediction:
        """Predicted class as a code (`classes_[label]` is its label) and calibrated confidence."""
        return self.calibrator_.predict_top(self._proba(X))

    @_calibrator_has("predict_top_k")
    def predict_top_k(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the K highest classes and their calibrated scores, both (n, K)."""
        return self.calibrator_.predict_top_k(self._proba(X))

    def _proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _divide(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for the calibrator and for the estimator, both ascending, stratified by class."""
        check_share(self.calibration, "calibration", 0.25)
        order = check_random_state(self.random_state).permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        _, starts, counts = np.unique(labels[order], return_index=True, return_counts=True)
        position = np.arange(len(labels)) - np.repeat(starts, counts)
        chosen = position < np.repeat(np.floor(counts * self.calibration + 1e-9), counts)
        if not chosen.any():
            raise InputError(
                f"{len(labels)} rows of {len(counts)} classes leave none for the calibrator with "
                f"calibration={self.calibration}; bring more rows or raise it"
            )
        return np.sort(order[chosen]), np.sort(order[~chosen])
