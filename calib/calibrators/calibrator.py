"""The base of all calibrators: arrays give arrays, and predictions give the same rows with new scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.data.kinds import Kind, kind_of, lacks
from calib.data.matrices import highest
from calib.data.notions import POOLED_NOTIONS, PerClass, Strategy
from calib.data.predictions import (
    BasePrediction,
    Scores,
    TopKPrediction,
    TopLabelPrediction,
    Values,
    check_same_classes,
    replace_scores,
    score_matrix,
    top_of,
)
from calib.data.validation import check_columns

#: Predictions of a kind.
Kinded = TypeVar("Kinded", bound=BasePrediction)


class Fittable(BaseEstimator):
    """An estimator whose `fit` names its own class if arguments are left out or unknown."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = _bound(vars(cls)["fit"])


def _bound(fit: Callable[..., Any]) -> Callable[..., Any]:
    of = signature(fit)

    @wraps(fit)
    def bound(self: Any, *args: Any, **named: Any) -> Any:
        try:
            of.bind(self, *args, **named)
        except TypeError as error:
            takes = ", ".join([*of.parameters][1:])
            raise InputError(f"{type(self).__name__}.fit: {error}; it takes {takes}") from None
        return fit(self, *args, **named)

    return bound


class Calibrator(Fittable):
    """Base class of all calibrators."""

    @overload
    def predict(self, scores: BasePrediction, /) -> BasePrediction: ...
    @overload
    def predict(self, scores: Values, /) -> np.ndarray: ...
    def predict(self, scores: Scores, /) -> np.ndarray | BasePrediction:
        """Calibrate predictions; arrays give the predicted class, or the probability of one event."""
        raise NotImplementedError

    def _strategy(self, whole: bool) -> Strategy:
        """Bins that assess the scores of whole rows, or of the predicted class, by the calibrator alone."""
        return "uniform"

    def strategy_for(self, rows: BasePrediction, *, whole: bool = True) -> Strategy:
        """Choose the bins in which the scores of this fitted calibrator are assessed.

        "discrete" if it predicts one value per bin along one curve for all classes; `PerClass` if each class
        has its own, with equal-width bins for classes that are not binned and for pooled classes (conf-ECE).
        "uniform" for all others, and for normalised and completed rows, as the paper does for N-HB. Stated
        scores keep few values: one bin per value, by class if the calibrator is.

        Parameters
        ----------
        rows : predictions of any kind
            Before calibration.
        whole : bool, default True
            Whether the scores are of whole rows, if it gives them, or of the predicted class alone.
        """
        strategy = self._strategy(whole)
        if strategy != "uniform" or rows.strategy == "uniform":
            return strategy
        return "discrete" if getattr(self, "notion", "confidence") in POOLED_NOTIONS else PerClass()

    def _checked(self, proba: Scores) -> np.ndarray:
        return checked_matrix(self, proba)

    def _given_back(self, given: Scores, scores: np.ndarray, label: np.ndarray | None = None) -> Any:
        """Return new scores in the form of what was given: arrays, or predictions with all that they carry.

        They are of the shape of the given scores, or belong to the class codes `label`, (n,) or (n, K).
        """
        after: BasePrediction
        if label is not None and label.ndim == 1:
            after = top_of(given, label, scores)
            if not isinstance(given, BasePrediction):
                return after
        elif not isinstance(given, BasePrediction):
            return scores if label is None else (label, scores)
        elif label is None:
            after = replace_scores(given, scores)
        else:
            after = TopKPrediction(label, scores, given.labels, given.class_names, **given.carried)
        return after.with_strategy(self.strategy_for(given, whole=label is None))


class VectorCalibrator(Calibrator):
    """A calibrator of whole vectors: it predicts the class with the largest calibrated probability.

    A subclass defines `_proba`, the calibrated probabilities of a checked matrix.
    """

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _top(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return highest(self._proba(matrix))

    @overload
    def predict_proba(self, proba: Kinded) -> Kinded: ...
    @overload
    def predict_proba(self, proba: Values) -> np.ndarray: ...
    def predict_proba(self, proba: Scores) -> np.ndarray | BasePrediction:
        """Calibrated class probabilities, (n, L) float64, of (n, L); of predictions, the same rows."""
        return self._given_back(proba, self._proba(self._checked(proba)))

    @overload
    def predict(self, proba: Kinded) -> Kinded: ...
    @overload
    def predict(self, proba: Values) -> np.ndarray: ...
    def predict(self, proba: Scores) -> np.ndarray | BasePrediction:
        """Class codes with the largest calibrated probability, (n,); of predictions, `predict_proba`."""
        if isinstance(proba, BasePrediction):
            check_calibrates(self, kind_of(proba))
            return self.predict_proba(proba)
        return self._top(self._checked(proba))[0]

    def predict_top(self, proba: Scores) -> TopLabelPrediction:
        """Return the predicted class and its calibrated probability, with all that came with the rows."""
        label, confidence = self._top(self._checked(proba))
        return self._given_back(proba, confidence, label)


def checked_matrix(calibrator: Any, proba: Scores) -> np.ndarray:
    if not hasattr(calibrator, "n_classes_"):  # `check_is_fitted` takes longer than one row does
        check_is_fitted(calibrator)
    check_same_classes(calibrator, proba)
    return check_columns(score_matrix(proba, "proba"), calibrator.n_classes_)


def check_calibrates(calibrator: Any, kind: Kind) -> None:
    """Refuse a calibrator of several classes, fitted or not, that needs more than this kind of rows has."""
    notion = getattr(calibrator, "notion", None)
    if notion is None:
        missing = lacks(kind, "calibrator:whole vector")
    elif kind.scored:
        missing = lacks(kind, "notion:top-label")
    else:
        missing = lacks(kind, f"notion:{notion}")
        whole = getattr(calibrator, "complete", None) is not None or getattr(calibrator, "normalize", False)
        if missing is None and whole:
            missing = lacks(kind, "calibrator:whole vector")
    if missing is not None:
        raise InputError(missing)
