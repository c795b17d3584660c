"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.
"""

from calib.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.diagrams import bin_zoom, ece_sweep, reliability_diagram, worst_cells
from calib.histogram import HistogramBinning
from calib.metrics import accuracy, brier_score, ece, log_loss, mce, sharpness
from calib.multiclass import Fallback, MulticlassToBinary
from calib.predictions import InputError, Predictions, TopLabelPrediction
from calib.reductions import reduce_to_binary
from calib.summary import Summary, calibrated_scores, summarize

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
    "reduce_to_binary",
    "sharpness",
    "bin_zoom",
    "ece_sweep",
    "reliability_diagram",
    "worst_cells",
    "Summary",
    "calibrated_scores",
    "summarize",
]
