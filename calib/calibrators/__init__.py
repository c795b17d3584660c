"""Calibrators: binary, multiclass-to-binary, scalings and binning of the simplex."""

from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.calibrated_model import CalibratedModel
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import Fallback, MulticlassToBinary
from calib.calibrators.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from calib.exceptions import TooManyParametersWarning

__all__ = [
    "BetaCalibration", "CalibratedModel", "CanonicalBinning", "DirichletScaling", "Fallback",
    "GridScheme", "HistogramBinning", "IsotonicCalibration", "MulticlassToBinary", "PlattScaling",
    "ProjectionScheme", "SierpinskiScheme", "TemperatureScaling", "VectorScaling",
]  # fmt: skip
