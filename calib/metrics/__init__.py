"""Calibration errors, proper scores, debiased estimates and decompositions."""

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

__all__ = [
    "CorpCurve", "Decomposition", "SmoothEstimate", "SweepEstimate", "accuracy", "brier_score",
    "canonical_ece", "corp_curve", "debiased_ece", "debiased_l2", "decomposition", "ece", "log_loss",
    "mce", "sharpness", "smooth_ece", "sweep_ece",
]  # fmt: skip
