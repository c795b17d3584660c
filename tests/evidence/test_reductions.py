"""The reduction of every notion against Table 1 written out in loops."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import InputError, Predictions, TopLabelPrediction, bin_statistics, reduce_to_binary
from calib.data.notions import NotionShape
from calib.evidence.binning import bin_columns
from calib.evidence.reductions import _sorted_entries, ranked_classes, top_label
from calib.evidence.rows import as_evidence
from tests import oracles


def entries(problems):
    """Sorted (score, outcome) pairs of every problem."""
    computed = (problems.problem(index) for index in range(problems.n_problems))
    return [sorted(zip(s.tolist(), z.tolist(), strict=True)) for s, z in computed]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("notion", oracles.NOTIONS)
@pytest.mark.parametrize("shape", [(1, 2), (50, 2), (70, 4), (40, 30)])
@pytest.mark.parametrize("digits", [None, 1], ids=["continuous", "tied"])
def test_problems_are_those_of_table_1(notion, shape, digits, dtype):
    proba, y = oracles.random_predictions(np.random.default_rng(1), *shape, digits=digits, dtype=dtype)
    problems = reduce_to_binary(y, proba, notion)
    claims = oracles.claims(y, proba, notion)
    expected = [sorted(zip(*problem, strict=True)) for problem in itertools.chain.from_iterable(claims)]
    assert entries(problems) == expected
    assert (problems.n_samples, problems.n_classes, problems.n_claims) == (*shape, len(claims))
    assert problems.scores.dtype == dtype
    per_claim = problems.n_problems // problems.n_claims
    assert problems.shape.claims_of(np.arange(problems.n_problems)).tolist() == [
        index // per_claim for index in range(problems.n_problems)
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("notion", oracles.NOTIONS)
@pytest.mark.parametrize(
    ("n_samples", "digits"), [(400, None), (400, 1), (50_000, 3)], ids=["continuous", "tied", "many blocks"]
)
def test_scores_outcomes_and_rows_belong_together(notion, n_samples, digits, dtype):
    """Scores ascend, every row is there once per claim, and gives its entry's problem, score and outcome."""
    rng = np.random.default_rng(4)
    proba, y = oracles.random_predictions(rng, n_samples, 5, digits=digits, dtype=dtype)
    problems = reduce_to_binary(y, proba, notion)
    ranked = np.argsort(-proba, axis=1, kind="stable")
    seen = []
    for index in range(problems.n_problems):
        span = slice(problems.offsets[index], problems.offsets[index + 1])
        rows, scores = problems.rows[span], problems.scores[span]
        claim = problems.shape.claims_of(np.array([index]))[0]
        code = np.full(len(rows), index) if notion == "class-wise" else ranked[rows, claim]
        assert (scores == proba[rows, code]).all()
        assert (problems.outcomes[span] == (y[rows] == code)).all()
        assert (np.diff(scores) >= 0).all()
        label = problems.shape.labels_of(np.array([index]))[0]
        assert label == -1 if notion.endswith("confidence") else (code == label).all()
        seen.append(rows)
    counts = np.bincount(np.concatenate(seen), minlength=n_samples)
    assert (counts == problems.n_claims).all()


@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_top_label_prediction_gives_the_problems_of_its_matrix(notion):
    proba, y = oracles.random_predictions(np.random.default_rng(2), 80, 4, digits=1)
    top = Predictions(proba / proba.sum(axis=1, keepdims=True), y).top
    matrix = np.zeros((80, 4))
    matrix[np.arange(80), top.label] = top.confidence
    from_matrix, from_top = reduce_to_binary(y, matrix, notion), reduce_to_binary(y, top, notion)
    for item, other in zip(entries(from_top), entries(from_matrix), strict=False):
        assert item == other


def test_classes_absent_everywhere_keep_their_problem():
    proba = [[0.7, 0.2, 0.1, 0.0], [0.6, 0.4, 0.0, 0.0]]
    problems = reduce_to_binary([1, 1], proba, "top-label")
    assert np.diff(problems.offsets).tolist() == [2, 0, 0, 0]
    assert problems.shape.labels_of(np.arange(4)).tolist() == [0, 1, 2, 3]
    class_wise = reduce_to_binary([1, 1], proba, "class-wise")
    assert [int(class_wise.problem(code)[1].sum()) for code in range(4)] == [0, 2, 0, 0]


def test_ties_for_the_top_go_to_the_lowest_index():
    scores = np.array([[0.2, 0.4, 0.4], [0.3, 0.3, 0.3], [0.0, 0.0, 0.0]])
    assert top_label(scores)[0].tolist() == [1, 0, 0]
    labels, confidences = ranked_classes(scores, 3)
    assert labels.tolist() == [[1, 2, 0], [0, 1, 2], [0, 1, 2]]
    assert confidences.tolist() == [[0.4, 0.4, 0.2], [0.3, 0.3, 0.3], [0.0, 0.0, 0.0]]


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.data())
def test_ranked_classes_are_the_stable_descending_order(seed, n_classes, data):
    k = data.draw(st.integers(1, n_classes))
    scores = np.random.default_rng(seed).integers(0, 5, size=(20, n_classes)) / 5
    before = scores.copy()
    labels, confidences = ranked_classes(scores, k)
    expected = [oracles.ranking(row)[:k] for row in scores.tolist()]
    assert labels.tolist() == expected
    assert confidences.tolist() == [
        [row[code] for code in codes] for row, codes in zip(scores.tolist(), expected, strict=True)
    ]
    assert (scores == before).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_negative_zero_is_zero(dtype):
    proba = np.array([[-0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [0.25, 0.75]], dtype=dtype)
    problems = reduce_to_binary([0, 1, 1, 1], proba, "class-wise")
    scores, outcomes = problems.problem(0)
    assert scores.tolist() == [0.0, 0.0, 0.0, 0.25]
    assert outcomes.sum() == 1
    assert not outcomes[3]
    assert problems.tie_starts.tolist() == [0, 3, 4, 5]


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_float64_scores_are_told_apart_beyond_float32(notion):
    """All scores are the same float32."""
    rng = np.random.default_rng(8)
    proba = 0.5 + rng.integers(-50, 50, size=(3000, 2)) * 1e-12
    y = rng.integers(0, 2, size=3000)
    problems = reduce_to_binary(y, proba, notion)
    expected = [
        sorted(zip(*problem, strict=True))
        for problem in itertools.chain.from_iterable(oracles.claims(y, proba, notion))
    ]
    assert entries(problems) == expected
    for index in range(problems.n_problems):
        assert (np.diff(problems.problem(index)[0]) >= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_too_many_for_one_word_are_sorted_all_the_same(dtype):
    """With 2^34 problems (offsets of no memory) the packed key would not fit in 64 bits."""
    rng = np.random.default_rng(6)
    scores, owner = rng.integers(0, 9, 200).astype(dtype) / dtype(8.0), rng.integers(0, 5, 200)
    outcomes = rng.random(200) < 0.5
    for key, offsets in ((owner, np.broadcast_to(0, 2**34)), (None, np.broadcast_to(0, 2**34))):
        ordered, order, happened = _sorted_entries(scores, outcomes, key, offsets)
        assert sorted(order.tolist()) == list(range(200))
        assert (ordered == scores[order]).all()
        assert (happened == outcomes[order]).all()
        pairs = list(zip(np.zeros(200) if key is None else key[order], ordered, strict=True))
        assert pairs == sorted(pairs)


@pytest.mark.parametrize("notion", oracles.NOTIONS)
@pytest.mark.parametrize("strategy", oracles.STRATEGIES)
def test_reducing_and_binning_in_one_go_changes_nothing(notion, strategy):
    proba, y = oracles.random_predictions(np.random.default_rng(3), 300, 6, digits=2)
    problems = reduce_to_binary(y, proba, notion)
    expected = bin_statistics(problems, n_bins=7, strategy=strategy)
    computed = as_evidence(y, proba).cells(notion, n_bins=7, strategy=strategy)
    for field in dataclasses.fields(expected):
        item, other = getattr(computed, field.name), getattr(expected, field.name)
        if field.name == "mean_score":  # sums over one class, not over all
            np.testing.assert_allclose(item, other, rtol=0, atol=1e-13)
        else:
            np.testing.assert_array_equal(item, other, err_msg=field.name)


def test_the_input_is_left_alone():
    proba, y = oracles.random_predictions(np.random.default_rng(0), 30, 3)
    before = proba.copy(), y.copy()
    for notion in oracles.NOTIONS:
        reduce_to_binary(y, proba, notion)
    assert (proba == before[0]).all()
    assert (y == before[1]).all()


@pytest.mark.parametrize(
    ("y", "scores", "notion", "options", "message"),
    [
        ([0], [[0.5, 0.5]], "toplabel", {}, "notion must be one of confidence, top-label, .*'toplabel'"),
        ([0], [[0.5, 0.5]], "top-label", {"top_k": 1}, "top_k belongs to the top-K notions; got top_k=1"),
        ([0], [[0.5, 0.5]], "top-k-label", {"top_k": 0}, "top_k must be a whole number of at least 1"),
        ([0, 1], [[0.5, 0.5]], "top-label", {}, r"labels .*expected shape \(1,\), got \(2,\)"),
        ([2], [[0.5, 0.5]], "top-label", {}, r"labels must be class codes 0\.\.1; got 2 in row 0.*from 1"),
        ([-1], [[0.5, 0.5]], "top-label", {}, "labels must be class codes .*got -1 in row 0"),
        ([0.5], [[0.5, 0.5]], "top-label", {}, "labels must be whole class codes; got 0.5 in row 0"),
        (
            [0],
            [0.5, 0.5],
            "top-label",
            {},
            "1-D scores need one label per row: expected shape .2,.",
        ),
        ([0], [[0.5, np.nan]], "top-label", {}, "scores holds 1 values that are NaN.* row 0, column 1"),
        ([0], [[0.5, 1.5]], "top-label", {}, r"scores must lie in \[0, 1\]; got 1.5 in row 0, column 1"),
        ([0], [[0.5, -0.5]], "top-label", {}, r"scores must lie in \[0, 1\]; got -0.5"),
        ([], np.empty((0, 2)), "top-label", {}, "scores is empty"),
        ([0], TopLabelPrediction([0], [0.5]), "top-k-label", {}, "top-k-label calibration needs the highest"),
    ],
)
def test_what_cannot_be_reduced_is_named(y, scores, notion, options, message):
    with pytest.raises(InputError, match=message):
        reduce_to_binary(y, scores, notion, **options)


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "n_bins", "dtype"),
    [
        (500, 3, 15, "f8"),
        (2000, 10, 1, "f4"),
        (2000, 10, 7, "f4"),
        (2000, 12, 7, "f4"),
        (900, 100, 50, "f8"),
        (1, 2, 15, "f8"),
    ],
)
def test_columns_are_binned_without_sorting_as_sorted_ones(n_samples, n_classes, n_bins, dtype):
    """Also scores on the edges, of either type."""
    generator = np.random.default_rng(n_samples)
    matrix = generator.dirichlet(np.full(n_classes, 0.3), n_samples)
    on_edges = np.round(matrix * n_bins) / n_bins
    matrix = np.where(generator.random(matrix.shape) < 0.3, on_edges, matrix).astype(dtype)
    true = generator.integers(0, n_classes, n_samples)
    found = bin_columns(matrix, true, NotionShape("class-wise", n_classes), n_bins)
    entry = {name: getattr(found, name) for name in ("problem", "bin", "count", "mean_score", "mean_outcome")}
    literal = []
    for column in range(n_classes):
        scores = matrix[:, column].astype(np.float64)
        place = np.searchsorted(np.arange(1, n_bins) / n_bins, scores, side="right")
        for bin_ in np.unique(place):
            inside = place == bin_
            means = scores[inside].mean(), (true[inside] == column).mean()
            literal.append((column, bin_, inside.sum(), *means))
    for name, wanted in zip(entry, zip(*literal, strict=True), strict=True):
        np.testing.assert_allclose(entry[name], wanted, rtol=0, atol=1e-13, err_msg=name)
    np.testing.assert_array_equal(found.stop, np.cumsum(found.count))
    np.testing.assert_array_equal(found.start, found.stop - found.count)
    each = bin_columns(matrix, true[:, None] == np.arange(n_classes), found.shape, n_bins)
    for name in entry:
        np.testing.assert_array_equal(getattr(each, name), entry[name])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("notion", ["confidence", "top-label"])
@given(seed=st.integers(0, 10**6), n_bins=st.integers(1, 60))
def test_cells_of_highest_scores_need_no_sorting(seed, n_bins, notion, dtype):
    """Scores on, just below and just above edges: integers equal, means but for the order of sums."""
    random = np.random.default_rng(seed)
    edge = (random.integers(0, n_bins + 1, (90, 3)) / n_bins).astype(dtype)
    nearby = np.nextafter(edge, random.choice([0, 1, 2], edge.shape).astype(dtype)).clip(0, 1)
    y = random.integers(0, 3, 90)
    found = as_evidence(y, nearby).cells(notion, n_bins=n_bins)
    tops = TopLabelPrediction(*top_label(nearby))
    assert as_evidence(y, tops).cells(notion, n_bins=n_bins).ece() == found.ece()
    sorted_first = bin_statistics(reduce_to_binary(y, nearby, notion), n_bins=n_bins)
    for name in ("problem", "bin", "label", "claim", "start", "stop", "count", "lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sorted_first, name), name)
    for name in ("mean_score", "mean_outcome"):
        np.testing.assert_allclose(getattr(found, name), getattr(sorted_first, name), rtol=0, atol=1e-13)
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        as_evidence(y, nearby + 1).cells(notion)
    with pytest.raises(InputError, match="finite"):
        as_evidence(y, np.where(nearby == nearby[0, 0], np.nan, nearby)).cells(notion)
