"""Tests of a method against noise: the noise floors of its errors, and tests that need no bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from calib.base.results import parts
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import KINDS, needs_rows, without_weights
from calib.data.notions import TOP_NOTIONS, Strategy
from calib.evidence.rows import Evidence, Rows
from calib.stats.binless import CalibrationSlope, CalibrationTest, Test, calibration_slope, calibration_tests
from calib.stats.floors import NoiseFloor, noise_floor, verdict
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
    draws = {"n_resamples": n_resamples, "random_state": random_state}
    bins = {"n_bins": n_bins, "strategy": strategy}
    options = {name: measure.options | draws | bins for name, measure in measures.items()}
    floors = {name: noise_floor(evidence, **asked) for name, asked in options.items()}
    verdicts = tuple(verdict(floors[name], measure.title) for name, measure in measures.items())
    if not isinstance(evidence, Rows):
        missing = needs_rows("The AUC"), needs_rows("A test or an estimate without bins")
        return NoiseTests(floors, BinlessTests(), verdicts, missing)
    if not floors:
        return NoiseTests(floors, BinlessTests(), verdicts)
    if (lacking := evidence.lacks("tests without bins")) is not None:
        return NoiseTests(floors, BinlessTests(), verdicts, (lacking,))
    found = calibration_tests(evidence, random_state=random_state, tests=OF_ONE_CLAIM)
    by_name = {str(test.test): BinlessTest(test) for test in found}
    return NoiseTests(floors, BinlessTests(**by_name, slope=calibration_slope(evidence)), verdicts)


def with_whole_vectors(tests: NoiseTests, evidence: Evidence, random_state: int | None) -> NoiseTests:
    """Add the kernel test of whole vectors, which a model can fail whose confidence is calibrated."""
    if not isinstance(evidence, Rows) or "vector" not in KINDS[evidence.kind].has:
        return tests
    if evidence.is_weighted:
        return replace(tests, missing=(*tests.missing, without_weights(KINDS[evidence.kind])))
    found = calibration_tests(evidence, random_state=random_state, tests=["skce"])
    kernel = BinlessTest(found[0]) if found else None
    return replace(tests, without_bins=replace(tests.without_bins, skce=kernel))


def _measures(kind: str) -> dict[str, Measure]:
    """Return the errors that are shown with their noise floor, by their notion, or "binary"."""
    errors = ece_of(kind)
    by_notion = {str(notion): ECES[notion] for notion in TOP_NOTIONS if ECES[notion].key in errors}
    return by_notion or {"binary": next(iter(errors.values()))}
