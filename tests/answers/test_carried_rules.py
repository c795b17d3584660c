"""A rule travels with its calibrator: file, scorer, ONNX graph, table of applied rows, and gate."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest

from calib import (
    BinaryPrediction,
    CalibratorFileError,
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    PlattScaling,
    TemperatureScaling,
    TopLabelPrediction,
    decide,
)
from calib.answers.calibrated import applied_frame, calibrated_scores
from calib.answers.gate import gate
from calib.calibrators.acceptance import NEVER
from calib.data.predictions import Predictions
from calib.export import scorer, to_onnx, verify_onnx, verify_scorer
from calib.files.saved import checksum, dumps, loads
from tests.answers.test_decision_rules import rows

PROBA, LABELS = rows(3_000)
CALIBRATORS = [
    MulticlassToBinary(HistogramBinning(points_per_bin=100)),
    MulticlassToBinary(notion="class-wise", normalize=True),
    MulticlassToBinary(PlattScaling(), notion="top-k-label", top_k=2),
    TemperatureScaling(),
]


@pytest.mark.parametrize("by", [None, "class"])
@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)
def test_file_scorer_and_graph_accept_the_same_rows(calibrator, by):
    fitted = calibrator.fit(PROBA, LABELS)
    scores = calibrated_scores(fitted, PROBA)
    rule = decide(LABELS, scores, accuracy=0.8, by=by)
    accepted = rule.accept(scores)
    assert 0 < accepted.sum() < len(accepted)
    carrier = rule.carried_by(fitted)
    assert not hasattr(fitted, "rule_")

    loaded = loads(dumps(carrier))
    np.testing.assert_array_equal(loaded.rule_.thresholds, rule.thresholds)
    assert (loaded.rule_.guarantee, loaded.rule_.target) == (rule.guarantee, "accuracy")
    np.testing.assert_array_equal(loaded.rule_.accept(calibrated_scores(loaded, PROBA)), accepted)
    np.testing.assert_array_equal(applied_frame(loaded, Predictions(PROBA))["accept"], accepted)
    assert verify_scorer(scorer(loaded), carrier, PROBA) < 1e-12
    space: dict = {}
    exec(compile(scorer(loaded), "scorer", "exec"), space)  # noqa: S102 (our own code)
    np.testing.assert_array_equal(space["calibrate"](PROBA)["accept"], accepted)
    pytest.importorskip("onnxruntime")
    assert verify_onnx(to_onnx(loaded), carrier, PROBA) < 1e-6


@pytest.mark.parametrize("of_event", [False, True])
def test_a_binary_calibrator_accepts_at_one_end_or_at_both(of_event):
    random = np.random.default_rng(0)
    p = random.random(2_000)
    y = (random.random(2_000) < p).astype(int)
    fitted = PlattScaling().fit(p, y)
    given = BinaryPrediction(p, y, ("no", "yes")) if of_event else ConfidencePrediction(p, y)
    scores = calibrated_scores(fitted, given)
    rule = decide(scores, accuracy=0.8)
    carrier = rule.carried_by(fitted)
    accepted = rule.accept(scores)
    assert accepted[p.argmin()] == of_event
    assert verify_scorer(scorer(carrier), carrier, p) < 1e-12
    space: dict = {}
    exec(compile(scorer(carrier), "scorer", "exec"), space)  # noqa: S102 (our own code)
    np.testing.assert_array_equal(space["calibrate"](p)["accept"], accepted)
    np.testing.assert_array_equal(loads(dumps(carrier)).rule_.accept(scores), accepted)
    pytest.importorskip("onnxruntime")
    assert verify_onnx(to_onnx(carrier), carrier, p) < 1e-6


def test_a_threshold_that_accepts_nothing_survives_the_file():
    fitted = MulticlassToBinary().fit(PROBA, LABELS)
    rule = decide(LABELS, calibrated_scores(fitted, PROBA), accuracy=0.999)
    assert np.isinf(rule.thresholds).all()
    content = json.loads(dumps(rule.carried_by(fitted)))
    assert content["rule"]["thresholds"] == [NEVER]
    assert np.isinf(loads(dumps(rule.carried_by(fitted))).rule_.thresholds).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [("thresholds", [0.5, 0.5]), ("thresholds", [-0.1]), ("by", "group"), ("target", "x"), ("alpha", 2)],
)
def test_a_rule_that_does_not_fit_is_refused(field, value):
    fitted = MulticlassToBinary().fit(PROBA, LABELS)
    rule = decide(LABELS, calibrated_scores(fitted, PROBA), accuracy=0.8)
    content = json.loads(dumps(rule.carried_by(fitted)))
    content["rule"][field] = value
    content.pop("checksum")
    content["checksum"] = checksum(content)
    with pytest.raises(CalibratorFileError, match="rule"):
        loads(json.dumps(content).encode())
    of_class = decide(LABELS, calibrated_scores(fitted, PROBA), accuracy=0.8, by="class")
    with pytest.raises(InputError, match="4 classes, the calibrator has 3"):
        of_class.carried_by(
            MulticlassToBinary().fit(PROBA[:, :3] / PROBA[:, :3].sum(1, keepdims=True), LABELS % 3)
        )


def test_what_is_accepted_can_be_limited():
    label, confidence = np.zeros(1_000, dtype=int), np.repeat([0.9, 0.5], 500)
    y = np.concatenate([np.arange(500) < 25, np.arange(500) < 250]).astype(int)  # 5 % and 50 % are wrong
    scores = TopLabelPrediction(label, confidence)
    rule = decide(y, scores, reviews=0.5)
    assert rule.accept(scores).sum() == 500
    least = {"accepted_accuracy": 0.9, "accepted": 0.4}
    result = gate(y, scores, least=least, rule=rule, n_resamples=0)
    assert [check.answer for check in result.checks] == ["kept", "kept"]
    assert [check.value for check in result.checks] == [0.95, 0.5]
    both = 1.0 - 0.05 / 2  # Bonferroni
    first, exact = result.checks[0], binomtest(475, 500).proportion_ci(both, "exact")
    assert (first.lower, first.upper) == pytest.approx((exact.low, exact.high))
    result = gate(y, scores, least={"accepted_accuracy": 0.95}, rule=rule, n_resamples=0)
    assert result.answer == "undecided"
    assert gate(y, scores, least={"accepted_accuracy": 0.99}, rule=rule, n_resamples=0).answer == "broken"
    with pytest.raises(InputError, match="there is none"):
        gate(y, scores, least=least, n_resamples=0)
