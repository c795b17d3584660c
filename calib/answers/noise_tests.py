"""A method against noise: the floors of its errors, tests that need no bins, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calib.base.results import parts
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import KINDS, needs_rows, without_weights
from calib.data.notions import TOP_NOTIONS, Strategy
from calib.evidence.clusters import too_few
from calib.evidence.rows import Rows
from calib.evidence.sums import SummedRows
from calib.stats.binless import (
    CalibrationSlope,
    CalibrationTest,
    CombinedTest,
    calibration_slope,
    calibration_tests,
    combined_test,
)
from calib.stats.floors import NoiseFloor, noise_floor, verdict
from calib.stats.measures import ECES, Measure, ece_of


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
    skce: BinlessTest | None = None
    slope: CalibrationSlope | None = None
    together: CombinedTest | None = None  #: These tests and the noise floors' together


@dataclass(frozen=True)
class NoiseTests:
    floors: Mapping[str, NoiseFloor]  #: Of the errors that have one, by notion or "binary"
    verdicts: tuple[str, ...]  #: What each floor says
    without_bins: BinlessTests  #: Empty without redraws, and for rows that do not allow it
    sentences: tuple[str, ...]  #: What the tests without bins say, or why there are none

    def numbers(self) -> dict[str, FloorNumbers]:
        """Return the numbers of each floor."""
        return {
            notion: FloorNumbers(floor, floor.mean, floor.quantile(0.95), len(floor.samples))
            for notion, floor in self.floors.items()
        }


def noise_tests(
    evidence: Rows | SummedRows,
    *,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
) -> NoiseTests:
    """Compare a method with noise.

    Without redraws (0) there are no floors and no tests; arguments as for `calib.noise_floor`.
    """
    measures = _measures(evidence.kind) if n_resamples else {}
    draws = {"n_resamples": n_resamples, "random_state": random_state}
    bins = {"n_bins": n_bins, "strategy": strategy}
    options = {name: measure.options | draws | bins for name, measure in measures.items()}
    floors = {name: noise_floor(evidence, **asked) for name, asked in options.items()}
    verdicts = tuple(verdict(floors[name], measure.title) for name, measure in measures.items())
    return NoiseTests(floors, verdicts, *_without_bins(evidence, floors, random_state))


def _without_bins(
    evidence: Rows | SummedRows, floors: Mapping[str, NoiseFloor], random_state: int | None
) -> tuple[BinlessTests, tuple[str, ...]]:
    if isinstance(evidence, SummedRows):
        return BinlessTests(), (needs_rows("The AUC"), needs_rows("A test or an estimate without bins"))
    if not floors:
        return BinlessTests(), ()
    if (missing := evidence.lacks("tests without bins")) is not None:
        return BinlessTests(), (missing,)
    tests = calibration_tests(evidence, random_state=random_state)
    slope = calibration_slope(evidence)
    p_values = [*(each.p_value for each in floors.values()), *(test.p_value for test in tests)]
    together = combined_test([*p_values, slope.p_value], too_few(evidence.n_clusters))
    unweighted = without_weights(KINDS[evidence.kind]) if evidence.is_weighted else None
    sentences = [together.words, *(test.words for test in tests), unweighted, slope.words]
    by_name = {test.test: BinlessTest(test) for test in tests}
    return BinlessTests(**by_name, slope=slope, together=together), tuple(filter(None, sentences))


def _measures(kind: str) -> dict[str, Measure]:
    """Return the errors that are shown with their noise floor, by their notion, or "binary"."""
    errors = ece_of(kind)
    by_notion = {str(notion): ECES[notion] for notion in TOP_NOTIONS if ECES[notion].key in errors}
    return by_notion or {"binary": next(iter(errors.values()))}
