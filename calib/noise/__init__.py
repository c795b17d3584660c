"""What chance alone does: noise floors, redraws of outcomes, consistency bands and bootstrap intervals."""

from calib.noise.bands import CalibrationBand, ConsistencyBand, calibration_band, consistency_band
from calib.noise.binless import (
    CalibrationSlope,
    CalibrationTest,
    calibration_slope,
    calibration_test,
    calibration_tests,
)
from calib.noise.bootstrap import Interval, PairedInterval, bootstrap_interval, paired_interval
from calib.noise.differences import PairedDifference, paired_difference
from calib.noise.draws import adder
from calib.noise.floor import (
    LEVEL,
    TOO_LOW,
    CellMetric,
    NoiseFloor,
    ProblemFloors,
    canonical_noise_floor,
    noise_floor,
    noise_floor_of,
    p_values,
    problem_floors,
    verdict,
)
from calib.noise.intervals import (
    ErrorInterval,
    error_interval,
    error_interval_of,
    largest_gap_interval,
    measure_interval,
)
from calib.noise.many import Improvements, best_set, improvements

__all__ = [
    "CalibrationBand", "CalibrationSlope", "CalibrationTest", "ConsistencyBand", "ErrorInterval",
    "Improvements", "Interval", "NoiseFloor", "PairedDifference", "PairedInterval", "ProblemFloors",
    "best_set", "bootstrap_interval", "calibration_band", "calibration_slope", "calibration_test",
    "calibration_tests", "canonical_noise_floor", "consistency_band", "error_interval", "improvements",
    "noise_floor", "noise_floor_of", "paired_difference", "paired_interval", "problem_floors", "verdict",
]  # fmt: skip
