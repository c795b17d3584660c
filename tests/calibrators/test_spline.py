"""Spline calibration: its objective solved by another optimiser, its limit, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit

from calib import PlattScaling, SplineCalibration
from calib.calibrators import spline
from calib.calibrators.curves import Spline
from calib.datasets import load_example


def simulated(n, seed=0, truth=lambda s: np.clip(s + 0.12 * np.sin(2 * np.pi * s), 0, 1)):
    random = np.random.default_rng(seed)
    scores = random.beta(2, 1.2, n).clip(1e-3, 1 - 1e-3)
    return scores, (random.random(n) < truth(scores)).astype(float)


def literal(theta, knots, odds):
    """f(odds) by integrating its slope, linear between knots and constant outside, from the first knot."""
    areas = [quad(np.interp, knots[0], at, args=(knots, theta[:-1]), limit=200)[0] for at in odds]
    return theta[-1] + np.array(areas)


def test_curve_is_the_integral_of_its_slope():
    knots, theta = np.array([-1.0, 0.5, 2.0]), np.array([0.2, 1.5, 0.7, -0.3])
    odds = np.array([-3.0, -1.0, 0.1, 0.5, 1.9, 4.0])
    curve = Spline(knots, theta[:-1], theta[-1])
    np.testing.assert_allclose(curve(expit(odds)), expit(literal(theta, knots, odds)), rtol=1e-7)
    # By hand at the second knot: -0.3 + 1.5 (0.2 + 1.5) / 2 = 0.975.
    np.testing.assert_allclose(curve(expit(np.array([0.5]))), expit(0.975), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_fit_is_the_constrained_optimum(seed):
    """Mean log loss on Platt's targets + strength / 2 * roughness, slopes >= 0, as L-BFGS-B finds it."""
    scores, outcomes = simulated(300, seed)
    fitted = SplineCalibration().fit(scores, outcomes)
    knots, n1, n = fitted.knots_, outcomes.sum(), len(outcomes)
    targets = np.where(outcomes == 1, (n1 + 1) / (n1 + 2), 1 / (n - n1 + 2))
    units = (knots - knots[0]) / (knots[-1] - knots[0])

    def loss(theta):
        z = logit(Spline(knots, theta[:-1], theta[-1])(scores))
        # Slopes per unit of the knots' span change linearly: the second derivative is constant in between.
        change = np.diff(theta[:-1] * (knots[-1] - knots[0]))
        roughness = (change**2 / np.diff(units)).sum()
        ridge = spline.LEAST_RIDGE * ((theta[:-1] - 1) ** 2).sum()
        return np.mean(np.logaddexp(0, z) - targets * z) + (fitted.strength_ * roughness + ridge) / 2

    start = np.append(np.ones(len(knots)), 0.0)
    bounds = [(0, None)] * len(knots) + [(None, None)]
    other = minimize(loss, start, bounds=bounds, options={"maxiter": 3000, "maxfun": 10**5, "ftol": 1e-15})
    assert loss(np.append(fitted.slopes_, fitted.level_)) <= other.fun + 1e-9


def test_a_heavy_weight_gives_platt_scaling(monkeypatch):
    scores, outcomes = simulated(200, truth=lambda s: s**2)
    monkeypatch.setattr(spline, "STRENGTHS", (1e6,))
    monkeypatch.setattr(spline, "LEAST_RIDGE", 1e-12)
    grid = np.linspace(0.01, 0.99, 50)
    platt = PlattScaling().fit(scores, outcomes).predict(grid)
    np.testing.assert_allclose(SplineCalibration().fit(scores, outcomes).predict(grid), platt, atol=1e-5)


def test_it_follows_a_curve_that_platt_scaling_cannot():
    """Mean squared distance to an S-shaped truth from 5,000 rows: below 4e-4, Platt scaling above 9e-4."""
    grid, truth = np.linspace(0.05, 0.95, 200), lambda s: np.clip(s + 0.12 * np.sin(2 * np.pi * s), 0, 1)
    scores, outcomes = simulated(5_000, truth=truth)
    distance = [
        np.mean((make().fit(scores, outcomes).predict(grid) - truth(grid)) ** 2)
        for make in (SplineCalibration, PlattScaling)
    ]
    assert distance[0] < 4e-4 < 9e-4 < distance[1]


def test_many_distinct_scores_are_fitted_in_runs(monkeypatch):
    scores, outcomes = simulated(3_000)
    grid = np.linspace(0.02, 0.98, 50)
    in_runs = SplineCalibration().fit(scores, outcomes).predict(grid)
    monkeypatch.setattr(spline, "RUNS", 10**6)
    np.testing.assert_allclose(SplineCalibration().fit(scores, outcomes).predict(grid), in_runs, atol=1e-3)


def test_scores_over_many_orders_of_magnitude_are_fitted():
    """One class against nine others: Newton's method starts from the scores themselves, not far from them."""
    rows = load_example("resnet").calibration
    for code in (0, 3):
        score, event = rows.proba[:, code], rows.labels == code
        fitted = SplineCalibration().fit(score, event).predict(score)
        before, after = (-np.log(np.where(event, p, 1.0 - p)).mean() for p in (score, fitted))
        assert after < before
