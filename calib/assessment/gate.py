"""Gates for pipelines: limits on metrics, and whether predictions keep to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from calib.assessment.summary import SUMMARY_COLUMNS, Summary, summarize
from calib.binning import Strategy
from calib.exceptions import InputError
from calib.metrics.catalogue import MEASURES
from calib.noise.floor import WITHIN_NOISE, NoiseFloor, noise_floor

#: Metrics that can be limited: every number of `Summary`.
METRICS = tuple(name for name in SUMMARY_COLUMNS if name in MEASURES)


@dataclass(frozen=True)
class Check:
    """One limit and whether it is kept.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    value, limit : float
        What was measured, and its limit.
    bound : str
        "max" or "min".
    passed : bool
        Whether the limit is kept, or, where noise excuses, broken by no more than noise.
    perfect_mean, perfect_q95, p_value : float or None
        The metric's noise floor where it was computed.
    sentence : str
        The same in words.
    """

    metric: str
    value: float
    limit: float
    bound: str
    passed: bool
    perfect_mean: float | None
    perfect_q95: float | None
    p_value: float | None
    sentence: str


@dataclass(frozen=True)
class GateResult:
    """Outcome of a gate: every check, all of which must pass."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every limit is kept."""
        return all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """The outcome in words, failures first."""
        ordered = sorted(self.checks, key=lambda check: check.passed)
        return ("passed: " if self.passed else "failed: ") + "; ".join(one.sentence for one in ordered)

    def data(self) -> dict[str, Any]:
        """Return the outcome as JSON types."""
        checks = [asdict(check) for check in self.checks]
        return {"passed": self.passed, "sentence": self.sentence, "checks": checks}


def gate(
    y_true: Any,
    scores: Any,
    *,
    most: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    above_noise: bool = False,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    n_resamples: int = 1000,
    random_state: int | None = 0,
) -> GateResult:
    """Hold metrics against limits.

    Parameters
    ----------
    y_true : (n,) array_like of int
        True class codes.
    scores : (n, L) array_like, Predictions or TopLabelPrediction
        What the model, or the calibrator behind it, announces.
    most, least : mapping of metric name to limit
        Largest and smallest allowed values; names from `METRICS`.
    above_noise : bool, default False
        Let a calibration error above its limit fail only if it is also above noise: on few rows even a
        perfect model shows errors. A limit of 0 then fails exactly what is above noise. Scores and
        accuracy are held to their limits as they are.
    n_bins, strategy
        As for `calib.summarize`.
    n_resamples, random_state
        Redraws of the noise floor and their seed.

    Raises
    ------
    InputError
        If there is no limit, a name is unknown, or the scores do not give a metric.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> result = gate(rows.labels, rows, most={"conf_ece": 0.05, "tl_ece": 0.05}, n_resamples=0)
    >>> [check.passed for check in result.checks]
    [True, False]
    """
    limits = [(name, "max", value) for name, value in (most or {}).items()]
    limits += [(name, "min", value) for name, value in (least or {}).items()]
    if not limits:
        raise InputError("a gate needs at least one limit, such as tl_ece=0.03")
    for name, _, limit in limits:
        if name not in METRICS:
            raise InputError(f"{name!r} is no metric; the metrics are {', '.join(METRICS)}")
        if not math.isfinite(limit):
            raise InputError(f"the limit of {name} must be a finite number; got {limit!r}")
    found = summarize(y_true, scores, n_bins=n_bins, strategy=strategy)
    missing = [name for name, _, _ in limits if getattr(found, name) is None]
    if missing:
        title = SUMMARY_COLUMNS[missing[0]]
        raise InputError(f"these scores give no {title}: it needs a probability for every class")

    def floor(name: str) -> NoiseFloor | None:
        if not MEASURES[name].is_error or not n_resamples:
            return None
        return noise_floor(
            y_true,
            scores,
            **MEASURES[name].options,
            n_bins=n_bins,
            strategy=strategy,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    return GateResult(tuple(_check(found, *one, floor(one[0]), above_noise) for one in limits))


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Read limits written as "metric=number".

    >>> parse_limits(["tl_ece=0.03"])
    {'tl_ece': 0.03}
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.partition("="))
        try:
            limits[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"a limit is written metric=number, such as tl_ece=0.03; got {text!r}")
    return limits


def _check(
    found: Summary, name: str, bound: str, limit: float, floor: NoiseFloor | None, above_noise: bool
) -> Check:
    value = getattr(found, name)
    title = SUMMARY_COLUMNS[name]
    kept = value <= limit if bound == "max" else value >= limit
    words = "at most" if bound == "max" else "at least"
    sentence = f"{title} {value:.4g} is {'' if kept else 'not '}{words} {limit:g}"
    excused = False
    if floor is not None and not kept:
        excused = above_noise and bound == "max" and floor.verdict == WITHIN_NOISE
        sentence += f", {'but' if excused else 'and'} {floor.words}"
    return Check(
        metric=name,
        value=value,
        limit=limit,
        bound=bound,
        passed=kept or excused,
        perfect_mean=None if floor is None else floor.mean,
        perfect_q95=None if floor is None else floor.quantile(0.95),
        p_value=None if floor is None else floor.p_value,
        sentence=sentence,
    )
