"""Gates for pipelines: whether predictions keep limits on metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from calib.answers.fitted_rows import used_rows
from calib.answers.metric_tables import METRIC_COLUMNS
from calib.base.exceptions import InputError
from calib.calibrators.acceptance import AcceptanceRule, predicted_classes
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.equal_rows import Overlap
from calib.data.kinds import kind_of
from calib.data.predictions import clusters_of, weights_of
from calib.data.validation import as_groups
from calib.evidence.binning import Strategy
from calib.evidence.rows import Rows, as_problems
from calib.stats.floors import NoiseFloor, noise_floor
from calib.stats.intervals import measure_interval, share_of_rows
from calib.stats.measures import MEASURES

#: Metrics that can be limited: every number that calib reports about a method.
METRICS = tuple(dict.fromkeys([*(name for name in METRIC_COLUMNS if name in MEASURES), *MEASURES]))

#: Numbers of a rule that accepts predictions, which can be limited where there is one.
RULED = {"accepted": "share of predictions accepted", "accepted_accuracy": "accuracy of accepted predictions"}

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
        Ends of its interval, see `calib.stats.measure_interval`.
    level : float
        Coverage of the interval.
    limit : float
        The limit.
    bound : str
        "max" or "min".
    answer : str
        "kept" if the whole interval keeps the limit, "broken" if the whole interval breaks it, else
        "undecided"; so is what would be kept by an error lower than chance allows.
    perfect_mean, perfect_q95, p_value : float or None
        The noise floor of a calibration error, where it was computed.
    sentence : str
        The check in words.
    group : str or None
        The group of rows it is about, such as "site = north"; None for all rows.
    n_samples : int
        Its rows.
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
    group: str | None = None
    n_samples: int = 0


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
        """The outcome in words, the worst answers first; groups where a limit is kept are counted."""
        ordered = sorted(self.checks, key=lambda check: ANSWERS.index(check.answer))
        told = [check.sentence for check in ordered if check.group is None or check.answer != "kept"]
        if grouped := [check for check in self.checks if check.group is not None]:
            kept = sum(check.answer == "kept" for check in grouped)
            told.append(f"{kept:,} of {len(grouped):,} limits in groups are kept")
        return ("passed: " if self.passed else "failed: ") + "; ".join(told)

    def data(self) -> dict[str, Any]:
        """Return the outcome as JSON types."""
        checks = [asdict(check) for check in self.checks]
        for check in checks:
            if check["group"] is None:  # there are no groups
                del check["group"], check["n_samples"]
        return {"passed": self.passed, "answer": self.answer, "sentence": self.sentence, "checks": checks}


def gate(
    y_true: Any,
    scores: Any,
    *,
    most: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    strict: bool = False,
    level: float = LEVEL,
    n_bins: int = N_BINS,
    strategy: Strategy = "uniform",
    sample_weight: Any = None,
    cluster: Any = None,
    groups: Mapping[str, Any] | None = None,
    rule: AcceptanceRule | None = None,
    overlap: Overlap | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
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
        As for `calib.metrics`.
    cluster : (n,) array_like of int, str or time, optional
        Id of what each row belongs to; by default those that predictions came with.
    groups : mapping of str to (n,) array_like, optional
        The group of each row by the name of what it is a group of, such as {"site": [...]}. Each limit is
        then checked in every group instead of in all rows together. With G groups in all, each interval has
        coverage 1 - (1 - level) / G, so that limits that hold in every group are called broken somewhere with
        probability 1 - level at most, for each metric.
    rule : AcceptanceRule, optional
        Rule that accepts predictions, of which `RULED` can be limited too.
    overlap : Overlap, optional
        What `calib.data.equal_rows.overlap` found of the rows that the calibrator was fitted on.
    n_resamples, random_state
        Redraws of the noise floor of calibration errors (0: no floor), and their seed.

    Raises
    ------
    InputError
        If there is no limit, a name is unknown, the scores do not give a metric, or rows were used to fit the
        scores: `overlap` says so, or the scores are the means of these rows' own outcomes.

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
        if name in RULED and rule is None:
            raise InputError(f"{name} is about a rule that accepts predictions, and there is none; pass rule")
        if name not in METRICS and name not in RULED:
            raise InputError(f"{name!r} is not a metric; the metrics are {', '.join((*METRICS, *RULED))}")
        if not math.isfinite(limit):
            raise InputError(f"the limit of {name} must be a finite number; got {limit!r}")
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    weights = weights_of(scores, sample_weight)
    if (used := used_rows(y_true, scores, weights, overlap)) is not None:
        raise InputError(f"a gate needs rows that were not used to fit: {used}. Pass other rows")
    cluster = clusters_of(scores, cluster)
    if groups is None:
        rows = _Rows(None, y_true, scores, weights, cluster)
        return GateResult(tuple(_check(rows, limit, level, bins, draws, rule) for limit in limits), strict)
    parts = list(_parts(y_true, scores, weights, cluster, groups))
    each = 1.0 - (1.0 - level) / len(parts)
    checks = (_check(rows, limit, each, bins, draws, rule) for rows in parts for limit in limits)
    return GateResult(tuple(checks), strict)


class _Rows(NamedTuple):
    """Rows that limits are checked on: all of them, or a group."""

    group: str | None
    y_true: Any
    scores: Any
    weights: Any
    cluster: Any


def _parts(
    y_true: Any, scores: Any, weights: Any, cluster: Any, groups: Mapping[str, Any]
) -> Iterator[_Rows]:
    y_true, scores = np.asarray(y_true), scores if hasattr(scores, "take") else np.asarray(scores)
    if not groups:
        raise InputError("groups holds no column; pass the group of each row by a name, or None")
    for name, values in groups.items():
        code, names = as_groups(values, len(y_true))
        for place, one in enumerate(names):
            chosen = np.flatnonzero(code == place)
            yield _Rows(
                f"{name} = {one}",
                y_true[chosen],
                scores[chosen],
                *(None if values is None else values[chosen] for values in (weights, cluster)),
            )


def _check(
    rows: _Rows,
    asked: tuple[str, str, float],
    level: float,
    bins: dict[str, Any],
    draws: dict[str, Any],
    rule: AcceptanceRule | None,
) -> Check:
    """Check one limit on rows."""
    name = asked[0]
    if name in RULED and rule is not None:
        return _checked(rows, asked, level, RULED[name].capitalize(), *_of_rule(rows, rule, level)[name])
    measure, floor = MEASURES[name], None
    if (missing := measure.missing(kind_of(rows.scores))) is not None:
        raise InputError(missing)
    evidence = Rows(rows.y_true, rows.scores, sample_weight=rows.weights, cluster=rows.cluster)
    value = measure.value(evidence, **bins)
    if measure.is_error and draws["n_resamples"]:
        floor = noise_floor(None, evidence, **measure.options, **bins, **draws)
    lower, upper = measure_interval(None, evidence, name, **bins, level=level)
    return _checked(rows, asked, level, measure.title, value, lower, upper, floor)


def _checked(
    rows: _Rows,
    asked: tuple[str, str, float],
    level: float,
    title: str,
    value: float,
    lower: float,
    upper: float,
    floor: NoiseFloor | None = None,
) -> Check:
    """Say whether a number and its interval keep a limit."""
    name, bound, limit = asked
    near, far, allowed = (lower, upper, limit) if bound == "max" else (-upper, -lower, -limit)
    answer = "kept" if far <= allowed else "broken" if near > allowed else "undecided"
    too_low = floor is not None and floor.is_too_low
    if too_low and answer == "kept":
        answer = "undecided"
    where = "" if rows.group is None else f" for {rows.group} (n = {len(rows.y_true):,})"
    sentence = f"{title}{where} {'at most' if bound == 'max' else 'at least'} {limit:g} is {answer}: "
    sentence += f"measured {value:.4g}, {100 * level:.6g} % interval {lower:.4g} to {upper:.4g}"
    words = "" if floor is None else f"; {floor.words}"
    if too_low:
        words += "; lower than chance allows: were these rows used for fitting?"
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
        sentence=sentence + words,
        group=rows.group,
        n_samples=len(rows.y_true),
    )


def _of_rule(rows: _Rows, rule: AcceptanceRule, level: float) -> dict[str, tuple[float, float, float]]:
    """Return value and interval (`share_of_rows`) of each of `RULED`; where nothing is accepted, [0, 1]."""
    announced = predicted_classes(rows.scores)
    problems = as_problems(rows.y_true, announced, "confidence", None, rows.weights)
    problems.check_unweighted("a limit on what a rule accepts", "its exact intervals count rows")
    accepted = rule.accept(rows.scores)
    right = np.zeros(len(accepted), dtype=bool)
    right[problems.rows] = problems.outcomes
    found = {}
    shares = {"accepted": (accepted, slice(None)), "accepted_accuracy": (right[accepted], accepted)}
    for name, (hits, among) in shares.items():
        cluster = None if rows.cluster is None else rows.cluster[among]
        value = float(hits.mean()) if len(hits) else math.nan
        found[name] = (value, *share_of_rows(hits, cluster, 1.0 - level))
    return found


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
