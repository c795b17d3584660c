"""Spline calibration: a non-decreasing smoothing spline of the log-odds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Spline, log_odds
from calib.data.weights import RowWeights
from calib.evidence.binning import equal_mass_cuts

#: Knots, at quantiles of the log-odds of which the first and last leave out `MARGIN` of the rows.
KNOTS, MARGIN = 8, 0.02
#: Weights of the roughness that cross-validation chooses from, and its number of folds.
STRENGTHS, FOLDS = (1.0, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6), 5
#: A fit ends when a step promises less than this, in nats per row; fits of cross-validation end earlier.
CLOSE, ROUGHLY = 1e-13, 1e-8
#: Most distinct scores of a fit; more are fitted as this number of runs of neighbours.
RUNS = 500
#: Weight of the squared distance of the slopes to 1, which makes the optimum unique.
LEAST_RIDGE = 1e-6


class SplineCalibration(BinaryCalibrator):
    """Logistic smoothing spline of the log-odds (Lucena 2018), non-decreasing by I-splines (Ramsay 1988).

    The probability is ``expit(f(log(s / (1 - s))))``. As in Lucena's SplineCalib, f is straight beyond its
    outer knots and minimises the mean log loss plus a weight times the integral of its squared second
    derivative; cross-validation chooses the weight. With a large weight f is a straight line, as in Platt
    scaling. It carries no guarantee.

    Attributes
    ----------
    knots_ : (m,) float64 array
        Increasing log-odds, at most `KNOTS`; one if all calibration scores are equal.
    slopes_ : (m,) float64 array
        Slope of f at each knot, not negative, linear in between; 0 if all calibration scores are equal.
    level_ : float
        f at the first knot.
    strength_ : float
        Weight of the roughness, for log-odds in units of the distance between the outer knots.

    Notes
    -----
    Departures from SplineCalib, whose curves may fall: f is quadratic between knots, which are quantiles;
    targets are Platt's, so that the optimum is finite; folds are every fifth row by score.
    """

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        odds = log_odds(scores)
        order = np.lexsort((outcomes, odds))
        odds, events = odds[order], outcomes[order]
        ends = np.append(np.flatnonzero(np.diff(odds) > 0.0) + 1, len(odds))
        if len(ends) > RUNS:
            ends = equal_mass_cuts(ends, RUNS)[1:]
        run = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        each = weights.each[order]
        middle = np.bincount(run, odds * each) / np.bincount(run, each)
        knots = np.unique(np.quantile(odds, np.linspace(MARGIN, 1.0 - MARGIN, KNOTS)))
        knots = knots if len(knots) > 1 else np.unique(odds[[0, -1]])
        fold = np.arange(len(odds)) % FOLDS
        rows, happened = (
            np.bincount(fold * len(ends) + run, weight, FOLDS * len(ends)).reshape(FOLDS, -1)
            for weight in (each, each * events)
        )
        n, k = rows.sum(axis=0), happened.sum(axis=0)
        self.knots_ = knots
        if len(knots) == 1:
            share = _targets(n, k).sum() / len(odds)
            self.slopes_, self.level_ = np.zeros(1), float(np.log(share) - np.log1p(-share))
            self.strength_ = STRENGTHS[0]
            return
        steps = np.diff(np.eye(len(knots)), axis=0)
        # The integral of f''**2, for knots moved to [0, 1].
        roughness = steps.T @ (steps / np.diff(knots)[:, None]) * (knots[-1] - knots[0]) ** 3
        design = _design(middle, knots)
        rows, happened = rows[: len(odds)], happened[: len(odds)]
        others = 1.0 - np.eye(len(rows))
        rest, right = others @ rows, others @ happened
        fits = len(STRENGTHS), len(rows)
        theta = _minima(
            design,
            np.tile(rest, (fits[0], 1)),
            np.tile(_targets(rest, right), (fits[0], 1)),
            np.repeat(STRENGTHS, fits[1])[:, None, None] * roughness,
            knots[0],
            ROUGHLY,
        )
        z = (theta @ design.T).reshape(*fits, -1)
        losses = (rows * np.logaddexp(0.0, z) - happened * z).sum(axis=(1, 2))
        equal = losses <= losses.min() + ROUGHLY * n.sum()
        self.strength_ = STRENGTHS[equal.argmax()]
        penalty = self.strength_ * roughness
        (theta,) = _minima(design, n[None], _targets(n, k)[None], penalty[None], knots[0], CLOSE)
        self.slopes_, self.level_ = theta[:-1], float(theta[-1])

    @property
    def curve_(self) -> Spline:
        return Spline(self.knots_, self.slopes_, self.level_)


def _targets(rows: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Return sums of Platt's targets, (..., runs), of rows and ones, (..., runs) each."""
    n, n1 = rows.sum(axis=-1, keepdims=True), happened.sum(axis=-1, keepdims=True)
    return happened * (n1 + 1.0) / (n1 + 2.0) + (rows - happened) / (n - n1 + 2.0)


def _design(odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Columns that slopes and level are multiplied with, (runs, m + 1): I-splines, and ones."""
    widths, m = np.diff(knots), len(knots)
    inside = np.clip(odds[:, None] - knots[:-1], 0.0, widths)
    bent = inside**2 / (2.0 * widths)
    design = np.zeros((len(odds), m + 1))
    design[:, : m - 1] += inside - bent
    design[:, 1:m] += bent
    design[:, 0] += np.minimum(odds - knots[0], 0.0)
    design[:, m - 1] += np.maximum(odds - knots[-1], 0.0)
    design[:, m] = 1.0
    return design


def _minima(
    design: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    penalties: np.ndarray,
    level: float,
    close: float,
) -> np.ndarray:
    """Minimise mean log losses plus penalties with slopes >= 0: Newton's method, each step a small NNLS.

    All fits run together, on the first axis of all arrays except the design: calls take most of the time of
    a small step. They start from the scores as they are, whose level at the first knot is `level`.
    """
    n, m = rows.sum(axis=1, keepdims=True), penalties.shape[1]
    share, targets = rows / n, targets / n
    ridges = penalties + LEAST_RIDGE * np.eye(m)
    row, column = np.triu_indices(m + 1)
    squares = design[:, row] * design[:, column]

    def objective(fits: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        z = at @ design.T
        small = np.exp(-np.abs(z))
        losses = share[fits] * (np.maximum(z, 0.0) + np.log1p(small)) - targets[fits] * z
        p = np.where(z >= 0.0, 1.0, small) / (1.0 + small)
        away = at[:, :m] - 1.0
        pull = (ridges[fits] @ away[:, :, None])[:, :, 0]
        gradient = (share[fits] * p - targets[fits]) @ design
        gradient[:, :m] += pull
        return losses.sum(axis=1) + 0.5 * (away * pull).sum(axis=1), gradient, p

    theta = np.tile(np.append(np.ones(m), level), (len(rows), 1))
    fits = np.arange(len(theta))
    value, gradient, p = objective(fits, theta)
    for _ in range(100):
        weight = share[fits] * np.maximum(p * (1.0 - p), 1e-12)
        hessian = np.empty((len(fits), m + 1, m + 1))
        hessian[:, row, column] = hessian[:, column, row] = weight @ squares
        hessian[:, :m, :m] += ridges[fits]
        across, corner = hessian[:, :m, m], hessian[:, m, m:]
        curved = hessian[:, :m, :m] - across[:, :, None] * (across / corner)[:, None, :]
        slope, here = gradient[:, :m] - across / corner * gradient[:, m:], theta[fits]
        step = -np.linalg.solve(curved, slope[:, :, None])[:, :, 0]
        for fit in np.flatnonzero((here[:, :m] + step < 0.0).any(axis=1)):
            root = np.linalg.cholesky(curved[fit]).T
            goal = root @ here[fit, :m] - np.linalg.solve(root.T, slope[fit])
            step[fit] = nnls(root, goal)[0] - here[fit, :m]
        last = -(gradient[:, m:] + (across * step).sum(axis=1, keepdims=True)) / corner
        step = np.hstack([step, last])
        promised = -(gradient * step).sum(axis=1)
        going = promised > close
        if not going.any():
            break
        fits, here, step, promised = fits[going], here[going], step[going], promised[going]
        value, rate = value[going], np.ones(len(fits))
        while True:
            there = here + rate[:, None] * step
            lower, gradient, p = objective(fits, there)
            short = (lower > value - 1e-4 * rate * promised) & (rate > 1e-6)
            if not short.any():
                break
            rate[short] /= 2.0
        going = lower < value  # else rounding decides
        theta[fits[going]] = there[going]
        fits, value, gradient, p = fits[going], lower[going], gradient[going], p[going]
    theta[:, :m] = np.maximum(theta[:, :m], 0.0)
    return theta
