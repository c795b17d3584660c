"""Venn-Abers calibration: two isotonic regressions, one for each outcome that the new row may have."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.curves import Steps
from calib.data.predictions import Scores
from calib.data.validation import as_scores
from calib.data.weights import RowWeights


class VennAbersCalibration(BinaryCalibrator):
    """Inductive Venn-Abers calibration (Vovk & Petej, UAI 2014; Vovk, Petej & Fedorova, NeurIPS 2015).

    For a new score s, p0 and p1 are the isotonic regression at s of the calibration rows together with (s, 0)
    and with (s, 1); `interval` gives both. For exchangeable rows of any distribution, p0 is perfectly
    calibrated if the outcome turns out 0, p1 if it turns out 1. `predict` merges them to ``p1 / (1 - p0 +
    p1)``, the minimax choice for log loss, which does not inherit that promise.

    Attributes
    ----------
    lower_scores_, lower_ : (a - 1,) and (a,) float64 arrays
        Increasing scores at which p0 rises; p0 of lower scores, and from each of them on.
    upper_scores_, upper_ : (b - 1,) and (b,) float64 arrays
        Increasing scores after which p1 rises; p1 up to the first of them, and above each.

    Examples
    --------
    >>> calibrator = VennAbersCalibration().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> p0, p1 = calibrator.interval([0.5])
    >>> p0.round(3).tolist(), p1.round(3).tolist(), calibrator.predict([0.5]).round(3).tolist()
    ([0.333], [0.667], [0.5])
    """

    def _fit(self, scores: np.ndarray, outcomes: np.ndarray, weights: RowWeights) -> None:
        if weights.differ:
            raise InputError(
                "Venn-Abers calibration cannot use sample_weight: what it promises is about exchangeable "
                "rows; use IsotonicCalibration, or another calibrator"
            )
        distinct, group = np.unique(scores, return_inverse=True)
        rows, happened = np.bincount(group), np.bincount(group[outcomes], minlength=len(distinct))
        upper = _with_a_one(rows, happened)
        # With scores and outcomes reversed, an added 0 is an added 1.
        lower = 1.0 - _with_a_one(rows[::-1], (rows - happened)[::-1])[::-1]
        rises, is_higher = np.diff(lower) > 0.0, np.diff(upper) > 0.0
        self.lower_scores_, self.lower_ = distinct[rises], lower[np.append(True, rises)]
        self.upper_scores_, self.upper_ = distinct[is_higher], upper[np.append(True, is_higher)]

    @property
    def curve_(self) -> Steps:
        """The fitted curve of merged probabilities."""
        above = np.nextafter(self.upper_scores_, 2.0)  # p1 rises after its score, a step at or above its knot
        knots = np.unique(np.concatenate([self.lower_scores_, above]))
        p0, p1 = self._pair(np.append(-1.0, knots))
        return Steps(knots, p1 / (1.0 - p0 + p1))

    def interval(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """Return p0 and p1, (n,) float64 arrays with 0 <= p0 <= p1 <= 1, of (n,) scores in [0, 1]."""
        check_is_fitted(self)
        return self._pair(as_scores(scores, ndim=1, what="scores").astype(np.float64, copy=False))

    def _pair(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (
            self.lower_[np.searchsorted(self.lower_scores_, scores, side="right")],
            self.upper_[np.searchsorted(self.upper_scores_, scores, side="left")],
        )


def _with_a_one(rows: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Isotonic regression at an added outcome 1, (m + 1,), for each position among m groups.

    The regression is the slope of the greatest convex minorant of the points (rows so far, ones so far). The
    added outcome is a step (1, 1). It starts before all groups, where the minorant is found by Graham's scan,
    and moves past the groups in turn. The corners kept belong to the minorant from the step on, the leftmost
    last; each point enters and leaves them at most once. Whole numbers keep all comparisons exact.
    """
    xs, ys = np.cumsum(rows).tolist(), np.cumsum(happened).tolist()
    corners: list[tuple[int, int]] = []
    for x, y in zip([*reversed(xs), 0, -1], [*reversed(ys), 0, -1], strict=True):
        _put(corners, x, y)
    slopes = [1.0] * (len(xs) + 1)  # after all groups the step is by itself the last and steepest
    (left, below), (right, above) = corners[-1], corners[-2]
    for group, (x, y) in enumerate(zip(xs, ys, strict=True)):
        slopes[group] = (above - below) / (right - left)
        # The step moves past this group: (x - 1, y - 1) is now the point between the two.
        if (right - left) * (y - 1 - below) < (above - below) * (x - 1 - left):
            corners.pop()
            _put(corners, x - 1, y - 1)
            (left, below), (right, above) = corners[-1], corners[-2]
    return np.array(slopes)


def _put(corners: list[tuple[int, int]], x: int, y: int) -> None:
    """Put a point to the left of a convex chain, without the corners that are then above or on it."""
    while len(corners) > 1:
        (left, below), (right, above) = corners[-1], corners[-2]
        if (left - x) * (above - y) > (right - x) * (below - y):
            break
        corners.pop()
    corners.append((x, y))
