"""The conclusion: whether scores can be trusted, how far they are off, in which range, for which classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.base.exceptions import InputError
from calib.base.interval_words import interval_words, with_interval
from calib.base.results import Result, parts
from calib.data.defaults import FDR, LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import KINDS, needs_equal_rows, needs_rows
from calib.data.notions import TOP_NOTIONS, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_count, check_level, check_not_negative, check_share
from calib.evidence.binning import BinStatistics
from calib.evidence.clusters import too_few
from calib.evidence.group_shares import Shares
from calib.evidence.rows import Evidence, Rows, Source, as_evidence
from calib.evidence.sampling import Statistic, redrawn
from calib.stats.binless import (
    CalibrationSlope,
    CalibrationTest,
    CombinedTest,
    PathStatistic,
    Test,
    calibration_slope,
    calibration_tests,
    combined_test,
)
from calib.stats.effective import EffectiveSample, effective_sample
from calib.stats.floors import (
    WITHIN_NOISE,
    FloorStatistic,
    NoiseFloor,
    clearest_first,
    discoveries,
    noise_floor,
    verdict,
)
from calib.stats.intervals import few_clusters_factor, gap_limits, mean_limits, smallest_alpha
from calib.stats.measures import ECES, Measure, ece_of
from calib.stats.observed import EventCounts, line_numbers, observed_expected

#: Direction of a conclusion without one.
UNKNOWN = "not distinguishable"

Direction = Literal["overconfident", "underconfident"]
Judgement = Literal["within", "beyond", "undecided"]

#: Most classes that a sentence names.
MOST_NAMED = 3

#: Smallest share of the rows in a range that `Conclusion.at_most` is about.
MIN_SHARE = 0.1

#: Smallest tolerance in percentage points: less was meant as a fraction.
MIN_TOLERANCE = 0.1

#: Tests without bins of one claim about each row.
OF_ONE_CLAIM: tuple[Test, ...] = ("kuiper", "ks", "spiegelhalter")


@dataclass(frozen=True)
class FloorNumbers:
    floor: NoiseFloor = field(metadata=parts("observed smallest p_value"))
    #: Mean and 95 % quantile of the error of a perfect model
    perfect_mean: float
    perfect_q95: float
    n_resamples: int  #: Redraws of the outcomes


@dataclass(frozen=True)
class BinlessTest:
    test: CalibrationTest = field(metadata=parts("statistic p_value"))


@dataclass(frozen=True)
class BinlessTests:
    kuiper: BinlessTest | None = None
    ks: BinlessTest | None = None
    spiegelhalter: BinlessTest | None = None
    skce: BinlessTest | None = None  #: None unless added by `with_whole_vectors`
    slope: CalibrationSlope | None = None

    def __iter__(self) -> Iterator[CalibrationTest]:
        """Go through the tests that were made, without the slope."""
        every = (self.kuiper, self.ks, self.spiegelhalter, self.skce)
        return (each.test for each in every if each is not None)


@dataclass(frozen=True)
class NoiseTests:
    floors: Mapping[str, NoiseFloor]  #: Of the errors that have one, by notion or "binary"
    without_bins: BinlessTests  #: Empty without redraws, and for rows that do not allow it
    verdicts: tuple[str, ...]  #: What each floor says
    missing: tuple[str, ...] = ()  #: Which tests these rows do not allow, and why

    @property
    def p_values(self) -> list[float]:
        """P-values of all tests of the first notion."""
        binless = [test.p_value for test in self.without_bins if test.test in OF_ONE_CLAIM]
        slope, floors = self.without_bins.slope, [floor.p_value for floor in self.floors.values()]
        return [*floors, *binless, *([] if slope is None else [slope.p_value])]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each test says, and which tests are missing."""
        slope = self.without_bins.slope
        said = [*self.verdicts, *(test.words for test in self.without_bins)]
        return (*said, *([] if slope is None else [slope.words]), *self.missing)

    def numbers(self) -> dict[str, FloorNumbers]:
        """Return the numbers of each floor."""
        return {
            notion: FloorNumbers(floor, floor.mean, floor.quantile(0.95), len(floor.samples))
            for notion, floor in self.floors.items()
        }


def noise_tests(
    evidence: Evidence,
    *,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> NoiseTests:
    """Compare the scores of a method's first notion with noise.

    Without redraws (0) there are no floors and no tests; arguments as for `calib.noise_floor`.
    """
    measures = _measures(evidence.kind) if n_resamples else {}
    options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
    missing = _missing(evidence) if measures or not isinstance(evidence, Rows) else ()
    tests: Iterable[CalibrationTest] = ()
    if isinstance(evidence, Rows) and measures and not missing and evidence.n_clusters is not None:
        floors, tests = _of_same_outcomes(evidence, measures, bins, options)
    else:
        floors = {
            name: noise_floor(evidence, **(measure.options | bins | options))
            for name, measure in measures.items()
        }
        if floors and not missing:
            tests = calibration_tests(evidence, random_state=random_state, tests=OF_ONE_CLAIM)
    found = {str(test.test): BinlessTest(test) for test in tests}
    without_bins = BinlessTests(**found, slope=calibration_slope(evidence) if found else None)
    verdicts = tuple(verdict(floors[name], measure.title) for name, measure in measures.items())
    return NoiseTests(floors, without_bins, verdicts, missing)


def _missing(evidence: Evidence) -> tuple[str, ...]:
    if not isinstance(evidence, Rows):
        return needs_rows("The AUC"), needs_rows("A test or an estimate without bins")
    lacking = evidence.lacks("tests without bins")
    return () if lacking is None else (lacking,)


def _of_same_outcomes(
    evidence: Rows, measures: Mapping[str, Measure], bins: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, NoiseFloor], Iterable[CalibrationTest]]:
    """Return floors and tests of rows that belong together, all from the same redraws of rows."""
    asked = {
        name: FloorStatistic(evidence, {name: measure.of_cells}, notion=measure.notion, **bins)
        for name, measure in measures.items()
    }
    path = PathStatistic(evidence, None, OF_ONE_CLAIM)
    statistics: list[Statistic] = [*asked.values(), path]
    drawing = evidence.draw_clusters([statistic.cells for statistic in statistics])
    *samples, of_path = redrawn(statistics, *drawing, **options)
    pairs = zip(asked.values(), samples, strict=True)
    floors = dict(pair for statistic, found in pairs for pair in statistic.floors(found).items())
    return floors, path.results(of_path).values()


def with_whole_vectors(tests: NoiseTests, evidence: Evidence, random_state: int | None) -> NoiseTests:
    """Add the kernel test of whole vectors; a model can fail it although its confidence is calibrated."""
    if not isinstance(evidence, Rows) or "vector" not in KINDS[evidence.kind].has:
        return tests
    if evidence.is_weighted:
        return replace(tests, missing=(*tests.missing, needs_equal_rows("The kernel test of whole vectors")))
    found = calibration_tests(evidence, random_state=random_state, tests=["skce"])
    kernel = BinlessTest(found[0]) if found else None
    return replace(tests, without_bins=replace(tests.without_bins, skce=kernel))


def _measures(kind: str) -> dict[str, Measure]:
    """Return the errors that are shown with their noise floor, by their notion, or "binary"."""
    errors = ece_of(kind)
    by_notion = {str(notion): ECES[notion] for notion in TOP_NOTIONS if ECES[notion].key in errors}
    return by_notion or {"binary": next(iter(errors.values()))}


@dataclass(frozen=True, eq=False, repr=False)
class ClassGaps(Result):
    """Gap of each class that has rows, the clearest first: smallest p, then largest gap.

    The rows of a class are those predicted as it; class-wise all rows, with the score of the class.
    """

    fdr: float  #: False discovery rate of `differs`
    level: float  #: Coverage of each interval; those that exclude 0 are the classes that differ
    n_samples: int  #: Rows of all classes together
    label: NDArray[np.int64]  #: (C,): Class codes
    count: NDArray[np.int64]  #: (C,): Rows
    #: (C,): How often the class is the true one, and its mean score, weighted if rows are
    happened: NDArray[np.float64]
    score: NDArray[np.float64]
    #: (C,): `happened` minus `score`, negative if overconfident, and the ends of its interval
    gap: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    p: NDArray[np.float64]  #: (C,): Smallest alpha at which an interval of coverage 1 - alpha excludes 0
    differs: NDArray[np.bool_]  #: (C,): By the procedure of Benjamini & Hochberg (1995) over all classes
    shares: Shares  #: What all of these come from

    @property
    def p_value(self) -> float:
        """Chance that a perfect model has a class that differs at this rate or a smaller one (Simes 1986)."""
        return float(np.min(self.p * len(self.p) / np.arange(1, len(self.p) + 1)))

    def bounds(self, alpha: float) -> np.ndarray:
        """Return how far each class is off at least, at most and as measured, and its share of the rows.

        The array is (4, C); all hold together with probability 1 - alpha.
        """
        ends = gap_limits(self.shares, alpha / len(self.p))
        return np.stack([*sizes(*ends), np.abs(self.gap), self.shares.weight / self.n_samples])

    def guilty(self) -> tuple[Gap, ...]:
        """Return the gaps of the classes that differ."""
        ends = np.zeros(len(self.p)), np.ones(len(self.p))
        columns = (self.count, self.score, self.happened, -self.upper, -self.lower)
        return _gaps(np.flatnonzero(self.differs), self.label, *ends, *columns)


def class_gaps(evidence: Evidence, fdr: float) -> ClassGaps:
    """Compare how often each class is right with its mean score.

    Intervals are Clopper & Pearson's (with weights and clusters Korn & Graubard's, 1998), of coverage
    1 - max(R, 1) fdr / C if R of C classes differ (Benjamini & Yekutieli 2005).
    """
    label, shares = evidence.shares_by_class()
    p = smallest_alpha(partial(gap_limits, shares), len(label))
    order = clearest_first(p, np.abs(shares.gap))
    label, shares, p = label[order], shares.of(order), p[order]
    differs = discoveries(p, fdr)
    alpha = fdr * max(int(differs.sum()), 1) / len(p)
    means = shares.count, shares.happened, shares.score, shares.gap
    ends = gap_limits(shares, alpha)
    return ClassGaps(fdr, 1.0 - alpha, evidence.n_samples, label, *means, *ends, p, differs, shares)


def sizes(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest size of numbers between these ends."""
    return np.maximum(np.maximum(lower, -upper), 0.0), np.maximum(np.abs(lower), np.abs(upper))


@dataclass(frozen=True)
class Gap:
    """A range of scores, or a class, whose mean score is off in a known direction."""

    label: int | None  #: The class, or None if all are pooled
    #: Ends of the range of scores, edges of equal-width bins
    lower: float
    upper: float
    count: int  #: Rows in the range
    #: Mean score, and how often the outcome happened, weighted if rows are
    says: float
    right: float
    #: Ends of the interval of the mean score minus the mean chance; both have one sign
    least: float
    most: float

    @property
    def direction(self) -> Direction:
        """Whether scores are too high ("overconfident") or too low."""
        return "overconfident" if self.least > 0.0 else "underconfident"

    def range_words(self) -> str:
        """Describe the range of scores, such as "above 0.93"; "" for all scores."""
        if self.lower <= 0.0 and self.upper >= 1.0:
            return ""
        return f"above {self.lower:.2g}" if self.upper >= 1.0 else f"below {self.upper:.2g}"

    def amount_words(self) -> str:
        """Say how large the gap is, in percentage points, with its interval."""
        sign = 1.0 if self.direction == "overconfident" else -1.0
        size = sign * (self.says - self.right) * 100
        near, far = sorted(sign * end * 100 for end in (self.least, self.most))
        return with_interval(size, near, far, least=1, unit=" points")


@dataclass(frozen=True)
class CodedGap:
    label: int  #: The class, -1 if all are pooled
    gap: Gap = field(metadata=parts("direction lower upper count says right least most"))


@dataclass(frozen=True, eq=False, repr=False)
class IfClustered(Result):
    """The conclusion if rows that a test shows to be alike belonged together."""

    #: Which rows; and the column that shows it (with "=" and a block of time), "" for scores
    rows: str
    column: str
    n_blank: int  #: Rows without a value in the column, which were not tested
    worth: EffectiveSample = field(metadata=parts("n_clusters effective"))  #: What the rows are then worth
    conclusion: Conclusion = field(metadata=parts("direction"))  #: The conclusion then

    def words(self, choice: str = "", see: str = "") -> str:
        """Return the conclusion if rows belong together, and what else they may be; `choice` ends it.

        `see` says where groups of the column are compared, by default on pages of the app.
        """
        blank = f" ({self.n_blank:,} rows without a value were not tested)" if self.n_blank else ""
        other = "If each row stands alone, nothing changes."
        if "=" in self.column:
            other = f"If scores changed with time: {see or 'see Groups, Over time'}."
        elif self.column:
            other = f"If the column describes them, scores are off by it: {see or 'see Groups'}."
        return (
            f"{_sentence(f'{self.rows} are right or wrong together{blank}')} If they belong together, "
            f"{self.worth.words}, and {self._then()}. {other}{choice}"
        )

    def _then(self) -> str:
        found = self.conclusion
        if found.combined.untold is not None:
            return f"there are {found.combined.untold}"
        if found.pooled:
            return f"{found.subject} is {'; '.join(map(found.gap_words, found.pooled))}"
        if found.classes:
            return "only single classes stand out"
        if found.rejected:
            return f"the {found.what} is still off by more than noise"
        return "nothing is distinguishable from noise"


@dataclass(frozen=True, eq=False, repr=False)
class Conclusion(Result):
    """Whether scores are off by more than noise, and if so how far and where.

    The combined test decides whether; ranges and classes are stated only if it rejects calibration.
    """

    kind: str  #: Kind of the predictions
    #: Number of rows, and number of ranges of scores that were looked at
    n_samples: int
    n_ranges: int
    level: float  #: Chance at which the intervals of all ranges hold together
    combined: CombinedTest  #: All tests together, also the tests of ranges and of classes
    tests: NoiseTests  #: The single tests
    #: The clearest range over all rows, and the clearest of the other direction, if any
    pooled: tuple[Gap, ...]
    classes: tuple[Gap, ...]  #: The guilty classes, in order, each over all its scores
    by_class: ClassGaps | None  #: All classes that have rows; None if rows have none
    #: Percentage points, both at `level`: some range or class is off by at least so much, and every range and
    #: class of a tenth of the rows, or known to be off, by at most so much
    at_least: float
    at_most: float
    largest: float  #: Percentage points: the largest gap measured in what `at_most` is about
    events: EventCounts | None  #: All rows of a P(Y = 1); None for other predictions
    tolerance: float | None = None  #: Percentage points that a range may be off
    #: If a test shows rows to be right or wrong together: what holds if they belong together
    suspected: IfClustered | None = None

    @property
    def rejected(self) -> bool:
        """Whether all tests together show that scores are off by more than noise."""
        return self.combined.untold is None and self.combined.p_value <= 1.0 - self.level

    @property
    def guilty(self) -> tuple[int, ...]:
        """Codes of the classes that are off, in order: smallest p, then largest gap."""
        return tuple(gap.label for gap in self.classes if gap.label is not None)

    @property
    def named(self) -> tuple[int, ...]:
        """Codes of the guilty classes that a sentence names."""
        return self.guilty[:MOST_NAMED]

    @property
    def order(self) -> list[int]:
        """Codes of all classes that have rows, in this order: classes that are off first."""
        return [] if self.by_class is None else self.by_class.label.tolist()

    @property
    def verdict(self) -> Judgement | None:
        """Whether `at_most` is within the tolerance, `at_least` is beyond it, or neither."""
        if self.tolerance is None:
            return None
        if self.at_most <= self.tolerance:
            return "within"
        return "beyond" if self.at_least > self.tolerance else "undecided"

    @property
    def direction(self) -> str:
        """Direction of the clearest range; "no direction" if only classes or tests show that scores are off.

        "not distinguishable" if nothing does.
        """
        if not self.rejected:
            return UNKNOWN
        return self.pooled[0].direction if self.pooled else "no direction"

    def words(self, class_names: Sequence[str] | None = None) -> str:
        """State the conclusion in at most four sentences, with these names of the classes, or codes."""
        return " ".join(self.sentences(class_names))

    def sentences(self, class_names: Sequence[str] | None = None) -> list[str]:
        """Return the sentences of `words`, the most important first."""
        if self.combined.untold is not None:
            return [_sentence(self.combined.untold)]
        classes = self.class_words(class_names)
        said = [_sentence(classes)] if classes else []
        if self.pooled or not classes or self.verdict:
            said += self._pooled_sentences()
        return said if self.events is None else [*said, *self._event_words(self.events)]

    def _event_words(self, events: EventCounts) -> Iterator[str]:
        """Yield O/E, in the large and slope, and which of them differ although all tests together do not."""
        line = self.tests.without_bins.slope
        numbers = [("O/E", 1, (events.ratio, events.lower, events.upper))]
        shown = [events.words]
        if line is not None and line.determined:
            lines = [*zip(("in the large", "slope"), (0, 1), line_numbers(line), strict=True)]
            shown += [f"{name} {with_interval(*number, least=2)}" for name, _, number in lines]
            numbers += lines
        yield _sentence(", ".join(shown))
        apart = [
            f"{name} differs from {ideal} ({interval_words(lower, upper, least=3)})"
            for name, ideal, (_, lower, upper) in numbers
            if lower > ideal or upper < ideal
        ]
        if apart and not self.rejected:
            yield f"The first sentence is about all tests together; on its own, {' and '.join(apart)}."

    def pooled_words(self) -> str:
        """State what is known of all classes pooled and of every range, in one or two sentences."""
        return " ".join(self._pooled_sentences())

    def _pooled_sentences(self) -> tuple[str, str]:
        among = "over all classes " * bool(self.classes)
        where = "range" if self.by_class is None else "range and no class"
        said = f"the {self.what} is {WITHIN_NOISE}"
        if self.pooled:
            said = f"{among}{self.subject} is {'; '.join(map(self.gap_words, self.pooled))}"
        elif self.classes:
            said = f"over all classes no range of the {self.what} stands out"
        elif self.rejected:
            said = f"the {self.what} is off by more than noise, but no {where} stands out"
        return _sentence(said), self._bound_words()

    def _bound_words(self) -> str:
        parts = ["range"] * bool(self.n_ranges) + ["class"] * (self.by_class is not None)
        where = f"{' or '.join(parts)} of at least {100 * MIN_SHARE:.0f} % of the rows"
        points = f"{_points(self.at_most)} points"
        asked = f"the tolerance of {self.tolerance or 0.0:g} points"
        no, may = f"No {where} is off by more than {points}", f"A {where} may be off by up to {points}"
        if self.rejected:  # small ranges that are known to be off count, too
            no = f"Whatever is known to be off, and every {where}, is off by at most {points}"
        some = f"Some {' or '.join(parts)} is off by at least {_points(self.at_least)}"
        said = {
            "within": f"{no}, inside {asked}.",
            "beyond": f"{some}, beyond {asked}.",
            "undecided": f"{may}: {asked} is undecided.",
            None: f"{no if self.rejected else may}.",
        }
        return said[self.verdict]

    def class_words(self, class_names: Sequence[str] | None = None) -> str:
        """State the gaps of the classes that are named, less often first, without a full stop."""
        named = self.classes[:MOST_NAMED]
        words: list[str] = []
        for gap in sorted(named, key=lambda gap: (gap.direction, -abs(gap.says - gap.right))):
            assert gap.label is not None
            name = str(gap.label) if class_names is None else class_names[gap.label]
            more = "less" if gap.direction == "overconfident" else "more"
            amount = _points(abs(gap.says - gap.right) * 100)
            first = f"when the model predicts {name} it is right {amount} points {more} often than it says"
            if self._events:
                first = f"{name} happens {amount} points {more} often than its score says"
            words.append(f"{name} {amount} {more}" if words else first)
        if (others := len(self.classes) - MOST_NAMED) > 0:
            words.append(f"and {others:,} more class{'es are' if others > 1 else ' is'} off")
        return ", ".join(words)

    def gap_words(self, gap: Gap) -> str:
        """Describe a range: direction, size and ends."""
        over = gap.direction == "overconfident"
        what: str = ("too high" if over else "too low") if self._events else gap.direction
        if self.events:
            what = f"observed {'less' if over else 'more'} often than expected"
        return " ".join(filter(None, [what, "by", gap.amount_words(), gap.range_words()]))

    @property
    def what(self) -> str:
        """Name of the scores in sentences."""
        return "score" if self._events else "confidence"

    @property
    def subject(self) -> str:
        """What is off, in sentences."""
        return "Y = 1" if self.events else "the score" if self._events else "the model"

    @property
    def _events(self) -> bool:
        return self.kind in ("binary", "multilabel")

    @property
    def gaps(self) -> tuple[CodedGap, ...]:
        """All gaps, pooled ones first."""
        found = (*self.pooled, *self.classes)
        return tuple(CodedGap(-1 if gap.label is None else gap.label, gap) for gap in found)

    def frame(self) -> pd.DataFrame:
        """Return one row per gap; `label` is -1 if classes are pooled."""
        names = fields(CodedGap)[1].metadata["parts"]
        rows = [[found.label, *(getattr(found.gap, name) for name in names)] for found in self.gaps]
        return pd.DataFrame(rows, columns=["label", *names])


def conclude(
    y_true: Source,
    scores: Scores | None = None,
    *,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    level: float = LEVEL,
    fdr: float = FDR,
    tolerance: float | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> Conclusion:
    """Say whether scores can be trusted, how far they are off, in which range, and for which classes.

    Parameters
    ----------
    y_true, scores, strategy, sample_weight, cluster
        As for `calib.noise_floor`.
    n_bins : int
        Bins of the noise floors; ranges begin or end at edges of this number of equal-width bins.
    level : float in (0, 1)
        1 minus the significance level of the combined test, and the coverage of the intervals of all ranges
        together.
    fdr : float in (0, 1)
        False discovery rate of `Conclusion.guilty`, the classes that are off.
    tolerance : float, optional
        Percentage points that any range may be off, such as 2, for ``.verdict``.
    n_resamples, random_state
        Redraws of the noise floors, and of the tests of rows that belong together (0: no floors, and no tests
        without bins), and their seed.

    Notes
    -----
    One hypothesis: the score of each row's claim (the predicted class, or Y = 1) is calibrated. Its tests are
    the noise floors, the tests without bins, the recalibration line, the ranges and the classes, combined by
    Liu & Xie (2020); ranges and classes have half of the weight, because they say where. Only if they reject
    the hypothesis together, ranges and classes are stated (gatekeeping, Dmitrienko et al. 2003), so that a
    sentence and a test never contradict each other. The kernel test of whole vectors is not among them: a
    model whose confidence is calibrated can fail it.

    The ranges are all scores, scores from an edge on, and scores below an edge. The interval of a mean chance
    misses with probability at most (1 - level) divided by their number. They are Clopper-Pearson's, which
    also hold if chances differ from row to row (Hoeffding 1956), with weights Hoeffding's (1963). For the
    classes see `calib.answers.conclusion.class_gaps`.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").evaluation
    >>> found = conclude(rows)
    >>> sorted((gap.label, gap.direction) for gap in found.classes)
    [(0, 'overconfident'), (1, 'underconfident')]
    """
    check_level(level)
    check_share(fdr, "fdr", 0.05)
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "level": level, "fdr": fdr}
    options |= {"tolerance": tolerance, "n_resamples": n_resamples, "random_state": random_state}
    found = concluded(evidence, **options)
    if not isinstance(evidence, Rows) or (suspected := evidence.suspected) is None:
        return found
    then = evidence.readings[1]
    shown = suspected.rows, suspected.column, suspected.n_blank
    return replace(found, suspected=IfClustered(*shown, effective_sample(then), concluded(then, **options)))


def concluded(
    evidence: Evidence,
    *,
    n_bins: int = N_BINS,
    level: float = LEVEL,
    fdr: float = FDR,
    tolerance: float | None = None,
    **options: Any,
) -> Conclusion:
    """Return `conclude` without what holds if rows that are suspected to belong together do so."""
    if tolerance is not None and not MIN_TOLERANCE <= check_not_negative(tolerance, "tolerance") < 100.0:
        raise InputError(
            f"tolerance must be percentage points, {MIN_TOLERANCE:g} to 100, such as 2 for 0.02; got "
            f"{tolerance!r}"
        )
    check_count(n_bins, "n_bins")
    tests = noise_tests(evidence, n_bins=n_bins, **options)
    cells = evidence.cells(evidence.notion, n_bins=n_bins, strategy="uniform", effects=False)
    classes = class_gaps(evidence, fdr) if cells.n_problems > 1 else None
    alpha = 1.0 - level
    each = alpha if classes is None or cells.n_claims > 1 else alpha / 2.0
    ranges = _Ranges.of(evidence, cells, each) if cells.n_claims == 1 else None
    where = [found.p_value for found in (ranges, classes) if found is not None]
    untold = too_few(evidence.n_clusters)
    families = [family for family in (tests.p_values, where) if family]
    weights = [1.0 / len(family) for family in families for _ in family]
    combined = combined_test([p for family in families for p in family], untold, weights=weights)
    rejected = untold is None and combined.p_value <= alpha
    bounds = [] if ranges is None else [ranges.bounds]
    if classes is not None:
        bounds.append(classes.bounds(each))
    least, most, measured, share = np.concatenate(bounds, axis=1)
    counts = (share >= MIN_SHARE) | (least > 0.0)
    return Conclusion(
        kind=evidence.kind,
        n_samples=cells.n_samples,
        n_ranges=0 if ranges is None else len(ranges.weight),
        level=level,
        combined=combined,
        tests=tests,
        pooled=ranges.clearest() if ranges is not None and rejected else (),
        classes=classes.guilty() if classes is not None and rejected else (),
        by_class=classes,
        at_least=float(least.max() * 100.0) if rejected else 0.0,
        at_most=float(most[counts].max(initial=0.0) * 100.0),
        largest=float(measured[counts].max(initial=0.0) * 100.0),
        events=observed_expected(evidence, level=level) if evidence.kind == "binary" else None,
        tolerance=tolerance,
    )


def _gaps(at: np.ndarray, *columns: np.ndarray) -> tuple[Gap, ...]:
    rows = zip(*(column[at].tolist() for column in columns), strict=True)
    return tuple(Gap(*row) for row in rows)


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Ranges of scores, R of them, each with simultaneous limits of its mean score minus its mean chance."""

    gaps: tuple[np.ndarray, ...]  #: Columns of their `Gap`, from `lower` on
    weight: np.ndarray
    p_value: float  #: Smallest alpha at which a range would be known to be off

    @classmethod
    def of(cls, evidence: Evidence, cells: BinStatistics, alpha: float) -> _Ranges:
        n_bins = cells.n_bins
        means = cells.weight * cells.mean_score, cells.weight * cells.mean_outcome
        parts = (cells.count, cells.weight, cells.square if cells.is_weighted else cells.count, *means)
        by_bin = np.stack([np.bincount(cells.bin, part, n_bins) for part in parts])
        # a range that ends at the last bin with rows is the whole range
        filled = np.flatnonzero(by_bin[0] > 0)
        first, last = filled, filled[:-1]
        from_on, below = by_bin[:, ::-1].cumsum(axis=1)[:, ::-1][:, first], by_bin.cumsum(axis=1)[:, last]
        count, weight, square, score, outcome = np.concatenate([from_on, below], axis=1)
        lower = np.append(np.where(first == filled[0], 0, first), np.zeros(len(last))) / n_bins
        upper = np.append(np.full(len(first), n_bins), last + 1) / n_bins
        says, right = score / weight, outcome / weight
        effective = weight**2 / square / _range_effects(evidence, cells, first, last)

        def limits(alpha: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
            rows = effective * few_clusters_factor(evidence.even_clusters, alpha)
            low, high = mean_limits(right, rows, alpha, weighted=cells.is_weighted)
            return says - high, says - low

        p_value = min(float(smallest_alpha(limits, len(says)).min()) * len(says), 1.0)
        gaps = (lower, upper, count.astype(np.int64), says, right, *limits(alpha / len(says)))
        return cls(gaps, weight, p_value)

    @property
    def bounds(self) -> np.ndarray:
        """Return what `ClassGaps.bounds` does, (4, R), of ranges."""
        *_, says, right, least, most = self.gaps
        return np.stack([*sizes(least, most), np.abs(says - right), self.weight / self.weight.max()])

    def clearest(self) -> tuple[Gap, ...]:
        """Return the range with the largest gap times rows, and the next one in the other direction."""
        certain_gap = self.bounds[0] * self.weight
        order = np.argsort(-certain_gap, kind="stable")
        found = _gaps(order[certain_gap[order] > 0.0], np.full(len(certain_gap), None), *self.gaps)
        first = found[:1]
        apart = [
            gap
            for gap in found
            if gap.direction != first[0].direction
            and (gap.lower >= first[0].upper or gap.upper <= first[0].lower)
        ]
        return (*first, *apart[:1])


def _range_effects(
    evidence: Evidence, cells: BinStatistics, first: np.ndarray, last: np.ndarray
) -> np.ndarray | float:
    """Return the design effects of ranges from the bins `first` on, and up to the bins `last`."""
    if not isinstance(evidence, Rows) or evidence.dependence is None:
        return 1.0
    problems = evidence.problems()
    bin_ = np.repeat(cells.bin, cells.count)
    from_on, below = evidence.dependence.design_effects(
        problems.scores,
        problems.rows,
        np.zeros_like(bin_),
        bin_,
        n_bins=cells.n_bins,
        weight=problems.weights,
    )
    return np.append(from_on[0, first], below[0, last])


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _points(points: float) -> str:
    """Write percentage points with one decimal, or with the two digits that small ones need."""
    return f"{points:.1f}" if points >= 0.95 else f"{points:.2g}"
