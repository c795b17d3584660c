# fmt: off
from .advice import (
    PointsPerBinChoice as PointsPerBinChoice, Recommendation as Recommendation,
    choose_points_per_bin as choose_points_per_bin, recommend as recommend,
)
from .calibrated import calibrated_scores as calibrated_scores
from .coarsening import Coarsening as Coarsening, coarsen as coarsen
from .conclusion import Conclusion as Conclusion, Gap as Gap, conclude as conclude
from .cuts import Cut as Cut, cut_column as cut_column
from .decision_curves import (
    ActionCosts as ActionCosts, BenefitDifference as BenefitDifference, DecisionCurve as DecisionCurve,
    RiskCoverage as RiskCoverage, benefit_difference as benefit_difference,
    choose_actions as choose_actions, decision_curve as decision_curve, risk_coverage as risk_coverage,
)
from .decision_rules import (
    DecisionRule as DecisionRule, EventRule as EventRule, RuleEffect as RuleEffect, decide as decide,
)
from .gate import Check as Check, GateResult as GateResult
from .guarantee_cards import GuaranteeCard as GuaranteeCard, guarantee_card as guarantee_card
from .judgement import Judgement as Judgement, judge as judge
from .model_tables import ModelComparison as ModelComparison, compare_models as compare_models
from .risks import (
    CentreTable as CentreTable, Risk as Risk, calibration_by_centre as calibration_by_centre, risk as risk,
)
from .time_changes import OverTime as OverTime, over_time as over_time
from .slice_tables import SliceTable as SliceTable, slices as slices
from .metric_tables import (
    CrossCalibration as CrossCalibration, Metrics as Metrics, cross_calibrate as cross_calibrate,
    fold_errors as fold_errors, metrics as metrics,
)
from .theorems import (
    Guarantee as Guarantee, deviation as deviation, guarantee as guarantee,
    multinomial_bound as multinomial_bound, points_needed as points_needed,
)
