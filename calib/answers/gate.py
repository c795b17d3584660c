"""Gates for pipelines: whether predictions keep limits on metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args
from xml.etree import ElementTree  # written, never read

import numpy as np
import pandas as pd

from calib.answers.baseline import Compared, MeasureChange, compare_with_baseline
from calib.answers.conclusion import concluded
from calib.answers.fitted_rows import used_rows
from calib.answers.judgement import Judgement
from calib.answers.printed import escape_markdown, markdown_table
from calib.base.exceptions import InputError
from calib.base.interval_words import decimals_of, interval_words, rows_needed, smallest_difference
from calib.base.results import Result
from calib.calibrators.acceptance import AcceptanceRule, predicted_classes
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.equal_rows import Overlap
from calib.data.notions import Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import as_groups
from calib.evidence.rows import Evidence, Known, Rows, Source, as_evidence
from calib.evidence.sums import SummedRows
from calib.stats.floors import NoiseFloor, noise_floor
from calib.stats.intervals import measure_interval, share_of_rows
from calib.stats.measures import MEASURES, RULED

#: How to read a table of checks.
HOW_READ = (
    "A limit is kept if all values of the interval keep it, broken if all break it, else undecided. Against "
    "a baseline, it is the interval of the difference."
)

Bound = Literal["max", "min"]
Answer = Literal["broken", "undecided", "kept"]

#: The three answers of a gate, worst first.
ANSWERS: tuple[Answer, ...] = get_args(Answer)


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
        ordered = sorted(self.checks, key=lambda check: ANSWERS.index(check.answer))
        sentences = [check.sentence for check in ordered if check.group is None or check.answer != "kept"]
        if grouped := [check for check in self.checks if check.group is not None]:
            kept = sum(check.answer == "kept" for check in grouped)
            sentences.append(f"{kept:,} of {len(grouped):,} limits in groups are kept")
        sentences += self.notes
        ends = {"kept": "passed", "broken": "failed", "undecided": "passed, as no limit is broken"}
        if self.strict:
            ends["undecided"] = "failed, because a limit is undecided"
        return f"{ends[self.answer]}: {'; '.join(sentences)}"

    @property
    def notes(self) -> list[str]:
        """On which rows the answers are, in words."""
        return [note for note in (self.pairing, self.dependence) if note]

    def fails(self, check: Check) -> bool:
        """Whether a check fails the gate."""
        return check.answer == "broken" or (self.strict and check.answer == "undecided")

    def markdown(self) -> str:
        """Return the outcome as a table in Markdown for a pull request, the worst answers first."""
        ordered = sorted(self.checks, key=lambda check: ANSWERS.index(check.answer))
        body = [
            [
                f"**{check.answer}**" if self.fails(check) else check.answer,
                escape_markdown(check.name),
                check.outcome,
            ]
            for check in ordered
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
    """Return a text without the characters that XML cannot hold."""
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
        Largest and smallest allowed values; names from `calib.stats.measures.MEASURES`.
    tolerance : float, optional
        Percentage points that scores may be off in any range and class, as for `calib.conclude`.
    baseline : labelled predictions or a summary, optional
        Predictions of the last release. Accuracy, Brier score and calibration error must not be worse, on the
        rows that both share by their ids, else as on different rows. Together they count as one limit.
    strict : bool, default False
        Whether undecided limits fail the gate as well.
    level : float in (0, 1), default 0.95
        Coverage of all intervals together; of each 1 - (1 - level) / m for m limits (Bonferroni). If all
        limits hold, the gate calls any of them broken with probability 1 - level at most.
    n_bins, strategy
        As for `calib.metrics`.
    groups : (n,) array_like, or table or mapping of them by name, optional
        The group of each row, such as {"site": [...]}; for a summary, names of its columns. Each
        limit is then checked in every group, and counts once for each.
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
    sides: tuple[tuple[Bound, Any], ...] = (
        ("max", {} if most is None else most),
        ("min", {} if least is None else least),
    )
    if not all(isinstance(asked, Mapping) for _, asked in sides):
        raise InputError(f"limits are numbers by metric, such as {{'tl_ece': 0.03}}; got {most!r}, {least!r}")
    limits: list[Limit] = [(name, side, value) for side, asked in sides for name, value in asked.items()]
    if not limits and tolerance is None and baseline is None:
        raise InputError("a gate needs at least one limit, such as tl_ece=0.03, a tolerance, or a baseline")
    for name, _, limit in limits:
        if name in RULED and rule is None:
            raise InputError(f"{name} is about a rule that accepts predictions, and there is none; pass rule")
        if name not in MEASURES and name not in RULED:
            raise InputError(f"{name!r} is not a metric; the metrics are {', '.join((*MEASURES, *RULED))}")
        if not isinstance(limit, (int, float, np.number)) or not math.isfinite(limit):
            raise InputError(f"the limit of {name} must be a finite number; got {limit!r}")
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
        parts = [_Part(None, reading)] if groups is None else list(_parts(reading, groups))
        n_limits = (len(limits) + (tolerance is not None)) * len(parts) + (baseline is not None)
        each = 1.0 - (1.0 - level) / n_limits
        found.append([_check(part, limit, each, bins, draws, rule) for part in parts for limit in limits])
        if tolerance is not None:
            found[-1] += [_check_gaps(part, tolerance, each, bins | draws) for part in parts]
        if baseline is not None:
            compared = compare_with_baseline(reading, baseline, level=each, **bins)
            found[-1] += [_against(change, compared, each, strategy) for change in compared.changes]
            pairing = compared.words
    if isinstance(evidence, Rows) and evidence.suspected is not None:
        dependence = f"{evidence.suspected.rows} may belong together, and each answer holds in both cases"
    checks = tuple(_more_careful(same) for same in zip(*found, strict=True))
    return GateResult(checks, strict, pairing, dependence)


def _more_careful(checks: Sequence[Check]) -> Check:
    """Return an undecided check if there is one, else the check with the widest interval."""
    return max(checks, key=lambda check: (check.answer == "undecided", check.upper - check.lower))


#: Name of a number, side of the limit that is allowed, and limit.
Limit = tuple[str, Bound, float]


class _Part(NamedTuple):
    """The evidence of all rows, or of a group, on which limits are checked."""

    group: str | None
    evidence: Evidence

    @property
    def words(self) -> str:
        return "" if self.group is None else f" for {self.group} (n = {self.evidence.n_samples:,})"


def _parts(evidence: Rows | SummedRows, groups: Any) -> Iterator[_Part]:
    if not isinstance(groups, (Mapping, pd.DataFrame)):
        groups = {getattr(groups, "name", None) or "group": groups}
    if not len(groups):
        raise InputError("groups holds no column; pass the group of each row by a name, or None")
    if isinstance(evidence, SummedRows):
        for name in groups:
            found = evidence.groups(name)
            for place in found.present.tolist():
                yield _Part(f"{name} = {found.names[place]}", found.evidence.of_class(place))
        return
    for name in groups:
        code, names = as_groups(groups[name], evidence.n_given)
        code = code[evidence.counts]
        within = evidence.given(code)
        for place, group in enumerate(names):
            chosen = np.flatnonzero(code == place)
            if len(chosen):
                yield _Part(f"{name} = {group}", within.take(chosen))


def _check(
    part: _Part,
    asked: Limit,
    level: float,
    bins: dict[str, Any],
    draws: dict[str, Any],
    rule: AcceptanceRule | None,
) -> Check:
    name = asked[0]
    if name in RULED and rule is not None:
        numbers = _rule_numbers(part.evidence, rule, level)[name]
        return _checked(part, asked, level, RULED[name].capitalize(), *numbers)
    measure, floor, evidence = MEASURES[name], None, part.evidence
    if (missing := measure.missing(evidence)) is not None:
        raise InputError(missing)
    value = measure.value(evidence, **bins)
    if measure.is_error and draws["n_resamples"]:
        floor = noise_floor(evidence, **measure.options, **bins, **draws)
    lower, upper = measure_interval(evidence, name, **bins, level=level)
    return _checked(part, asked, level, measure.title, value, lower, upper, floor)


def gate_of_judge(
    found: Judgement, *, most: Mapping[str, float], least: Mapping[str, float], strict: bool = False
) -> GateResult:
    """Check the true rate of the judge's main class, "pass_rate", against limits.

    An undecided check says how many more labels would decide it, if the rate stays.
    """
    if {*most, *least} != {"pass_rate"}:
        raise InputError(
            f"labels of people limit pass_rate alone; got {', '.join([*most, *least]) or 'none'}"
        )
    at = found.rates.verdict.tolist().index(found.main)
    value, lower, upper = (
        float(each[at]) for each in (found.rates.rate, found.rates.lower, found.rates.upper)
    )
    if math.isnan(value):
        raise InputError(f"the rate is not known: {found.sentence}")
    checks = []
    bounds: tuple[tuple[Bound, Mapping[str, float]], ...] = (("max", most), ("min", least))
    for bound, limits in bounds:
        for name, limit in limits.items():
            ends = value, lower, upper
            check = _checked(
                None, (name, bound, limit), 1.0 - found.alpha, f"True rate of {found.main}", *ends
            )
            if check.answer == "undecided" and value != limit:
                needed = found.rows_needed(2.0 * abs(value - limit))
                words = "all labels would not" if needed is None else f"about {needed:,} more labels would"
                words = f"{check.sentence}; {words} decide it if the rate stays"
                check = replace(check, sentence=words, rows_needed=needed)
            checks.append(check)
    return GateResult(tuple(checks), strict)


def _checked(
    part: _Part | None,
    asked: Limit,
    level: float,
    title: str,
    value: float,
    lower: float,
    upper: float,
    floor: NoiseFloor | None = None,
) -> Check:
    name, bound, limit = asked
    near, far, allowed = (lower, upper, limit) if bound == "max" else (-upper, -lower, -limit)
    answer: Answer = "kept" if far <= allowed else "broken" if near > allowed else "undecided"
    too_low = floor is not None and floor.is_too_low
    if too_low and answer == "kept":
        answer = "undecided"
    group, words = (None, "") if part is None else (part.group, part.words)
    sentence = f"{title}{words} {'at most' if bound == 'max' else 'at least'} {limit:g} is {answer}: "
    measured = "no row" if math.isnan(value) else f"{value:.{decimals_of(lower, upper)}f}"
    sentence += f"measured {measured}, {100 * level:.6g} % interval {interval_words(lower, upper)}"
    words = "" if floor is None else f"; {floor.words}"
    if too_low:
        words += "; lower than chance allows: were these rows used for fitting?"
    check = Check(
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
        group=group,
        n_samples=None if part is None or group is None else part.evidence.n_samples,
    )
    far = abs(value - limit)
    near = upper - value if value < limit else value - lower
    if part is None or floor is not None or answer != "undecided" or not 0.0 < far < near:
        return check
    needed = rows_needed(part.evidence.n_samples, near, far)
    return _with_rows_needed(check, needed, "decide it if the value stays")


def _with_rows_needed(check: Check, needed: float, what: str) -> Check:
    words = f"{check.sentence}; about {needed:,.0f} more rows{' of this group' * (check.group is not None)}"
    return replace(check, sentence=f"{words} would {what}", rows_needed=int(needed))


def _check_gaps(part: _Part, tolerance: float, level: float, options: dict[str, Any]) -> Check:
    found = concluded(part.evidence, tolerance=tolerance, level=level, **options)
    answers: dict[str | None, Answer] = {"within": "kept", "beyond": "broken", "undecided": "undecided"}
    answer = answers[found.verdict]
    ends = interval_words(found.at_least, found.at_most, least=1)
    check = Check(
        metric="gap",
        value=found.largest,
        lower=found.at_least,
        upper=found.at_most,
        level=level,
        limit=tolerance,
        bound="max",
        answer=answer,
        perfect_mean=None,
        perfect_q95=None,
        p_value=found.combined.p_value,
        sentence=(
            f"Gap of every range and class{part.words} at most {tolerance:g} points is {answer}: measured "
            f"{found.largest:.1f}, {100 * level:.6g} % interval {ends}"
        ),
        group=part.group,
        n_samples=None if part.group is None else part.evidence.n_samples,
    )
    half = found.at_most - found.largest
    hidden = smallest_difference(-half, half, level)
    if answer != "undecided" or hidden <= tolerance:
        return check
    needed = rows_needed(part.evidence.n_samples, hidden, tolerance)
    return _with_rows_needed(check, needed, f"show a gap of {tolerance:g} points in any of them")


def _against(change: MeasureChange, compared: Compared, level: float, strategy: Strategy) -> Check:
    measure = change.measure
    bound: Bound = "min" if measure.higher_is_better else "max"
    worse, better = change.lower > 0.0, change.upper < 0.0
    if bound == "min":
        worse, better = better, worse
    if measure.is_error and strategy not in ("uniform", compared.strategy):
        worse = False  # bins average, so errors at each value are larger (Remark 1)
    same = change.lower == change.upper == 0.0
    answer: Answer = "broken" if worse else "kept" if better or same else "undecided"
    each = 1.0 - (1.0 - level) / len(compared.changes)
    what = "of the difference of squares " if measure.is_error and compared.n_paired is not None else ""
    decimals = decimals_of(change.lower, change.upper)
    sentence = (
        f"{measure.title} no worse than the baseline is {answer}: measured {change.value:.{decimals}f}, "
        f"baseline {change.before:.{decimals}f}, {100 * each:.6g} % interval {what or 'of the difference '}"
        f"{interval_words(change.lower, change.upper, sign='+')}"
    )
    return Check(
        metric=measure.key,
        value=change.value,
        lower=change.lower,
        upper=change.upper,
        level=each,
        limit=0.0,
        bound=bound,
        answer=answer,
        perfect_mean=None,
        perfect_q95=None,
        p_value=None,
        sentence=sentence,
        baseline=change.before,
    )


def _rule_numbers(
    evidence: Evidence, rule: AcceptanceRule, level: float
) -> dict[str, tuple[float, float, float]]:
    """Return the value and the Clopper-Pearson interval of each of `RULED`; [0, 1] if nothing is accepted."""
    if not isinstance(evidence, Rows):
        raise InputError("a rule that accepts predictions needs the rows, and a summary holds only sums")
    problems = evidence.of_scores(predicted_classes(evidence.predictions)).problems("confidence")
    problems.check_unweighted("a limit on what a rule accepts", "its exact intervals count rows")
    accepted = rule.accept(evidence.predictions)
    right = np.zeros(len(accepted), dtype=bool)
    right[problems.rows] = problems.outcomes
    found = {}
    everything = np.ones(len(accepted), dtype=bool)
    shares = {"accepted": (accepted, everything), "accepted_accuracy": (right[accepted], accepted)}
    for name, (hits, among) in shares.items():
        value = float(hits.mean()) if len(hits) else math.nan
        found[name] = (value, *share_of_rows(hits, evidence.clusters.take(among), 1.0 - level))
    return found
