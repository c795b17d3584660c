"""Answers about methods: summary, leaderboard and gate."""

from calib.assessment.calibrated import calibrated_scores
from calib.assessment.summary import Summary, summarize

__all__ = ["Summary", "calibrated_scores", "summarize"]
