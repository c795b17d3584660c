"""Outcomes of a row that exclude each other (which of its classes is the true one), drawn for many rows.

Few rows are drawn one by one. Of many, those that are alike are drawn together, and where cells are large
enough, their sums are drawn instead of rows: normal ones, with the correlations that exclusion brings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from scipy.special import bdtr, ndtr

from calib.base.parallel import busy_slices, map_threads, row_slices
from calib.data.matrices import row_sums
from calib.data.notions import NotionShape
from calib.data.validation import check_count
from calib.evidence.binning import (
    BinaryProblems,
    BinFinder,
    BinStatistics,
    bin_columns,
    bin_columns_with_squares,
    uniform_edges,
)
from calib.evidence.draws import (
    NORMAL_FROM,
    Draw,
    independent_sums,
    matched_binomials,
    matched_of_sums,
    sums_of_cells,
)

#: Numbers drawn at a time for outcomes that exclude each other, few enough to stay in the cache, and in how
#: many redraws of their rows.
DRAWN_TOGETHER, REDRAWN_TOGETHER = 60_000, 16

#: Rows whose alias tables are filled together.
ALIAS_ROWS = 2_000

#: Scores of one row may sum to this much above 1 and still be drawn as one categorical outcome.
JOINT_TOLERANCE = 1e-3

#: Rows are drawn systematically where their scores sum to at most this much.
MOST_AT_ONCE = 8

#: Sums are drawn instead of rows from this many rows on, and of few scores from the square of the cells
#: over `CELLS_SQUARED` on, below which rows take less time; never of more than `CELLS_TOGETHER` cells. Means
#: of floors differ by 0.03 of their spread at most, 95 % quantiles by 0.07, as those of 1,000 redraws do.
ROWS_AS_SUMS = 2_500
CELLS_SQUARED = 75
CELLS_TOGETHER = 2_000

#: Fewest and most rows from which the correlations of sums are taken, and their scores in between: an error
#: of a few per cent of a correlation moves no floor.
CORRELATION_ROWS, CORRELATION_SCORES = (2_000, 20_000), 4_000_000

#: A product of two entries costs so many times as much in a sparse matrix as in a dense one, of which blocks
#: of so many entries are made.
DENSE, BLOCK = 30, 4_000_000

#: Of more cells, scores below `FAINT` are drawn on their own where there are at least so many scores.
MANY_SCORES, FAINT = 1_000_000, 1.0 / 64.0

#: Rows count as alike where arcsin(sqrt(score)) lies on the same of so many steps for all their scores.
#: Taken as equal, their sums have 0.3 % less variance at most.
STEPS = 16

#: So many rows must be alike before they are drawn together.
ALIKE = 16


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
    per row, which is exact. From `ROWS_AS_SUMS` rows on sums are drawn instead of rows, each with the
    distribution that it has without the others (a rounded normal, or a matched binomial if its variance is
    below `NORMAL_FROM`), and with the correlations of exclusion (a Gaussian copula). With too many cells for
    that, scores below `FAINT` are drawn independently, the others row by row.
    Scores of class-wise calibrators can sum to more, and no single class then has these scores as its
    chances: such rows are drawn systematically (`systematic`), so that every class has its score as its
    chance, and a row as many classes as its scores sum to, up to rounding. The mean of every l_1 error is
    exact and its spread nearly so. Entries are drawn independently, with the mean still exact, where a row
    sums to more than `MOST_AT_ONCE`. Where several classes of a row can be true, scores do not say which come
    together: see `together`.
    """
    if problems.notion == "class-wise" and problems.n_claims > 1:
        true = np.bincount(problems.rows[problems.outcomes], minlength=problems.n_samples)
        if (true != 1).any():
            return together(problems, cells), len(problems.scores)
    if problems.n_claims > 1:
        totals = _row_totals(problems)
        one_each, n_cells = bool(totals.max() <= 1.0 + JOINT_TOLERANCE), len(cells.count)
        if one_each and problems.weights is None:
            many = len(problems.scores) >= MANY_SCORES
            enough = ROWS_AS_SUMS if many else max(ROWS_AS_SUMS, n_cells**2 // CELLS_SQUARED)
            if n_cells <= CELLS_TOGETHER and problems.n_samples >= enough:
                matched = matched_binomials(problems.scores, cells.start, cells.count)
                return _correlated(cells.count, matched, _factor_of_problems(problems, cells)), n_cells
            if n_cells > CELLS_TOGETHER and many:
                return _with_faint_apart(problems, cells)
        if totals.max() <= MOST_AT_ONCE:
            return _joint(problems, cells, one_each=one_each), n_cells
    return independent_sums(problems.scores, cells.start, cells.count, problems.weights)


def _row_totals(problems: BinaryProblems) -> np.ndarray:
    """Sum of the scores of each row, (n,) float64."""

    def totals(entries: slice) -> np.ndarray:
        return np.bincount(problems.rows[entries], problems.scores[entries], problems.n_samples)

    return np.sum(map_threads(totals, row_slices(len(problems.scores))), axis=0)


def together(problems: BinaryProblems, cells: BinStatistics) -> Draw:
    """Return a function that draws all classes of a row from one uniform number: class l where u < score.

    Each class has its score as its chance, so means are exact. No two classes can come together more often
    (the upper bound of Frechet and Hoeffding), so the spread is that of labels that depend on each other, and
    a p-value errs towards "not distinguishable from noise".
    """
    scores, rows, weights = problems.scores, problems.rows, problems.weights

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.empty((len(cells.start), size))
        for column in range(size):
            hits = generator.random(problems.n_samples)[rows] < scores
            counted = hits.astype(np.float64) if weights is None else hits * weights
            sums[:, column] = np.add.reduceat(counted, cells.start)
        return sums

    return draw


def _correlated(
    count: np.ndarray, matched: tuple[np.ndarray, np.ndarray, np.ndarray], factor: np.ndarray
) -> Draw:
    """Draw the sums of all cells by a Gaussian copula.

    Given are the entries of each cell, what `matched_binomials` returns of them, and the factor of the
    correlations of their sums.
    """
    trials, chance, of_failures = matched
    mean = trials * chance
    variance = mean * (1.0 - chance)
    sign = np.where(of_failures, -1.0, 1.0)
    small = variance < NORMAL_FROM
    most = np.minimum(np.ceil(mean + 10.0 * np.sqrt(variance) + 12.0), trials)[small].astype(np.int64)
    begins = np.cumsum(most) - most
    index = np.repeat(np.arange(len(most)), most)
    reach = index + bdtr(np.arange(len(index)) - begins[index], trials[small][index], chance[small][index])
    mean, deviation = np.where(of_failures, count - mean, mean)[:, None], np.sqrt(variance)[:, None]

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        normal = factor @ generator.standard_normal((factor.shape[1], size))
        sums = mean + deviation * normal
        np.rint(sums, out=sums)
        level = ndtr(sign[small, None] * normal[small]) + np.arange(len(most))[:, None]
        drawn = np.searchsorted(reach, level) - begins[:, None]
        failures = of_failures[small]
        drawn[failures] = count[small][failures, None] - drawn[failures]
        sums[small] = drawn
        return sums

    return draw


def _correlated_rows(n_samples: int, n_claims: int) -> np.ndarray:
    """Return the rows from which correlations of sums are taken."""
    n_rows = min(n_samples, int(np.clip(CORRELATION_SCORES // n_claims, *CORRELATION_ROWS)))
    return np.random.default_rng(0).choice(n_samples, n_rows, replace=False)


def _factor_of_problems(problems: BinaryProblems, cells: BinStatistics) -> np.ndarray:
    chosen = _correlated_rows(problems.n_samples, problems.n_claims)
    place = np.full(problems.n_samples, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen))
    at = place[problems.rows]
    entries = np.flatnonzero(at >= 0)
    cell = np.repeat(np.arange(len(cells.count)), cells.count)[entries]
    return _correlation_factor(at[entries], cell, problems.scores[entries], len(cells.count))


def _correlation_factor(row: np.ndarray, cell: np.ndarray, scores: np.ndarray, n_cells: int) -> np.ndarray:
    """Factor of the correlations of the cells' sums, from all entries of some rows."""
    scores = scores.astype(np.float64)
    scores /= np.maximum(np.bincount(row, scores), 1.0)[row]
    matrix = sparse.csr_array((scores, (row, cell)), shape=(int(row.max()) + 1, n_cells))
    deviation = np.sqrt(np.bincount(cell, scores * (1.0 - scores), n_cells))
    deviation[deviation == 0.0] = 1.0
    correlation = -_products_of_columns(matrix) / deviation[:, None] / deviation
    np.fill_diagonal(correlation, 1.0)
    return semidefinite_factor(correlation)


def semidefinite_factor(correlation: np.ndarray) -> np.ndarray:
    """Factor a correlation matrix of any rank by Cholesky's method with pivots (Higham 1990).

    What is left of a variance at the rounding of the matrix is 0, so that rows and columns that depend on
    each other, and eigenvalues that rounding made negative, are no error.

    Parameters
    ----------
    correlation : (C, C) float64 array
        Symmetric, with 1 on the diagonal.

    Returns
    -------
    (C, r) float64 array
        Rows of length 1, whose products are the correlations; r is the rank.
    """
    packed, pivot, rank, _ = dpstrf(correlation, lower=1)
    factor = np.empty((len(packed), rank))
    factor[pivot - 1] = np.tril(packed)[:, :rank]
    return factor / np.linalg.norm(factor, axis=1, keepdims=True)


def _products_of_columns(matrix: sparse.csr_array) -> np.ndarray:
    """Return the products of all pairs of columns, summed over rows; by dense blocks if few entries are 0."""
    n_rows, n_columns = matrix.shape
    if DENSE * matrix.nnz**2 < (n_rows * n_columns) ** 2:
        return (matrix.T @ matrix).toarray()
    total = np.zeros((n_columns, n_columns))
    step = max(BLOCK // n_columns, 1)
    for first in range(0, n_rows, step):
        block = matrix[first : first + step].toarray()
        total += block.T @ block
    return total


def _with_faint_apart(problems: BinaryProblems, cells: BinStatistics) -> tuple[Draw, int]:
    """Draw scores below `FAINT` independently, and one class or none per row from the others."""
    n_samples, n_cells = problems.n_samples, len(cells.count)
    clear = problems.scores >= FAINT
    bounds = np.append(cells.start, len(clear))
    n_faint = cells.count - np.add.reduceat(clear, cells.start, dtype=np.int64)
    has_faint = np.flatnonzero(n_faint)
    draw_faint, width = independent_sums(problems.scores, cells.start[has_faint], n_faint[has_faint])
    entries = np.flatnonzero(clear)
    row, cell = problems.rows[entries], np.searchsorted(bounds, entries, side="right") - 1
    order = np.argsort(row, kind="stable")
    draw_clear = _clear_sums(row[order], cell[order], problems.scores[entries[order]], n_samples, n_cells)
    return _added(draw_clear, draw_faint, has_faint), n_cells + width


def are_many(scores: Any) -> bool:
    """Whether rows hold as many scores as `column_sums` needs: fewer are not worth looking at twice."""
    return getattr(getattr(scores, "proba", scores), "size", 0) >= MANY_SCORES


def column_sums(
    matrix: np.ndarray, true: np.ndarray, n_bins: int
) -> tuple[BinStatistics, tuple[Draw, int]] | None:
    """Bin many class-wise problems, and do as `perfect_sums` does, without sorting.

    Where it sets faint scores apart, those of a class are drawn as `sums_of_cells` does.

    Parameters
    ----------
    matrix : (n, L) float32 or float64 array
        Scores.
    true : (n,) int64 or (n, L) bool array
        True classes.
    n_bins : int
        Equal-width bins B.

    Returns
    -------
    cells, (draw, width)
        As of `bin_columns` and of `perfect_sums`; None where `perfect_sums` would draw row by row, or faint
        scores share a bin with others.
    """
    n_samples, n_columns = matrix.shape
    n_bins = check_count(n_bins, "n_bins")
    shape = NotionShape("class-wise", n_columns)
    together = n_columns * n_bins <= CELLS_TOGETHER
    if not are_many(matrix) or true.ndim == 2 or n_columns == 1:
        return None
    if n_samples < ROWS_AS_SUMS if together else n_bins * FAINT > 1.0:
        return None
    if row_sums(matrix).max() > 1.0 + JOINT_TOLERANCE:
        return None
    if together:
        return _correlated_columns(matrix, *bin_columns_with_squares(matrix, true, shape, n_bins))
    cells = bin_columns(matrix, true, shape, n_bins)
    n_cells = len(cells.count)
    if n_cells <= CELLS_TOGETHER:
        return None

    def part(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        block = np.ascontiguousarray(matrix[rows])
        clear = block >= FAINT
        faint = np.where(clear, block.dtype.type(0), block)
        at = np.flatnonzero(clear)
        sums = faint.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", faint, faint).astype(np.float64)
        return at + rows.start * n_columns, block.ravel()[at], *sums

    parts = map_threads(part, busy_slices(n_samples, n_columns, matrix.itemsize))
    at, scores = (np.concatenate([part[index] for part in parts]) for index in (0, 1))
    sums, squares = (np.sum([part[index] for part in parts], axis=0) for index in (2, 3))
    row, column = np.divmod(at, n_columns)
    n_faint = n_samples - np.bincount(column, minlength=n_columns)
    has_faint = np.flatnonzero(n_faint)
    draw_faint, width = sums_of_cells(n_faint[has_faint], sums[has_faint], squares[has_faint])
    cell_at, cell = _cells_at(cells, column, scores)
    draw_clear = _clear_sums(row, cell, scores, n_samples, n_cells)
    return cells, (_added(draw_clear, draw_faint, cell_at[has_faint * n_bins]), n_cells + width)


def _correlated_columns(
    matrix: np.ndarray, cells: BinStatistics, squares: np.ndarray
) -> tuple[BinStatistics, tuple[Draw, int]]:
    """Return what `column_sums` does, of cells that are few enough to be drawn together."""
    chosen = _correlated_rows(*matrix.shape)
    row, column = np.divmod(np.arange(len(chosen) * matrix.shape[1]), matrix.shape[1])
    scores = matrix[chosen].ravel()
    factor = _correlation_factor(row, _cells_at(cells, column, scores)[1], scores, len(cells.count))
    matched = matched_of_sums(cells.count, cells.count * cells.mean_score, squares)
    return cells, (_correlated(cells.count, matched, factor), len(cells.count))


def _cells_at(cells: BinStatistics, column: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each column and bin, column times B plus bin, -1 where empty, and that of scores."""
    cell_at = np.full(cells.shape.n_problems * cells.n_bins, -1)
    cell_at[cells.problem * cells.n_bins + cells.bin] = np.arange(len(cells.count))
    find = BinFinder(uniform_edges(cells.n_bins), scores.dtype)
    return cell_at, cell_at[column * cells.n_bins + find(scores)]


def _clear_sums(row: np.ndarray, cell: np.ndarray, scores: np.ndarray, n_samples: int, n_cells: int) -> Draw:
    """Draw one class or none per row from its clear scores, whose rows do not descend."""
    per_row = np.bincount(row, minlength=n_samples)
    column = np.arange(len(row)) - (np.cumsum(per_row) - per_row)[row]
    score_at = np.zeros((n_samples, per_row.max(initial=0)), dtype=scores.dtype)
    cell_at = np.full((n_samples, score_at.shape[1] + 1), n_cells, dtype=np.int32)
    score_at[row, column], cell_at[row, column] = scores, cell
    return exclusive_sums(score_at, cell_at, n_cells + 1)


def _added(draw_clear: Draw, draw_faint: Draw, has_faint: np.ndarray) -> Draw:
    """Add the sums of faint scores to those of clear ones, which have one cell more."""

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = draw_clear(generator, size)[:-1]
        sums[has_faint] += draw_faint(generator, size)
        return sums

    return draw


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
    The alias method (Walker 1977; Vose 1991) draws with one random number (uniform float32, which meets a
    chance to 6e-8) and two look-ups whatever the number of outcomes: in a tenth of the time of going through
    100 classes, a third of that of a binary search. A score takes as long as six draws, once, for the tables.
    Rows of weight 1 that are alike (`ALIKE`, `STEPS`) are drawn together, as one multinomial.
    """
    if weights is None and (alike := _alike(scores, cells)) is not None:
        return _in_groups(scores, cells, n_cells, alike)
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

    step = max(DRAWN_TOGETHER // REDRAWN_TOGETHER, n_cells)

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        sums = np.zeros((n_cells, size), dtype=np.int64 if weights is None else np.float64)
        for begin in range(0, size, REDRAWN_TOGETHER):
            columns = np.arange(begin, min(begin + REDRAWN_TOGETHER, size), dtype=np.int32) - begin
            for first in range(0, n_rows, step):
                rows = np.arange(first, min(first + step, n_rows))
                uniform = generator.random((len(rows), len(columns)), dtype=np.float32)
                uniform *= np.float32(width)
                entry = uniform.astype(np.int64)
                uniform -= entry
                entry += rows[:, None] * width
                other = uniform >= flat_stays.take(entry)
                entry *= 2
                entry += other
                added = None if weights is None else np.repeat(weights[rows], len(columns))
                for counted in flat_either:
                    place = counted.take(entry)
                    place *= len(columns)
                    place += columns
                    drawn = np.bincount(place.ravel(), added, n_cells * len(columns))
                    sums[:, begin : begin + len(columns)] += drawn.reshape(n_cells, -1)
        return sums

    return draw


def _alike(scores: np.ndarray, cells: np.ndarray) -> np.ndarray | None:
    """Give rows of the same cells and nearly the same scores one number; None where few rows share one."""
    n_rows = len(cells)
    steps = np.arcsin(np.sqrt(np.clip(scores, 0.0, 1.0))) * (2.0 / np.pi * STEPS)
    group = np.zeros(n_rows, dtype=np.int64)
    for column in (*cells.reshape(n_rows, -1).T, *np.minimum(steps.astype(np.int64), STEPS - 1).T):
        group, distinct = pd.factorize(group * (int(column.max(initial=0)) + 1) + column)
        if len(distinct) > n_rows // ALIKE:
            return None
    return group


def _in_groups(scores: np.ndarray, cells: np.ndarray, n_cells: int, group: np.ndarray) -> Draw:
    """Draw groups of at least `ALIKE` rows as multinomials, the other rows one by one."""
    count = np.bincount(group)
    numbers = np.cumsum(count >= ALIKE) - 1
    large = count[group] >= ALIKE
    group, count = numbers[group[large]], count[count >= ALIKE]
    first = np.empty(len(count), dtype=np.int64)
    first[group[::-1]] = np.flatnonzero(large)[::-1]
    sums = [np.bincount(group, column) for column in scores[large].T]
    reach = np.minimum(np.cumsum(np.array(sums).reshape(-1, len(count)).T / count[:, None], axis=1), 1.0)
    chance = np.diff(reach, axis=1, prepend=0.0, append=1.0)
    width = chance.shape[1]
    places = cells[first].reshape(chance.size, -1)
    entry = np.repeat(np.arange(chance.size), places.shape[1])
    added = sparse.csc_array(
        (np.ones(places.size, np.int64), (places.ravel(), entry)), (n_cells, chance.size)
    )
    one_by_one = exclusive_sums(scores[~large], cells[~large], n_cells) if not large.all() else None

    def draw(generator: np.random.Generator, size: int) -> np.ndarray:
        if one_by_one is None:
            sums = np.zeros((n_cells, size), dtype=np.int64)
        else:
            sums = one_by_one(generator, size)
        step = max(4 * DRAWN_TOGETHER // (size * width), 1)
        for begin in range(0, len(count), step):
            some = slice(begin, begin + step)
            drawn = generator.multinomial(
                count[some, None], chance[some, None], size=(len(count[some]), size)
            )
            entries = drawn.transpose(0, 2, 1).reshape(-1, size)
            sums += added[:, begin * width : begin * width + len(entries)] @ entries
        return sums

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
