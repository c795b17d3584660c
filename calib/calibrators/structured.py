"""Structured vector and matrix scaling: a temperature, then a map held by a ridge made for n and L."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base.parallel import map_row_blocks
from calib.calibrators.completed_rows import softmax
from calib.calibrators.likelihood import LEAST_RIDGE
from calib.calibrators.scaling import LogScaling, log_floored, log_loss_temperature
from calib.calibrators.softmax_fit import DiagonalMap, FullMap, softmax_fit


class StructuredScaling(LogScaling):
    """Temperature, smoothing, and the softmax of a map of x.

    1. T by log loss; q = softmax(log p / T).
    2. x = log((n q + 1 / L) / (n + 1)), with n calibration rows, keeps x finite.
    3. The map of x, near the identity, has the smallest mean log loss and penalty.
    """

    temperature_: float
    n_samples_: int
    weights_: np.ndarray
    biases_: np.ndarray
    loss_gap_: float
    gradient_norm_: float

    @property
    def _is_held(self) -> bool:
        return True

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        self.n_samples_ = len(codes)
        self.temperature_ = log_loss_temperature(matrix, codes, self.floor_, weights)
        x = map_row_blocks(lambda rows: self._smoothed(log_floored(rows, self.floor_)), matrix)
        kind, penalty = self._penalty(self.n_classes_)
        # The penalty is a sum of squares, the ridge half a sum of squares.
        ridge = np.maximum(2.0 * self.n_classes_ / self.n_samples_ * penalty, LEAST_RIDGE)
        fitted = softmax_fit(x, codes, kind, ridge, row_weights=weights, centred=False)
        self.weights_, self.biases_, self.loss_gap_, self.gradient_norm_ = fitted

    def _smoothed(self, log_p: Any) -> Any:
        q = softmax(log_p / self.temperature_)
        return np.log((self.n_samples_ * q + 1.0 / self.n_classes_) / (self.n_samples_ + 1.0))

    def _penalty(self, n_classes: int) -> tuple[DiagonalMap | FullMap, np.ndarray]:
        """Return the map, and the weights of its squared parameters in units of L / n."""
        raise NotImplementedError


class StructuredVectorScaling(StructuredScaling):
    """Structured vector scaling, SVS (Berta, Holzmüller, Jordan & Bach, AISTATS 2026, arXiv 2511.03685).

    The logits are ``weights_ * x + biases_``; x is the logarithm of the temperature-scaled probabilities,
    smoothed by one row of the uniform distribution. Unlike in `VectorScaling`, the order of the classes does
    not matter. The predicted class can change.

    Parameters
    ----------
    lambda_intercept, lambda_diagonal : float
        The mean log loss gets the penalty ``L / n * (lambda_intercept * sum(biases_**2) + lambda_diagonal *
        sum((weights_ - 1)**2))``, with the defaults of the authors' code (probmetrics). At least
        `LEAST_RIDGE`.

    Attributes
    ----------
    temperature_ : float
    n_samples_ : int
        Rows of the fit.
    weights_, biases_ : (L,) float64 arrays
    loss_gap_, gradient_norm_, floor_, n_classes_
        As for `DirichletScaling`.
    """

    parameters = 0, 2, 1

    def __init__(self, *, lambda_intercept: float = 1.0, lambda_diagonal: float = 1.0) -> None:
        self.lambda_intercept = lambda_intercept
        self.lambda_diagonal = lambda_diagonal

    def _penalty(self, n_classes: int) -> tuple[DiagonalMap | FullMap, np.ndarray]:
        return DiagonalMap(n_classes, n_classes), np.array([self.lambda_diagonal, self.lambda_intercept])

    def _logits(self, log_p: Any) -> Any:
        return self._smoothed(log_p) * self.weights_ + self.biases_


class StructuredMatrixScaling(StructuredScaling):
    """Structured matrix scaling, SMS (Berta, Holzmüller, Jordan & Bach, AISTATS 2026, arXiv 2511.03685).

    As `StructuredVectorScaling`, with the logits ``x @ weights_.T + biases_``. Weights off the diagonal are
    held L - 1 times as strongly as weights on it. The predicted class can change.

    Parameters
    ----------
    lambda_intercept, lambda_diagonal, lambda_off_diagonal : float
        The mean log loss gets the penalty ``L / n * (lambda_intercept * sum(biases_**2) + lambda_diagonal *
        sum((diagonal - 1)**2)) + L (L - 1) / n * lambda_off_diagonal * (sum of the squared weights off the
        diagonal)``, with the defaults of the authors' code. At least `LEAST_RIDGE`.

    Attributes
    ----------
    weights_ : (L, L) float64 array
        Row j holds the weights of the logit of class j.
    biases_ : (L,) float64 array
    temperature_, n_samples_, loss_gap_, gradient_norm_, floor_, n_classes_
        As for `StructuredVectorScaling`.
    """

    parameters = 1, 1, 1

    def __init__(
        self, *, lambda_intercept: float = 1.0, lambda_diagonal: float = 1.0, lambda_off_diagonal: float = 1.0
    ) -> None:
        self.lambda_intercept = lambda_intercept
        self.lambda_diagonal = lambda_diagonal
        self.lambda_off_diagonal = lambda_off_diagonal

    def _penalty(self, n_classes: int) -> tuple[DiagonalMap | FullMap, np.ndarray]:
        kind = FullMap(n_classes)
        penalty = np.full(kind.shape, (n_classes - 1.0) * self.lambda_off_diagonal)
        np.fill_diagonal(penalty, self.lambda_diagonal)
        penalty[:, -1] = self.lambda_intercept
        return kind, penalty

    def _logits(self, log_p: Any) -> Any:
        return self._smoothed(log_p) @ self.weights_.T + self.biases_
