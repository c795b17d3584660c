# fmt: off
from . import datasets as datasets, diagrams as diagrams, export as export, scale as scale
from .answers import (
    ClassWiseGuarantee as ClassWiseGuarantee, Conclusion as Conclusion, Cut as Cut,
    DecisionCurve as DecisionCurve, DecisionRule as DecisionRule, Gap as Gap, Guarantee as Guarantee,
    GuaranteeCard as GuaranteeCard, Outcome as Outcome, PointsPerBinChoice as PointsPerBinChoice,
    Recommendation as Recommendation, RiskCoverage as RiskCoverage, SliceGaps as SliceGaps,
    SliceTable as SliceTable, Summary as Summary, calibrated_scores as calibrated_scores,
    choose_points_per_bin as choose_points_per_bin, conclude as conclude, cut_column as cut_column,
    decide as decide, decision_curve as decision_curve, guarantee as guarantee,
    guarantee_card as guarantee_card, guarantee_class_wise as guarantee_class_wise,
    multinomial_bound as multinomial_bound, points_needed as points_needed,
    points_sentence as points_sentence, recommend as recommend, risk_coverage as risk_coverage,
    slice_gaps as slice_gaps, slices as slices, summarize as summarize,
)
from .base.exceptions import (
    CalibratorFileError as CalibratorFileError, InputError as InputError,
    LongFitWarning as LongFitWarning, TooManyParametersWarning as TooManyParametersWarning,
)
from .base.version import __version__ as __version__
from .calibrators import (
    BetaCalibration as BetaCalibration, CalibratedModel as CalibratedModel,
    CanonicalBinning as CanonicalBinning, CorrectedCalibrator as CorrectedCalibrator,
    DirichletScaling as DirichletScaling, EnsembleTemperatureScaling as EnsembleTemperatureScaling,
    Fallback as Fallback, ForeignCalibrator as ForeignCalibrator, GridScheme as GridScheme,
    HistogramBinning as HistogramBinning, IsotonicCalibration as IsotonicCalibration,
    LabelShift as LabelShift, LabelShiftCorrection as LabelShiftCorrection,
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
    ValidityCurve as ValidityCurve, bin_zoom as bin_zoom, canonical_validity as canonical_validity,
    cell_outlines as cell_outlines, class_binning as class_binning, class_diagram as class_diagram,
    class_heat as class_heat, class_table as class_table, compare_schemes as compare_schemes,
    confusions as confusions, ece_sweep as ece_sweep, merge_classes as merge_classes,
    plan_bins as plan_bins, recalibration_map as recalibration_map,
    reliability_diagram as reliability_diagram, renormalise_classes as renormalise_classes,
    row_table as row_table, rows_behind as rows_behind, validity_curve as validity_curve,
    worst_cells as worst_cells,
)
from .evidence import (
    BinStatistics as BinStatistics, BinaryProblems as BinaryProblems, PerClass as PerClass,
    bin_statistics as bin_statistics, reduce_to_binary as reduce_to_binary,
)
from .files.calibrators import load as load, load_model as load_model, save as save, save_model as save_model
from .files.findings import (
    Examination as Examination, Finding as Finding, Report as Report, check as check, examine as examine,
)
from .files.project import Project as Project
from .files.readers import read as read, read_pair as read_pair, read_predictions as read_predictions
from .report import report as report
from .stats import (
    CalibrationBand as CalibrationBand, CalibrationSlope as CalibrationSlope,
    CalibrationTest as CalibrationTest, ConsistencyBand as ConsistencyBand, CorpCurve as CorpCurve,
    Decomposition as Decomposition, ErrorInterval as ErrorInterval, Improvements as Improvements,
    Interval as Interval, Monitor as Monitor, NoiseFloor as NoiseFloor, PairedDifference as PairedDifference,
    PairedInterval as PairedInterval, ProblemFloors as ProblemFloors, SmoothEstimate as SmoothEstimate,
    SweepEstimate as SweepEstimate, accuracy as accuracy, best_set as best_set,
    bootstrap_interval as bootstrap_interval, brier_score as brier_score,
    calibration_band as calibration_band, calibration_slope as calibration_slope,
    calibration_test as calibration_test, calibration_tests as calibration_tests,
    canonical_ece as canonical_ece, canonical_noise_floor as canonical_noise_floor,
    consistency_band as consistency_band, corp_curve as corp_curve, debiased_ece as debiased_ece,
    debiased_l2 as debiased_l2, decomposition as decomposition, ece as ece,
    error_interval as error_interval, improvements as improvements, log_loss as log_loss, mce as mce,
    noise_floor as noise_floor, paired_difference as paired_difference,
    paired_interval as paired_interval, problem_floors as problem_floors, sharpness as sharpness,
    smooth_ece as smooth_ece, sweep_ece as sweep_ece, verdict as verdict,
)
