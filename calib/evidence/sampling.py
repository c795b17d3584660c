"""Outcomes of a perfect model, redrawn as Bernoulli(score) and summed over cells.

`draw_rows` draws the outcome of every row and is exact; `draw_sums` draws the sum of each cell from its first
two moments, in a time that does not depend on the number of rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from scipy.special import bdtr, ndtr, ndtri

from calib.base.parallel import map_threads, one_blas_thread, row_blocks
from calib.data.validation import check_count, random_generator
from calib.evidence.binning import BinaryProblems, BinStatistics
from calib.evidence.clusters import Dependence

#: Most numbers in a block of redraws: it bounds the memory of each thread.
BLOCK_ELEMENTS = 4_000_000
#: Most claims that are redrawn together: their numbers fit a processor's cache.
CACHED_ELEMENTS = 16_384
#: Least variance of dependent sums that are drawn as rounded normal numbers: their skewness is below 0.05.
NORMAL_FROM = 400.0
#: Most claims (rows times claims about each) whose outcomes are drawn row by row by default.
MAX_ROW_CLAIMS = 1_000
#: Most cells whose sums are drawn with correlations, and claims that these are estimated from.
MAX_CORRELATED_CELLS, CORRELATION_CLAIMS = 2_000, 200_000

Draw = Callable[[np.random.Generator, int], np.ndarray]
Progress = Callable[[float], object]
Sampler = Literal["rows", "sums"]
T = TypeVar("T")


def draw_sums(cells: BinStatistics, factor: np.ndarray | None = None) -> tuple[Draw, int]:
    """Return a function that draws the outcome sum of each cell from its mean and variance, and its width.

    ``draw(generator, size)`` gives a (C, size) array of sums; a redraw touches `width` elements. The cells
    were made with ``variance=True``. Rows of `factor`, (C, r) float64, have length 1, and their products are
    the correlations of the sums; cells are independent without it.

    Notes
    -----
    A sum is drawn as a binomial of the rarer outcome with the same mean and, up to rounding its number of
    trials, the same variance; Ehm (1991), "Binomial approximation to the Poisson binomial distribution",
    bounds the error without matching by sum (s - mean)^2 / (count mean (1 - mean)). Dependent sums come from
    a Gaussian copula.
    """
    count, weight, variance = cells.count, cells.weight, cells.variance
    assert variance is not None
    expected = weight * cells.mean_score
    if cells.is_weighted:
        chance = np.clip(expected / weight, 0.0, 1.0)
        whole = weight**2 * chance * (1.0 - chance)
        entries = np.divide(whole, variance, out=np.ones(len(weight)), where=variance > 0)
        trials, failing = np.maximum(np.rint(entries), 1.0).astype(np.int64), np.zeros(len(weight), bool)
        unit = weight / trials
    else:
        failing = expected > count / 2
        mean = np.clip(np.where(failing, count - expected, expected), 0.0, count)
        squares = np.maximum(mean - variance, 0.0)  # n p = mean and n p^2 = squares give n and p
        ideal = np.divide(mean * mean, squares, out=count.astype(np.float64), where=squares > 0)
        trials = np.clip(np.rint(ideal), np.ceil(mean), count).astype(np.int64)
        chance, unit = np.minimum(mean / np.maximum(trials, 1), 1.0), None
    if factor is None:
        binomials = _independent(trials, chance)
    else:
        binomials = _correlated(trials, chance, failing, factor)

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = binomials(generator, size)
        if unit is not None:
            return unit[:, None] * sums
        return np.subtract(count[:, None], sums, out=sums, where=failing[:, None])

    return draw, len(count)


def _independent(trials: np.ndarray, chance: np.ndarray) -> Draw:
    single = trials == 1  # a uniform number takes a tenth of the time of a binomial number
    several = ~single

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(trials), size), dtype=np.int64)
        sums[single] = generator.random((int(single.sum()), size)) < chance[single, None]
        shape = int(several.sum()), size
        sums[several] = generator.binomial(trials[several, None], chance[several, None], size=shape)
        return sums

    return draw


def _correlated(trials: np.ndarray, chance: np.ndarray, failing: np.ndarray, factor: np.ndarray) -> Draw:
    """Draw binomials by a Gaussian copula: rounded normal numbers, or by their distribution if it is skew."""
    mean, sign = trials * chance, np.where(failing, -1.0, 1.0)[:, None]
    variance = mean * (1.0 - chance)
    skew = variance < NORMAL_FROM
    most = np.minimum(np.ceil(mean + 10.0 * np.sqrt(variance) + 12.0), trials)[skew].astype(np.int64)
    begins = np.cumsum(most) - most
    index = np.repeat(np.arange(len(most)), most)
    reach = index + bdtr(np.arange(len(index)) - begins[index], trials[skew][index], chance[skew][index])

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        independent = generator.standard_normal((factor.shape[1], size))
        with one_blas_thread():
            normal = sign * (factor @ independent)
        sums = np.rint(mean[:, None] + np.sqrt(variance)[:, None] * normal)
        level = ndtr(normal[skew]) + np.arange(len(most))[:, None]
        sums[skew] = np.searchsorted(reach, level) - begins[:, None]
        return sums

    return draw


def draw_rows(
    problems: BinaryProblems,
    cells: BinStatistics,
    *,
    several_true: bool,
    dependence: Dependence | None = None,
) -> tuple[Draw, int]:
    """Return a function that draws the outcomes of every row and adds them up in their cells.

    Returns draw and width as `draw_sums`. `several_true` says whether several claims about a row can be true.

    One uniform number u decides all claims about a row. Exclusive claims: claim k comes true if u, u + 1, ...
    hits the interval from the sum of the scores before it to the sum up to it (systematic sampling, Madow
    1949); scores that sum to more than 1 draw more than one class. Other claims come true if u is below their
    score, together as often as possible (Frechet and Hoeffding), so p-values err towards "not distinguishable
    from noise". The numbers of a cluster are correlated (`calib.evidence.clusters`); each redraw draws a
    correlation that agrees with the clusters. Claims are then ordered from the most to the least likely.
    """
    if problems.n_claims == 1 or several_true:
        return draw_claims([(problems, cells)], dependence)
    n_samples, n_cells = problems.n_samples, len(cells.count)
    claim = problems.shape.claims_of(np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets)))
    scores_at = np.empty((problems.n_claims, n_samples), dtype=problems.scores.dtype)
    cell_at = np.empty(scores_at.shape, dtype=np.int64)
    scores_at[claim, problems.rows] = problems.scores
    cell_at[claim, problems.rows] = np.repeat(np.arange(n_cells), cells.count)
    uniform = None
    if dependence is not None:
        order = np.argsort(-scores_at, axis=0, kind="stable")
        scores_at, cell_at = (np.take_along_axis(array, order, axis=0) for array in (scores_at, cell_at))
        uniform = dependence.uniform_as_known
    return draw_exclusive(scores_at, cell_at, n_cells, problems.row_weights, uniform)


def draw_claims(
    parts: Sequence[tuple[BinaryProblems, BinStatistics]], dependence: Dependence | None
) -> tuple[Draw, int]:
    """Return `draw_rows` of claims that do not exclude each other.

    The sums of several `parts` about the same rows come from the same outcomes, one part below the other.
    """
    width = len(parts[0][0].scores)
    stops = np.cumsum([len(cells.count) for _, cells in parts])
    limits: list[np.ndarray] = [problems.scores for problems, _ in parts]
    if dependence is not None:  # normal numbers as they are: their distribution function is slow
        limits = [ndtri(each.astype(np.float64)) for each in limits]

    def numbers(generator: np.random.Generator, size: int) -> np.ndarray:
        if dependence is None:
            return generator.random((size, parts[0][0].n_samples))
        return np.stack([dependence.latent_as_known(generator) for _ in range(size)])

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((size, stops[-1]))
        for redraws in row_blocks(size, width, CACHED_ELEMENTS):
            number = numbers(generator, redraws.stop - redraws.start)
            for (problems, cells), limit, stop in zip(parts, limits, stops, strict=True):
                hits = number.take(problems.rows, axis=1) < limit
                each = hits * problems.weights if problems.is_weighted else hits.view(np.int8)
                out = sums[redraws, stop - len(cells.count) : stop]
                np.add.reduceat(each, cells.start, axis=1, dtype=np.float64, out=out)
        return sums.T

    # the width is the same for all cells of the same claims, so that they are redrawn alike
    return draw, 2 * width


def draw_exclusive(
    scores: np.ndarray,
    cells: np.ndarray,
    n_cells: int,
    weights: np.ndarray | None = None,
    uniform: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> tuple[Draw, int]:
    n_claims, n_samples = scores.shape
    reach = np.cumsum(scores, axis=0, dtype=np.float64)
    most = int(np.ceil(reach[-1].max() - 1e-9))
    reach[-1][reach[-1] > most - 1e-9] = most  # scores that sum to 1 up to rounding leave no gap
    place = np.append(cells, np.full((1, n_samples), n_cells), axis=0).T.ravel()
    first = np.arange(n_samples) * (n_claims + 1)

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.zeros((size, n_cells + 1))
        for drawn in sums:
            numbers = generator.random(n_samples) if uniform is None else uniform(generator)
            for step in range(most):
                claim, shifted = np.zeros(n_samples, np.min_scalar_type(n_claims)), numbers + step
                for upper in reach:
                    claim += shifted >= upper
                drawn += np.bincount(place.take(first + claim), weights, n_cells + 1)
        return sums[:, :-1].T

    return draw, n_cells + scores.size


def correlation_factor(row: np.ndarray, cell: np.ndarray, scores: np.ndarray, n_cells: int) -> np.ndarray:
    """Factor of the correlations of the cells' outcome sums if the claims of a row exclude each other."""
    scores = scores.astype(np.float64)
    scores /= np.maximum(np.bincount(row, scores), 1.0)[row]
    matrix = sparse.csr_array((scores, (row, cell)), shape=(int(row.max()) + 1, n_cells))
    deviation = np.sqrt(np.bincount(cell, scores * (1.0 - scores), n_cells))
    deviation[deviation == 0.0] = 1.0
    correlation = -(matrix.T @ matrix).toarray() / deviation[:, None] / deviation
    np.fill_diagonal(correlation, 1.0)
    return semidefinite_factor(correlation)


def semidefinite_factor(correlation: np.ndarray) -> np.ndarray:
    """Factor a correlation matrix of any rank by Cholesky's method with pivots (Higham 1990)."""
    with one_blas_thread():
        packed, pivot, rank, _ = dpstrf(correlation, lower=1)
    factor = np.empty((len(packed), rank))
    factor[pivot - 1] = np.tril(packed)[:, :rank]
    return factor / np.linalg.norm(factor, axis=1, keepdims=True)


def resample(
    draw_block: Callable[[np.random.Generator, int], T],
    width: int,
    *,
    n_resamples: int,
    random_state: int | np.random.Generator | None,
    progress: Progress | None = None,
) -> list[T]:
    """Call ``draw_block(generator, size)`` on threads until the sizes add up to `n_resamples`.

    Blocks and their random streams depend on `width` and `n_resamples` only: a seed gives the same numbers
    everywhere. `progress` is called in this thread with the share done.
    """
    n_resamples = check_count(n_resamples, "n_resamples")
    size = int(np.clip(BLOCK_ELEMENTS // max(width, 1), 1, 256))
    sizes = [min(size, n_resamples - done) for done in range(0, n_resamples, size)]
    generators = random_generator(random_state).spawn(len(sizes))
    tasks = list(zip(generators, sizes, strict=True))
    results: list[T] = []
    batch = len(tasks) if progress is None else os.cpu_count() or 1
    for begin in range(0, len(tasks), batch):
        results += map_threads(lambda task: draw_block(*task), tasks[begin : begin + batch])
        if progress is not None:
            progress(len(results) / len(tasks))
    return results


class Statistic(Protocol):
    """Something that is measured on outcome sums of its cells."""

    cells: BinStatistics

    def measure(self, sums: np.ndarray) -> np.ndarray:
        """Return k numbers of each column of (C, R) sums, (k, R)."""


def redrawn(statistics: Sequence[Statistic], draw: Draw, width: int, **options: Any) -> list[np.ndarray]:
    """Return each statistic of the same redraws, (k, R); `draw` gives their cells one below the other."""
    stops = np.cumsum([len(each.cells.count) for each in statistics])[:-1]

    def block(generator: np.random.Generator, size: int) -> list[np.ndarray]:
        parts = np.split(draw(generator, size), stops)
        return [each.measure(part) for each, part in zip(statistics, parts, strict=True)]

    blocks = resample(block, width, **options)
    return [np.concatenate(found, axis=-1) for found in zip(*blocks, strict=True)]


def adder(group: np.ndarray, weights: np.ndarray, n_groups: int | None = None) -> sparse.csr_array:
    """Sparse matrix that sums weighted cells into groups."""
    n_groups = int(group.max()) + 1 if n_groups is None else n_groups
    return sparse.csr_array((weights, (group, np.arange(len(group)))), shape=(n_groups, len(group)))
