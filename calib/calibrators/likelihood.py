"""Maximum likelihood for the calibrators that are logistic regressions: one minimiser, three objectives.

Every objective is a mean log loss plus a ridge. The ridge is never 0: `LEAST_RIDGE` keeps the optimum
finite and unique where the likelihood has none, so that no fit depends on when an optimiser gave up.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from calib.parallel import map_threads, row_slices

#: Smallest weight of the ridge, per row of data. A likelihood has no maximum when outcomes are all alike,
#: a class is absent, or the scores separate the classes perfectly.
LEAST_RIDGE = 1e-9

#: Up to this many parameters `minimum` takes Newton steps; above, the Hessian costs more than it saves.
NEWTON_LIMIT = 300

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
    result = minimize(
        lambda theta: objective(theta)[:2],
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": LBFGS_ITERATIONS, "gtol": 1e-6, "ftol": 1e-13},
    )
    if not result.success:
        warnings.warn(
            f"stopped after {result.nit} iterations with a loss of {result.fun:.6g} per row, not yet at the "
            "optimum; the fit is usable, and a larger l2 makes it converge",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result.x


def logistic_fit(features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a binary logistic regression with an intercept.

    Of (n, k) features and (n,) targets in [0, 1], outcomes or probabilities of them, it returns the (k + 1,)
    weights, the intercept last, and the mean log loss with its ridge.
    """
    # einsum, not matrix products: with so few columns, BLAS threads would cost more than the arithmetic.
    design = np.ascontiguousarray(np.column_stack([features, np.ones(len(features))]).T)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[], np.ndarray]]:
        logit = np.einsum("j,ji->i", theta, design)
        small = np.exp(-np.abs(logit))
        p = np.where(logit >= 0.0, 1.0, small) / (1.0 + small)
        loss = float(np.mean(np.maximum(logit, 0.0) + np.log1p(small) - targets * logit))

        def hessian() -> np.ndarray:
            curvature = np.einsum("ji,ki->jk", design * (p * (1.0 - p)), design)
            return curvature / len(p) + LEAST_RIDGE * np.eye(len(theta))

        slope = np.einsum("ji,i->j", design, p - targets) / len(p) + LEAST_RIDGE * theta
        return loss + 0.5 * LEAST_RIDGE * float(theta @ theta), slope, hessian

    theta = minimum(objective, np.repeat([1.0, 0.0], [len(design) - 1, 1]))
    return theta, objective(theta)[0]


def diagonal_softmax_fit(features: np.ndarray, codes: np.ndarray, ridge: float) -> np.ndarray:
    """Fit the softmax of ``weights * features + biases``, the last class fixed at 0.

    Of (n, L - 1) features and (n,) class codes it returns the (2, L - 1) weights and biases. `ridge` is the
    weight of the squared distance to weights 1 and to unchanged logits at the mean features.
    """
    free, mean = features.shape[1], features.mean(axis=0)
    start, j = np.concatenate([np.ones(free), mean]), np.arange(free)

    def logits(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.column_stack([x * theta[:free] + theta[free:], np.zeros(len(x))])

    def slope(residual: np.ndarray, x: np.ndarray) -> np.ndarray:
        free_residual = residual[:, :free]
        return np.concatenate([np.einsum("ij,ij->j", free_residual, x), free_residual.sum(axis=0)])

    def hessian(p: np.ndarray, x: np.ndarray) -> np.ndarray:
        joint = np.hstack([p[:, :free] * x, p[:, :free]])
        total = -joint.T @ joint
        blocks = total.reshape(2, free, 2, free)
        blocks[0, j, 0, j] += np.einsum("ij,ij->j", joint[:, :free], x)
        blocks[0, j, 1, j] += joint[:, :free].sum(axis=0)
        blocks[1, j, 0, j] += joint[:, :free].sum(axis=0)
        blocks[1, j, 1, j] += joint[:, free:].sum(axis=0)
        return total

    fitted = _softmax_fit(features - mean, codes, ridge, start, logits, slope, hessian).reshape(2, free)
    fitted[1] -= fitted[0] * mean
    return fitted


def full_softmax_fit(features: np.ndarray, codes: np.ndarray, ridge: float) -> np.ndarray:
    """Fit the softmax of ``features @ weights.T + biases``, multinomial logistic regression.

    Of (n, L) features and (n,) class codes it returns the (L, L + 1) weights, the biases as last column.
    `ridge` is the weight of the squared distance to weights I and to unchanged logits at the mean features.
    """
    n_classes, width = features.shape[1], features.shape[1] + 1
    mean, j = features.mean(axis=0), np.arange(n_classes)
    start = np.column_stack([np.eye(n_classes), mean]).ravel()

    def logits(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x @ theta.reshape(n_classes, width).T

    def slope(residual: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (residual.T @ x).ravel()

    def hessian(p: np.ndarray, x: np.ndarray) -> np.ndarray:
        joint = (p[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        total = -joint.T @ joint
        blocks = total.reshape(n_classes, width, n_classes, width)
        blocks[j, :, j] += (joint.T @ x).reshape(n_classes, width, width)
        return total

    design = np.column_stack([features - mean, np.ones(len(features))])
    fitted = _softmax_fit(design, codes, ridge, start, logits, slope, hessian).reshape(n_classes, width)
    fitted[:, -1] -= fitted[:, :-1] @ mean
    return fitted


def _softmax_fit(
    features: np.ndarray,
    codes: np.ndarray,
    ridge: float,
    start: np.ndarray,
    logits: Callable[[np.ndarray, np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
    hessian: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Minimise the mean log loss of softmax(logits(theta, features)) plus the ridge around `start`.

    `slope` maps softmax minus one-hot truth, and `hessian` the softmax, of some rows to their sums over
    these rows. Slices of rows run on threads.
    """
    n_samples = len(features)
    slices = row_slices(*features.shape)
    step = max(1, 2_000_000 // len(start))

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[], np.ndarray]]:
        def of_rows(rows: slice) -> tuple[float, np.ndarray, np.ndarray]:
            z, truth = logits(theta, features[rows]), codes[rows, None]
            z -= z.max(axis=1, keepdims=True)
            loss = -float(np.take_along_axis(z, truth, axis=1).sum())
            p = np.exp(z, out=z)
            norm = p.sum(axis=1, keepdims=True)
            p /= norm
            residual = p.copy()
            np.put_along_axis(residual, truth, np.take_along_axis(p, truth, axis=1) - 1.0, axis=1)
            return loss + float(np.log(norm).sum()), slope(residual, features[rows]), p

        losses, slopes, softmaxes = zip(*map_threads(of_rows, slices), strict=True)

        def curvature() -> np.ndarray:
            def of_slice(index: int) -> Any:
                p, x = softmaxes[index], features[slices[index]]
                firsts = range(0, len(x), step)
                return sum(hessian(p[first : first + step], x[first : first + step]) for first in firsts)

            return sum(map_threads(of_slice, range(len(slices)))) / n_samples + ridge * np.eye(len(theta))

        away = theta - start
        value = sum(losses) / n_samples + 0.5 * ridge * float(away @ away)
        return value, sum(slopes) / n_samples + ridge * away, curvature

    # BLAS threads wait for each other by spinning: beside the threads of the slices, a fit of 0.1 s took 10 s
    # on a busy machine. The limit belongs to the process, hence the lock.
    with _blas_lock, threadpool_limits(limits=1, user_api="blas"):
        return minimum(objective, start)


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
