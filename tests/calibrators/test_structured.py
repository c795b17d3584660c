"""Structured and ensemble scalings against the authors' numbers and literal implementations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib import (
    EnsembleTemperatureScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.calibrators.test_scaling import mean_log_loss, simulated, steepest

STRUCTURED = [StructuredVectorScaling, StructuredMatrixScaling]

# probmetrics 1.3.0, calibrators "svs" and "sms" on simulated(n=60, n_classes=3, seed=5), first three rows,
# with torchmin.minimize(loss, start.double(), method="newton-exact", options={"xtol": 1e-16}) in the place
# of its BFGS, and logits not rounded to float32. As shipped it stops earlier: 3e-5 (svs) and 1.4e-4 (sms)
# away.
AUTHORS = {
    StructuredVectorScaling: [
        [0.3379327, 0.1094422, 0.5526251],
        [0.2583446, 0.6495088, 0.0921465],
        [0.1488634, 0.0721596, 0.7789770],
    ],
    StructuredMatrixScaling: [
        [0.3465721, 0.1095557, 0.5438722],
        [0.2534390, 0.6525799, 0.0939810],
        [0.1540916, 0.0717395, 0.7741689],
    ],
}


@pytest.mark.parametrize("scaling", STRUCTURED)
def test_authors_code_says_the_same(scaling):
    proba, labels = simulated(n=60, n_classes=3, seed=5)
    np.testing.assert_allclose(
        scaling().fit(proba, labels).predict_proba(proba[:3]), AUTHORS[scaling], atol=2e-7
    )


@pytest.mark.parametrize("scaling", STRUCTURED)
def test_structured_scaling_is_what_is_documented(scaling):
    proba, labels = simulated(n=200)
    strengths = {"lambda_intercept": 0.5, "lambda_diagonal": 2.0}
    strengths |= {"lambda_off_diagonal": 0.1} if scaling is StructuredMatrixScaling else {}
    fitted = scaling(**strengths).fit(proba, labels)
    temperature = TemperatureScaling().fit(proba, labels).temperature_
    assert fitted.temperature_ == temperature
    q = softmax(np.log(proba) / temperature, axis=1)
    x = np.log((200 * q + 1 / 4) / 201)

    def full(weights):
        return weights if weights.shape[1] == 4 else np.diag(weights[:, 0])

    def loss(weights, biases):
        matrix = full(weights)
        off = matrix[~np.eye(4, dtype=bool)]
        penalty = 4 / 200 * (0.5 * (biases**2).sum() + 2.0 * ((np.diag(matrix) - 1) ** 2).sum())
        penalty += 4 * 3 / 200 * 0.1 * (off**2).sum()
        log_q = log_softmax(x @ matrix.T + biases, axis=1)
        return -log_q[np.arange(200), labels].mean() + penalty

    weights = fitted.weights_.reshape(4, -1)
    assert steepest(loss, weights, fitted.biases_) < 1e-8
    literal = softmax(x @ full(weights).T + fitted.biases_, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(proba), literal, rtol=1e-12)


@pytest.mark.parametrize("scaling", STRUCTURED)
def test_order_of_classes_does_not_matter(scaling):
    """Unlike in vector scaling, whose last class is the reference."""
    proba, labels = simulated(n=300)
    order = np.array([3, 1, 0, 2])
    new = np.argsort(order)[labels]

    def change(item):
        before = item().fit(proba, labels).predict_proba(proba)
        return np.abs(
            item().fit(proba[:, order], new).predict_proba(proba[:, order]) - before[:, order]
        ).max()

    assert change(scaling) < 1e-10
    assert change(VectorScaling) > 1e-3


@pytest.mark.parametrize("scaling", STRUCTURED)
def test_strong_penalty_leaves_smoothed_temperature_scaling(scaling):
    proba, labels = simulated(n=200)
    strengths = dict.fromkeys(scaling().get_params(), 1e9)
    tempered = TemperatureScaling().fit(proba, labels).predict_proba(proba)
    said = scaling(**strengths).fit(proba, labels).predict_proba(proba)
    np.testing.assert_allclose(said, (200 * tempered + 1 / 4) / 201, atol=1e-7)


def test_many_parameters_are_held_and_not_warned_of():
    proba, labels = simulated(n=100, n_classes=20)
    fitted = StructuredMatrixScaling().fit(proba, labels)
    new, truth = simulated(n=3000, n_classes=20, seed=1)
    assert mean_log_loss(fitted.predict_proba(new), truth) < mean_log_loss(new, truth)


def literal_mixture(weights, fitted, proba):
    parts = (
        softmax(np.log(proba) / fitted.temperature_, axis=1),
        proba,
        np.full(proba.shape, 1 / proba.shape[1]),
    )
    return sum(weight * part for weight, part in zip(weights, parts, strict=True))


@pytest.mark.parametrize("objective", ["log_loss", "brier"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # of SciPy 1.14
def test_ensemble_weights_are_the_best(objective, noise):
    """Against SLSQP on the same three parts, with weights inside the simplex and at its edge."""
    proba, labels = simulated(n=600, n_classes=3, sharpen=2.5)
    random = np.random.default_rng(2)
    wrong = random.random(600) < noise
    labels = np.where(wrong, random.integers(0, 3, 600), labels)
    fitted = EnsembleTemperatureScaling(objective=objective).fit(proba, labels)
    one_hot = np.eye(3)[labels]

    def loss(weights):
        mixed = literal_mixture(weights, fitted, proba)
        return (
            mean_log_loss(mixed, labels)
            if objective == "log_loss"
            else ((mixed - one_hot) ** 2).sum(1).mean()
        )

    peer = minimize(
        loss,
        [0.4, 0.3, 0.3],
        method="SLSQP",
        bounds=[(1e-9, 1)] * 3,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert fitted.mixture_.sum() == pytest.approx(1.0)
    assert fitted.mixture_.min() >= 0.0
    assert loss(fitted.mixture_) <= peer.fun + 1e-9
    np.testing.assert_allclose(
        fitted.predict_proba(proba), literal_mixture(fitted.mixture_, fitted, proba), rtol=1e-9
    )


def test_ensemble_finds_the_uniform_part():
    """Labels from 0.8 p + 0.2 / L: with T near 1, the mixture is found."""
    random = np.random.default_rng(0)
    proba, _ = simulated(n=40_000, n_classes=5, sharpen=2.0)
    mixed = 0.8 * proba + 0.2 / 5
    labels = (mixed.cumsum(axis=1) < random.random((40_000, 1))).sum(axis=1).clip(max=4)
    fitted = EnsembleTemperatureScaling().fit(proba, labels)
    assert np.abs(fitted.predict_proba(proba) - mixed).mean() < 0.02
    assert fitted.mixture_[2] == pytest.approx(0.2, abs=0.07)


def test_brier_temperature_is_the_best_of_a_fine_grid():
    proba, labels = simulated(n=500)
    fitted = EnsembleTemperatureScaling(objective="brier").fit(proba, labels)

    def brier(temperature):
        return ((softmax(np.log(proba) / temperature, axis=1) - np.eye(4)[labels]) ** 2).sum(axis=1).mean()

    assert brier(fitted.temperature_) <= min(brier(t) for t in np.geomspace(0.2, 20, 400)) + 1e-12


def test_ensemble_keeps_the_predicted_class():
    proba, labels = simulated(n=400)
    fitted = EnsembleTemperatureScaling().fit(proba, labels)
    np.testing.assert_array_equal(fitted.predict(proba), proba.argmax(axis=1))
    top = fitted.predict_top(proba)
    np.testing.assert_array_equal(top.label, proba.argmax(axis=1))
    np.testing.assert_array_equal(top.confidence, fitted.predict_proba(proba).max(axis=1))
