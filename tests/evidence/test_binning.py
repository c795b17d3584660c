"""Bin edges, equal-mass bins with ties, and cell statistics against literal loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import InputError, TopLabelPrediction, bin_statistics, reduce_to_binary
from calib.data.validation import check_count
from calib.evidence.binning import (
    EXACT_BINS,
    assign_bins,
    equal_mass_cuts,
    sorted_cuts,
    uniform_edges,
    uniform_finder,
)
from tests import oracles

seeds = st.integers(0, 2**32 - 1)


def one_problem(scores, outcomes=None):
    """Confidence problem of these scores: outcome 1 means that class 0, the predicted one, was right."""
    outcomes = np.zeros(len(scores), dtype=int) if outcomes is None else np.asarray(outcomes)
    top = TopLabelPrediction(np.zeros(len(scores), dtype=int), np.asarray(scores))
    return reduce_to_binary(1 - outcomes, top, "confidence")


def around_edges(n_bins, dtype):
    """0, 1, every j/B and its neighbours on both sides, in this dtype."""
    edges = (np.arange(n_bins + 1) / n_bins).astype(dtype)
    near = np.concatenate([np.nextafter(edges, dtype(-1)), edges, np.nextafter(edges, dtype(2))])
    return np.unique(near[(near >= 0) & (near <= 1)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 49, 100, 1000])
def test_scores_on_and_beside_the_edges(n_bins, dtype):
    scores = around_edges(n_bins, dtype)
    if n_bins <= 100:
        expected = [oracles.uniform_bin(float(score), n_bins) for score in scores]
    else:
        expected = [sum(float(score) >= j / n_bins for j in range(1, n_bins)) for score in scores]
    assert assign_bins(scores, uniform_edges(n_bins)).tolist() == expected
    cells = bin_statistics(one_problem(scores), n_bins=n_bins)
    assert np.repeat(cells.bin, cells.count).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 15, 49, 1000, 4095, EXACT_BINS, EXACT_BINS + 1])
def test_bins_are_found_without_a_search(n_bins, dtype):
    scores = around_edges(n_bins, dtype)
    assert np.array_equal(uniform_finder(n_bins, dtype)(scores), assign_bins(scores, uniform_edges(n_bins)))


def test_edges_by_hand():
    """Bins of a third: 1/3 opens the second, the last is closed; int(p * B) would put 0.29 * 100 in 28."""
    cells = bin_statistics(one_problem([0.0, 0.3, 1 / 3, 0.5, 2 / 3, 1.0]), n_bins=3)
    assert cells.bin.tolist() == [0, 1, 2]
    assert cells.count.tolist() == [2, 2, 2]
    assert cells.lower.tolist() == [0.0, 1 / 3, 2 / 3]
    assert cells.upper.tolist() == [1 / 3, 2 / 3, 1.0]
    assert int(0.29 * 100) == 28
    assert assign_bins(np.array([0.29]), uniform_edges(100)).tolist() == [29]


@pytest.mark.parametrize(
    ("sizes", "n_bins", "expected"),
    [
        ([1, 1, 1, 1, 1, 1, 1], 3, [0, 3, 5, 7]),  # array_split: 3, 2, 2
        ([1, 1, 1, 1], 2, [0, 2, 4]),
        ([5], 3, [0, 5]),  # one value: one bin
        ([4, 1, 1], 3, [0, 4, 6]),  # 4 fill the first; ceil(2 / 2) = 1 but the share is 6 // 3 = 2
        ([1, 4, 1], 3, [0, 6]),  # 1 is no share of 2 and grows to 5; the 1 left is no share and joins
        ([1, 1, 4], 3, [0, 2, 6]),
        ([1, 1, 1], 10, [0, 1, 2, 3]),  # more bins than entries
        ([2, 2, 2], 1, [0, 6]),
    ],
)
def test_equal_mass_cuts_by_hand(sizes, n_bins, expected):
    assert equal_mass_cuts(np.cumsum(sizes), n_bins).tolist() == expected
    assert sorted_cuts(np.repeat(np.arange(len(sizes)), sizes), n_bins).tolist() == expected


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 40))
def test_equal_mass_bins_hold_their_share_and_never_split_equal_scores(sizes, n_bins):
    ends = np.cumsum(sizes)
    cuts = equal_mass_cuts(ends, n_bins)
    assert cuts[0] == 0
    assert cuts[-1] == ends[-1]
    assert len(cuts) - 1 <= n_bins
    assert set(cuts[1:]) <= set(ends)
    assert np.diff(cuts).min() >= max(ends[-1] // n_bins, 1)
    scores = np.repeat(np.arange(len(sizes)), sizes).tolist()
    assert sorted_cuts(np.array(scores), n_bins).tolist() == cuts.tolist()
    groups = oracles.equal_mass_groups(scores, n_bins)
    assert np.diff(cuts).tolist() == [sum(scores.count(value) for value in group) for group in groups]


@given(
    st.integers(1, 400),
    st.dictionaries(st.integers(0, 399), st.integers(2, 40), max_size=6),
    st.integers(1, 450),
)
def test_few_equal_scores_are_cut_as_many(n_values, runs, n_bins):
    sizes = np.array([runs.get(value, 1) for value in range(n_values)])
    expected = [
        sum(sizes[value] for value in group)
        for group in oracles.equal_mass_groups(np.repeat(np.arange(n_values), sizes).tolist(), n_bins)
    ]
    for cuts in (
        equal_mass_cuts(np.cumsum(sizes), n_bins),
        sorted_cuts(np.repeat(np.arange(n_values), sizes), n_bins),
    ):
        assert np.diff(cuts).tolist() == expected


@given(st.integers(1, 200), st.integers(1, 60))
def test_equal_mass_bins_without_ties_are_those_of_array_split(n_samples, n_bins):
    expected = [len(bin_) for bin_ in np.array_split(np.arange(n_samples), min(n_bins, n_samples))]
    assert np.diff(equal_mass_cuts(np.arange(1, n_samples + 1), n_bins)).tolist() == expected
    assert np.diff(sorted_cuts(np.linspace(0, 1, n_samples), n_bins)).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("notion", "strategy"), list(itertools.product(oracles.NOTIONS, oracles.STRATEGIES)))
def test_cells_equal_the_literal_loops(notion, strategy, dtype):
    proba, y = oracles.random_predictions(np.random.default_rng(3), 140, 6, digits=2, dtype=dtype)
    cells = bin_statistics(reduce_to_binary(y, proba, notion), n_bins=9, strategy=strategy)
    expected = [
        (problem, bin_, *values)
        for problem, entries in enumerate(itertools.chain.from_iterable(oracles.claims(y, proba, notion)))
        for bin_, values in oracles.cells(entries, 9, strategy).items()
    ]
    computed = zip(cells.problem, cells.bin, cells.count, cells.mean_score, cells.mean_outcome, strict=True)
    for item, other in zip(computed, expected, strict=True):
        assert item == pytest.approx(other, rel=0, abs=1e-11)
    assert cells.n_bins == (max(b for _, b, *_ in expected) + 1 if strategy == "discrete" else 9)


@given(seeds, st.integers(1, 50), st.sampled_from(oracles.NOTIONS), st.sampled_from(oracles.STRATEGIES))
def test_cells_partition_the_entries(seed, n_samples, notion, strategy):
    proba, y = oracles.random_predictions(np.random.default_rng(seed), n_samples, 5, digits=1)
    problems = reduce_to_binary(y, proba, notion)
    cells = bin_statistics(problems, n_bins=4, strategy=strategy)
    assert cells.count.sum() == n_samples * problems.n_claims
    assert cells.share.sum() == pytest.approx(1.0)
    assert cells.count.min() >= 1
    assert cells.start[0] == 0
    assert cells.stop[-1] == len(problems.scores)
    assert (cells.stop[:-1] == cells.start[1:]).all()
    keys = cells.problem * (cells.bin.max() + 1) + cells.bin
    assert (np.diff(keys) > 0).all()
    assert ((cells.mean_score >= cells.lower - 1e-12) & (cells.mean_score <= cells.upper + 1e-12)).all()
    assert ((cells.mean_outcome >= 0) & (cells.mean_outcome <= 1)).all()
    deltas, counts = cells.bin_deltas(), np.bincount(cells.bin, cells.count, cells.n_bins)
    assert np.isnan(deltas).tolist() == (counts == 0).tolist()
    assert np.nansum(deltas * counts) == pytest.approx(np.sum(cells.count * np.abs(cells.gap)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_cells_of_a_million_rows_keep_nine_digits(dtype):
    """Differences of prefix sums near 500,000; the oracle is `math.fsum`."""
    scores = np.random.default_rng(0).random(1_000_000).astype(dtype)
    problems = one_problem(scores)
    cells = bin_statistics(problems, n_bins=500_000)
    few = np.flatnonzero(cells.count < 4)[::1000]
    assert len(few) > 100
    for cell in few:
        values = problems.scores[cells.start[cell] : cells.stop[cell]].tolist()
        assert cells.mean_score[cell] == pytest.approx(math.fsum(values) / len(values), rel=0, abs=1e-9)
    whole = bin_statistics(problems, n_bins=1)
    exact = math.fsum(scores.tolist()) / len(scores)
    assert whole.mean_score[0] == pytest.approx(exact, rel=0, abs=1e-12)


def test_results_are_read_only():
    problems = one_problem([0.1, 0.2, 0.9], [0, 1, 1])
    cells = bin_statistics(problems)
    for array in (problems.scores, problems.outcomes, problems.rows, cells.count, cells.mean_score):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_frame_has_a_row_per_cell():
    cells = bin_statistics(one_problem([0.1, 0.2, 0.9], [0, 1, 1]), n_bins=2)
    frame = cells.frame()
    assert frame["count"].tolist() == [2, 1]
    assert frame["gap"].tolist() == pytest.approx([0.5 - 0.15, 1.0 - 0.9])
    assert frame["label"].tolist() == [-1, -1]


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None])
def test_counts_are_whole_numbers_of_at_least_one(value):
    with pytest.raises(InputError, match="n_bins must be a whole number of at least 1; got"):
        check_count(value, "n_bins")


def test_whole_numbers_of_numpy_are_counts():
    assert check_count(np.int32(3), "n_bins") == 3
