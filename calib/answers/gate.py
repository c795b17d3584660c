"""Gates for pipelines: whether predictions keep limits on metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args
from xml.etree import ElementTree  # written, never read

import numpy as np
import pandas as pd

from calib.answers.calibrated import used_rows
from calib.answers.conclusion import concluded
from calib.answers.judgement import Judgement, passing_class
from calib.answers.model_tables import escape_markdown, markdown_table
from calib.base.exceptions import InputError
from calib.base.interval_words import decimals_of, interval_words, rows_needed, smallest_difference
from calib.base.results import Result
from calib.calibrators.acceptance import AcceptanceRule, predicted_classes
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.equal_rows import Overlap
from calib.data.kinds import check_equal_rows, kind_of
from calib.data.notions import Strategy
from calib.data.predictions import Scores, Values
from calib.data.several_models import rows_shared_by_id
from calib.data.validation import as_groups, check_level, numbered
from calib.evidence.row_scores import row_values
from calib.evidence.rows import Evidence, Known, Rows, Source, as_evidence, as_pair, named_column
from calib.evidence.sums import SummedRows
from calib.stats.bootstrap import Ends, paired_intervals_of
from calib.stats.differences import paired_difference
from calib.stats.floors import NoiseFloor, noise_floor
from calib.stats.intervals import (
    combined_difference,
    error_interval,
    interval_needs_rows,
    measure_interval,
    share_of_rows,
)
from calib.stats.measures import MEASURES, RULED, Measure, ece_of

#: How to read a table of checks.
HOW_READ = (
    "A limit is kept if all values of the interval keep it, broken if all break it, else undecided. Against "
    "a baseline, it is the interval of the difference."
)

Bound = Literal["max", "min"]
Answer = Literal["broken", "undecided", "kept"]

#: The three answers of a gate, worst first.
ANSWERS: tuple[Answer, ...] = get_args(Answer)

#: Name of a number, side of the limit that is allowed, and limit.
Limit = tuple[str, Bound, float]


@dataclass(frozen=True)
class Check:
    """A limit, and whether these rows show that it is kept or broken."""

    #: A key of `calib.stats.measures.MEASURES`, of `RULED`, or "gap": how far scores are off in any range and
    #: class, as `calib.Conclusion.at_most` says; its numbers are percentage points
    metric: str
    #: Measured value; for a calibration error the plug-in estimate
    value: float
    #: Ends of its interval, see `calib.stats.measure_interval`; against a baseline, of the difference
    lower: float
    upper: float
    level: float  #: Coverage of the interval
    limit: float  #: The limit; against a baseline 0, for the difference
    bound: Bound  #: Which side of the limit is allowed
    answer: Answer  #: "kept" or "broken" if the whole interval keeps or breaks the limit, else "undecided"
    #: The noise floor of a calibration error, if it was computed
    perfect_mean: float | None
    perfect_q95: float | None
    p_value: float | None
    sentence: str  #: The check in words
    group: str | None = None  #: The group of rows it is about, such as "site = north"; None for all rows
    n_samples: int | None = None  #: Rows of the group
    baseline: float | None = None  #: The value of the baseline, if it is compared with one
    #: About how many further rows, or labels, would decide an undecided limit if the value stays
    rows_needed: int | None = None

    @property
    def name(self) -> str:
        """The limit in words, such as "TL-ECE at most 0.03"."""
        return self.sentence.rpartition(f" is {self.answer}: ")[0]

    @property
    def outcome(self) -> str:
        """What was measured, in words."""
        return self.sentence.rpartition(f" is {self.answer}: ")[2]


@dataclass(frozen=True, repr=False)
class GateResult(Result):
    checks: tuple[Check, ...]  #: One per limit
    strict: bool = False  #: Whether an undecided limit fails the gate
    pairing: str = ""  #: On which rows a baseline is compared, in words
    dependence: str = ""  #: Which rows may belong together: answers then hold whether they do or not

    def frame(self) -> pd.DataFrame:
        """Return a row for each check."""
        return pd.DataFrame(self.checks)

    @property
    def answer(self) -> Answer:
        """The worst answer of all checks: "broken", else "undecided", else "kept"."""
        return min((check.answer for check in self.checks), key=ANSWERS.index)

    @property
    def passed(self) -> bool:
        """Whether no limit is broken; if `strict`, whether every limit is kept."""
        return self.answer == "kept" or (self.answer == "undecided" and not self.strict)

    @property
    def sentence(self) -> str:
        """The outcome in words, the worst answers first; limits kept in groups are only counted."""
        sentences = [
            check.sentence for check in self._ordered if check.group is None or check.answer != "kept"
        ]
        if grouped := [check for check in self.checks if check.group is not None]:
            kept = sum(check.answer == "kept" for check in grouped)
            sentences.append(f"{kept:,} of {len(grouped):,} limits in groups are kept")
        sentences += self.notes
        ends = {"kept": "passed", "broken": "failed", "undecided": "passed, as no limit is broken"}
        if self.strict:
            ends["undecided"] = "failed, because a limit is undecided"
        return f"{ends[self.answer]}: {'; '.join(sentences)}"

    @property
    def _ordered(self) -> list[Check]:
        return sorted(self.checks, key=lambda check: ANSWERS.index(check.answer))

    @property
    def notes(self) -> list[str]:
        """On which rows the answers are, in words."""
        return [note for note in (self.pairing, self.dependence) if note]

    def fails(self, check: Check) -> bool:
        """Whether a check fails the gate."""
        return check.answer == "broken" or (self.strict and check.answer == "undecided")

    def markdown(self) -> str:
        """Return the outcome as a table in Markdown for a pull request, the worst answers first."""
        marks = ["{}", "**{}**"]
        body = [
            [marks[self.fails(check)].format(check.answer), escape_markdown(check.name), check.outcome]
            for check in self._ordered
        ]
        counts = [(sum(check.answer == answer for check in self.checks), answer) for answer in ANSWERS]
        counted = ", ".join(f"{count:,} {answer}" for count, answer in counts if count)
        notes = [HOW_READ, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes)]
        title = f"### Calibration gate {'passed' if self.passed else 'failed'}: {counted}\n"
        return "\n".join([title, markdown_table(("answer", "check", "found"), body, 3), *notes, ""])

    def junit(self) -> str:
        """Return the outcome as JUnit XML: a test for each check; undecided checks are skipped, or fail."""
        failed = sum(map(self.fails, self.checks))
        skipped = sum(check.answer == "undecided" for check in self.checks if not self.fails(check))
        suite = ElementTree.Element(
            "testsuite",
            name="calib gate",
            tests=str(len(self.checks)),
            failures=str(failed),
            errors="0",
            skipped=str(skipped),
        )
        for check in self.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname="calib.gate", name=_xml_text(check.name)
            )
            if self.fails(check):
                ElementTree.SubElement(case, "failure", message=_xml_text(f"{check.answer}: {check.outcome}"))
            elif check.answer == "undecided":
                ElementTree.SubElement(case, "skipped", message=_xml_text(f"undecided: {check.outcome}"))
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml_text(text: str) -> str:
    # XML cannot hold all other characters
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def gate(
    y_true: Source,
    scores: Scores | None = None,
    *,
    most: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    baseline: Known | None = None,
    strict: bool = False,
    level: float = LEVEL,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    groups: Mapping[str, Any] | Values | None = None,
    rule: AcceptanceRule | None = None,
    overlap: Overlap | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> GateResult:
    """Check metrics against limits: each limit is kept, broken or undecided.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.noise_floor`.
    most, least : mapping of metric name to limit
        Largest and smallest allowed values, by the names in `calib.metrics`, such as tl_ece, conf_ece,
        cw_ece, accuracy, brier and log_loss; ece is the error of P(Y = 1).
    tolerance : float, optional
        Percentage points that scores may be off in any range and class, as for `calib.conclude`.
    baseline : labelled predictions or a summary, optional
        Predictions of the last release. Accuracy, Brier score and calibration error must not be worse, on the
        rows that both share by their ids, else as on different rows. Together they count as one limit.
    strict : bool, default False
        Whether undecided limits fail the gate as well.
    level : float in (0, 1), default 0.95
        Coverage of all intervals together; each interval has 1 - (1 - level) / m for m limits (Bonferroni).
        If all limits hold, the gate calls one of them broken with probability at most 1 - level.
    n_bins, strategy
        As for `calib.metrics`.
    groups : str, (n,) array_like, or table or mapping of arrays by name, optional
        "class" for the predicted class, the name of a further column, or the group of each row, such as
        {"site": [...]}; for a summary, names of its columns. Each limit is checked in every group.
    rule : AcceptanceRule, optional
        Rule that accepts predictions. Its numbers, `RULED`, can be limited, too.
    overlap : Overlap, optional
        The result of `calib.data.equal_rows.overlap` for the calibrator's record of its fit.
    n_resamples, random_state
        Redraws of the noise floor of calibration errors (0: no floor), and their seed.

    Notes
    -----
    If a test shows rows to be right or wrong together, and nothing says whether they belong together, each
    answer is the more careful one: "kept" and "broken" hold in both cases.

    Raises
    ------
    InputError
        If there is no limit, a name is unknown, the scores do not give a metric, or rows were used to fit the
        scores.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> result = gate(rows, most={"conf_ece": 0.05, "tl_ece": 0.05}, n_resamples=0)
    >>> [check.answer for check in result.checks]
    ['kept', 'broken']
    """
    limits = _limits(most, least)
    if not limits and tolerance is None and baseline is None:
        raise InputError("a gate needs at least one limit, such as tl_ece=0.03, a tolerance, or a baseline")
    for name, _, limit in limits:
        if name in RULED and rule is None:
            raise InputError(f"{name} is about a rule that accepts predictions, and there is none; pass rule")
        if name not in MEASURES and name not in RULED:
            raise InputError(f"{name!r} is not a metric; the metrics are {', '.join((*MEASURES, *RULED))}")
        is_share = name in RULED or MEASURES[name].metric not in ("brier", "log_loss")
        if not isinstance(limit, Real) or not math.isfinite(limit) or (is_share and limit > 1.0):
            at_most = ", at most 1 (divide percentages by 100)" * is_share
            raise InputError(f"the limit of {name} must be a finite number{at_most}; got {limit!r}")
    if not (isinstance(groups, str) and groups == "class"):
        groups = named_column(groups, y_true, scores)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    strategy = strategy or evidence.strategy
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    if isinstance(evidence, Rows) and (used := used_rows(evidence, overlap)) is not None:
        raise InputError(f"a gate needs rows that were not used to fit: {used}. Pass other rows")
    if groups is not None and baseline is not None:
        raise InputError("a baseline is compared on all rows together; leave out the groups, or the baseline")
    found, pairing, dependence = [], "", ""
    for reading in evidence.readings if isinstance(evidence, Rows) else (evidence,):
        parts = [_Part(reading)] if groups is None else list(_parts(reading, groups))
        n_limits = (len(limits) + (tolerance is not None)) * len(parts) + (baseline is not None)
        each = 1.0 - (1.0 - check_level(level)) / n_limits
        found.append([_check(part, limit, each, bins, draws, rule) for part in parts for limit in limits])
        if tolerance is not None:
            found[-1] += [_check_gaps(part, tolerance, each, bins | draws) for part in parts]
        if baseline is not None:
            checks, pairing = _against(reading, baseline, each, **bins)
            found[-1] += checks
    if isinstance(evidence, Rows) and evidence.suspected is not None:
        dependence = f"{evidence.suspected.rows} may belong together, and each answer holds in both cases"
    # the more careful check is undecided, else has the wider interval
    careful = partial(max, key=lambda check: (check.answer == "undecided", check.upper - check.lower))
    return GateResult(tuple(map(careful, zip(*found, strict=True))), strict, pairing, dependence)


def _limits(most: Mapping[str, float] | None, least: Mapping[str, float] | None) -> list[Limit]:
    sides: dict[Bound, Any] = {"max": {} if most is None else most, "min": {} if least is None else least}
    if not all(isinstance(asked, Mapping) for asked in sides.values()):
        raise InputError(f"limits are numbers by metric, such as {{'tl_ece': 0.03}}; got {most!r}, {least!r}")
    return [(name, side, limit) for side, asked in sides.items() for name, limit in asked.items()]


class _Part(NamedTuple):
    """The evidence of all rows, or of a group, on which limits are checked."""

    evidence: Evidence
    group: str | None = None

    @property
    def words(self) -> str:
        return "" if self.group is None else f" for {self.group} (n = {self.evidence.n_samples:,})"


def _parts(evidence: Evidence, groups: Any) -> Iterator[_Part]:
    if isinstance(groups, str):
        groups = {groups: predicted_names(evidence) if isinstance(evidence, Rows) else None}
    if not isinstance(groups, (Mapping, pd.DataFrame)):
        groups = {getattr(groups, "name", None) or "group": groups}
    if not len(groups):
        raise InputError("groups holds no column; pass the group of each row by a name, or None")
    for name in groups:
        if isinstance(evidence, SummedRows):
            found = evidence.groups(name)
            for place in found.present.tolist():
                yield _Part(found.evidence.of_class(place), f"{name} = {found.names[place]}")
            continue
        code, names = as_groups(groups[name], evidence.n_given)
        code = code[evidence.counts]
        within = evidence.given(code)
        for place in np.unique(code).tolist():
            yield _Part(within.take(np.flatnonzero(code == place)), f"{name} = {names[place]}")


def predicted_names(rows: Rows) -> np.ndarray:
    """Return the name of the predicted class of each row; rows of weight 0 count as of class 0."""
    if (missing := rows.lacks("notion:top-label")) is not None:
        raise InputError(missing)
    code = np.zeros(rows.n_given, dtype=np.int64)
    code[rows.counts] = rows.claims()[0]
    names = rows.class_names or numbered(int(code.max()) + 1)
    return np.asarray(names, dtype=object)[code]


def _check(
    part: _Part,
    asked: Limit,
    level: float,
    bins: dict[str, Any],
    draws: dict[str, Any],
    rule: AcceptanceRule | None,
) -> Check:
    name, evidence = asked[0], part.evidence
    if name in RULED and rule is not None:
        return _checked(
            part, asked, level, RULED[name].capitalize(), _rule_number(evidence, rule, name, level)
        )
    measure, floor = MEASURES[name], None
    if (missing := measure.missing(evidence)) is not None:
        offered = [key for key, each in MEASURES.items() if each.missing(evidence) is None]
        raise InputError(f"{name}: {missing} These have {', '.join(offered)}")
    value = measure.value(evidence, **bins)
    if measure.is_error and draws["n_resamples"]:
        floor = noise_floor(evidence, **measure.options, **bins, **draws)
    ends = measure_interval(evidence, name, **bins, level=level)
    return _checked(part, asked, level, measure.title, (value, *ends), floor)


def gate_of_judge(
    found: Judgement, *, most: Mapping[str, float], least: Mapping[str, float], strict: bool = False
) -> GateResult:
    """Check the true rate of the class that means pass, "pass_rate", against limits.

    An undecided check says how many more labels would decide it, if the rate stays.
    """
    if {*most, *least} != {"pass_rate"}:
        raise InputError(
            f"labels of people limit pass_rate alone; got {', '.join([*most, *least]) or 'none'}"
        )
    names = found.rates.verdict.tolist()
    if passing_class(names) is None:
        raise InputError(
            f"pass_rate needs one class that means pass; classes are {', '.join(map(repr, names[:5]))}. "
            "Write verdicts and labels as pass and fail"
        )
    rates, at = found.rates, names.index(found.main)
    value, lower, upper = (float(each[at]) for each in (rates.rate, rates.lower, rates.upper))
    if math.isnan(value):
        raise InputError(f"the rate is not known: {found.sentence}")
    checks = []
    for asked in _limits(most, least):
        check = _checked(None, asked, 1.0 - found.alpha, f"True rate of {found.main}", (value, lower, upper))
        if check.answer == "undecided" and value != check.limit:
            side = value - lower if value > check.limit else upper - value
            needed = found.rows_needed(abs(value - check.limit) * min(2.0, (upper - lower) / side))
            words = "all labels would not" if needed is None else f"about {needed:,} more labels would"
            words = f"{check.sentence}; {words} decide it if the rate stays"
            check = replace(check, sentence=words, rows_needed=needed)
        checks.append(check)
    return GateResult(tuple(checks), strict)


def _checked(
    part: _Part | None, asked: Limit, level: float, title: str, ends: Ends, floor: NoiseFloor | None = None
) -> Check:
    (_, bound, limit), (value, lower, upper) = asked, ends
    near, far, allowed = (lower, upper, limit) if bound == "max" else (-upper, -lower, -limit)
    answer: Answer = "kept" if far <= allowed else "broken" if near > allowed else "undecided"
    measured = "no row" if math.isnan(value) else f"{value:.{decimals_of(lower, upper)}f}"
    outcome = f"measured {measured}, {100 * level:.6g} % interval {interval_words(lower, upper)}"
    if floor is not None:
        outcome += f"; {floor.words}"
        if floor.is_too_low:
            answer = "undecided" if answer == "kept" else answer
            outcome += "; lower than chance allows: were these rows used for fitting?"
    name = (
        f"{title}{'' if part is None else part.words} {'at most' if bound == 'max' else 'at least'} {limit:g}"
    )
    found = _worded(part, asked, ends, level, answer, name, outcome)
    if floor is not None:
        return replace(
            found, perfect_mean=floor.mean, perfect_q95=floor.quantile(0.95), p_value=floor.p_value
        )
    half, wanted = upper - value if value < limit else value - lower, abs(value - limit)
    if part is None or answer != "undecided" or not 0.0 < wanted < half:
        return found
    return _with_rows_needed(found, part, half, wanted, "decide it if the value stays")


def _worded(
    part: _Part | None, asked: Limit, ends: Ends, level: float, answer: Answer, name: str, outcome: str
) -> Check:
    """Return a check without a noise floor; `name` and `outcome` are its words."""
    (metric, bound, limit), group = asked, None if part is None else part.group
    n_samples = None if part is None or group is None else part.evidence.n_samples
    sentence, floor = f"{name} is {answer}: {outcome}", (None, None, None)
    return Check(metric, *ends, level, limit, bound, answer, *floor, sentence, group, n_samples)


def _with_rows_needed(check: Check, part: _Part, now: float, wanted: float, what: str) -> Check:
    needed = rows_needed(part.evidence.n_samples, now, wanted)
    words = f"{check.sentence}; about {needed:,.0f} more rows{' of this group' * (part.group is not None)}"
    return replace(check, sentence=f"{words} would {what}", rows_needed=int(needed))


def _check_gaps(part: _Part, tolerance: float, level: float, options: dict[str, Any]) -> Check:
    found = concluded(part.evidence, tolerance=tolerance, level=level, **options)
    answers: dict[str | None, Answer] = {"within": "kept", "beyond": "broken", "undecided": "undecided"}
    answer, ends = answers[found.verdict], (found.largest, found.at_least, found.at_most)
    outcome = (
        f"measured {found.largest:.1f}, {100 * level:.6g} % interval {interval_words(*ends[1:], least=1)}"
    )
    name = f"Gap of every range and class{part.words} at most {tolerance:g} points"
    check = _worded(part, ("gap", "max", tolerance), ends, level, answer, name, outcome)
    check = replace(check, p_value=found.combined.p_value)
    half = found.at_most - found.largest
    hidden = smallest_difference(-half, half, level)
    if answer != "undecided" or hidden <= tolerance:
        return check
    what = f"show a gap of {tolerance:g} points in any of them"
    return _with_rows_needed(check, part, hidden, tolerance, what)


def _against(
    evidence: Evidence, baseline: Known, level: float, *, n_bins: int, strategy: Strategy
) -> tuple[list[Check], str]:
    """Check that no number of `_compared` is worse; say also which rows are compared."""
    now, before, paired = evidence, as_evidence(baseline), False
    pairing = "compared with the baseline as different rows, because no ids match"
    if isinstance(now, Rows) and isinstance(before, Rows):
        shared = rows_shared_by_id(now.predictions, before.predictions)
        if shared is not None:
            (now, before), paired = as_pair(*shared), True
            pairing = f"compared with the baseline on {now.n_samples:,} rows paired by id"
    if now.kind != before.kind:
        kinds = f"{kind_of(now).title} and {kind_of(before).title}"
        raise InputError(f"predictions and their baseline are of different kinds: {kinds}")
    measures = [
        measure
        for measure in _compared(now)
        if not any(interval_needs_rows(rows, measure) for rows in (now, before))
    ]
    each = 1.0 - (1.0 - level) / len(measures)
    asked = {"strategy_a": strategy, "strategy_b": before.strategy, "n_bins": n_bins, "level": each}
    return [_no_worse(measure, now, before, paired, asked) for measure in measures], pairing


def _compared(evidence: Evidence) -> list[Measure]:
    errors = [error for error in ece_of(evidence.kind).values() if error.notion == evidence.notion]
    scores = [MEASURES[key] for key in ("brier", "top_brier") if MEASURES[key].missing(evidence) is None]
    accuracy = [MEASURES["accuracy"]] if MEASURES["accuracy"].missing(evidence) is None else []
    return [*accuracy, *scores[:1], *errors[:1]]


def _no_worse(
    measure: Measure, now: Evidence, before: Evidence, paired: bool, asked: dict[str, Any]
) -> Check:
    level, binned = asked["level"], (asked["strategy_a"], asked["strategy_b"])
    value, old = (
        measure.value(evidence, n_bins=asked["n_bins"], strategy=strategy)
        for evidence, strategy in zip((now, before), binned, strict=True)
    )
    lower, upper = _change_limits(measure, now, before, paired, asked)
    worse, better = lower > 0.0, upper < 0.0
    if measure.higher_is_better:
        worse, better = better, worse
    if measure.is_error and binned[0] not in ("uniform", binned[1]):
        worse = False  # bins average, so errors at each value are larger (Remark 1)
    answer: Answer = "broken" if worse else "kept" if better or lower == upper == 0.0 else "undecided"
    what = "difference of squares" if measure.is_error and paired else "difference"
    decimals = decimals_of(lower, upper)
    outcome = (
        f"measured {value:.{decimals}f}, baseline {old:.{decimals}f}, {100 * level:.6g} % interval of the "
        f"{what} {interval_words(lower, upper, sign='+')}"
    )
    name = f"{measure.title} no worse than the baseline"
    limit: Limit = (measure.key, "min" if measure.higher_is_better else "max", 0.0)
    return replace(_worded(None, limit, (value, lower, upper), level, answer, name, outcome), baseline=old)


def _change_limits(
    measure: Measure, now: Evidence, before: Evidence, paired: bool, asked: dict[str, Any]
) -> tuple[float, float]:
    """Return the ends of the interval of a change, now minus before; debiased for an ECE of paired rows.

    On different rows, and for ECEs of rows with clusters, an error uses the farthest ends of two intervals
    that each miss half as often (Bonferroni); a score uses `combined_difference`.
    """
    level, notion = asked["level"], measure.notion or now.notion
    if paired and isinstance(now, Rows) and isinstance(before, Rows) and not measure.is_error:
        new, old = (
            row_values((rows.tops() if measure.key == "top_brier" else rows).predictions, measure.metric)
            for rows in (now, before)
        )
        (change,) = paired_intervals_of(old, new[None], measure.metric, now, level)
        return change.lower, change.upper
    if paired and now.n_clusters is None:
        difference = paired_difference(now, before, notion=notion, **asked)
        return difference.lower, difference.upper
    if measure.is_error:  # unseen errors, which the ends allow for, do not average out
        options = {"notion": notion, "n_bins": asked["n_bins"], "level": (1.0 + level) / 2.0}
        a = error_interval(now, strategy=asked["strategy_a"], **options)
        b = error_interval(before, strategy=asked["strategy_b"], **options)
        return a.lower - b.upper, a.upper - b.lower
    numbers = [
        (measure.value(rows), *measure_interval(rows, measure.key, level=level)) for rows in (now, before)
    ]
    return combined_difference(*numbers)[1:]


def _rule_number(evidence: Evidence, rule: AcceptanceRule, name: str, level: float) -> Ends:
    """Return one of `RULED` and its Clopper-Pearson interval; NaN and [0, 1] if nothing is accepted."""
    if not isinstance(evidence, Rows):
        raise InputError("a rule that accepts predictions needs the rows, and a summary holds only sums")
    problems = evidence.of_scores(predicted_classes(evidence.predictions)).problems("confidence")
    check_equal_rows(evidence, "A rule of acceptance")
    accepted = rule.accept(evidence.predictions)
    hits, among = accepted, np.ones(len(accepted), dtype=bool)
    if name == "accepted_accuracy":
        right = np.zeros(len(accepted), dtype=bool)
        right[problems.rows] = problems.outcomes
        hits, among = right[accepted], accepted
    value = float(hits.mean()) if len(hits) else math.nan
    return value, *share_of_rows(hits, evidence.clusters.take(among), 1.0 - level)
