"""Histogram binning: uniform-mass bins, each predicting the frequency of its outcomes."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln

from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Steps
from calib.data.validation import check_choice, check_count, check_share, random_generator
from calib.data.weights import RowWeights, effective_rows
from calib.evidence.binning import assign_bins, equal_mass_cuts, even_cuts, sorted_cuts

#: Range of the prior's strength, in rows.
LEAST_STRENGTH, MOST_STRENGTH = 0.1, 1e5
#: Least distance of prior frequencies from 0 and 1.
INSIDE = 1e-6


class HistogramBinning(BinaryCalibrator):
    """Binary calibration by uniform-mass histogram binning (Gupta & Ramdas 2021, Algorithm 2).

    Sorted scores are cut into B bins of about n/B points; each bin predicts the mean of its outcomes.

    Parameters
    ----------
    points_per_bin : int, default 50
        k: the number of bins is B = floor(n / k), at least 1. This adapts to rare classes (Algorithm 8 of the
        paper).
    n_bins : int, optional
        B, in place of `points_per_bin`.
    ties : {"group", "randomize"}, default "group"
        "group" keeps equal scores in one bin: a bin ends at the first distinct score that fills its share, so
        every bin has at least floor(n/B) points. "randomize" is the paper's rule: `fit` orders equal scores
        at random and adds uniform noise of size `delta` to bin values. With tied scores it voids the
        guarantee: a tied score is fitted in several bins and predicted in one.
    delta, random_state
        Size of this noise, 1e-10 by default, and the seed of both.

    Attributes
    ----------
    edges_ : (b - 1,) float64 array
        Interior edges; bin j holds ``edges_[j - 1] <= score < edges_[j]``. An edge is the lowest score of
        bin j; with `n_bins` it is halfway between this and the highest score of bin j - 1.
    values_ : (b,) float64 array
        Prediction of each bin, all different.
    counts_ : (b,) int64 array
        Calibration points in each bin.
    left_out_ : (b,) int64 array or None
        Outcome of the calibration point whose score is the lower edge of the bin; the bin's mean leaves it
        out. -1 if there is no such point, if other points share its score or if it is alone in its bin. None
        with `n_bins` and in earlier files: all points are in the means.
    misplaced_ : int or None
        With ``ties="randomize"``: calibration points that `predict` sends to another bin than their own; any
        voids the guarantee. Else None.
    effective_ : (b,) float64 array or None
        Effective number of weighted rows in each mean, (sum w)^2 / sum w^2. Else None.

    Notes
    -----
    Boundary points are left out of the means, as in Algorithm 2 of the paper: given the edges, the others are
    independent, and the guarantee holds as proved. With `n_bins` all points enter, as in the paper's code.
    Assess with ``strategy="discrete"``. Weighted means have no guarantee.

    Examples
    --------
    >>> hb = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1])
    >>> hb.predict([0.0, 0.4, 0.8]).tolist()
    [0.5, 0.5, 1.0]
    """

    is_binned = True

    left_out_: np.ndarray | None
    misplaced_: int | None
    effective_: np.ndarray | None

    def __init__(
        self,
        *,
        points_per_bin: int = 50,
        n_bins: int | None = None,
        delta: float = 1e-10,
        ties: str = "group",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.points_per_bin = points_per_bin
        self.n_bins = n_bins
        self.delta = delta
        self.ties = ties
        self.random_state = random_state

    @property
    def min_points(self) -> int:
        """Fewest calibration points: `points_per_bin`, or one for each of `n_bins`."""
        if self.n_bins is None:
            return check_count(self.points_per_bin, "points_per_bin")
        return check_count(self.n_bins, "n_bins")

    @property
    def curve_(self) -> Steps:
        return Steps(self.edges_, self.values_)

    @property
    def inside_(self) -> np.ndarray:
        """Calibration points in the mean of each bin, (b,) int64."""
        return self.counts_ if self.left_out_ is None else self.counts_ - (self.left_out_ >= 0)

    @property
    def cut_at_points(self) -> bool:
        """Whether every edge is a point that no bin's mean counts, and no other point equals an edge.

        The guarantee is proved for such bins, of unweighted points.
        """
        if self.left_out_ is None or self.effective_ is not None:
            return False
        n_points = int(self.counts_.sum())
        shares = np.diff(even_cuts(n_points, self.bins_for(n_points)))
        return np.array_equal(self.counts_, shares) and bool((self.left_out_[1:] >= 0).all())

    def bins_for(self, n_points: int) -> int:
        """Return the number of bins for some points; with ties there may be fewer."""
        points_per_bin = check_count(self.points_per_bin, "points_per_bin")
        if self.n_bins is None:
            return max(n_points // points_per_bin, 1)
        return min(check_count(self.n_bins, "n_bins"), n_points)

    def fit_counts(self, scores: np.ndarray, counts: np.ndarray, happened: np.ndarray) -> Self:
        """Fit to the distinct scores of unweighted points with ``ties="group"``; equals `fit` to the points.

        Scores, (d,), ascend; `counts` and `happened`, (d,) int64, are their points and the points with
        outcome 1. Points between two cuts may share one score.
        """
        ends = np.cumsum(counts)
        cuts = equal_mass_cuts(ends, self.bins_for(int(ends[-1])))
        last = np.searchsorted(ends, cuts[1:])  # the last score of each bin
        first = last[:-1] + 1
        self._cut(cuts, scores[first - 1], scores[first], np.where(counts[first] == 1, happened[first], -1))
        return self._count(np.diff(np.cumsum(happened)[last], prepend=0))

    def fit_sorted(self, scores: np.ndarray, outcomes: np.ndarray) -> Self:
        """Fit to unweighted (n,) scores in ascending order and (n,) outcomes, with ``ties="group"``."""
        self._cut_sorted(sorted_cuts(scores, self.bins_for(len(scores))), scores, outcomes)
        starts = np.cumsum(self.counts_) - self.counts_
        return self._count(np.add.reduceat(outcomes, starts, dtype=np.int64))

    def _cut_sorted(self, cuts: np.ndarray, scores: np.ndarray, outcomes: np.ndarray) -> None:
        first = cuts[1:-1]
        below, edge, above = scores[first - 1], scores[first], scores[np.minimum(first + 1, len(scores) - 1)]
        self._cut(cuts, below, edge, np.where((below < edge) & (edge < above), outcomes[first], -1))

    def _cut(self, cuts: np.ndarray, below: np.ndarray, edge: np.ndarray, outcome: np.ndarray) -> None:
        """Set bins by their positions in the sorted points, and the scores below and at each interior cut.

        `outcome`, (b - 1,), is of the only point with the score `edge`, -1 if several points have it.
        """
        self.counts_ = np.diff(cuts)
        self.left_out_ = self.misplaced_ = self.effective_ = None
        if self.n_bins is None:
            self.edges_ = edge.astype(np.float64)
            self.left_out_ = np.append(-1, np.where(self.counts_[1:] > 1, outcome, -1))
        else:
            low, high = below.astype(np.float64), edge.astype(np.float64)
            halfway = (low + high) / 2.0
            self.edges_ = np.where(halfway > low, halfway, high)

    def _count(self, happened: np.ndarray) -> Self:
        check_choice(self.ties, ("group",), "ties")
        if self.left_out_ is not None:
            happened = happened - (self.left_out_ == 1)
        self.values_ = _distinct(happened / self.inside_)
        return self

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        randomized = check_choice(self.ties, ("group", "randomize"), "ties") == "randomize"
        n_bins = self.bins_for(len(scores))
        check_share(self.delta, "delta", 1e-10)
        random = random_generator(self.random_state)
        order = np.lexsort((random.random(len(scores)), scores)) if randomized else np.argsort(scores)
        scores, outcomes = scores[order], outcomes[order]
        if not weights.differ and not randomized:
            self.fit_sorted(scores, outcomes)
            return
        if randomized:
            cuts = equal_mass_cuts(np.arange(1, len(scores) + 1), n_bins)
        else:
            cuts = sorted_cuts(scores, n_bins)
        self._cut_sorted(cuts, scores, outcomes)
        each = weights.each[order]
        if self.left_out_ is not None:
            each[cuts[:-1][self.left_out_ >= 0]] = 0.0
        happened, weight, square = (
            np.add.reduceat(each * factor, cuts[:-1]) for factor in (outcomes, 1.0, each)
        )
        values = happened / weight
        if weights.differ:
            self.effective_ = np.maximum(effective_rows(weight, square), 1.0)
        if randomized:
            values = (values + self.delta * random.random(len(values))) / (1.0 + self.delta)
            fitted = np.repeat(np.arange(len(self.counts_)), self.counts_)
            self.misplaced_ = int(np.sum(assign_bins(scores, self.edges_) != fitted))
        self.values_ = _distinct(values)


def _distinct(values: np.ndarray) -> np.ndarray:
    """Move repeated values towards 1/2 by multiples of the machine epsilon, in the order of the bins."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    position = np.arange(len(values))
    up = position - np.searchsorted(ordered, ordered)
    down = np.searchsorted(ordered, ordered, side="right") - 1 - position
    moved = np.empty_like(values)
    moved[order] = ordered + np.where(ordered < 0.5, up, -down) * np.finfo(np.float64).eps
    return moved


def shrunken(right: np.ndarray, count: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, float]:
    """Shrink frequencies towards their priors, more if there are few rows.

    The chance of each cell is drawn from a beta distribution with mean `prior` and a common strength a + b
    (Robbins 1956; Casella 1985). If cells differ by no more than chance, all get their priors.

    >>> estimate, strength = shrunken(np.array([4, 1, 16]), np.array([4, 4, 20]), np.full(3, 0.5))
    >>> estimate.round(2).tolist(), round(strength, 1)
    ([0.84, 0.33, 0.77], 1.9)
    """
    mean = np.clip(prior, INSIDE, 1.0 - INSIDE)
    seen = count > 0

    def loss(log_strength: float) -> float:
        a, b = np.exp(log_strength) * mean[seen], np.exp(log_strength) * (1.0 - mean[seen])
        return -float((betaln(a + right[seen], b + (count - right)[seen]) - betaln(a, b)).sum())

    strength = MOST_STRENGTH
    if seen.any():
        bounds = np.log([LEAST_STRENGTH, MOST_STRENGTH])
        strength = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
    return (right + strength * mean) / (count + strength), strength


def moved_to(mean: float, old: float, values: np.ndarray) -> np.ndarray:
    """Move probabilities so that their mean over some rows changes from `old` to `mean`, in proportion.

    To lower the mean, values are multiplied; to raise it, their distances to 1 are. They stay in [0, 1].

    >>> [moved_to(mean, 0.5, np.array([0.25, 0.75])).round(3).tolist() for mean in (0.4, 0.6)]
    [[0.2, 0.6], [0.4, 0.8]]
    """
    if mean <= old:
        return values * (mean / max(old, INSIDE))
    return 1.0 - (1.0 - values) * ((1.0 - mean) / max(1.0 - old, INSIDE))
