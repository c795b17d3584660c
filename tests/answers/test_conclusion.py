"""The conclusion: what it says is right together at its level, and it says it in plain words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    Predictions,
    TopLabelPrediction,
    conclude,
)
from calib.answers.conclusion import Gap
from calib.scale import summarize
from tests.populations import dirichlet, population

NAMES = ["cat", "dog", "hen"]


def simulated(random, n, wrong):
    """Rows of three predicted classes; chances to be right are off by `wrong` of the class."""
    label, confidence = random.integers(0, 3, n), random.uniform(0.4, 0.95, n)
    chance = np.clip(confidence + np.asarray(wrong)[label], 0.0, 1.0)
    labels = np.where(random.random(n) < chance, label, (label + 1) % 3)
    return labels, TopLabelPrediction(label, confidence), chance


DRAWS = {"n_resamples": 50}


@pytest.mark.parametrize("wrong", [(0.0, 0.0, 0.0), (0.05, -0.3, 0.2)])
def test_statements_are_right_together(wrong):
    """The true mean gap of every range, and the largest of all, lie inside, in at least 95 of 100 draws."""
    random, failures, said = np.random.default_rng(0), 0, 0
    for _ in range(100):
        labels, top, chance = simulated(random, 400, wrong)
        conclusion = conclude(labels, top, **DRAWS)
        away = (top.confidence - chance) * 100.0
        largest = max(abs(away[top.label == code].mean()) for code in range(3))
        false = not conclusion.at_least <= max(largest, conclusion.at_least * bool(conclusion.pooled))
        false |= largest > conclusion.at_most
        for gap in conclusion.pooled:
            inside = (top.confidence >= gap.lower) & (top.confidence < gap.upper)
            assert inside.sum() == gap.count
            false |= not gap.least <= away[inside].mean() / 100.0 <= gap.most
        said += conclusion.rejected
        failures += false
    assert failures <= 8  # of 100: 5 %, standard error 2.2 %
    assert said > 90 if any(wrong) else said <= 10


def test_interval_is_that_of_the_stated_level_by_hand():
    """One score per row, 0.8 for 100 rows of which 60 are right: one range, which takes all of alpha."""
    rows = ConfidencePrediction(np.full(100, 0.8), np.arange(100) < 60)
    conclusion = conclude(rows)
    assert conclusion.n_ranges == 1
    (gap,) = conclusion.pooled
    exact = binomtest(60, 100).proportion_ci(0.95, method="exact")
    assert (gap.least, gap.most) == pytest.approx((0.8 - exact.high, 0.8 - exact.low))
    assert (gap.lower, gap.upper, gap.count) == (0.0, 1.0, 100)
    assert (conclusion.at_least, conclusion.at_most) == pytest.approx((100 * gap.least, 100 * gap.most))
    assert (conclusion.direction, conclusion.guilty, conclusion.by_class) == ("overconfident", (), None)


def test_single_and_combined_tests_never_contradict_the_sentence():
    """A range that stands out by itself is not stated if all tests together find nothing."""
    found = []
    for seed in range(40):
        conclusion = conclude(dirichlet(1000, seed=seed, sharpen=1.15), **DRAWS)
        stated = bool(conclusion.pooled or conclusion.classes)
        assert conclusion.rejected == (conclusion.combined.p_value <= 0.05)
        assert conclusion.rejected or not stated
        assert (conclusion.direction == "not distinguishable") != conclusion.rejected
        assert ("not distinguishable from noise" in conclusion.words()) != conclusion.rejected
        found.append(conclusion.rejected)
    assert 0 < sum(found) < 40


def test_both_ends_are_compared_with_a_tolerance():
    rows = ConfidencePrediction(np.full(100, 0.8), np.arange(100) < 60)
    verdicts = {points: conclude(rows, tolerance=points).verdict for points in (5, 20, 40)}
    assert verdicts == {5: "beyond", 20: "undecided", 40: "within"}
    assert conclude(rows).verdict is None
    with pytest.raises(InputError, match="must be percentage points, 0.1 to 100.*got 0.02"):
        conclude(rows, tolerance=0.02)


def test_small_gaps_of_many_rows_are_said_to_be_small():
    random = np.random.default_rng(0)
    confidence = np.round(random.uniform(0.8, 1.0, 300_000), 2)
    rows = ConfidencePrediction(confidence, random.random(300_000) < confidence - 0.006)
    conclusion = conclude(rows, tolerance=2, **DRAWS)
    assert (conclusion.direction, conclusion.verdict) == ("overconfident", "within")
    assert conclusion.at_most < 1.5


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


def test_the_guilty_class_is_named():
    """Ten classes of 400 rows at 0.8: one is right in 40 %, the others in 80 %."""
    predicted = np.repeat(np.arange(10), 400)
    right = np.concatenate([np.arange(400) % 10 < (4 if code == 3 else 8) for code in range(10)])
    top = TopLabelPrediction(predicted, np.full(4000, 0.8), np.where(right, predicted, (predicted + 1) % 10))
    conclusion = conclude(top)
    assert conclusion.guilty == conclusion.named == (3,)
    (gap,) = conclusion.classes
    # the coverage of one discovery among ten classes, by Clopper and Pearson
    exact = binomtest(160, 400).proportion_ci(1 - 0.05 / 10, method="exact")
    assert (gap.says, gap.right) == pytest.approx((0.8, 0.4))
    assert (gap.least, gap.most) == pytest.approx((0.8 - exact.high, 0.8 - exact.low))
    assert conclusion.order[0] == 3
    words = conclusion.words(list("abcdefghij"))
    assert words.startswith("When the model predicts d it is right 40.0 points less often than it says")


def test_classes_are_judged_by_how_often_they_are_right_with_weights_and_clusters():
    random = np.random.default_rng(3)
    labels, top, _ = simulated(random, 900, (0.0, 0.0, -0.3))
    patient = np.arange(900) // 3
    one_each = conclude(labels, top, cluster=patient).by_class
    alone = conclude(labels, top).by_class
    assert np.all(one_each.upper - one_each.lower > 0.0)
    assert not np.allclose(one_each.p, alone.p)
    weights = np.where(top.label == 2, 2.0, 1.0)
    weighted = conclude(labels, top, sample_weight=weights).by_class
    # equal weights inside a class change nothing about it
    np.testing.assert_allclose(np.sort(weighted.gap), np.sort(alone.gap))
    np.testing.assert_allclose(np.sort(weighted.p), np.sort(alone.p), rtol=1e-6)


def test_a_summary_names_the_classes_of_its_rows(tmp_path):
    labels, top, _ = simulated(np.random.default_rng(4), 3000, (0.0, 0.2, -0.2))
    table = pd.DataFrame({"predicted": top.label, "confidence": top.confidence, "label": labels})
    table.to_csv(tmp_path / "rows.csv", index=False)
    summary = summarize([tmp_path / "rows.csv"])
    found, expected = conclude(summary), conclude(labels, top)
    assert found.guilty == expected.guilty
    np.testing.assert_allclose(found.by_class.p, expected.by_class.p, rtol=1e-6)


def test_nothing_is_said_of_noise_but_what_noise_allows():
    proba, labels = population(300, 3)
    conclusion = conclude(labels, proba)
    assert (conclusion.direction, conclusion.guilty) == ("not distinguishable", ())
    assert conclusion.frame().empty
    assert conclusion.at_least == 0.0
    assert 0.0 < conclusion.at_most < 30.0


def test_without_redraws_ranges_and_classes_decide():
    labels, top, _ = simulated(np.random.default_rng(4), 3000, (0.0, 0.2, -0.2))
    conclusion = conclude(labels, top, n_resamples=0)
    assert (conclusion.combined.n_tests, conclusion.tests.floors) == (2, {})
    assert set(conclusion.guilty) == {1, 2}


def test_a_hundred_classes_far_too_modest():
    """The direction at a conf-ECE of about 0.35 is said, not only its size."""
    proba, labels = population(3000, 100, spread=9.0)
    modest = Predictions(proba**0.25 / (proba**0.25).sum(axis=1, keepdims=True), labels)
    assert conclude(labels, modest).direction == "underconfident"


def test_events_are_observed_less_often_or_more_often_than_expected():
    rows = BinaryPrediction(np.full(200, 0.7), np.arange(200) < 60, ("no", "yes"))
    for scores in (rows, rows.score):
        (gap,) = conclude(rows.labels, scores).pooled
        assert (gap.direction, gap.says - gap.right) == ("overconfident", pytest.approx(0.4))
    found = conclude(rows)
    # 60 of 200 observed where 140 are expected, with the interval of Clopper and Pearson
    exact = binomtest(60, 200).proportion_ci(0.95, method="exact")
    assert (found.events.observed, found.events.expected) == pytest.approx((60, 140))
    assert (found.events.lower, found.events.upper) == pytest.approx((exact.low / 0.7, exact.high / 0.7))
    assert "Y = 1 is observed less often than expected by 40.0 points" in found.words()


def test_an_interval_that_excludes_calibration_although_all_tests_do_not_is_explained():
    """Ties count as half a vote for each side; seeds of a true slope of 1.25 with each of the answers."""
    said = {}
    for seed in (3, 8, 0):
        random = np.random.default_rng(seed)
        score = random.uniform(0.05, 0.95, 500)
        chance = expit(1.25 * logit(score))
        tie, place = 1.2 * np.minimum(chance, 1.0 - chance), random.random(500)
        points = np.where(place < tie, 0.5, (place < chance + tie / 2.0).astype(float))
        votes = np.stack([2.0 - 2.0 * points, 2.0 * points], axis=1).astype(int)
        found = conclude(BinaryPrediction(score).with_votes(votes))
        line = found.tests.without_bins.slope
        said[found.rejected, line.slope_lower > 1.0] = "on its own, slope differs from 1" in found.words()
    assert said == {(False, True): True, (False, False): False, (True, True): False}


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
        ((0.75, 0.7232, 0.012, 0.041), "2.7 points (1.2 to 4.1)"),
        ((0.70048, 0.7, 0.00044, 0.00052), "0.0480 points (0.0440 to 0.0520)"),
        ((0.7, 0.7272, -0.041, -0.00003), "2.7 points (0.003 to 4.1)"),
    ],
)
def test_sizes_have_the_digits_that_tell_them_from_nothing(gap, said):
    says, right, least, most = gap
    assert Gap(None, 0.0, 1.0, 100, says, right, least, most).amount_words() == said


def test_ranges_and_classes_share_alpha():
    """Ranges of predictions with classes have the limits of these confidences alone at half of alpha."""
    labels, top, _ = simulated(np.random.default_rng(4), 3_000, (-0.3, -0.3, -0.3))
    alone = ConfidencePrediction(top.confidence, labels == top.label)
    (found,), (same,) = conclude(labels, top, **DRAWS).pooled, conclude(alone, level=0.975, **DRAWS).pooled
    (wider,) = conclude(alone, level=0.95, **DRAWS).pooled
    assert (found.least, found.most) == pytest.approx((same.least, same.most))
    assert found.least < wider.least
