"""Calibrators that refit the logits of all classes: temperature, vector, Dirichlet and structured scaling.

They are softmaxes of an affine map of the log-probabilities, fitted by maximum likelihood, without guarantee.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_softmax

from calib.base.exceptions import InputError, LongFitWarning, TooManyParametersWarning
from calib.base.parallel import map_row_blocks, map_threads, row_blocks
from calib.calibrators.calibrator import VectorCalibrator
from calib.calibrators.effort import effort_words
from calib.calibrators.likelihood import LEAST_RIDGE
from calib.calibrators.softmax_fit import (
    CROSS_VALIDATED,
    DiagonalMap,
    FullMap,
    Map,
    SoftmaxFit,
    best_strength,
    folds,
    search_strength,
    softmax_fit,
)
from calib.data.kinds import lacks
from calib.data.matrices import row_max, softmax
from calib.data.predictions import Scores, Values, labelled, names_given, score_matrix
from calib.data.validation import check_choice, check_not_negative
from calib.data.weights import row_weights
from calib.evidence.binning import assign_bins, uniform_edges

#: Lowest `floor_`, the smallest normal float32, and highest, divided by the number of classes.
LEAST_FLOOR, MOST_FLOOR = 2.0**-126, 1e-3
#: Relative steps in 1 / T that end the search in double and single precision; the error is about their cube.
FINE, COARSE = 1e-5, 2e-2

Precision = type[np.float64] | type[np.float32]
#: First, second and third derivative.
Slopes = tuple[float, float, float]
#: Range of temperatures for log loss.
TEMPERATURE_RANGE = (0.01, 100.0)
#: Probabilities above which diagonal maps are fitted in float32: the loss is the same to about 1e-9 nats.
SINGLE_PRECISION = 5_000_000


class LogScaling(VectorCalibrator):
    """The softmax of a map of the log-probabilities, given by `_logits`."""

    #: Number of parameters for L classes, as coefficients of L**2, L and 1.
    parameters: ClassVar[tuple[int, int, int]]

    @classmethod
    def n_parameters(cls, n_classes: int) -> int:
        """Return the number of parameters of a fit with `n_classes` classes."""
        return int(np.polyval(cls.parameters, n_classes))

    def fit(self, proba: Scores, y: Values | None = None, sample_weight: Values | None = None) -> Self:
        """Fit to (n, L) probabilities, (n,) class codes and optional (n,) weights, or labelled predictions.

        Weights are 0 or more, and only their ratios matter; rows of weight 0 are left out.

        Warns
        -----
        TooManyParametersWarning
            Before a fit of more parameters than rows.
        LongFitWarning
            Before a fit of more than a minute, with an estimate and advice.
        ConvergenceWarning
            If the optimiser stopped early, and how far from the optimum.
        """
        self._check_params()
        names = names_given(proba)
        rows = labelled(y, proba, sample_weight, what="proba")
        if rows.kind == "multilabel":
            raise InputError(str(lacks(rows.kind, "notion:top-label")))
        counts, weights, _ = row_weights(rows.sample_weight, rows.n_samples)
        matrix, codes = score_matrix(rows, "proba")[counts], rows.truth[counts]
        n_samples, n_classes = matrix.shape
        for message, category in (
            (self.overfit_words(n_samples, n_classes), TooManyParametersWarning),
            (effort_words(self, n_samples, n_classes), LongFitWarning),
        ):
            if message:
                warnings.warn(message, category, stacklevel=3)
        least = min(map_threads(lambda rows: least_positive(matrix[rows]), row_blocks(*matrix.shape)))
        self.class_names_ = names
        self.n_classes_, self.floor_ = n_classes, floor_of(least, n_classes)
        self._fit(matrix, codes, weights)
        return self

    def overfit_words(self, n_samples: int, n_classes: int) -> str:
        """Warn of a fit with more parameters than rows, else return ""."""
        if self.n_parameters(n_classes) <= n_samples or self._is_held:
            return ""
        return (
            f"{type(self).__name__} has {self.n_parameters(n_classes):,} parameters for {n_samples:,} "
            f"rows of {n_classes:,} classes: it will fit their noise, and may take long. Prefer "
            'TemperatureScaling, or let cross-validation choose a ridge: l2="cv".'
        )

    def _proba(self, matrix: np.ndarray) -> np.ndarray:
        return map_row_blocks(lambda rows: self.probabilities(log_floored(rows, self.floor_)), matrix)

    @property
    def _is_held(self) -> bool:
        """Whether a ridge made for the number of rows keeps many parameters from fitting noise."""
        return False

    def _check_params(self) -> None:
        for name, strength in self.get_params().items():
            check_not_negative(strength, name)

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        raise NotImplementedError

    def probabilities(self, log_p: Any) -> Any:
        """Calibrated probabilities, (n, L), of log-probabilities or of values of `calib.export`."""
        return softmax(self._logits(log_p))

    def _logits(self, log_p: Any) -> Any:
        raise NotImplementedError


class TemperatureScaling(LogScaling):
    """Temperature scaling, softmax(log p / T) (Guo et al., ICML 2017).

    The predicted class and the accuracy never change.

    Parameters
    ----------
    objective : {"log_loss", "conf_ece", "top_versus_all"}
        The loss on the calibration rows that T minimises, within `TEMPERATURE_RANGE`. "conf_ece" is the
        paper's choice (App. E, after Mukhoti et al. 2020): the first T among 0.1, 0.2, ..., 10.0 with the
        smallest confidence ECE in 15 equal-width bins. "top_versus_all" is the log loss of the event that the
        predicted class is right (Le Coz, Herbin & Adjed, NeurIPS 2024).

    Attributes
    ----------
    temperature_ : float
        Above 1 softens the probabilities, below 1 sharpens them.
    floor_ : float
        Lower probabilities are raised to this: half the smallest positive one of `fit`.
    n_classes_ : int
    """

    parameters = 0, 0, 1

    def __init__(self, *, objective: str = "log_loss") -> None:
        self.objective = objective

    def _check_params(self) -> None:
        check_choice(self.objective, tuple(_SEARCHES), "objective")

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        search = _SEARCHES[self.objective]
        self.temperature_ = float(search(matrix, codes, self.floor_, weights))

    def _logits(self, log_p: Any) -> Any:
        return log_p / self.temperature_

    def _top(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        label = map_row_blocks(lambda rows: rows.argmax(axis=1), matrix)  # as before, whatever is rounded

        def top(rows: np.ndarray) -> np.ndarray:
            return 1.0 / np.exp(_below_top(rows, self.floor_) / self.temperature_).sum(axis=1)

        return label, map_row_blocks(top, matrix)


class AffineScaling(LogScaling):
    """A softmax with weights and biases, by maximum likelihood with a ridge, which may be "cv"."""

    ridge_: float | None = None

    def __init__(self, *, l2: float | str = 0.0) -> None:
        self.l2 = l2

    @property
    def _ridges(self) -> dict[str, float | str]:
        return {"l2": self.l2}

    @property
    def _is_held(self) -> bool:
        return CROSS_VALIDATED in self._ridges.values()

    def _check_params(self) -> None:
        for name, strength in self._ridges.items():
            if strength != CROSS_VALIDATED:
                check_not_negative(strength, name, f', or "{CROSS_VALIDATED}"')

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        features, requested = self._features(matrix), self._ridges
        chosen = [name for name, strength in requested.items() if strength == CROSS_VALIDATED]
        for name in ("ridge_", "search_"):
            self.__dict__.pop(name, None)

        def fit_rows(
            rows: Any, strength: float, begin: SoftmaxFit | None = None, gap: float | None = None
        ) -> SoftmaxFit:
            used = requested | dict.fromkeys(chosen, strength)
            ridges = {name: max(float(value), LEAST_RIDGE) for name, value in used.items()}
            kind, ridge, centred = self._held(ridges)
            some = features[rows], codes[rows], weights[rows]
            return softmax_fit(*some, kind, ridge, centred=centred, begin=begin, gap=gap)

        def losses(fitted: SoftmaxFit, rows: np.ndarray) -> np.ndarray:
            log_q = log_softmax(self._map_logits(features[rows], fitted.weights, fitted.biases), axis=1)
            return -np.take_along_axis(log_q, codes[rows, None], axis=1)[:, 0]

        if chosen:
            self.search_ = search_strength(folds(matrix, codes), fit_rows, losses, weights)
            self.ridge_ = best_strength(self.search_)
        fitted = fit_rows(slice(None), self.ridge_ or 0.0)
        self.weights_, self.biases_, self.loss_gap_, self.gradient_norm_ = fitted

    def _features(self, matrix: np.ndarray) -> np.ndarray:
        return map_row_blocks(lambda rows: log_floored(rows, self.floor_), matrix)

    def _held(self, ridges: dict[str, float]) -> tuple[Map, float | np.ndarray, bool]:
        """Return the map, its ridge, and whether biases are penalised at the mean feature."""
        raise NotImplementedError

    def _map_logits(self, features: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        return affine(features, weights, biases)

    def _logits(self, log_p: Any) -> Any:
        return affine(log_p, self.weights_, self.biases_)


class VectorScaling(AffineScaling):
    """Vector scaling: a weight and a bias for the log-odds of each class against the last.

    The logit of class j < L is ``weights_[j] * log(p_j / p_L) + biases_[j]``, and 0 for class L: the form of
    Kull et al. (NeurIPS 2019), whose code the paper used. It depends on which class is last;
    `StructuredVectorScaling` does not. The predicted class can change.

    Parameters
    ----------
    l2 : float or "cv", unit: nats per row
        Weight of the ridge ``l2 / 2 * (sum((weights_ - 1)**2) + sum(shift**2))`` added to the mean log loss;
        `shift` is the change of the average row's logits. At least `LEAST_RIDGE`. "cv" chooses it by
        cross-validation on the calibration rows.

    Attributes
    ----------
    weights_, biases_ : (L - 1,) float64 arrays
    ridge_, search_, loss_gap_, gradient_norm_, floor_, n_classes_
        As for `DirichletScaling`.
    """

    parameters = 0, 2, -2

    def _features(self, matrix: np.ndarray) -> np.ndarray:
        kind = np.float32 if matrix.size > SINGLE_PRECISION else np.float64

        def log_odds(rows: np.ndarray) -> np.ndarray:
            log_p = log_floored(rows, self.floor_)
            return (log_p[:, :-1] - log_p[:, -1:]).astype(kind, copy=False)

        return map_row_blocks(log_odds, matrix)

    def _held(self, ridges: dict[str, float]) -> tuple[Map, float | np.ndarray, bool]:
        return DiagonalMap(self.n_classes_ - 1, self.n_classes_), ridges["l2"], True

    def _map_logits(self, features: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        logits = np.zeros((len(features), self.n_classes_))
        logits[:, :-1] = features * weights + biases
        return logits

    def _logits(self, log_p: Any) -> Any:
        weights, biases = np.append(self.weights_, 0.0), np.append(self.biases_, 0.0)
        return (log_p - log_p[:, -1:]) * weights + biases


class DirichletScaling(AffineScaling):
    """Dirichlet calibration: multinomial logistic regression on log p (Kull et al., NeurIPS 2019).

    The logits are ``log p @ weights_.T + biases_``. The predicted class can change. L (L + 1) parameters fit
    the noise of few rows: below some tens of rows per parameter prefer ``l2="cv"`` or ``off_diagonal="cv"``.

    Parameters
    ----------
    l2 : float or "cv", unit: nats per row
        As for `VectorScaling`, with ``weights_ - I``.
    off_diagonal : float or "cv", optional, unit: nats per row
        Off-diagonal and intercept regularisation (ODIR, Kull et al. 2019): the ridge is
        ``off_diagonal / 2 * (sum of the squared weights off the diagonal + sum(biases_**2))``, and `l2` holds
        only the diagonal. Their lambda is off_diagonal L (L - 1) / 2, their mu off_diagonal L / 2.

    Attributes
    ----------
    weights_ : (L, L) float64 array
        Row j holds the weights of the logit of class j.
    biases_ : (L,) float64 array
    ridge_ : float
        With "cv": the strength with the smallest mean held-out log loss.
    search_ : (m, 3) float64 array
        With "cv": strengths tried, mean held-out log loss, and its standard error over rows.
    loss_gap_ : float, unit: nats per row
        About how far the fit stopped above its smallest loss: half the Newton decrement before the last step.
    gradient_norm_ : float
        Euclidean norm of the gradient at the end.
    floor_, n_classes_
        As for `TemperatureScaling`.
    """

    parameters = 1, 1, 0

    def __init__(self, *, l2: float | str = 0.0, off_diagonal: float | str | None = None) -> None:
        super().__init__(l2=l2)
        self.off_diagonal = off_diagonal

    @property
    def _ridges(self) -> dict[str, float | str]:
        return super()._ridges | ({} if self.off_diagonal is None else {"off_diagonal": self.off_diagonal})

    def _check_params(self) -> None:
        super()._check_params()
        if self.l2 == self.off_diagonal == CROSS_VALIDATED:
            raise InputError('only one of l2 and off_diagonal can be "cv"; give the other a number')

    def _held(self, ridges: dict[str, float]) -> tuple[Map, float | np.ndarray, bool]:
        kind = FullMap(self.n_classes_)
        ridge = np.full(kind.shape, ridges.get("off_diagonal", ridges["l2"]))
        np.fill_diagonal(ridge, ridges["l2"])
        return kind, ridge, "off_diagonal" not in ridges


class StructuredScaling(LogScaling):
    """Temperature, smoothing, and the softmax of a map of x.

    1. T by log loss; q = softmax(log p / T).
    2. x = log((n q + 1 / L) / (n + 1)), with n calibration rows, keeps x finite.
    3. The map of x, near the identity, has the smallest mean log loss and penalty.
    """

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
        fitted = softmax_fit(x, codes, weights, kind, ridge, centred=False)
        self.weights_, self.biases_, self.loss_gap_, self.gradient_norm_ = fitted

    def _smoothed(self, log_p: Any) -> Any:
        q = softmax(log_p / self.temperature_)
        return np.log((self.n_samples_ * q + 1.0 / self.n_classes_) / (self.n_samples_ + 1.0))

    def _logits(self, log_p: Any) -> Any:
        return affine(self._smoothed(log_p), self.weights_, self.biases_)

    def _penalty(self, n_classes: int) -> tuple[Map, np.ndarray]:
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

    def _penalty(self, n_classes: int) -> tuple[Map, np.ndarray]:
        return DiagonalMap(n_classes, n_classes), np.array([self.lambda_diagonal, self.lambda_intercept])


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

    def _penalty(self, n_classes: int) -> tuple[Map, np.ndarray]:
        kind = FullMap(n_classes)
        penalty = np.full(kind.shape, (n_classes - 1.0) * self.lambda_off_diagonal)
        np.fill_diagonal(penalty, self.lambda_diagonal)
        penalty[:, -1] = self.lambda_intercept
        return kind, penalty


def affine(x: Any, weights: np.ndarray, biases: np.ndarray) -> Any:
    """Return logits of (n, L) values by a weight per class or by a matrix, and a bias per class."""
    return x @ weights.T + biases if weights.ndim == 2 else x * weights + biases


def least_positive(proba: np.ndarray) -> float:
    least = float(proba.min())
    return least if least > 0.0 else float(np.where(proba > 0, proba, 1).min())


def floor_of(least: float, n_classes: int) -> float:
    return float(np.clip(least / 2.0, LEAST_FLOOR, MOST_FLOOR / n_classes))


def log_floored(proba: np.ndarray, floor: float, dtype: Precision = np.float64) -> np.ndarray:
    log_p = proba.astype(dtype)
    np.maximum(log_p, dtype(floor), out=log_p)
    return np.log(log_p, out=log_p)


def log_loss_temperature(proba: np.ndarray, codes: np.ndarray, floor: float, weights: np.ndarray) -> float:
    """Minimise the log loss, convex in b = 1 / T, by Halley's steps between known signs of the slope."""
    blocks = row_blocks(*proba.shape)

    def slopes_in(dtype: Precision) -> Callable[[float], Slopes]:
        def slopes(b: float) -> Slopes:
            def sum_rows(rows: slice) -> Slopes:
                return log_loss_slopes(proba[rows], codes[rows], floor, b, weights[rows], dtype)

            first, second, third = np.sum(map_threads(sum_rows, blocks), axis=0).tolist()
            return first, second, third

        return slopes

    start = temperature_of_slopes(slopes_in(np.float32), step=COARSE)
    return temperature_of_slopes(slopes_in(np.float64), start)


def log_loss_slopes(
    proba: np.ndarray,
    codes: np.ndarray,
    floor: float,
    b: float,
    weights: np.ndarray | float = 1.0,
    dtype: Precision = np.float64,
) -> Slopes:
    """Return the first three derivatives in b = 1 / T of the log loss, summed over a block of rows.

    They are moments of the row's log-probabilities under softmax(b log p).
    """
    log_p = _below_top(proba, floor, dtype)
    p, ones = log_p * dtype(b), np.ones(proba.shape[1], dtype=dtype)
    np.exp(p, out=p)
    total = p @ ones
    p *= log_p
    mean = (p @ ones) / total
    p *= log_p
    variance = (p @ ones) / total - mean * mean
    p *= log_p
    moment = (p @ ones) / total - mean * (3.0 * variance + mean * mean)
    each = mean - log_p[np.arange(len(codes)), codes], variance, moment
    first, second, third = (float((values * weights).sum(dtype=np.float64)) for values in each)
    return first, second, third


def temperature_of_slopes(slopes: Callable[[float], Slopes], start: float = 1.0, step: float = FINE) -> float:
    """Return T at the minimum of a convex loss of b = 1 / T with these derivatives, by Halley's steps."""
    low, high = 1.0 / TEMPERATURE_RANGE[1], 1.0 / TEMPERATURE_RANGE[0]
    b, tested = 1.0 / start, set()
    for _ in range(100):
        first, second, third = slopes(b)
        tested.add(b)
        if first == 0.0:
            break
        low, high = (low, b) if first > 0.0 else (b, high)
        target = low if first > 0.0 else high
        if second > 0.0:
            newton = first / second
            bend = 1.0 - newton * third / (2.0 * second)
            target = min(max(b - newton / max(bend, 0.5), low), high)
        last, b = b, target
        if abs(b - last) <= step * last:
            break
        if b in tested:
            b = float(np.sqrt(low * high))
    return float(1.0 / b)


def _conf_ece_temperature(proba: np.ndarray, codes: np.ndarray, floor: float, weights: np.ndarray) -> float:
    """Grid search of App. E; the first of equally good temperatures is taken."""
    temperatures, n_bins = np.arange(1, 101) / 10.0, 15
    edges = uniform_edges(n_bins)

    def gaps(rows: slice) -> np.ndarray:
        """Sum of confidence minus correctness for each (temperature, bin)."""
        logits = _below_top(proba[rows], floor)
        correct = proba[rows].argmax(axis=1) == codes[rows]
        total = np.empty((len(temperatures), n_bins))
        for index, temperature in enumerate(temperatures):
            confidence = 1.0 / np.exp(logits / temperature).sum(axis=1)
            bins = assign_bins(confidence, edges)
            over = (confidence - correct) * weights[rows]
            total[index] = np.bincount(bins, over, minlength=n_bins)
        return total

    ece = np.abs(sum(map_threads(gaps, row_blocks(*proba.shape)))).sum(axis=1)
    return float(temperatures[ece.argmin()])


def top_versus_all_temperature(
    proba: np.ndarray, codes: np.ndarray, floor: float, weights: np.ndarray
) -> float:
    """Minimise the log loss of the event that the top class is right."""

    def others(rows: np.ndarray) -> np.ndarray:
        below, top = _below_top(rows, floor), rows.argmax(axis=1)
        return below[np.arange(rows.shape[1]) != top[:, None]].reshape(len(rows), -1)

    wrong = map_row_blocks(lambda rows: rows.argmax(axis=1), proba) != codes
    below = map_row_blocks(others, proba)  # log-probabilities of all classes except the top, minus the top's
    second = map_row_blocks(row_max, below)
    below -= second[:, None]
    blocks, ones = row_blocks(*proba.shape), np.ones(below.shape[1])

    def loss_and_slope(log_temperature: float) -> np.ndarray:
        """Sum of the loss, and its derivative in b = 1 / T."""
        b = np.exp(-log_temperature)

        def sum_rows(rows: slice) -> tuple[float, float]:
            share = np.exp(b * below[rows])
            norm = share @ ones
            mean = second[rows] + np.einsum("ij,ij->i", share, below[rows]) / norm
            odds = b * second[rows] + np.log(norm)  # log((1 - c) / c)
            losses = np.logaddexp(0.0, odds) - np.where(wrong[rows], odds, 0.0)
            slopes = (expit(odds) - wrong[rows]) * mean
            return float((losses * weights[rows]).sum()), float((slopes * weights[rows]).sum())

        return np.sum(map_threads(sum_rows, blocks), axis=0)

    return searched_temperature(loss_and_slope, 15)


def searched_temperature(loss_and_slope: Callable[[float], np.ndarray], n_tried: int) -> float:
    """Minimise a loss in log T, which need not be convex: by a grid, then a root of the slope."""
    grid = np.linspace(np.log(TEMPERATURE_RANGE[0]), np.log(TEMPERATURE_RANGE[1]), n_tried)
    tried = np.array([loss_and_slope(log_t) for log_t in grid])
    best = int(tried[:, 0].argmin())
    low, high = max(best - 1, 0), min(best + 1, n_tried - 1)
    if tried[low, 1] * tried[high, 1] >= 0.0:
        return float(np.exp(grid[best]))
    return float(np.exp(brentq(lambda log_t: loss_and_slope(log_t)[1], grid[low], grid[high], xtol=1e-14)))


#: How T is found for each objective.
_SEARCHES = {
    "log_loss": log_loss_temperature,
    "conf_ece": _conf_ece_temperature,
    "top_versus_all": top_versus_all_temperature,
}


def _below_top(proba: np.ndarray, floor: float, dtype: Precision = np.float64) -> np.ndarray:
    log_p = log_floored(proba, floor, dtype)
    log_p -= row_max(log_p)[:, None]
    return log_p
