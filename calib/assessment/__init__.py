"""Answers about methods: summary, leaderboard and gate."""

from calib.assessment.summary import Summary, calibrated_scores, summarize
