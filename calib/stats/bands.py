"""Bands on a reliability diagram: the range of a perfect model, and bounds of the true curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from scipy.special import betainc, betaincinv

from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.data.defaults import LEVEL
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.data.validation import check_count, check_level
from calib.evidence.binning import BinStatistics
from calib.evidence.rows import Source, as_evidence
from calib.evidence.sampling import resample
from calib.stats.floors import FloorOptions, cut_and_redraws


@dataclass(frozen=True, eq=False, repr=False)
class ConsistencyBand(Result):
    """Range of a perfect model's points in each cell (Broecker & Smith 2007)."""

    cells: BinStatistics  #: The cells the band belongs to; C of them
    #: (C,) float64: Pointwise band of the frequency of the outcome, in [0, 1]
    lower: np.ndarray
    upper: np.ndarray
    level: float  #: Probability with which a perfect model's point falls inside, cell by cell

    def frame(self) -> pd.DataFrame:
        """Return the cells with their bands, one row each."""
        return self.cells.frame().assign(perfect_lower=self.lower, perfect_upper=self.upper)


def consistency_band(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
    **options: Unpack[FloorOptions],
) -> ConsistencyBand:
    """Return the range of a perfect model's points on the reliability diagram.

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, sample_weight, cluster, n_resamples, random_state
        As for `calib.noise_floor`; or `BinaryProblems` alone.
    level : float in (0, 1)
        Probability that a perfect model's point is inside, for each cell separately.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    cells, redraws = cut_and_redraws(evidence, options)
    tail = (1.0 - check_level(level)) / 2.0
    drawn = resample(*evidence.draw_each(cells), **redraws)
    frequency = np.concatenate([sums / cells.weight[:, None] for sums in drawn], axis=1)
    lower, upper = np.quantile(frequency, [tail, 1.0 - tail], axis=1, method="inverted_cdf")
    return ConsistencyBand(cells, lower, upper, level)


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationBand(Result):
    """Bounds of the true frequency of the outcome at every score, which hold at once.

    With probability `level` or more, the frequencies at all scores are between `lower` and `upper`, if the
    frequency does not fall as the score rises. Between two scores, the lower bound of the lower score and the
    upper bound of the higher score hold.
    """

    score: np.ndarray  #: (G,) float64: Distinct scores, ascending
    #: (G,) float64: Bounds at each, both non-decreasing
    lower: np.ndarray
    upper: np.ndarray
    level: float  #: Coverage of the whole band
    n_groups: int  #: Groups of neighbouring scores: the band changes only from one to the next

    def within(self, above: float = 0.5) -> float:
        """Return the smallest distance by which the score can be off anywhere from `above` upwards.

        It holds for every `above`, whether chosen before or after looking.
        """
        inside = self.score[self.score > above]
        if not len(inside):
            raise InputError(f"no score is above {above:g}; the largest is {self.score[-1]:g}")
        at = np.concatenate(([max(above, self.score[0])], inside))
        low, high = np.append(0.0, self.lower), np.append(self.upper, 1.0)
        floor = low[np.searchsorted(self.score, at, side="right")]
        ceiling = high[np.searchsorted(self.score, at, side="left")]
        # in the gap after a score, its own lower bound holds and the next score's upper bound
        distances = ceiling - at, at - floor, at[1:] - floor[:-1], ceiling[1:] - at[:-1]
        return float(np.concatenate(distances).max())

    def words(self, above: float = 0.5, strong: str = "{}") -> str:
        """Say how close to calibrated the model is above a score; `strong` formats the number."""
        distance = strong.format(f"{min(np.ceil(1000.0 * self.within(above) - 1e-9) / 1000.0, 1.0):.3f}")
        start = above if above >= self.score[0] else self.score[0]
        return (
            f"With confidence {self.level:.0%}, calibrated within {distance} everywhere above {start:.4g} "
            f"(up to the largest score, {self.score[-1]:.4g}), if higher scores never mean a lower frequency."
        )

    def steps(self, bound: np.ndarray, shape: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores at which a bound changes, and its values, to draw them as "hv" or "vh" steps."""
        changes = np.diff(bound) != 0
        corner = np.append(True, changes) if shape == "hv" else np.append(changes, True)
        corner[[0, -1]] = True
        return self.score[corner], bound[corner]


def calibration_band(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion = "confidence",
    label: int = 0,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
    most_groups: int = 400,
) -> CalibrationBand:
    """Bound the calibration curve of a binary problem everywhere at once, for any number of rows.

    Parameters
    ----------
    y_true, scores, notion
        As for `calib.ece`; or `BinaryProblems` alone.
    sample_weight, cluster
        The bounds count independent rows: weights and clusters raise `InputError`.
    label : int
        The class, for notions with a problem per class. Bands of several classes hold separately.
    level : float in (0, 1)
        Coverage.
    most_groups : int
        More distinct scores are joined to about this many groups of equal size. Fix it before looking at the
        band.

    Notes
    -----
    Dimitriadis, Duembgen, Henzi, Puke & Ziegel (2023), "Honest calibration assessment for binary outcome
    predictions". For each of the N (N + 1) / 2 runs of neighbouring groups, the one-sided Clopper-Pearson
    bounds at (1 - level) / (N (N + 1)) hold together. A run's lower bound holds at its last score and after,
    its upper bound at its first score and before. Coverage: `python -m benchmarks.intervals bands`.

    Examples
    --------
    >>> proba = np.tile([0.75, 0.25], (400, 1))
    >>> band = calibration_band(np.repeat([0, 1], [300, 100]), proba)
    >>> band.lower.round(3).tolist(), band.upper.round(3).tolist()
    ([0.705], [0.792])
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    problems = evidence.problems(notion)
    if problems.is_weighted:
        raise InputError("calibration_band counts rows of equal weight; consistency_band takes weights")
    if evidence.n_clusters is not None:
        raise InputError(
            f"calibration_band is about independent rows, and these are of {evidence.n_clusters:,} clusters; "
            "consistency_band allows for clusters"
        )
    tail = 1.0 - check_level(level)
    scores_of_class, outcomes = problems.problem(label)
    if not len(scores_of_class):
        raise InputError(f"problem {label} has no entries: this class is never predicted")
    start = np.flatnonzero(np.append(True, scores_of_class[1:] != scores_of_class[:-1]))
    score, count = scores_of_class[start].astype(np.float64), np.diff(np.append(start, len(scores_of_class)))
    middle = (np.cumsum(count) - count / 2.0) / len(scores_of_class)
    group = np.minimum(middle * check_count(most_groups, "most_groups"), most_groups - 1).astype(np.int64)
    if len(score) <= most_groups:
        group = np.arange(len(score))
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    last = np.append(first[1:], len(score)) - 1
    size = np.add.reduceat(count, first).astype(np.float64)
    right = np.add.reduceat(outcomes, start[first], dtype=np.int64).astype(np.float64)
    tail /= len(first) * (len(first) + 1.0)
    lower, upper = np.zeros(len(score)), np.ones(len(score))
    lower[last] = _lower_bounds(right, size, tail)
    upper[first] = 1.0 - _lower_bounds((size - right)[::-1], size[::-1], tail)[::-1]
    bounds = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    return CalibrationBand(score, *bounds, float(level), len(first))


def _lower_bounds(right: np.ndarray, count: np.ndarray, tail: float) -> np.ndarray:
    """Largest one-sided Clopper-Pearson lower bound of the runs that end at each group, or before."""
    rights, counts = (np.concatenate(([0.0], np.cumsum(values))) for values in (right, count))
    starts = np.flatnonzero(right > 0)
    best, largest = np.zeros(len(right)), 0.0
    for group, end in enumerate(starts):
        k = rights[end + 1] - rights[starts[: group + 1]]
        n = counts[end + 1] - counts[starts[: group + 1]]
        k, n = k[k > largest * n], n[k > largest * n]  # a lower bound is below the mean
        if largest > 0.0 and len(k):  # and above the largest so far only if its tail is smaller
            better = betainc(k, n - k + 1.0, largest) < tail
            k, n = k[better], n[better]
        if len(k):
            largest = max(largest, float(betaincinv(k, n - k + 1.0, tail).max()))
        best[end] = largest
    return np.maximum.accumulate(best)
