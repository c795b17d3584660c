"""The difference of two models' calibration errors on the same rows, with a valid interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri

from calib.base.interval_words import hidden_words, interval_words
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_BINS
from calib.data.notions import TOP_NOTIONS, Notion, Strategy
from calib.data.predictions import Scores, Values, score_matrix
from calib.data.validation import check_level
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import even_clusters
from calib.evidence.reductions import ranked_classes, top_label
from calib.evidence.row_scores import weighted_mean
from calib.evidence.rows import Known, Rows, Source, as_pair
from calib.stats.intervals import (
    BETWEEN_ROWS,
    MAX_SKEWNESS,
    ClusterSquares,
    SquaredGaps,
    few_clusters_factor,
    unseen,
)

#: Factor of the normal quantile, because chances differ more inside some cells than inside others.
_ALLOWANCE = 1.05

DifferenceVerdict = Literal["lower", "higher", "not distinguishable"]


@dataclass(frozen=True, repr=False)
class PairedDifference(Result):
    """Squared l2 calibration error of a minus b's, both debiased, on the same rows."""

    notion: str  #: Notion of the error
    n_samples: int  #: Rows
    #: Debiased squared l2 errors, each in its own cells; can be negative
    squared_a: float
    squared_b: float
    #: `squared_a` minus `squared_b`, and the ends of its interval
    difference: float
    lower: float
    upper: float
    level: float  #: Coverage

    @property
    def verdict(self) -> DifferenceVerdict:
        """Whether a is "lower" or "higher" than b (the interval excludes 0), or "not distinguishable"."""
        if self.upper < 0.0:
            return "lower"
        return "higher" if self.lower > 0.0 else "not distinguishable"

    def words(self, name_a: str = "a", name_b: str = "b", error: str = "l2 error") -> str:
        """Say the verdict in a sentence; `error` names the l2 error, for example "l2 TL-ECE"."""
        ends = interval_words(self.lower, self.upper, sign="+")
        interval = f"{100 * self.level:g} % interval of the difference of squares {ends}"
        if self.verdict == "not distinguishable":
            interval += f"; {hidden_words(self.lower, self.upper, self.level)}"
            return f"The {error} of {name_a} and {name_b} are not distinguishable ({interval})."
        return f"The {error} of {name_a} is {self.verdict} than {name_b}'s ({interval})."

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([vars(self)]).assign(verdict=self.verdict)


def paired_difference(
    y_true: Source,
    scores_a: Scores | Known,
    scores_b: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy_a: Strategy | None = None,
    strategy_b: Strategy | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> PairedDifference:
    """Compare the calibration errors of two models: their `difference`, a minus b, and its interval.

    Parameters
    ----------
    y_true, notion, n_bins, sample_weight, cluster
        As for `calib.noise_floor`.
    scores_a, scores_b : (n, L) array_like, Predictions or TopLabelPrediction
        Scores of the two models for the same rows in the same order.
    strategy_a, strategy_b : {"uniform", "quantile", "discrete"}
        Binning of each; histogram-binned scores are assessed "discrete".
    level : float in (0, 1)
        Coverage.

    Notes
    -----
    Plug-in errors of two models have different biases, so debiased squared l2 errors are compared. Their
    difference is a quadratic form in the labels. With w the share of a row's cell, D its gap and e the
    outcome minus its probability, it has a linear term, the sum over rows of 2 (D_a e_a - D_b e_b) / n, and a
    degenerate term, the sum over pairs of rows in a cell, which alone remains if both models are calibrated.
    The variance from the observed gaps holds the linear term once and the degenerate term twice; the larger
    of (observed - degenerate) and degenerate serves both cases. Models with equal scores and cells have the
    interval [0, 0].

    If chances differ between the rows of a cell, part of the subtracted variance is no noise
    (`SquaredGaps.between`): the ends are the farthest over the shares `BETWEEN_ROWS`, in proportion to each
    model's variance, with the quantile times `_ALLOWANCE`. With clusters, squares and variances use pairs of
    different clusters (`ClusterSquares`), and Student's quantile.
    """
    alpha = 1.0 - check_level(level)
    rows_a, rows_b = as_pair(y_true, scores_a, scores_b, sample_weight, cluster)
    clusters, notion = rows_a.clusters, notion or rows_a.notion
    a = _Side.of(rows_a, notion, n_bins, strategy_a)
    b = _Side.of(rows_b, notion, n_bins, strategy_b)
    difference = a.squared - b.squared
    if all(map(np.array_equal, (a.cell, a.event, a.scores), (b.cell, b.event, b.scores))):
        lower = upper = difference = 0.0
    elif not clusters.independent:
        even = even_clusters(np.bincount(clusters.code), 1.0)
        z = ndtri(1.0 - alpha / 2.0) / np.sqrt(few_clusters_factor(even, alpha))
        lower, upper = _limits_of_clusters(a, b, float(z))
    else:
        lower, upper = _limits(a, b, _ALLOWANCE * ndtri(1.0 - alpha / 2.0))
    return PairedDifference(notion, a.n_samples, a.squared, b.squared, difference, lower, upper, level)


@dataclass(frozen=True, eq=False)
class _Side:
    """One model's entries in a common order of both models; `event` is the class of the outcome."""

    table: SquaredGaps
    clusters: ClusterSquares | None
    n_samples: int
    effective_samples: float
    n_claims: int
    cell: np.ndarray
    scores: np.ndarray
    outcomes: np.ndarray
    event: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, rows: Rows, notion: Notion, n_bins: int, strategy: Strategy | None) -> _Side:
        problems = rows.problems(notion)
        cells = rows.cells(notion, n_bins=n_bins, strategy=strategy, effects=False)
        table = SquaredGaps.of(problems, cells)
        owner = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
        position = problems.shape.claims_of(owner) * problems.n_samples + problems.rows

        def in_order(values: np.ndarray) -> np.ndarray:
            ordered = np.empty(len(values), dtype=values.dtype)
            ordered[position] = values
            return ordered

        together = not rows.clusters.independent
        return cls(
            table=table,
            clusters=ClusterSquares.of(problems, cells, rows.clusters) if together else None,
            n_samples=problems.n_samples,
            effective_samples=cells.effective_samples,
            n_claims=problems.n_claims,
            cell=in_order(table.cell),
            scores=in_order(problems.scores).astype(np.float64),
            outcomes=in_order(problems.outcomes).astype(np.float64),
            event=_events(rows, problems),
            weight=np.tile(rows.weights, problems.n_claims),
        )

    @property
    def squared(self) -> float:
        return self.table.squared if self.clusters is None else self.clusters.squared

    @property
    def influence(self) -> np.ndarray:
        """Half the derivative of the squared error by each outcome."""
        return (self.table.gap * self.table.share / self.table.weight)[self.cell] * self.weight

    @property
    def linear_variance(self) -> np.ndarray:
        """Variance of one outcome, by cell, as it enters the linear term."""
        count = self.table.count
        return self.table.variance * np.where(count > 1, (count + 1.0) / count, 1.0)


def _events(rows: Rows, problems: BinaryProblems) -> np.ndarray:
    if problems.n_classes == 1:
        return np.zeros(problems.n_samples, dtype=np.int64)
    if problems.notion in TOP_NOTIONS:
        return top_label(rows.predictions)[0]
    if problems.notion == "class-wise":
        return np.repeat(np.arange(problems.n_classes), problems.n_samples)
    return ranked_classes(score_matrix(rows.predictions), problems.n_claims)[0].T.ravel()


def _limits_of_clusters(a: _Side, b: _Side, z: float) -> tuple[float, float]:
    left, right = a.clusters, b.clusters
    assert left is not None and right is not None  # noqa: PT018
    linear = left.linear - right.linear
    noise = left.covariance(left) + right.covariance(right) - 2.0 * left.covariance(right)
    variance = max(float(linear @ linear) + max(noise, 0.0), 1e-200)
    skewness = MAX_SKEWNESS * (max(noise, 0.0) / variance) ** 1.5
    reach = (z + (z * z - 1.0) / 6.0 * skewness) * np.sqrt(variance)  # Cornish & Fisher (1938)
    return float(left.squared - right.squared - reach), float(left.squared - right.squared + reach)


def _limits(a: _Side, b: _Side, z: float) -> tuple[float, float]:
    n, claims = a.n_samples, a.n_claims
    same = a.event == b.event
    slope_a, slope_b = a.influence, b.influence
    linear_a, linear_b = a.linear_variance[a.cell], b.linear_variance[b.cell]
    exclusive = -a.scores * b.scores  # covariance of two outcomes of which one row shows at most one
    covariance = np.where(same, np.sqrt(a.table.variance[a.cell] * b.table.variance[b.cell]), exclusive)
    joint = np.where(same, np.sqrt(linear_a * linear_b), exclusive)
    own_a, own_b = 4.0 * float(slope_a**2 @ linear_a), 4.0 * float(slope_b**2 @ linear_b)
    observed = max(own_a + own_b - 8.0 * float((slope_a * slope_b) @ joint), 0.0)
    if claims > 1:  # between claims from the residuals, inside a claim as above
        residual = 2.0 * slope_a * (a.outcomes - a.table.mean_outcome[a.cell])
        residual -= 2.0 * slope_b * (b.outcomes - b.table.mean_outcome[b.cell])
        by_row = residual.reshape(claims, n).sum(axis=0)
        observed = max(observed + float(by_row @ by_row - residual @ residual), 0.25 * observed)
    least = a.table.degenerate + b.table.degenerate
    most = np.sqrt(a.table.degenerate * b.table.degenerate) * (0.999 if claims == 1 else 1.0)
    degenerate = max(least - 2.0 * min(_degenerate_covariance(a, b, covariance), most), 0.0)

    gap_a, gap_b = a.table.gap[a.cell], b.table.gap[b.cell]
    by_row = (gap_a**2 - gap_b**2).reshape(claims, n).mean(axis=0)
    apart = float(np.mean(np.where(same, (gap_a - gap_b) ** 2, gap_a**2 + gap_b**2) * a.weight))
    weights = a.weight[:n]
    between = float(np.mean((weights * (by_row - weighted_mean(by_row, weights))) ** 2)) / n
    between += 4.0 * unseen(a.effective_samples, claims, z) * apart

    # A larger error has a larger variance: the ends solve delta^2 = z^2 (variance + rate * delta).
    size_a, size_b = max(a.table.squared, 0.0), max(b.table.squared, 0.0)
    scale = observed / max(own_a + own_b, 1e-300) / max(size_a + size_b + np.sqrt(degenerate), 1e-300)
    rise = scale * own_a * size_a / max(float(a.table.share @ a.table.gap**2), 1e-300)
    fall = scale * own_b * size_b / max(float(b.table.share @ b.table.gap**2), 1e-300)
    bend = (_third_moment(a.table) - _third_moment(b.table)) * min(1.0, degenerate / max(least, 1e-300))

    def ends(left_a: float, left_b: float) -> tuple[float, float]:
        """Return the ends if these shares of the variances come from the outcomes of single rows."""
        left = max(left_a, left_b)
        noise = max(observed * left - degenerate / a.table.excess * left**2, degenerate * left**2)
        variance = max(noise + between, 1e-200)  # its power 1.5 is above 0
        skewness = float(np.clip(bend * left**2 / variance**1.5, -2.0, 2.0))
        correction = (z * z - 1.0) / 6.0 * skewness  # Cornish & Fisher (1938)

        def reach(quantile: float, rate: float) -> float:
            square = max(quantile, 1.0) ** 2
            return (square * rate + float(np.sqrt(square**2 * rate**2 + 4.0 * square * variance))) / 2.0

        centre = a.table.squared + (1.0 - left_a) * a.table.between
        centre -= b.table.squared + (1.0 - left_b) * b.table.between
        return float(centre - reach(z + correction, fall * left)), float(
            centre + reach(z - correction, rise * left)
        )

    # The noise of the rows' outcomes is one and the same: a larger share of the smaller variance.
    left = 1.0 - np.array(BETWEEN_ROWS)
    noise_a, noise_b = (float(np.mean(side.table.variance[side.cell] * side.weight)) for side in (a, b))
    least_noise = max(min(noise_a, noise_b), 1e-300)
    shares = [*zip(left, left, strict=True)]
    shares += zip(
        left * least_noise / max(noise_a, 1e-300), left * least_noise / max(noise_b, 1e-300), strict=True
    )
    lowers, uppers = zip(*(ends(*share) for share in shares), strict=True)
    return min(lowers), max(uppers)


def _degenerate_covariance(a: _Side, b: _Side, covariance: np.ndarray) -> float:
    """Covariance of the two degenerate terms: pairs of rows that share a cell in a and one in b."""
    joint = a.cell.astype(np.int64) * len(b.table.count) + b.cell
    keys = np.arange(len(a.table.count) * len(b.table.count))
    if len(keys) > len(joint):
        keys, joint = np.unique(joint, return_inverse=True)
    weighted = covariance * a.weight**2
    total, squares = (
        np.bincount(joint, weights=each, minlength=len(keys)) for each in (weighted, weighted**2)
    )
    # Products of pairs over weight: count - 1 if rows are unweighted. A cell with 0 has no pairs.
    (pairs_a, paired_a), (pairs_b, paired_b) = (
        ((side.table.pairs / side.table.weight)[cell], side.table.share[cell] > 0)
        for side, cell in zip((a, b), np.divmod(keys, len(b.table.count)), strict=True)
    )
    both = paired_a & paired_b
    sums = (total**2 - squares)[both] / (pairs_a * pairs_b)[both]
    return 2.0 * float(sums.sum()) / (a.n_samples * a.n_claims) ** 2


def _third_moment(table: SquaredGaps) -> float:
    noise = table.share * table.variance / table.count
    far = table.share * np.maximum(table.gap**2 - table.variance / table.count, 0.0)
    return 8.0 * table.excess**2 * float((noise**3).sum()) + 24.0 * table.excess**2 * float(noise**2 @ far)
