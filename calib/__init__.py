"""Calibration diagnostics of classifiers: confidence, top-label, class-wise and top-K calibration.

The definitions are those of Gupta & Ramdas, "Top-label calibration and multiclass-to-binary
reductions" (ICLR 2022). Nothing here imports Streamlit.
"""

from calib.predictions import InputError, Predictions, TopLabelPrediction

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "Predictions",
    "TopLabelPrediction",
]
