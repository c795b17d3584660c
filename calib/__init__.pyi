# fmt: off
from . import datasets as datasets, diagrams as diagrams, export as export, scale as scale, testing as testing
from .answers.gate import gate as gate
from .answers import (
    calibration_by_centre as calibration_by_centre,
    calibrated_scores as calibrated_scores, choose_points_per_bin as choose_points_per_bin,
    coarsen as coarsen, compare_models as compare_models, conclude as conclude,
    cross_calibrate as cross_calibrate,
    decide as decide, fold_errors as fold_errors,
    decision_curve as decision_curve, guarantee as guarantee,
    guarantee_card as guarantee_card, judge as judge, over_time as over_time, recommend as recommend,
    risk as risk, risk_coverage as risk_coverage,
    slices as slices, metrics as metrics,
)
from .base.exceptions import (
    CalibratorFileError as CalibratorFileError, InputError as InputError, LongFitWarning as LongFitWarning,
    TooManyParametersWarning as TooManyParametersWarning,
)
from .base.version import __version__ as __version__
from .calibrators import (
    BetaCalibration as BetaCalibration, CalibratedModel as CalibratedModel,
    CanonicalBinning as CanonicalBinning, DirichletScaling as DirichletScaling,
    EnsembleTemperatureScaling as EnsembleTemperatureScaling, ForeignCalibrator as ForeignCalibrator,
    GridScheme as GridScheme, HistogramBinning as HistogramBinning,
    IsotonicCalibration as IsotonicCalibration, LabelShiftCorrection as LabelShiftCorrection,
    MulticlassToBinary as MulticlassToBinary, PlattScaling as PlattScaling,
    ProjectionScheme as ProjectionScheme, SierpinskiScheme as SierpinskiScheme,
    SplineCalibration as SplineCalibration, StructuredMatrixScaling as StructuredMatrixScaling,
    StructuredVectorScaling as StructuredVectorScaling, TemperatureScaling as TemperatureScaling,
    TopVersusAllScaling as TopVersusAllScaling, VectorScaling as VectorScaling,
    VennAbersCalibration as VennAbersCalibration,
)
from .data import (
    BinaryPrediction as BinaryPrediction, ConfidencePrediction as ConfidencePrediction,
    MultilabelPrediction as MultilabelPrediction, Predictions as Predictions,
    TopKPrediction as TopKPrediction, TopLabelPrediction as TopLabelPrediction,
)
from .diagrams import (
    ReliabilityDisplay as ReliabilityDisplay, bin_zoom as bin_zoom, class_diagram as class_diagram,
    class_table as class_table, ece_sweep as ece_sweep, recalibration_map as recalibration_map,
    reliability_diagram as reliability_diagram, sweep_models as sweep_models,
    validity_curve as validity_curve,
)
from .evidence import (
    BinaryProblems as BinaryProblems, bin_statistics as bin_statistics,
    reduce_to_binary as reduce_to_binary,
)
from .files.saved import load as load, load_model as load_model, save as save, save_model as save_model
from .files.findings import Report as Report, check as check, examine as examine
from .files.saved.project import Project as Project
from .files.checked import (
    read as read,
    read_models as read_models,
    read_pair as read_pair,
    read_predictions as read_predictions,
)
from .lessons import lesson as lesson
from .report import report as report
from .stats import (
    Monitor as Monitor, accuracy as accuracy, auc as auc, best_set as best_set,
    bootstrap_interval as bootstrap_interval, brier_score as brier_score,
    calibration_band as calibration_band, calibration_in_the_large as calibration_in_the_large,
    calibration_slope as calibration_slope,
    calibration_test as calibration_test, corp_curve as corp_curve,
    debiased_l2 as debiased_l2, decomposition as decomposition, ece as ece,
    effective_sample as effective_sample,
    error_interval as error_interval, log_loss as log_loss, loess_curve as loess_curve, mce as mce,
    noise_floor as noise_floor,
    observed_expected as observed_expected,
    paired_difference as paired_difference, paired_interval as paired_interval, sharpness as sharpness,
    smooth_ece as smooth_ece, verdict as verdict,
)
