"""Gates: limits, and when noise excuses breaking one."""

from __future__ import annotations

import numpy as np
import pytest

from calib import InputError, Predictions, TopLabelPrediction, summarize
from calib.assessment.gate import METRICS, gate, parse_limits


def perfect(n: int) -> Predictions:
    """Rows whose outcomes are drawn with the announced probabilities."""
    random = np.random.default_rng(1)
    h = random.uniform(0.5, 1.0, n)
    return Predictions(np.column_stack([h, 1 - h]), (random.random(n) >= h).astype(int))


def test_noise_excuses_a_perfect_model_on_few_rows():
    rows = perfect(100)
    strict = gate(rows.labels, rows, most={"tl_ece": 0.01})
    lenient = gate(rows.labels, rows, most={"tl_ece": 0.01}, above_noise=True)
    assert strict.checks[0].value > 0.01
    assert not strict.passed
    assert lenient.passed
    assert ", but not distinguishable from noise" in lenient.sentence


def test_noise_does_not_excuse_a_bad_model():
    rows = perfect(4_000)
    wrong = gate(1 - rows.labels, rows, most={"tl_ece": 0.0}, above_noise=True)
    assert not wrong.passed
    assert wrong.checks[0].p_value < 0.01


def test_noise_excuses_no_score():
    rows = perfect(100)
    result = gate(rows.labels, rows, most={"brier": 0.0}, least={"accuracy": 1.0}, above_noise=True)
    assert [check.passed for check in result.checks] == [False, False]
    assert result.checks[0].p_value is None
    assert result.sentence.startswith("failed: Brier ")


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_limited(metric):
    rows = perfect(200)
    value = getattr(summarize(rows.labels, rows), metric)
    for bound in ("most", "least"):
        assert gate(rows.labels, rows, **{bound: {metric: value}}, n_resamples=20).passed
    assert not gate(rows.labels, rows, most={metric: value - 1e-6}, n_resamples=20).passed
    assert not gate(rows.labels, rows, least={metric: value + 1e-6}, n_resamples=20).passed


def test_data_are_plain_and_repeatable():
    rows = perfect(300)
    first = gate(rows.labels, rows, most={"tl_ece": 0.01, "conf_ece": 0.5}).data()
    assert first == gate(rows.labels, rows, most={"tl_ece": 0.01, "conf_ece": 0.5}).data()
    assert {type(value) for check in first["checks"] for value in check.values()} <= {str, float, bool}


def test_wrong_limits_are_refused():
    rows = perfect(50)
    with pytest.raises(InputError, match="at least one limit"):
        gate(rows.labels, rows)
    with pytest.raises(InputError, match="'ece' is no metric; the metrics are accuracy, conf_ece"):
        gate(rows.labels, rows, most={"ece": 0.1})
    with pytest.raises(InputError, match="finite"):
        gate(rows.labels, rows, most=parse_limits(["tl_ece=nan"]))
    with pytest.raises(InputError, match="give no CW-ECE"):
        gate(rows.labels, TopLabelPrediction(rows.label, rows.confidence), most={"cw_ece": 0.1})
    for text in ("tl_ece", "tl_ece=", "tl_ece=low", "=0.1x"):
        with pytest.raises(InputError, match="metric=number"):
            parse_limits([text])
