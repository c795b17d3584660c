"""Multiclass baselines that refit the logits: temperature, vector and Dirichlet scaling.

All three are softmaxes of an affine map of the log-probabilities, fitted by maximum likelihood. Their
output is continuous, so they are assessed with equal-width bins, and they carry no guarantee.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from calib.calibrators.likelihood import LEAST_RIDGE, diagonal_softmax_fit, full_softmax_fit
from calib.calibrators.temperature import LogScaling, TemperatureScaling, as_problem, floor_of, log_floored
from calib.exceptions import InputError, TooManyParametersWarning
from calib.parallel import map_row_blocks

__all__ = ["DirichletScaling", "TemperatureScaling", "TooManyParametersWarning", "VectorScaling"]


class VectorScaling(LogScaling):
    """Vector scaling: a weight and a bias for the log-odds of each class against the last.

    The logit of class j < L is ``weights_[j] * log(p_j / p_L) + biases_[j]``, that of class L is 0. This
    is the form of Kull et al. (NeurIPS 2019), whose code the paper used; it depends on which class is last.
    The predicted class can change.

    Parameters
    ----------
    l2 : float, unit: nats per row
        Weight of the ridge ``l2 / 2 * (sum((weights_ - 1)**2) + sum(shift**2))`` added to the mean log
        loss, where `shift` is how much the logits of the average calibration row (mean log-odds) change:
        it pulls towards leaving the model as it is. At least `LEAST_RIDGE` is always
        used, which keeps the optimum finite when classes are absent from `y` or can be separated.

    Attributes
    ----------
    weights_, biases_ : (L - 1,) float64 arrays
    floor_ : float
        Probability that lower ones are raised to, see `LogScaling`.
    n_classes_ : int
    """

    def __init__(self, *, l2: float = 0.0) -> None:
        self.l2 = l2

    @staticmethod
    def n_parameters(n_classes: int) -> int:
        """Return how many parameters a fit with `n_classes` classes has."""
        return 2 * (n_classes - 1)

    def fit(self, proba: Any, y: Any) -> Self:
        """Fit to (n, L) probabilities and (n,) true class codes.

        Raises
        ------
        InputError
            If `proba` or `y` is invalid, or `l2` is negative.

        Warns
        -----
        TooManyParametersWarning
            Before starting, if there are more parameters than rows.
        ConvergenceWarning
            If the optimiser stopped early (only above `NEWTON_LIMIT` parameters).
        """
        matrix, codes = as_problem(proba, y)
        ridge = _checked_ridge(self, *matrix.shape)
        self.n_classes_, self.floor_ = matrix.shape[1], floor_of(matrix)
        log_p = map_row_blocks(lambda rows: log_floored(rows, self.floor_), matrix)
        features = log_p[:, :-1] - log_p[:, -1:]
        self.weights_, self.biases_ = diagonal_softmax_fit(features, codes, ridge)
        return self

    def _logits(self, log_p: np.ndarray) -> np.ndarray:
        logits = np.zeros(log_p.shape)
        logits[:, :-1] = (log_p[:, :-1] - log_p[:, -1:]) * self.weights_ + self.biases_
        return logits


class DirichletScaling(LogScaling):
    """Dirichlet calibration: multinomial logistic regression on log p (Kull et al., NeurIPS 2019).

    The logits are ``log p @ weights_.T + biases_``. The predicted class can change.

    Parameters
    ----------
    l2 : float, unit: nats per row
        Weight of the ridge ``l2 / 2 * (sum((weights_ - I)**2) + sum(shift**2))`` added to the mean log
        loss, where `shift` is how much the logits of the average calibration row (mean log p) change: it
        pulls towards leaving the model as it is. At least `LEAST_RIDGE` is always
        used, which keeps the optimum finite when classes are absent from `y` or can be separated, and
        chooses one among the many parameters that give the same softmax.

    Attributes
    ----------
    weights_ : (L, L) float64 array
        Row j holds the weights of the logit of class j.
    biases_ : (L,) float64 array
    floor_ : float
        Probability that lower ones are raised to, see `LogScaling`.
    n_classes_ : int
    """

    def __init__(self, *, l2: float = 0.0) -> None:
        self.l2 = l2

    @staticmethod
    def n_parameters(n_classes: int) -> int:
        """Return how many parameters a fit with `n_classes` classes has."""
        return n_classes * (n_classes + 1)

    def fit(self, proba: Any, y: Any) -> Self:
        """Fit to (n, L) probabilities and (n,) true class codes.

        Raises
        ------
        InputError
            If `proba` or `y` is invalid, or `l2` is negative.

        Warns
        -----
        TooManyParametersWarning
            Before starting, if there are more parameters than rows.
        ConvergenceWarning
            If the optimiser stopped early (only above `NEWTON_LIMIT` parameters).
        """
        matrix, codes = as_problem(proba, y)
        ridge = _checked_ridge(self, *matrix.shape)
        self.n_classes_, self.floor_ = matrix.shape[1], floor_of(matrix)
        log_p = map_row_blocks(lambda rows: log_floored(rows, self.floor_), matrix)
        fitted = full_softmax_fit(log_p, codes, ridge)
        self.weights_, self.biases_ = fitted[:, :-1].copy(), fitted[:, -1].copy()
        return self

    def _logits(self, log_p: np.ndarray) -> np.ndarray:
        return log_p @ self.weights_.T + self.biases_


def _checked_ridge(model: Any, n_samples: int, n_classes: int) -> float:
    if not 0.0 <= model.l2 < np.inf:
        raise InputError(f"l2 must be a finite number, 0 or more; got {model.l2!r}")
    n_parameters = model.n_parameters(n_classes)
    if n_parameters > n_samples:
        warnings.warn(
            f"{type(model).__name__} has {n_parameters:,} parameters for {n_samples:,} rows of "
            f"{n_classes:,} classes: it will fit their noise, and may take long. Prefer "
            "TemperatureScaling, or set l2.",
            TooManyParametersWarning,
            stacklevel=3,
        )
    return max(float(model.l2), LEAST_RIDGE)
