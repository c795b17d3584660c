"""Softmax regressions by one Newton method: a weight per class (diagonal maps) or a matrix (full maps).

The value is the mean log loss of softmax(map of the features) plus a ridge around leaving the model as it is.
Newton steps are found by conjugate gradients, preconditioned by the Hessian's block of each class, or of all
classes of a full map. Threads go over blocks of rows, each with its own scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from calib.base.parallel import WORKERS, map_row_blocks, map_threads, one_blas_thread, row_blocks
from calib.calibrators.likelihood import newton, newton_step, warn_early
from calib.data.equal_rows import mixed
from calib.data.matrices import row_max
from calib.evidence.row_scores import weighted_mean

#: Loss above the minimum, in nats per row, at which a fit stops, by the precision of its features.
GAP = {np.dtype(np.float64): 1e-14, np.dtype(np.float32): 1e-8}
#: Relative error of the loss, by the precision of the features.
_ROUNDING = {np.dtype(np.float64): 1e-15, np.dtype(np.float32): 1e-9}
#: Least logit below the highest, by the precision: products of denormal numbers take a hundred times as long.
_LEAST_LOGIT = {np.dtype(np.float64): -300.0, np.dtype(np.float32): -40.0}
#: In place of a strength: choose it by cross-validation.
CROSS_VALIDATED = "cv"
#: Strengths tried, in nats per row, from an unchanged model to almost no ridge.
STRENGTHS = tuple(10.0 ** np.arange(3, -9, -1))

N_FOLDS = 5
#: Distance from the optimum at which fits of folds stop, in nats per row.
FOLD_GAP = 1e-6
#: The search ends if the held-out loss is twice in a row this much above the smallest, in nats.
WORSE = 1e-3
#: Multiplies values by the weights of their rows.
Weighing = Callable[[np.ndarray], np.ndarray]


class SoftmaxFit(NamedTuple):
    weights: np.ndarray  #: (m,) array for a diagonal map, (L, L) for a full map
    biases: np.ndarray  #: (m,) array
    #: See `calib.calibrators.likelihood.Optimum`
    loss_gap: float
    gradient_norm: float


class DiagonalMap:
    """Logit j is ``weights[j] * x[j] + biases[j]``, and 0 beyond the columns of x."""

    def __init__(self, n_columns: int, n_classes: int) -> None:
        self.shape, self.n_classes = (n_columns, 2), n_classes
        self.identity = np.tile([1.0, 0.0], (n_columns, 1))

    def design(self, features: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return the features minus `shift`, with 0 for further classes, because whole rows are faster."""
        (n_rows, m), shift = features.shape, shift.astype(features.dtype)
        x = np.empty((n_rows, self.n_classes), features.dtype)

        def fill(rows: slice) -> None:
            np.subtract(features[rows], shift, out=x[rows, :m])
            x[rows, m:] = 0.0

        map_threads(fill, row_blocks(n_rows, self.n_classes))
        return x

    def moved(self, theta: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return the parameters that give the same logits for x - shift as `theta` for x."""
        return np.column_stack([theta[:, 0], theta[:, 1] + theta[:, 0] * shift])

    def logits(self, theta: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        weights, biases = self._by_class(theta, x.dtype)
        np.multiply(x, weights, out=out)
        out += biases
        return out

    def observed(self, codes: np.ndarray, x: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum over rows of the derivative of the true class's logit."""
        true_part = x[np.arange(len(x)), codes] * row_weights
        sums = (np.bincount(codes, each, self.n_classes) for each in (true_part, row_weights))
        return self._of_features(*sums)

    def expected(self, p: np.ndarray, x: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        """Return the sum over rows and classes of p times the derivative of the class's logit."""
        return self._of_features(_sums(np.multiply(p, x, out=scratch)), _sums(p))

    def alone(self, direction: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Return the part of the Hessian's product within each class, given `blocks` of p."""
        return np.einsum("jkl,jl->jk", blocks, direction)

    def coupled(
        self, direction: np.ndarray, p: np.ndarray, x: np.ndarray, weighed: Weighing, scratch: np.ndarray
    ) -> np.ndarray:
        """Return the Hessian of the weighted sum of log losses times a direction, without `alone`."""
        weights, biases = self._by_class(direction, x.dtype)
        first = np.multiply(p, x, out=scratch)
        mean = weighed(first @ weights + p @ biases)
        return -self._of_features(mean @ first, mean @ p)

    def blocks(self, v: np.ndarray, x: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        """Return, per class, the sum over rows of v times the outer square of the derivative of its logit."""
        sums = [_sums(v), _sums(np.multiply(v, x, out=scratch))]
        sums.append(_sums(np.multiply(scratch, x, out=scratch)))
        return self._of_features(*sums)[:, [2, 1, 1, 0]].reshape(-1, 2, 2)

    def _by_class(self, parameters: np.ndarray, dtype: np.dtype) -> np.ndarray:
        whole = np.zeros((2, self.n_classes), dtype)
        whole[:, : self.shape[0]] = parameters.T
        return whole

    def _of_features(self, *sums: np.ndarray) -> np.ndarray:
        return np.stack(sums, axis=1)[: self.shape[0]]


class FullMap:
    """Logits are ``x @ weights.T + biases``; parameters are the rows of the weights, each with its bias."""

    def __init__(self, n_classes: int) -> None:
        self.shape, self.n_classes = (n_classes, n_classes + 1), n_classes
        self.identity = np.eye(n_classes, n_classes + 1)

    def design(self, features: np.ndarray, shift: np.ndarray) -> np.ndarray:
        ones = np.ones(len(features), dtype=features.dtype)
        return np.column_stack([features - shift.astype(features.dtype), ones])

    def moved(self, theta: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return np.column_stack([theta[:, :-1], theta[:, -1] + theta[:, :-1] @ shift])

    def logits(self, theta: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.matmul(x, np.ascontiguousarray(theta.T, x.dtype), out=out)

    def observed(self, codes: np.ndarray, x: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
        return csr_array((row_weights, (codes, np.arange(len(codes)))), shape=(self.n_classes, len(x))) @ x

    def expected(self, p: np.ndarray, x: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        return p.T @ x

    def alone(self, direction: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Return nothing: `coupled` holds all of the Hessian."""
        return np.zeros_like(direction)

    def coupled(
        self, direction: np.ndarray, p: np.ndarray, x: np.ndarray, weighed: Weighing, scratch: np.ndarray
    ) -> np.ndarray:
        u = np.matmul(x, np.ascontiguousarray(direction.T, x.dtype), out=scratch)
        u -= np.einsum("ij,ij->i", p, u)[:, None]
        u *= p
        return weighed(u).T @ x


Map = DiagonalMap | FullMap


def _sums(block: np.ndarray) -> np.ndarray:
    return np.ones(len(block), dtype=block.dtype) @ block


def softmax_fit(
    features: np.ndarray,
    codes: np.ndarray,
    row_weights: np.ndarray,
    kind: Map,
    ridge: float | np.ndarray,
    *,
    centred: bool = True,
    begin: SoftmaxFit | None = None,
    gap: float | None = None,
) -> SoftmaxFit:
    mean = np.zeros(features.shape[1])
    row_weights = (row_weights / row_weights.mean()).astype(features.dtype)
    if centred:
        mean = np.einsum("i,ij->j", row_weights, features, dtype=np.float64) / len(features)
    x = kind.design(features, mean)
    target = kind.moved(kind.identity, mean)
    first = target
    if begin is not None:
        first = kind.moved(np.column_stack([begin.weights, begin.biases]), mean)
    gap = GAP[x.dtype] if gap is None else gap
    loss = _SoftmaxLoss(x, codes, row_weights, kind, np.broadcast_to(ridge, kind.shape), target, gap)
    with one_blas_thread():
        optimum = newton(loss, first.ravel(), gap=gap, rounding=_ROUNDING[x.dtype])
    if not optimum.converged:
        warn_early(optimum)
    theta = kind.moved(optimum.theta.reshape(kind.shape), -mean)
    weights = theta[:, :-1].copy() if isinstance(kind, FullMap) else theta[:, 0].copy()
    return SoftmaxFit(weights, theta[:, -1].copy(), optimum.loss_gap, optimum.gradient_norm)


def fit_words(calibrator: BaseEstimator) -> list[str]:
    """Say which strength cross-validation chose, and how far from the optimum a fit stopped, if known."""
    sentences = []
    if hasattr(calibrator, "search_"):
        sentences.append(
            f"strength of the ridge, chosen by cross-validation among {len(calibrator.search_)}: "
            f"{calibrator.ridge_:.3g}"
        )
    if hasattr(calibrator, "loss_gap_"):
        sentences.append(
            f"the fit stopped within about {calibrator.loss_gap_:.0e} nats per row of the optimum (gradient "
            f"norm {calibrator.gradient_norm_:.0e})"
        )
    return sentences


class _SoftmaxLoss:
    def __init__(
        self,
        x: np.ndarray,
        codes: np.ndarray,
        row_weights: np.ndarray,
        kind: Map,
        ridge: np.ndarray,
        target: np.ndarray,
        gap: float,
    ) -> None:
        self.gap = gap
        self.x, self.codes, self.kind, self.ridge, self.target = x, codes, kind, ridge, target
        self.row_weights, self.is_weighted = row_weights, row_weights.min() < row_weights.max()
        self.n_samples = len(x)
        self.p = np.empty((len(x), kind.n_classes), dtype=x.dtype)
        self.observed = kind.observed(codes, x, row_weights)
        self.blocks, self.products, self.direct = np.zeros(0), 0, False
        blocks = row_blocks(len(x), kind.n_classes)
        self.scratch = 2, blocks[0].stop, kind.n_classes
        n_chunks = min(4 * WORKERS, len(blocks))
        self.chunks = [blocks[chunk::n_chunks] for chunk in range(n_chunks)]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        shaped = theta.reshape(self.kind.shape)

        def sum_rows(rows: slice, scratch: np.ndarray) -> tuple[Any, ...]:
            x, z = self.x[rows], self.kind.logits(shaped, self.x[rows], self.p[rows])
            z -= row_max(z)[:, None]
            true_part = self._weighed(z[np.arange(len(z)), self.codes[rows]], rows)
            loss = -float(true_part.sum(dtype=np.float64))
            if z.min() < _LEAST_LOGIT[z.dtype]:
                np.maximum(z, _LEAST_LOGIT[z.dtype], out=z)
            p = np.exp(z, out=z)
            norm = p @ np.ones(p.shape[1], dtype=p.dtype)
            p *= (1.0 / norm)[:, None]
            loss += float(self._weighed(np.log(norm, dtype=np.float64), rows).sum())
            return loss, self.kind.expected(self._weighed(p, rows), x, scratch[0])

        loss, expected = self._summed(sum_rows)
        away = shaped - self.target
        value = loss / self.n_samples + 0.5 * float((self.ridge * away**2).sum())
        gradient = ((expected - self.observed) / self.n_samples + self.ridge * away).ravel()
        return value, gradient, self._step

    def _weighed(self, values: np.ndarray, rows: slice) -> np.ndarray:
        if not self.is_weighted:
            return values
        weights = self.row_weights[rows]
        return values * (weights if values.ndim == 1 else weights[:, None])

    def _summed(self, sum_rows: Callable[[slice, np.ndarray], tuple[Any, ...]]) -> list[Any]:
        """Add up in float64 what `sum_rows` returns for blocks of rows, given (2, rows, L) scratch."""

        def sum_chunk(chunk: Iterable[slice]) -> list[Any]:
            total: list[Any] = []
            scratch = np.empty(self.scratch, self.x.dtype)
            for rows in chunk:
                sums_of_block = sum_rows(rows, scratch[:, : rows.stop - rows.start])
                if not total:
                    total = [np.asarray(addend, dtype=np.float64).copy() for addend in sums_of_block]
                else:
                    total = [sums + addend for sums, addend in zip(total, sums_of_block, strict=True)]
            return total

        return [
            sum(sums_of_block) for sums_of_block in zip(*map_threads(sum_chunk, self.chunks), strict=True)
        ]

    def _step(self, gradient: np.ndarray) -> np.ndarray:
        # A row of a full map costs two multiplications per number in a product, one per pair in the Hessian.
        self.direct |= isinstance(self.kind, FullMap) and 2 * self.products > len(gradient)
        self.products = 0
        precondition = self._inverse_hessian() if self.direct else self._preconditioner()
        return newton_step(self._hessian_times, precondition, gradient, self.gap)

    def _hessian_times(self, direction: np.ndarray) -> np.ndarray:
        self.products += 1
        shaped = direction.reshape(self.kind.shape)

        def sum_rows(rows: slice, scratch: np.ndarray) -> tuple[Any, ...]:
            weighed = partial(self._weighed, rows=rows)
            return (self.kind.coupled(shaped, self.p[rows], self.x[rows], weighed, scratch[0]),)

        (product,) = self._summed(sum_rows)
        product += self.kind.alone(shaped, self.blocks)
        return (product / self.n_samples + self.ridge * shaped).ravel()

    def _preconditioner(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the inverse of the Hessian without the parts that couple classes."""
        if isinstance(self.kind, FullMap):
            return self._shared_preconditioner()
        kind, (m, width) = self.kind, self.kind.shape

        def sum_rows(rows: slice, scratch: np.ndarray) -> tuple[Any, ...]:
            p, x, v = self.p[rows], self.x[rows], scratch[1]
            np.subtract(1.0, p, out=v)
            spread = kind.blocks(self._weighed(np.multiply(v, p, out=v), rows), x, scratch[0])
            return spread, kind.blocks(self._weighed(p, rows), x, scratch[0])

        blocks, self.blocks = self._summed(sum_rows)
        blocks /= self.n_samples
        j = np.arange(width)
        blocks[:, j, j] = blocks[:, j, j] * (1.0 + 1e-9) + self.ridge
        inverse = np.linalg.inv(blocks)
        return lambda gradient: np.einsum("jkl,jl->jk", inverse, gradient.reshape(m, width)).ravel()

    def _inverse_hessian(self) -> Callable[[np.ndarray], np.ndarray]:
        n_classes, width = self.kind.shape

        def sum_rows(rows: slice, scratch: np.ndarray) -> tuple[Any, ...]:
            p, x = self.p[rows].astype(np.float64), self.x[rows].astype(np.float64)
            slopes = (p[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            weighed = self._weighed(slopes, rows).T
            return weighed @ slopes, weighed @ x

        joint, alone = self._summed(sum_rows)
        hessian = -joint / self.n_samples
        own, numbers = np.arange(n_classes), np.arange(len(hessian))
        blocks = hessian.reshape(n_classes, width, n_classes, width)
        blocks[own, :, own] += alone.reshape(n_classes, width, width) / self.n_samples
        rounding = len(hessian) * np.finfo(np.float64).eps * hessian.diagonal().max()
        hessian[numbers, numbers] += self.ridge.ravel() + rounding
        factor = cho_factor(hessian, overwrite_a=True)
        return lambda gradient: cho_solve(factor, gradient)

    def _shared_preconditioner(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the preconditioner with one block for all classes, scaled to each class."""

        def sum_rows(rows: slice, scratch: np.ndarray) -> tuple[Any, ...]:
            p, x = self.p[rows], self.x[rows]
            v = self._weighed(p * (1.0 - p), rows)
            return (x * v.mean(axis=1, keepdims=True)).T @ x, v.sum(axis=0)

        square, mass = self._summed(sum_rows)
        values, vectors = np.linalg.eigh(square / self.n_samples)
        scaled = mass[:, None] / max(float(mass.mean()), 1e-300) * np.maximum(values, 0.0)
        scaled += self.ridge.mean(axis=1, keepdims=True)
        return lambda gradient: ((gradient.reshape(self.kind.shape) @ vectors / scaled) @ vectors.T).ravel()


def folds(matrix: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the fold of each row, stratified by class and independent of the order of rows."""

    def hashed(rows: np.ndarray) -> np.ndarray:
        bits = (rows.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: no negative zeros
        return mixed(mixed(bits).sum(axis=1, dtype=np.uint64))

    order = np.lexsort((map_row_blocks(hashed, matrix), codes))
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % min(N_FOLDS, len(codes))
    return fold


def search_strength(
    fold: np.ndarray,
    fit: Callable[[Any, float, SoftmaxFit | None, float | None], SoftmaxFit],
    losses: Callable[[SoftmaxFit, np.ndarray], np.ndarray],
    weights: np.ndarray,
) -> np.ndarray:
    """Return strengths, mean held-out log loss and its standard error, (m, 3) float64, strongest first.

    Strengths come from `STRENGTHS` until weaker ones are clearly worse, and half-way between the best and its
    neighbours. One row gives only the strongest, without a loss.
    """
    numbers = np.unique(fold)
    begins: dict[int, SoftmaxFit | None] = dict.fromkeys(numbers.tolist())

    def tried(strength: float) -> tuple[float, float, float]:
        loss = np.empty(len(fold))
        for number in begins:
            out = fold == number
            begins[number] = fitted = fit(~out, strength, begins[number], FOLD_GAP)
            loss[out] = losses(fitted, out)
        mean = weighted_mean(loss, weights)
        values = weights * (loss - mean)
        return strength, mean, float(values.std(ddof=1) / np.sqrt(len(loss)))

    if len(numbers) == 1:
        return np.array([[STRENGTHS[0], np.nan, np.nan]])
    table: list[tuple[float, float, float]] = []
    for strength in STRENGTHS:
        table.append(tried(strength))
        least = min(row[1] for row in table)
        if len(table) > 1 and min(table[-1][1], table[-2][1]) > least + WORSE:
            break
    best = best_strength(np.array(table))
    between = [best * 10.0**half for half in (0.5, -0.5) if table[-1][0] <= best * 10.0**half <= STRENGTHS[0]]
    return np.array(sorted([*table, *map(tried, between)], reverse=True))


def best_strength(search: np.ndarray) -> float:
    """Return the strength with the smallest mean held-out log loss, the strongest of equal ones."""
    return float(search[search[:, 1].argmin(), 0])
