"""Calibration of P(Y = 1) in each centre, its spread over centres, and what to expect in a new centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from calib.answers.cuts import Cut, cut_column
from calib.base.exceptions import InputError
from calib.base.interval_words import interval_words, with_interval
from calib.base.results import Drawn
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.predictions import Scores, Values
from calib.data.validation import check_level
from calib.evidence.rows import Source, single_rows
from calib.stats.binless import calibration_slope
from calib.stats.observed import event_evidence, observed_expected

#: Fewest centres for their spread, and draws of a new centre.
MIN_CENTRES, N_DRAWS = 5, 4_000


@dataclass(frozen=True)
class AcrossCentres:
    """A number over centres: its mean, its spread and its range in a new centre."""

    key: str  #: "ratio", "in_the_large" or "slope"
    title: str  #: Its name
    n_centres: int  #: Centres that determine it; others are left out
    #: Mean over centres, and its interval
    mean: float
    lower: float
    upper: float
    tau: float  #: Standard deviation of the true values over centres; for O/E of its logarithm
    #: Prediction interval: the number in a new centre
    new_lower: float
    new_upper: float

    @property
    def words(self) -> str:
        """The numbers as a sentence without its full stop."""
        mean = with_interval(self.mean, self.lower, self.upper, least=2)
        new = interval_words(self.new_lower, self.new_upper, least=2)
        of = " of log O/E" if self.key == "ratio" else ""
        spread = f"standard deviation{of} over centres (tau) {self.tau:.2f}"
        return (
            f"{self.title} {mean} in the mean of {self.n_centres:,} centres, {spread}; in a new centre {new}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CentreTable(Drawn):
    """Calibration in each of G centres, and over them."""

    level: float  #: Coverage of each interval
    across: tuple[AcrossCentres, ...]  #: O/E, in the large and slope over centres; empty for fewer than 5
    centre: NDArray[np.object_]  #: (G,): Names of the centres
    count: NDArray[np.int64]  #: (G,): Rows
    #: (G,): Events that are observed and expected, their ratio O/E and its interval
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    ratio: NDArray[np.float64]
    ratio_lower: NDArray[np.float64]
    ratio_upper: NDArray[np.float64]
    #: (G,): Intercept with slope 1, and its interval; NaN if rows do not determine it
    in_the_large: NDArray[np.float64]
    in_the_large_lower: NDArray[np.float64]
    in_the_large_upper: NDArray[np.float64]
    #: (G,): Slope and its interval; NaN if rows do not determine it
    slope: NDArray[np.float64]
    slope_lower: NDArray[np.float64]
    slope_upper: NDArray[np.float64]

    @property
    def lines(self) -> list[str]:
        """The spread over centres of each number in a sentence, or why there is none."""
        few = f"{len(self.centre):,} centres: the spread over centres needs at least {MIN_CENTRES}"
        return [f"{each.words}." for each in self.across] or [f"{few} that determine a number."]

    def frame(self) -> pd.DataFrame:
        """Return one row per centre."""
        return pd.DataFrame({name: held for name, held in vars(self).items() if isinstance(held, np.ndarray)})

    def texts(self) -> pd.DataFrame:
        """Return `frame` as texts, each number with its interval."""
        table = self.frame()
        shown = {"Centre": table["centre"], "Rows": table["count"].map("{:,}".format)}
        shown |= {"Observed": table["observed"].map("{:,.0f}".format)}
        shown |= {"Expected": table["expected"].map("{:,.1f}".format)}
        for key, title in TITLES.items():
            ends = table[[key, f"{key}_lower", f"{key}_upper"]].itertuples(index=False)
            shown[title] = pd.Series(
                ["\u2013" if np.isnan(value) else with_interval(value, *at, least=2) for value, *at in ends]
            )
        return pd.DataFrame(shown)


#: Names of the numbers of each centre.
TITLES = {"ratio": "O/E", "in_the_large": "In the large", "slope": "Slope"}


def calibration_by_centre(
    y_true: Source,
    scores: Scores | None = None,
    centre: Values | Cut | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> CentreTable:
    """Estimate O/E, in the large and slope in each centre, their spread, and their range in a new centre.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.observed_expected`. Rows of a centre are independent, unless they belong to clusters
        within it.
    centre : (n,) array_like of int, str or time, or Cut
        Centre of each row: hospital, country, study.
    level : float in (0, 1)
        Coverage of each interval.

    Notes
    -----
    Debray et al. (2017), "A guide to systematic review and meta-analysis of prediction model performance":
    random effects of log O/E, in the large and slope, their variance by restricted maximum likelihood, the
    interval of the mean by Hartung & Knapp, at least as wide as without (Roever et al. 2015). The prediction
    interval counts what is unknown of the variance, too (Nagashima, Noma & Furukawa 2019): with 5 to 15
    centres, t intervals of the estimated variance contain only 81 to 94 of 100 new centres.

    Examples
    --------
    >>> score = np.tile([0.2, 0.4, 0.6, 0.8], 300)
    >>> happened = np.arange(1200) % 10 < np.repeat([3, 4, 5, 6, 7], 240)
    >>> found = calibration_by_centre(happened, score, np.repeat(list("ABCDE"), 240))
    >>> found.ratio.round(2).tolist(), round(found.across[0].mean, 2)
    ([0.6, 0.8, 1.0, 1.2, 1.4], 0.97)
    """
    given = single_rows(y_true, scores, sample_weight, cluster, "Calibration by centre")
    if centre is None:
        raise InputError("centre is None, but each row needs its centre: pass one value per row")
    z = float(ndtri((1.0 + check_level(level)) / 2.0))
    cut = centre if isinstance(centre, Cut) else cut_column(centre, name="centre", codes=True)
    if len(cut.code) != given.n_given:
        raise InputError(f"centre has {len(cut.code):,} values, the predictions {given.n_given:,} rows")
    code = cut.code[given.counts]
    evidence = event_evidence(given).given(code)
    rows, errors = [], []
    for number in np.unique(code).tolist():
        own = evidence.take(np.flatnonzero(code == number))
        events, line = observed_expected(own, level=level), calibration_slope(own, level=level)
        large = line.in_the_large, line.in_the_large_lower, line.in_the_large_upper
        slope = line.slope, line.slope_lower, line.slope_upper
        if not line.determined:
            large = slope = np.nan, np.nan, np.nan
        ratio = events.ratio, events.lower, events.upper
        about = cut.groups[number], own.n_samples, events.observed, events.expected
        rows.append((*about, *ratio, *large, *slope))
        halves = [(ends[2] - ends[1]) / (2.0 * z) for ends in (large, slope)]
        errors.append((events.log_error, *halves))
    names = [name for name in CentreTable.__dataclass_fields__ if name not in ("level", "across")]
    table = pd.DataFrame(rows, columns=names)
    across = [
        _across(key, table[key].to_numpy(), error, level)
        for key, error in zip(TITLES, np.array(errors).T, strict=True)
    ]
    enough = tuple(found for found in across if found is not None)
    return CentreTable(level, enough, **{name: table[name].to_numpy() for name in names})


def _across(key: str, values: np.ndarray, errors: np.ndarray, level: float) -> AcrossCentres | None:
    known = np.isfinite(values) & np.isfinite(errors)
    if known.sum() < MIN_CENTRES:
        return None
    values = np.log(values[known]) if key == "ratio" else values[known]
    *numbers, tau = random_effects(values, errors[known], level)
    mean, lower, upper, low, high = np.exp(numbers) if key == "ratio" else numbers
    return AcrossCentres(
        key, TITLES[key], int(known.sum()), *map(float, (mean, lower, upper, tau, low, high))
    )


def random_effects(values: np.ndarray, errors: np.ndarray, level: float) -> list[float]:
    """Return the mean of (k,) estimates with its interval, the interval of a new value, and tau."""
    variance, n = errors**2, len(values)
    squared = _reml(values, variance)
    mean, total, excess = _weighted(values, variance, np.array([squared]))
    reach = stdtrit(n - 1, (1.0 + level) / 2.0) * np.sqrt(np.maximum(excess / (n - 1), 1.0) / total)
    random = np.random.default_rng(RANDOM_STATE)
    wanted = random.chisquare(n - 1, N_DRAWS)
    low, high = np.zeros(N_DRAWS), np.full(N_DRAWS, np.ptp(values) ** 2 + 1e-12)
    while (above := _weighted(values, variance, high)[2] > wanted).any():
        high = np.where(above, 4.0 * high, high)
    for _ in range(50):  # the variance over centres at which the statistic Q has the drawn value
        middle = (low + high) / 2.0
        above = _weighted(values, variance, middle)[2] > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    centre, total, excess = _weighted(values, variance, low)
    error = np.sqrt(excess / (n - 1) / total)
    drawn = (
        centre + random.standard_normal(N_DRAWS) * np.sqrt(low) + random.standard_t(n - 1, N_DRAWS) * error
    )
    ends = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    lower, upper = float((mean - reach)[0]), float((mean + reach)[0])
    new = min(float(ends[0]), lower), max(float(ends[1]), upper)
    return [float(mean[0]), lower, upper, *new, float(np.sqrt(squared))]


def _weighted(values: np.ndarray, variance: np.ndarray, squared: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return weighted means, sums of weights and Cochran's Q for (m,) variances over centres."""
    weight = 1.0 / (variance[:, None] + squared)
    total = weight.sum(axis=0)
    mean = values @ weight / total
    return mean, total, (weight * (values[:, None] - mean) ** 2).sum(axis=0)


def _reml(values: np.ndarray, variance: np.ndarray) -> float:
    """Variance over centres by restricted maximum likelihood, with Fisher's scoring (Viechtbauer 2005)."""
    squared = max(float(np.var(values, ddof=1) - variance.mean()), 0.0)
    for _ in range(200):
        weight = 1.0 / (variance + squared)
        total, away = weight.sum(), weight * (values - weight @ values / weight.sum())
        second = float(weight @ weight)
        trace, square = (
            total - second / total,
            second - 2.0 * (weight**3).sum() / total + (second / total) ** 2,
        )
        before, squared = squared, max(squared + float(away @ away - trace) / square, 0.0)
        if abs(squared - before) < 1e-12 + 1e-10 * squared:
            break
    return squared
