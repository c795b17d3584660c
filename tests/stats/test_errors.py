"""Calibration errors against hand arithmetic, literal loops, closed forms and the paper's tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import (
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    Predictions,
    TopLabelPrediction,
    accuracy,
    brier_score,
    ece,
    log_loss,
    mce,
    sharpness,
)
from tests import oracles

EXACT = {"rel": 0, "abs": 1e-11}
seeds = st.integers(0, 2**32 - 1)
notions = st.sampled_from(oracles.NOTIONS)
strategies = st.sampled_from(oracles.STRATEGIES)


@pytest.fixture(scope="module", params=["float32", "float64"])
def dtype(request):
    return np.dtype(request.param)


def test_two_patients_hear_the_same_but_live_differently():
    """Example 1: both hear 0.6; P(Y = 0 | c = 0) = 0.2, P(Y = 1 | c = 1) = 1.

    conf-ECE = |(0.2 + 1)/2 - 0.6| = 0;  TL-ECE = 0.5 |0.2 - 0.6| + 0.5 |1 - 0.6| = 0.4.
    """
    proba = np.array([[0.6, 0.4, 0, 0]] * 5 + [[0.4, 0.6, 0, 0]] * 5)
    y = [0, 2, 2, 2, 2, 1, 1, 1, 1, 1]
    for strategy in oracles.STRATEGIES:
        assert ece(y, proba, notion="confidence", strategy=strategy) == pytest.approx(0.0, **EXACT)
        assert ece(y, proba, notion="top-label", strategy=strategy) == pytest.approx(0.4, **EXACT)
        assert mce(y, proba, notion="confidence", strategy=strategy) == pytest.approx(0.0, **EXACT)
        assert mce(y, proba, strategy=strategy) == pytest.approx(0.4, **EXACT)


def test_four_rows_by_hand():
    """Two bins. c = (0, 0, 1, 1), h = (0.75, 0.625, 0.875, 0.5), right = (1, 0, 1, 1): all in [0.5, 1].

    conf-ECE = |3/4 - 2.75/4| = 0.0625.
    Class 0: |1/2 - 0.6875| = 0.1875; class 1: |1 - 0.6875| = 0.3125; TL-ECE = half of each = 0.25.
    TL-RMSE = sqrt((0.1875^2 + 0.3125^2) / 2) = sqrt(0.06640625).
    """
    proba = np.array([[0.75, 0.25], [0.625, 0.375], [0.125, 0.875], [0.5 - 1e-9, 0.5 + 1e-9]])
    y = [0, 1, 1, 1]
    near = {"rel": 0, "abs": 1e-8}
    assert ece(y, proba, notion="confidence", n_bins=2) == pytest.approx(0.0625, **near)
    assert ece(y, proba, n_bins=2) == pytest.approx(0.25, **near)
    assert ece(y, proba, n_bins=2, norm=2) == pytest.approx(0.06640625**0.5, **near)
    assert mce(y, proba, n_bins=2) == pytest.approx(0.3125, **near)
    assert mce(y, proba, n_bins=2, aggregate="bin") == pytest.approx(0.25, **near)
    # E[Z | cell]^2 weighted: class 0 has 1/2, class 1 has 1: (1/4 + 1) / 2.
    assert sharpness(y, proba, n_bins=2) == pytest.approx(0.625, **near)


def test_class_wise_error_is_the_mean_over_classes_by_hand():
    """One bin. Class means of scores: (0.4, 0.35, 0.25); frequencies (1/2, 1/2, 0).

    CW-ECE = (0.1 + 0.15 + 0.25) / 3; CW-MCE = 0.25.
    """
    proba = [[0.6, 0.2, 0.2], [0.2, 0.5, 0.3]]
    assert ece([0, 1], proba, notion="class-wise", n_bins=1) == pytest.approx(0.5 / 3, **EXACT)
    assert mce([0, 1], proba, notion="class-wise", n_bins=1) == pytest.approx(0.25, **EXACT)


@pytest.mark.parametrize("notion", oracles.NOTIONS)
@pytest.mark.parametrize("strategy", oracles.STRATEGIES)
@pytest.mark.parametrize("digits", [None, 2], ids=["continuous", "tied"])
def test_errors_equal_the_literal_loops(notion, strategy, digits, dtype):
    rng = np.random.default_rng(5)
    for n_samples, n_classes, n_bins in ((1, 2, 3), (60, 2, 1), (150, 4, 7), (120, 7, 15), (40, 5, 60)):
        proba, y = oracles.random_predictions(rng, n_samples, n_classes, digits=digits, dtype=dtype)
        options = {"notion": notion, "n_bins": n_bins, "strategy": strategy}
        for norm in (1, 2, 3.5):
            expected = oracles.ece(y, proba, norm=norm, **options)
            assert ece(y, proba, norm=norm, **options) == pytest.approx(expected, **EXACT)
        for aggregate in ("cell", "bin"):
            expected = oracles.mce(y, proba, aggregate=aggregate, **options)
            assert mce(y, proba, aggregate=aggregate, **options) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("notion", ["top-k-confidence", "top-k-label"])
@pytest.mark.parametrize("top_k", [1, 3, 4])
def test_top_k_errors_equal_the_literal_loops(notion, top_k):
    proba, y = oracles.random_predictions(np.random.default_rng(2), 90, 4, digits=1)
    expected = oracles.ece(y, proba, notion, 8, "uniform", 1, top_k)
    assert ece(y, proba, notion=notion, n_bins=8, top_k=top_k) == pytest.approx(expected, **EXACT)
    if top_k == 1:
        scalar = {"top-k-confidence": "confidence", "top-k-label": "top-label"}[notion]
        assert ece(y, proba, notion=scalar, n_bins=8) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("n_classes", [100, 1000])
def test_many_classes_equal_the_literal_loops(n_classes, dtype):
    proba, y = oracles.random_predictions(np.random.default_rng(7), 25, n_classes, dtype=dtype)
    for notion in ("confidence", "top-label", "class-wise"):
        options = {"notion": notion, "n_bins": 10, "strategy": "uniform"}
        expected = oracles.ece(y, proba, norm=1, **options)
        assert ece(y, proba, **options) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("notion", oracles.NOTIONS)
def test_large_samples_lose_no_digits(notion, dtype):
    """Cells of few rows among 100,000: sums by `math.fsum` and bins by counting edges, vectorised."""
    rng = np.random.default_rng(11)
    proba, y = oracles.random_predictions(rng, 100_000, 3, dtype=dtype)
    proba[:5] = [[1.0, 0.0, 0.0], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.34, 0.33, 0.33], [0.3, 0.3, 0.4]]
    gaps, shares = [], []
    ranked = np.argsort(-proba, axis=1, kind="stable")
    for claim in range(1 if notion in ("confidence", "top-label") else 3):
        code = np.full(len(y), claim) if notion == "class-wise" else ranked[:, claim]
        score = proba[np.arange(len(y)), code].astype(float)
        bin_ = sum((score >= j / 40).astype(int) for j in range(1, 40))
        owner = code if notion in ("top-label", "top-k-label") else 0 * code
        cell = owner * 40 + bin_
        for number in np.unique(cell):
            in_cell = cell == number
            gaps.append(
                np.mean(y[in_cell] == code[in_cell])
                - float(np.sum(score[in_cell].astype(np.longdouble)) / in_cell.sum())
            )
            shares.append(in_cell.mean() / (1 if notion in ("confidence", "top-label") else 3))
    expected = float(np.dot(shares, np.abs(gaps)))
    assert ece(y, proba, notion=notion, n_bins=40, top_k=None) == pytest.approx(expected, **EXACT)
    assert mce(y, proba, notion=notion, n_bins=40) == pytest.approx(np.abs(gaps).max(), **EXACT)


@given(seeds, st.integers(1, 80), st.integers(2, 6), st.integers(1, 20), strategies)
def test_confidence_error_never_exceeds_top_label_error(seed, n_samples, n_classes, n_bins, strategy):
    """Proposition 1, for every shared binning; equal-mass and discrete bins are made per problem."""
    proba, y = oracles.random_predictions(np.random.default_rng(seed), n_samples, n_classes, digits=2)
    options = {"n_bins": n_bins, "strategy": strategy}
    if strategy != "quantile":
        assert ece(y, proba, notion="confidence", **options) <= ece(y, proba, **options) + 1e-12
        assert mce(y, proba, notion="confidence", **options) <= mce(y, proba, **options) + 1e-12


@given(
    seeds,
    st.integers(1, 60),
    st.integers(2, 6),
    st.sampled_from(oracles.NOTIONS),
    st.sampled_from(oracles.STRATEGIES),
)
def test_errors_are_ordered_bounded_and_blind_to_row_order(seed, n_samples, n_classes, notion, strategy):
    rng = np.random.default_rng(seed)
    proba, y = oracles.random_predictions(rng, n_samples, n_classes, digits=2)
    options = {"notion": notion, "n_bins": 9, "strategy": strategy}
    low, high = ece(y, proba, **options), mce(y, proba, **options)
    assert 0.0 <= low <= ece(y, proba, norm=2, **options) + 1e-12 <= high + 2e-12 <= 1.0 + 3e-12
    assert mce(y, proba, aggregate="bin", **options) <= high + 1e-12
    order = rng.permutation(n_samples)
    assert ece(y[order], proba[order], **options) == pytest.approx(low, **EXACT)
    assert mce(y[order], proba[order], **options) == pytest.approx(high, **EXACT)


@given(seeds, st.integers(2, 6), st.sampled_from(["confidence", "top-label", "class-wise"]))
def test_errors_follow_renamed_classes(seed, n_classes, notion):
    """Permuting columns and codes together changes nothing where no two scores of a row tie."""
    rng = np.random.default_rng(seed)
    proba, y = oracles.random_predictions(rng, 50, n_classes)
    order = rng.permutation(n_classes)
    moved = np.empty_like(proba)
    moved[:, order] = proba
    assert ece(order[y], moved, notion=notion) == pytest.approx(ece(y, proba, notion=notion), **EXACT)


@given(seeds, notions)
def test_float32_is_read_as_the_float64_of_the_same_value(seed, notion):
    proba, y = oracles.random_predictions(np.random.default_rng(seed), 80, 4, digits=2, dtype=np.float32)
    wide = proba.astype(np.float64)
    for strategy in oracles.STRATEGIES:
        options = {"notion": notion, "n_bins": 10, "strategy": strategy}
        assert ece(y, proba, **options) == pytest.approx(ece(y, wide, **options), **EXACT)


@pytest.mark.parametrize("scores", [np.zeros((3, 2)), np.array([[-0.0, 1.0], [0.0, 1.0], [-0.0, 1.0]])])
def test_zeros_of_either_sign_are_one_value(scores, dtype):
    proba = scores.astype(dtype)
    assert ece([1, 0, 1], proba, notion="class-wise", strategy="discrete") == pytest.approx(
        (1 / 3 + abs(2 / 3 - float(proba[0, 1]))) / 2, **EXACT
    )


def test_perfect_and_worst_predictions():
    y = np.array([0, 1, 2, 1])
    perfect, worst = np.eye(3)[y], np.eye(3)[(y + 1) % 3]
    for notion in oracles.NOTIONS:
        assert ece(y, perfect, notion=notion) == 0.0
        assert mce(y, perfect, notion=notion) == 0.0
    assert ece(y, worst) == mce(y, worst) == ece(y, worst, notion="confidence") == 1.0


def test_same_number_from_matrix_predictions_and_top_label():
    proba, y = oracles.random_predictions(np.random.default_rng(0), 200, 5)
    predictions = Predictions(proba, y)
    for notion in ("confidence", "top-label"):
        expected = ece(y, proba, notion=notion)
        assert ece(y, predictions, notion=notion) == expected
        assert ece(y, predictions.top, notion=notion) == pytest.approx(expected, **EXACT)


def test_scores_by_hand():
    """Rows (0.7, 0.2, 0.1) with Y = 0 and (0.1, 0.1, 0.8) with Y = 0.

    Brier: 0.3^2 + 0.2^2 + 0.1^2 = 0.14; 0.9^2 + 0.1^2 + 0.8^2 = 1.46; mean 0.8.
    Log loss: -(log 0.7 + log 0.1) / 2. Top label: c = (0, 2), right = (1, 0).
    """
    proba, y = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]), [0, 0]
    assert brier_score(y, proba) == pytest.approx(0.8, **EXACT)
    assert log_loss(y, proba) == pytest.approx(-np.log(0.07) / 2, **EXACT)
    top = Predictions(proba).top
    assert brier_score(y, top) == pytest.approx((0.3**2 + 0.8**2) / 2, **EXACT)
    assert log_loss(y, top) == pytest.approx(-(np.log(0.7) + np.log(0.2)) / 2, **EXACT)
    for predicted in (proba, top, Predictions(proba), [0, 2]):
        assert accuracy(y, predicted) == 0.5


def test_scores_stay_finite_at_zero_probability():
    assert log_loss([0], [[0.0, 1.0]]) == pytest.approx(-np.log(np.finfo(float).eps))
    assert brier_score([0], [[0.0, 1.0]]) == 2.0


@pytest.mark.parametrize("width", [3, 200_001])
def test_scores_equal_their_definition_in_one_block_or_many(width, dtype):
    proba, y = oracles.random_predictions(np.random.default_rng(3), width, 3, dtype=dtype)
    wide = proba.astype(np.float64)
    assert brier_score(y, proba) == pytest.approx(
        np.mean(np.sum((wide - np.eye(3)[y]) ** 2, axis=1)), abs=1e-12
    )
    assert log_loss(y, proba) == pytest.approx(-np.mean(np.log(wide[np.arange(width), y])), abs=1e-12)
    assert accuracy(y, proba) == np.mean(wide.argmax(axis=1) == y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": 0.5}, "norm must be .* at least 1 .*; got 0.5"),
        ({"norm": float("nan")}, "norm must be"),
        ({"norm": float("inf")}, "norm must be .*mce"),
        ({"n_bins": 0}, "n_bins must be a whole number of at least 1; got 0"),
        ({"n_bins": 2.5}, "n_bins must be a whole number"),
        ({"n_bins": True}, "n_bins must be a whole number"),
        ({"strategy": "kmeans"}, "strategy must be .*; got 'kmeans'"),
        ({"notion": "canonical"}, "notion must be one of confidence, .*; got 'canonical'"),
        ({"top_k": 2}, "top_k belongs to the top-K notions"),
        ({"notion": "top-k-label", "top_k": 4}, "top_k must be at most the number of classes, 3; got 4"),
    ],
)
def test_what_cannot_be_used_is_named(options, message):
    with pytest.raises(InputError, match=message):
        ece([0, 1], [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3]], **options)


def test_unknown_aggregate_is_named():
    with pytest.raises(InputError, match='aggregate must be "cell" or "bin"; got \'max\''):
        mce([0, 1], [[0.6, 0.4], [0.4, 0.6]], aggregate="max")


def test_top_label_prediction_serves_two_notions_only():
    with pytest.raises(InputError, match="needs a score for every class, one column per class"):
        ece([0], TopLabelPrediction([0], [0.5]), notion="class-wise")


@pytest.fixture(scope="module")
def resnet(shared_data):
    file = np.load(shared_data / "cifar10_resnet50.npz")
    make = Predictions.from_logits
    return (
        make(file["calibration_logits"], file["calibration_labels"]),
        make(file["test_logits"], file["test_labels"]),
    )


def test_paper_tables_base_model(resnet):
    """Tables 4 and 5 (ResNet-50, CIFAR-10, focal loss), B = 15, column Base: 0.022, 0.298, 0.42."""
    _, test = resnet
    assert round(ece(test.labels, test), 3) == 0.022
    assert round(mce(test.labels, test, aggregate="bin"), 3) == 0.298
    assert round(100 * ece(test.labels, test, notion="class-wise"), 2) == 0.42


def test_paper_tables_histogram_binning(resnet):
    """Columns N-HB (0.023, 0.325, 0.52), TL-HB (0.019, 0.082 to 0.083) and CW-HB (0.35)."""
    calibration, test = resnet
    y = test.labels

    def fitted(**options):
        return MulticlassToBinary(HistogramBinning(n_bins=15), **options).fit(calibration, calibration.labels)

    top = fitted(notion="top-label").predict_top(test)
    assert round(ece(y, top, strategy="discrete"), 3) == 0.019
    assert round(mce(y, top, strategy="discrete", aggregate="bin"), 3) in (0.082, 0.083)
    class_wise = fitted(notion="class-wise").predict_proba(test)
    assert round(100 * ece(y, class_wise, notion="class-wise", strategy="discrete"), 2) == 0.35
    normalised = fitted(notion="class-wise", normalize=True).predict_proba(test)
    assert round(ece(y, normalised), 3) == 0.023
    assert round(mce(y, normalised, aggregate="bin"), 3) == 0.325
    assert round(100 * ece(y, normalised, notion="class-wise"), 2) == 0.52
    # Section 5 of the design: class-wise calibration costs accuracy, with or without normalising.
    assert accuracy(y, test) == pytest.approx(0.950, abs=1e-3)
    assert accuracy(y, normalised) == pytest.approx(0.879, abs=1e-3)
