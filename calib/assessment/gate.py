"""Gates for pipelines: whether predictions keep limits on metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from calib.assessment.summary import SUMMARY_COLUMNS, summarize
from calib.binning import Strategy
from calib.exceptions import InputError
from calib.kinds import lacks
from calib.metrics.catalogue import MEASURES
from calib.noise.floor import noise_floor
from calib.noise.intervals import measure_interval

#: Metrics that can be limited: every number of `Summary`.
METRICS = tuple(name for name in SUMMARY_COLUMNS if name in MEASURES)

#: The three answers of a gate, worst first.
ANSWERS = ("broken", "undecided", "kept")


@dataclass(frozen=True)
class Check:
    """One limit, and whether these rows show that it is kept or broken.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    value : float
        Measured value; of a calibration error the plug-in estimate, which noise makes too large on average.
    lower, upper : float
        Ends of its interval, see `calib.noise.measure_interval`.
    level : float
        Coverage of the interval.
    limit : float
        The limit.
    bound : str
        "max" or "min".
    answer : str
        "kept" where the whole interval keeps the limit, "broken" where the whole interval breaks it, else
        "undecided".
    perfect_mean, perfect_q95, p_value : float or None
        The noise floor of a calibration error, where it was computed.
    sentence : str
        The check in words.
    """

    metric: str
    value: float
    lower: float
    upper: float
    level: float
    limit: float
    bound: str
    answer: str
    perfect_mean: float | None
    perfect_q95: float | None
    p_value: float | None
    sentence: str


@dataclass(frozen=True)
class GateResult:
    """Outcome of a gate.

    Attributes
    ----------
    checks : tuple of Check
        One per limit.
    strict : bool
        Whether an undecided limit fails the gate.
    """

    checks: tuple[Check, ...]
    strict: bool = False

    @property
    def answer(self) -> str:
        """The worst answer of all checks: "broken", "undecided" or "kept"."""
        return min((check.answer for check in self.checks), key=ANSWERS.index)

    @property
    def passed(self) -> bool:
        """Whether no limit is broken; if `strict`, whether every limit is kept."""
        return self.answer == "kept" or (self.answer == "undecided" and not self.strict)

    @property
    def sentence(self) -> str:
        """The outcome in words, the worst answers first."""
        ordered = sorted(self.checks, key=lambda check: ANSWERS.index(check.answer))
        return ("passed: " if self.passed else "failed: ") + "; ".join(check.sentence for check in ordered)

    def data(self) -> dict[str, Any]:
        """Return the outcome as JSON types."""
        checks = [asdict(check) for check in self.checks]
        return {"passed": self.passed, "answer": self.answer, "sentence": self.sentence, "checks": checks}


def gate(
    y_true: Any,
    scores: Any,
    *,
    most: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    strict: bool = False,
    level: float = 0.95,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    sample_weight: Any = None,
    n_resamples: int = 1000,
    random_state: int | None = 0,
) -> GateResult:
    """Check metrics against limits: each limit is kept, broken or undecided.

    Parameters
    ----------
    y_true : (n,) array_like
        True class codes; for 1-D scores whether the event happened.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores of the model or of its calibrator.
    most, least : mapping of metric name to limit
        Largest and smallest allowed values; names from `METRICS`.
    strict : bool, default False
        Whether undecided limits fail the gate as well.
    level : float in (0, 1), default 0.95
        Coverage of the intervals: a limit that holds is called broken with probability 1 - level at most.
    n_bins, strategy, sample_weight
        As for `calib.summarize`.
    n_resamples, random_state
        Redraws of the noise floor of calibration errors (0: no floor), and their seed.

    Raises
    ------
    InputError
        If there is no limit, a name is unknown, or the scores do not give a metric.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> result = gate(rows.labels, rows, most={"conf_ece": 0.05, "tl_ece": 0.05}, n_resamples=0)
    >>> [check.answer for check in result.checks]
    ['kept', 'broken']
    """
    limits = [(name, "max", value) for name, value in (most or {}).items()]
    limits += [(name, "min", value) for name, value in (least or {}).items()]
    if not limits:
        raise InputError("a gate needs at least one limit, such as tl_ece=0.03")
    for name, _, limit in limits:
        if name not in METRICS:
            raise InputError(f"{name!r} is not a metric; the metrics are {', '.join(METRICS)}")
        if not math.isfinite(limit):
            raise InputError(f"the limit of {name} must be a finite number; got {limit!r}")
    summary = summarize(y_true, scores, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight)
    missing = [name for name, _, _ in limits if getattr(summary, name) is None]
    if missing:
        title = SUMMARY_COLUMNS[missing[0]]
        needed = lacks(summary.kind, f"measure:{missing[0]}") or "it needs a probability for every class"
        raise InputError(f"these scores give no {title}: {needed}")
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "sample_weight": sample_weight}

    def check(name: str, bound: str, limit: float) -> Check:
        measure, value, floor = MEASURES[name], getattr(summary, name), None
        if measure.is_error and n_resamples:
            draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
            floor = noise_floor(y_true, scores, **measure.options, **bins, **draws)
        lower, upper = measure_interval(y_true, scores, name, **bins, level=level)
        near, far, allowed = (lower, upper, limit) if bound == "max" else (-upper, -lower, -limit)
        answer = "kept" if far <= allowed else "broken" if near > allowed else "undecided"
        sentence = f"{measure.title} {'at most' if bound == 'max' else 'at least'} {limit:g} is {answer}: "
        sentence += f"measured {value:.4g}, {100 * level:g} % interval {lower:.4g} to {upper:.4g}"
        return Check(
            metric=name,
            value=value,
            lower=lower,
            upper=upper,
            level=level,
            limit=limit,
            bound=bound,
            answer=answer,
            perfect_mean=None if floor is None else floor.mean,
            perfect_q95=None if floor is None else floor.quantile(0.95),
            p_value=None if floor is None else floor.p_value,
            sentence=sentence if floor is None else f"{sentence}; {floor.words}",
        )

    return GateResult(tuple(check(*limit) for limit in limits), strict)


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Read limits written as "metric=number".

    >>> parse_limits(["tl_ece=0.03"])
    {'tl_ece': 0.03}
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, equals, number = map(str.strip, text.partition("="))
        try:
            limit = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"write a limit as metric=number, such as tl_ece=0.03; got {text!r}")
        if name in limits:
            raise InputError(f"the limit of {name} is given twice, {limits[name]:g} and {limit:g}; give one")
        limits[name] = limit
    return limits
