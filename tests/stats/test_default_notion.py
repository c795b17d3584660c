"""The notion that a number is about by default: the first notion of the kind of predictions."""

from __future__ import annotations

import numpy as np
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    TopLabelPrediction,
    calibration_test,
    ece,
    error_interval,
    mce,
    noise_floor,
    paired_difference,
    reduce_to_binary,
    sharpness,
)
from calib.stats import debiased_l2, decomposition

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), 80)
CLASS, RIGHT = RNG.integers(0, 3, 80), RNG.integers(0, 2, 80)
SCORE = RNG.random(80)
ROWS = {
    "top-label": (Predictions(PROBA, CLASS), TopLabelPrediction(CLASS, SCORE, RNG.integers(0, 3, 80))),
    "confidence": (ConfidencePrediction(SCORE, RIGHT),),
    "class-wise": (BinaryPrediction(SCORE, RIGHT), MultilabelPrediction(PROBA, SCORE[:, None] < PROBA)),
}
EACH = [pytest.param(notion, rows, id=rows.kind) for notion, kinds in ROWS.items() for rows in kinds]


@pytest.mark.parametrize(("notion", "rows"), EACH)
def test_the_default_notion_is_the_first_of_the_kind(notion, rows):
    for error in (ece, mce, sharpness, debiased_l2):
        assert error(rows) == error(rows, notion=notion)
    for compute in (error_interval, noise_floor, decomposition, reduce_to_binary):
        assert compute(rows).notion == notion
    assert paired_difference(rows, rows).notion == notion


def test_tests_without_bins_are_about_the_first_notion_of_one_claim():
    found = {rows.kind: calibration_test(rows).notion for kinds in ROWS.values() for rows in kinds[:1]}
    assert found == {"vectors": "top-label", "confidence": "confidence", "binary": "class-wise"}
