"""Algorithm 5 for every notion against its literal form, and what each notion may not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from calib import (
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    PlattScaling,
    Predictions,
    TopLabelPrediction,
    accuracy,
)
from tests import oracles

EXACT = {"rtol": 0, "atol": 1e-12}
seeds = st.integers(0, 2**32 - 1)


def data(seed, n_classes=4, n_samples=160, digits=2, dtype=float):
    rng = np.random.default_rng(seed)
    proba, y = oracles.random_predictions(rng, n_samples, n_classes, digits=digits, dtype=dtype)
    test, _ = oracles.random_predictions(rng, 70, n_classes, digits=digits, dtype=dtype)
    return proba, y, test


def outputs(calibrator, test):
    """Calibrated scores per claim, as the literal implementation lists them."""
    if calibrator.notion == "class-wise":
        return calibrator.predict_proba(test).T
    if calibrator.notion.startswith("top-k"):
        return calibrator.predict_top_k(test)[1].T
    return calibrator.predict_top(test).confidence[None, :]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fallback", ["identity", "pooled"])
@pytest.mark.parametrize("size", [{"points_per_bin": 20}, {"n_bins": 3}], ids=["fixed k", "fixed B"])
@pytest.mark.parametrize("notion", oracles.NOTIONS)
@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_calibrated_scores_equal_the_literal_algorithm(notion, size, fallback, n_classes, dtype):
    """Algorithms 1, 2, 3, 6 and 7 with histogram binning."""
    proba, y, test = data(n_classes, n_classes, dtype=dtype)
    m2b = MulticlassToBinary(HistogramBinning(**size), notion=notion, fallback=fallback).fit(proba, y)
    expected = oracles.histogram_m2b(proba, y, test, notion, fallback=fallback, **size)
    np.testing.assert_allclose(outputs(m2b, test), expected, **EXACT)


@pytest.mark.parametrize("notion", ["top-k-confidence", "top-k-label"])
@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_top_k_gives_the_ranked_classes_and_their_scores(notion, top_k):
    proba, y, test = data(1)
    m2b = MulticlassToBinary(HistogramBinning(n_bins=4), notion=notion, top_k=top_k).fit(proba, y)
    labels, confidences = m2b.predict_top_k(test)
    assert labels.tolist() == [oracles.ranking(row)[:top_k] for row in test.tolist()]
    expected = oracles.histogram_m2b(proba, y, test, notion, n_bins=4, top_k=top_k)
    np.testing.assert_allclose(confidences.T, expected, **EXACT)


@pytest.mark.parametrize("n_classes", [100, 1000])
@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_many_classes(notion, n_classes):
    proba, y, test = data(3, n_classes, n_samples=60, digits=3)
    m2b = MulticlassToBinary(HistogramBinning(points_per_bin=25), notion=notion, fallback="pooled")
    expected = oracles.histogram_m2b(proba, y, test, notion, fallback="pooled", points_per_bin=25)
    np.testing.assert_allclose(outputs(m2b.fit(proba, y), test), expected, **EXACT)


def test_top_label_by_hand():
    """Class 0: scores 0.6, 0.7 right once in two; class 1: right twice in two; class 2 is never predicted."""
    proba = [[0.6, 0.4, 0], [0.7, 0.3, 0], [0.2, 0.8, 0], [0.1, 0.9, 0]]
    m2b = MulticlassToBinary(HistogramBinning(points_per_bin=2)).fit(proba, [0, 1, 1, 1])
    top = m2b.predict_top([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.1, 0.2, 0.7]])
    assert top.label.tolist() == [0, 1, 2]
    assert top.confidence.tolist() == [0.5, 1.0, 0.7]
    assert m2b.n_points_.tolist() == [2, 2, 0]
    (fallback,) = m2b.fallbacks_
    assert (fallback.label, fallback.n_points, fallback.needed, fallback.used) == (2, 0, 2, "identity")


def test_pooled_fallback_by_hand():
    """Class 2 borrows the frequency of all four rows, 3/4."""
    proba = [[0.6, 0.4, 0], [0.7, 0.3, 0], [0.2, 0.8, 0], [0.1, 0.9, 0]]
    m2b = MulticlassToBinary(HistogramBinning(n_bins=1, points_per_bin=2), fallback="pooled")
    top = m2b.fit(proba, [0, 1, 1, 1]).predict_top([[0.1, 0.2, 0.7]])
    assert top.confidence.tolist() == [0.75]
    assert m2b.fallbacks_[0].used == "pooled"


def test_pooled_calibrator_with_too_few_rows_is_identity():
    proba, y = np.array([[0.6, 0.4], [0.3, 0.7]]), [0, 1]
    m2b = MulticlassToBinary(HistogramBinning(points_per_bin=3), fallback="pooled").fit(proba, y)
    assert m2b.predict_top(proba).confidence.tolist() == [0.6, 0.7]
    assert {fallback.used for fallback in m2b.fallbacks_} == {"identity"}


def test_fallbacks_of_top_k_name_class_and_rank():
    proba = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.6, 0.1, 0.3]]
    m2b = MulticlassToBinary(HistogramBinning(points_per_bin=2), notion="top-k-label", top_k=2)
    m2b.fit(proba, [0, 0, 1])
    short = {(fallback.rank, fallback.label, fallback.n_points) for fallback in m2b.fallbacks_}
    assert short == {(0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 2, 1)}


def test_normalised_class_wise_by_hand():
    """Algorithm 4. One bin per class predicts the class frequencies 3/4, 1/4, 0 whatever the scores."""
    proba = np.array([[0.2, 0.5, 0.3]] * 4)
    y = [0, 0, 0, 1]
    class_wise = MulticlassToBinary(HistogramBinning(n_bins=1), notion="class-wise").fit(proba, y)
    assert class_wise.predict_proba(proba[:1]).tolist() == [[0.75, 0.25, 0.0]]
    assert class_wise.predict(proba).tolist() == [0] * 4


@given(seeds, st.integers(2, 6))
def test_normalised_rows_are_class_wise_rows_over_their_sum(seed, n_classes):
    proba, y, test = data(seed, n_classes, n_samples=40)
    fitted = [
        MulticlassToBinary(HistogramBinning(n_bins=3), notion="class-wise", normalize=normalize).fit(proba, y)
        for normalize in (False, True)
    ]
    class_wise, normalised = (calibrator.predict_proba(test) for calibrator in fitted)
    sums = class_wise.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(normalised.sum(axis=1), 1.0, **EXACT)
    positive = sums[:, 0] > 0
    np.testing.assert_allclose(normalised[positive], class_wise[positive] / sums[positive], **EXACT)
    assert (normalised[~positive] == 1 / n_classes).all()


def test_rows_that_sum_to_zero_become_uniform():
    """Both classes have frequency 0 in their low bin; a row low in both has nothing to divide by."""
    scores = np.array([[0.9, 0.1], [0.1, 0.9]] * 3)
    m2b = MulticlassToBinary(HistogramBinning(n_bins=2), notion="class-wise", normalize=True)
    m2b.fit(scores, [0, 1] * 3)
    assert m2b.predict_proba([[0.2, 0.2]]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("notion", ["confidence", "top-label", "top-k-confidence", "top-k-label"])
def test_scalar_notions_never_change_the_announced_class(notion):
    proba, y, test = data(8)
    m2b = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion).fit(proba, y)
    assert m2b.predict(test).tolist() == test.argmax(axis=1).tolist()
    assert accuracy(y, m2b.predict(proba)) == accuracy(y, proba)
    if notion in ("confidence", "top-label"):
        assert m2b.predict_top(test).label.tolist() == test.argmax(axis=1).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("notion", ["confidence", "top-label"])
def test_completed_rows_share_the_rest_in_proportion(notion, dtype):
    proba, y, test = data(6, dtype=dtype)
    test[0] = np.eye(4)[2]  # nothing to share: the others share equally
    m2b = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion, complete="rescale").fit(proba, y)
    completed, top = m2b.predict_proba(test), m2b.predict_top(test)
    for row, base, label, confidence in zip(completed, test, top.label, top.confidence, strict=True):
        others = [code for code in range(4) if code != label]
        rest = sum(float(base[code]) for code in others)
        assert row[label] == pytest.approx(confidence, abs=1e-12)
        for code in others:
            share = float(base[code]) / rest if rest else 1 / 3
            assert row[code] == pytest.approx((1 - confidence) * share, abs=1e-12)


def test_each_notion_has_only_its_own_outputs():
    methods = {"predict_top", "predict_top_k", "predict_proba"}
    expected = {
        "confidence": {"predict_top"},
        "top-label": {"predict_top"},
        "class-wise": {"predict_proba"},
        "top-k-confidence": {"predict_top_k"},
        "top-k-label": {"predict_top_k"},
    }
    for notion, names in expected.items():
        m2b = MulticlassToBinary(notion=notion)
        assert {name for name in methods if hasattr(m2b, name)} == names


def test_matrix_and_predictions_give_the_same_calibrator():
    proba, y, test = data(2, digits=None)
    for notion in oracles.NOTIONS:
        item = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion).fit(proba, y)
        other = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion).fit(Predictions(proba, y), y)
        after = other.predict(Predictions(test))
        expected = outputs(item, test)[0] if notion != "class-wise" else outputs(item, test).T
        scores = after.proba if notion == "class-wise" else after.confidence
        assert (outputs(other, test) == outputs(item, test)).all()
        assert (scores == expected).all()


@pytest.mark.parametrize("notion", oracles.NOTIONS)
def test_row_order_absent_classes_and_input_are_respected(notion):
    proba, y, test = data(9)
    before = proba.copy(), y.copy(), test.copy()
    order = np.random.default_rng(0).permutation(len(y))
    item = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion).fit(proba, y)
    other = MulticlassToBinary(HistogramBinning(n_bins=3), notion=notion).fit(proba[order], y[order])
    assert (outputs(item, test) == outputs(other, test)).all()
    assert item.n_classes_ == 4
    assert outputs(item, test[:1]).shape[1] == 1
    assert all((now == then).all() for now, then in zip((proba, y, test), before, strict=True))


def test_refit_starts_fresh_and_clone_is_unfitted():
    proba, y, test = data(5)
    m2b = MulticlassToBinary(HistogramBinning(n_bins=2))
    first = m2b.fit(proba, y).predict_top(test).confidence
    m2b.fit(proba[:20], y[:20])
    assert (m2b.fit(proba, y).predict_top(test).confidence == first).all()
    assert not hasattr(m2b.binary, "edges_")
    with pytest.raises(NotFittedError):
        clone(m2b).predict_top(test)


class Half(BaseEstimator):
    """A binary calibrator with the least that is asked of one."""

    def fit(self, scores, outcomes):
        self.n_ = len(scores)
        return self

    def predict(self, scores):
        return np.full(len(scores), 0.5)


def test_any_binary_calibrator_serves():
    proba, y, test = data(5)
    m2b = MulticlassToBinary(Half()).fit(proba, y)
    expected = np.where(m2b.n_points_[test.argmax(axis=1)] > 0, 0.5, test.max(axis=1))
    assert m2b.predict_top(test).confidence.tolist() == expected.tolist()
    picky = MulticlassToBinary(Half(), min_points=10_000).fit(proba, y)
    assert picky.predict_top(test).confidence.tolist() == test.max(axis=1).tolist()


def test_calibrated_predictions_can_be_assessed():
    proba, y, test = data(5)
    top = MulticlassToBinary(HistogramBinning(n_bins=2)).fit(proba, y).predict_top(test)
    assert isinstance(top, TopLabelPrediction)
    assert len(top) == 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"notion": "canonical"}, "notion must be one of"),
        ({"normalize": True}, 'normalize=True needs notion "class-wise"; got "top-label"'),
        ({"fallback": "mean"}, 'fallback must be "identity", "pooled" or "shrink"; got \'mean\''),
        ({"complete": "softmax"}, "complete must be None or \"rescale\"; got 'softmax'"),
        ({"complete": "rescale", "notion": "class-wise"}, "complete belongs to"),
        ({"top_k": 2}, "top_k belongs to the top-K notions"),
        ({"top_k": 9, "notion": "top-k-label"}, "top_k must be at most the number of classes, 2; got 9"),
        ({"min_points": 0}, "min_points must be a whole number of at least 1; got 0"),
        ({"binary": HistogramBinning(points_per_bin=0)}, "points_per_bin must be a whole number"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(InputError, match=message):
        MulticlassToBinary(**options).fit([[0.6, 0.4], [0.2, 0.8]], [0, 1])


def test_wrong_number_of_columns_is_named():
    proba, y, _ = data(5)
    m2b = MulticlassToBinary(HistogramBinning(n_bins=2)).fit(proba, y)
    with pytest.raises(InputError, match="fitted on 4 classes; got 2 columns"):
        m2b.predict_top([[0.6, 0.4]])


def test_rows_of_zeros_are_shared_evenly_when_normalised():
    """Bins of value 0 are told apart by multiples of 2.2e-16; these must not become probabilities."""
    random = np.random.default_rng(1)
    y = np.repeat(np.arange(10), 100)
    proba = random.uniform(0, 0.01, (1000, 10))
    proba[np.arange(1000), y] = 0
    proba[np.arange(1000), y] = 1 - proba.sum(axis=1)
    fitted = MulticlassToBinary(HistogramBinning(points_per_bin=50), notion="class-wise", normalize=True)
    fitted.fit(proba, y)
    row = np.array([[0.4, 0.3, 0.2, 0.002, 0.003, 0.005, 0.006, 0.007, 0.008, 0.069]])
    np.testing.assert_array_equal(fitted.predict_proba(row), np.full((1, 10), 0.1))


def test_completed_rows_are_finite_when_the_rest_is_next_to_nothing():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), 60)
    fitted = MulticlassToBinary(PlattScaling(), complete="rescale").fit(proba, random.integers(0, 3, 60))
    completed = fitted.predict_proba(np.array([[1.0, 4.9e-324, 0.0]]))
    assert np.isfinite(completed).all()
    assert completed.sum() == pytest.approx(1.0)


def test_a_calibrator_without_probabilities_says_what_it_has():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    for notion, instead in (("top-label", "predict_top, or complete"), ("top-k-label", "predict_top_k")):
        model = MulticlassToBinary(PlattScaling(), notion=notion).fit(proba, np.arange(60) % 3)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match=f"{notion}.* gives no predict_proba: use {instead}"):
            _ = model.predict_proba
    with pytest.raises(AttributeError, match="no attribute 'proba'"):
        _ = model.proba
