"""Intervals of calibration errors, valid for every true error; the plug-in error is not resampled.

The estimand is the error of these bins given these scores: cell c holds a share w_c of the entries, and D_c
is the mean over its rows of P(outcome | row) minus the mean score. The l1 error is theta = sum w_c |D_c|, the
l2 error the root of sum w_c D_c^2. Shares sum to 1 over all claims (Kumar, Liang & Ma 2019). With weights,
shares and means are weighted, and (sum w)^2 / sum w^2 rows are effective (Kish 1965).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_BINS
from calib.data.notions import Notion, Strategy
from calib.data.predictions import ConfidencePrediction, Scores, Values
from calib.data.validation import check_level
from calib.evidence.binning import BinaryProblems, BinStatistics
from calib.evidence.clusters import (
    MAX_CORRELATION,
    Clusters,
    Dependence,
    even_clusters_of,
    outcome_correlation,
)
from calib.evidence.group_shares import Shares
from calib.evidence.row_scores import weighted_mean
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.stats.bootstrap import bootstrap_interval, with_unseen_errors
from calib.stats.effective import rows_with_unseen
from calib.stats.floors import CellMetric
from calib.stats.frequencies import binomial_deviation, folded_inverse, wilson_interval
from calib.stats.measures import MEASURES, Measure

#: Fewest expected outcomes of either kind in a cell that may show a gap beyond noise.
_ENOUGH = 3.0
#: Shares of the outcomes' variance that differences between the chances of a cell's rows may cause.
BETWEEN_ROWS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Fewest clusters with the rarer outcome that show a correlation, and the quantile of it that counts.
_ENOUGH_CLUSTERS, _CORRELATED = 5, 0.85
#: Largest skewness that intervals allow for; a squared normal number has 2.8.
MAX_SKEWNESS = 2.0
#: Smallest p-value that `smallest_alpha` tells apart from 0.
SMALLEST_P = 1e-15


@dataclass(frozen=True, repr=False)
class ErrorInterval(Result):
    """A calibration error with an interval that is valid for it."""

    #: Notion of the error, and how scores were binned
    notion: str
    strategy: str
    #: Requested bins per problem, and rows
    n_bins: int
    n_samples: int
    norm: int  #: 1 for the ECE, 2 for the l2 error
    #: The plug-in error, as `calib.ece` gives it for ``norm=1``; noise makes it too large on average
    observed: float
    estimate: float  #: Estimate without the noise; for ``norm=2`` the root of the debiased squared error
    #: Ends of the interval, in [0, 1]
    lower: float
    upper: float
    level: float  #: Its coverage


_Number = TypeVar("_Number", float, np.ndarray)


def error_interval(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    norm: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> ErrorInterval:
    """Return an interval of a calibration error.

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, sample_weight, cluster
        As for `calib.noise_floor`.
    norm : {1, 2}
        1 for the ECE, 2 for the l2 error (the root of the mean squared gap).
    level : float in (0, 1)
        Coverage.

    Notes
    -----
    For ``norm=1``, with T the plug-in error, S the share-weighted standard errors of the cells and F the
    share-weighted mean absolute deviations of binomials with the cells' sizes and mean scores:

    - T is at most theta + F on average: Hoeffding (1956) bounds each cell's mean absolute deviation by the
      binomial's. The lower end is T minus F and z standard errors. If cells show gaps that noise does not
      explain, their share of F is subtracted only as far as noise can matter there.
    - T is at least S m(theta / S) on average, m(d) the mean of the absolute value of a N(d, 1): both sides
      are convex. The upper end inverts m at T (at least F) plus z standard errors of gaps as far from 0 as
      the upper end allows. Their variance is the one at that end, as in Wilson's interval of a share (1927).

    For ``norm=2`` the estimate is the U-statistic of Sun, Chaudhari, Barnett & Dobriban (arXiv 2408.08998),
    and the interval holds the squared errors t >= 0 whose variance, B + a t + b t^2, explains the distance
    from it: B is the variance of a calibrated model (rate n), a t of a miscalibrated model (rate sqrt n). The
    inversion is this library's. Cells of one row are pooled with a neighbour.

    Scores do not show how much of a cell's variance lies between its rows: a label that people agree on is
    not random. The ends are therefore the farthest over the shares `BETWEEN_ROWS` of the variance.

    With clusters, cells have the variance of dependent rows and the upper end is T plus
    `_reach_of_clusters` or more (``norm=1``), or pairs of different clusters make the square and its variance
    (``norm=2``, `ClusterSquares`), with Student's quantile.
    """
    if norm not in (1, 2):
        raise InputError(f"norm must be 1 (ECE) or 2 (l2 error) for an interval; got {norm!r}")
    alpha = 1.0 - check_level(level)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    z = float(ndtri(1.0 - alpha / 2.0) / np.sqrt(few_clusters_factor(evidence.even_clusters, alpha)))
    cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy)
    limits = _l1_limits if norm == 1 else _l2_limits
    observed, estimate, lower, upper = limits(evidence, cells, z)
    lower, upper = min(max(lower, 0.0), 1.0), min(upper, 1.0)
    numbers = float(observed), float(min(max(estimate, lower), upper)), float(lower), float(upper)
    return ErrorInterval(*cells.binning, cells.n_samples, norm, *numbers, level)


def _l1_limits(evidence: Evidence, cells: BinStatistics, z: float) -> tuple[float, float, float, float]:
    count, share, score, outcome = cells.effective, cells.share, cells.mean_score, cells.mean_outcome
    gap = np.abs(cells.gap)
    observed = float(share @ gap)
    largest_bias = binomial_deviation(count, score)
    floor = float(share @ largest_bias)
    shrunk = (count * outcome + score) / (count + 1.0)
    deviation = np.sqrt(np.clip(shrunk * (1.0 - shrunk), 0.0, None) / count)
    x = np.divide(gap, deviation, out=np.zeros_like(gap), where=deviation > 0)
    # Variance of |gap| over variance of the gap.
    folded = _folded_variance(x)
    squares = (share * deviation) ** 2
    inside = float(squares @ folded)
    variance = inside
    if cells.n_claims > 1 or evidence.n_clusters is not None:  # cells share rows, or clusters of rows
        sign = 2.0 * ndtr(x) - 1.0
        variance += float(squares @ np.maximum(folded - sign**2, 0.0))
        between = evidence.between_cells(cells, sign * np.sign(cells.gap))
        variance += between / (cells.n_samples * cells.n_claims) ** 2
        variance = max(variance, 0.25 * inside)
    if cells.is_weighted:
        noise_free = (gap - max(observed - floor, 0.0)) ** 2 - deviation**2
        spread = float(cells.square @ noise_free) / (cells.n_samples * cells.n_claims)
    else:
        spread = float(share @ (gap**2 - deviation**2)) - max(observed - floor, 0.0) ** 2
    spread = max(spread, 0.0) / cells.n_samples  # the rows are a sample, too
    error = np.sqrt(variance + spread + unseen(cells.effective_samples, cells.n_claims, z))
    rate = min(cells.n_claims, 2) / (cells.effective_samples * cells.n_claims)
    rate *= float(share @ np.abs(1.0 - 2.0 * shrunk))

    # Noise adds no more than the floor; and nothing to cells whose gap is far from 0.
    apart = np.sqrt(np.maximum(np.maximum(score * (1.0 - score), shrunk * (1.0 - shrunk)), 0.0) / count)
    enough = count * score * (1.0 - score) >= _ENOUGH
    ratio = np.divide(gap, apart, out=np.zeros_like(gap), where=enough & (apart > 0))
    excused = np.where(enough, np.sqrt(2.0) * np.exp(-ratio * ratio / 2.0), 1.0)
    slope = 1.0 + np.divide(largest_bias, apart, out=np.zeros_like(gap), where=apart > 0) * ratio * excused
    steeper = float(squares @ np.maximum(folded, folded * slope**2)) / max(inside, 1e-300)
    lower = max(
        observed - floor - z * error,
        observed - float(share @ (largest_bias * excused)) - z * error * np.sqrt(max(steeper, 1.0)),
    )
    noise = float(share @ np.sqrt(outcome * (1.0 - outcome) / count))

    def behind(shown: float, left: float = 1.0) -> float:
        """Find the true error that gives this mean observed error, if all cells have equal gaps."""
        scale = noise * np.sqrt(left)
        return float(scale * folded_inverse(shown / scale)) if scale > 0 else shown

    def most(between: float) -> float:
        left = 1.0 - between
        least = max(observed, floor * np.sqrt(left))

        def end(distance: float) -> float:
            more = float(squares @ (_folded_variance(np.maximum(x, distance)) - folded))
            half = z * z * rate / 2.0  # Wilson's: the variance is the one at the end
            return behind(least + half + np.sqrt(half**2 + z * z * ((variance + more) * left + spread)), left)

        scale = noise * np.sqrt(left)
        return end(end(np.inf) / scale if scale > 0 else np.inf)

    upper = max(map(most, BETWEEN_ROWS))
    if isinstance(evidence, Rows) and evidence.dependence is not None:
        upper = max(upper, observed + _reach_of_clusters(evidence, evidence.dependence, cells, z))
    return observed, behind(observed), lower, upper


def _reach_of_clusters(evidence: Rows, dependence: Dependence, cells: BinStatistics, z: float) -> float:
    """Distance from the observed l1 error to the upper end, if rows belong together: z standard errors there.

    The variance is the largest of clusters' sums of residuals, with the signs of the gaps, all equal,
    or opposite for low and high scores; or what the latent correlation gives at its quantile
    `_CORRELATED`, near 1 if few clusters have the rarer outcome. Both grow with the share p of that outcome
    like p (1 - p), because what is not seen could be more of it.
    """
    problems, cluster = evidence.problems(cells.notion), evidence.clusters.code
    happened = evidence.first_claims()[1] > 0
    rare = happened if 2 * happened.sum() < len(happened) else ~happened
    share, part = weighted_mean(rare, evidence.weights), min(cells.n_claims, 2) / cells.n_claims
    residual = (problems.outcomes - np.repeat(cells.mean_outcome, cells.count)) * problems.weights
    middle = float(cells.share @ cells.mean_score)

    def variance(sign: np.ndarray) -> float:
        sums = np.bincount(cluster[problems.rows], residual * np.repeat(sign, cells.count))
        return (
            evidence.clusters.variance_factor * float(sums @ sums) / (cells.n_samples * cells.n_claims) ** 2
        )

    seen = max(
        map(variance, (np.sign(cells.gap), np.ones_like(cells.gap), np.sign(cells.mean_score - middle)))
    )
    enough = evidence.clusters.n_among(rare) >= _ENOUGH_CLUSTERS
    correlation = dependence.highest_correlation(_CORRELATED) if enough else MAX_CORRELATION
    size, reach = np.bincount(cluster), 0.0
    others = float(size @ (size - 1)) / len(cluster)
    for _ in range(30):
        p = min(max(share, 1.0 / len(rare)) + reach / part, 0.5)
        effect = 1.0 + others * outcome_correlation(p, correlation)
        modelled = part**2 * effect / evidence.effective_samples
        reach = z * np.sqrt(p * (1.0 - p) * max(modelled, seen / (share * (1.0 - share)) if share else 0.0))
    return float(reach)


def measure_interval(
    evidence: Evidence,
    key: str,
    *,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Return the ends of the interval of any number that calib reports.

    Parameters
    ----------
    n_bins, strategy, level
        As for `error_interval`.
    key : str
        One of `calib.stats.MEASURES`. An ECE has `error_interval`, an MCE the errors that intervals of all
        cells allow, accuracy the Clopper-Pearson interval (with weights Korn & Graubard's, 1998), an AUC
        `area_limits`, and the means of a score over rows `bootstrap_interval`.
    """
    measure = MEASURES[key]
    if (missing := measure.missing(evidence)) is not None:
        raise InputError(missing)
    if interval_needs_rows(evidence, measure):
        raise InputError(f"the interval of {measure.title} needs the rows: a summary holds only sums")
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    alpha = 1.0 - check_level(level)
    if measure.metric == "mce":
        return _limits_of_all_cells(evidence, measure, alpha, **bins)
    if measure.metric == "ece":
        interval = error_interval(evidence, notion=measure.notion, level=level, **bins)
        return interval.lower, interval.upper
    if measure.metric == "accuracy":
        return share_limits(evidence, alpha)
    assert isinstance(evidence, Rows)
    if measure.metric == "auc" and measure.notion is not None:
        return area_limits(evidence, measure.notion, alpha)
    metric: Any = measure.metric
    rows = evidence if measure.notion is None else evidence.tops()
    mean = bootstrap_interval(rows, metric=metric, level=level)
    return mean.lower, mean.upper


def combined_difference(
    a: Sequence[_Number], b: Sequence[_Number], correlation: Any = 0.0
) -> tuple[_Number, _Number, _Number]:
    """Return a - b with the ends of its interval, of numbers or arrays (value, lower, upper).

    MOVER (Zou & Donner, Statistics in Medicine 27, 2008; correlated: Zou, Psychological Methods 12, 2007):
    the lower end is a - b - sqrt(s^2 + t^2 - 2 r s t), s = a - lower_a and t = upper_b - b.
    """

    def reach(s: Any, t: Any) -> Any:
        return np.sqrt(np.maximum(s * s + t * t - 2.0 * correlation * s * t, 0.0))

    below, above = reach(a[0] - a[1], b[2] - b[0]), reach(a[2] - a[0], b[0] - b[1])
    return a[0] - b[0], a[0] - b[0] - below, a[0] - b[0] + above


def interval_needs_rows(evidence: Evidence, measure: Measure) -> bool:
    """Whether the interval of a number needs rows but the evidence is sums."""
    if not isinstance(evidence, SummedRows):
        return False
    if measure.metric == "accuracy":
        return bool(np.isnan(evidence.mean("accuracy").variance))
    several_claims = measure.notion == "class-wise" and evidence.kind != "binary"
    return not measure.is_error or (measure.metric == "ece" and several_claims)


def few_clusters_factor(n_clusters: Any, alpha: Any) -> Any:
    """Factor on effective rows, for few clusters (Korn & Graubard 1998): a number, or an array of each.

    It is 1 if rows are independent: None, or infinitely many, clusters.
    """
    if n_clusters is None or np.isinf(n_clusters).all():
        return 1.0
    normal, student = ndtri(alpha / 2.0), stdtrit(np.maximum(n_clusters - 1, 1), alpha / 2.0)
    return (normal / student) ** 2


def worth_of_rows(away: np.ndarray, clusters: Clusters, alpha: float, fitted: int = 0) -> float:
    """Return how many independent rows one of clusters is worth, by distances `away` from `fitted` means."""
    n_clusters, sums, alone = clusters.n_clusters, clusters.sums(away), float(away @ away)
    worth, even = n_clusters / len(away), float(n_clusters)
    if alone > 0.0:
        left = max(n_clusters - fitted, 1) / n_clusters
        worth = min(left * alone / max(float(sums @ sums), 1e-300), 1.0)
        even = even_clusters_of(sums, away, clusters.code)
    return worth * float(few_clusters_factor(max(even - max(fitted - 1, 0), 2.0), alpha))


def gap_limits(shares: Shares, alpha: Any, limits: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals, of coverage 1 - alpha, of how often outcomes happen minus the score.

    Clopper & Pearson's, with weights and clusters for the effective rows (Korn & Graubard 1998), see
    `calib.stats.effective.rows_with_unseen`. If scores say little about the outcomes, the mean score adds to
    the variance of a gap (`Shares.excess`).
    """
    few, happened = few_clusters_factor(shares.even, alpha), shares.happened
    rarer = np.minimum(happened, 1.0 - happened)
    rows = rows_with_unseen(shares.rows, rarer, shares.by_weight, alpha) * few
    low, high = (limits or binomial_limits)(happened * rows, rows, alpha)
    further = shares.excess * ndtri(alpha / 2.0) ** 2 / few
    below, above = (np.sqrt(distance**2 + further) for distance in (happened - low, high - happened))
    return shares.gap - below, shares.gap + above


def difference_limits(
    a: Shares, b: Shares, correlation: np.ndarray, alpha: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of the gap of a minus the gap of b: by MOVER, or wider.

    A limit near the end of what is possible hardly moves with alpha, which MOVER takes for precision: three
    further points of the ellipse of both errors are tried, by Jeffreys limits.
    """
    first, second = ((side.gap, *gap_limits(side, alpha)) for side in (a, b))
    _, lower, upper = combined_difference(first, second, correlation)
    for angle in np.pi / 8.0 * np.arange(1, 4):
        narrower = (1.0 - correlation**2) / np.maximum(1.0 + correlation * np.sin(2.0 * angle), 1e-9)
        reach = ndtri(alpha / 2.0) * np.sqrt(narrower)
        own = gap_limits(a, 2.0 * ndtr(reach * np.cos(angle)), jeffreys_limits)
        other = gap_limits(b, 2.0 * ndtr(reach * np.sin(angle)), jeffreys_limits)
        lower, upper = np.minimum(lower, own[0] - other[1]), np.maximum(upper, own[1] - other[0])
    return lower, upper


def smallest_alpha(
    limits: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], n_intervals: int
) -> np.ndarray:
    """Return the smallest alpha, to a relative 1e-6, at which each interval of coverage 1 - alpha excludes 0.

    `limits` gives the ends of the (n_intervals,) intervals for their values of alpha.
    """
    least, most = np.full(n_intervals, np.log(SMALLEST_P)), np.zeros(n_intervals)
    for _ in range(25):
        middle = (least + most) / 2.0
        lower, upper = limits(np.exp(middle))
        excludes = (lower > 0.0) | (upper < 0.0)
        least, most = np.where(excludes, least, middle), np.where(excludes, middle, most)
    return np.exp(most)


def share_limits(evidence: Evidence, alpha: float) -> tuple[float, float]:
    """Return the ends of the interval of the accuracy: Clopper & Pearson, with weights Korn & Graubard."""
    mean = evidence.mean("accuracy")
    share, variance = mean.value, mean.variance
    if np.isnan(variance):
        raise InputError(
            "the interval of the accuracy needs the rows: its variance does not follow from sums"
        )
    clusters = evidence.n_clusters
    rows = share * (1.0 - share) / variance if variance > 0.0 else evidence.effective_samples
    if clusters is not None:
        rows = min(rows, evidence.n_samples) if variance > 0.0 else clusters
    rows = rows_with_unseen(rows, min(share, 1.0 - share), evidence.effective_samples, alpha)
    rows *= few_clusters_factor(evidence.even_clusters, alpha)
    low, high = binomial_limits(np.array([share * rows]), np.array([rows]), alpha)
    return float(low[0]), float(high[0])


def area_limits(evidence: Rows, notion: Notion, alpha: float) -> tuple[float, float]:
    """Return the ends of the interval of an area under the ROC curve, [0, 1] if there is no area.

    Clopper & Pearson's for a share of the same variance (`mean_area`), with `with_unseen_errors`: a row of
    the rarer outcome on the wrong side of all others lowers the area by area / fewest.
    """
    area, variance, fewest = evidence.area(notion)
    if np.isnan(area):
        return 0.0, 1.0
    low = high = middle = np.array([area])
    if variance > 0.0:
        rows = middle * (1.0 - middle) / variance * few_clusters_factor(evidence.even_clusters, alpha)
        low, high = binomial_limits(middle * rows, rows, alpha)
    low, _ = with_unseen_errors(middle, low, high, -middle / fewest, alpha)
    _, high = with_unseen_errors(middle, low, high, (1.0 - middle) / fewest, alpha)
    return max(float(low[0]), 0.0), min(float(high[0]), 1.0)


def share_of_rows(hits: np.ndarray, clusters: Clusters, alpha: float) -> tuple[float, float]:
    """Return the ends of the interval of the share of hits among (n,) rows, [0, 1] if there are none."""
    if not len(hits):
        return 0.0, 1.0
    rows = Rows(ConfidencePrediction(np.ones(len(hits)), hits))
    rows.clusters = clusters
    return share_limits(rows, alpha)


def outcome_limits(
    cells: BinStatistics, alpha: float, at: np.ndarray | slice = slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals of each cell's mean chance, each missing with a chance of at most `alpha`.

    By Clopper & Pearson; with weights, by Hoeffding (1963) for weighted sums. `at` are the cells, by default
    all.
    """
    return mean_limits(cells.mean_outcome[at], cells.effective[at], alpha, weighted=cells.is_weighted)


def beyond_noise(cells: BinStatistics, least: int = 1) -> np.ndarray:
    """Return which cells of `least` rows or more are off beyond noise, all tested together at 5 %."""
    enough = cells.count >= least
    low, high = outcome_limits(cells, 0.05 / max(int(enough.sum()), 1))
    return enough & ((cells.mean_score < low) | (cells.mean_score > high))


def frequency_interval(cells: BinStatistics) -> tuple[np.ndarray, np.ndarray]:
    return wilson_interval(cells.mean_outcome, cells.effective)


def mean_limits(
    mean: np.ndarray, effective: np.ndarray, alpha: float | np.ndarray, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals of means of n outcomes (weighted: effective n), as `outcome_limits`."""
    if not weighted:
        return binomial_limits(mean * effective, effective, alpha)
    reach = np.sqrt(np.log(2.0 / alpha) / (2.0 * effective))
    return np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)


def binomial_limits(
    right: np.ndarray, count: np.ndarray, alpha: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    wrong = count - right
    low = np.where(right > 0, betaincinv(np.maximum(right, 1e-9), wrong + 1.0, alpha / 2.0), 0.0)
    high = np.where(wrong > 0, 1.0 - betaincinv(np.maximum(wrong, 1e-9), right + 1.0, alpha / 2.0), 1.0)
    return low, high


def jeffreys_limits(
    right: np.ndarray, count: np.ndarray, alpha: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of Jeffreys intervals (Brown, Cai & DasGupta 2001), [0, 1] if nothing is counted.

    They miss with a chance of `alpha` on average over shares; `binomial_limits` with at most `alpha` for
    each. An end is 0 or 1 if all outcomes are equal.
    """
    wrong = count - right
    a, b = np.maximum(right, 0.0) + 0.5, np.maximum(wrong, 0.0) + 0.5
    low = np.where(right > 0, betaincinv(a, b, alpha / 2.0), 0.0)
    high = np.where(wrong > 0, betaincinv(a, b, 1.0 - alpha / 2.0), 1.0)
    return low, high


def _limits_of_all_cells(
    evidence: Evidence, measure: Measure, alpha: float, **bins: Any
) -> tuple[float, float]:
    """Return the ends of an interval of any binned error, from intervals of all cells at once.

    Each of the C cells gets an interval (`outcome_limits`) that misses with a chance of alpha / C; the ends
    are the errors of the nearest and of the farthest gaps they allow.
    """
    cells = evidence.cells(measure.notion, **bins)
    low, high = outcome_limits(cells, alpha / len(cells.count))
    nearest = np.maximum(np.maximum(low - cells.mean_score, cells.mean_score - high), 0.0)
    farthest = np.maximum(high - cells.mean_score, cells.mean_score - low)
    error = CellMetric(cells, **measure.of_cells)
    lower, upper = (float(error(gaps[:, None])[0]) for gaps in (nearest, farthest))
    return lower, upper


def unseen(n_samples: float, n_claims: int, z: float) -> float:
    """Variance with z^2 additional, unseen outcomes, as in Wilson's interval of a share."""
    return min(n_claims, 2) * (z / (n_samples * n_claims)) ** 2


def _folded_variance(distance: np.ndarray) -> np.ndarray:
    """Variance of |N(d, 1)|, nearly: 1 - 2 / pi at 0, and 1 far from it."""
    return np.asarray(1.0 - 2.0 / np.pi * np.sqrt(2.0) * np.exp(-distance * distance / 2.0))


def _l2_limits(evidence: Evidence, cells: BinStatistics, z: float) -> tuple[float, float, float, float]:
    problems = evidence.problems(cells.notion)
    table = SquaredGaps.of(problems, cells)
    n, claims = cells.effective_samples, cells.n_claims
    few, rate_of_few = (z**3 / n**2 / claims) ** 2, 4.0 * unseen(n, claims, z)
    if isinstance(evidence, Rows) and not evidence.clusters.independent:
        together = ClusterSquares.of(problems, cells, evidence.clusters)
        return _l2_limits_of_clusters(together, table.degenerate + few, rate_of_few, z)
    share, gap, count, variance = table.share, table.gap, table.count, table.variance
    observed = float(np.sqrt(cells.share @ cells.gap**2))
    if not share.any():  # one row: nothing to compare it with
        return observed, 0.0, 0.0, 1.0
    mean_square = float(share @ gap**2) + 1e-300
    if claims == 1:
        linear = float((share * gap) ** 2 @ (variance / count))
    else:
        slope = (gap * share / table.weight)[table.cell] * problems.weights
        residual = slope * (problems.outcomes - table.mean_outcome[table.cell])
        by_row = np.bincount(problems.rows, weights=residual, minlength=cells.n_samples)
        linear = float(by_row @ by_row)
    square = max(float(share @ gap**4) / max(mean_square**2, 1e-200) - 1.0, 0.0) / n
    noise = share * variance / count
    bend = 8.0 * table.excess**2 * float((noise**3).sum())
    bend_rate = 24.0 * table.excess**2 * float(noise**2 @ (share * gap**2)) / mean_square

    def ends(between: float) -> tuple[float, float]:
        left = 1.0 - between
        constant = table.degenerate * left**2 + few
        rate = 4.0 * linear / mean_square * left + rate_of_few
        third = bend * left**3, bend_rate * left**2
        return _explained(table.squared + between * table.between, z, (constant, rate, square), third)

    lowers, uppers = zip(*map(ends, BETWEEN_ROWS), strict=True)
    return observed, np.sqrt(max(table.squared, 0.0)), np.sqrt(min(lowers)), np.sqrt(max(uppers))


def _l2_limits_of_clusters(
    table: ClusterSquares, least: float, rate_of_few: float, z: float
) -> tuple[float, float, float, float]:
    constant = max(table.covariance(table), least)  # of independent rows: few clusters may be all right
    rate = float(table.linear @ table.linear) / max(table.mean_square, 1e-300) + rate_of_few
    variance = constant, rate, 0.0
    lower = _explained(table.squared, z, variance, (MAX_SKEWNESS * constant**1.5, 0.0))[0]
    upper = _explained(table.squared, z, variance, (0.0, 0.0))[1]
    observed, estimate = np.sqrt(table.mean_square), np.sqrt(max(table.squared, 0.0))
    return float(observed), float(estimate), float(np.sqrt(lower)), float(np.sqrt(upper))


def _explained(
    squared: float, z: float, variance: tuple[float, float, float], third: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of t >= 0 with |squared - t| <= z(t) sd(t), z skewed by Cornish & Fisher (1938)."""
    b0, b1, b2 = variance
    correction = (z * z - 1.0) / 6.0

    def skewness(t: float) -> float:
        return float(np.clip((third[0] + third[1] * t) / (b0 + b1 * t + b2 * t * t) ** 1.5, 0.0, 2.0))

    def root(quantile: float, at: float, side: float) -> float:
        q2 = max(1.0 - quantile**2 * b2, 0.1)
        q1, q0 = -(2.0 * at + quantile**2 * b1), at * at - quantile**2 * b0
        return float(-q1 + side * np.sqrt(max(q1 * q1 - 4.0 * q2 * q0, 0.0))) / (2.0 * q2)

    top = max(squared, 0.0)
    lower = upper = top
    for _ in range(4):
        lower = max(root(z + correction * skewness(lower), squared, -1.0), 0.0)
        upper = root(max(z - correction * skewness(upper), 1.0), top, 1.0)
    if squared <= (z + correction * skewness(0.0)) * np.sqrt(b0):
        lower = 0.0
    return lower, max(upper, lower)


@dataclass(frozen=True, eq=False, repr=False)
class SquaredGaps(Result):
    """Cells of two rows or more, and the debiased squared l2 error over them."""

    cell: np.ndarray  #: (m,) int array: cell of each entry of the binary problems
    #: (C,) float64 arrays: as in `BinStatistics`; `count` is the effective number of rows
    count: np.ndarray
    share: np.ndarray
    mean_score: np.ndarray
    mean_outcome: np.ndarray
    gap: np.ndarray
    #: (C,) float64 arrays: sum of the weights of the rows, and of their products over pairs of different rows
    weight: np.ndarray
    pairs: np.ndarray
    variance: np.ndarray  #: (C,) float64 array: estimated mean of P (1 - P) in the cell
    squared: float  #: Debiased squared l2 error; can be negative
    between: float  #: How much too small `squared` can be because chances differ inside cells
    degenerate: float  #: Its variance if the model is calibrated
    excess: float  #: Factor of that variance for outcomes of one row in several claims: at most 2

    @classmethod
    def of(cls, problems: BinaryProblems, cells: BinStatistics) -> SquaredGaps:
        """Pool cells with a single row, and sum squares by cell."""
        pooled = _without_single_rows(cells.problem, cells.count, cells.mean_score)
        cell = np.repeat(pooled, cells.count)
        scores, outcomes = problems.scores.astype(np.float64), problems.outcomes.astype(np.float64)
        count: np.ndarray = np.bincount(cell).astype(np.float64)
        several, w = count > 1, problems.weights
        if not problems.is_weighted:
            weight, pairs = count, np.maximum(count * (count - 1.0), 1.0)
            noisy_pairs = 1.0 / pairs
        else:
            weight, square, fourth = (np.bincount(cell, weights=w**power) for power in (1, 2, 4))
            pairs = weight**2 - square
            several &= pairs > 1e-9 * weight**2  # else one row is as good as alone
            pairs = np.where(several, pairs, 1.0)
            noisy_pairs = np.maximum(square**2 - fourth, 0.0) / pairs**2
            count = weight * (weight / square)
        mean_score = np.bincount(cell, weights=scores * w) / weight
        mean_outcome = np.bincount(cell, weights=outcomes * w) / weight
        spread = np.maximum(np.bincount(cell, weights=scores**2 * w) / weight - mean_score**2, 0.0)
        squares = np.bincount(cell, weights=(outcomes - scores) ** 2 * w**2)
        gap = mean_outcome - mean_score
        share = np.where(several, weight, 0.0)
        share = share / max(share.sum(), 1e-300)
        variance = _mean_variance(count, mean_score, mean_outcome, spread)
        squared = float(share @ ((weight**2 * gap**2 - squares) / pairs))
        between = float(cells.share @ cells.gap**2) - squared
        excess = 1.0 if cells.n_claims == 1 else 2.0
        degenerate = excess * 2.0 * float((share * variance) ** 2 @ noisy_pairs)
        of_cells = cell, count, share, mean_score, mean_outcome, gap, weight, pairs, variance
        return cls(*of_cells, squared, between, degenerate, excess)


@dataclass(frozen=True, eq=False, repr=False)
class ClusterSquares(Result):
    """The debiased squared l2 error of cells whose rows come from clusters, and how it varies.

    With e and w the sums of outcome - score and of weights of a cluster in a cell, its squared gap is the
    mean of e e' over pairs of different clusters, divided by mean w w'.
    """

    #: The estimate, which can be negative, and the plug-in estimate
    squared: float
    mean_square: float
    #: (G,) float64 array: the contribution of each cluster to the estimate, through the gaps of its cells
    linear: np.ndarray
    noise: Any  #: (G, C) csr_array: scaled residuals of each cluster in each cell

    @classmethod
    def of(cls, problems: BinaryProblems, cells: BinStatistics, clusters: Clusters) -> ClusterSquares:
        cluster, n_cells = clusters.code[problems.rows], len(cells.count)
        weight = problems.weights
        residual = weight * (problems.outcomes - problems.scores.astype(np.float64))
        cell = cells.of_entries
        key, at = np.unique(cluster * n_cells + cell, return_inverse=True)
        group, cell = np.divmod(key, n_cells)
        e, w = np.bincount(at, residual), np.bincount(at, weight)
        total, square = np.bincount(cell, w), np.bincount(cell, w * w)
        pairs = total**2 - square
        has_pairs = pairs > 1e-9 * total**2
        share = np.where(has_pairs, total, 0.0) / max(float(total[has_pairs].sum()), 1e-300)
        pairs = np.where(has_pairs, pairs, 1.0)
        sums = np.bincount(cell, e)
        gap = sums / total
        squared = float(share @ ((sums**2 - np.bincount(cell, e * e)) / pairs))
        apart = e - gap[cell] * w
        more = total / np.sqrt(pairs)  # one mean is taken off in each cell, of total^2 / square clusters
        shape = (clusters.n_clusters, n_cells)
        noise = sparse.csr_array(((more * np.sqrt(share / pairs))[cell] * apart, (group, cell)), shape=shape)
        linear = np.bincount(group, (more * 2.0 * share * gap / total)[cell] * apart, shape[0])
        return cls(squared, float(share @ gap**2), linear, noise)

    def covariance(self, other: ClusterSquares) -> float:
        a, b = self.noise, other.noise
        if a.shape[0] <= min(a.shape[1], b.shape[1]):
            whole = float(((a @ a.T) * (b @ b.T)).sum())
        else:
            whole = float(((a.T @ b) ** 2).sum())
        own = (a * a).sum(axis=1) @ (b * b).sum(axis=1)
        return 2.0 * max(whole - float(own), 0.0)


def _mean_variance(
    count: np.ndarray, mean_score: np.ndarray, mean_outcome: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Mean of P (1 - P) in each cell, with the outcome shrunk by one row: unbiased if P is the score."""
    shrunk = np.clip((count * mean_outcome + mean_score) / (count + 1.0), 0.0, 1.0)
    whole = np.maximum(mean_score * (1.0 - mean_score), 0.0)
    varied = np.divide(spread, whole, out=np.zeros_like(spread), where=whole > 0)
    inside = np.clip(1.0 - varied, 0.0, 1.0)
    return shrunk * (1.0 - shrunk) * inside * (count + 1.0) ** 2 / ((count + 1.0) ** 2 - count)


def _without_single_rows(problem: np.ndarray, count: np.ndarray, mean_score: np.ndarray) -> np.ndarray:
    """Return the pool of each cell, from 0; each pool has two rows or more, unless there is only one row."""
    if (count > 1).all():
        return np.arange(len(count))
    pool, used = np.empty(len(count), dtype=np.int64), 0
    starts = np.flatnonzero(np.append(True, problem[1:] != problem[:-1]))
    alone = []
    for start, stop in zip(starts, np.append(starts[1:], len(count)), strict=True):
        if stop - start == 1 and count[start] == 1:
            alone.append(start)
            continue
        rows = 0
        for cell in range(start, stop):
            pool[cell] = used
            rows += int(count[cell])
            if rows > 1:
                used, rows = used + 1, 0
        if rows:  # the last cell has one row
            pool[stop - 1] = used - 1
    if alone:
        ordered = np.array(alone)[np.argsort(mean_score[alone], kind="stable")]
        if len(ordered) == 1:
            pool[ordered] = max(used - 1, 0)
        else:
            pool[ordered] = used + np.minimum(np.arange(len(ordered)) // 2, len(ordered) // 2 - 1)
    return pool
