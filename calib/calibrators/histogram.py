"""Histogram binning: uniform-mass bins, each predicting the frequency of its outcomes."""

from __future__ import annotations

from typing import Self

import numpy as np

from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Steps
from calib.data.validation import check_choice, check_count, check_share
from calib.evidence.binning import assign_bins, equal_mass_cuts, sorted_cuts


class HistogramBinning(BinaryCalibrator):
    """Binary calibration by uniform-mass histogram binning (Gupta & Ramdas 2021, Algorithm 2).

    Sorted scores are cut into B bins of about n/B points and each bin predicts the mean of its outcomes. Of
    weighted rows, bins hold as many points as of others, and predict weighted means, which have no guarantee.

    Parameters
    ----------
    points_per_bin : int, default 50
        k: the number of bins is B = floor(n / k), at least 1. Fixing k and not B is what adapts to rare
        classes (Algorithm 8 of the paper).
    n_bins : int, optional
        Fix B instead; `points_per_bin` is then not used.
    delta : float, default 1e-10
        Size of the noise of ``ties="randomize"``, the paper's delta.
    ties : {"group", "randomize"}, default "group"
        "group" never splits equal scores over two bins: a bin is closed at the first distinct score that
        fills its share, so every bin keeps at least floor(n/B) points. "randomize" is the paper's rule:
        scores get uniform noise of size `delta` before they are cut, and so do the bin values. Noise is
        drawn in `fit` only: `predict` is always a function of the score. Scores with ties need "group": with
        "randomize" a tied score is fitted in several bins but predicted in one, and the guarantee is void.
    random_state : int, Generator or None
        Seed of the noise.

    Attributes
    ----------
    edges_ : (b - 1,) float64 array
        Interior edges, halfway between neighbouring bins; bin j holds
        ``edges_[j - 1] <= score < edges_[j]``.
    values_ : (b,) float64 array
        Prediction of each bin. No two bins predict the same number, see Notes.
    counts_ : (b,) int64 array
        Calibration points in each bin.
    misplaced_ : int or None
        With ``ties="randomize"``, the calibration points that `predict` sends to another bin than the one
        they were fitted in, as it does with equal scores that were spread over several; any voids the
        guarantee. None with ``ties="group"``, where there are none, and where a file does not say.
    effective_ : (b,) float64 array or None
        Of weighted rows, the effective number in each bin, (sum w)^2 / sum w^2. None where rows count alike.

    Notes
    -----
    All points of a bin enter its mean; Algorithm 2 of Gupta & Ramdas (2021) leaves out the boundary
    points, which their proof needs and their code, like this one, does not do.

    The guarantees condition on the predicted value in place of the bin, so values of different bins must
    differ (the paper's second use of delta). With ``ties="group"`` a value that is already taken moves
    towards 1/2 by multiples of the machine epsilon, 2.2e-16, the bin of higher scores to the higher
    value: distinct, deterministic and far below any printed digit. Assessed with
    ``strategy="discrete"``, every bin is then a cell of its own.

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
        """Fewest calibration points that fill one bin (or `n_bins` bins with one point each)."""
        if self.n_bins is None:
            return check_count(self.points_per_bin, "points_per_bin")
        return check_count(self.n_bins, "n_bins")

    @property
    def curve_(self) -> Steps:
        """The fitted curve."""
        return Steps(self.edges_, self.values_)

    def bins_for(self, n_points: int) -> int:
        """Return the number of bins to cut points into; ties may leave fewer."""
        points_per_bin = check_count(self.points_per_bin, "points_per_bin")
        if self.n_bins is None:
            return max(n_points // points_per_bin, 1)
        return min(check_count(self.n_bins, "n_bins"), n_points)

    def fit_counts(self, scores: np.ndarray, counts: np.ndarray, happened: np.ndarray) -> Self:
        """Fit to the distinct scores of points that count alike, with ``ties="group"``.

        Parameters
        ----------
        scores : (d,) float32 or float64 array
            Scores, ascending. Points that no cut is among may be together under one score.
        counts, happened : (d,) int64 arrays
            Points of each score, and the points whose outcome is 1.

        Returns
        -------
        self
            As `fit` to the points leaves it, to the last bit.
        """
        ends = np.cumsum(counts)
        cuts = equal_mass_cuts(ends, self.bins_for(int(ends[-1])))
        last = np.searchsorted(ends, cuts[1:])  # the last score of each bin
        ones = np.diff(np.cumsum(happened)[last], prepend=0)
        return self._of_bins(cuts, scores[last[:-1]], scores[last[:-1] + 1], ones)

    def fit_sorted(self, scores: np.ndarray, outcomes: np.ndarray) -> Self:
        """Fit to points that count alike and are sorted already, with ``ties="group"``.

        Parameters
        ----------
        scores : (n,) float32 or float64 array
            Scores in [0, 1], ascending.
        outcomes : (n,) array of bool or 0/1
            Whether the event happened.
        """
        cuts = sorted_cuts(scores, self.bins_for(len(scores)))
        ones = np.add.reduceat(outcomes, cuts[:-1], dtype=np.int64)
        return self._of_bins(cuts, scores[cuts[1:-1] - 1], scores[cuts[1:-1]], ones)

    def _of_bins(self, cuts: np.ndarray, below: np.ndarray, above: np.ndarray, happened: np.ndarray) -> Self:
        """Set what is fitted, from the scores beside each interior cut and the outcomes 1 of each bin."""
        check_choice(self.ties, ("group",), "ties")
        self.edges_ = _between(below.astype(np.float64), above.astype(np.float64))
        self.counts_ = np.diff(cuts)
        self.values_ = _distinct(happened / self.counts_)
        self.misplaced_ = self.effective_ = None
        return self

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None) -> None:
        check_choice(self.ties, ("group", "randomize"), "ties")
        n_bins = self.bins_for(len(scores))
        check_share(self.delta, "delta", 1e-10)
        random = np.random.default_rng(self.random_state)
        undisturbed = scores
        if self.ties == "randomize":
            scores = scores + self.delta * random.random(len(scores))
        order = np.argsort(scores)
        scores, outcomes = scores[order], outcomes[order]
        if weights is None and self.ties == "group":
            self.fit_sorted(scores, outcomes)
            return
        if self.ties == "randomize":
            cuts = equal_mass_cuts(np.arange(1, len(scores) + 1), n_bins)
        else:
            cuts = sorted_cuts(scores, n_bins)
        self.effective_ = None
        if weights is None:
            values = np.add.reduceat(outcomes, cuts[:-1], dtype=np.int64) / np.diff(cuts)
        else:
            weights = weights[order]
            happened, weight, square = (
                np.add.reduceat(weights * factor, cuts[:-1]) for factor in (outcomes, 1.0, weights)
            )
            values, self.effective_ = happened / weight, np.maximum(weight * (weight / square), 1.0)
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
    """Return the edges halfway between neighbouring scores of two bins, so that each stays on its side."""
    halfway = (below + above) / 2
    return np.where(halfway > below, halfway, above)


def _distinct(values: np.ndarray) -> np.ndarray:
    """Move repeats of a value towards 1/2 by multiples of the machine epsilon, keeping the order of bins."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    position = np.arange(len(values))
    up = position - np.searchsorted(ordered, ordered)
    down = np.searchsorted(ordered, ordered, side="right") - 1 - position
    moved = np.empty_like(values)
    moved[order] = ordered + np.where(ordered < 0.5, up, -down) * np.finfo(np.float64).eps
    return moved
