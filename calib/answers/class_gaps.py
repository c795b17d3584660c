"""Which classes are right less or more often than they say, at one rate of false discoveries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calib.base.results import Result
from calib.evidence.group_shares import Shares
from calib.evidence.rows import Evidence
from calib.stats.floors import clearest_first, discoveries
from calib.stats.intervals import gap_limits, smallest_alpha


@dataclass(frozen=True, eq=False, repr=False)
class ClassGaps(Result):
    """Gap of each class that has rows, the clearest first: smallest p, then largest gap.

    The rows of a class are those predicted as it; class-wise all rows, with the score of the class.
    """

    fdr: float  #: False discovery rate of `differs`
    level: float  #: Coverage of each interval; those that exclude 0 are the classes that differ
    n_samples: int  #: Rows of all classes together
    label: NDArray[np.int64]  #: (C,): Class codes
    count: NDArray[np.int64]  #: (C,): Rows
    #: (C,): How often the class is the true one, and its mean score, weighted if rows are
    happened: NDArray[np.float64]
    score: NDArray[np.float64]
    #: (C,): `happened` minus `score`, negative if overconfident, and the ends of its interval
    gap: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    p: NDArray[np.float64]  #: (C,): Smallest alpha at which an interval of coverage 1 - alpha excludes 0
    differs: NDArray[np.bool_]  #: (C,): By the procedure of Benjamini & Hochberg (1995) over all classes
    shares: Shares  #: What all of these come from

    @property
    def p_value(self) -> float:
        """Chance that a perfect model has a class that differs at this rate or a smaller one (Simes 1986)."""
        return float(np.min(self.p * len(self.p) / np.arange(1, len(self.p) + 1)))

    def bounds(self, alpha: float) -> np.ndarray:
        """Return how far each class is off at least, at most and as measured, and its share of the rows.

        The array is (4, C); all hold together with probability 1 - alpha.
        """
        ends = gap_limits(self.shares, alpha / len(self.p))
        return np.stack([*sizes(*ends), np.abs(self.gap), self.shares.weight / self.n_samples])


def class_gaps(evidence: Evidence, fdr: float) -> ClassGaps:
    """Compare how often each class is right with its mean score.

    Intervals are Clopper & Pearson's (with weights and clusters Korn & Graubard's, 1998), of coverage
    1 - max(R, 1) fdr / C if R of C classes differ (Benjamini & Yekutieli 2005).
    """
    label, shares = evidence.shares_by_class()
    p = smallest_alpha(partial(gap_limits, shares), len(label))
    order = clearest_first(p, np.abs(shares.gap))
    label, shares, p = label[order], shares.of(order), p[order]
    differs = discoveries(p, fdr)
    alpha = fdr * max(int(differs.sum()), 1) / len(p)
    means = shares.count, shares.happened, shares.score, shares.gap
    ends = gap_limits(shares, alpha)
    return ClassGaps(fdr, 1.0 - alpha, evidence.n_samples, label, *means, *ends, p, differs, shares)


def sizes(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest size of numbers between these ends."""
    return np.maximum(np.maximum(lower, -upper), 0.0), np.maximum(np.abs(lower), np.abs(upper))
