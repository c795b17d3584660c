"""Spline calibration: a non-decreasing smoothing spline of the log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Spline, log_odds
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

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None) -> None:
        odds = log_odds(scores)
        order = np.lexsort((outcomes, odds))
        odds, events = odds[order], outcomes[order]
        ends = np.append(np.flatnonzero(np.diff(odds) > 0.0) + 1, len(odds))
        if len(ends) > RUNS:
            ends = equal_mass_cuts(ends, RUNS)[1:]
        run = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        counted: tuple[Any, Any] = (None, events)
        if weights is None:
            middle = np.bincount(run, odds) / np.bincount(run)
        else:
            weights = weights[order]
            middle = np.bincount(run, odds * weights) / np.bincount(run, weights)
            counted = (weights, weights * events)
        knots = np.unique(np.quantile(odds, np.linspace(MARGIN, 1.0 - MARGIN, KNOTS)))
        knots = knots if len(knots) > 1 else np.unique(odds[[0, -1]])
        fold = np.arange(len(odds)) % FOLDS
        rows, happened = (
            np.bincount(fold * len(ends) + run, weight, FOLDS * len(ends)).reshape(FOLDS, -1)
            for weight in counted
        )
        n, k = rows.sum(axis=0), happened.sum(axis=0)
        self.knots_ = knots
        if len(knots) == 1:
            share = _targets(n, k).sum() / len(odds)
            self.slopes_, self.level_ = np.zeros(1), float(np.log(share) - np.log1p(-share))
            self.strength_ = STRENGTHS[0]
            return
        design, roughness = _design(middle, knots), _roughness(knots)
        losses = np.zeros(len(STRENGTHS))
        for held_out in range(min(FOLDS, len(odds))):
            fitted = np.arange(FOLDS) != held_out
            rest, right = rows[fitted].sum(axis=0), happened[fitted].sum(axis=0)
            theta = np.append(np.ones(len(knots)), knots[0])  # scores as they are
            for candidate, strength in enumerate(STRENGTHS):
                theta = _minimum(design, rest, _targets(rest, right), strength * roughness, theta, ROUGHLY)
                z = design @ theta
                losses[candidate] += rows[held_out] @ np.logaddexp(0.0, z) - happened[held_out] @ z
        self.strength_ = STRENGTHS[losses.argmin()]
        start = np.append(np.ones(len(knots)), knots[0])
        theta = _minimum(design, n, _targets(n, k), self.strength_ * roughness, start, CLOSE)
        self.slopes_, self.level_ = theta[:-1], float(theta[-1])

    @property
    def curve_(self) -> Spline:
        """The fitted curve."""
        return Spline(self.knots_, self.slopes_, self.level_)


def _targets(rows: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Return sums of Platt's targets, (runs,), of rows and ones, (runs,) each."""
    n, n1 = rows.sum(), happened.sum()
    return happened * (n1 + 1.0) / (n1 + 2.0) + (rows - happened) / (n - n1 + 2.0)


def _design(odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Columns that slopes and level are multiplied with, (runs, m + 1): I-splines, and ones."""
    segment = np.searchsorted(knots, odds, side="right")
    columns = []
    for slopes in np.eye(len(knots)):
        start, value, slope, bend = Spline(knots, slopes, 0.0).segments()[:, segment]
        columns.append(value + (odds - start) * (slope + bend * (odds - start)))
    return np.column_stack([*columns, np.ones(len(odds))])


def _roughness(knots: np.ndarray) -> np.ndarray:
    """Matrix of the integral of f''**2, for knots moved to [0, 1]."""
    steps = np.diff(np.eye(len(knots)), axis=0)
    return steps.T @ (steps / np.diff(knots)[:, None]) * (knots[-1] - knots[0]) ** 3


def _minimum(
    design: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    penalty: np.ndarray,
    theta: np.ndarray,
    close: float,
) -> np.ndarray:
    """Minimise mean log loss plus penalty with slopes >= 0: Newton's method, each step a small NNLS."""
    n, m = rows.sum(), len(penalty)
    ridge = penalty + LEAST_RIDGE * np.eye(m)

    def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
        z, away = design @ at, at[:-1] - 1.0
        return float(rows @ np.logaddexp(0.0, z) - targets @ z) / n + 0.5 * float(away @ ridge @ away), z

    value, z = objective(theta)
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-z))
        gradient = design.T @ (rows * p - targets) / n
        gradient[:-1] += ridge @ (theta[:-1] - 1.0)
        weight = np.maximum(rows * p * (1.0 - p) / n, 1e-12 * rows / n)
        hessian = design.T @ (design * weight[:, None])
        hessian[:m, :m] += ridge
        level = hessian[:m, m] / hessian[m, m]
        curved = hessian[:m, :m] - np.outer(level, hessian[:m, m])
        slope = gradient[:m] - level * gradient[m]
        root = np.linalg.cholesky(curved).T
        goal = root @ theta[:-1] - np.linalg.solve(root.T, slope)
        step = nnls(root, goal)[0] - theta[:-1]
        step = np.append(step, -(gradient[m] + hessian[:m, m] @ step) / hessian[m, m])
        promised = -float(gradient @ step)
        if promised <= close:
            break
        rate = 1.0
        value_there, z_there = objective(theta + step)
        while value_there > value - 1e-4 * rate * promised and rate > 1e-6:
            rate /= 2.0
            value_there, z_there = objective(theta + rate * step)
        if value_there >= value:  # rounding decides
            break
        theta, value, z = theta + rate * step, value_there, z_there
    theta[:-1] = np.maximum(theta[:-1], 0.0)
    return theta
