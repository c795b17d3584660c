"""Calibrators: binary, multiclass-to-binary, scalings and binning of the simplex."""

from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.calibrated_model import CalibratedModel
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.ensemble import EnsembleTemperatureScaling
from calib.calibrators.foreign import ForeignCalibrator
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.label_shift import CorrectedCalibrator, LabelShift, LabelShiftCorrection
from calib.calibrators.multiclass import Fallback, MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.calibrators.spline import SplineCalibration
from calib.calibrators.structured import StructuredMatrixScaling, StructuredVectorScaling
from calib.calibrators.top_versus_all import TopVersusAllScaling
from calib.calibrators.venn_abers import VennAbersCalibration
from calib.exceptions import LongFitWarning, TooManyParametersWarning

__all__ = [
    "BetaCalibration", "CalibratedModel", "CanonicalBinning", "CorrectedCalibrator", "DirichletScaling",
    "EnsembleTemperatureScaling", "Fallback", "ForeignCalibrator", "GridScheme", "HistogramBinning",
    "IsotonicCalibration", "LabelShift", "LabelShiftCorrection", "MulticlassToBinary", "PlattScaling",
    "ProjectionScheme",
    "SierpinskiScheme", "SplineCalibration", "StructuredMatrixScaling", "StructuredVectorScaling",
    "TemperatureScaling", "TopVersusAllScaling", "VectorScaling", "VennAbersCalibration",
]  # fmt: skip
