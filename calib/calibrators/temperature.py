"""Temperature scaling, and what all scalings of the log-probabilities share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.binning import assign_bins, uniform_edges
from calib.exceptions import InputError
from calib.parallel import cached_slices, map_row_blocks, map_threads
from calib.predictions import TopLabelPrediction
from calib.validation import as_labels, as_scores

#: Lowest and highest `floor_`: the smallest normal float32, so that zeros mean the same in float32 and in
#: float64, and, divided by the number of classes, so that zeros never take more than this of a row.
LEAST_FLOOR, MOST_FLOOR = 2.0**-126, 1e-3

#: Temperatures are looked for between these when the objective is log loss.
TEMPERATURE_RANGE = (0.01, 100.0)


class LogScaling(BaseEstimator):
    """A calibrator that is the softmax of a map of the log-probabilities, given by `_logits`.

    The logarithm of 0 is taken as that of `floor_`, half the smallest positive probability seen in `fit`
    (within `LEAST_FLOOR` and `MOST_FLOOR` / L), as one replaces values below a detection limit. A softmax
    has no zeros and keeps all its values; the votes of a forest have many, and a fixed tiny number in
    their place would decide the fit.
    """

    n_classes_: int
    floor_: float

    def _logits(self, log_p: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _checked(self, proba: Any) -> np.ndarray:
        check_is_fitted(self)
        matrix = _matrix(proba)
        if matrix.shape[1] != self.n_classes_:
            raise InputError(
                f"proba has {matrix.shape[1]} columns, but this calibrator was fitted with "
                f"{self.n_classes_} classes; pass one column per class in the same order"
            )
        return matrix

    def predict_proba(self, proba: Any) -> np.ndarray:
        """Calibrated class probabilities, (n, L) float64, of (n, L) probabilities.

        Raises
        ------
        InputError
            If `proba` is not a matrix of probabilities with the number of columns seen in `fit`.
        """
        return map_row_blocks(
            lambda rows: softmax(self._logits(log_floored(rows, self.floor_)), axis=1), self._checked(proba)
        )

    def predict(self, proba: Any) -> np.ndarray:
        """Class codes with the largest calibrated probability, (n,) int64; ties to the lowest index."""
        return self.predict_top(proba).label

    def predict_top(self, proba: Any) -> TopLabelPrediction:
        """`predict` and the calibrated probability of that class."""
        calibrated = self.predict_proba(proba)
        label = calibrated.argmax(axis=1)
        return TopLabelPrediction(label, np.take_along_axis(calibrated, label[:, None], axis=1)[:, 0])


class TemperatureScaling(LogScaling):
    """Temperature scaling, softmax(log p / T) (Guo et al., ICML 2017).

    One number for all classes: the order of the probabilities in a row, hence the predicted class and the
    accuracy, never change.

    Parameters
    ----------
    objective : {"log_loss", "conf_ece"}
        What T minimises on the calibration rows. "log_loss" finds the one optimum in
        `TEMPERATURE_RANGE` (an end of it if the optimum lies beyond). "conf_ece" is the paper's choice
        (App. E, after Mukhoti et al. 2020): the first T among 0.1, 0.2, ..., 10.0 with the smallest
        confidence ECE in 15 equal-width bins.

    Attributes
    ----------
    temperature_ : float
        Above 1 softens the probabilities, below 1 sharpens them.
    floor_ : float
        Probability that lower ones are raised to, see `LogScaling`.
    n_classes_ : int
    """

    def __init__(self, *, objective: str = "log_loss") -> None:
        self.objective = objective

    @staticmethod
    def n_parameters(n_classes: int) -> int:
        """Return how many parameters a fit with `n_classes` classes has."""
        return 1

    def fit(self, proba: Any, y: Any) -> Self:
        """Fit to (n, L) probabilities and (n,) true class codes.

        Raises
        ------
        InputError
            If `proba` or `y` is invalid, or `objective` is not one of the two names.
        """
        searches = {"log_loss": _log_loss_temperature, "conf_ece": _conf_ece_temperature}
        if self.objective not in searches:
            raise InputError(f"objective must be 'log_loss' or 'conf_ece'; got {self.objective!r}")
        matrix, codes = as_problem(proba, y)
        self.n_classes_, self.floor_ = matrix.shape[1], floor_of(matrix)
        self.temperature_ = float(searches[self.objective](matrix, codes, self.floor_))
        return self

    def _logits(self, log_p: np.ndarray) -> np.ndarray:
        return log_p / self.temperature_

    def predict_top(self, proba: Any) -> TopLabelPrediction:
        """Predicted class, which is that of `proba` itself, and its calibrated probability."""
        matrix = self._checked(proba)
        label = map_row_blocks(lambda rows: rows.argmax(axis=1), matrix)

        def top(rows: np.ndarray) -> np.ndarray:
            return 1.0 / np.exp(_below_top(rows, self.floor_) / self.temperature_).sum(axis=1)

        return TopLabelPrediction(label, map_row_blocks(top, matrix))


def as_problem(proba: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n, L) probabilities and (n,) class codes to fit to, or raise `InputError`."""
    matrix = _matrix(proba)
    if matrix.shape[1] < 2:
        raise InputError(f"proba needs at least 2 columns, one per class; got {matrix.shape[1]}")
    return matrix, as_labels(y, *matrix.shape)


def _matrix(proba: Any) -> np.ndarray:
    return as_scores(getattr(proba, "proba", proba), ndim=2, what="proba")


def floor_of(proba: np.ndarray) -> float:
    """Return the `floor_` that (n, L) calibration probabilities give."""
    smallest = map_row_blocks(lambda rows: np.where(rows > 0, rows, 1).min(axis=1), proba).min()
    return float(np.clip(float(smallest) / 2.0, LEAST_FLOOR, MOST_FLOOR / proba.shape[1]))


def log_floored(proba: np.ndarray, floor: float) -> np.ndarray:
    """Logarithm of probabilities raised to `floor`, in float64."""
    return np.log(np.maximum(proba, floor, dtype=np.float64))


def _log_loss_temperature(proba: np.ndarray, codes: np.ndarray, floor: float) -> float:
    """Minimise the log loss, convex in b = 1 / T, by Newton steps that stay between known signs of slope."""
    logits = map_row_blocks(lambda rows: _below_top(rows, floor), proba)
    of_truth = float(np.take_along_axis(logits, codes[:, None], axis=1).sum())
    blocks = [logits[rows] for rows in cached_slices(*logits.shape)]

    def slope(b: float) -> tuple[float, float]:
        """First and second derivative in b of the summed log loss."""

        def moments(block: np.ndarray) -> tuple[float, float]:
            weight = np.exp(block * b)
            weight /= weight.sum(axis=1, keepdims=True)
            mean = np.einsum("ij,ij->i", weight, block)
            weight *= block
            return float(mean.sum()), float(np.einsum("ij,ij->", weight, block) - mean @ mean)

        first, second = np.sum(map_threads(moments, blocks), axis=0)
        return first - of_truth, second

    low, high = 1.0 / TEMPERATURE_RANGE[1], 1.0 / TEMPERATURE_RANGE[0]
    b, tested = 1.0, set()
    for _ in range(100):
        first, second = slope(b)
        tested.add(b)
        if first == 0.0:
            break
        low, high = (low, b) if first > 0.0 else (b, high)
        far = low if first > 0.0 else high
        target = min(max(b - first / second, low), high) if second > 0.0 else far
        last = b
        b = target
        if abs(b - last) <= 1e-7 * last:
            break
        if b in tested:
            b = float(np.sqrt(low * high))
    return 1.0 / b


def _conf_ece_temperature(proba: np.ndarray, codes: np.ndarray, floor: float) -> float:
    """Grid search of App. E; the first of equally good temperatures wins."""
    temperatures = np.arange(1, 101) / 10.0
    n_bins = 15
    edges = uniform_edges(n_bins)

    def gaps(rows: slice) -> np.ndarray:
        """Sum of confidence minus correctness per (temperature, bin)."""
        logits = _below_top(proba[rows], floor)
        correct = proba[rows].argmax(axis=1) == codes[rows]
        total = np.empty((len(temperatures), n_bins))
        for place, temperature in enumerate(temperatures):
            confidence = 1.0 / np.exp(logits / temperature).sum(axis=1)
            bins = assign_bins(confidence, edges)
            total[place] = np.bincount(bins, confidence - correct, minlength=n_bins)
        return total

    ece = np.abs(sum(map_threads(gaps, cached_slices(*proba.shape)))).sum(axis=1)
    return float(temperatures[ece.argmin()])


def _below_top(proba: np.ndarray, floor: float) -> np.ndarray:
    """Log-probabilities minus the highest of their row."""
    log_p = log_floored(proba, floor)
    return log_p - log_p.max(axis=1, keepdims=True)
