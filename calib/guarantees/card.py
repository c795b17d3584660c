"""What a fitted calibrator promises, class by class, and what the promise rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.guarantees.theorems import deviation
from calib.validation import check_alpha

#: What the theorems assume, for a reader who has not seen the paper.
ASSUMPTIONS = (
    "The calibration rows and the rows to come are independent draws from one population.",
    "The model was not trained, tuned or selected on the calibration rows.",
    "Points per bin were chosen before looking at the calibration rows, and every class has enough of them.",
)

#: One more, by the rule for equal scores.
GROUPED_TIES = (
    "The theorems are stated for distinct scores. Here equal scores share a bin (ties='group'), so a bin may "
    "hold more than its share of rows, never fewer."
)
RANDOMIZED_TIES = (
    "No two calibration rows have equal scores: ties='randomize' spreads equal scores over several bins in "
    "fit, predict sends them all to one, and the promise can fail. Use ties='group' for such scores."
)


@dataclass(frozen=True)
class Promise:
    """A theorem's promise about V(epsilon): at least `share` of the rows are within `epsilon` of the truth.

    `name` says which epsilon it is, and its size.
    """

    name: str
    epsilon: float
    share: float


@dataclass(frozen=True, eq=False)
class GuaranteeCard:
    """The guarantee of a fitted calibrator, class by class; one entry per binary problem (P of them).

    Attributes
    ----------
    notion : str
        Notion of the calibrator.
    alpha : float
        Failure probability of every statement.
    applies : bool
        Whether the theorems cover this calibrator; if not, every bound is NaN.
    why_not : str
        The reason if they do not, else "".
    problem, label, rank : (P,) int64 arrays
        Problem, its class code (-1 where classes are pooled), its claim (0-based rank for top-K notions).
    n_points : (P,) int64 array
        Calibration rows n_l.
    n_bins : (P,) int64 array
        Bins; 0 where the problem fell back on something that has no guarantee.
    points_per_bin : (P,) int64 array
        Fewest points in a bin of the problem; 0 where it fell back.
    marginal, conditional, expected_ece : (P,) float64 arrays
        eps_1, eps_2 and the bound on the expected ECE of each problem; NaN without a guarantee.
        `conditional` holds for all problems of a claim at once, except for "class-wise" (Theorem 2).
    covered : float
        Share of the calibration entries that belong to problems with a guarantee.
    assumptions : tuple of str
        What the numbers rest on, in words.
    """

    notion: str
    alpha: float
    applies: bool
    why_not: str
    problem: np.ndarray
    label: np.ndarray
    rank: np.ndarray
    n_points: np.ndarray
    n_bins: np.ndarray
    points_per_bin: np.ndarray
    marginal: np.ndarray
    conditional: np.ndarray
    expected_ece: np.ndarray
    covered: float
    assumptions: tuple[str, ...]

    @property
    def worst_marginal(self) -> float:
        """Largest eps_1 of the covered problems, NaN if there is none."""
        return _largest(self.marginal)

    @property
    def worst_conditional(self) -> float:
        """Largest eps_2 of the covered problems, NaN if there is none."""
        return _largest(self.conditional)

    @property
    def worst_expected_ece(self) -> float:
        """Bound on the expected ECE of the notion over the covered problems, NaN if there is none."""
        return _largest(self.expected_ece)

    @property
    def theorem(self) -> str:
        """Theorem of the paper that the numbers come from."""
        return "Theorem 2" if self.notion == "class-wise" else "Theorem 1"

    def promises(self, label: int | None = None) -> list[Promise]:
        """Return eps_1 and eps_2 of one class, by default the worst; without those that exclude nothing."""
        of_class = label is not None and self.notion != "confidence"
        first = float(self.marginal[label]) if of_class else self.worst_marginal
        second = float(self.conditional[label]) if of_class else self.worst_conditional
        promises = (
            Promise(f"\u03b5\u2081 = {first:.3f}", first, 1.0 - self.alpha),
            Promise(f"\u03b5\u2082 = {second:.3f}", second, 1.0),
        )
        return [promise for promise in promises if promise.epsilon < 1.0]

    def words(self, strong: str = "{}") -> str:
        """Say what is promised, or why nothing is; `strong` formats the bounds: "**{}**" for Markdown."""
        if not self.applies:
            return f"No guarantee: {self.why_not}."
        first, second, expected = (
            strong.format(f"{bound:.3f}")
            for bound in (self.worst_marginal, self.worst_conditional, self.worst_expected_ece)
        )
        return (
            f"With probability at least {1 - self.alpha:.0%}, whatever the distribution of the data, the "
            f"calibrated score is within {first} (\u03b5\u2081) of the truth for a new row, and within "
            f"{second} (\u03b5\u2082) for every calibrated value at once; the expected error is at most "
            f"{expected} ({self.theorem}). This covers {self.covered:.1%} of the calibration rows."
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per problem, for tables and CSV downloads."""
        return pd.DataFrame(
            {
                "problem": self.problem,
                "label": self.label,
                "rank": self.rank,
                "n_points": self.n_points,
                "n_bins": self.n_bins,
                "points_per_bin": self.points_per_bin,
                "eps_marginal": self.marginal,
                "eps_conditional": self.conditional,
                "expected_ece_bound": self.expected_ece,
            }
        )


def guarantee_card(calibrator: MulticlassToBinary, alpha: float = 0.1) -> GuaranteeCard:
    """Compute what a fitted calibrator promises, class by class.

    Parameters
    ----------
    calibrator : MulticlassToBinary
        Fitted. Only histogram binning without normalisation has a guarantee.
    alpha : float in (0, 1)
        Failure probability of each statement.

    Raises
    ------
    InputError
        If `alpha` is outside (0, 1).

    Notes
    -----
    k is the fewest points in a bin of the problem, counted in the fitted calibrator. Following the proof of
    Theorem 1, eps_2 uses log(2 B / alpha) with B the bins of the claim's covered problems together (of the
    class alone for "class-wise"), which n / k bounds from above: the card is never looser than `guarantee`.
    The top-K notions apply the same binary bounds (Gupta & Ramdas 2021, Theorem 4) to each claim.
    """
    check_is_fitted(calibrator)
    check_alpha(alpha)
    why_not = _why_no_guarantee(calibrator)
    shape = calibrator.shape_
    n_problems = shape.n_problems
    n_bins, points = np.zeros(n_problems, dtype=np.int64), np.zeros(n_problems, dtype=np.int64)
    fell_back = {fallback.problem for fallback in calibrator.fallbacks_}
    if not why_not:
        for index, fitted in enumerate(calibrator.calibrators_):
            if fitted is not None and index not in fell_back and fitted.counts_.min() >= 2:
                n_bins[index], points[index] = len(fitted.counts_), fitted.counts_.min()
    covered = points > 0
    problem = np.arange(n_problems)
    rank = shape.claims_of(problem)
    together = np.bincount(rank, weights=n_bins)[rank]
    k = np.where(covered, points, 2)
    binary = calibrator.binary
    delta = getattr(binary, "delta", 0.0) if getattr(binary, "ties", "group") == "randomize" else 0.0
    entries = calibrator.n_points_
    bounds = (
        deviation(2.0 / alpha, k) + delta,
        deviation(np.maximum(2.0 * together / alpha, 1.0), k) + delta,
        np.sqrt(1.0 / (2.0 * k)) + delta,
    )
    marginal, conditional, expected = (np.where(covered, bound, np.nan) for bound in bounds)
    return GuaranteeCard(
        notion=calibrator.notion,
        alpha=float(alpha),
        applies=not why_not and bool(covered.any()),
        why_not=why_not or ("" if covered.any() else "no class has enough calibration rows for one bin"),
        problem=problem,
        label=shape.labels_of(problem),
        rank=rank,
        n_points=np.asarray(entries),
        n_bins=n_bins,
        points_per_bin=points,
        marginal=marginal,
        conditional=conditional,
        expected_ece=expected,
        covered=float(entries[covered].sum() / entries.sum()),
        assumptions=(*ASSUMPTIONS, RANDOMIZED_TIES if delta else GROUPED_TIES),
    )


def _why_no_guarantee(calibrator: MulticlassToBinary) -> str:
    if not isinstance(calibrator.binary_calibrator, HistogramBinning):
        return f"{type(calibrator.binary).__name__} has no distribution-free guarantee; histogram binning has"
    if calibrator.normalize:
        return "normalising the class-wise scores voids the guarantee (paper, after Theorem 2)"
    return ""


def _largest(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else math.nan
