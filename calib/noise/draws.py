"""Outcomes of a perfect model, redrawn as Bernoulli(score) and summed over the cells of a binning.

Binned calibration errors depend only on the sums in the cells, so sums are drawn, not rows, where possible.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from scipy import sparse

from calib.binning import BinaryProblems, BinStatistics
from calib.parallel import map_threads
from calib.validation import check_count

#: Cells with at most this many entries are drawn entry by entry; larger ones as a matched binomial.
#: Fits int8, in which the small cells are summed.
EXACT_UP_TO = 64

#: Cells of weighted entries are drawn as a normal sum where its variance is at least this many times the
#: square of their largest weight; others entry by entry. Its skewness is then below 0.05.
NORMAL_FROM = 400.0

#: Elements one block of draws may hold; bounds the memory of each thread.
BLOCK_ELEMENTS = 4_000_000

#: Numbers drawn at a time for outcomes that exclude each other, few enough to stay in the cache.
DRAWN_TOGETHER = 60_000

#: Rows whose alias tables are filled together.
ALIAS_ROWS = 2_000

#: Scores of one row may sum to this much above 1 and still be drawn as one categorical outcome.
JOINT_TOLERANCE = 1e-3

#: Rows are drawn systematically where their scores sum to at most this much.
MOST_AT_ONCE = 8

Draw = Callable[[np.random.Generator, int], np.ndarray]
Progress = Callable[[float], object]


def perfect_sums(problems: BinaryProblems, cells: BinStatistics) -> tuple[Draw, int]:
    """Return a function that draws the outcome sums of all cells for a perfect model.

    Parameters
    ----------
    problems, cells : BinaryProblems, BinStatistics
        A reduction and its bin statistics.

    Returns
    -------
    draw : callable
        ``draw(generator, size)`` gives a (C, size) array of sums, one column per redraw.
    width : int
        Elements one redraw touches at a time, from which `resample` bounds its memory.

    Notes
    -----
    With one claim ("confidence", "top-label") entries are independent. With several, the outcomes of a
    row exclude each other: where the scores of every row sum to at most 1, one class (or none) is drawn
    per row, which is exact. Scores of class-wise calibrators can sum to more, and no single class then has
    these scores as its chances: such rows are drawn systematically (`systematic`), so that every class has
    its score as its chance, and a row as many classes as its scores sum to, up to rounding. The mean of
    every l_1 error is exact and its spread nearly so. Entries are drawn independently, with the mean still
    exact, where a row sums to more than `MOST_AT_ONCE`.
    """
    if problems.n_claims > 1:
        totals = np.bincount(problems.rows, weights=problems.scores, minlength=problems.n_samples)
        if totals.max() <= MOST_AT_ONCE:
            return _joint(problems, cells, one_each=totals.max() <= 1.0 + JOINT_TOLERANCE), len(cells.count)
    return independent_sums(problems.scores, cells.start, cells.count, problems.weights)


def independent_sums(
    scores: np.ndarray, start: np.ndarray, count: np.ndarray, weights: np.ndarray | None = None
) -> tuple[Draw, int]:
    """Return a function that draws sums of independent Bernoulli(score) over runs of entries.

    Parameters
    ----------
    scores : (m,) float array
        Scores, grouped by cell.
    start, count : (C,) int arrays
        Where each cell starts, and its entries, at least 1; together the cells tile the scores.
    weights : (m,) float64 array or None
        What each outcome adds to its sum; 1 for None.

    Returns
    -------
    draw, width
        As for `perfect_sums`.

    Notes
    -----
    Cells of at most `EXACT_UP_TO` entries are drawn entry by entry (as uniform float32 numbers, which meet a
    probability to 6e-8), and cells of equal scores as binomials. A larger cell is drawn as a binomial of the
    rarer outcome with the same mean and, up to rounding its number of trials, the same variance. Scores of a
    cell lie within a bin, so the total variation error is small: Ehm (1991), "Binomial approximation to the
    Poisson binomial distribution", bounds it without matching by sum (s - mean)^2 / (count mean (1 - mean)).
    With weights, cells are drawn entry by entry, or as normal sums where `NORMAL_FROM` allows.
    """
    if weights is not None:
        return _weighted_sums(scores, start, count, weights)
    equal = np.minimum.reduceat(scores, start) == np.maximum.reduceat(scores, start)
    small = ~equal & (count <= EXACT_UP_TO)
    entries = _ranges(start[small], count[small])
    thresholds = scores[entries].astype(np.float32)[:, None]
    n_small = int(small.sum())
    bounds = np.concatenate(([0], np.cumsum(count[small])))
    adder = sparse.csr_array(
        (np.ones(len(entries), dtype=np.int8), np.arange(len(entries)), bounds),
        shape=(n_small, len(entries)),
    )
    large = np.flatnonzero(~small)
    trials, chance, of_failures = _matched_binomials(scores, start[large], count[large])

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(count), size), dtype=np.int64)
        hits = generator.random((len(entries), size), dtype=np.float32) < thresholds
        sums[small] = adder @ hits.view(np.int8)
        drawn = generator.binomial(trials[:, None], chance[:, None], size=(len(large), size))
        drawn[of_failures] = count[large[of_failures], None] - drawn[of_failures]
        sums[large] = drawn
        return sums

    return draw, len(entries) + len(count)


def _weighted_sums(
    scores: np.ndarray, start: np.ndarray, count: np.ndarray, weights: np.ndarray
) -> tuple[Draw, int]:
    chance = scores.astype(np.float64)
    mean = np.add.reduceat(weights * chance, start)
    variance = np.add.reduceat(weights**2 * chance * (1.0 - chance), start)
    large = variance >= NORMAL_FROM * np.maximum.reduceat(weights, start) ** 2
    small = ~large
    entries = _ranges(start[small], count[small])
    thresholds = scores[entries].astype(np.float32)[:, None]
    bounds = np.concatenate(([0], np.cumsum(count[small])))
    shape = (int(small.sum()), len(entries))
    adder = sparse.csr_array((weights[entries], np.arange(len(entries)), bounds), shape=shape)
    deviation = np.sqrt(variance[large])

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(count), size))
        hits = generator.random((len(entries), size), dtype=np.float32) < thresholds
        sums[small] = adder @ hits.view(np.int8)
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


def _joint(problems: BinaryProblems, cells: BinStatistics, *, one_each: bool) -> Draw:
    """Draw one class or none per row (or systematically), from each row's scores laid out by claim."""
    n_samples, n_claims, n_cells = problems.n_samples, problems.n_claims, len(cells.count)
    cell_of = np.repeat(np.arange(n_cells, dtype=np.int32), cells.count)
    claims = problems.shape.claims_of(np.arange(problems.n_problems))
    score_at = np.empty((n_samples, n_claims), dtype=problems.scores.dtype)
    # A row without an outcome falls in an extra cell, which is not counted.
    cell_at = np.full((n_samples, n_claims + 1), n_cells, dtype=np.int32)

    def lay_out(claim: int) -> None:
        first, last = np.searchsorted(claims, [claim, claim + 1])
        entries = slice(problems.offsets[first], problems.offsets[last])
        score_at[problems.rows[entries], claim] = problems.scores[entries]
        cell_at[problems.rows[entries], claim] = cell_of[entries]

    map_threads(lay_out, range(n_claims))
    if not one_each:
        score_at, cell_at = systematic(score_at, cell_at)
    draw = exclusive_sums(score_at, cell_at, n_cells + 1, problems.row_weights)
    return lambda generator, size: draw(generator, size)[:-1]


def systematic(scores: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn rows of any sum into outcomes that exclude each other, by systematic sampling (Madow 1949).

    With u uniform on [0, 1), class l happens where u, u + 1, ... hits the interval from the sum of the scores
    before it to the sum up to it: with a chance that is its score. The fractional parts of these sums cut
    [0, 1) into pieces in which always the same classes happen; the pieces are the outcomes.

    Parameters
    ----------
    scores : (n, w) float array
        Scores in [0, 1] of w classes.
    cells : (n, w + 1) int32 array
        Where each class of each row is counted; last, where nothing is.

    Returns
    -------
    chances : (n, w) float64 array
        Lengths of the pieces but the last.
    cells : (n, w + 1, m) int32 array
        Where the m classes at most that happen in each piece are counted.
    """
    n_rows, width = scores.shape
    most = int(np.ceil(scores.sum(axis=1, dtype=np.float64).max()))
    chances = np.empty((n_rows, width))
    counted = np.empty((n_rows, width + 1, most), dtype=np.int32)

    def cut(first: int) -> None:
        block = slice(first, first + ALIAS_ROWS)
        reach = np.cumsum(scores[block], axis=1, dtype=np.float64)
        ends = np.sort(reach % 1.0, axis=1)
        chances[block] = np.diff(ends, axis=1, prepend=0.0)
        edges = np.pad(ends, ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0)))
        points = ((edges[:, 1:] + edges[:, :-1]) / 2.0)[:, :, None] + np.arange(most)
        row = np.arange(len(reach))[:, None]  # rows one after the other, so that one search serves all
        shifted = points + (row * (most + 2))[:, :, None]
        step = np.searchsorted((reach + row * (most + 2)).ravel(), shifted) - (row * width)[:, :, None]
        counted[block] = cells[block][row[:, :, None], step]

    map_threads(cut, range(0, n_rows, ALIAS_ROWS))
    return chances, counted


def exclusive_sums(
    scores: np.ndarray, cells: np.ndarray, n_cells: int, weights: np.ndarray | None = None
) -> Draw:
    """Return a function that draws one of several outcomes per row and counts them in cells.

    Parameters
    ----------
    scores : (n, w) float array
        Chances of w outcomes that exclude each other; the rest to 1 is the chance of another one.
    cells : (n, w + 1) or (n, w + 1, m) int32 array
        Where each outcome of each row is counted, or the m places where it is; the other outcome last.
    n_cells : int
        Number of cells C.
    weights : (n,) float64 array or None
        What each row adds where it is counted; 1 for None.

    Notes
    -----
    The alias method (Walker 1977; Vose 1991) draws with one random number and two look-ups whatever the
    number of outcomes: 33 to 39 ns per row and redraw up to 100 classes, where going through the classes
    takes up to 390 ns and a binary search up to 143 ns. The tables take about 250 ns per score, once.
    """
    n_rows, width = cells.shape[:2]
    places = np.moveaxis(cells.reshape(n_rows, width, -1), 2, 0)
    stays = np.empty((n_rows, width), dtype=np.float32)
    either = np.empty((len(places), n_rows, width, 2), dtype=np.int32)

    def fill(first: int) -> None:
        rows = slice(first, first + ALIAS_ROWS)
        reach = np.minimum(np.cumsum(scores[rows], axis=1, dtype=np.float64), 1.0)
        chance = np.diff(reach, axis=1, prepend=0.0, append=1.0)
        stays[rows], other = _alias_table(chance)
        either[:, rows, :, 1] = np.take_along_axis(places[:, rows], other[None], axis=2)

    either[..., 0] = places
    map_threads(fill, range(0, n_rows, ALIAS_ROWS))
    flat_stays, flat_either = stays.ravel(), either.reshape(len(places), -1)

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.zeros(n_cells * size, dtype=np.int64 if weights is None else np.float64)
        columns = np.arange(size)
        step = max(DRAWN_TOGETHER // size, 1)
        for first in range(0, n_rows, step):
            rows = np.arange(first, min(first + step, n_rows))
            uniform = generator.random((len(rows), size))
            uniform *= width
            entry = uniform.astype(np.int64)
            uniform -= entry
            entry += rows[:, None] * width
            entry = 2 * entry + (uniform >= flat_stays[entry])
            added = 1 if weights is None else np.repeat(weights[rows], size)
            for counted in flat_either:
                np.add.at(sums, (counted[entry].astype(np.int64) * size + columns).ravel(), added)
        return sums.reshape(n_cells, size)

    return draw


def _alias_table(chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each row's chances over its columns: how likely a drawn column stays, and its other column."""
    n_rows, width = chance.shape
    weight = (chance * width).ravel()
    first = np.arange(0, n_rows * width, width)
    order = (first[:, None] + np.argsort(chance * width >= 1.0, axis=1, kind="stable")).ravel()
    stays, other = np.ones(n_rows * width), np.arange(n_rows * width)
    light, heavy = first, first + width - 1
    rest = weight[order[heavy]]
    for _ in range(width - 1):
        fills = rest >= 1.0
        column = np.where(fills, order[light], order[heavy])
        light = light + fills
        heavy = heavy - ~fills
        giver = order[heavy]
        stays[column], other[column] = np.where(fills, weight[column], rest), giver
        rest += np.where(fills, weight[column], weight[giver]) - 1.0
    return stays.reshape(n_rows, width), other.reshape(n_rows, width) % width


def _matched_binomials(
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
        # n p = mean and n p (1 - p) = mean - squares give n = mean^2 / squares, at most count.
        ideal = np.divide(mean * mean, squares, out=counts.astype(np.float64), where=squares > 0)
        trials[block] = np.clip(np.rint(ideal), np.ceil(mean), counts)
        chance[block] = np.minimum(mean / trials[block], 1.0)
        of_failures[block] = failing

    edges = np.searchsorted(np.cumsum(count), np.arange(0, count.sum(), BLOCK_ELEMENTS))
    bounds = np.unique(np.append(edges, len(count)))
    map_threads(match, [slice(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True)])
    return trials, chance, of_failures


def _ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Concatenate the ranges start_i, ..., start_i + count_i - 1."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - (ends - count), count)
