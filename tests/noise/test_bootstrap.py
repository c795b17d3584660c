"""Bootstrap intervals: against resampled rows taken one by one, closed forms, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import (
    InputError,
    Predictions,
    TopLabelPrediction,
    accuracy,
    bootstrap_interval,
    brier_score,
    ece,
    log_loss,
    mce,
    paired_interval,
)
from calib.noise.bootstrap import PairedInterval, _statistic


def model_of(n, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(n_classes), n)
    labels = (proba.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(0, n_classes - 1)
    return Predictions(proba, labels)


PLAIN = {
    "ece": lambda y, s, **o: ece(y, s, **o),
    "mce": lambda y, s, **o: mce(y, s, **o),
    "accuracy": lambda y, s, **o: accuracy(y, s),
    "brier": lambda y, s, **o: brier_score(y, s),
    "log_loss": lambda y, s, **o: log_loss(y, s),
}


@given(st.integers(0, 10**6), st.sampled_from(["confidence", "top-label", "class-wise", "top-k-label"]))
def test_weighted_rows_are_repeated_rows(seed, notion):
    """Weighting rows gives the metric of the table in which each row stands as often as its weight."""
    model = model_of(30, seed=seed % 5)
    chosen = np.random.default_rng(seed).integers(0, 30, 30)
    weights = np.bincount(chosen, minlength=30).astype(float)[:, None]
    cases = [("ece", 1, "cell"), ("ece", 2, "cell"), ("mce", 1, "cell"), ("mce", 1, "bin")]
    for metric, norm, aggregate in cases:
        _, statistic = _statistic(model.labels, model, metric, notion, 6, "uniform", norm, aggregate, None)
        more = {"norm": norm} if metric == "ece" else {"aggregate": aggregate}
        repeated = PLAIN[metric](model.labels[chosen], model.proba[chosen], notion=notion, n_bins=6, **more)
        assert statistic(weights)[0] == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("metric", list(PLAIN))
@pytest.mark.parametrize("top", [False, True])
def test_estimate_is_the_metric(metric, top):
    model = model_of(60, seed=1)
    scores = TopLabelPrediction(model.label, model.confidence) if top else model.proba
    interval = bootstrap_interval(model.labels, scores, metric=metric, n_resamples=20, random_state=0)
    assert interval.estimate == pytest.approx(PLAIN[metric](model.labels, scores), abs=1e-12)
    assert interval.lower <= interval.upper
    assert interval.frame()["n_resamples"][0] == 20


def test_accuracy_interval_is_binomial():
    """80 of 100 right: the standard error is sqrt(0.8 * 0.2 / 100) = 0.04."""
    top = TopLabelPrediction(np.zeros(100, int), np.full(100, 0.8))
    y = np.repeat([0, 1], [80, 20])
    interval = bootstrap_interval(y, top, metric="accuracy", n_resamples=4000, random_state=0)
    assert interval.samples.std() == pytest.approx(0.04, rel=0.05)
    assert interval.lower == pytest.approx(0.8 - 1.96 * 0.04, abs=0.015)
    assert interval.upper == pytest.approx(0.8 + 1.96 * 0.04, abs=0.015)


def test_ece_interval_covers_a_clear_error():
    """Everyone hears 0.9 and 70 % are right: the error is 0.2, far above its floor of 0.012."""
    held = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        y = (random.random(300) >= 0.7).astype(int)
        top = TopLabelPrediction(np.zeros(300, int), np.full(300, 0.9))
        interval = bootstrap_interval(y, top, n_resamples=200, random_state=seed)
        held += interval.lower <= 0.2 <= interval.upper
    assert 52 <= held <= 60


def test_reflection_takes_the_bias_off():
    model = model_of(400, 10, seed=0)
    overconfident = model.proba**1.7 / (model.proba**1.7).sum(axis=1, keepdims=True)
    interval = bootstrap_interval(model.labels, overconfident, n_resamples=300, random_state=0)
    assert interval.samples.mean() > interval.estimate  # noise is added twice
    assert interval.corrected < interval.estimate


def test_paired_difference_of_a_method_with_itself_is_zero():
    model = model_of(100)
    paired = paired_interval(model.labels, model, model, n_resamples=50, random_state=0)
    assert paired.difference == 0.0
    assert not paired.samples.any()
    assert "not distinguishable" in paired.words("A", "B")


def test_paired_is_narrower_than_the_two_apart():
    model = model_of(500, seed=3)
    warmer = model.proba**0.8 / (model.proba**0.8).sum(axis=1, keepdims=True)
    options = {"metric": "brier", "n_resamples": 500, "random_state": 0}
    paired = paired_interval(model.labels, model, warmer, **options)
    alone = bootstrap_interval(model.labels, model, **options)
    assert paired.samples.std() < 0.5 * alone.samples.std()
    assert paired.estimate_b - paired.estimate_a == pytest.approx(paired.difference)
    assert paired.difference == pytest.approx(
        brier_score(model.labels, warmer) - brier_score(model.labels, model)
    )


def test_words_name_the_direction():
    paired = PairedInterval("ece", 0.05, 0.02, -0.03, -0.04, -0.02, 0.95, np.zeros(1))
    assert (
        paired.words("Base", "TL-HB") == "TL-HB is lower than Base by 0.0300 (95 % interval 0.0200 to 0.0400)"
    )


def test_each_method_has_its_strategy():
    model = model_of(200, seed=4)
    rounded = TopLabelPrediction(model.label, np.round(model.confidence, 1))
    paired = paired_interval(
        model.labels, model, rounded, strategy_b="discrete", n_resamples=10, random_state=0
    )
    assert paired.estimate_b == pytest.approx(ece(model.labels, rounded, strategy="discrete"))
    assert len(paired.frame()) == 1


def test_seed_decides_everything():
    model = model_of(80)
    a, b = (bootstrap_interval(model.labels, model, n_resamples=30, random_state=7) for _ in range(2))
    assert np.array_equal(a.samples, b.samples)


def test_errors():
    model = model_of(20)
    with pytest.raises(InputError, match="metric must be ece, mce"):
        bootstrap_interval(model.labels, model, metric="auc")
    with pytest.raises(InputError, match="level must be inside"):
        bootstrap_interval(model.labels, model, level=95, n_resamples=2)
