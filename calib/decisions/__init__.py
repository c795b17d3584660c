"""Decisions: which predictions may pass without a person, at what risk, and with what guarantee."""

from calib.decisions.curves import DecisionCurve, RiskCoverage, decision_curve, risk_coverage
from calib.decisions.rules import DecisionRule, Outcome, decide

__all__ = [
    "DecisionCurve", "DecisionRule", "Outcome", "RiskCoverage", "decide", "decision_curve", "risk_coverage",
]  # fmt: skip
