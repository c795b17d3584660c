"""Curves from score to probability: of a binary calibrator, or of many problems end to end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from calib.data.predictions import Scores
from calib.evidence.binning import assign_bins

#: Least distance of a score from 0 and 1 before log-odds: half the gap between 1 and the float32 below it,
#: so that a saturated score means the same in float32 and in float64.
SCORE_CLIP = 2.0**-24
#: Largest log-odds of a clipped score, rounded up.
MOST_ODDS = 17.0


class Steps(NamedTuple):
    """A curve that is constant in each bin: ``values[j]`` for ``knots[j - 1] <= score < knots[j]``."""

    knots: np.ndarray  #: (b - 1,) float64 array: interior edges of the bins, non-decreasing
    values: np.ndarray  #: (b,) float64 array: probability of each bin

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return self.values[assign_bins(scores, self.knots)]


class Lines(NamedTuple):
    """A curve of straight lines from each (knot, value) to the next, constant outside the first and last."""

    knots: np.ndarray  #: (m,) float64 array: increasing scores
    values: np.ndarray  #: (m,) float64 array: probabilities there, non-decreasing

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return on_lines(scores, *self.segments().take(assign_bins(scores, self.knots), axis=1))

    def segments(self) -> np.ndarray:
        """Start, value at the start and slope of each line, the first below the first knot."""
        with np.errstate(over="ignore"):
            slopes = np.diff(self.values) / np.diff(self.knots)
        slopes = np.concatenate(([0.0], np.minimum(slopes, np.finfo(np.float64).max), [0.0]))
        first = np.concatenate(([0], np.arange(len(self.knots))))
        return np.stack([self.knots[first], self.values[first], slopes])


class Logistic(NamedTuple):
    """The curve ``expit(a * log(s) - b * log(1 - s) + c)``, s clipped to [`SCORE_CLIP`, 1 - `SCORE_CLIP`]."""

    a: float | np.ndarray
    b: float | np.ndarray
    c: float | np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        log_p, log_q = clipped_logs(scores)
        # With one slope the log-odds are taken first: one rounding less.
        slope = np.where(self.a == self.b, self.a * (log_p - log_q), self.a * log_p - self.b * log_q)
        return expit(slope + self.c)


class Spline(NamedTuple):
    """The curve ``expit(z)``, z parabolas of clipped log-odds between knots, straight outside."""

    knots: np.ndarray  #: (m,) float64 array: increasing log-odds
    slopes: np.ndarray  #: (m,) float64 array: slope of z at each, not negative; linear between them
    level: float  #: z at the first knot

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        odds = log_odds(scores)
        return on_parabolas(odds, *self.segments().take(assign_bins(odds, self.knots), axis=1))

    def segments(self) -> np.ndarray:
        """Start, z, slope and half the second derivative of each piece, the first below the first knot."""
        widths = np.diff(self.knots)
        rises = widths * (self.slopes[1:] + self.slopes[:-1]) / 2.0
        values = self.level + np.concatenate(([0.0], np.cumsum(rises)))
        with np.errstate(over="ignore"):
            bends = np.diff(self.slopes) / widths / 2.0
        largest = np.finfo(np.float64).max
        bends = np.concatenate(([0.0], np.clip(bends, -largest, largest), [0.0]))
        first = np.concatenate(([0], np.arange(len(self.knots))))
        return np.stack([self.knots[first], values[first], self.slopes[first], bends])


Curve = Steps | Lines | Logistic | Spline


class CurveSet:
    """The curves of many problems in one array, to calibrate the scores of all problems at once.

    `curve_of`, (P,) int, has the index of each problem's curve; -1 leaves its scores as they are.
    """

    def __init__(self, curves: Sequence[Any], curve_of: np.ndarray) -> None:
        self.kind = type(curves[0])
        self.curve_of = curve_of
        self.unchanged = curve_of < 0 if (curve_of < 0).any() else None
        if self.kind is Logistic:
            self.numbers = np.array(curves).T.take(curve_of, axis=1)
            return
        sizes = np.array([len(curve.knots) + 1 for curve in curves])
        ends = np.cumsum(sizes)
        self.first, self.ends, self.last = ends - sizes, ends, (ends - 1).take(curve_of)
        self.upper = np.concatenate([edges for curve in curves for edges in (curve.knots, [np.inf])])
        numbers = [curve.values if self.kind is Steps else curve.segments() for curve in curves]
        self.numbers = np.concatenate(numbers, axis=-1)

    def __call__(self, scores: np.ndarray, problem: np.ndarray) -> np.ndarray:
        """Probabilities of float64 scores, (n,) or (n, m), of problems that broadcast to their shape."""
        if self.kind is Logistic:
            calibrated = Logistic(*self.numbers.take(problem, axis=1))(scores)
        elif self.kind is Steps:
            calibrated = self.numbers.take(self._find_bins(scores, problem))
        elif self.kind is Spline:
            odds = log_odds(scores)
            calibrated = on_parabolas(odds, *self.numbers.take(self._find_bins(odds, problem), axis=1))
        else:
            calibrated = on_lines(scores, *self.numbers.take(self._find_bins(scores, problem), axis=1))
        if self.unchanged is None:
            return calibrated
        return np.where(self.unchanged[problem], scores, calibrated)

    def _find_bins(self, scores: np.ndarray, problem: np.ndarray) -> np.ndarray:
        """Bin of each score as by `assign_bins`, numbered over all curves."""
        steps, begins, starts, knots = self._starts
        bins = starts.take(_step_of(scores, steps) + begins.take(problem))
        size = 1 << knots.bit_length() >> 1
        last = self.last.take(problem) if size > 1 else None
        while size:
            ahead = bins if last is None else np.minimum(bins + (size - 1), last)
            bins += size * (self.upper.take(ahead) <= scores)
            size //= 2
        return bins

    @cached_property
    def _starts(self) -> tuple[int, np.ndarray, np.ndarray, int]:
        """Start of the search: steps of [0, 1], place of each problem's first, bins, most knots in a step.

        A score has passed the knots whose step comes before its own: `_step_of` does not fall as scores rise.
        """
        steps = 1 << (2 * len(self.upper) // len(self.first)).bit_length()
        starts = np.empty((len(self.first), steps + 1), dtype=np.int64)
        knots = 0
        for row, begin, end in zip(starts, self.first.tolist(), self.ends.tolist(), strict=True):
            inside = np.bincount(_step_of(self.upper[begin : end - 1], steps), minlength=steps + 1)
            row[0], row[1:] = begin, begin + np.cumsum(inside[:-1])
            knots = max(knots, int(inside.max()))
        return steps, (steps + 1) * self.curve_of, starts.ravel(), knots


def _step_of(scores: np.ndarray, steps: int) -> np.ndarray:
    return np.minimum(np.maximum(scores * steps, 0.0), steps).astype(np.int64)


def clipped_logs(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log s and log(1 - s) of scores clipped to [`SCORE_CLIP`, 1 - `SCORE_CLIP`]."""
    clipped = np.minimum(np.maximum(scores, SCORE_CLIP), 1.0 - SCORE_CLIP)  # np.clip takes longer on one row
    return np.log(clipped), np.log1p(-clipped)


def log_odds(scores: np.ndarray) -> np.ndarray:
    log_p, log_q = clipped_logs(scores)
    return log_p - log_q


def on_parabolas(odds: Any, start: Any, value: Any, slope: Any, bend: Any) -> Any:
    """Probabilities of log-odds, each on its piece of a spline as in `Spline.segments`."""
    away = odds - start
    return expit(away * (bend * away + slope) + value)


def on_lines(scores: Scores, start: Any, value: Any, slope: Any) -> Any:
    return np.minimum(np.maximum(slope * (scores - start) + value, 0.0), 1.0)
