"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.
"""

from calib import datasets
from calib.assessment.calibrated import calibrated_scores
from calib.assessment.summary import Summary, summarize
from calib.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.calibrated_model import CalibratedModel
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import Fallback, MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.diagrams.bin_sweep import ece_sweep
from calib.diagrams.classes import class_diagram, class_heat, class_table, confusions
from calib.diagrams.imbalance import class_binning, plan_bins
from calib.diagrams.reliability import bin_zoom, reliability_diagram, worst_cells
from calib.diagrams.scheme_comparison import compare_schemes
from calib.diagrams.simplex import cell_outlines, recalibration_map
from calib.diagrams.three_class_views import merge_classes, renormalise_classes
from calib.diagrams.validity import ValidityCurve, canonical_validity, validity_curve
from calib.doctor.examination import Examination, Finding, Report, check, examine
from calib.exceptions import CalibratorFileError, InputError, TooManyParametersWarning
from calib.formats.raw_predictions import read_pair, read_predictions
from calib.guarantees.card import GuaranteeCard, guarantee_card
from calib.guarantees.theorems import (
    ClassWiseGuarantee,
    Guarantee,
    guarantee,
    guarantee_class_wise,
    multinomial_bound,
    points_needed,
    points_sentence,
)
from calib.metrics.canonical import canonical_ece
from calib.metrics.debiased import (
    SmoothEstimate,
    SweepEstimate,
    debiased_ece,
    debiased_l2,
    smooth_ece,
    sweep_ece,
)
from calib.metrics.decompositions import CorpCurve, Decomposition, corp_curve, decomposition
from calib.metrics.errors import accuracy, brier_score, ece, log_loss, mce, sharpness
from calib.noise.bands import ConsistencyBand, consistency_band
from calib.noise.bootstrap import Interval, PairedInterval, bootstrap_interval, paired_interval
from calib.noise.differences import PairedDifference, paired_difference
from calib.noise.floor import (
    NoiseFloor,
    ProblemFloors,
    canonical_noise_floor,
    noise_floor,
    noise_floor_of,
    problem_floors,
    verdict,
)
from calib.noise.intervals import ErrorInterval, error_interval
from calib.persistence.document import load, save
from calib.predictions import Predictions, TopLabelPrediction
from calib.reductions import reduce_to_binary
from calib.version import __version__

__all__ = [
    "PairedDifference",
    "paired_difference",
    "ErrorInterval",
    "error_interval",
    "__version__",
    "datasets",
    "BetaCalibration",
    "BinStatistics",
    "BinaryProblems",
    "CalibratedModel",
    "CalibratorFileError",
    "CanonicalBinning",
    "ClassWiseGuarantee",
    "ConsistencyBand",
    "CorpCurve",
    "Decomposition",
    "DirichletScaling",
    "Examination",
    "Fallback",
    "Finding",
    "GridScheme",
    "Guarantee",
    "GuaranteeCard",
    "HistogramBinning",
    "InputError",
    "Interval",
    "IsotonicCalibration",
    "MulticlassToBinary",
    "NoiseFloor",
    "PairedInterval",
    "PlattScaling",
    "Predictions",
    "ProblemFloors",
    "ProjectionScheme",
    "Report",
    "SierpinskiScheme",
    "SmoothEstimate",
    "Summary",
    "SweepEstimate",
    "TemperatureScaling",
    "TooManyParametersWarning",
    "TopLabelPrediction",
    "ValidityCurve",
    "VectorScaling",
    "accuracy",
    "bin_statistics",
    "bin_zoom",
    "bootstrap_interval",
    "brier_score",
    "calibrated_scores",
    "canonical_ece",
    "canonical_noise_floor",
    "canonical_validity",
    "cell_outlines",
    "check",
    "class_binning",
    "class_diagram",
    "class_heat",
    "class_table",
    "compare_schemes",
    "confusions",
    "consistency_band",
    "corp_curve",
    "debiased_ece",
    "debiased_l2",
    "decomposition",
    "ece",
    "ece_sweep",
    "examine",
    "guarantee",
    "guarantee_card",
    "guarantee_class_wise",
    "load",
    "log_loss",
    "mce",
    "merge_classes",
    "multinomial_bound",
    "noise_floor",
    "noise_floor_of",
    "paired_interval",
    "plan_bins",
    "points_needed",
    "points_sentence",
    "problem_floors",
    "read_pair",
    "read_predictions",
    "recalibration_map",
    "reduce_to_binary",
    "reliability_diagram",
    "renormalise_classes",
    "save",
    "sharpness",
    "smooth_ece",
    "summarize",
    "sweep_ece",
    "validity_curve",
    "verdict",
    "worst_cells",
]
