"""Validity curves: by hand, by a literal loop, with a calibrator's cells, and of a perfect model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import (
    InputError,
    MulticlassToBinary,
    Predictions,
    TopLabelPrediction,
    ece,
    mce,
    reduce_to_binary,
    validity_curve,
)
from calib.answers.guarantee_cards import MeanPromise
from calib.diagrams import canonical_validity
from calib.diagrams.validity_plots import draw_validity
from tests.figures import accepted

NOTIONS = ["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]


def model_of(n, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(n_classes), n)
    labels = (proba.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(0, n_classes - 1)
    return Predictions(proba, labels)


def test_example_1_of_the_paper():
    """Both patients hear 0.6; class 0 is right 20 % (off by 0.4), class 1 always (off by 0.4)."""
    top = TopLabelPrediction(np.repeat([0, 1], 5), np.full(10, 0.6))
    y = np.array([0, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    assert validity_curve(y, top, notion="confidence").at(1e-9) == 1.0
    curve = validity_curve(y, top)
    assert curve.at(0.39) == 0.0
    assert curve.at(0.41) == 1.0
    assert curve.worst == pytest.approx(0.4)


def test_by_hand():
    """Three rows of class 0 at 0.5, one right (off by 1/6); one row of class 1 at 0.9, wrong (off by 0.9)."""
    top = TopLabelPrediction(np.array([0, 0, 0, 1]), np.array([0.5, 0.5, 0.5, 0.9]))
    curve = validity_curve([0, 1, 1, 0], top, strategy="discrete")
    assert curve.gap == pytest.approx([1 / 6, 0.9])
    assert curve.share == pytest.approx([0.75, 1.0])
    assert curve.by_cells().share == pytest.approx([0.5, 1.0])
    assert (curve.at(0.5), curve.by_cells().at(0.5)) == (0.75, 0.5)
    only = validity_curve([0, 1, 1, 0], top, strategy="discrete", label=1)
    assert only.cells["count"].tolist() == [1]
    assert list(curve.frame().columns[-3:]) == ["epsilon", "validity", "cell_validity"]


@given(st.integers(0, 10**6), st.sampled_from(NOTIONS))
def test_area_above_the_curve_is_the_ece(seed, notion):
    """E[gap] = integral of 1 - V, so the curve and the (share-weighted) ECE agree."""
    model = model_of(50, seed=seed % 9)
    curve = validity_curve(model.labels, model, notion=notion, n_bins=5)
    steps = np.concatenate(([0.0], curve.gap))
    above = np.sum(np.diff(steps) * (1.0 - np.concatenate(([0.0], curve.share[:-1]))))
    assert above == pytest.approx(ece(model.labels, model, notion=notion, n_bins=5))
    assert curve.worst == pytest.approx(mce(model.labels, model, notion=notion, n_bins=5))
    assert curve.share[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_base_model_in_the_calibrators_cells(notion):
    """Appendix F: cells {c(x) = l, h_l(x) = r}; against a loop over cells and rows."""
    calibration, rows = model_of(600, seed=1).split(random_state=0)
    fitted = MulticlassToBinary(notion=notion).fit(calibration, calibration.labels)
    calibrated = fitted.predict_proba(rows) if notion == "class-wise" else fitted.predict_top(rows)
    curve = validity_curve(rows.labels, rows, notion=notion, reference=calibrated)
    expected = []
    for code in range(3) if notion != "confidence" else [None]:
        if notion == "class-wise":
            member, base = np.ones(rows.n_samples, bool), rows.proba[:, code]
            value, right = calibrated.proba[:, code], rows.labels == code
        else:
            member = rows.label == code if code is not None else np.ones(rows.n_samples, bool)
            base, value, right = rows.confidence, calibrated.confidence, rows.labels == rows.label
        for level in np.unique(value[member]):
            in_cell = member & (value == level)
            expected.append((abs(right[in_cell].mean() - base[in_cell].mean()), in_cell.sum()))
    assert sorted(zip(curve.gap.round(10), curve.cells["count"], strict=True)) == sorted(
        (round(gap, 10), count) for gap, count in expected
    )


def test_the_calibrator_beats_the_base_model():
    model = model_of(6000, seed=2)
    sharp = Predictions(model.proba**3 / (model.proba**3).sum(axis=1, keepdims=True), model.labels)
    calibration, rows = sharp.split(random_state=0)
    calibrated = MulticlassToBinary().fit(calibration, calibration.labels).predict_top(rows)
    base = validity_curve(rows.labels, rows, reference=calibrated)
    after = validity_curve(rows.labels, calibrated, strategy="discrete")
    assert np.array_equal(*(np.sort(curve.cells["count"]) for curve in (base, after)))
    assert after.at(0.1) > base.at(0.1) + 0.3


def test_ready_problems_give_the_same_curve():
    model = model_of(100)
    ready = validity_curve(reduce_to_binary(model.labels, model, "top-label"))
    assert ready.gap == pytest.approx(validity_curve(model.labels, model).gap, abs=1e-14)


@pytest.mark.parametrize("notion", NOTIONS)
def test_perfect_curve_is_the_average_of_perfect_models(notion):
    curves = [
        validity_curve(model.labels, model, notion=notion, n_bins=4).at(0.1)
        for model in (model_of(80, seed=seed) for seed in range(200))
    ]
    perfect = [
        np.interp(0.1, curve.perfect_epsilon, curve.perfect_share)
        for seed in range(20)
        for model in [model_of(80, seed=1000 + seed)]
        for curve in [
            validity_curve(model.labels, model, notion=notion, n_bins=4, n_resamples=100, random_state=seed)
        ]
    ]
    assert np.mean(perfect) == pytest.approx(np.mean(curves), abs=0.05)


def test_perfect_curve_by_hand():
    """One cell of two rows at 0.5: the gap is 0 or 0.5, each in half of the redraws."""
    top = TopLabelPrediction(np.zeros(2, int), np.array([0.5, 0.5]))
    curve = validity_curve([0, 1], top, n_resamples=4000, random_state=0)
    at = dict(zip(curve.perfect_epsilon.round(3), curve.perfect_share, strict=True))
    assert at[0.0] == pytest.approx(0.5, abs=0.04)
    assert at[0.498] == at[0.0]
    assert at[0.5] == 1.0
    assert np.array_equal(curve.perfect_share, curve.perfect_cell_share)


def test_perfect_curve_of_one_class_in_reference_cells():
    calibration, rows = model_of(1000, seed=5).split(random_state=0)
    calibrated = MulticlassToBinary().fit(calibration, calibration.labels).predict_top(rows)
    curve = validity_curve(rows.labels, rows, reference=calibrated, label=1, n_resamples=50, random_state=0)
    assert set(curve.cells["label"]) == {1}
    assert curve.perfect_share[-1] == pytest.approx(1.0)
    assert np.all(np.diff(curve.perfect_share) >= 0)


def test_errors_say_what_to_do():
    model = model_of(20)
    with pytest.raises(InputError, match="no cell is about class 7"):
        validity_curve(model.labels, model, label=7)
    other = TopLabelPrediction((model.label + 1) % 3, model.confidence)
    with pytest.raises(InputError, match="predicts another class than scores in 20 rows, the first"):
        validity_curve(model.labels, model, reference=other)
    with pytest.raises(InputError, match="same rows"):
        validity_curve(
            model.labels[:10],
            model.take(slice(0, 10)),
            reference=reduce_to_binary(model.labels, model, "top-label"),
        )


def test_several_classes():
    model = model_of(300, n_classes=4, seed=2)
    both = validity_curve(model.labels, model, label=[1, 3])
    assert set(both.cells["label"]) == {1, 3}
    assert both.cells["count"].sum() == np.isin(model.label, [1, 3]).sum()


@pytest.mark.parametrize("conditional", [False, True])
def test_steps_are_the_curve(conditional):
    model = model_of(300, seed=4)
    curve = validity_curve(model.labels, model)
    curve = curve.by_cells() if conditional else curve
    epsilon, share = curve.steps()
    assert (epsilon[0], share[0]) == (0.0, 0.0)
    assert share[1:] == pytest.approx(curve.share)
    few_epsilon, few_share = curve.steps(max_points=10)
    assert len(few_epsilon) == 10
    assert few_share[-1] == pytest.approx(1.0)
    assert few_share == pytest.approx([curve.at(value) for value in few_epsilon], abs=1e-12)


def test_canonical_validity_by_hand():
    # Cell 0 (3 rows): frequencies (2/3, 1/3, 0) against (0.8, 0.1, 0.1) -> 7/15; cell 1 (1 row) exact.
    proba = np.array([[0.8, 0.1, 0.1]] * 3 + [[0.0, 0.0, 1.0]])
    curve = canonical_validity([0, 0, 1, 2], proba, [0, 0, 0, 1])
    np.testing.assert_allclose(curve.gap, [0.0, 7 / 15])
    assert [curve.at(epsilon) for epsilon in (0.0, 0.46, 0.47, 2.0)] == [0.25, 0.25, 1.0, 1.0]
    assert curve.frame()["validity"].tolist() == [0.25, 1.0]


def test_the_error_in_the_same_cells_is_that_of_the_cells():
    # By hand: cells of the reference are {0, 1} and {2, 3}, with outcomes 1/2 and 1; means of the scores are
    # 0.7 and 0.85, so the error is (2 * 0.2 + 2 * 0.15) / 4.
    y, label = [0, 1, 0, 0], np.zeros(4, dtype=int)
    before = TopLabelPrediction(label, np.array([0.6, 0.8, 0.8, 0.9]))
    after = TopLabelPrediction(label, np.array([0.5, 0.5, 1.0, 1.0]))
    curve = validity_curve(y, before, reference=after, n_resamples=500, random_state=0)
    assert curve.error == pytest.approx(0.175)
    # A perfect model with these scores: E|mean of two Bernoulli - 0.7| and that of 0.85, by enumeration.
    expected = 0.0
    for p, q in ((0.6, 0.8), (0.8, 0.9)):
        chances = ((1 - p) * (1 - q), p * (1 - q) + q * (1 - p), p * q)
        expected += sum(c * abs(k / 2 - (p + q) / 2) for k, c in enumerate(chances)) / 2
    mean_gap = np.trapezoid(1.0 - curve.perfect_share, curve.perfect_epsilon)
    assert mean_gap == pytest.approx(expected, abs=0.02)


def test_bound_of_the_mean_error_is_drawn_as_what_it_says_of_every_epsilon():
    """At most 0.3 of the rows are farther than 0.1 from the truth if the mean distance is at most 0.03."""
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    curve = validity_curve((rng.random(200) < scores).astype(int), scores)
    drawn = accepted(draw_validity({"base": curve}, mean=MeanPromise("TL-ECE", 0.03, 0.9)))
    (line,) = (trace for trace in drawn.data if trace.name == "TL-ECE")
    epsilon, share = np.array(line.x), np.array(line.y)
    assert share[0] == pytest.approx(0.0)
    assert np.interp(0.1, epsilon, share) == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("concentration", [0.05, 0.5])
def test_what_the_dotted_line_is_stands_on_the_side_with_room(concentration):
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(3, concentration), 200)
    curve = validity_curve(random.integers(0, 3, 200), Predictions(proba), n_resamples=20, random_state=0)
    figure = accepted(draw_validity({"base model": curve}))
    (note,) = [each for each in figure.layout.annotations if "dotted" in each.text]
    assert note.xanchor == ("right" if note.x > figure.layout.xaxis.range[1] / 2 else "left")
