"""The probability of one event, in the words and the order of a validation of a risk model (TRIPOD+AI).

In all rows, in each centre, over centres, and in a new centre.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from calib.answers.cuts import Cut, cut_column
from calib.base.exceptions import InputError
from calib.base.interval_words import interval_words, with_interval
from calib.base.results import Drawn, parts
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.predictions import Scores, Values
from calib.data.validation import check_level
from calib.evidence.row_scores import row_values, weighted_mean
from calib.evidence.rows import Evidence, Rows, Source, named_column, scores_and_next, single_rows
from calib.stats.binless import CalibrationSlope, calibration_slope
from calib.stats.bootstrap import Interval, bootstrap_interval, mean_limits
from calib.stats.decompositions import CorpCurve, CorpTerms, corp_curve
from calib.stats.intervals import area_limits
from calib.stats.observed import EventCounts, event_evidence, line_numbers, observed_expected
from calib.stats.smoothed import LoessCurve, distance_floors, loess_curve

#: Most classes of which Murphy's parts are summed.
MOST_CLASSES = 10

#: Fewest centres for their spread, and draws of a new centre.
MIN_CENTRES, N_DRAWS = 5, 4_000

#: Names of the numbers of each centre.
TITLES = {"ratio": "O/E", "in_the_large": "In the large", "slope": "Slope"}

#: Names of the distances of scores and curve.
DISTANCES = ("ici", "e50", "e90")

#: The note under a table of `Risk.numbers`.
EVENT_INTERVALS = (
    "In brackets: the 95 % interval. ICI, E50 and E90 depend on the smoother and have no interval: noise "
    "raises them to the mean on the right if the scores are calibrated."
)


@dataclass(frozen=True)
class ForecastNumber:
    """A number about P(Y = 1), with its interval."""

    key: str  #: Its name in code and JSON
    title: str  #: Its name in tables
    value: float | None  #: The number; None if these rows do not determine it
    #: Ends of its interval; None if it has none
    lower: float | None = None
    upper: float | None = None
    calibrated: str = ""  #: Its value, or mean value, if the scores are calibrated; "" if it depends on more

    @property
    def text(self) -> str:
        """The number and its interval, as tables print them."""
        if self.value is None:
            return "\u2013"
        if self.key in ("observed", "expected"):
            return f"{self.value:,.10g}" if self.value % 1.0 == 0.0 else f"{self.value:,.1f}"
        least = 3 if self.key in ("ratio", "in_the_large", "slope") else 4
        if self.lower is None or self.upper is None:
            return f"{self.value:.{least}f}"
        return with_interval(self.value, self.lower, self.upper, least=least)


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Drawn):
    """What a validation of a risk model reports: calibration, discrimination and overall performance."""

    n_samples: int  #: Rows
    level: float  #: Coverage of each interval
    events: EventCounts  #: Observed and expected events, and O/E
    line: CalibrationSlope = field(metadata=parts("slope in_the_large intercept"))  #: Slope and in the large
    loess: LoessCurve = field(metadata=parts("ici e50 e90"))  #: Smooth curve with band; ICI, E50 and E90
    isotonic: CorpCurve = field(metadata=parts("ici e50 e90"))  #: The same, and Murphy's parts
    auc: Interval  #: Area under the ROC curve (c statistic)
    brier: Interval  #: Brier score
    skill: Interval  #: Brier skill: 1 minus the Brier score over the score of the base rate
    #: Mean ICI, E50 and E90 of a perfect model, as "ici_loess"
    floors: dict[str, float]

    @property
    def words(self) -> str:
        """O/E, slope and intercept, and the distance from the smoothed curve, in sentences."""
        return f"{self.events.words}; {self.line.words}. {self.loess.distance_words}."

    @property
    def numbers(self) -> tuple[ForecastNumber, ...]:
        """Every number, in the order of TRIPOD+AI: calibration, discrimination, overall performance."""
        of, (large, slope) = self.events, line_numbers(self.line)
        numbers = [
            _number("observed", "Observed events", of.observed),
            _number("expected", "Expected events", of.expected),
            _number("ratio", "O/E", of.ratio, of.lower, of.upper, calibrated="1"),
            _number("in_the_large", "In the large (intercept, slope 1)", *large, calibrated="0"),
            _number("slope", "Slope", *slope, calibrated="1"),
        ]
        for curve in (self.loess, self.isotonic):
            for key in DISTANCES:
                name, title = f"{key}_{curve.smoother}", f"{key.upper()}, {curve.smoother}"
                numbers.append(
                    _number(name, title, getattr(curve, key), calibrated=f"{self.floors[name]:.4f}")
                )
        means = {
            "AUC (c statistic)": self.auc,
            "Brier": self.brier,
            "Brier skill against the base rate": self.skill,
        }
        numbers += [_number(of.metric, title, of.estimate, of.lower, of.upper) for title, of in means.items()]
        return *numbers, *_murphy(self.isotonic.brier)

    def texts(self) -> dict[str, str]:
        """Return every number with its interval as a text, by title."""
        return {number.title: number.text for number in self.numbers}

    def frame(self) -> pd.DataFrame:
        """Return one row per number."""
        return pd.DataFrame([vars(number) for number in self.numbers])


def risk(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> Risk:
    """Validate the probability of one event: O/E, in the large, slope, curve, ICI, AUC, Brier score, skill.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.observed_expected`.
    level : float in (0, 1)
        Coverage of each interval.

    Notes
    -----
    Van Calster et al. (2019), "Calibration: the Achilles heel of predictive analytics", and Collins et al.
    (2024), TRIPOD+AI, for what is reported. ICI, E50 and E90 depend on the smoother and are above 0 for a
    calibrated model, too. Murphy's (1973) parts of the Brier score are by isotonic regression (Dimitriadis,
    Gneiting & Jordan 2021): Brier = miscalibration - discrimination + uncertainty. The interval of the skill
    is by linearisation. Net benefit: `calib.decision_curve`.

    Examples
    --------
    >>> score = np.repeat([0.1, 0.3, 0.6], 100)
    >>> found = risk(np.arange(300) % 10 < np.repeat([1, 4, 6], 100), score)
    >>> round(found.events.ratio, 2), round(found.skill.estimate, 2)
    (1.1, 0.17)
    """
    given = single_rows(y_true, scores, sample_weight, cluster, "The validation of a risk")
    evidence = event_evidence(given)
    area = evidence.area(evidence.notion).value
    ends = area_limits(evidence, evidence.notion, 1.0 - check_level(level))
    return Risk(
        n_samples=evidence.n_samples,
        level=level,
        events=observed_expected(evidence, level=level),
        line=calibration_slope(evidence, level=level),
        loess=loess_curve(evidence, level=level),
        isotonic=corp_curve(evidence),
        auc=Interval("auc", area, *((np.nan, np.nan) if np.isnan(area) else ends), level),
        brier=bootstrap_interval(evidence, metric="brier", level=level),
        skill=brier_skill(evidence, level),
        floors=distance_floors(evidence),
    )


def brier_skill(evidence: Rows, level: float = LEVEL) -> Interval:
    """Return 1 - B / U of the Brier score B and the score U of forecasting the share of each class.

    The interval is by linearisation.
    """
    brier = bootstrap_interval(evidence, metric="brier", level=level).estimate
    true = np.bincount(evidence.labels, evidence.weights)
    share = true / true.sum()
    loss = row_values(evidence.predictions, "brier")
    base = (share @ share - 2.0 * share + 1.0)[evidence.labels] / (1.0 if evidence.kind == "vectors" else 2.0)
    uncertainty = weighted_mean(base, evidence.weights)
    if uncertainty <= 0.0:
        return Interval("skill", np.nan, np.nan, np.nan, level)
    value = 1.0 - brier / uncertainty
    moved = (brier / uncertainty * (base - uncertainty) - (loss - brier)) / uncertainty
    low, high = mean_limits((value + moved)[None], level, evidence.clusters, evidence.weights)
    return Interval("skill", value, float(low[0]), min(float(high[0]), 1.0), level)


def forecast_numbers(evidence: Evidence) -> tuple[ForecastNumber, ...]:
    """Return `Risk.numbers` of one event, or Brier skill and Murphy's parts, summed over at most 10 classes.

    Empty for other predictions, and for a summary.
    """
    if not isinstance(evidence, Rows) or evidence.kind not in ("binary", "vectors"):
        return ()
    if evidence.kind == "binary":
        return risk(evidence).numbers
    if (n_classes := len(evidence.true)) > MOST_CLASSES:
        return ()
    skill = brier_skill(evidence)
    each = [corp_curve(evidence, notion="class-wise", problem=code).brier for code in range(n_classes)]
    numbers = _number("skill", "Brier skill", skill.estimate, skill.lower, skill.upper)
    return numbers, *_murphy(CorpTerms(*np.sum(each, axis=0)))


def _murphy(terms: CorpTerms) -> tuple[ForecastNumber, ...]:
    signs = {"miscalibration": "", "discrimination": "minus ", "uncertainty": "plus "}
    return tuple(_number(key, f"Brier: {sign}{key}", getattr(terms, key)) for key, sign in signs.items())


def _number(
    key: str, title: str, value: float, lower: float = np.nan, upper: float = np.nan, calibrated: str = ""
) -> ForecastNumber:
    """Return a number whose missing parts, not finite, are None."""
    found, low, high = (float(each) if np.isfinite(each) else None for each in (value, lower, upper))
    return ForecastNumber(key, title, found, low, high, calibrated)


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
        of = " of log O/E" if self.key == "ratio" else ""
        return (
            f"{self.title} {mean} in the mean of {self.n_centres:,} centres, standard deviation{of} over "
            f"centres (tau) {self.tau:.2f}; in a new centre "
            + interval_words(self.new_lower, self.new_upper, least=2)
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

    @property
    def words(self) -> str:
        """The spread over centres in sentences."""
        return " ".join(self.lines)

    def frame(self) -> pd.DataFrame:
        """Return one row per centre."""
        return pd.DataFrame({name: held for name, held in vars(self).items() if isinstance(held, np.ndarray)})

    def texts(self) -> pd.DataFrame:
        """Return `frame` as texts, each number with its interval."""
        table = self.frame()
        shown = pd.DataFrame({"Centre": table["centre"], "Rows": table["count"].map("{:,}".format)})
        shown["Observed"] = table["observed"].map("{:,.0f}".format)
        shown["Expected"] = table["expected"].map("{:,.1f}".format)
        for key, title in TITLES.items():
            numbers = table[[key, f"{key}_lower", f"{key}_upper"]].to_numpy()
            shown[title] = ["\u2013" if np.isnan(of[0]) else with_interval(*of, least=2) for of in numbers]
        return shown


def calibration_by_centre(
    y_true: Source,
    scores: Scores | Cut | None = None,
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
    centre : str, (n,) array_like of int, str or time, or Cut
        Centre of each row (hospital, country, study), or the name of a further column of the predictions.
    level : float in (0, 1)
        Coverage of each interval.

    Notes
    -----
    Debray et al. (2017), "A guide to systematic review and meta-analysis of prediction model performance":
    random effects of log O/E, in the large and slope, their variance by restricted maximum likelihood, the
    interval of the mean by Hartung & Knapp, at least as wide as without (Roever et al. 2015). The prediction
    interval also allows for the error of the estimated variance (Nagashima, Noma & Furukawa 2019): with 5 to
    15 centres, t intervals of the estimated variance contain only 81 to 94 of 100 new centres.

    Examples
    --------
    >>> score = np.tile([0.2, 0.4, 0.6, 0.8], 300)
    >>> happened = np.arange(1200) % 10 < np.repeat([3, 4, 5, 6, 7], 240)
    >>> found = calibration_by_centre(happened, score, np.repeat(list("ABCDE"), 240))
    >>> found.ratio.round(2).tolist(), round(found.across[0].mean, 2)
    ([0.6, 0.8, 1.0, 1.2, 1.4], 0.97)
    """
    own, centre = scores_and_next(y_true, scores, centre)
    centre = named_column(centre, y_true, own)
    given = single_rows(y_true, own, sample_weight, cluster, "Calibration by centre")
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
        events = observed_expected(own, level=level)
        lines = line_numbers(calibration_slope(own, level=level))
        about = cut.groups[number], own.n_samples, events.observed, events.expected
        rows.append((*about, events.ratio, events.lower, events.upper, *lines[0], *lines[1]))
        errors.append((events.log_error, *((high - low) / (2.0 * z) for _, low, high in lines)))
    names = [name for name in CentreTable.__dataclass_fields__ if name not in ("level", "across")]
    table = pd.DataFrame(rows, columns=names)
    across = []
    for key, error in zip(TITLES, np.array(errors).T, strict=True):
        values = table[key].to_numpy()
        known = np.isfinite(values) & np.isfinite(error)
        if (n_centres := int(known.sum())) < MIN_CENTRES:
            continue
        scale, back = (np.log, np.exp) if key == "ratio" else (np.asarray, np.asarray)
        *numbers, tau = random_effects(scale(values[known]), error[known], level)
        mean, lower, upper, low, high = back(numbers).tolist()
        across.append(AcrossCentres(key, TITLES[key], n_centres, mean, lower, upper, tau, low, high))
    return CentreTable(level, tuple(across), **{name: table[name].to_numpy() for name in names})


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
    drawn = centre + random.standard_normal(N_DRAWS) * np.sqrt(low)
    drawn += random.standard_t(n - 1, N_DRAWS) * error
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
    """Variance over centres by restricted maximum likelihood (Viechtbauer 2005)."""

    def slope(squared: float) -> float:
        weight = 1.0 / (variance + squared)
        total = weight.sum()
        away = weight * (values - weight @ values / total)
        return float(away @ away - total + weight @ weight / total)

    if slope(0.0) <= 0.0:
        return 0.0
    return float(brentq(slope, 0.0, 3.0 * np.ptp(values) ** 2 + variance.max(), xtol=1e-14))
