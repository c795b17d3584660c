"""The conclusion: what it says is right together at its level, and it says it in plain words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    Predictions,
    TopLabelPrediction,
    conclude,
    noise_floor,
)
from calib.answers.conclusion import Gap
from tests.populations import population

NAMES = ["cat", "dog", "hen"]


def simulated(random, n, wrong):
    """Rows of three predicted classes; chances to be right are off by `wrong` of the class."""
    label, confidence = random.integers(0, 3, n), random.uniform(0.4, 0.95, n)
    chance = np.clip(confidence + np.asarray(wrong)[label], 0.0, 1.0)
    labels = np.where(random.random(n) < chance, label, (label + 1) % 3)
    return labels, TopLabelPrediction(label, confidence), chance


@pytest.mark.parametrize("wrong", [(0.0, 0.0, 0.0), (0.05, -0.3, 0.2)])
def test_all_statements_are_right_together(wrong):
    """True mean gaps of every range named lie in its interval, in at least 95 of 100 draws."""
    random, failures, said = np.random.default_rng(0), 0, 0
    for _ in range(200):
        labels, top, chance = simulated(random, 400, wrong)
        conclusion = conclude(labels, top)
        false = False
        for gap in (*conclusion.pooled, *conclusion.classes):
            inside = (top.confidence >= gap.lower) & (top.confidence < gap.upper)
            inside &= True if gap.label is None else top.label == gap.label
            assert inside.sum() == gap.count
            true = (top.confidence - chance)[inside].mean()
            false |= not gap.least <= true <= gap.most
            said += 1
        failures += false
    assert failures <= 10  # of 200: 5 %
    if any(wrong):
        assert said > 200
    else:
        assert said <= 10  # with a perfect model every statement is a failure


def test_interval_is_that_of_the_stated_level_by_hand():
    """One score per row, 0.8 for 100 rows of which 60 are right: one range, which takes all of alpha."""
    rows = ConfidencePrediction(np.full(100, 0.8), np.arange(100) < 60)
    conclusion = conclude(rows.labels, rows)
    assert conclusion.n_ranges == 1
    (gap,) = conclusion.pooled
    exact = binomtest(60, 100).proportion_ci(0.95, method="exact")
    assert (gap.least, gap.most) == pytest.approx((0.8 - exact.high, 0.8 - exact.low))
    assert (gap.lower, gap.upper, gap.bin, gap.count) == (0.0, 1.0, 12, 100)
    assert conclusion.words() == (
        "By the labels in this file the model is overconfident by 20.0 points (10.3 to 30.3)."
    )
    assert conclusion.direction == "overconfident"


def test_ranges_are_those_with_rows():
    """Scores in bins 6 and 12 of 15: all of them, those from bin 12 on, those below bin 7."""
    rows = ConfidencePrediction([0.42] * 500 + [0.82] * 500, [True] * 210 + [False] * 290 + [True] * 500)
    conclusion = conclude(rows.labels, rows)
    assert conclusion.n_ranges == 3
    (gap,) = conclusion.pooled
    assert (gap.lower, gap.upper) == (12 / 15, 1.0)
    assert gap.range_words() == "above 0.8"
    assert conclusion.direction == "underconfident"
    assert gap.right - gap.says == pytest.approx(0.18)


def test_directions_that_differ_are_both_said():
    random = np.random.default_rng(1)
    confidence = np.repeat([0.45, 0.95], 2000)
    right = random.random(4000) < np.repeat([0.6, 0.8], 2000)
    pooled = conclude(right, ConfidencePrediction(confidence, right)).pooled
    assert {(gap.direction, gap.range_words()) for gap in pooled} == {
        ("overconfident", "above 0.93"), ("underconfident", "below 0.47"),
    }  # fmt: skip
    labels, top, _ = simulated(random, 4000, (0.0, 0.2, -0.2))
    conclusion = conclude(labels, top)
    assert {(gap.label, gap.direction) for gap in conclusion.classes} == {
        (1, "underconfident"), (2, "overconfident"),
    }  # fmt: skip
    assert conclusion.n_others == 1
    labels, top, _ = simulated(random, 4000, (0.05, -0.2, -0.2))
    conclusion = conclude(labels, top)
    assert (conclusion.direction, conclusion.n_others) == ("overconfident", None)


def test_one_bad_class_is_named_alone():
    """Ten classes of 400 rows at 0.8: one is right in 40 %, the others in 80 %; one of 20 rows never."""
    predicted = np.repeat(np.arange(11), [400] * 10 + [20])
    right = np.concatenate(
        [np.arange(400) % 10 < (4 if code == 3 else 8) for code in range(10)] + [np.zeros(20, bool)]
    )
    top = TopLabelPrediction(predicted, np.full(4020, 0.8), np.where(right, predicted, (predicted + 1) % 11))
    conclusion = conclude(top.labels, top)
    assert (conclusion.headline, conclusion.n_named, conclusion.n_others) == ([3], 1, 10)
    assert [gap.label for gap in conclusion.classes] == [3]  # 20 rows are too few to be named
    assert conclusion.words(list("abcdefghijk")).startswith(
        "By the labels in this file the model claims 40.0 points too much ("
    )
    assert conclusion.words(list("abcdefghijk")).endswith(
        " where it predicts d; nothing was found in the 10 other predicted classes together."
    )


def test_nothing_is_said_of_noise_but_what_noise_allows():
    proba, labels = population(300, 3)
    conclusion = conclude(labels, proba)
    assert conclusion.direction == "not distinguishable"
    assert conclusion.frame().empty
    assert conclusion.words() == "No range of the confidence stands out among 300 rows."
    floor = noise_floor(labels, proba, notion="top-label", random_state=0)
    assert "not distinguishable from noise" in conclusion.words(NAMES, floor)


def test_a_hundred_classes_far_too_modest():
    """The direction at a conf-ECE of about 0.35 is said, not only its size."""
    proba, labels = population(3000, 100, spread=9.0)
    modest = Predictions(proba**0.25 / (proba**0.25).sum(axis=1, keepdims=True), labels)
    assert conclude(labels, modest).direction == "underconfident"


def test_scores_of_an_event_are_too_high_or_too_low():
    rows = BinaryPrediction(np.full(200, 0.7), np.arange(200) < 60, ("no", "yes"))
    for scores in (rows, rows.score):
        (gap,) = conclude(rows.labels, scores).pooled
        assert (gap.direction, gap.says - gap.right) == ("overconfident", pytest.approx(0.4))
    assert "the score is too high by 40.0 points" in conclude(rows.labels, rows).words()


def test_weights_change_what_is_said_and_equal_ones_nothing():
    rows = ConfidencePrediction(np.full(400, 0.5), np.arange(400) < 200)
    assert not conclude(rows.labels, rows).pooled
    weights = np.where(np.arange(400) < 200, 1.0, 3.0)
    (gap,) = conclude(rows.labels, rows, sample_weight=weights).pooled
    assert gap.right == pytest.approx(0.25)
    # Hoeffding (1963) of 400^2 / (200 + 9 * 200) / ... effective rows, alpha 0.05 for the one range
    effective = weights.sum() ** 2 / (weights**2).sum()
    reach = np.sqrt(np.log(2 / 0.05) / (2 * effective))
    assert (gap.least, gap.most) == pytest.approx((0.25 - reach, 0.25 + reach))
    same = conclude(rows.labels, rows, sample_weight=np.full(400, 7.0))
    assert same.frame().equals(conclude(rows.labels, rows).frame())


def test_arguments_are_checked():
    rows = ConfidencePrediction([0.5, 0.6], [True, False])
    with pytest.raises(InputError, match="n_bins"):
        conclude(rows.labels, rows, n_bins=0)
    with pytest.raises(InputError, match="level"):
        conclude(rows.labels, rows, level=1.0)


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ((0.75, 0.7232, 0.012, 0.041), "by 2.7 points (1.2 to 4.1)"),
        ((0.70048, 0.7, 0.00044, 0.00052), "by 0.0480 points (0.0440 to 0.0520)"),
        ((0.7, 0.7272, -0.041, -0.00003), "by 2.7 points (0.003 to 4.1)"),
    ],
)
def test_sizes_have_the_digits_that_tell_them_from_nothing(gap, said):
    says, right, least, most = gap
    assert Gap(None, 0.0, 1.0, 0, 100, says, right, least, most).size_words() == said
