"""Outcomes of a perfect model, redrawn as Bernoulli(score) and summed over the cells of a binning.

Binned calibration errors depend only on the sums in the cells, so sums are drawn, not rows, where possible.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from calib.base.parallel import map_threads
from calib.data.validation import check_count

#: Cells with at most this many entries are drawn entry by entry; larger ones as a matched binomial.
#: Fits int8, in which the small cells are summed.
EXACT_UP_TO = 64

#: Cells of weighted entries are drawn as a normal sum where its variance is at least this many times the
#: square of their largest weight; others entry by entry. Its skewness is then below 0.05.
NORMAL_FROM = 400.0

#: Elements one block of draws may hold; bounds the memory of each thread.
BLOCK_ELEMENTS = 4_000_000

#: Entries of small cells that are drawn at once: arrays beyond 4 MB would be new memory each time.
PART = 4096

#: Values of 16 random bits.
SIXTEEN_BITS = 1 << 16

Draw = Callable[[np.random.Generator, int], np.ndarray]
Progress = Callable[[float], object]


def independent_sums(
    scores: np.ndarray, start: np.ndarray, count: np.ndarray, weights: np.ndarray | None = None
) -> tuple[Draw, int]:
    """Return a function that draws sums of independent Bernoulli(score) over runs of entries.

    Parameters
    ----------
    scores : (m,) float array
        Scores, grouped by cell.
    start, count : (C,) int arrays
        Where each cell starts, ascending, and its entries, at least 1.
    weights : (m,) float64 array or None
        What each outcome adds to its sum; 1 for None.

    Returns
    -------
    draw, width
        As for `calib.evidence.exclusive.perfect_sums`.

    Notes
    -----
    Cells of at most `EXACT_UP_TO` entries are drawn entry by entry (`hits`), and cells of equal scores as
    binomials. A larger cell is drawn as a binomial of the rarer outcome with the same mean and, up to
    rounding its number of trials, the same variance. Scores of a cell lie within a bin, so the total
    variation error is small: Ehm (1991), "Binomial approximation to the Poisson binomial distribution",
    bounds it without matching by sum (s - mean)^2 / (count mean (1 - mean)). With weights, cells are drawn
    entry by entry, or as normal sums where `NORMAL_FROM` allows. There are few steps, each on all entries: a
    thread that takes many waits as often for the others.
    """
    if weights is not None:
        return _weighted_sums(scores, start, count, weights)
    ends = np.column_stack([start, start + count]).ravel()
    ends = ends[: len(ends) - (ends[-1:] == len(scores)).sum()]
    equal = np.minimum.reduceat(scores, ends)[::2] == np.maximum.reduceat(scores, ends)[::2]
    equal &= count > 1  # one entry is a uniform number below its score, a tenth of the work of a binomial
    small = ~equal & (count <= EXACT_UP_TO)
    entries = _ranges(start[small], count[small])
    parts = list(_small_sums(np.flatnonzero(small), scores[entries], count[small]))
    large = np.flatnonzero(~small)
    trials, chance, of_failures = matched_binomials(scores, start[large], count[large])
    integer = np.int16 if count.max(initial=0) < 1 << 15 else np.int64

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(count), size), dtype=integer)
        for cells, chances, ones in parts:
            sums[cells] = ones @ hits(generator, chances, size).view(np.int8)
        drawn = generator.binomial(trials[:, None], chance[:, None], size=(len(large), size))
        drawn[of_failures] = count[large[of_failures], None] - drawn[of_failures]
        sums[large] = drawn
        return sums

    return draw, len(entries) + len(count)


def _small_sums(
    cells: np.ndarray, scores: np.ndarray, count: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, sparse.csr_array]]:
    """Give runs of cells of about `PART` entries, the scores of these, and what adds them up, as int8."""
    bounds = np.concatenate(([0], np.cumsum(count)))
    cuts = np.append(np.unique(np.searchsorted(bounds, np.arange(0, len(scores), PART))), len(cells))
    for low, high in pairwise(cuts.tolist()):
        first, width = bounds[low], int(bounds[high] - bounds[low])
        ones = sparse.csr_array(
            (np.ones(width, dtype=np.int8), np.arange(width), bounds[low : high + 1] - first),
            shape=(high - low, width),
        )
        yield cells[low:high], scores[first:][:width], ones


def hits(generator: np.random.Generator, chance: np.ndarray, size: int) -> np.ndarray:
    """Draw whether events of (m,) chances happen, (m, size) bool.

    A chance is compared with 16 random bits, which take a third of the time of a number. For that it is
    rounded to a multiple of 2^-16, up or down at random: an event happens as often as its chance says. All
    draws of a call share this rounding.
    """
    threshold = (chance * SIXTEEN_BITS + generator.random(len(chance))).astype(np.int64)
    words = -(-len(chance) * size // 4)
    bits = generator.integers(0, 2**64, size=words, dtype=np.uint64).view(np.uint16)
    happen = bits[: len(chance) * size].reshape(-1, size) < threshold.astype(np.uint16)[:, None]
    happen[threshold >= SIXTEEN_BITS] = True
    return happen


def _weighted_sums(
    scores: np.ndarray, start: np.ndarray, count: np.ndarray, weights: np.ndarray
) -> tuple[Draw, int]:
    chance = scores.astype(np.float64)
    mean = np.add.reduceat(weights * chance, start)
    variance = np.add.reduceat(weights**2 * chance * (1.0 - chance), start)
    large = variance >= NORMAL_FROM * np.maximum.reduceat(weights, start) ** 2
    small = ~large
    entries = _ranges(start[small], count[small])
    chances = scores[entries]
    bounds = np.concatenate(([0], np.cumsum(count[small])))
    shape = (int(small.sum()), len(entries))
    adder = sparse.csr_array((weights[entries], np.arange(len(entries)), bounds), shape=shape)
    deviation = np.sqrt(variance[large])

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(count), size))
        sums[small] = adder @ hits(generator, chances, size).view(np.int8)
        normal = generator.standard_normal((len(deviation), size))
        sums[large] = mean[large, None] + deviation[:, None] * normal
        return sums

    return draw, 8 * (len(entries) + len(count))


def resample(
    draw_block: Callable[[np.random.Generator, int], np.ndarray],
    width: int,
    *,
    n_resamples: int,
    random_state: int | np.random.Generator | None,
    progress: Progress | None = None,
) -> list[np.ndarray]:
    """Call ``draw_block(generator, size)`` on threads until the sizes add up to `n_resamples`.

    Blocks and their random streams depend on `width` and `n_resamples` only: a seed gives the same numbers
    everywhere. `progress` is called in this thread with the share done.
    """
    n_resamples = check_count(n_resamples, "n_resamples")
    size = int(np.clip(BLOCK_ELEMENTS // max(width, 1), 1, 256))
    sizes = [min(size, n_resamples - done) for done in range(0, n_resamples, size)]
    generators = np.random.default_rng(random_state).spawn(len(sizes))
    tasks = list(zip(generators, sizes, strict=True))
    results: list[np.ndarray] = []
    batch = len(tasks) if progress is None else os.cpu_count() or 1
    for begin in range(0, len(tasks), batch):
        results += map_threads(lambda task: draw_block(*task), tasks[begin : begin + batch])
        if progress is not None:
            progress(len(results) / len(tasks))
    return results


def adder(group: np.ndarray, weights: np.ndarray, n_groups: int | None = None) -> sparse.csr_array:
    """Sparse matrix that sums weighted cells into groups."""
    n_groups = int(group.max()) + 1 if n_groups is None else n_groups
    return sparse.csr_array((weights, (group, np.arange(len(group)))), shape=(n_groups, len(group)))


def matched_binomials(
    scores: np.ndarray, start: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trials and chance of a binomial with each cell's mean and variance; True where it counts failures."""
    trials = np.empty(len(count), dtype=np.int64)
    chance = np.empty(len(count))
    of_failures = np.empty(len(count), dtype=bool)

    def match(block: slice) -> None:
        counts = count[block]
        sides = scores[_ranges(start[block], counts)].astype(np.float64)
        begins = np.cumsum(counts) - counts
        failing = np.add.reduceat(sides, begins) > counts / 2
        flipped = np.repeat(failing, counts)
        sides[flipped] = 1.0 - sides[flipped]
        mean = np.add.reduceat(sides, begins)
        squares = np.add.reduceat(sides * sides, begins)
        trials[block], chance[block] = binomials_of_sums(counts, mean, squares)
        of_failures[block] = failing

    edges = np.searchsorted(np.cumsum(count), np.arange(0, count.sum(), BLOCK_ELEMENTS))
    bounds = np.unique(np.append(edges, len(count)))
    map_threads(match, [slice(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True)])
    return trials, chance, of_failures


def binomials_of_sums(
    count: np.ndarray, mean: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Trials and chance of a binomial with the mean and variance of the outcomes of each cell.

    `mean` and `squares` are the sums of the chances of its entries, and of the squares of these.
    """
    # n p = mean and n p (1 - p) = mean - squares give n = mean^2 / squares, at most count.
    ideal = np.divide(mean * mean, squares, out=count.astype(np.float64), where=squares > 0)
    trials = np.clip(np.rint(ideal), np.ceil(mean), count).astype(np.int64)
    return trials, np.minimum(mean / np.maximum(trials, 1), 1.0)


def matched_of_sums(
    count: np.ndarray, score: np.ndarray, square: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `matched_binomials` does, given the arguments of `sums_of_cells`."""
    failing = score > count / 2
    mean = np.clip(np.where(failing, count - score, score), 0.0, count)
    squares = np.maximum(np.where(failing, count - 2.0 * score + square, square), 0.0)
    return *binomials_of_sums(count, mean, squares), failing


def sums_of_cells(count: np.ndarray, score: np.ndarray, square: np.ndarray) -> tuple[Draw, int]:
    """Return a function that draws sums of outcomes of cells whose entries are not at hand.

    Parameters
    ----------
    count : (C,) int64 array
        Entries of each cell, at least 1.
    score, square : (C,) float64 arrays
        Sums of their scores and of the squares of these.

    Returns
    -------
    draw, width
        As for `independent_sums`.

    Notes
    -----
    Every cell is drawn as `independent_sums` draws its larger ones: as a binomial of the rarer outcome with
    the same mean and, up to rounding its number of trials, the same variance.
    """
    trials, chance, failing = matched_of_sums(count, score, square)

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = generator.binomial(trials[:, None], chance[:, None], size=(len(count), size))
        sums[failing] = count[failing, None] - sums[failing]
        return sums

    return draw, len(count)


def weighted_sums_of_cells(weight: np.ndarray, score: np.ndarray, variance: np.ndarray) -> tuple[Draw, int]:
    """Return a function that draws weighted sums of outcomes of cells whose entries are not at hand.

    Parameters
    ----------
    weight, score, variance : (C,) float64 arrays
        Sums over the entries of each cell of their weights w, of w s and of w^2 s (1 - s), s the score.

    Returns
    -------
    draw, width
        As for `independent_sums`.

    Notes
    -----
    A cell is drawn as a binomial of as many entries of one weight as give its mean and, up to rounding their
    number, its variance.
    """
    chance = np.clip(score / weight, 0.0, 1.0)
    entries = np.divide(
        weight**2 * chance * (1.0 - chance), variance, out=np.ones(len(weight)), where=variance > 0
    )
    trials = np.maximum(np.rint(entries), 1.0).astype(np.int64)
    each = (weight / trials)[:, None]

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        return each * generator.binomial(trials[:, None], chance[:, None], size=(len(weight), size))

    return draw, len(weight)


def _ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Concatenate the ranges start_i, ..., start_i + count_i - 1."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - (ends - count), count)
