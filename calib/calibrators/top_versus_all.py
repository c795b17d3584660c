"""Top-versus-all: vector scaling fitted to one event, that the top class is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from calib.calibrators.likelihood import LEAST_RIDGE
from calib.calibrators.scaling import LogScaling, log_floored, top_versus_all_temperature
from calib.parallel import cached_slices, map_row_blocks, map_threads
from calib.validation import check_not_negative

#: Where L-BFGS ends.
CLOSE = {"maxiter": 1_000, "maxfun": 2_000, "gtol": 1e-10, "ftol": 1e-16}


class TopVersusAllScaling(LogScaling):
    """Vector scaling for the confidence (VS_reg_TvA of Le Coz, Herbin & Adjed, NeurIPS 2024).

    Softmax of ``weights_ * log p``. Vector scaling minimises the log loss of all classes; this minimises
    that of the event that the top class is right, ``-log c`` in rows where it is and ``-log(1 - c)`` where it
    is not, c the probability of that class. It aims at confidence calibration, less at the other classes.
    For one number instead of weights there is ``TemperatureScaling(objective="top_versus_all")``; for binary
    calibrators top-versus-all is ``MulticlassToBinary(..., notion="confidence")``. The predicted class can
    change.

    Parameters
    ----------
    l2 : float, default 0.1, unit: nats per row
        Weight of ``mean((weights_ - 1)**2)``, added to the mean loss; 0.1 is the authors'.

    Attributes
    ----------
    weights_ : (L,) float64 array
    floor_ : float
        Probability that lower ones are raised to, see `LogScaling`.
    n_classes_ : int

    Notes
    -----
    As in the authors' code there is no bias, and the search, here by L-BFGS, starts from the temperature of
    top-versus-all; the loss is not convex. Two departures. c is the probability of the class that the given
    probabilities have on top, where the authors take the top class anew for each weights: their loss jumps
    where it changes and has no minimum in the ordinary sense. And weights multiply log-probabilities in
    place of logits, which probabilities do not determine.
    """

    weights_: np.ndarray

    def __init__(self, *, l2: float = 0.1) -> None:
        self.l2 = l2

    @staticmethod
    def n_parameters(n_classes: int) -> int:
        """Return L: a weight for each class."""
        return n_classes

    def _check_params(self) -> None:
        check_not_negative(self.l2, "l2")

    def _fit(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> None:
        temperature = top_versus_all_temperature(matrix, codes, self.floor_, weights)
        order = np.lexsort((codes, matrix[:, 0], matrix.max(axis=1)))
        matrix, codes = matrix[order], codes[order]  # so that rounding does not depend on the order of rows
        row_weights = None if weights is None else weights[order]
        log_p = map_row_blocks(lambda rows: log_floored(rows, self.floor_), matrix)
        tops = map_row_blocks(lambda rows: rows.argmax(axis=1), matrix)
        n_samples, n_classes = log_p.shape
        ridge, slices = max(float(self.l2), LEAST_RIDGE), cached_slices(n_samples, n_classes)

        def of_rows(rows: slice, weights: np.ndarray) -> tuple[float, np.ndarray]:
            logits, top = log_p[rows] * weights, tops[rows]
            each: Any = 1.0 if row_weights is None else row_weights[rows]
            at, wrong = np.arange(len(logits)), top != codes[rows]
            of_top = logits[at, top]
            logits[at, top] = -np.inf
            others = logsumexp(logits, axis=1) - of_top  # log((1 - c) / c)
            loss = (np.logaddexp(0.0, others) * each).sum() - (others * each)[wrong].sum()
            # d loss / d logit: its share among the others, or -1 for the top's, times 1 - c or, if wrong, -c.
            slope = np.exp(logits - (others + of_top)[:, None])
            slope[at, top] = -1.0
            slope *= ((expit(others) - wrong) * each)[:, None]
            return float(loss), np.einsum("ij,ij->j", slope, log_p[rows])

        def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
            losses, slopes = zip(*map_threads(lambda rows: of_rows(rows, weights), slices), strict=True)
            value = sum(losses) / n_samples + ridge * float(np.mean((weights - 1.0) ** 2))
            return value, sum(slopes) / n_samples + 2.0 * ridge * (weights - 1.0) / n_classes

        start = np.full(n_classes, 1.0 / temperature)
        self.weights_ = minimize(objective, start, jac=True, method="L-BFGS-B", options=CLOSE).x

    def _logits(self, log_p: np.ndarray) -> np.ndarray:
        return log_p * self.weights_
