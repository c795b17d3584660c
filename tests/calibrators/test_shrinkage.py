"""Shrunken frequencies, and histogram binning that falls back to them."""

import numpy as np
import pytest
from scipy.stats import betabinom

from calib import CalibratorFileError, HistogramBinning, InputError, MulticlassToBinary, PlattScaling
from calib.answers import guarantee_card
from calib.calibrators.catalogue import name_of
from calib.calibrators.histogram import shrunken
from calib.export.scorer_file import scorer, verify_scorer
from calib.files.saved import dumps, loads


def rows(n_classes, per_class, spread, seed):
    """Top classes at one of 3 scores, right by a chance that differs by class; the chances, too."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(n_classes), per_class)
    score = random.choice([0.5, 0.7, 0.9], len(label))
    off = random.normal(0, spread, n_classes)
    chance = np.clip(score - 0.15 + off[label], 0.01, 0.99)
    proba = np.full((len(label), n_classes), 0.0)
    proba[np.arange(len(label)), label] = score
    proba[np.arange(len(label)), (label + 1) % n_classes] = 1 - score - 1e-9
    y = np.where(random.random(len(label)) < chance, label, (label + 2) % n_classes)
    return proba, y, chance


def error(fallback, data):
    """Mean squared distance from the true chances."""
    proba, y, chance = data
    model = MulticlassToBinary(HistogramBinning(points_per_bin=40), fallback=fallback).fit(proba, y)
    return float(np.mean((model.predict_top(proba).confidence - chance) ** 2))


def test_estimate_is_the_posterior_mean_at_the_likeliest_strength():
    random = np.random.default_rng(0)
    count, prior = random.integers(0, 9, 300), np.repeat([0.3, 0.8], 150)
    right = random.binomial(count, random.beta(4 * prior, 4 * (1 - prior)))
    estimate, strength = shrunken(right, count, prior)
    np.testing.assert_allclose(estimate, (right + strength * prior) / (count + strength))

    def likelihood(s):
        return betabinom.logpmf(right, count, s * prior, s * (1 - prior)).sum()

    assert all(likelihood(strength) >= likelihood(strength * factor) - 1e-6 for factor in (0.9, 1.1))
    assert 2 < strength < 9  # 4 drawn
    same, large = shrunken(np.full(50, 3), np.full(50, 4), np.full(50, 0.75))
    assert large > 1e4
    np.testing.assert_allclose(same, 0.75, atol=1e-3)


def test_shrinking_beats_both_where_classes_differ_and_loses_little_where_they_do_not():
    """Of 150 classes with 12 rows each: squared distance from the truth, mean of 3 draws.

    Where classes do not differ, pooling is right, and the estimated strength costs something.
    """
    for spread, margin in ((0.2, 0.6), (0.0, 1.5)):
        errors = {
            fallback: np.mean([error(fallback, rows(150, 12, spread, seed)) for seed in range(3)])
            for fallback in ("shrink", "pooled", "identity")
        }
        assert errors["shrink"] < margin * errors["pooled"]
        assert errors["shrink"] < 0.9 * errors["identity"]


def test_a_class_is_right_on_average_as_often_as_its_rows_say_shrunk():
    """Over its calibration rows: (right + s * prior) / (n + s), one s for all classes, counted by loops."""
    proba, y, _ = rows(60, 12, 0.2, 5)
    model = MulticlassToBinary(HistogramBinning(points_per_bin=40), fallback="shrink").fit(proba, y)
    pooled = MulticlassToBinary(HistogramBinning(points_per_bin=40), fallback="pooled").fit(proba, y)
    label, after = proba.argmax(axis=1), model.predict_top(proba).confidence
    prior = pooled.predict_top(proba).confidence
    right, means, said = [], [], []
    for item in range(60):
        own = [row for row in range(len(y)) if label[row] == item]
        right.append(sum(y[row] == item for row in own))
        means.append(sum(prior[row] for row in own) / 12)
        said.append(sum(after[row] for row in own) / 12)
    right, means, said = map(np.array, (right, means, said))
    strengths = np.geomspace(0.1, 1e4, 2_000)
    likelihood = [betabinom.logpmf(right, 12, s * means, s * (1 - means)).sum() for s in strengths]
    s = strengths[np.argmax(likelihood)]
    assert 2 < s < 100
    np.testing.assert_allclose(said, (right + s * means) / (12 + s), atol=2e-3)


def test_only_classes_with_few_rows_are_shrunk_and_no_guarantee_is_given_for_them():
    proba, y, _ = rows(20, 30, 0.2, 1)
    many, y_many, _ = rows(20, 60, 0.2, 2)
    first = many.argmax(axis=1) < 3
    proba, y = np.concatenate([proba, many[first]]), np.concatenate([y, y_many[first]])
    model = MulticlassToBinary(HistogramBinning(points_per_bin=40), fallback="shrink").fit(proba, y)
    plain = MulticlassToBinary(HistogramBinning(points_per_bin=40)).fit(proba, y)
    label = proba.argmax(axis=1)
    item, other = (m.predict_top(proba).confidence for m in (model, plain))
    np.testing.assert_array_equal(item[label < 3], other[label < 3])
    assert {fallback.used for fallback in model.fallbacks_} == {"shrunk"}
    card = guarantee_card(model)
    assert np.isfinite(card.marginal).tolist() == [True] * 3 + [False] * 17
    assert name_of(model) == "TL-HB, k = 40, shrunk"


def test_files_and_scorers_replay_shrunken_values():
    proba, y, _ = rows(20, 30, 0.2, 3)
    model = MulticlassToBinary(HistogramBinning(points_per_bin=40), fallback="shrink").fit(proba, y)
    loaded = loads(dumps(model))
    np.testing.assert_array_equal(loaded.predict_top(proba).confidence, model.predict_top(proba).confidence)
    assert loaded.fallbacks_ == model.fallbacks_
    assert verify_scorer(scorer(loaded), model, proba) == 0.0
    again = dumps(loaded)
    with pytest.raises(CalibratorFileError):
        loads(again.replace(b'"shrunk_"', b'"shrunken_"'))


def test_what_cannot_be_shrunk_is_refused():
    proba, y, _ = rows(5, 20, 0.1, 4)
    for options in ({"notion": "class-wise"}, {"binary": PlattScaling()}, {"by": "group"}):
        with pytest.raises(InputError, match='fallback="shrink" belongs to'):
            MulticlassToBinary(fallback="shrink", **options).fit(proba, y)
    with pytest.raises(InputError, match="cannot use sample_weight"):
        MulticlassToBinary(fallback="shrink").fit(proba, y, np.arange(100) + 1.0)
