"""Histogram binning: uniform-mass bins, each predicting the frequency of its outcomes."""

from __future__ import annotations

from typing import Self

import numpy as np

from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Steps
from calib.data.validation import check_choice, check_count, check_share
from calib.data.weights import RowWeights, effective_rows
from calib.evidence.binning import assign_bins, equal_mass_cuts, sorted_cuts


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
        every bin has at least floor(n/B) points. "randomize" is the paper's rule: `fit` adds uniform noise of
        size `delta` to scores and bin values. With tied scores it voids the guarantee: a tied score is fitted
        in several bins and predicted in one.
    delta, random_state
        Size of this noise, 1e-10 by default, and its seed.

    Attributes
    ----------
    edges_ : (b - 1,) float64 array
        Interior edges; bin j holds ``edges_[j - 1] <= score < edges_[j]``.
    values_ : (b,) float64 array
        Prediction of each bin, all different.
    counts_ : (b,) int64 array
        Calibration points in each bin.
    misplaced_ : int or None
        With ``ties="randomize"``: calibration points that `predict` sends to another bin than their own; any
        voids the guarantee. Else None.
    effective_ : (b,) float64 array or None
        Effective number of weighted rows in each bin, (sum w)^2 / sum w^2. Else None.

    Notes
    -----
    All points of a bin enter its mean, as in the paper's code; its Algorithm 2 leaves out boundary points.
    Assess with ``strategy="discrete"``. Weighted means have no guarantee.

    Examples
    --------
    >>> hb = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1])
    >>> hb.predict([0.0, 0.4, 0.8]).tolist()
    [0.5, 0.5, 1.0]
    """

    is_binned = True

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
        """The fitted curve."""
        return Steps(self.edges_, self.values_)

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
        happened_in = np.diff(np.cumsum(happened)[last], prepend=0)
        return self._of_bins(cuts, scores[last[:-1]], scores[last[:-1] + 1], happened_in)

    def fit_sorted(self, scores: np.ndarray, outcomes: np.ndarray) -> Self:
        """Fit to unweighted (n,) scores in ascending order and (n,) outcomes, with ``ties="group"``."""
        cuts = sorted_cuts(scores, self.bins_for(len(scores)))
        happened = np.add.reduceat(outcomes, cuts[:-1], dtype=np.int64)
        return self._of_bins(cuts, scores[cuts[1:-1] - 1], scores[cuts[1:-1]], happened)

    def _of_bins(self, cuts: np.ndarray, below: np.ndarray, above: np.ndarray, happened: np.ndarray) -> Self:
        """Set edges from the scores beside each interior cut, and values from the outcomes 1 of each bin."""
        check_choice(self.ties, ("group",), "ties")
        self.edges_ = _between(below.astype(np.float64), above.astype(np.float64))
        self.counts_ = np.diff(cuts)
        self.values_ = _distinct(happened / self.counts_)
        self.misplaced_ = self.effective_ = None
        return self

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        check_choice(self.ties, ("group", "randomize"), "ties")
        n_bins = self.bins_for(len(scores))
        check_share(self.delta, "delta", 1e-10)
        random = np.random.default_rng(self.random_state)
        undisturbed = scores
        if self.ties == "randomize":
            scores = scores + self.delta * random.random(len(scores))
        order = np.argsort(scores)
        scores, outcomes = scores[order], outcomes[order]
        if not weights.differ and self.ties == "group":
            self.fit_sorted(scores, outcomes)
            return
        if self.ties == "randomize":
            cuts = equal_mass_cuts(np.arange(1, len(scores) + 1), n_bins)
        else:
            cuts = sorted_cuts(scores, n_bins)
        each = weights.each[order]
        happened, weight, square = (
            np.add.reduceat(each * factor, cuts[:-1]) for factor in (outcomes, 1.0, each)
        )
        values = happened / weight
        self.effective_ = np.maximum(effective_rows(weight, square), 1.0) if weights.differ else None
        if self.ties == "randomize":
            values = (values + self.delta * random.random(len(values))) / (1.0 + self.delta)
        self.edges_ = _between(scores[cuts[1:-1] - 1], scores[cuts[1:-1]])
        self.values_ = _distinct(values)
        self.counts_ = np.diff(cuts)
        self.misplaced_ = None
        if self.ties == "randomize":
            fitted = np.repeat(np.arange(len(self.counts_)), self.counts_)
            self.misplaced_ = int(np.sum(assign_bins(undisturbed[order], self.edges_) != fitted))


def _between(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return the edges halfway between the neighbouring scores of two bins."""
    halfway = (below + above) / 2
    return np.where(halfway > below, halfway, above)


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
