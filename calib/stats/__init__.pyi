# fmt: off
from .bands import (
    CalibrationBand as CalibrationBand, ConsistencyBand as ConsistencyBand,
    calibration_band as calibration_band, consistency_band as consistency_band,
)
from .binless import (
    CalibrationSlope as CalibrationSlope, CalibrationTest as CalibrationTest,
    calibration_slope as calibration_slope, calibration_test as calibration_test,
    calibration_tests as calibration_tests, combined_test as combined_test,
)
from .bootstrap import (
    Interval as Interval, PairedInterval as PairedInterval, best_set as best_set,
    bootstrap_interval as bootstrap_interval, paired_interval as paired_interval,
)
from .decompositions import (
    CorpCurve as CorpCurve, Decomposition as Decomposition, corp_curve as corp_curve,
    decomposition as decomposition,
)
from .differences import PairedDifference as PairedDifference, paired_difference as paired_difference
from .effective import EffectiveSample as EffectiveSample, effective_sample as effective_sample
from .errors import (
    SmoothEstimate as SmoothEstimate, accuracy as accuracy, auc as auc, brier_score as brier_score,
    debiased_l2 as debiased_l2, ece as ece, log_loss as log_loss, mce as mce, sharpness as sharpness,
    smooth_ece as smooth_ece,
)
from .frequencies import wilson_interval as wilson_interval
from .floors import (
    CellMetric as CellMetric, NoiseFloor as NoiseFloor, ProblemFloors as ProblemFloors,
    SIGNIFICANCE as SIGNIFICANCE, TOO_LOW as TOO_LOW, canonical_noise_floor as canonical_noise_floor,
    noise_floor as noise_floor, p_values as p_values, problem_floors as problem_floors, verdict as verdict,
)
from .intervals import (
    ErrorInterval as ErrorInterval, error_interval as error_interval,
    measure_interval as measure_interval,
)
from .monitor import Monitor as Monitor, MonitoredGap as MonitoredGap, Unit as Unit
from .observed import (
    EventCounts as EventCounts, calibration_in_the_large as calibration_in_the_large,
    observed_expected as observed_expected,
)
from .smoothed import LoessCurve as LoessCurve, loess_curve as loess_curve
from .simplex_errors import canonical_ece as canonical_ece
