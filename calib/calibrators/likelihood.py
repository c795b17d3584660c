"""Maximum likelihood of the calibrators that are logistic regressions, by Newton's method.

Every objective is a mean log loss plus a ridge. `LEAST_RIDGE` keeps the optimum finite and unique if the
likelihood has none. Softmax regressions of many classes are in `calib.calibrators.softmax_fit`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

#: Smallest weight of the ridge, per row: for outcomes all alike, absent classes and separating scores.
LEAST_RIDGE = 1e-9
#: Newton steps after which `newton` gives up.
NEWTON_STEPS = 200
#: Conjugate-gradient steps within a Newton step: nearly separated classes need hundreds.
MOST_PRODUCTS = 2_000
#: A loss this near its minimum shows no difference in float64.
NOTHING_LEFT = 5e-17
#: Maps (k,) parameters to their value, the (k,) gradient and a function that returns the Newton step: the
#: inverse Hessian times a gradient, or nearly.
Objective = Callable[[np.ndarray], tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]]


class Optimum(NamedTuple):
    theta: np.ndarray  #: (k,) array
    #: Half the Newton decrement before the last step: about how far the value was above the minimum.
    loss_gap: float
    gradient_norm: float  #: Euclidean norm of the gradient at `theta`
    steps: int
    converged: bool  #: Whether `loss_gap` came down to what was asked for


def newton(objective: Objective, start: np.ndarray, *, gap: float = 0.0, rounding: float = 1e-15) -> Optimum:
    """Minimise a smooth function by Newton's method with step halving; if it is not convex, near the start.

    Stops when the value is about `gap` or less above the minimum (by the Newton decrement), or as near as
    float64 can tell. `rounding` is the relative error of a value.
    """
    theta = np.asarray(start, dtype=np.float64)
    value, gradient, step_for = objective(theta)
    estimate, steps = np.inf, 0
    while steps < NEWTON_STEPS:
        step = step_for(gradient)
        decrement = float(gradient @ step)
        estimate = max(decrement / 2.0, 0.0)
        if estimate <= NOTHING_LEFT:
            break
        steps += 1
        rate, allowed = 1.0, rounding * abs(value)
        while True:
            moved = theta - rate * step
            there = objective(moved)
            if there[0] <= value - 1e-4 * rate * decrement + allowed or rate < 1e-9:
                break
            rate /= 2.0
        theta, (value, gradient, step_for) = moved, there
        if estimate <= gap:
            break
    reached = estimate <= max(gap, NOTHING_LEFT)
    return Optimum(theta, estimate, float(np.linalg.norm(gradient)), steps, reached)


def warn_early(optimum: Optimum) -> None:
    """Warn that a fit stopped early, and how far from the optimum; a `fit` method must call it."""
    warnings.warn(
        f"stopped after {optimum.steps} Newton steps, about {optimum.loss_gap:.2g} nats per row above the "
        f"optimum (gradient norm {optimum.gradient_norm:.2g}); the fit is usable, and a stronger ridge makes "
        "it converge",
        ConvergenceWarning,
        stacklevel=5,
    )


def newton_step(
    times: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    gradient: np.ndarray,
    gap: float,
) -> np.ndarray:
    step, left = np.zeros_like(gradient), gradient.copy()
    near = precondition(left)
    direction, first = near, float(left @ near)
    now, enough = first, min(0.25, np.sqrt(max(first, 0.0))) ** 2 * first
    enough = max(enough, min(0.01 * gap, 0.01 * first), 1e-30)
    for _ in range(MOST_PRODUCTS):
        bent = times(direction)
        curvature = float(direction @ bent)
        if curvature <= 0.0:
            return step if step.any() else near
        length = now / curvature
        step += length * direction
        left -= length * bent
        near = precondition(left)
        before, now = now, float(left @ near)
        if now <= enough:
            break
        direction = near + (now / before) * direction
    return step


def logistic_fit(
    features: np.ndarray, targets: np.ndarray, row_weights: np.ndarray
) -> tuple[np.ndarray, float]:
    """Fit a binary logistic regression with an intercept to (n, k) features and (n,) targets in [0, 1].

    Rows have (n,) weights with mean 1. Returns (k + 1,) weights, the intercept last, and the mean
    log loss with its ridge.
    """
    # With few columns, threads of BLAS cost more than the arithmetic.
    design = np.ascontiguousarray(np.column_stack([features, np.ones(len(features))]).T)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        logit = np.einsum("j,ji->i", theta, design)
        small = np.exp(-np.abs(logit))
        p = np.where(logit >= 0.0, 1.0, small) / (1.0 + small)
        losses = np.maximum(logit, 0.0) + np.log1p(small) - targets * logit
        residual, spread = (p - targets) * row_weights, p * (1.0 - p) * row_weights
        loss = float(np.mean(losses * row_weights))

        def step(gradient: np.ndarray) -> np.ndarray:
            curvature = np.einsum("ji,ki->jk", design * spread, design)
            return np.linalg.solve(curvature / len(p) + LEAST_RIDGE * np.eye(len(theta)), gradient)

        slope = np.einsum("ji,i->j", design, residual) / len(p) + LEAST_RIDGE * theta
        return loss + 0.5 * LEAST_RIDGE * float(theta @ theta), slope, step

    theta = newton(objective, np.repeat([1.0, 0.0], [len(design) - 1, 1])).theta
    return theta, objective(theta)[0]
