"""The probability of one event, in the words and the order of a validation of a risk model (TRIPOD+AI)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from calib.base.interval_words import with_interval
from calib.base.results import Drawn, parts
from calib.data.defaults import LEVEL
from calib.data.predictions import Scores, Values
from calib.data.validation import check_level
from calib.evidence.row_scores import row_values, weighted_mean
from calib.evidence.rows import Evidence, Rows, Source, single_rows
from calib.stats.binless import CalibrationSlope, calibration_slope
from calib.stats.bootstrap import Interval, bootstrap_interval, mean_limits
from calib.stats.decompositions import CorpCurve, CorpTerms, corp_curve
from calib.stats.intervals import area_limits
from calib.stats.observed import EventCounts, event_evidence, observed_expected
from calib.stats.smoothed import LoessCurve, distance_floors, loess_curve

#: Most classes of which Murphy's parts are summed.
MOST_CLASSES = 10

#: Names of the distances of scores and curve.
DISTANCES = ("ici", "e50", "e90")

#: The note under a table of `Risk.numbers`.
HOW_SURE_OF_EVENTS = (
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
    def numbers(self) -> tuple[ForecastNumber, ...]:
        """Every number, in the order of TRIPOD+AI: calibration, discrimination, overall performance."""
        line, of = self.line, self.events
        large = line.in_the_large, line.in_the_large_lower, line.in_the_large_upper
        slope = line.slope, line.slope_lower, line.slope_upper
        if not line.determined:
            large = slope = np.nan, np.nan, np.nan
        distances = [
            _number(
                f"{key}_{curve.smoother}",
                f"{key.upper()}, {curve.smoother}",
                getattr(curve, key),
                calibrated=f"{self.floors[f'{key}_{curve.smoother}']:.4f}",
            )
            for curve in (self.loess, self.isotonic)
            for key in DISTANCES
        ]
        means = [
            _number(found.metric, title, found.estimate, found.lower, found.upper)
            for found, title in (
                (self.auc, "AUC (c statistic)"),
                (self.brier, "Brier"),
                (self.skill, "Brier skill against the base rate"),
            )
        ]
        return (
            _number("observed", "Observed events", of.observed),
            _number("expected", "Expected events", of.expected),
            _number("ratio", "O/E", of.ratio, of.lower, of.upper, calibrated="1"),
            _number("in_the_large", "In the large (intercept, slope 1)", *large, calibrated="0"),
            _number("slope", "Slope", *slope, calibrated="1"),
            *distances,
            *means,
            *_murphy(self.isotonic.brier),
        )

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
    area, _, _ = evidence.area(evidence.notion)
    ends = area_limits(evidence, evidence.notion, 1.0 - check_level(level))
    isotonic = corp_curve(evidence)
    return Risk(
        n_samples=evidence.n_samples,
        level=level,
        events=observed_expected(evidence, level=level),
        line=calibration_slope(evidence, level=level),
        loess=loess_curve(evidence, level=level),
        isotonic=isotonic,
        auc=Interval("auc", area, *((np.nan, np.nan) if np.isnan(area) else ends), level),
        brier=bootstrap_interval(evidence, metric="brier", level=level),
        skill=brier_skill(evidence, level=level),
        floors=distance_floors(evidence),
    )


def brier_skill(
    y_true: Source,
    scores: Scores | None = None,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    level: float = LEVEL,
) -> Interval:
    """Return 1 - B / U of the Brier score B and the score U of forecasting the share of each class.

    Parameters as for `calib.bootstrap_interval`. The interval is by linearisation.

    >>> brier_skill([1, 0, 0, 1], [0.9, 0.1, 0.5, 0.5]).estimate
    0.48
    """
    evidence = single_rows(y_true, scores, sample_weight, cluster, "The skill")
    brier = bootstrap_interval(evidence, metric="brier", level=level).estimate
    true = np.bincount(evidence.labels, evidence.weights)
    share = true / true.sum()
    loss, base = (
        row_values(evidence.predictions, "brier"),
        (share @ share - 2.0 * share + 1.0)[evidence.labels],
    )
    if evidence.kind != "vectors":
        base = base / 2.0
    uncertainty = weighted_mean(base, evidence.weights)
    if uncertainty <= 0.0:
        return Interval("skill", np.nan, np.nan, np.nan, level)
    value = 1.0 - brier / uncertainty
    moved = evidence.weights * (brier / uncertainty * (base - uncertainty) - (loss - brier)) / uncertainty
    low, high = mean_limits((value + moved)[None], level, evidence.clusters)
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
    return (
        _number("miscalibration", "Brier: miscalibration", terms.miscalibration),
        _number("discrimination", "Brier: minus discrimination", terms.discrimination),
        _number("uncertainty", "Brier: plus uncertainty", terms.uncertainty),
    )


def _number(
    key: str, title: str, value: float, lower: float = np.nan, upper: float = np.nan, calibrated: str = ""
) -> ForecastNumber:
    """Return a number whose missing parts, NaN, are None."""
    found, low, high = (None if np.isnan(each) else float(each) for each in (value, lower, upper))
    return ForecastNumber(key, title, found, low, high, calibrated)
