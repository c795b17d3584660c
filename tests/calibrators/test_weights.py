"""Weights in calibrators: rows kept, left out and repeated, literal fits, and what cannot have them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, clone

import calib
from calib import HistogramBinning, InputError, MulticlassToBinary
from calib.answers import guarantee_card
from calib.files.saved import dumps, loads

N, L = 300, 3
RANDOM = np.random.default_rng(4)
LOGITS = RANDOM.normal(0, 1.5, (N, L))
PROBA = softmax(1.6 * LOGITS, axis=1)
Y = (softmax(LOGITS, axis=1).cumsum(axis=1) < RANDOM.random((N, 1))).sum(axis=1).clip(max=L - 1)
WEIGHTS = RANDOM.integers(0, 4, N)
SCALINGS = {
    "TS": calib.TemperatureScaling(),
    "TS-grid": calib.TemperatureScaling(objective="conf_ece"),
    "TS-TvA": calib.TemperatureScaling(objective="top_versus_all"),
    "VS": calib.VectorScaling(l2=0.01),
    "DS": calib.DirichletScaling(l2=0.01),
    "ETS": calib.EnsembleTemperatureScaling(),
    "ETS-brier": calib.EnsembleTemperatureScaling(objective="brier"),
    "TvA": calib.TopVersusAllScaling(),
}
#: Fits that look at the number of rows, besides their weight: repeated rows are more rows.
BY_ROWS = {
    "SVS": calib.StructuredVectorScaling(),
    "SMS": calib.StructuredMatrixScaling(),
    "VS-cv": calib.VectorScaling(l2="cv"),
    "CW-Platt": MulticlassToBinary(calib.PlattScaling(), notion="class-wise"),
    "CW-spline": MulticlassToBinary(calib.SplineCalibration(), notion="class-wise"),
    "CW-HB": MulticlassToBinary(HistogramBinning(points_per_bin=20), notion="class-wise"),
    "pooled-HB": MulticlassToBinary(
        HistogramBinning(points_per_bin=120), fallback="pooled", complete="rescale"
    ),
}
BY_WEIGHT = SCALINGS | {
    "CW-isotonic": MulticlassToBinary(calib.IsotonicCalibration(), notion="class-wise"),
    "CW-beta": MulticlassToBinary(calib.BetaCalibration(), notion="class-wise"),
}


def predicted(calibrator, rows=slice(None), **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calib.TooManyParametersWarning)
        return clone(calibrator).fit(PROBA[rows], Y[rows], **weights).predict_proba(PROBA)


@pytest.mark.parametrize("name", BY_WEIGHT | BY_ROWS)
def test_weights_of_1_and_0_are_rows_kept_and_left_out_bit_for_bit(name):
    calibrator = (BY_WEIGHT | BY_ROWS)[name]
    plain = predicted(calibrator)
    np.testing.assert_array_equal(predicted(calibrator, sample_weight=np.full(N, 7)), plain)
    kept = WEIGHTS > 0
    np.testing.assert_array_equal(predicted(calibrator, sample_weight=kept), predicted(calibrator, kept))
    weighted = predicted(calibrator, sample_weight=WEIGHTS)
    scaled = predicted(calibrator, sample_weight=WEIGHTS * 1e-9)
    np.testing.assert_allclose(scaled, weighted, rtol=1e-6, atol=1e-8)
    if name != "TS-grid":  # it may choose the same temperature
        assert np.abs(weighted - predicted(calibrator, kept)).max() > 1e-4


@pytest.mark.parametrize("name", BY_WEIGHT)
def test_whole_weights_are_repeated_rows(name):
    repeated = predicted(BY_WEIGHT[name], np.repeat(np.arange(N), WEIGHTS))
    np.testing.assert_allclose(predicted(BY_WEIGHT[name], sample_weight=WEIGHTS), repeated, atol=2e-6)


def test_bins_hold_as_many_points_and_predict_weighted_means():
    score, right, weights = PROBA[:, 0], Y == 0, WEIGHTS + 0.5
    plain = HistogramBinning(points_per_bin=30).fit(score, right)
    found = HistogramBinning(points_per_bin=30).fit(score, right, sample_weight=weights)
    assert found.counts_.tolist() == plain.counts_.tolist()
    np.testing.assert_array_equal(found.edges_, plain.edges_)
    order = np.argsort(score)
    for rows, value, effective in zip(
        np.split(order, np.cumsum(found.counts_)[:-1]), found.values_, found.effective_, strict=True
    ):
        rows = rows[1:] if rows[0] != order[0] else rows  # the first is the edge of its bin
        total = weights[rows].sum()
        assert value == pytest.approx(weights[rows] @ right[rows] / total, abs=1e-12)
        assert effective == pytest.approx(total**2 / (weights[rows] ** 2).sum())
    assert plain.effective_ is None


def test_platt_minimises_the_weighted_log_loss_of_its_targets():
    score, right = PROBA[:, 0], Y == 0
    kept = WEIGHTS > 0
    weights = WEIGHTS[kept] / WEIGHTS[kept].mean()
    ones, zeros = weights @ right[kept], weights @ ~right[kept]
    target = np.where(right[kept], (ones + 1) / (ones + 2), 1 / (zeros + 2))
    odds = np.log(score[kept]) - np.log1p(-score[kept])

    def loss(theta):
        z = theta[0] * odds + theta[1]
        return weights @ (np.logaddexp(0, z) - target * z) / len(z)

    slope, intercept = minimize(loss, [1.0, 0.0], tol=1e-12).x
    fitted = calib.PlattScaling().fit(score, right, sample_weight=WEIGHTS)
    expected = expit(slope * (np.log(score) - np.log1p(-score)) + intercept)
    np.testing.assert_allclose(fitted.predict(score), expected, atol=1e-5)


def test_diagonal_fit_ends_where_the_weighted_gradient_is_zero():
    """The gradient of the weighted mean log loss and ridge, written out, at the fitted vector scaling."""
    fitted = calib.VectorScaling(l2=0.05).fit(PROBA, Y, sample_weight=WEIGHTS)
    x = np.log(PROBA[:, :-1]) - np.log(PROBA[:, -1:])
    weights = WEIGHTS / WEIGHTS.sum()
    z = np.column_stack([x * fitted.weights_ + fitted.biases_, np.zeros(N)])
    residual = (softmax(z, axis=1) - np.eye(L)[Y])[:, :-1] * weights[:, None]
    mean = weights @ x
    shift = fitted.biases_ + (fitted.weights_ - 1) * mean
    of_bias = residual.sum(axis=0) + 0.05 * shift
    of_weight = (residual * x).sum(axis=0) + 0.05 * (fitted.weights_ - 1 + shift * mean)
    np.testing.assert_allclose(np.append(of_bias, of_weight), 0.0, atol=1e-7)


def test_a_guarantee_is_void_with_weights_and_the_card_and_the_file_say_so():
    model = MulticlassToBinary(HistogramBinning(points_per_bin=20))
    assert guarantee_card(model.fit(PROBA, Y)).applies
    assert b"effective_" not in dumps(model)
    card = guarantee_card(model.fit(PROBA, Y, sample_weight=WEIGHTS + 1.0))
    assert not card.applies
    assert card.words().startswith("No guarantee: calibration rows have different weights")
    loaded = loads(dumps(model))
    assert guarantee_card(loaded).words() == card.words()
    np.testing.assert_array_equal(loaded.predict_top(PROBA).confidence, model.predict_top(PROBA).confidence)
    by_class = np.array([1.0, 5.0, 2.0])[PROBA.argmax(axis=1)]  # rows of a problem count alike
    assert guarantee_card(model.fit(PROBA, Y, sample_weight=by_class)).applies
    by_class[PROBA.argmax(axis=1) == 1] *= RANDOM.random(N)[PROBA.argmax(axis=1) == 1]
    card = guarantee_card(model.fit(PROBA, Y, sample_weight=by_class))
    assert card.void.tolist() == [False, True, False]
    assert "For 1 of 3 problems calibration rows have different weights" in card.words()


class NoWeights(BaseEstimator):
    """A binary calibrator of a user's own, which knows no weights."""

    def fit(self, scores, outcomes):
        self.mean_ = float(np.mean(outcomes))
        return self

    def predict(self, scores):
        return np.full(len(scores), self.mean_)


def test_what_has_no_weights_says_so():
    with pytest.raises(InputError, match="Venn-Abers calibration cannot use sample_weight"):
        MulticlassToBinary(calib.VennAbersCalibration()).fit(PROBA, Y, sample_weight=WEIGHTS)
    with pytest.raises(InputError, match="NoWeights cannot use sample_weight"):
        MulticlassToBinary(NoWeights()).fit(PROBA, Y, sample_weight=WEIGHTS)
    MulticlassToBinary(NoWeights()).fit(PROBA, Y)
    with pytest.raises(InputError, match="0 or more"):
        calib.TemperatureScaling().fit(PROBA, Y, sample_weight=-np.ones(N))
