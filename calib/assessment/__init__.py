"""Answers about methods: summary, leaderboard, gate and advice."""

from calib.assessment.advice import PointsPerBinChoice, Recommendation, choose_points_per_bin, recommend
from calib.assessment.calibrated import calibrated_scores
from calib.assessment.conclusion import Conclusion, Gap, conclude
from calib.assessment.summary import Summary, summarize

__all__ = [
    "Conclusion", "Gap", "PointsPerBinChoice", "Recommendation", "Summary", "calibrated_scores",
    "choose_points_per_bin", "conclude", "recommend", "summarize",
]  # fmt: skip
