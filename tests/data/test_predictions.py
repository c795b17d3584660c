"""What `Predictions` accepts, refuses and guarantees."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calib import ConfidencePrediction, InputError, Predictions, TopLabelPrediction
from calib.data.matrices import highest
from calib.data.predictions import as_predictions
from calib.data.validation import as_labels, as_scores
from tests import oracles

seeds = st.integers(0, 2**32 - 1)
PROBA = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("off", "fits"), [(4e-4, True), (9e-4, True), (-9e-4, True), (1.1e-3, False), (-1.1e-3, False)]
)
def test_rows_may_miss_one_by_a_thousandth(dtype, off, fits):
    matrix = np.full((3, 500), 1 / 500)
    matrix[1, 7] += off
    if fits:
        assert Predictions(matrix.astype(dtype)).n_samples == 3
    else:
        with pytest.raises(InputError, match="1 of 3 rows of proba do not sum to 1; row 1 sums to"):
            Predictions(matrix.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_label_and_confidence_by_hand(dtype):
    p = Predictions(PROBA.astype(dtype), [0, 1, 2])
    assert p.label.tolist() == [0, 2, 0]  # the tie goes to the lowest index
    assert p.confidence.tolist() == PROBA.astype(dtype).max(axis=1).tolist()
    assert (p.proba.dtype, p.confidence.dtype, p.label.dtype) == (dtype, dtype, np.int64)
    assert (p.n_samples, p.n_classes, p.class_names) == (3, 3, ("0", "1", "2"))


@given(seeds, st.integers(1, 40), st.integers(2, 9))
def test_top_label_is_the_first_of_the_ranking(seed, n_samples, n_classes):
    counts = np.random.default_rng(seed).multinomial(6, np.full(n_classes, 1 / n_classes), size=n_samples)
    p = Predictions(counts / 6)
    assert p.label.tolist() == [oracles.ranking(row)[0] for row in counts.tolist()]
    assert p.confidence.tolist() == (counts.max(axis=1) / 6).tolist()


@pytest.mark.parametrize(
    "proba",
    [
        PROBA.tolist(),
        PROBA.astype(np.float16),
        np.asfortranarray(PROBA),
        np.repeat(PROBA, 2, axis=0)[::2],
        PROBA[:, ::-1],
        pd.DataFrame(PROBA),
        np.eye(3, dtype=int),
        np.eye(3, dtype=bool),
        PROBA.astype(">f8"),
        PROBA.astype(object),
    ],
    ids=["list", "float16", "Fortran", "strided", "reversed", "frame", "int", "bool", "big-endian", "object"],
)
def test_any_real_matrix_is_read_as_contiguous_native_floats(proba):
    p = Predictions(proba)
    assert p.proba.dtype in (np.float32, np.float64)
    assert p.proba.flags.c_contiguous
    np.testing.assert_array_equal(p.proba, np.asarray(proba, dtype=np.float64))
    np.testing.assert_array_equal(p.label, np.asarray(proba, dtype=np.float64).argmax(axis=1))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0, 1, 2], None),
        (np.array([0, 1, 2], dtype=np.uint8), None),
        ([0.0, 1.0, 2.0], None),
        (["cat", "dog", "owl"], ["cat", "dog", "owl"]),
        (pd.Series(["cat", "dog", "owl"]), ["cat", "dog", "owl"]),
        (pd.Categorical(["cat", "dog", "owl"]), ["cat", "dog", "owl"]),
        (pd.Series([0, 1, 2], index=[5, 6, 7]), None),
        (np.array(["0", "1", "2"]), None),
        (np.array([0, 1, 2], dtype=object), ["cat", "dog", "owl"]),
    ],
)
def test_labels_by_code_or_by_name(labels, names):
    p = Predictions(PROBA, labels, names)
    assert p.labels is not None
    assert p.labels.dtype == np.int64
    assert p.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (PROBA[:, :1],),
            r"proba needs at least 2 columns, one per class; got shape \(\d+, 1\).*\[1 - p, p\]",
        ),
        ((PROBA[0],), "proba must be an .*got shape"),
        ((PROBA[None],), "proba must be an .*got shape"),
        ((PROBA[:0],), "proba is empty"),
        ((PROBA / 2,), "3 of 3 rows of proba do not sum to 1; row 0 sums to 0.5"),
        ((PROBA * 100,), r"must lie in \[0, 1\]; got 80 in row 1, column 2.*divide percentages by 100"),
        ((-PROBA,), r"must lie in \[0, 1\]; got -0.8 in row 1, column 2.*from_logits"),
        (([[0.5, np.nan]],), "1 values that are NaN or infinite; the first is in row 0, column 1"),
        (([[0.5, np.inf]],), "NaN or infinite"),
        (([["a", "b"]],), "proba must be numbers"),
        (([[0.5 + 1j, 0.5]],), "proba must be numbers; got complex"),
        (([[0.5, 0.5], [1.0]],), "proba must be numbers"),
        ((PROBA, [0, 1]), r"labels .*expected shape \(3,\), got \(2,\)"),
        ((PROBA, [[[0]], [[1]], [[2]]]), r"expected shape \(3,\), got \(3, 1, 1\)"),
        ((PROBA, [0, 1, 3]), r"class codes 0\.\.2; got 3 in row 2. Labels that count from 1 need 1 subtr"),
        ((PROBA, [0, 1, 9]), r"class codes 0\.\.2; got 9 in row 2\.$"),
        ((PROBA, [0, -1, 2]), "got -1 in row 1"),
        ((PROBA, [0, 1.5, 2]), "whole class codes; got 1.5 in row 1"),
        ((PROBA, [0, np.nan, 2]), "labels must not be missing; got nan in row 1"),
        ((PROBA, np.array([0, 2**63, 2], dtype=np.uint64)), r"0\.\.2; got 9.223372036854776e\+18 in row 1"),
        ((PROBA, [0, 1e30, 2]), r"class codes 0\.\.2; got 1e\+30 in row 1"),
        (
            (PROBA, ["a", "b", "c"]),
            "3 label name.* match no class, for example 'a'; the classes are '0'",
        ),
        ((PROBA, None, ["a", "b"]), "one name per column: got 2 names for 3"),
        ((PROBA, None, ["a", "b", "a"]), "class_names must be distinct; 'a' occurs more than once"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        Predictions(*arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5, 1.5])
@pytest.mark.parametrize("row", [0, 77_777, 149_999])
def test_one_bad_value_is_found_in_any_block(bad, row):
    proba = np.full((150_000, 2), 0.5)
    proba[row, 1] = bad
    with pytest.raises(InputError, match=f"row {row}, column 1"):
        Predictions(proba)


def test_rounding_is_accepted_up_to_the_tolerance():
    assert Predictions([[0.5005, 0.5]]).n_samples == 1
    with pytest.raises(InputError, match="do not sum to 1"):
        Predictions([[0.502, 0.5]])
    assert Predictions([[1.0 + 1e-9, 0.0]]).confidence.tolist() == [1.0]


def test_from_logits_is_softmax():
    logits = np.array([[0.0, np.log(3.0)], [1000.0, 0.0], [-1000.0, -1000.0]], dtype=np.float64)
    p = Predictions.from_logits(logits, [0, 1, 1], ["no", "yes"])
    np.testing.assert_allclose(p.proba, [[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]], atol=1e-15)
    assert p.class_names == ("no", "yes")
    with pytest.raises(InputError, match="logits holds 1 values that are NaN or infinite"):
        Predictions.from_logits([[0.0, np.inf]])
    narrow = Predictions.from_logits(np.array([[0.1, 0.2]], dtype=np.float32))
    assert narrow.proba.dtype == np.float64


def test_frozen_and_read_only():
    p = Predictions(PROBA, [0, 1, 2])
    with pytest.raises(AttributeError):
        p.labels = None
    for array in (p.proba, p.labels, p.label, p.confidence, p.top.label, p.top.confidence):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_arrays_can_change_without_harm(dtype):
    """A cached label or fingerprint must not go stale, and the caller's array stays the caller's."""
    proba, labels = PROBA.astype(dtype), np.array([0, 1, 2])
    p = Predictions(proba, labels)
    digest = p.fingerprint
    proba[:] = np.eye(3)
    labels[:] = 0
    assert p.proba.tolist() == PROBA.astype(dtype).tolist()
    assert p.labels.tolist() == [0, 1, 2]
    assert Predictions(p.proba, p.labels).fingerprint == digest
    confidence = np.array([0.5, 0.6])
    top = TopLabelPrediction([0, 1], confidence)
    confidence[:] = 0.0
    assert top.confidence.tolist() == [0.5, 0.6]


def test_frozen_arrays_are_shared_not_copied():
    p = Predictions(PROBA, [0, 1, 2])
    again = Predictions(p.proba, p.labels)
    assert np.shares_memory(again.proba, p.proba)
    assert np.shares_memory(p.top.confidence, p.confidence)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
@pytest.mark.parametrize("cached", [False, True], ids=["fresh", "cached"])
def test_copies_are_equal_and_frozen(copied, cached):
    p = Predictions(PROBA, [0, 1, 2], ["a", "b", "c"])
    if cached:
        assert p.label is not None
        assert p.confidence is not None
        assert p.fingerprint
    other = copied(p)
    assert other.fingerprint == p.fingerprint
    assert other.label.tolist() == p.label.tolist()
    with pytest.raises(AttributeError):
        other.labels = None
    for array in (other.proba, other.labels, other.label, other.confidence):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(
    seeds,
    st.integers(2, 70),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([(0.0, 0.25, 0.5, 1.0), (0.0, -0.0, 0.25), (0.5, -1.0, -np.inf, np.inf), (0.5, np.nan)]),
)
def test_highest_is_the_first_of_the_highest_of_any_numbers(seed, n_columns, dtype, numbers):
    random = np.random.default_rng(seed)
    matrix = random.choice([*numbers, *(100 * numbers[:1])], (50, n_columns)).astype(dtype)
    label, top = highest(matrix)
    assert label.tolist() == matrix.argmax(axis=1).tolist()
    assert np.array_equal(top, matrix[np.arange(50), label], equal_nan=True)
    assert [found.tobytes() for found in highest(np.asfortranarray(matrix))] == [
        label.tobytes(),
        top.tobytes(),
    ]


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, -0.1, 1.1, -0.0, 1.0, 1.0 + 1e-7, 0.25])
@pytest.mark.parametrize("n_columns", [3, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_few_and_of_many_classes_are_checked(dtype, n_columns, value):
    """Of many classes, one pass checks and finds the highest: it must refuse and cap as the check alone."""
    matrix = np.full((4, n_columns), 0.25, dtype)
    matrix[:, 1], matrix[2, n_columns - 1] = 0.5, value
    if not -1e-9 <= value <= 1.0 + 1e-6:
        with pytest.raises(InputError):
            as_predictions(matrix)
        return
    rows = as_predictions(matrix)
    assert rows.label.tolist() == matrix.argmax(axis=1).tolist()
    assert rows.confidence.tolist() == [0.5, 0.5, min(max(float(dtype(value)), 0.5), 1.0), 0.5]
    assert not rows.label.flags.writeable


def test_fingerprint_sees_every_difference():
    variants = [
        Predictions(PROBA, [0, 1, 2]),
        Predictions(PROBA),
        Predictions(PROBA, [0, 1, 1]),
        Predictions(PROBA, [0, 1, 2], ["a", "b", "c"]),
        Predictions(PROBA[:, ::-1], [0, 1, 2]),
        Predictions(PROBA[:2], [0, 1]),
        Predictions(PROBA.astype(np.float32), [0, 1, 2]),
        Predictions(PROBA + [[1e-16, 0, 0], [0, 0, 0], [0, 0, 0]], [0, 1, 2]),
    ]
    assert len({p.fingerprint for p in variants}) == len(variants)
    assert Predictions(PROBA.tolist(), (0, 1, 2)).fingerprint == variants[0].fingerprint


@given(seeds, st.integers(2, 80), st.floats(0.05, 0.95))
def test_split_gives_every_class_its_share_to_within_one_row(seed, n_samples, share):
    rng = np.random.default_rng(seed)
    proba, y = oracles.random_predictions(rng, n_samples, 4)
    proba = proba + np.arange(n_samples)[:, None] * 1e-9  # rows can be told apart
    p = Predictions(proba, y)
    assume(1 <= share * n_samples <= n_samples - 1)
    calibration, evaluation = p.split(share, random_state=seed)
    together = np.concatenate([calibration.proba, evaluation.proba])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(proba, axis=0))
    for code in range(4):
        expected = share * np.sum(y == code)
        assert abs(np.sum(calibration.labels == code) - expected) <= 1 + 1e-6
    again, _ = p.split(share, random_state=seed)
    assert again.fingerprint == calibration.fingerprint


def test_split_and_take_refuse_what_cannot_be_done():
    with pytest.raises(InputError, match="true labels are needed"):
        Predictions(PROBA).split()
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match=r"calibration must be inside \(0, 1\), for example 0.5; got"):
            Predictions(PROBA, [0, 1, 2]).split(share)
    with pytest.raises(InputError, match="3 rows cannot be split with calibration=0.01: one side is empty"):
        Predictions(PROBA, [0, 1, 2]).split(0.01)
    with pytest.raises(InputError, match="no rows were chosen"):
        Predictions(PROBA).take([])


def test_take_keeps_classes_and_order():
    p = Predictions(PROBA, [0, 1, 2], ["a", "b", "c"])
    for rows in ([2, 0], np.array([2, 0])):
        chosen = p.take(rows)
        assert chosen.proba.tolist() == PROBA[[2, 0]].tolist()
        assert chosen.labels.tolist() == [2, 0]
        assert chosen.class_names == ("a", "b", "c")
    masked = p.take(p.labels > 0)
    assert p[pd.Series(p.labels > 0)].labels.tolist() == masked.labels.tolist()
    assert masked.labels.tolist() == [1, 2]


def test_top_label_prediction_is_checked():
    top = TopLabelPrediction([0, 2], [0.5, 1.0])
    assert len(top) == 2
    for label, confidence, message in (
        ([0], [0.5, 0.5], "label must hold one class code per row"),
        ([-1], [0.5], "label must be class codes 0 or more; got -1"),
        ([0], [1.5], r"confidence must lie in \[0, 1\]; got 1.5 in row 0"),
        ([0], [np.nan], "confidence holds 1 values"),
    ):
        with pytest.raises(InputError, match=message):
            TopLabelPrediction(label, confidence)


def test_scores_need_not_sum_to_one():
    assert as_scores([[0.9, 0.9], [0.0, 0.0]], ndim=2, what="scores").tolist() == [[0.9, 0.9], [0.0, 0.0]]
    assert as_labels([0, 3], 2, 4).tolist() == [0, 3]


def test_representation_names_the_shape():
    assert repr(Predictions(PROBA)) == "<Predictions: 3 rows x 3 classes, without labels>"
    assert repr(Predictions(PROBA, [0, 1, 2])) == "<Predictions: 3 rows x 3 classes, with labels>"


def test_columns_are_put_in_the_order_of_other_names():
    mine = Predictions([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], [0, 2], ["c", "a", "b"])
    ordered = mine.in_order_of(["a", "b", "c"])
    np.testing.assert_array_equal(ordered.proba, [[0.2, 0.1, 0.7], [0.6, 0.3, 0.1]])
    assert ordered.labels.tolist() == [2, 1]
    assert mine.in_order_of(["c", "a", "b"]) is mine
    assert mine.in_order_of(["0", "1", "2"]) is mine  # the default names are no names
    with pytest.raises(InputError, match="class 'b' is none of the expected"):
        mine.in_order_of(["a", "c", "d"])
    with pytest.raises(InputError, match="got 3 classes; expected 2"):
        mine.in_order_of(["a", "b"])


@pytest.mark.parametrize(("n_rows", "n_columns"), [(300, 3), (400, 1_000), (12, 4_001)])
def test_a_matrix_is_taken_over_block_by_block(n_rows, n_columns):
    """Of any order and width; in the last row, a sum and a value are seen."""
    proba = np.asfortranarray(np.random.default_rng(0).dirichlet(np.ones(n_columns), n_rows))
    proba.flags.writeable = False
    taken = Predictions(proba)
    np.testing.assert_array_equal(taken.proba, proba)
    assert taken.proba.flags.c_contiguous
    for last, message in ((0.5, "do not sum to 1"), (-0.5, r"must lie in \[0, 1\]"), (np.nan, "finite")):
        wrong = proba.copy()
        wrong[-1] = last / n_columns
        with pytest.raises(InputError, match=message):
            Predictions(wrong)
    with pytest.raises(InputError, match="at least 2 columns"):
        Predictions(np.ones((n_rows, 1)))


def test_columns_with_roles_are_those_that_have_one():
    further = pd.DataFrame({"id": ["a", "b"], "age": [30, 40]})
    rows = Predictions([[0.7, 0.3], [0.4, 0.6]], [0, 1], metadata=further, columns={"id": "id"})
    pd.testing.assert_frame_equal(rows.columns_with_roles(), further[["id"]])
    assert rows.with_metadata(None).columns_with_roles() is None
    assert rows.with_metadata(further[["age"]]).columns_with_roles() is None


@pytest.mark.parametrize("rows", [(0, 9), [0.5], "x", None, [True], {"a": 1}])
def test_rows_are_chosen_by_numbers_or_a_mask(rows):
    with pytest.raises(InputError, match="rows"):
        Predictions(PROBA).take(rows)


def test_a_tuple_chooses_rows():
    assert Predictions(PROBA).take((2, 0)).proba.tolist() == PROBA[[2, 0]].tolist()


def test_answers_without_a_question_are_refused():
    with pytest.raises(InputError, match="no id in 1 of 2 rows"):
        ConfidencePrediction.from_samples(["a", "b"], ["a", "b"], question=["q", None])
