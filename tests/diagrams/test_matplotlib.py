"""Figures on matplotlib's axes: what plotly draws is there, too; displays after scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.linear_model import LogisticRegression

import calib
from calib import InputError, ReliabilityDisplay
from calib.datasets import load_example
from calib.diagrams.plots import plot

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

ROWS = load_example("resnet").evaluation.take(np.arange(800))
Y = ROWS.labels

RESULTS = {
    "reliability": lambda: calib.reliability_diagram(Y, ROWS),
    "zoom": lambda: calib.bin_zoom(Y, ROWS, bin=14),
    "floor": lambda: calib.noise_floor(Y, ROWS, n_resamples=20),
    "risk": lambda: calib.risk_coverage(Y, ROWS),
    "decisions": lambda: calib.decision_curve(Y == 0, ROWS.proba[:, 0]),
    "sweep": lambda: calib.ece_sweep(Y, ROWS, n_bins=range(5, 8)),
    "gaps": lambda: calib.slices(Y, ROWS, np.arange(800) % 3, n_resamples=20),
    "class": lambda: calib.class_diagram(Y, ROWS, label=2),
    "validity": lambda: calib.validity_curve(Y, ROWS),
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", RESULTS)
def test_every_point_of_plotly_is_drawn(name):
    result = RESULTS[name]()
    drawn, of_pages = plot(result, backend="matplotlib"), plot(result)
    drawn.canvas.draw()
    points = {
        tuple(point) for axes in drawn.axes for each in axes.collections for point in each.get_offsets()
    }
    lines = {tuple(point) for axes in drawn.axes for line in axes.lines for point in line.get_xydata()}
    rectangles = sum(len(axes.patches) for axes in drawn.axes)
    for trace in of_pages.data:
        if trace.type == "bar":
            rectangles -= len(trace.x)
        elif "markers" in trace.mode:
            assert set(zip(trace.x, trace.y, strict=True)) <= points
        elif trace.mode == "lines" and None not in trace.y:
            assert set(zip(trace.x, trace.y, strict=True)) <= lines | points
    assert rectangles >= 0


def test_a_display_shows_the_diagram_with_intervals_and_floor():
    axes = plt.subplots()[1]
    display = ReliabilityDisplay.from_predictions(Y, ROWS, n_bins=10, name="a $model", ax=axes, c="red", lw=2)
    diagram = calib.reliability_diagram(Y, ROWS, n_bins=10)
    assert display.ax_ is axes
    assert (display.line_.get_color(), display.line_.get_linewidth()) == ("red", 2)
    points = np.column_stack([diagram.pooled.mean_score, diagram.pooled.mean_outcome])
    np.testing.assert_array_equal(display.line_.get_xydata(), points)
    ends = np.array([segment[:, 1] for segment in display.bars_.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([diagram.accuracy_lower, diagram.accuracy_upper]))
    floor = diagram.perfect_gaps[0]
    assert display.band_.get_datalim(axes.transData).y1 == pytest.approx(
        (diagram.pooled.mean_score + floor).max()
    )
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Perfectly calibrated", "a $model"]
    display.figure_.canvas.draw()


def test_two_notions_stand_beside_each_other_in_one_figure():
    figure, (left, right) = plt.subplots(1, 2)
    pooled = ReliabilityDisplay.from_predictions(ROWS, n_bins=10, ax=left)
    by_class = ReliabilityDisplay.from_predictions(ROWS, n_bins=10, notion="top-label", ax=right)
    diagram = calib.reliability_diagram(ROWS, n_bins=10)
    np.testing.assert_array_equal(by_class.line_.get_ydata(), diagram.top_label)
    np.testing.assert_array_equal(by_class.line_.get_xdata(), pooled.line_.get_xdata())
    assert pooled.figure_ is by_class.figure_ is figure
    assert (right.get_ylabel(), left.get_ylabel()) == ("Top-label reliability", "Accuracy")
    ReliabilityDisplay.from_predictions(ROWS, ax=left, name="again")  # the diagonal is drawn once
    assert left.get_legend_handles_labels()[1] == ["Perfectly calibrated", "again"]
    with pytest.raises(InputError, match="equal width"):
        ReliabilityDisplay.from_predictions(ROWS, notion="top-label", strategy="quantile")


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_a_display_is_the_curve_of_sklearn(strategy):
    random = np.random.default_rng(1)
    scores = random.uniform(size=300)
    outcomes = random.uniform(size=300) < scores**1.5
    display = ReliabilityDisplay.from_predictions(outcomes, scores, n_bins=6, strategy=strategy, pos_label=1)
    theirs = CalibrationDisplay.from_predictions(outcomes, scores, n_bins=6, strategy=strategy, pos_label=1)
    np.testing.assert_allclose(display.prob_true, theirs.prob_true)
    np.testing.assert_allclose(display.prob_pred, theirs.prob_pred)
    np.testing.assert_allclose(display.y_prob, theirs.y_prob)
    assert display.ax_.get_xlabel() == theirs.ax_.get_xlabel()
    assert display.ax_.get_ylabel() == theirs.ax_.get_ylabel()
    plain = ReliabilityDisplay(theirs.prob_true, theirs.prob_pred, theirs.y_prob, estimator_name="m").plot()
    np.testing.assert_array_equal(plain.line_.get_xydata(), theirs.line_.get_xydata())
    assert plain.band_ is None


def test_a_display_of_an_estimator_keeps_its_order_of_classes():
    random = np.random.default_rng(0)
    features = random.normal(size=(200, 2))
    names = np.where(features[:, 0] + random.normal(size=200) > 0, "yes", "no")
    model = LogisticRegression().fit(features, names)
    display = ReliabilityDisplay.from_estimator(model, features, names)
    theirs = CalibrationDisplay.from_estimator(model, features, names, n_bins=15)
    np.testing.assert_allclose(display.prob_true, theirs.prob_true)
    np.testing.assert_allclose(display.prob_pred, theirs.prob_pred)
    assert display.estimator_name == "LogisticRegression"
    other = ReliabilityDisplay.from_estimator(model, features, names, pos_label="no")
    np.testing.assert_allclose(other.prob_true, 1.0 - display.prob_true[::-1])
    classes = np.array(list("cab"))[features.argmax(axis=1) + (features[:, 0] > 1)]
    model = LogisticRegression().fit(features, classes)
    display = ReliabilityDisplay.from_estimator(model, features, classes)
    codes = np.searchsorted(model.classes_, classes)
    expected = calib.reliability_diagram(codes, model.predict_proba(features))
    np.testing.assert_array_equal(display.prob_true, expected.pooled.mean_outcome)
    with pytest.raises(InputError, match="two classes"):
        ReliabilityDisplay.from_estimator(model, features, classes, pos_label="a")
    with pytest.raises(InputError, match="'maybe' is none of the classes"):
        ReliabilityDisplay.from_estimator(model, features, np.full(200, "maybe"))


def test_backends_are_named():
    with pytest.raises(InputError, match="backend"):
        plot(calib.risk_coverage(Y, ROWS), backend="bokeh")
