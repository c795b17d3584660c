"""Calibrators of other packages, so that they take part in comparisons."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from calib.base.exceptions import InputError
from calib.calibrators.calibrator import VectorCalibrator
from calib.data.matrices import check_sums
from calib.data.predictions import Scores, Values, labelled, names_given, score_matrix
from calib.data.validation import as_class_scores, plain

#: Methods that give probabilities, in the order in which they are looked for.
METHODS = ("predict_proba", "transform")


def is_foreign(calibrator: BaseEstimator) -> bool:
    """Whether an object gives probabilities and is no calibrator of calib."""
    ours = any(kind.__module__.partition(".")[0] == "calib" for kind in type(calibrator).__mro__)
    own = ours or any(hasattr(calibrator, method) for method in ("predict_top", "predict_top_k"))
    return not own and any(hasattr(calibrator, method) for method in METHODS)


class ForeignCalibrator(VectorCalibrator):
    """A calibrator of another package, as a calibrator of whole vectors.

    Each fit copies it, gives it float64 probabilities and int64 class codes, and checks what it returns.
    Calibrator files cannot hold it.

    Parameters
    ----------
    calibrator : object with fit(proba, y) and predict_proba(proba) or transform(proba)
        For example of probmetrics or netcal. For two classes it may return P(Y = 1) alone.
    name : str, optional
        Its name in tables. Default: its type's.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    >>> outside = ForeignCalibrator(LogisticRegression(), name="logistic").fit(proba, [0, 1, 1, 0])
    >>> outside.predict_proba(proba).shape
    (4, 2)
    """

    def __init__(self, calibrator: BaseEstimator, *, name: str | None = None) -> None:
        self.calibrator = calibrator
        self.name = name

    @property
    def title(self) -> str:
        """Its name in tables."""
        return type(self.calibrator).__name__ if self.name is None else self.name

    def fit(
        self, proba: Scores, y: Values | None = None, sample_weight: Values | None = None
    ) -> ForeignCalibrator:
        """Fit a copy to (n, L) probabilities and (n,) true class codes, or to labelled predictions.

        Raises
        ------
        InputError
            If it lacks a method, fails, or rows have weights.
        """
        if not hasattr(self.calibrator, "fit") or not any(hasattr(self.calibrator, name) for name in METHODS):
            raise InputError(f"{self.title} needs fit, and predict_proba or transform")
        self.class_names_ = names_given(proba)
        rows = labelled(y, proba, sample_weight, what="proba")
        if rows.sample_weight is not None:
            raise InputError(f"{self.title} is given no weights; count every row once, or choose another")
        matrix, codes = score_matrix(rows, "proba"), rows.truth
        self.n_classes_ = matrix.shape[1]
        fitted = copy.deepcopy(self.calibrator)
        self._asked("fit", fitted.fit, np.array(matrix, dtype=np.float64), codes.astype(np.int64))
        self.calibrator_ = fitted
        return self

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        method = next(name for name in METHODS if hasattr(self.calibrator_, name))
        given = np.array(matrix, dtype=np.float64)
        found = np.asarray(plain(self._asked(method, getattr(self.calibrator_, method), given)))
        if found.ndim == 2 and found.shape[1] == 1 and self.n_classes_ == 2:
            found = found[:, 0]
        if found.ndim == 1 and self.n_classes_ == 2:
            found = np.column_stack([1.0 - found, found])
        if found.shape != matrix.shape:
            raise InputError(f"{self.title} gave shape {found.shape} for rows of shape {matrix.shape}")
        what = f"what {self.title} gave"
        checked = as_class_scores(found, what).astype(np.float64)
        return checked / check_sums(checked, what, "It cannot be compared.")[:, None]

    def _asked(self, what: str, method: Any, *inputs: np.ndarray) -> Any:
        """Call a method of another package, which may raise any error."""
        try:
            return method(*inputs)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.title}.{what} failed: {type(error).__name__}: {error}") from error
