"""Tests of calibration that need no bins, and the slope and intercept of recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import chdtrc, chdtri, expit, fdtrc, ndtr, ndtri, stdtrit

from calib.base.exceptions import InputError
from calib.base.interval_words import interval_words
from calib.base.parallel import map_threads, one_blas_thread
from calib.base.results import Result
from calib.data.defaults import LEVEL, N_RESAMPLES, RANDOM_STATE
from calib.data.notions import TOP_NOTIONS, Notion
from calib.data.predictions import Scores, Values, score_matrix
from calib.data.validation import check_choice, check_count, check_level, random_generator
from calib.evidence.binning import BinaryProblems
from calib.evidence.clusters import too_few
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.evidence.sampling import Draw, draw_sums, redrawn
from calib.stats.floors import SIGNIFICANCE

Test = Literal["kuiper", "ks", "spiegelhalter", "skce"]

#: Name of each test in tables.
TITLES: dict[Test, str] = {
    "kuiper": "Kuiper",
    "ks": "Kolmogorov-Smirnov",
    "spiegelhalter": "Spiegelhalter's z",
    "skce": "Kernel calibration error (SKCE)",
}

#: Verdicts of tests of "the model is calibrated", which estimate no error.
REJECTED, NOT_REJECTED = "calibration rejected", "calibration not rejected"
#: Most distinct scores for which p-values come from redraws; for more they come from the limit.
MOST_REDRAWN = 20_000
#: Least distance of a score from 0 and 1 before log-odds.
CLIP = 2.0**-24
#: Most decimals of scores that count as rounded.
MAX_DECIMALS = 3
#: Largest standard error of a slope or intercept that counts as determined.
LARGEST_ERROR = 1_000.0
#: Pairs times redraws in a block of the kernel test.
KERNEL_WORK = 400_000_000
#: Relative error of sums in single precision; statistics that differ by less are ties.
ROUNDING = 1e-6
#: If a label has more rows than this in a redraw, on average, matrix products sum the kernel over pairs.
OFTEN = 16
#: Most rows of the kernel test (20,000 find no more), rows that its width comes from, and default redraws.
MOST_KERNEL_ROWS, WIDTH_ROWS, KERNEL_REDRAWS = 10_000, 500, 199


class _Tested(Result):
    """A p-value of "the model is calibrated", and its verdict."""

    p_value: float
    untold: str | None

    @property
    def verdict(self) -> str:
        """`REJECTED` if p is at most `SIGNIFICANCE`, `NOT_REJECTED`, or `untold`."""
        return self.untold or (REJECTED if self.p_value <= SIGNIFICANCE else NOT_REJECTED)

    @property
    def _in_brackets(self) -> str:
        return "" if self.untold else f" ({_chance_words(self.p_value)})"


@dataclass(frozen=True, repr=False)
class CalibrationTest(_Tested):
    """The outcome of a test of calibration that needs no bins."""

    test: Test  #: "kuiper", "ks", "spiegelhalter" or "skce"
    notion: str  #: What was tested; "canonical" for "skce", which is about the whole vector
    n_samples: int  #: Rows
    statistic: float  #: Range or largest value of the cumulative differences, z, or the squared kernel error
    p_value: float  #: Chance of a statistic as extreme under calibration
    #: Redraws of the outcomes behind the p-value; 0 if it comes from the limit for many rows
    n_resamples: int
    untold: str | None = None  #: As for `CombinedTest`

    @property
    def title(self) -> str:
        """Its name in tables."""
        return TITLES[self.test]

    @property
    def words(self) -> str:
        """The result as a sentence without its full stop."""
        return f"{self.title} {self.statistic:.3g}{self._in_brackets}: {self.verdict}"


def _chance_words(p_value: float) -> str:
    return f"p = {p_value:.2g}" if p_value >= 1e-6 else "p < 0.000001"


@dataclass(frozen=True, repr=False)
class CalibrationSlope(Result):
    """Logistic recalibration (Cox 1958): log-odds of the event = intercept + slope * log-odds of the score.

    A calibrated model has slope 1 and intercept 0. A slope below 1 is overconfidence at both ends.
    """

    n_samples: int  #: Rows
    #: Slope and its interval
    slope: float
    slope_lower: float
    slope_upper: float
    #: Intercept and its interval
    intercept: float
    intercept_lower: float
    intercept_upper: float
    #: Intercept with the slope held at 1 ("calibration in the large"): below 0, scores are too high
    in_the_large: float
    in_the_large_lower: float
    in_the_large_upper: float
    #: Test of slope 1 and intercept 0 together (likelihood ratio; score test for weighted rows)
    p_value: float
    level: float  #: Coverage of each (Wald) interval
    determined: bool  #: False if all scores are equal or separate the outcomes; intervals then have no bounds
    n_left_out: int  #: Rows of score 0 or 1 that were left out because all scores are rounded
    untold: str | None  #: Why there is no verdict, such as too few clusters; None if there is

    @property
    def words(self) -> str:
        """Slope and intercept with their intervals, as a sentence without its full stop."""
        if not self.determined:
            return "slope and intercept cannot be estimated: one score, or scores that separate the outcomes"
        slope = interval_words(self.slope_lower, self.slope_upper, least=3)
        intercept = interval_words(self.intercept_lower, self.intercept_upper, least=3)
        tested = self.untold or f"{_chance_words(self.p_value)} for both"
        return (
            f"slope {self.slope:.3f} ({slope}; 1 if calibrated), intercept {self.intercept:.3f} "
            f"({intercept}; 0 if calibrated), {tested}"
            + f", without {self.n_left_out:,} rows of rounded scores 0 or 1"
            * bool(self.n_left_out)
        )


def calibration_test(
    y_true: Source,
    scores: Scores | None = None,
    *,
    test: Test = "kuiper",
    notion: Notion | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int | None = None,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> CalibrationTest:
    """Test the hypothesis that a model is calibrated, without bins.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`; or `BinaryProblems` alone.
    test : {"kuiper", "ks", "spiegelhalter", "skce"}
        "kuiper" and "ks" (Kolmogorov-Smirnov): range and largest absolute value of the cumulative sums of
        outcome minus score in the order of the scores. "spiegelhalter": the Brier score against its
        expectation. "skce": the whole vector; it needs unweighted, independent rows that sum to 1.
    notion : {"confidence", "top-label"}, optional
        By default as for `calib.ece`. For "top-label", cumulative sums run through one predicted class after
        the other.
    n_resamples : int, optional
        Redraws of the outcomes. Default: 999 (199 for "skce"), or none for more than 20,000 distinct scores.
        0 gives the p-value of the limit for many rows; "skce" has none.
    random_state
        Seed of the redraws, for "skce" also of its blocks.

    Notes
    -----
    "kuiper", "ks": Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu (2022), "Metrics of calibration for
    probabilistic predictions". Under calibration the sums, divided by sqrt(sum s (1 - s)), tend to a Brownian
    motion on [0, 1], whose range and largest absolute value have the distributions of Feller (1951).

    "spiegelhalter": sum (o - s)(1 - 2 s) over its standard deviation (Spiegelhalter 1986), two-sided.

    "skce": the squared kernel calibration error with the kernel ``exp(-|p - q| / w) I`` (Widmann, Lindsten &
    Zachariah 2019), w the median distance of vectors, averaged over pairs in random blocks of at most 10,000
    rows.

    Redraws make p-values exact except for ties, which count half (mid-p, Lancaster 1961): at 5 %, a
    calibrated model is rejected in about 5 % of samples.

    Examples
    --------
    >>> proba = np.tile([0.8, 0.2], (100, 1))
    >>> y = np.repeat([0, 1], [50, 50])
    >>> result = calibration_test(y, proba, test="spiegelhalter")
    >>> round(result.statistic, 2), result.verdict
    (7.5, 'calibration rejected')
    """
    check_choice(test, get_args(Test), "test")
    if n_resamples:
        check_count(n_resamples, "n_resamples")
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if test == "skce":
        if evidence.is_weighted:
            raise InputError('test="skce" cannot use sample_weight; "kuiper", "ks" and "spiegelhalter" can')
        if evidence.n_clusters is not None:
            raise InputError(
                'test="skce" is about independent rows, and these belong together in clusters; '
                '"kuiper", "ks" and "spiegelhalter" allow for that'
            )
        return _kernel_test(evidence, KERNEL_REDRAWS if n_resamples is None else n_resamples, random_state)
    return _redrawn_tests(evidence, notion, [test], n_resamples, random_state)[test]


def _redrawn_tests(
    evidence: Evidence,
    notion: Notion | None,
    tests: Sequence[Test],
    n_resamples: int | None,
    random_state: int | np.random.Generator | None,
) -> dict[Test, CalibrationTest]:
    asked = PathStatistic(evidence, notion, tests)
    if n_resamples is None:
        n_resamples = asked.n_resamples
    if not n_resamples:
        return asked.results(None)
    drawing = asked.drawing(evidence)
    return asked.results(*redrawn([asked], *drawing, n_resamples=n_resamples, random_state=random_state))


def calibration_tests(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    random_state: int | None = RANDOM_STATE,
    tests: Sequence[Test] = get_args(Test),
) -> list[CalibrationTest]:
    """Return every test of `calibration_test` that applies to the scores."""
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    sums: list[Test] = [check_choice(test, get_args(Test), "test") for test in tests if test != "skce"]
    results = _redrawn_tests(evidence, None, sums, None, random_state) if sums else {}
    if "skce" in tests and _has_pairs(evidence):
        results["skce"] = _kernel_test(evidence, KERNEL_REDRAWS, random_state)
    return [results[test] for test in tests if test in results]


@dataclass(frozen=True, repr=False)
class CombinedTest(_Tested):
    """One answer of several tests of calibration on the same rows."""

    n_tests: int  #: Tests
    p_value: float  #: Their combined p-value
    untold: str | None  #: Why there is no verdict, such as too few clusters; None if there is

    @property
    def words(self) -> str:
        return f"All {self.n_tests} tests together{self._in_brackets}: {self.verdict}"


def combined_test(
    p_values: Sequence[float], untold: str | None = None, *, weights: Sequence[float] | None = None
) -> CombinedTest:
    """Combine tests of calibration on the same rows into one of the same level.

    The tests, with p-values in (0, 1], may depend on each other in any way. `untold` says why rows allow no
    verdict; `weights` are positive, by default equal.

    Notes
    -----
    Liu & Xie (2020), "Cauchy combination test": the mean of tan((1/2 - p) pi) has about a standard Cauchy
    tail. Each p-value counts as at most 0.95: a test that finds nothing does not speak against the others.

    Examples
    --------
    >>> combined_test([0.04, 0.5, 0.5, 0.5]).verdict
    'calibration not rejected'
    """
    chance = np.minimum(np.asarray(p_values, dtype=np.float64), 1.0 - SIGNIFICANCE)
    if not len(chance):
        raise InputError("combined_test needs at least one p-value; got none")
    mean = float(np.average(np.tan((0.5 - np.maximum(chance, 1e-15)) * np.pi), weights=weights))
    return CombinedTest(len(chance), float(np.arctan2(1.0, mean) / np.pi), untold)


def calibration_frame(tests: Sequence[CalibrationTest], scored: str | None = None) -> pd.DataFrame:
    """Return one row per test, for tables and CSV downloads; `scored` names the one score of each row."""
    rows = [
        {
            "Test": test.title,
            "Of": scored or test.notion,
            "Statistic": test.statistic,
            "p": np.nan if test.untold else test.p_value,
            "Redraws": test.n_resamples,
            "Verdict": test.verdict,
        }
        for test in tests
    ]
    return pd.DataFrame(rows)


def recalibration_words(line: CalibrationSlope, scored: str | None = None) -> str:
    """Describe the line in a sentence; `scored` as for `calibration_frame`."""
    what = "the confidence" if scored in (None, "confidence") else scored
    return f"Recalibration of {what} by a line in log-odds: {line.words}."


def calibration_slope(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion = "confidence",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> CalibrationSlope:
    """Estimate slope and intercept of the logistic recalibration of the predicted class's score.

    Parameters
    ----------
    y_true, scores, sample_weight
        As for `calib.ece`; or `BinaryProblems` alone. Scores of 0 and 1 are moved by 2^-24; if all
        scores have at most 3 decimals, their rows are left out.
    notion : {"confidence", "top-label"}
        Both give the same line, for all classes together.
    cluster : (n,) array_like of int, str or time, optional
        As for `calib.noise_floor`. Student's and Hotelling's distributions then replace the normal
        distribution.
    level : float in (0, 1)
        Coverage of the intervals.

    Notes
    -----
    Cox (1958), "Two further applications of a model for binary regression"; maximum likelihood, intervals
    from the observed information. With weights the covariance is I^-1 V I^-1, with I the weighted information
    and V = sum w_i^2 p_i (1 - p_i) x_i x_i' under the line, and the test is the score test at slope 1 and
    intercept 0.

    Examples
    --------
    >>> from calib.data.predictions import TopLabelPrediction
    >>> top = TopLabelPrediction(np.zeros(400, int), np.tile([0.6, 0.9], 200))
    >>> y = np.where(np.arange(400) % 10 < 8, 0, 1)
    >>> line = calibration_slope(y, top)
    >>> abs(round(line.slope, 3)), round(line.in_the_large, 3), line.determined
    (0.0, 0.323, True)
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    problems = _one_claim(evidence, notion)
    z = ndtri((1.0 + check_level(level)) / 2.0)
    usable = _inside_rounding(problems.scores)
    clipped = np.clip(problems.scores[usable].astype(np.float64), CLIP, 1.0 - CLIP)
    log_odds, outcomes = np.log(clipped) - np.log1p(-clipped), problems.outcomes[usable].astype(np.float64)
    weights = problems.weights[usable]
    design = np.column_stack([np.ones_like(log_odds), log_odds])
    both = _newton(design, np.zeros_like(log_odds), outcomes, weights)
    large = _newton(design[:, :1], log_odds, outcomes, weights)
    dependence = evidence.dependence if isinstance(evidence, Rows) else None
    if dependence is not None:
        free = max(dependence.even_clusters() - 1.0, 1.0)
        z = float(stdtrit(free, (1.0 + level) / 2.0))
        weighted = design * weights[:, None]
        away = outcomes - clipped
        spread = dependence.covariance(problems.scores[usable], problems.rows[usable], weighted, away)
        with np.errstate(invalid="ignore"):  # infinite if the line is not determined
            both, large = (
                replace(fit, covariance=fit.inverse @ spread[:k, :k] @ fit.inverse)
                for k, fit in ((2, both), (1, large))
            )
        away = away @ weighted
        excess = float(away @ np.linalg.solve(spread, away)) if both.converged else 0.0
        # Hotelling's distribution of a squared distance whose spread has these degrees of freedom
        left = max(free - 1.0, 1.0)
        excess = float(chdtri(2, fdtrc(2, left, excess * left / (2.0 * free))))
    elif not problems.is_weighted:
        excess = 2.0 * max(_negative_log_likelihood(log_odds, outcomes, weights) - both.loss, 0.0)
    else:
        away = (weights * (outcomes - clipped)) @ design
        spread = _products(design, weights**2 * clipped * (1.0 - clipped))
        excess = float(away @ np.linalg.solve(spread, away)) if both.converged else 0.0

    def interval(fit: _Fit, index: int) -> tuple[float, float, float]:
        half = float(z * np.sqrt(fit.covariance[index, index])) if fit.converged else np.inf
        value = float(fit.theta[index])
        return value, value - half, value + half

    slope, intercept, in_the_large = interval(both, 1), interval(both, 0), interval(large, 0)
    return CalibrationSlope(
        problems.n_samples,
        *slope,
        *intercept,
        *in_the_large,
        p_value=float(chdtrc(2, excess)),
        level=level,
        determined=both.converged and large.converged,
        n_left_out=int((~usable).sum()),
        untold=too_few(evidence.n_clusters),
    )


def _inside_rounding(scores: np.ndarray) -> np.ndarray:
    """Return which scores count: if they are rounded, only those strictly between 0 and 1; else all."""
    inside = (scores > 0.0) & (scores < 1.0)
    if inside.all() or len(np.unique(scores[inside])) < 2:
        return np.ones(len(scores), dtype=bool)
    units = scores.astype(np.float64) * 10.0**MAX_DECIMALS
    rounded = bool(np.all(np.abs(units - np.rint(units)) < 1e-3))  # float32 is right to 6e-5 of a unit
    return inside if rounded else np.ones(len(scores), dtype=bool)


class PathStatistic:
    """Tests from weighted sums of outcome - score over groups of equal scores, in the order of the scores."""

    def __init__(self, evidence: Evidence, notion: Notion | None, tests: Sequence[Test]) -> None:
        problems = _one_claim(evidence, notion)
        self.tests, self.notion, self.n_samples = tests, problems.notion, problems.n_samples
        self.cells = evidence.cells(notion, strategy="discrete", variance=True, effects=False)
        self._why_not, self._clustered = too_few(evidence.n_clusters), evidence.n_clusters is not None
        score, weight = problems.scores[self.cells.start].astype(np.float64), self.cells.weight
        self._score, self._expected = score, weight * score
        square = np.add.reduceat(problems.weights**2, self.cells.start) if problems.is_weighted else weight
        variance = score * (1.0 - score)
        self._spread = np.sqrt((square * variance).sum())
        self._brier_spread = np.sqrt(square @ (variance * (1.0 - 2.0 * score) ** 2))
        sums = problems.outcome_sums[np.append(self.cells.start, len(problems.scores))]
        self._observed = self._statistics(np.diff(sums)[:, None])[:, 0]

    @property
    def n_resamples(self) -> int:
        """Redraws by default; 0 if p-values come from the limit."""
        if self._clustered:
            return N_RESAMPLES
        return 999 if len(self._score) <= MOST_REDRAWN else 0

    def drawing(self, evidence: Evidence) -> tuple[Draw, int]:
        return evidence.draw(self.cells, "rows") if self._clustered else draw_sums(self.cells)

    def measure(self, sums: np.ndarray) -> np.ndarray:
        return np.abs(self._statistics(sums))

    def _statistics(self, sums: np.ndarray) -> np.ndarray:
        differences = np.subtract(sums.T, self._expected, order="C")  # a path lies in one piece
        found: dict[Test, np.ndarray] = {}
        if "spiegelhalter" in self.tests:
            found["spiegelhalter"] = _over(differences @ (1.0 - 2.0 * self._score), self._brier_spread)
        path = np.cumsum(differences, axis=1, out=differences)
        high, low = np.maximum(path.max(axis=1), 0.0), np.minimum(path.min(axis=1), 0.0)
        found["kuiper"] = _over(high - low, self._spread)
        found["ks"] = _over(np.maximum(high, -low), self._spread)
        return np.stack([found[test] for test in self.tests])

    def results(self, samples: np.ndarray | None) -> dict[Test, CalibrationTest]:
        """Return the tests from what `measure` gave; None for p-values of the limit."""
        results: dict[Test, CalibrationTest] = {}
        for number, (test, statistic) in enumerate(zip(self.tests, self._observed.tolist(), strict=True)):
            p_value, n_resamples = _LIMITS[test](abs(statistic)), 0
            if samples is not None:
                size, n_resamples = samples[number], samples.shape[1]
                above, reached = size > abs(statistic) + 1e-9, size >= abs(statistic) - 1e-9
                p_value = (
                    (1.0 + (above.sum() + reached.sum()) / 2.0) / (1.0 + n_resamples) if statistic else 1.0
                )
            p_value = float(np.clip(p_value, 0.0, 1.0))
            about = self.notion, self.n_samples, statistic, p_value, n_resamples, self._why_not
            results[test] = CalibrationTest(test, *about)
        return results


def _over(values: np.ndarray, spread: float) -> np.ndarray:
    """Divide by a spread; if it is 0, values other than 0 become infinite."""
    if spread > 0:
        return values / spread
    return np.where(np.abs(values) > 1e-9, np.copysign(np.inf, values), 0.0)


def largest_tail(x: float) -> float:
    """Chance that the largest |B(t)| of a Brownian motion on [0, 1] is above x."""
    k = np.arange(100)
    if x >= 1.5:
        return float(4.0 * ((-1.0) ** k * ndtr(-(2 * k + 1) * x)).sum())
    if x <= 0.0:
        return 1.0
    odd = 2 * k + 1
    return float(1.0 - 4.0 / np.pi * ((-1.0) ** k / odd * np.exp(-((odd * np.pi) ** 2) / (8.0 * x**2))).sum())


def range_tail(x: float) -> float:
    """Chance that the range of a Brownian motion on [0, 1] is above x (Feller 1951)."""
    k = np.arange(1, 101)
    if x >= 2.0:
        return float(8.0 * ((-1.0) ** (k - 1) * k * ndtr(-k * x)).sum())
    if x <= 0.0:
        return 1.0
    half = (k - 0.5) * np.pi
    return float(1.0 - ((8.0 / x**2 + 2.0 / half**2) * np.exp(-2.0 * (half / x) ** 2)).sum())


_LIMITS = {"kuiper": range_tail, "ks": largest_tail, "spiegelhalter": lambda z: 2.0 * ndtr(-z)}


def _one_claim(evidence: Evidence, notion: Notion | None) -> BinaryProblems:
    if notion is not None:
        check_choice(notion, TOP_NOTIONS, "notion")
    problems = evidence.problems(notion)
    if problems.n_claims > 1:
        raise InputError(
            f'tests without bins are about one claim per row; got notion "{problems.notion}". For all '
            'classes of a row, use test="skce"'
        )
    return problems


@dataclass(frozen=True, eq=False)
class _Fit:
    theta: np.ndarray
    inverse: np.ndarray
    covariance: np.ndarray
    loss: float
    converged: bool


def _negative_log_likelihood(log_odds: np.ndarray, outcomes: np.ndarray, weights: np.ndarray) -> float:
    return float((np.logaddexp(0.0, log_odds) - outcomes * log_odds) @ weights)


def _products(design: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return (design * factor[:, None]).T @ design


def _newton(design: np.ndarray, offset: np.ndarray, outcomes: np.ndarray, weights: np.ndarray) -> _Fit:
    theta = np.zeros(design.shape[1])
    theta[1:] = 1.0
    loss = _negative_log_likelihood(offset + design @ theta, outcomes, weights)
    converged, inverse = False, np.full((len(theta), len(theta)), np.inf)
    covariance = inverse
    for _ in range(100):
        chance = expit(offset + design @ theta)
        information = _products(design, weights * chance * (1.0 - chance))
        gradient = design.T @ (weights * (outcomes - chance))
        if np.linalg.cond(information) > 1e12:
            break
        step, inverse = np.linalg.solve(information, gradient), np.linalg.inv(information)
        covariance = inverse
        if gradient @ step < 1e-16 * len(outcomes):
            converged = bool(np.sqrt(np.diag(covariance)).max() < LARGEST_ERROR)
            spread = _products(design, weights**2 * chance * (1.0 - chance))
            covariance = inverse @ spread @ inverse
            break
        rate, best = 1.0, loss
        while rate > 1e-10:
            moved = offset + design @ (theta + rate * step)
            loss = _negative_log_likelihood(moved, outcomes, weights)
            if loss <= best + 1e-12 * abs(best):  # the last step changes only the rounding of the sum
                break
            rate /= 2.0
        theta = theta + rate * step
    reached = _negative_log_likelihood(offset + design @ theta, outcomes, weights)
    return _Fit(theta, inverse, covariance, min(loss, reached), converged)


def _has_pairs(evidence: Evidence) -> bool:
    """Whether "skce" applies: its rows are unweighted and independent, and each is a whole vector."""
    apart = not evidence.is_weighted and evidence.n_clusters is None
    return evidence.n_samples > 1 and apart and _vectors_of(evidence) is not None


def _vectors_of(evidence: Evidence) -> np.ndarray | None:
    """Return the vectors of probabilities of rows; None if rows have none that sum to 1."""
    if type(evidence) is not Rows or evidence.kind != "vectors":
        return None
    matrix = score_matrix(evidence.predictions)
    return matrix if bool(np.allclose(matrix.sum(axis=1), 1.0, atol=1e-3)) else None


def _kernel_test(
    evidence: Evidence, n_resamples: int, random_state: int | np.random.Generator | None
) -> CalibrationTest:
    if n_resamples < 1:
        raise InputError('test="skce" has no limit distribution here; n_resamples must be at least 1')
    proba = _vectors_of(evidence)
    if proba is None or not isinstance(evidence, Rows):
        raise InputError('test="skce" needs a vector of probabilities per row, each with sum 1')
    if len(proba) < 2:
        raise InputError('test="skce" compares pairs of rows; got 1 row')
    generator = random_generator(random_state)
    order = _drawn_rows(len(proba), generator)
    return _test_of_pairs(evidence.labels[order], proba[order], len(proba), n_resamples, generator)


def compared_rows(evidence: Evidence) -> tuple[np.ndarray, np.ndarray] | None:
    """Return labels and vectors of the rows that "skce" compares by default; None if it does not apply."""
    if not _has_pairs(evidence):
        return None
    assert isinstance(evidence, Rows)
    proba = score_matrix(evidence.predictions)
    order = _drawn_rows(len(proba), random_generator(RANDOM_STATE))
    return evidence.labels[order], proba[order]


def kernel_test(labels: np.ndarray, proba: np.ndarray, n_samples: int) -> CalibrationTest:
    """Compute "skce" of `calibration_test` with its defaults from the `compared_rows` of `n_samples` rows."""
    generator = random_generator(RANDOM_STATE)
    _drawn_rows(n_samples, generator)  # as they were drawn: what is drawn next is then the same, too
    return _test_of_pairs(labels, proba, n_samples, KERNEL_REDRAWS, generator)


def _drawn_rows(n_samples: int, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(n_samples)[:MOST_KERNEL_ROWS]


def _test_of_pairs(
    labels: np.ndarray, proba: np.ndarray, n_samples: int, n_resamples: int, generator: np.random.Generator
) -> CalibrationTest:
    size = int(np.clip(2 * KERNEL_WORK // (len(labels) * n_resamples), 16, len(labels)))
    blocks = [slice(end - size, end) for end in range(size, len(labels) + 1, size)]

    def compare(task: tuple[slice, np.random.Generator]) -> np.ndarray:
        rows, draws = task
        return _kernel_sums(proba[rows].astype(np.float64), labels[rows], width, n_resamples, draws)

    tasks = list(zip(blocks, generator.spawn(len(blocks)), strict=True))
    with one_blas_thread():
        width = _kernel_width(proba[:WIDTH_ROWS].astype(np.float64))
        sums = map_threads(compare, tasks)
    *totals, equal = np.sum(sums, axis=0) / (len(blocks) * size * (size - 1))
    reached = np.sum(np.array(totals[1:]) >= totals[0] - ROUNDING * equal)
    p_value = float((1.0 + reached) / (1.0 + n_resamples))
    return CalibrationTest("skce", "canonical", n_samples, float(totals[0]), p_value, n_resamples)


def _kernel_width(proba: np.ndarray) -> float:
    """Median distance of the rows that differ; 1 if none do."""
    squares = np.sum(proba**2, axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * proba @ proba.T, 0.0))
    apart = distance[np.triu_indices(len(proba), 1)]
    apart = apart[apart > 1e-7]
    return float(np.median(apart)) if len(apart) else 1.0


def _kernel_sums(
    proba: np.ndarray, labels: np.ndarray, width: float, n_resamples: int, generator: np.random.Generator
) -> np.ndarray:
    """Sum k(p_i, p_j) (e_i - p_i).(e_j - p_j) over the pairs of rows i != j of a block."""
    n_rows = len(proba)
    squares = np.sum(proba**2, axis=1)
    inner = proba @ proba.T
    kernel = np.exp(-np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * inner, 0.0)) / width)
    np.fill_diagonal(kernel, 0.0)
    reach = np.cumsum(proba, axis=1)
    row = np.arange(n_rows)[:, None]
    points = generator.random((n_rows, n_resamples)) * reach[:, -1:] + 2.0 * row
    drawn = np.searchsorted((reach + 2.0 * row).ravel(), points, side="right") - row * proba.shape[1]
    drawn = np.column_stack([labels, np.clip(drawn, 0, proba.shape[1] - 1)]).astype(np.int32)
    same = _alike(kernel, drawn)
    smoothed = kernel.astype(np.float32) @ proba.astype(np.float32)
    cross = np.take_along_axis(smoothed, drawn, axis=1).sum(axis=0, dtype=np.float64)
    # the statistic, in double precision
    same[0] = np.sum(kernel * (labels[:, None] == labels)) / 2.0
    cross[0] = np.sum(kernel * proba[:, labels])
    return np.append(2.0 * same - 2.0 * cross + float(np.sum(kernel * inner)), 2.0 * same[0])


def _alike(kernel: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Sum the kernel, in single precision, over pairs of equal labels: (R,) of (n, R) labels."""
    n_redraws = drawn.shape[1]
    drawn = drawn.astype(np.min_scalar_type(int(drawn.max())))
    count = np.bincount(drawn.ravel())
    often = count > OFTEN * n_redraws
    below = np.tril(kernel, -1).astype(np.float32)
    same = np.zeros(n_redraws)
    for label in np.flatnonzero(often):
        has = drawn == label
        rows = np.flatnonzero(has.any(axis=1))
        among = below
        if len(rows) < len(drawn) / 2:
            has, among = has[rows], below[rows][:, rows]
        held = has.astype(np.float32)
        same += np.einsum("ij,ij->j", held, among @ held)
    if often[count > 0].all():
        return same
    # of the other labels there are few pairs: sorted, equal labels stand near each other
    order = np.argsort(drawn.T, axis=1, kind="stable")
    ordered = np.take_along_axis(drawn.T, order, axis=1)
    seldom = ~often[ordered]
    for apart in range(1, len(drawn)):
        redraw, at = np.nonzero((ordered[:, apart:] == ordered[:, :-apart]) & seldom[:, apart:])
        if not len(at):
            break
        later, earlier = order[redraw, at + apart], order[redraw, at]
        same += np.bincount(redraw, weights=below[later, earlier], minlength=n_redraws)
    return same
