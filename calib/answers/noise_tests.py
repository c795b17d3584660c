"""Tests of a method against noise: the noise floors of its errors, and tests that need no bins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calib.base.results import parts
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import KINDS, needs_equal_rows, needs_rows
from calib.data.notions import TOP_NOTIONS, Strategy
from calib.evidence.rows import Evidence, Rows
from calib.evidence.sampling import Statistic, redrawn
from calib.stats.binless import (
    CalibrationSlope,
    CalibrationTest,
    PathStatistic,
    Test,
    calibration_slope,
    calibration_tests,
)
from calib.stats.floors import FloorStatistic, NoiseFloor, noise_floor, verdict
from calib.stats.measures import ECES, Measure, ece_of

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
        slope = self.without_bins.slope
        return [
            *(floor.p_value for floor in self.floors.values()),
            *binless,
            *([] if slope is None else [slope.p_value]),
        ]

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
    """Return floors and tests of rows that belong together, which are redrawn row by row: once for all."""
    asked = {
        name: FloorStatistic(evidence, {name: measure.of_cells}, notion=measure.notion, **bins)
        for name, measure in measures.items()
    }
    path = PathStatistic(evidence, None, OF_ONE_CLAIM)
    statistics: list[Statistic] = [*asked.values(), path]
    drawing = evidence.draw_together([statistic.cells for statistic in statistics])
    *samples, of_path = redrawn(statistics, *drawing, **options)
    pairs = zip(asked.values(), samples, strict=True)
    floors = dict(pair for statistic, found in pairs for pair in statistic.floors(found).items())
    return floors, path.results(of_path).values()


def with_whole_vectors(tests: NoiseTests, evidence: Evidence, random_state: int | None) -> NoiseTests:
    """Add the kernel test of whole vectors, which a model can fail whose confidence is calibrated."""
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
