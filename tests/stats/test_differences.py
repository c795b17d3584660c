"""Paired differences of calibration errors: equal models, symmetry, coverage and direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from benchmarks.intervals import differences, pair_coverage
from benchmarks.populations import Population, decided, draw_labels, scores
from benchmarks.simulation import means
from calib import (
    InputError,
    Predictions,
    error_interval,
    paired_difference,
)
from tests import oracles


@pytest.mark.parametrize("notion", oracles.NOTIONS)
def test_a_model_does_not_differ_from_itself(notion):
    proba, y = oracles.random_predictions(np.random.default_rng(0), 200, 4, digits=2)
    result = paired_difference(y, proba, proba.copy(), notion=notion)
    assert (result.difference, result.lower, result.upper) == (0.0, 0.0, 0.0)
    assert result.verdict == "not distinguishable"
    assert "not distinguishable" in result.words("A", "B", "l2 TL-ECE")


@pytest.mark.parametrize("notion", oracles.NOTIONS)
@given(seed=st.integers(0, 10**6), n_samples=st.integers(2, 80), n_classes=st.integers(2, 5))
def test_swapping_the_models_turns_the_interval_round(notion, seed, n_samples, n_classes):
    generator = np.random.default_rng(seed)
    a, y = oracles.random_predictions(generator, n_samples, n_classes, digits=2)
    b, _ = oracles.random_predictions(generator, n_samples, n_classes, digits=2)
    item, other = (paired_difference(y, *pair, notion=notion) for pair in ((a, b), (b, a)))
    assert item.lower <= item.difference <= item.upper
    assert (item.lower, item.difference, item.upper) == pytest.approx(
        (-other.upper, -other.difference, -other.lower), abs=1e-12
    )
    opposite = {"lower": "higher", "higher": "lower"}
    assert opposite.get(item.verdict, item.verdict) == other.verdict


def test_models_whose_rows_change_places_do_not_differ():
    """Two rows of a cell swap their scores: the errors are equal and their difference has no variance."""
    proba = np.array([[0.75, 0.25], [0.7, 0.3]])
    result = paired_difference([0, 0], proba, proba[::-1])
    assert result.lower <= 0.0 <= result.upper
    assert np.isfinite([result.lower, result.upper]).all()


@pytest.mark.parametrize("kind", ["perfect, TL-HB with k = 100", "overconfident, TS"])
def test_difference_holds_and_its_direction_is_right(kind):
    """Coverage of 93 % and wrong directions of 2.5 %, each within three standard errors of 200 draws."""
    result = means(differences(kind, 1_000, "top-label"), 200)
    assert result["coverage (95 %)"] >= 0.93 - 3.0 * math.sqrt(0.95 * 0.05 / 200)
    assert result["wrong direction"] <= 0.025 + 3.0 * math.sqrt(0.025 * 0.975 / 200)
    if kind == "overconfident, TS":
        assert result["right direction"] > 0.9


def test_difference_says_what_cannot_be_used():
    proba, y = oracles.random_predictions(np.random.default_rng(0), 20, 3)
    with pytest.raises(InputError, match=r"labels must hold one class code per row.*\(19,\), got \(20,\)"):
        paired_difference(y, proba, proba[1:])
    with pytest.raises(InputError, match="level"):
        paired_difference(y, proba, proba, level=2)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_interval_holds_the_plug_in_difference_which_is_the_truth_where_rows_decide_their_labels(notion):
    """If each row has one possible label, the plug-in squares are the true ones."""
    base = scores(3, 400, 4)
    labels = draw_labels(base, np.random.default_rng(1))
    others = {"uniform": softmax(np.log(base) * 0.7, axis=1), "quantile": base}
    for strategy, other in others.items():
        found = paired_difference(labels, base, other, notion=notion, strategy_b=strategy)
        squares = [
            error_interval(labels, item, notion=notion, strategy=cells, norm=2).observed ** 2
            for item, cells in ((base, "uniform"), (other, strategy))
        ]
        assert found.lower - 1e-9 <= squares[0] - squares[1] <= found.upper + 1e-9


def test_a_model_that_knows_what_another_does_not_has_less_noise_between_rows():
    """100 classes, 3 rows each, on whose labels people agree; b knows the chances, a guesses.

    With one share of noise for both, the interval held the difference in 16 of 100 draws.
    """
    sure = 3.0 * np.eye(100)[np.repeat(np.arange(100), 3)]
    base = softmax(np.random.default_rng(424599603).normal(size=(300, 100)) + sure, axis=1)
    truth = decided(base, 0.8)
    models = (Population(proba, truth, "class-wise") for proba in (base, truth))
    result = means(pair_coverage(*models), 40)
    assert result["coverage (95 %)"] >= 0.93
    assert result["wrong direction"] == 0.0


def test_weights_are_both_models_weights():
    """From labels and scores, and from two sets of labelled predictions."""
    generator = np.random.default_rng(8)
    a, y = oracles.random_predictions(generator, 200, 3)
    b, weights = generator.dirichlet(np.ones(3), 200), generator.random(200)
    expected = paired_difference(y, a, b, sample_weight=weights)
    found = paired_difference(Predictions(a, y), Predictions(b, y), sample_weight=weights)
    assert (found.difference, found.lower, found.upper) == (
        expected.difference,
        expected.lower,
        expected.upper,
    )
    with pytest.raises(InputError, match="same weights"):
        paired_difference(Predictions(a, y, sample_weight=weights), Predictions(b, y))
