"""Weights in summary, gate, leaderboard and advice: every number is that of the weighted metric."""

import numpy as np
import pytest

import calib
from calib import MulticlassToBinary, Predictions
from calib.answers.advice import recommend
from calib.answers.calibrated import fit_on
from calib.answers.gate import gate
from calib.answers.metric_tables import metric_intervals
from calib.evidence.rows import as_evidence
from calib.stats.bootstrap import paired_intervals_of
from tests.populations import dirichlet

DATA = dirichlet(500, 3, seed=1, sharpen=2.0)
Y = DATA.labels
WEIGHTS = np.where(np.arange(500) % 4 == 0, 0.0, np.random.default_rng(0).exponential(size=500))
METHODS = {
    "TS": calib.TemperatureScaling(),
    "Platt": MulticlassToBinary(calib.PlattScaling(), complete="rescale"),
    "VA": MulticlassToBinary(calib.VennAbersCalibration()),
}


def test_intervals_of_metrics_are_weighted():
    options = {"n_bins": 5, "sample_weight": WEIGHTS}
    found = calib.metrics(Y, DATA, **options)
    ends = metric_intervals(as_evidence(Y, DATA, WEIGHTS), found)
    interval = calib.error_interval(Y, DATA, **options)
    assert ends["tl_ece"] == pytest.approx((interval.lower, interval.upper))
    assert ends["accuracy"][0] < found.accuracy < ends["accuracy"][1]


def test_gate_decides_by_the_weighted_interval():
    options = {"n_bins": 5, "sample_weight": WEIGHTS}
    interval = calib.error_interval(Y, DATA, **options)
    found = gate(Y, DATA, most={"tl_ece": interval.upper + 1e-9}, n_resamples=50, **options)
    (check,) = found.checks
    assert check.answer == "kept"
    assert check.value == pytest.approx(calib.ece(Y, DATA, **options))
    assert check.perfect_mean == calib.noise_floor(Y, DATA, n_resamples=50, random_state=0, **options).mean
    assert gate(Y, DATA, most={"tl_ece": interval.lower / 2}, n_resamples=0, **options).answer == "broken"


def test_leaderboard_fits_and_ranks_with_weights():
    calibration, evaluation = dirichlet(400, 3, seed=2, sharpen=2.0), DATA
    weights = np.random.default_rng(3).exponential(size=400)
    pair = calibration.with_weights(weights), evaluation.with_weights(WEIGHTS).with_labels(Y)
    board = calib.compare_models({"a": pair}, METHODS, n_bins=5, n_resamples=5)
    by_name = {entry.method: entry for entry in board.entries}
    assert "cannot use sample_weight" in by_name["VA"].failure
    fitted = calib.TemperatureScaling().fit(calibration, calibration.labels, sample_weight=weights)
    proba = fitted.predict_proba(evaluation)
    expected = calib.brier_score(Y, proba, sample_weight=WEIGHTS)
    assert by_name["TS"].metrics.brier == pytest.approx(expected)
    gain = calib.brier_score(Y, DATA, sample_weight=WEIGHTS) - expected
    assert board.improvements["a, TS"]["brier"].value == pytest.approx(gain)
    scores = [
        np.average(entry.row_values["brier"], weights=WEIGHTS[WEIGHTS > 0]) if entry.row_values else np.inf
        for entry in board.ranked
    ]
    assert scores == sorted(scores)
    assert board.best["Brier improvement"].any()


def test_recommendation_is_that_of_weighted_losses():
    """Where the rows of weight are calibrated and the others are not, there is nothing to repair."""
    truth, off = dirichlet(400, 3, seed=4), dirichlet(400, 3, seed=5, sharpen=4.0)
    both = Predictions(np.concatenate([truth.proba, off.proba]))
    y = np.concatenate([truth.labels, off.labels])
    methods = {name: METHODS[name] for name in ("TS", "VA")}
    assert recommend(both, y, methods=methods).name != "none"
    found = recommend(both, y, methods=methods, sample_weight=np.repeat([1.0, 1e-6], 400))
    assert found.name == "none"
    kept = recommend(both, y, methods={"TS": METHODS["TS"]}, sample_weight=np.repeat([1.0, 0.0], 400))
    alone = recommend(truth, truth.labels, methods={"TS": METHODS["TS"]})
    assert kept.table.equals(alone.table)
    found = recommend(both, y, methods=methods, sample_weight=np.arange(800) % 3 + 1.0)
    assert "sample_weight" in found.left_out["VA"]


def test_standard_errors_of_weighted_differences_match_draws():
    """Of 500 draws of rows with weights, the differences of weighted means spread as stated."""
    random, differences, widths = np.random.default_rng(6), [], []
    for _ in range(300):
        weights = random.exponential(size=200)
        losses = random.normal(size=(2, 200)) + [[0.0], [0.3]]
        rows = calib.ConfidencePrediction(np.linspace(0.1, 0.9, 200), np.arange(200) % 2 == 0)
        evidence = as_evidence(rows.with_weights(weights))
        (found,) = paired_intervals_of(losses[0], losses[1:], "brier", evidence)
        differences.append(found.difference)
        widths.append(found.upper - found.lower)
    assert 2.0 * 1.96 * np.std(differences) == pytest.approx(np.mean(widths), rel=0.12)


def test_binary_calibrators_are_fitted_without_rows_of_weight_0():
    tops = calib.ConfidencePrediction(DATA.proba.max(axis=1)).with_labels(DATA.proba.argmax(axis=1) == Y)
    fitted = fit_on(calib.PlattScaling(), tops.with_weights(WEIGHTS))
    expected = calib.PlattScaling().fit(tops.confidence, tops.truth, WEIGHTS)
    assert [fitted.slope_, fitted.intercept_] == pytest.approx(
        [expected.slope_, expected.intercept_], rel=1e-9
    )
