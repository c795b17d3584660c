"""Distribution-free guarantees of histogram binning: the theorems, and the card of a fitted calibrator."""

from calib.guarantees.card import GuaranteeCard, guarantee_card
from calib.guarantees.theorems import (
    ClassWiseGuarantee,
    Guarantee,
    deviation,
    guarantee,
    guarantee_class_wise,
    multinomial_bound,
    points_needed,
    points_sentence,
)
from calib.validation import check_alpha

__all__ = [
    "ClassWiseGuarantee", "Guarantee", "GuaranteeCard", "guarantee", "guarantee_card",
    "guarantee_class_wise", "multinomial_bound", "points_needed", "points_sentence",
]  # fmt: skip
