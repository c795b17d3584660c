"""Ensemble temperature scaling: the temperature-scaled, the given and the uniform probabilities, mixed."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from calib.base.parallel import map_row_blocks, map_threads, row_blocks
from calib.calibrators.scaling import LogScaling, log_floored, log_loss_temperature, searched_temperature
from calib.data.matrices import softmax
from calib.data.validation import check_choice


class EnsembleTemperatureScaling(LogScaling):
    """Ensemble temperature scaling, ETS (Zhang, Kailkhura & Han, ICML 2020).

    ``w[0] * softmax(log p / T) + w[1] * p + w[2] / L`` with weights of at least 0 that sum to 1. The
    predicted class never changes.

    Parameters
    ----------
    objective : {"log_loss", "brier"}
        The loss on the calibration rows that T minimises, and then, with this T, the weights.

    Attributes
    ----------
    temperature_ : float
    mixture_ : (3,) float64 array
        Weights of the temperature-scaled, the given and the uniform probabilities.
    """

    parameters = 0, 0, 3

    def __init__(self, *, objective: str = "log_loss") -> None:
        self.objective = objective

    def _check_params(self) -> None:
        check_choice(self.objective, ("log_loss", "brier"), "objective")

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        by_log_loss = self.objective == "log_loss"
        search = log_loss_temperature if by_log_loss else _brier_temperature
        self.temperature_ = search(matrix, codes, self.floor_, weights)
        n_samples, n_classes = matrix.shape
        truth = np.empty((n_samples, 3))

        def sum_rows(rows: slice) -> np.ndarray:
            log_p = log_floored(matrix[rows], self.floor_)
            parts = softmax(log_p / self.temperature_), softmax(log_p), np.full(log_p.shape, 1.0 / n_classes)
            components = np.stack(parts, axis=2)
            truth[rows] = np.take_along_axis(components, codes[rows, None, None], axis=1)[:, 0]
            flat = components.reshape(-1, 3)
            return (components * weights[rows, None, None]).reshape(-1, 3).T @ flat

        products = np.asarray(sum(map_threads(sum_rows, row_blocks(n_samples, 3 * n_classes))))
        if by_log_loss:
            self.mixture_ = _likeliest_mixture(truth, weights)
        else:
            mean = (truth.T * weights).mean(axis=1)
            self.mixture_ = _nearest_mixture(products / n_samples, mean)

    def probabilities(self, log_p: Any) -> Any:
        """Mixture of the temperature-scaled, given and uniform probabilities, (n, L)."""
        scaled, original = softmax(log_p / self.temperature_), softmax(log_p)
        first, second, uniform = self.mixture_
        return np.minimum(first * scaled + second * original + uniform / self.n_classes_, 1.0)

    def _top(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        label = map_row_blocks(lambda rows: rows.argmax(axis=1), matrix)  # as before, whatever is rounded
        return label, np.take_along_axis(self._proba(matrix), label[:, None], axis=1)[:, 0]


def _brier_temperature(proba: np.ndarray, codes: np.ndarray, floor: float, weights: np.ndarray) -> float:
    slices = row_blocks(*proba.shape)

    def brier(log_t: float) -> np.ndarray:
        def sum_rows(rows: slice) -> np.ndarray:
            z = log_floored(proba[rows], floor) / np.exp(log_t)
            q = softmax(z)
            falls = q * (z - (q * z).sum(axis=1, keepdims=True))
            truth, each = codes[rows, None], weights[rows, None]
            score = (q**2 * each).sum() - 2.0 * (np.take_along_axis(q, truth, axis=1) * each).sum()
            falls *= each
            slope = 2.0 * (np.take_along_axis(falls, truth, axis=1).sum() - (q * falls).sum())
            return np.array([score, slope])

        return np.asarray(sum(map_threads(sum_rows, slices))) / len(codes)

    return searched_temperature(brier, 41)


def _nearest_mixture(products: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Minimise w' products w - 2 w' truth over the simplex: the best stationary point of all its faces."""
    best, least = np.full(3, 1.0 / 3.0), np.inf
    faces = [list(face) for size in (1, 2, 3) for face in combinations(range(3), size)]
    for face in faces:
        size = len(face)
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = products[np.ix_(face, face)]
        system[:size, size] = system[size, :size] = 1.0
        weights = np.zeros(3)
        weights[face] = np.linalg.lstsq(system, np.append(truth[face], 1.0), rcond=None)[0][:size]
        value = float(weights @ products @ weights - 2.0 * weights @ truth)
        if (weights >= -1e-12).all() and value < least:
            best, least = np.maximum(weights, 0.0), value
    return best / best.sum()


def _likeliest_mixture(truth: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """Maximise mean(log(truth @ w)) over the simplex, which is concave, by Newton steps within it."""
    weights = np.full(3, 1.0 / 3.0)

    def mean(values: np.ndarray) -> Any:
        return (values.T * row_weights).mean(axis=-1)

    for _ in range(100):
        ratio = truth / (truth @ weights)[:, None]
        slope = mean(ratio)
        step = _nearest_mixture((ratio.T * row_weights) @ ratio / len(ratio), 2.0 * slope) - weights
        rise, value, rate = float(slope @ step), mean(np.log(truth @ weights)), 1.0
        if rise < 1e-15:
            break
        while mean(np.log(truth @ (weights + rate * step))) < value + 1e-4 * rate * rise and rate > 1e-9:
            rate /= 2.0
        weights = weights + rate * step
    return weights
