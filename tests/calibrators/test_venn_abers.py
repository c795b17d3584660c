"""Venn-Abers calibration against refitted isotonic regressions, hand arithmetic, and its validity."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib import (
    HistogramBinning,
    IsotonicCalibration,
    MulticlassToBinary,
    VennAbersCalibration,
    guarantee_card,
)


def refitted(scores, outcomes, at):
    """p0 and p1 as they are defined: isotonic regression with the new score added with each outcome."""
    pair = []
    for outcome in (0.0, 1.0):
        fits = [
            IsotonicRegression()
            .fit(np.append(scores, score), np.append(outcomes, outcome))
            .predict([score])[0]
            for score in at
        ]
        pair.append(np.array(fits))
    return pair


@given(
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30),
    st.booleans(),
)
def test_pair_is_that_of_two_refits(rows, tied):
    scores = np.array([row[0] for row in rows]) / 8
    if not tied:
        scores = np.random.default_rng(len(rows)).random(len(rows))
    outcomes = np.array([float(row[1]) for row in rows])
    at = np.concatenate([np.unique(scores), [0.0, 0.3, 0.55, 1.0]])
    fitted = VennAbersCalibration().fit(scores, outcomes)
    p0, p1 = fitted.interval(at)
    expected = refitted(scores, outcomes, at)
    np.testing.assert_allclose([p0, p1], expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(fitted.predict(at), p1 / (1.0 - p0 + p1))
    assert (p0 <= p1).all()
    assert len(fitted.lower_) == len(np.unique(fitted.lower_)) <= len(np.unique(scores)) + 1


def test_by_hand():
    # Outcomes 0, 1, 0, 1 at 0.2, 0.4, 0.6, 0.8, new score 0.5. With a 0: 0 | 1 0 0 | 1, so p0 = 1/3. With a
    # 1: 0 | 1 1 0 | 1, so p1 = 2/3. Merged: (2/3) / (1 - 1/3 + 2/3) = 1/2. Above 0.8, p1 = 1 and, with a 0,
    # 0 | 1 0 | 1 0 gives p0 = 1/2: merged 1 / 1.5.
    fitted = VennAbersCalibration().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    p0, p1 = fitted.interval([0.5, 0.9])
    np.testing.assert_allclose([p0, p1], [[1 / 3, 1 / 2], [2 / 3, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(fitted.predict([0.5, 0.9]), [1 / 2, 2 / 3], rtol=1e-15)


def test_one_of_the_pair_is_perfectly_calibrated():
    """Vovk & Petej, Theorem 1: p of the outcome that happens is the frequency of ones among equal p.

    E[Z - p_Z; p_Z in A] = 0 for every A, whatever the scores are; checked for A = [0, 1/2) and all, over
    draws of 12 calibration rows and a new one. The standard error of each mean is below 0.013.
    """
    random = np.random.default_rng(0)
    gaps = []
    for _ in range(1_500):
        scores = random.random(13)
        outcomes = random.random(13) < np.where(scores < 0.3, 0.8, scores)  # not even increasing
        p0, p1 = VennAbersCalibration().fit(scores[:12], outcomes[:12]).interval(scores[12:])
        z = outcomes[12]
        p = (p1 if z else p0)[0]
        gaps.append((z - p, (z - p) * (p < 0.5)))
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0) / np.sqrt(len(gaps))
    assert (np.abs(mean) < 4 * error).all()
    assert error.max() < 0.013


def test_state_is_small_and_fitting_takes_linear_time():
    """Steps of the pair grow like n to the 2/3 or less for increasing truths, not like n."""
    random = np.random.default_rng(1)
    scores = random.random(20_000)
    fitted = VennAbersCalibration().fit(scores, random.random(20_000) < scores)
    assert len(fitted.lower_) + len(fitted.upper_) < 3_000
    assert fitted.predict(scores).min() > 0.0
    assert fitted.predict(scores).max() < 1.0


def test_on_few_rows_it_is_closer_to_the_truth_than_binning_and_isotonic_regression():
    """Mean squared distance from 200 rows to a calibrated truth: about 47e-4, 81e-4 and 63e-4."""
    random, away = np.random.default_rng(0), []
    new = random.beta(2.0, 1.2, 4_000)
    for _ in range(15):
        scores = random.beta(2.0, 1.2, 200)
        outcomes = random.random(200) < scores
        fitted = [
            make().fit(scores, outcomes)
            for make in (VennAbersCalibration, HistogramBinning, IsotonicCalibration)
        ]
        away.append([np.mean((model.predict(new) - new) ** 2) for model in fitted])
    venn_abers, binning, isotonic = np.mean(away, axis=0)
    assert venn_abers < 0.9 * isotonic < 0.9 * binning


def test_card_says_what_is_guaranteed():
    random = np.random.default_rng(2)
    proba = random.dirichlet(np.ones(3), 200)
    fitted = MulticlassToBinary(VennAbersCalibration()).fit(proba, random.integers(0, 3, 200))
    assert "is calibrated whatever the distribution" in guarantee_card(fitted).words()
