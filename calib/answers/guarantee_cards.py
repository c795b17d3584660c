"""The guarantee of a fitted calibrator, class by class, and its assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from calib.answers.theorems import ACCURACY, DEVIATION, FEW, MASSES, deviation, error_bound, mass_bound
from calib.base.exceptions import InputError
from calib.base.results import Result
from calib.calibrators.catalogue import full_name
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary, clusters_of_fit
from calib.calibrators.venn_abers import VennAbersCalibration
from calib.data.notions import TOP_K_NOTIONS, NotionShape
from calib.data.validation import check_alpha, check_count
from calib.stats.intervals import binomial_limits

#: Assumptions of the theorems, for readers who have not seen the paper; `chosen` is one of `CHOSEN`.
ASSUMPTIONS = (
    "The calibration rows and the rows to come are independent draws from one population.",
    "The model was not trained, tuned or selected on the calibration rows.",
    "Points per bin were chosen {chosen}, and every class has enough of them.",
)

#: A further assumption if bins are not cut at rows that are left out of all means.
HALFWAY = (
    "The theorems and the intervals are proved for bins cut at calibration scores. Bins here are cut halfway "
    "between two scores and use all their rows; `python -m benchmarks.promises cards` simulates that."
)

#: A further assumption if the calibrator conditions on groups.
GROUPS = (
    "The groups were fixed before the calibration rows were seen, and each row to come is of one of them."
)

#: How points per bin were chosen: for a single calibrator, and for one chosen among several.
CHOSEN = (
    "before looking at the calibration rows",
    "among several numbers with the calibration rows, which chose nothing else (the chance of failure is "
    "divided among the candidates)",
)

#: A further assumption, which depends on the rule for equal scores (`ties`).
CUTS = "No two rows share the score at a cut between bins; no two calibration rows do."
GROUPED_TIES = (
    "The theorems are stated for distinct scores. Here equal scores share a bin (ties='group'), so a bin may "
    "hold more than its share of rows, never fewer."
)
RANDOMIZED_TIES = (
    "Equal scores were not spread over several bins (ties='randomize' can do so): predict sends every "
    "calibration row to the bin it was fitted in."
)
UNKNOWN_TIES = (
    "No two calibration rows have equal scores. ties='randomize' spreads equal scores over several bins, "
    "while predict sends them all to one bin. The file of this calibrator does not record whether that "
    "happened."
)
VOID = (
    "ties='randomize' spread equal scores over several bins and predict sends them all to one, so the bound "
    "is void for these data; fit with ties='group'"
)

WEIGHTED = (
    "calibration rows have different weights, and the theorems are about unweighted means; fit without "
    "sample_weight"
)

#: Name of the error that each notion has a bound for.
ERROR_NAMES = {"confidence": "conf-ECE", "top-label": "TL-ECE", "class-wise": "CW-ECE"}


@dataclass(frozen=True)
class Promise:
    """A theorem's promise: at least `share` of the rows are within `epsilon` of the truth."""

    name: str
    epsilon: float
    share: float


@dataclass(frozen=True)
class MeanPromise:
    """A bound for a mean error: at least ``share - error / epsilon`` of the rows are within any epsilon."""

    name: str
    error: float
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBounds(Result):
    """Bound for the mean error of a notion, with probability 1 - alpha; proved in docs/why/error_bound.md."""

    #: Bound of conf-ECE, TL-ECE or CW-ECE over the problems `of`, 0 to 1; NaN if there is none
    error: float
    #: Largest probability of a new row of another class, at once with `error`; NaN without it
    uncovered: float
    of: np.ndarray  #: (P,) bool: Problems that `error` is about
    needed: int  #: Fewest calibration rows of these problems
    each: np.ndarray  #: (P,) float64: Bound of each class alone, class-wise; else NaN
    why_not: str  #: Why there is no `error`; "" if there is


@dataclass(frozen=True, eq=False, repr=False)
class BinIntervals(Result):
    """Clopper-Pearson intervals of the true probability of every bin with a guarantee; C bins."""

    #: (C,) int64 arrays: problem of the bin, its class code (-1 if classes are pooled), its claim
    problem: np.ndarray
    label: np.ndarray
    rank: np.ndarray
    count: np.ndarray  #: (C,) int64 array: calibration rows
    #: (C,) float64 arrays: calibrated value, and the ends of the interval
    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def reach(self) -> np.ndarray:
        """Distance from the calibrated value to the farther end of the interval, (C,) float64."""
        return np.maximum(self.value - self.lower, self.upper - self.value)


@dataclass(frozen=True, eq=False, repr=False)
class GuaranteeCard(Result):
    """The guarantee of a fitted calibrator, class by class; one entry per binary problem (P of them)."""

    notion: str  #: Notion of the calibrator
    alpha: float  #: Failure probability of every statement
    choices: int  #: Number of calibrators among which the labels chose; alpha is divided by it
    applies: bool  #: Whether the theorems cover this calibrator; if not, every bound is NaN
    why_not: str  #: The reason if they do not, else ""
    #: (P,) int64: Problem, its class code (-1 if classes are pooled), its claim (0-based rank for top-K)
    problem: np.ndarray
    label: np.ndarray
    rank: np.ndarray
    group: np.ndarray  #: (P,) object: Name of the group of each problem; "" if there are none
    n_points: np.ndarray  #: (P,) int64: Calibration rows n_l
    #: (P,) int64: Bins; 0 if the problem fell back on something without bins of its own
    n_bins: np.ndarray
    points_per_bin: np.ndarray  #: (P,) int64: Fewest points in a bin of the problem; 0 if it fell back
    #: (P,) float64: eps_1, eps_2 and the bound on the expected ECE; NaN without a guarantee
    marginal: np.ndarray
    conditional: np.ndarray
    expected_ece: np.ndarray
    errors: ErrorBounds  #: Bounds for the mean error
    bins: BinIntervals  #: Intervals of the true probability of each bin, which hold as `conditional` does
    #: (P,) bool: Whether no bound holds, because ``ties="randomize"`` spread equal scores or weights differ
    void: np.ndarray
    void_because: str  #: Why the first of them is void; "" if none is
    covered: float  #: Share of the calibration entries that belong to problems with a guarantee
    assumptions: tuple[str, ...]  #: The assumptions of the numbers, in words

    @property
    def error_bound(self) -> float:
        """Bound for the notion's ECE over classes with enough rows, 0 to 1; NaN if there is none."""
        return self.errors.error

    @property
    def uncovered_bound(self) -> float:
        """Largest share of new rows of other classes; NaN without `error_bound`."""
        return self.errors.uncovered

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
    def reach(self) -> np.ndarray:
        """Largest distance from calibrated values to the ends of their intervals, (P,) float64; or NaN.

        With probability 1 - `alpha` all values of a claim are this close to the truth at once.
        """
        reach = np.where(np.isfinite(self.conditional), 0.0, np.nan)
        np.maximum.at(reach, self.bins.problem, self.bins.reach)
        return reach

    @property
    def worst_reach(self) -> float:
        """Largest `reach` of the covered problems, NaN if there is none."""
        return _largest(self.reach)

    @property
    def theorem(self) -> str:
        """Theorem of the paper that the numbers come from."""
        return "Theorem 2" if self.notion == "class-wise" else "Theorem 1"

    def promises(self) -> list[Promise]:
        """Return the largest eps_1 and eps_2, without bounds of 1 or more."""
        first, second = self.worst_marginal, self.worst_conditional
        promises = (
            Promise(f"\u03b5\u2081 = {first:.3f}", first, 1.0 - self.alpha),
            Promise(f"\u03b5\u2082 = {second:.3f}", second, 1.0),
        )
        return [promise for promise in promises if promise.epsilon < 1.0]

    def mean_promise(self) -> MeanPromise | None:
        """Return the bound for the mean error; None if it promises nothing."""
        name, error, share = ERROR_NAMES.get(self.notion), self.error_bound, 1.0 - self.uncovered_bound
        if name is None or not error < share:
            return None
        return MeanPromise(f"{name} \u2264 {error:.3f}", error, share)

    def error_words(self, strong: str = "{}") -> str:
        """State the bound for the mean error, or why there is none."""
        errors, name = self.errors, ERROR_NAMES.get(self.notion, "ECE")
        if errors.why_not:
            return f"No bound for the {name}: {errors.why_not}."
        several = len(errors.of) > 1 and self.notion != "class-wise"
        what = "classes" if not any(self.group) else "groups" if self.label[0] < 0 else "classes by group"
        whose = f" of the {int(errors.of.sum()):,} calibrated {what}" if several else ""
        few = ""
        if not errors.of.all():
            share = strong.format(f"{math.ceil(1000 * errors.uncovered) / 10:.1f}%")
            few = f"; {what} with fewer than {errors.needed:,} rows are at most {share} of predictions"
        return (
            f"With probability {1 - self.alpha:.0%} the {name}{whose} is at most "
            f"{strong.format(f'{errors.error:.3f}')}{few}."
        )

    def words(self, strong: str = "{}") -> str:
        """State the promise, or why there is none; `strong` formats the bounds: "**{}**" for Markdown."""
        if not self.applies:
            return f"No guarantee: {self.why_not}."
        worst = self.worst_marginal, self.worst_conditional, self.worst_reach, self.worst_expected_ece
        first, second, reach, expected = (strong.format(f"{bound:.3f}") for bound in worst)
        at_once, all_bins = self._scope()
        fixed = "The expected error"
        if self.choices > 1:
            all_bins += (
                f" It was chosen by the same labels among {self.choices:,} calibrators; the chance of "
                "failure is divided among them."
            )
            fixed += " of one chosen before the labels were seen"
        void = ""
        if n_void := int(self.void.sum()):
            void = f" For {n_void:,} of {len(self.void):,} problems {self.void_because}."
        return (
            f"With probability at least {1 - self.alpha:.0%}, whatever the distribution of the data, the "
            f"calibrated score is within {first} (\u03b5\u2081) of the truth for a new row. With the "
            f"same probability it is within {second} (\u03b5\u2082) for {at_once} at once, and within "
            f"{reach} by the Clopper-Pearson intervals of the bins.{all_bins} {fixed} is at most "
            f"{expected} ({self.theorem}). This covers {self.covered:.1%} of the calibration rows.{void} "
            f"{self.error_words(strong)}"
        )

    def _scope(self) -> tuple[str, str]:
        """Say which values a statement covers together, and what holds for all claims together."""
        if self.notion != "class-wise" and self.notion not in TOP_K_NOTIONS:
            return "every calibrated value", ""
        claim, many = ("class", "classes") if self.notion == "class-wise" else ("rank", "ranks")
        scope = f"every calibrated value of one {claim}"
        claims = len(np.unique(self.rank[np.isfinite(self.conditional)]))
        if claims == 1:
            return scope, ""
        failing = claims * self.alpha
        holds = "which promises nothing" if failing >= 1 else f"so it holds with at least {1 - failing:.0%}"
        every = f"For all {claims:,} {many} at once the chances of failure add up to {failing:.0%}"
        return scope, f" {every}, {holds}."

    def frame(self) -> pd.DataFrame:
        """Return one row per problem."""
        groups = ["group"] if any(self.group) else []
        names = ["problem", "label", *groups, "rank", "n_points", "n_bins", "points_per_bin"]
        table = pd.DataFrame({name: getattr(self, name) for name in names})
        table = table.assign(eps_marginal=self.marginal, eps_conditional=self.conditional, reach=self.reach)
        table = table.assign(expected_ece_bound=self.expected_ece)
        each = self.errors.each
        return table.assign(error_bound=each) if np.isfinite(each).any() else table


def promise_of(calibrator: object) -> tuple[list[str], tuple[float | None, float | None]]:
    """Say which mean error a fitted calibrator promises; return its bound and the bound of the rest, too."""
    card = guarantee_card(calibrator) if isinstance(calibrator, MulticlassToBinary) else None
    if card is None or not card.applies:
        return [], (None, None)
    bounds = (None, None) if card.errors.why_not else (card.error_bound, card.uncovered_bound)
    return [card.error_words()], bounds


def guarantee_card(
    calibrator: MulticlassToBinary, alpha: float = 0.1, *, choices: int | None = None
) -> GuaranteeCard:
    """Compute what a fitted calibrator promises, class by class.

    Parameters
    ----------
    calibrator : MulticlassToBinary
        Fitted. Only histogram binning without normalisation has a guarantee.
    alpha : float in (0, 1)
        Failure probability of each statement.
    choices : int, optional
        Calibrators fitted on these rows from which this one was chosen by their labels, itself included: each
        may fail with alpha / choices. Default: what the calibrator's file says, else 1.

    Notes
    -----
    k is the fewest points in a bin of the problem. Following the proof of Theorem 1, eps_2 uses log(2 B /
    alpha) with B the bins of the claim's covered problems together (of the class alone for "class-wise"): the
    card is never looser than `guarantee`. The top-K notions apply the same binary bounds (Gupta & Ramdas
    2021, Theorem 4) to each claim. The bound for the mean error needs `points_per_bin`.
    """
    if not isinstance(calibrator, MulticlassToBinary):
        raise InputError(f"a card is about a fitted MulticlassToBinary; got a {type(calibrator).__name__}")
    check_is_fitted(calibrator)
    if choices is None:
        origin = getattr(calibrator, "fitted_on_", None)
        choices = 1 if origin is None else origin.choices
    each = check_alpha(alpha) / check_count(choices, "choices")
    why_not = _why_no_guarantee(calibrator)
    shape = calibrator.shape_
    n_problems = shape.n_problems
    n_bins, points = np.zeros((2, n_problems), dtype=np.int64)
    void = np.zeros(n_problems, dtype=bool)
    binned = {} if why_not else _own_bins(calibrator)
    for index, fitted in binned.items():
        n_bins[index], points[index] = len(fitted.counts_), fitted.counts_.min()
        void[index] = bool(fitted.misplaced_) or _is_weighted(fitted)
    covered = (points > 0) & ~void
    void_because = ""
    if void.any():
        void_because = WEIGHTED if any(map(_is_weighted, binned.values())) else VOID
    if not why_not and not covered.any():
        why_not = void_because or "no class has enough calibration rows for one bin"
    problem = np.arange(n_problems)
    rank = shape.claims_of(problem)
    groups = np.array([*getattr(calibrator, "groups_", ()), ""], dtype=object)
    all_bins = np.bincount(rank, weights=np.where(covered, n_bins, 0))[rank]
    k = np.where(covered, points, 2)
    delta = calibrator.binary_calibrator.delta if _is_randomized(calibrator) else 0.0
    entries = np.asarray(calibrator.n_points_)
    marginal = np.where(covered, deviation(2.0 / each, k) + delta, np.nan)
    conditional = np.where(covered, deviation(np.maximum(2.0 * all_bins / each, 1.0), k) + delta, np.nan)
    expected = np.where(covered, np.sqrt(1.0 / (2.0 * k)) + delta, np.nan)
    kept = {index: fitted for index, fitted in binned.items() if covered[index]}
    about = calibrator.notion, float(alpha), choices, not why_not, why_not
    of_problems = problem, shape.labels_of(problem), rank, groups[shape.groups_of(problem)]
    return GuaranteeCard(
        *about,
        *of_problems,
        *(entries, n_bins, points, marginal, conditional, expected),
        errors=_error_bounds(calibrator, binned, why_not, each, delta),
        bins=_bin_intervals(kept, shape, each / np.maximum(all_bins, 1), delta),
        void=void,
        void_because=void_because,
        covered=float(entries[covered].sum() / entries.sum()),
        assumptions=_assumptions(calibrator, binned, kept, choices),
    )


def _own_bins(calibrator: MulticlassToBinary) -> dict[int, HistogramBinning]:
    fell_back = {fallback.problem for fallback in calibrator.fallbacks_}
    return {
        index: fitted
        for index, fitted in enumerate(calibrator.calibrators_)
        if fitted is not None and index not in fell_back and fitted.counts_.min() >= 2
    }


def _is_randomized(calibrator: MulticlassToBinary) -> bool:
    return getattr(calibrator.binary_calibrator, "ties", "group") == "randomize"


def _assumptions(
    calibrator: MulticlassToBinary,
    binned: Mapping[int, HistogramBinning],
    kept: Mapping[int, HistogramBinning],
    choices: int,
) -> tuple[str, ...]:
    halfway = any(fitted.left_out_ is None for fitted in binned.values())
    ties = CUTS
    if not all(fitted.cut_at_points for fitted in kept.values()):
        recorded = all(fitted.misplaced_ is not None for fitted in binned.values())
        randomized = RANDOMIZED_TIES if recorded else UNKNOWN_TIES
        ties = randomized if _is_randomized(calibrator) else GROUPED_TIES
    always = (line.format(chosen=CHOSEN[choices > 1]) for line in ASSUMPTIONS)
    return (*always, *[HALFWAY] * halfway, *[GROUPS] * calibrator.has_groups, ties)


def _bin_intervals(
    kept: Mapping[int, HistogramBinning], shape: NotionShape, alpha: np.ndarray, delta: float
) -> BinIntervals:
    """Return the intervals of the bins of covered problems; `alpha` is the share of each problem's bins."""
    columns = [np.empty((7, 0))]
    for index, fitted in kept.items():
        # Without a cut at a point that the mean leaves out, any row of a bin may be its boundary.
        about = np.tile([[index], [not fitted.cut_at_points]], len(fitted.counts_))
        own = fitted.counts_, fitted.inside_, fitted.values_
        columns.append(np.stack([*about, *own, *_happened(fitted, delta)]))
    index, boundary, count, inside, value, fewest, most = np.concatenate(columns, axis=1)
    problem, rows = index.astype(np.int64), inside - boundary
    lower = binomial_limits(np.maximum(fewest - boundary, 0), rows, alpha[problem])[0]
    upper = binomial_limits(np.minimum(most, rows), rows, alpha[problem])[1]
    about_bins = problem, shape.labels_of(problem), shape.claims_of(problem), count.astype(np.int64)
    return BinIntervals(*about_bins, value, lower, upper)


def _is_weighted(fitted: HistogramBinning) -> bool:
    return fitted.effective_ is not None and bool((fitted.effective_ < (1.0 - 1e-9) * fitted.inside_).any())


def _happened(fitted: HistogramBinning, delta: float) -> np.ndarray:
    """Return the fewest and the most outcomes 1 among the rows of each mean, (2, b)."""
    # A randomized value is (mean + noise up to delta) / (1 + delta).
    highest = np.minimum(fitted.values_ * (1.0 + delta), 1.0) * fitted.inside_
    lowest = np.maximum(fitted.values_ * (1.0 + delta) - delta, 0.0) * fitted.inside_
    return np.stack([np.ceil(lowest - 1e-6), np.floor(highest + 1e-6)])


def _error_bounds(
    calibrator: MulticlassToBinary,
    binned: Mapping[int, HistogramBinning],
    why_not: str,
    alpha: float,
    delta: float,
) -> ErrorBounds:
    """Return the bounds for the mean error: the chance that any of them fails is at most `alpha`."""
    shape, sizes = calibrator.shape_, np.asarray(calibrator.n_points_)
    k = getattr(calibrator.binary_calibrator, "points_per_bin", 0)
    needed = max(k, calibrator.least_points)
    own = {index: fitted for index, fitted in binned.items() if sizes[index] >= needed}
    of, by_class = np.zeros(shape.n_problems, dtype=bool), np.full(shape.n_problems, np.nan)
    of[list(own)] = True
    exact = {index: fitted for index, fitted in own.items() if fitted.cut_at_points}
    if not why_not and shape.notion not in ERROR_NAMES:
        why_not = "it is proved for confidence, top-label and class-wise calibration"
    if not why_not and not own:
        why_not = f"no class has {needed:,} calibration rows"
    if not why_not and shape.notion == "class-wise":
        for index, fitted in exact.items():
            by_class[index] = _mean_bound([[fitted]], alpha, delta)
    if not why_not:
        why_not = next((_why_not_exact(fitted) for fitted in own.values() if not fitted.cut_at_points), "")
    if not why_not and shape.notion == "class-wise" and not of.all():
        why_not = "not every class has its own bins"
    if why_not:
        return ErrorBounds(math.nan, math.nan, np.zeros_like(of), needed, by_class, why_not)
    fits = list(exact.values())
    if shape.problems_per_claim == 1:
        error, uncovered = _mean_bound([[fitted] for fitted in fits], alpha, delta), 0.0
    else:
        error, uncovered = _mean_bound([fits], alpha, delta, (int(sizes.sum()), k)), 0.0
        if not of.all():
            low, high = binomial_limits(sizes, sizes.sum(), FEW * alpha / len(sizes))
            uncovered = float(min(high[~of].sum(), 1.0 - low[of].sum()))
    return ErrorBounds(error, uncovered, of, needed, by_class, "")


def _mean_bound(
    claims: list[list[HistogramBinning]], alpha: float, delta: float, among: tuple[int, int] | None = None
) -> float:
    """Bound the mean error of claims, each made by binnings of its own rows, and the mean of these errors.

    By default a claim has one binning, of all its rows. `among` are n rows, of which only predicted classes
    (and groups) with enough rows are binned, and k: any run of m + 1 of the spacings of these rows, m from
    k - 1 to 2 k - 1, may be a cell.
    """
    inside = np.concatenate([fitted.inside_ for fits in claims for fitted in fits])
    n, n_cells = int(claims[0][0].counts_.sum()), len(inside)
    if among is not None:
        n, n_cells = among[0], among[0] * (among[1] + 1)
    mass = mass_bound(int(inside.max()), n, MASSES * alpha / n_cells)
    rates = [_rate(fits, n, ACCURACY * alpha / len(claims), delta) for fits in claims]
    return min(error_bound(rates, int(inside.min()), mass, DEVIATION * alpha) + delta, 1.0)


def _rate(fits: list[HistogramBinning], n: int, alpha: float, delta: float) -> float:
    """Limit, towards 1/2, of the probability of the event; the other rows' outcomes are not known."""
    fewest, most = sum(
        (_happened(fitted, delta).sum(axis=1) + np.sum(fitted.left_out_ == 1) for fitted in fits), np.zeros(2)
    )
    others = n - sum(int(fitted.counts_.sum()) for fitted in fits)
    low, high = binomial_limits(np.array([fewest, most + others]), np.array([n, n]), alpha)
    return float(np.clip(0.5, low[0], high[1]))


def _why_not_exact(fitted: HistogramBinning) -> str:
    if fitted.left_out_ is None:
        return (
            "bins are cut halfway between rows, because n_bins was given or the file is of an earlier "
            "version; fit with points_per_bin"
        )
    if fitted.effective_ is not None:
        return "it is about unweighted rows"
    return "equal scores lie at the cut between two bins, and the proof needs a score of its own at each cut"


def _why_no_guarantee(calibrator: MulticlassToBinary) -> str:
    if isinstance(calibrator.binary_calibrator, VennAbersCalibration):
        return (
            "p0 or p1 of Venn-Abers is calibrated whatever the distribution, but the probability merged from "
            "the two has no guarantee; histogram binning has a guarantee"
        )
    if not isinstance(calibrator.binary_calibrator, HistogramBinning):
        name = full_name(calibrator.binary_calibrator)
        return f"{name} has no distribution-free guarantee; histogram binning has"
    if (n_clusters := clusters_of_fit(calibrator)) is not None:
        return (
            f"the calibration rows belong, or may belong, to {n_clusters:,} clusters, such as patients or "
            "copies of a row, and the theorems are about independent rows"
        )
    if calibrator.normalize:
        return "normalising the class-wise scores voids the guarantee (paper, after Theorem 2)"
    return ""


def _largest(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else math.nan
