"""Smooth calibration curves, and how far scores are from them: ICI, E50 and E90."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import stdtrit

from calib.base.exceptions import InputError
from calib.base.results import Drawn, Result
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.kinds import KINDS, needs_rows
from calib.data.notions import Notion
from calib.data.predictions import Scores, Values
from calib.data.validation import check_level
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.evidence.sampling import resample

#: Share of the rows in the window of each local line, and distance of two lines over the range of the scores.
SPAN, STEP = 2.0 / 3.0, 0.01
#: Most distinct scores; more are averaged in runs of neighbours.
MOST_SCORES = 5_000
#: Most distinct scores of redraws, else bins of equal mass; and redraws.
MOST_REDRAWN, N_REDRAWS = 2_000, 200


@dataclass(frozen=True, eq=False, repr=False)
class SmoothedCurve(Result):
    """A smoothed frequency of the outcome at each score."""

    score: np.ndarray  #: (G,) float64: Distinct scores, ascending
    frequency: np.ndarray  #: (G,) float64: Estimate of the outcome frequency at each
    count: np.ndarray  #: (G,) int64: Entries with that score
    weight: np.ndarray  #: (G,): Sum of their weights; `count` if rows are unweighted

    #: Name of the smoother
    smoother = ""

    @property
    def ici(self) -> float:
        """Integrated calibration index: mean distance of score and curve over rows; noise makes it positive.

        Austin & Steyerberg (2019); `rms::val.prob` calls it Eavg. It depends on the smoother.
        """
        return float(self.weight @ self._distance / self.weight.sum())

    @property
    def e50(self) -> float:
        """Median over rows of the distance of score and curve."""
        return self._quantile(0.5)

    @property
    def e90(self) -> float:
        """90 % quantile over rows of the distance of score and curve."""
        return self._quantile(0.9)

    @property
    def distance_words(self) -> str:
        """ICI, E50 and E90 as a sentence without its full stop."""
        far = f"mean {self.ici:.4f} (ICI), median {self.e50:.4f} (E50), 90 % within {self.e90:.4f} (E90)"
        return f"Distance of score and {self.smoother} curve: {far}; noise alone also gives distances above 0"

    @property
    def _distance(self) -> np.ndarray:
        return np.abs(self.frequency - self.score)

    def _quantile(self, share: float) -> float:
        return float(np.quantile(self._distance, share, method="inverted_cdf", weights=self.weight))

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores at which the frequency changes, and the last score, with their frequencies."""
        at = np.append(np.flatnonzero(np.diff(self.frequency, prepend=-1.0)), len(self.score) - 1)
        return self.score[at], self.frequency[at]

    def frame(self) -> pd.DataFrame:
        """Return one row per distinct score."""
        table = pd.DataFrame({"score": self.score, "frequency": self.frequency, "count": self.count})
        return table if self.weight is self.count else table.assign(weight=self.weight)


@dataclass(frozen=True, eq=False, repr=False)
class LoessCurve(SmoothedCurve, Drawn):
    """Reliability by local lines (Cleveland 1979), with its pointwise band."""

    #: (G,) float64: Ends of the interval at each score
    lower: np.ndarray
    upper: np.ndarray
    level: float  #: Coverage of each interval

    smoother = "loess"

    def frame(self) -> pd.DataFrame:
        """Return one row per distinct score, or run of neighbouring scores."""
        return super().frame().assign(lower=self.lower, upper=self.upper)


def one_score_notion(evidence: Evidence) -> Notion:
    """Return the notion of the one score of each row: P(Y = 1), else the confidence."""
    return evidence.notion if KINDS[evidence.kind].scored else "confidence"


def loess_curve(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> LoessCurve:
    """Smooth the outcomes of one binary problem over its scores by local lines.

    Parameters
    ----------
    y_true, scores, notion, sample_weight, cluster
        As for `calib.corp_curve`; `y_true` must not be a summary.
    level : float in (0, 1)
        Coverage of each interval of the band.

    Notes
    -----
    What ``lowess(p, y, iter=0)`` of R and `rms::val.prob` do, with tricube weights: each window is the
    smallest with two thirds of the rows (R: of the rows, rounded down), or of their weight. Lines are fitted
    every hundredth of the range and joined, so the curve can leave [0, 1]. The band is the normal interval
    from squared residuals; with clusters from their sums over each, with Student's distribution.

    Examples
    --------
    >>> score = np.linspace(0.02, 0.98, 400)
    >>> curve = loess_curve(np.arange(400) % 5 < 2, score)
    >>> round(curve.ici, 2), round(curve.e90, 2)
    (0.25, 0.49)
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if not isinstance(evidence, Rows):
        raise InputError(needs_rows("A loess curve"))
    problems = evidence.problems(notion or one_score_notion(evidence))
    if problems.n_problems > 1:
        raise InputError(
            f'loess_curve is about one score per row, such as P(Y = 1); notion "{problems.notion}" has '
            f"{problems.n_problems:,} problems"
        )
    first = problems.tie_starts
    if len(first) > MOST_SCORES:
        first = first[np.unique(np.linspace(0, len(first), MOST_SCORES, endpoint=False).astype(int))]
    count = np.diff(np.append(first, problems.n_samples))
    each = problems.weights
    weight = np.add.reduceat(each, first) if problems.is_weighted else count
    share = each / np.repeat(weight, count)
    score = np.minimum(np.add.reduceat(share * problems.scores, first), 1.0)  # rounding
    rate = np.add.reduceat(share * problems.outcomes, first)
    at, lines = _local_lines(score, weight.astype(np.float64))
    frequency = np.interp(score, score[at], lines @ rate)
    away = share * (problems.outcomes - np.repeat(frequency, count))
    clusters = evidence.clusters.take(problems.rows)
    if clusters.independent:
        variance = lines**2 @ np.add.reduceat(away**2, first)
    else:
        variance = np.array([clusters.spread(np.repeat(line, count) * away) for line in lines])
    free = np.inf if clusters.independent else max((evidence.even_clusters or 2.0) - 1.0, 1.0)
    reach = np.interp(score, score[at], stdtrit(free, (1.0 + check_level(level)) / 2.0) * np.sqrt(variance))
    reach = np.minimum(reach, 1.0)  # of one cluster, infinite
    return LoessCurve(score, frequency, count, weight, frequency - reach, frequency + reach, level)


def distance_floors(evidence: Rows, n_resamples: int = N_REDRAWS) -> dict[str, float]:
    """Return the mean ICI, E50 and E90 of a perfect model with these scores, by smoother, as "ici_loess"."""
    few = len(np.unique(evidence.problems(evidence.notion).scores)) <= MOST_REDRAWN
    cells = evidence.cells(n_bins=MOST_REDRAWN, strategy="discrete" if few else "quantile", variance=True)
    draw, width = evidence.draw(cells)
    score, weight = cells.mean_score, cells.weight
    at, lines = _local_lines(score, weight)
    blocks = resample(draw, width, n_resamples=n_resamples, random_state=RANDOM_STATE)
    found: dict[str, list[float]] = {}
    for rate in np.concatenate([sums / weight[:, None] for sums in blocks], axis=1).T:
        smooth = np.interp(score, score[at], lines @ rate)
        steps = isotonic_regression(rate, weights=weight).x
        for smoother, frequency in (("loess", smooth), ("isotonic", steps)):
            curve = SmoothedCurve(score, frequency, cells.count, weight)
            for key in ("ici", "e50", "e90"):
                found.setdefault(f"{key}_{smoother}", []).append(getattr(curve, key))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _local_lines(score: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the lines, (F,), and their values as sums over the mean outcomes, (F, G)."""
    apart, places = STEP * (score[-1] - score[0]), [0]
    while places[-1] < len(score) - 1:
        last = int(np.searchsorted(score, score[places[-1]] + apart, side="right")) - 1
        places.append(max(last, places[-1] + 1))
    at = np.array(places)
    away = score - score[at][:, None]
    order = np.argsort(np.abs(away), axis=1)
    enough = np.cumsum(weight[order], axis=1) >= SPAN * weight.sum() * (1.0 - 1e-9)
    widest = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)  # in the smallest window
    near = np.abs(away) / np.maximum(np.abs(np.take_along_axis(away, widest, axis=1)), 1e-300)
    mass = (1.0 - np.minimum(near, 1.0) ** 3) ** 3 * weight
    mass[np.arange(len(at)), at] = weight[at]
    mass /= mass.sum(axis=1, keepdims=True)
    centre = (mass * away).sum(axis=1, keepdims=True)
    spread = (mass * (away - centre) ** 2).sum(axis=1, keepdims=True)
    tilt = np.where(spread > (1e-3 * (score[-1] - score[0])) ** 2, -centre / np.maximum(spread, 1e-300), 0.0)
    return at, mass * (1.0 + tilt * (away - centre))
