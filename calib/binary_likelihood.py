"""Maximum likelihood for the calibrators that are logistic regressions: one minimiser, three objectives.

Every objective is a mean log loss plus a ridge. The ridge is never 0: `LEAST_RIDGE` keeps the optimum
finite and unique where the likelihood has none, so that no fit depends on when an optimiser gave up.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from calib.parallel import map_threads, row_slices

#: Smallest weight of the ridge, per row of data. A likelihood has no maximum when outcomes are all alike,
#: a class is absent, or the scores separate the classes perfectly.
LEAST_RIDGE = 1e-9

#: Up to this many parameters `minimum` takes Newton steps; above, the Hessian costs more than it saves.
NEWTON_LIMIT = 1_000

#: Steps after which L-BFGS gives up.
LBFGS_ITERATIONS = 500

#: Maps (k,) parameters to their value, the (k,) gradient and a function that returns the (k, k) Hessian.
Objective = Callable[[np.ndarray], tuple[float, np.ndarray, Callable[[], np.ndarray]]]

_blas_lock = threading.Lock()


def minimum(objective: Objective, start: np.ndarray) -> np.ndarray:
    """Minimise a smooth, strictly convex function.

    Up to `NEWTON_LIMIT` parameters by Newton's method with step halving, until the Newton decrement says
    that the value is within about 1e-16 of the minimum; above by L-BFGS.

    Warns
    -----
    ConvergenceWarning
        If L-BFGS stopped before it was done.
    """
    if len(start) <= NEWTON_LIMIT:
        return _newton(objective, np.asarray(start, dtype=np.float64))
    found = minimize(
        lambda theta: objective(theta)[:2],
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": LBFGS_ITERATIONS, "gtol": 1e-7, "ftol": 1e-13},
    )
    if not found.success:
        warnings.warn(
            f"stopped after {found.nit} iterations with a loss of {found.fun:.6g} per row, not yet at the "
            "optimum; the fit is usable, and a larger l2 makes it converge",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found.x


def logistic_fit(features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a binary logistic regression with an intercept.

    Parameters
    ----------
    features : (n, k) float64 array
    targets : (n,) float64 array
        Outcomes, or probabilities of them, in [0, 1].

    Returns
    -------
    ((k + 1,) float64 array, float)
        The weights, the intercept last, and the mean log loss with its ridge.
    """
    # einsum, not matrix products: with so few columns, BLAS threads would cost more than the arithmetic.
    design = np.ascontiguousarray(np.column_stack([features, np.ones(len(features))]).T)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[], np.ndarray]]:
        logit = np.einsum("j,ji->i", theta, design)
        p = expit(logit)
        loss = float(np.mean(np.logaddexp(0.0, logit) - targets * logit))

        def hessian() -> np.ndarray:
            curvature = np.einsum("ji,ki->jk", design * (p * (1.0 - p)), design)
            return curvature / len(p) + LEAST_RIDGE * np.eye(len(theta))

        slope = np.einsum("ji,i->j", design, p - targets) / len(p) + LEAST_RIDGE * theta
        return loss + 0.5 * LEAST_RIDGE * float(theta @ theta), slope, hessian

    theta = minimum(objective, np.zeros(len(design)))
    return theta, objective(theta)[0]


def diagonal_softmax_fit(features: np.ndarray, codes: np.ndarray, ridge: float) -> np.ndarray:
    """Fit the softmax of ``weights * features + biases``, the last class fixed at 0.

    Parameters
    ----------
    features : (n, L - 1) float64 array
    codes : (n,) int64 array
        Classes 0..L-1.
    ridge : float
        Weight of the squared distance to weights 1 and biases 0.

    Returns
    -------
    (2, L - 1) float64 array
        Weights and biases.
    """
    n_samples, free = features.shape
    start, j = np.repeat([1.0, 0.0], free), np.arange(free)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[], np.ndarray]]:
        logits = np.zeros((n_samples, free + 1))
        logits[:, :free] = features * theta[:free] + theta[free:]
        loss, p, residual = _softmax_loss(logits, codes)
        p, residual, away = p[:, :free], residual[:, :free], theta - start
        slope = np.concatenate([np.einsum("ij,ij->j", residual, features), residual.sum(axis=0)])

        def hessian() -> np.ndarray:
            def of_rows(rows: slice) -> np.ndarray:
                joint = np.hstack([p[rows] * features[rows], p[rows]])
                total = -joint.T @ joint
                blocks = total.reshape(2, free, 2, free)
                blocks[0, j, 0, j] += np.einsum("ij,ij->j", joint[:, :free], features[rows])
                blocks[0, j, 1, j] += joint[:, :free].sum(axis=0)
                blocks[1, j, 0, j] += joint[:, :free].sum(axis=0)
                blocks[1, j, 1, j] += joint[:, free:].sum(axis=0)
                return total

            total = sum(map_threads(of_rows, row_slices(n_samples, 2 * free)))
            return total / n_samples + ridge * np.eye(2 * free)

        return loss + 0.5 * ridge * float(away @ away), slope / n_samples + ridge * away, hessian

    with _one_blas_thread(len(start)):
        return minimum(objective, start).reshape(2, free)


def full_softmax_fit(features: np.ndarray, codes: np.ndarray, ridge: float) -> np.ndarray:
    """Fit the softmax of ``features @ weights.T + biases``, multinomial logistic regression.

    Parameters
    ----------
    features : (n, L) float64 array
    codes : (n,) int64 array
        Classes 0..L-1.
    ridge : float
        Weight of the squared distance to weights I and biases 0.

    Returns
    -------
    (L, L + 1) float64 array
        Weights, with the biases as last column.
    """
    n_samples, n_classes = features.shape
    width = n_classes + 1
    design = np.column_stack([features, np.ones(n_samples)])
    start, j = np.eye(n_classes, width).ravel(), np.arange(n_classes)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[], np.ndarray]]:
        loss, p, residual = _softmax_loss(design @ theta.reshape(n_classes, width).T, codes)
        away = theta - start

        def hessian() -> np.ndarray:
            def of_rows(rows: slice) -> np.ndarray:
                joint = (p[rows, :, None] * design[rows, None, :]).reshape(-1, len(theta))
                total = -joint.T @ joint
                blocks = total.reshape(n_classes, width, n_classes, width)
                blocks[j, :, j] += (joint.T @ design[rows]).reshape(n_classes, width, width)
                return total

            total = sum(map_threads(of_rows, row_slices(n_samples, len(theta))))
            return total / n_samples + ridge * np.eye(len(theta))

        slope = (residual.T @ design).ravel() / n_samples + ridge * away
        return loss + 0.5 * ridge * float(away @ away), slope, hessian

    with _one_blas_thread(len(start)):
        return minimum(objective, start).reshape(n_classes, width)


def _softmax_loss(logits: np.ndarray, codes: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mean log loss, the softmax, and softmax minus one-hot truth, of (n, L) logits."""
    rows = np.arange(len(codes))
    norm = logsumexp(logits, axis=1, keepdims=True)
    loss = float(np.mean(norm[:, 0] - logits[rows, codes]))
    p = np.exp(logits - norm)
    residual = p.copy()
    residual[rows, codes] -= 1.0
    return loss, p, residual


@contextmanager
def _one_blas_thread(n_parameters: int) -> Iterator[None]:
    """Keep BLAS to one thread during Newton steps, whose row blocks have threads of their own.

    Its threads wait for each other by spinning: on a busy machine a fit of 0.1 s took 10 s. The lock is
    there because the setting belongs to the process.
    """
    if n_parameters > NEWTON_LIMIT:
        yield
        return
    with _blas_lock, threadpool_limits(limits=1, user_api="blas"):
        yield


def _newton(objective: Objective, theta: np.ndarray) -> np.ndarray:
    value, gradient, hessian = objective(theta)
    for _ in range(200):
        step = np.linalg.solve(hessian(), gradient)
        decrement = float(gradient @ step)
        if decrement <= 1e-16:
            break
        rate, rounding = 1.0, 1e-15 * abs(value)
        while True:
            moved = theta - rate * step
            value_there, gradient_there, hessian_there = objective(moved)
            if value_there <= value - 1e-4 * rate * decrement + rounding or rate < 1e-9:
                break
            rate /= 2.0
        theta, value, gradient, hessian = moved, value_there, gradient_there, hessian_there
    return theta
