"""What chance alone does: noise floors, redraws of outcomes, consistency bands and bootstrap intervals."""

from calib.noise.bands import ConsistencyBand, consistency_band
from calib.noise.bootstrap import Interval, PairedInterval, bootstrap_interval, paired_interval
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
