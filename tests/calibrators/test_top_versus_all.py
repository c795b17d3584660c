"""Top-versus-all against literal losses, closed forms and finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

import calib.calibrators.likelihood
from calib import InputError, TemperatureScaling, TopVersusAllScaling
from calib.calibrators.softmax_fit import fit_words
from tests.populations import drawn


def simulated(n=500, n_classes=4, seed=0, power=1.6):
    random = np.random.default_rng(seed)
    logits = random.normal(0, 1.5, (n, n_classes))
    return softmax(power * logits, axis=1), drawn(softmax(logits, axis=1), random)


def loss(proba, labels, base=None):
    """Mean log loss of the event that the top class (of the base model) is right, row by row."""
    total = 0.0
    for row, label, before in zip(proba, labels, proba if base is None else base, strict=True):
        top = int(before.argmax())
        total -= np.log(row[top] if top == label else 1.0 - row[top])
    return total / len(labels)


def test_temperature_is_the_best_of_a_literal_grid():
    proba, labels = simulated()
    fitted = TemperatureScaling(objective="top_versus_all").fit(proba, labels)

    def at(temperature):
        return loss(softmax(np.log(proba) / temperature, axis=1), labels)

    grid = np.exp(np.linspace(np.log(0.3), np.log(5), 200))
    best = grid[np.argmin([at(temperature) for temperature in grid])]
    assert at(fitted.temperature_) <= at(best) + 1e-12
    assert fitted.temperature_ == pytest.approx(best, rel=0.03)
    assert fitted.temperature_ == pytest.approx(1.6, rel=0.2)


def test_with_two_classes_it_is_temperature_scaling():
    # The log loss of two classes is that of the event that the top one is right.
    proba, labels = simulated(n_classes=2)
    item, other = (
        TemperatureScaling(objective=name).fit(proba, labels) for name in ("log_loss", "top_versus_all")
    )
    assert other.temperature_ == pytest.approx(item.temperature_, rel=1e-5)


def test_one_confidence_is_the_accuracy():
    # Every row says (0.8, 0.1, 0.1) and 60 of 100 are right: T makes the confidence 0.6. By hand
    # (1/8)^b = 1/3, so that T = log 8 / log 3.
    proba = np.tile([0.8, 0.1, 0.1], (100, 1))
    fitted = TemperatureScaling(objective="top_versus_all").fit(proba, [0] * 60 + [1] * 40)
    assert fitted.predict_top(proba[:1]).confidence[0] == pytest.approx(0.6, abs=1e-6)
    assert fitted.temperature_ == pytest.approx(np.log(8) / np.log(3), rel=1e-5)


@pytest.mark.parametrize("l2", [0.1, 0.01])
def test_weights_are_where_the_literal_loss_is_lowest(l2):
    """The slope is 0 by differences, and neither 20 steps at random nor another optimiser get lower."""
    proba, labels = simulated(300)
    fitted = TopVersusAllScaling(l2=l2).fit(proba, labels)

    def at(weights):
        ridge = l2 * np.mean((weights - 1.0) ** 2)
        return loss(softmax(np.log(proba) * weights, axis=1), labels, proba) + ridge

    assert 0.0 <= fitted.loss_gap_ <= 1e-14
    assert fitted.gradient_norm_ < 1e-7
    slopes = [(at(fitted.weights_ + step) - at(fitted.weights_ - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)
    here, random = at(fitted.weights_), np.random.default_rng(0)
    assert min(at(fitted.weights_ + 0.1 * random.normal(size=4)) for _ in range(20)) > here
    assert minimize(at, np.ones(4), method="Powell", options={"maxfev": 300}).fun > here - 1e-7
    np.testing.assert_allclose(
        fitted.predict_proba(proba[:20]), softmax(np.log(proba[:20]) * fitted.weights_, axis=1), rtol=1e-12
    )


def test_an_early_stop_says_how_far_the_minimum_is(monkeypatch):
    """The gap where the last step began, by the literal loss; 400 weights take the same way."""
    proba, labels = simulated(800, 12, 1)
    losses, gaps = [], []
    for steps in (2, 3, 4, 200):
        monkeypatch.setattr(calib.calibrators.likelihood, "NEWTON_STEPS", steps)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = TopVersusAllScaling().fit(proba, labels)
        assert [item.category for item in said] == ([ConvergenceWarning] if fitted.loss_gap_ > 1e-14 else [])
        ridge = 0.1 * np.mean((fitted.weights_ - 1.0) ** 2)
        losses.append(loss(fitted.predict_proba(proba), labels, proba) + ridge)
        gaps.append(fitted.loss_gap_)
    true = np.array(losses[:-1]) - losses[-1]
    near = [step for step in range(2) if 1e-10 < true[step] < 1e-4]
    assert near == [0, 1]
    for step in near:
        assert gaps[step + 1] == pytest.approx(true[step], rel=0.1)
    assert "about" in fit_words(fitted)[0]
    assert TopVersusAllScaling().fit(*simulated(600, 400)).loss_gap_ <= 1e-14


def test_a_heavy_ridge_leaves_the_model_as_it_is():
    proba, labels = simulated()
    np.testing.assert_allclose(TopVersusAllScaling(l2=1e6).fit(proba, labels).weights_, 1.0, atol=1e-4)


def test_it_lowers_the_loss_of_the_confidence_on_new_rows():
    fitted_on, new = simulated(4_000, 6, 1), simulated(4_000, 6, 2)
    for calibrator in (TemperatureScaling(objective="top_versus_all"), TopVersusAllScaling()):
        after = loss(calibrator.fit(*fitted_on).predict_proba(new[0]), new[1])
        assert after < loss(*new) - 0.005


def test_refusals():
    proba, labels = simulated(50)
    with pytest.raises(InputError, match="l2 must be a finite number, 0 or more"):
        TopVersusAllScaling(l2=-1.0).fit(proba, labels)
