"""Top-versus-all: vector scaling fitted to one event, that the top class is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from calib.base.parallel import map_row_blocks, map_threads, one_blas_thread, row_blocks
from calib.calibrators.likelihood import LEAST_RIDGE, newton, newton_step, warn_early
from calib.calibrators.scaling import LogScaling, log_floored, top_versus_all_temperature
from calib.calibrators.softmax_fit import GAP

#: Least logit below the highest of the others: denormal numbers take a hundred times as long.
_LEAST_LOGIT = -300.0


class TopVersusAllScaling(LogScaling):
    """Vector scaling for the confidence (VS_reg_TvA of Le Coz, Herbin & Adjed, NeurIPS 2024).

    Softmax of ``weights_ * log p``. It minimises the loss of being right or wrong: ``-log c`` in rows whose
    top class is right and ``-log(1 - c)`` in others, with c the probability of that class. The predicted
    class can change. ``TemperatureScaling(objective="top_versus_all")`` has a single number instead of
    weights, and ``MulticlassToBinary(..., notion="confidence")`` a binary calibrator.

    Parameters
    ----------
    l2 : float, default 0.1, unit: nats per row
        Weight of ``mean((weights_ - 1)**2)``, added to the mean loss; 0.1 is the authors'.

    Attributes
    ----------
    weights_ : (L,) float64 array
    loss_gap_, gradient_norm_, floor_, n_classes_
        As for `DirichletScaling`, from the nearest minimum.

    Notes
    -----
    As in the authors' code there is no bias. Newton's method starts from the temperature of top-versus-all;
    the loss is not convex. Two departures: c belongs to the class that the given probabilities have on top,
    since the authors' loss jumps if that class changes; weights multiply log-probabilities, not logits.
    """

    parameters = 0, 1, 0

    def __init__(self, *, l2: float = 0.1) -> None:
        self.l2 = l2

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        temperature = top_versus_all_temperature(matrix, codes, self.floor_, weights)
        order = np.lexsort((codes, matrix[:, 0], matrix.max(axis=1)))
        matrix, codes = matrix[order], codes[order]  # so that rounding does not depend on the order of rows
        log_p = map_row_blocks(lambda rows: log_floored(rows, self.floor_), matrix)
        tops = map_row_blocks(lambda rows: rows.argmax(axis=1), matrix)
        loss = _TopLoss(log_p, tops, tops != codes, weights[order], max(float(self.l2), LEAST_RIDGE))
        with one_blas_thread():
            optimum = newton(loss, np.full(log_p.shape[1], 1.0 / temperature), gap=loss.gap)
        if not optimum.converged:
            warn_early(optimum)
        self.weights_ = optimum.theta
        self.loss_gap_, self.gradient_norm_ = optimum.loss_gap, optimum.gradient_norm

    def _logits(self, log_p: Any) -> Any:
        return log_p * self.weights_


class _TopLoss:
    """Mean log loss of whether the top class is right, plus ridge: value, gradient and Newton step.

    With t = log((1 - c) / c), the loss of a row is log(1 + exp(t)), minus t if the top class is wrong.
    """

    gap = GAP[np.dtype(np.float64)]

    def __init__(
        self, x: np.ndarray, tops: np.ndarray, wrong: np.ndarray, row_weights: np.ndarray, ridge: float
    ) -> None:
        self.x, self.tops, self.wrong, self.ridge = x, tops, wrong, 2.0 * ridge / x.shape[1]
        self.row_weights = row_weights
        self.slope = np.empty_like(x)
        self.residual, self.spread = np.empty(len(x)), np.empty(len(x))
        self.blocks = row_blocks(*x.shape)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        def sum_rows(rows: slice) -> tuple[float, np.ndarray]:
            logits, at, top = self.slope[rows], np.arange(rows.stop - rows.start), self.tops[rows]
            np.multiply(self.x[rows], weights, out=logits)
            own = logits[at, top]
            logits[at, top] = -np.inf
            highest = logits.max(axis=1)
            logits -= highest[:, None]
            np.maximum(logits, _LEAST_LOGIT, out=logits)
            share = np.exp(logits, out=logits)
            share[at, top] = 0.0
            norm = share.sum(axis=1)
            share /= norm[:, None]
            share *= self.x[rows]
            share[at, top] = -self.x[rows][at, top]
            t, weight = highest + np.log(norm) - own, self.row_weights[rows]
            self.residual[rows] = (expit(t) - self.wrong[rows]) * weight
            self.spread[rows] = expit(t) * expit(-t) * weight
            losses = np.logaddexp(0.0, t) - np.where(self.wrong[rows], t, 0.0)
            return float(losses @ weight), self.residual[rows] @ share

        loss, slope = self._summed(sum_rows)
        away = weights - 1.0
        value = loss / len(self.x) + 0.5 * self.ridge * float(away @ away)
        return value, slope / len(self.x) + self.ridge * away, self._step

    def _step(self, gradient: np.ndarray) -> np.ndarray:
        def diagonal(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            slope = self.slope[rows]
            squares = self.spread[rows] @ slope**2
            bent = slope * self.x[rows]
            bent[np.arange(len(bent)), self.tops[rows]] = 0.0
            return squares, self.residual[rows] @ bent, np.maximum(self.residual[rows], 0.0) @ bent

        squares, bent, positive = self._summed(diagonal)
        scale = (squares + positive) / len(self.x) + self.ridge

        def times(direction: np.ndarray) -> np.ndarray:
            def sum_rows(rows: slice) -> tuple[np.ndarray, np.ndarray]:
                slope, at, top = self.slope[rows], np.arange(rows.stop - rows.start), self.tops[rows]
                top_part = self.x[rows][at, top]
                along = slope @ direction
                others = self.residual[rows] * (along + top_part * direction[top])
                whole = (self.spread[rows] * along - others) @ slope
                return whole, np.bincount(top, top_part * others, len(direction))

            whole, top_part = self._summed(sum_rows)
            return (whole - top_part + bent * direction) / len(self.x) + self.ridge * direction

        return newton_step(times, lambda left: left / scale, gradient, self.gap)

    def _summed(self, sum_rows: Callable[[slice], tuple[Any, ...]]) -> list[Any]:
        return [sum(parts) for parts in zip(*map_threads(sum_rows, self.blocks), strict=True)]
