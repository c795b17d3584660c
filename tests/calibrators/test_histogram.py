"""Histogram binning by hand, against literal loops, and what its bins promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calib import HistogramBinning, InputError
from calib.data.validation import check_binary
from tests import oracles

seeds = st.integers(0, 2**32 - 1)
samples = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=60)


def columns(pairs):
    return np.array([score / 20 for score, _ in pairs]), np.array([outcome for _, outcome in pairs])


def test_two_bins_by_hand():
    """Sorted 0.1 0.2 | 0.8 0.9; means 1/2 and 1; the edge is halfway between 0.2 and 0.8."""
    hb = HistogramBinning(n_bins=2).fit([0.9, 0.1, 0.8, 0.2], [1, 0, 1, 1])
    assert hb.edges_.tolist() == [0.5]
    assert hb.values_.tolist() == [0.5, 1.0]
    assert hb.counts_.tolist() == [2, 2]
    assert hb.predict([0.0, 0.4999, 0.5, 1.0]).tolist() == [0.5, 0.5, 1.0, 1.0]


def test_points_per_bin_chooses_the_number_of_bins():
    """Algorithm 8: B = floor(n / k), and one bin where n < k."""
    scores, outcomes = np.linspace(0, 1, 103), np.zeros(103)
    for k, n_bins in ((50, 2), (51, 2), (52, 1), (1, 103), (200, 1), (10, 10)):
        hb = HistogramBinning(points_per_bin=k).fit(scores, outcomes)
        assert len(hb.values_) == n_bins
        assert hb.counts_.min() >= min(k, 103)


def test_a_fixed_number_of_bins_has_the_sizes_of_array_split():
    hb = HistogramBinning(n_bins=4).fit(np.linspace(0, 1, 10), np.zeros(10))
    assert hb.counts_.tolist() == [3, 3, 2, 2]
    assert HistogramBinning(n_bins=50).fit([0.1, 0.3, 0.2], [0, 1, 0]).counts_.tolist() == [1, 1, 1]


@given(samples, st.integers(1, 12))
def test_prediction_equals_the_literal_loops(pairs, n_bins):
    scores, outcomes = columns(pairs)
    hb = HistogramBinning(n_bins=n_bins).fit(scores, outcomes)
    literal_hb = oracles.fit_histogram(scores.tolist(), outcomes.tolist(), n_bins)
    for score in (*scores, 0.0, 0.013, 0.51, 1.0):
        assert hb.predict([score])[0] == pytest.approx(literal_hb(score)[0], rel=0, abs=1e-13)


@given(samples, st.integers(1, 30))
def test_edges_on_rows_equal_the_literal_loops_and_fits_of_counts(pairs, k):
    scores, outcomes = columns(pairs)
    hb = HistogramBinning(points_per_bin=k).fit(scores, outcomes)
    n_bins = max(len(scores) // k, 1)
    literal_hb = oracles.fit_histogram(scores.tolist(), outcomes.tolist(), n_bins, on_rows=True)
    for score in (*scores, 0.0, 0.013, 0.51, 1.0):
        assert hb.predict([score])[0] == pytest.approx(literal_hb(score)[0], rel=0, abs=1e-13)
    distinct, counts = np.unique(scores, return_counts=True)
    happened = np.array([outcomes[scores == score].sum() for score in distinct])
    counted = HistogramBinning(points_per_bin=k).fit_counts(distinct, counts, happened)
    for name in ("edges_", "values_", "counts_", "left_out_"):
        assert getattr(counted, name).tolist() == getattr(hb, name).tolist()
    assert counted.cut_at_points == hb.cut_at_points
    ranks = np.cumsum([len(part) for part in np.array_split(scores, n_bins)])[:-1]
    edges = np.sort(scores)[ranks]
    alone = all((scores == edge).sum() == 1 for edge in edges)
    assert hb.cut_at_points == (alone and (k > 1 or n_bins == 1))


def test_the_row_at_an_edge_is_in_no_mean():
    """Bins 0.1 0.2 0.3 and 0.6 0.7 0.8, edge 0.6: means of 0 0 1 and of 1 1. A tied edge stays."""
    scores = [0.3, 0.1, 0.8, 0.6, 0.2, 0.7]
    hb = HistogramBinning(points_per_bin=3).fit(scores, [1, 0, 1, 0, 0, 1])
    assert hb.edges_.tolist() == [0.6]
    assert hb.values_.tolist() == [1 / 3, 1.0]
    assert (hb.left_out_.tolist(), hb.inside_.tolist(), hb.cut_at_points) == ([-1, 0], [3, 2], True)
    tied = HistogramBinning(points_per_bin=3).fit([0.1, 0.2, 0.3, 0.6, 0.6, 0.6], [1, 0, 0, 0, 1, 1])
    assert tied.values_.tolist() == [1 / 3, 2 / 3]
    assert (tied.left_out_.tolist(), tied.inside_.tolist(), tied.cut_at_points) == ([-1, -1], [3, 3], False)
    by_number = HistogramBinning(n_bins=2).fit(scores, [1, 0, 1, 0, 0, 1])
    assert (by_number.left_out_, by_number.inside_.tolist(), by_number.cut_at_points) == (None, [3, 3], False)


@given(samples, st.integers(1, 70))
def test_bins_keep_k_points_and_equal_scores_stay_together(pairs, k):
    scores, outcomes = columns(pairs)
    hb = HistogramBinning(points_per_bin=k).fit(scores, outcomes)
    bins = np.searchsorted(hb.edges_, scores, side="right")
    assert np.bincount(bins, minlength=len(hb.values_)).tolist() == hb.counts_.tolist()
    assert hb.counts_.sum() == len(scores)
    assert hb.counts_.min() >= min(k, len(scores))
    assert (np.diff(hb.edges_) > 0).all()
    for edge in hb.edges_:
        below, above = scores[scores < edge].max(), scores[scores >= edge].min()
        assert below < edge == above


@given(samples, st.integers(1, 20), st.sampled_from(["group", "randomize"]))
def test_values_are_distinct_probabilities_next_to_the_means(pairs, n_bins, ties):
    scores, outcomes = columns(pairs)
    hb = HistogramBinning(n_bins=n_bins, ties=ties, random_state=0).fit(scores, outcomes)
    assert len(np.unique(hb.values_)) == len(hb.values_)
    assert ((hb.values_ >= 0) & (hb.values_ <= 1)).all()
    # The mean of all predictions on the calibration points is the frequency of the outcome.
    assert np.dot(hb.values_, hb.counts_) / len(scores) == pytest.approx(outcomes.mean(), abs=1e-9)


def test_equal_means_are_told_apart_in_the_order_of_their_bins():
    """Eight points in four bins, all means 0, 1 or 1/2: repeats move by multiples of 2^-52."""
    step = 2.0**-52
    for outcomes, expected in (
        ([0] * 8, [0.0, step, 2 * step, 3 * step]),
        ([1] * 8, [1 - 3 * step, 1 - 2 * step, 1 - step, 1.0]),
        ([0, 1] * 4, [0.5 - 3 * step, 0.5 - 2 * step, 0.5 - step, 0.5]),
    ):
        hb = HistogramBinning(n_bins=4).fit(np.linspace(0, 1, 8), outcomes)
        assert hb.values_.tolist() == expected


def test_a_score_on_the_edge_belongs_to_the_upper_bin():
    """Scores printed with one digit often lie halfway between others: (0.1 + 0.3) / 2 == 0.2."""
    for below, on, above in ((0.1, 0.2, 0.3), (0.2, 0.4, 0.6), (0.5, 0.7, 0.9), (0.01, 0.02, 0.03)):
        hb = HistogramBinning(n_bins=2).fit([below, above], [0, 1])
        assert hb.edges_.tolist() == [(below + above) / 2]
        assert hb.predict([on])[0] == float(on >= (below + above) / 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_kept_apart(dtype):
    """No float lies between the two scores, so the edge is the upper one."""
    low = dtype(0.3)
    high = np.nextafter(low, dtype(1))
    hb = HistogramBinning(n_bins=2).fit(np.array([low, high, high, low]), [0, 1, 1, 0])
    assert hb.predict(np.array([low, high])).tolist() == [0.0, 1.0]


def test_forest_scores_have_few_values_and_full_bins():
    """A thousand votes of 100 trees: ten bins asked for, each value in one bin, each bin with 100 or more."""
    scores = np.random.default_rng(0).binomial(100, 0.97, size=1000) / 100
    hb = HistogramBinning(points_per_bin=100).fit(scores, scores > 0.96)
    assert hb.counts_.min() >= 100
    assert len(hb.values_) < 10


def test_randomized_ties_split_equal_scores_and_are_seeded():
    scores, outcomes = np.full(100, 0.5), np.arange(100) % 2
    fits = [
        HistogramBinning(n_bins=5, ties="randomize", random_state=seed).fit(scores, outcomes)
        for seed in (0, 0, 1)
    ]
    assert fits[0].counts_.tolist() == [20] * 5
    assert fits[0].values_.tolist() == fits[1].values_.tolist()
    assert fits[0].values_.tolist() != fits[2].values_.tolist()
    once, again = fits[0].predict([0.5, 0.5]), fits[0].predict([0.5, 0.5])
    assert once.tolist() == again.tolist()  # noise in fit only
    assert HistogramBinning(n_bins=5).fit(scores, outcomes).counts_.tolist() == [100]


def test_randomized_ties_move_values_by_at_most_delta():
    rng = np.random.default_rng(3)
    scores, outcomes = rng.random(500), rng.integers(0, 2, 500)
    grouped = HistogramBinning(n_bins=9).fit(scores, outcomes)
    noisy = HistogramBinning(n_bins=9, ties="randomize", delta=1e-6, random_state=0).fit(scores, outcomes)
    assert noisy.counts_.tolist() == grouped.counts_.tolist()
    assert np.abs(noisy.values_ - grouped.values_).max() <= 1e-6
    assert np.abs(noisy.edges_ - grouped.edges_).max() <= 1e-6


@given(samples, seeds)
def test_row_order_does_not_matter(pairs, seed):
    scores, outcomes = columns(pairs)
    order = np.random.default_rng(seed).permutation(len(scores))
    item = HistogramBinning(n_bins=4).fit(scores, outcomes)
    other = HistogramBinning(n_bins=4).fit(scores[order], outcomes[order])
    assert item.values_.tolist() == other.values_.tolist()
    assert item.edges_.tolist() == other.edges_.tolist()


def test_refit_starts_fresh_and_clone_is_unfitted():
    hb = HistogramBinning(n_bins=3).fit(np.linspace(0, 1, 30), np.ones(30))
    hb.fit([0.2], [1])
    assert (hb.edges_.tolist(), hb.values_.tolist(), hb.counts_.tolist()) == ([], [1.0], [1])
    with pytest.raises(NotFittedError):
        clone(hb).predict([0.5])
    assert clone(hb).get_params() == hb.get_params()


def test_fitted_numbers_are_float64_for_float32_scores():
    scores = np.random.default_rng(0).random(100).astype(np.float32)
    narrow = HistogramBinning(n_bins=5).fit(scores, scores > 0.5)
    wide = HistogramBinning(n_bins=5).fit(scores.astype(float), scores > 0.5)
    assert narrow.edges_.dtype == narrow.values_.dtype == np.float64
    assert narrow.edges_.tolist() == wide.edges_.tolist()
    assert narrow.predict(scores).tolist() == wide.predict(scores.astype(float)).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be a whole number of at least 1; got 0"),
        ({"points_per_bin": 0}, "points_per_bin must be a whole number of at least 1; got 0"),
        ({"points_per_bin": 2.0}, "points_per_bin must be a whole number"),
        ({"ties": "average"}, 'ties must be "group" or "randomize"; got \'average\''),
        ({"ties": "randomize", "delta": 0.0}, "delta must be .* got 0.0"),
        ({"ties": "randomize", "delta": float("nan")}, "delta must be"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(InputError, match=message):
        HistogramBinning(**options).fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize(
    ("scores", "outcomes", "message"),
    [
        ([], [], "scores is empty"),
        ([[0.1, 0.9]], [[0, 1]], "scores must be an"),
        ([0.1, 0.2], [1], r"outcomes must hold one value per score: expected shape \(2,\), got \(1,\)"),
        ([0.1], [2], "outcomes must be 0 or 1"),
        ([0.1], [np.nan], "outcomes must be 0 or 1"),
        ([0.1], ["yes"], "outcomes must be 0 or 1"),
        ([1.5], [1], r"scores must lie in \[0, 1\]; got 1.5 in row 0"),
        ([np.nan], [1], "scores holds 1 values that are NaN"),
    ],
)
def test_bad_data_is_named(scores, outcomes, message):
    with pytest.raises(InputError, match=message):
        HistogramBinning().fit(scores, outcomes)


def test_checked_outcomes_are_booleans():
    scores, outcomes = check_binary(np.array([0.5], dtype=np.float32), [1.0])
    assert (scores.dtype, outcomes.dtype) == (np.float64, np.bool_)
