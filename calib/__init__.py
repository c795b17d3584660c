"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.
"""

from calib.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.formats import read_pair, read_predictions
from calib.histogram import HistogramBinning
from calib.metrics import accuracy, brier_score, ece, log_loss, mce, sharpness
from calib.multiclass import Fallback, MulticlassToBinary
from calib.predictions import InputError, Predictions, TopLabelPrediction
from calib.reductions import reduce_to_binary

__version__ = "0.1.0"

__all__ = [
    "BinStatistics",
    "BinaryProblems",
    "CanonicalBinning",
    "Fallback",
    "GridScheme",
    "HistogramBinning",
    "InputError",
    "MulticlassToBinary",
    "Predictions",
    "ProjectionScheme",
    "SierpinskiScheme",
    "TopLabelPrediction",
    "accuracy",
    "bin_statistics",
    "brier_score",
    "ece",
    "log_loss",
    "mce",
    "read_pair",
    "read_predictions",
    "reduce_to_binary",
    "sharpness",
]
