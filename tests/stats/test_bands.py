"""The band of the true curve: against its literal definition, its statement, its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from benchmarks.intervals import bands
from benchmarks.simulation import means
from calib import InputError, TopLabelPrediction, calibration_band
from tests.populations import population


def one_class(scores, outcomes):
    scores = np.asarray(scores, float)
    return np.where(outcomes, 0, 1), TopLabelPrediction(np.zeros(len(scores), int), scores)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), values=st.integers(1, 12))
def test_band_is_that_of_all_runs(seed, n, values):
    """The literal definition: bounds of every run of scores, each carried on by monotonicity."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, values, n) / values
    right = random.random(n) < scores
    band = calibration_band(*one_class(scores, right))
    distinct = np.unique(scores)
    runs, size = [], len(distinct)
    tail = 0.05 / (size * (size + 1))
    lower, upper = np.zeros(size), np.ones(size)
    for first in range(size):
        for last in range(first, size):
            inside = (scores >= distinct[first]) & (scores <= distinct[last])
            k, m = right[inside].sum(), inside.sum()
            runs.append((first, last))
            low = beta.ppf(tail, k, m - k + 1) if k else 0.0
            high = beta.isf(tail, k + 1, m - k) if k < m else 1.0
            lower[last:] = np.maximum(lower[last:], low)
            upper[: first + 1] = np.minimum(upper[: first + 1], high)
    np.testing.assert_allclose(band.score, distinct)
    np.testing.assert_allclose(band.lower, lower, atol=1e-9)
    np.testing.assert_allclose(band.upper, upper, atol=1e-9)
    assert len(runs) == size * (size + 1) / 2


def test_groups_are_chosen_without_outcomes():
    random = np.random.default_rng(0)
    scores = random.random(3000)
    item, other = (
        calibration_band(*one_class(scores, random.random(3000) < scores), most_groups=50) for _ in range(2)
    )
    assert item.n_groups == other.n_groups == 50
    assert len(item.score) == 3000
    for band in (item, other):
        assert len(np.unique(band.lower)) <= 51
        assert np.all(np.diff(band.lower) >= 0)
        assert np.all(np.diff(band.upper) >= 0)
        assert np.all(band.lower <= band.upper + 1e-12)


@given(seed=st.integers(0, 10**6), above=st.floats(0.0, 0.9))
def test_statement_is_the_largest_distance_on_a_fine_grid(seed, above):
    random = np.random.default_rng(seed)
    scores = np.append(random.random(200).round(2), 0.99)
    band = calibration_band(*one_class(scores, random.random(201) < scores))
    grid = np.linspace(max(above, band.score[0]) + 1e-9, band.score[-1], 4001)
    below, next_one = np.searchsorted(band.score, grid, "right") - 1, np.searchsorted(band.score, grid)
    low, high = band.lower[below], band.upper[np.minimum(next_one, len(band.score) - 1)]
    expected = max((high - grid).max(), (grid - low).max())
    assert band.within(above) == pytest.approx(expected, abs=5e-4)
    assert band.within(above) >= expected - 1e-8


def test_words_state_the_distance_rounded_up():
    proba, y = population(2000, 3)
    band = calibration_band(y, proba)
    words = band.words(0.6, "<{}>")
    stated = float(words.split("<")[1].split(">")[0])
    assert band.within(0.6) <= stated <= band.within(0.6) + 0.001
    assert words.startswith("With confidence 95%, calibrated within <")
    assert "everywhere above 0.6 (up to the largest score," in words
    assert band.within(0.9) <= band.within(0.6) <= band.within(0.0)
    with pytest.raises(InputError, match="no score is above 1"):
        band.within(1.0)
    assert len(band.frame()) == len(band.score)


def test_a_band_that_leaves_the_diagonal_excludes_calibration():
    proba, y = population(4000, 4)
    inside = calibration_band(y, proba)
    assert ((inside.lower <= inside.score) & (inside.score <= inside.upper)).all()
    sharper = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    band = calibration_band(y, sharper)
    assert ((band.score < band.lower) | (band.score > band.upper)).any()
    item = calibration_band(y, sharper, notion="top-label", label=2)
    own = sharper.argmax(axis=1) == 2
    assert len(item.score) == len(np.unique(sharper.max(axis=1)[own]))
    with pytest.raises(InputError, match="has no entries"):
        calibration_band(y[~own], sharper[~own], notion="top-label", label=2)


@pytest.mark.parametrize("curve", ["calibrated", "a step", "20 values"])
def test_band_holds_at_least_as_often_as_it_says(curve):
    """60 draws of 300 rows; the band is wider than it needs to be, so misses are rare."""
    found = means(bands(curve, 300, most_groups=100), 60)
    assert found["band holds (95 %)"] >= 0.95
    assert found["statement holds (95 %)"] >= found["band holds (95 %)"]
