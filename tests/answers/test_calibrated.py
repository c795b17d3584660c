"""The cells a calibrator is assessed in: per value where a class was binned, of equal width elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import calib
from calib import (
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
    PlattScaling,
    Predictions,
    TopLabelPrediction,
    ece,
    noise_floor,
    reduce_to_binary,
)
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.metric_tables import metrics
from calib.data.notions import PerClass
from calib.data.predictions import as_predictions, assessed_as_stated
from calib.datasets import load_example
from calib.evidence.binning import bin_statistics
from calib.evidence.rows import as_evidence
from tests.populations import population, rows


def fitted(**options):
    """Histogram binning with 20 points per bin; the last of 4 classes is hardly ever predicted."""
    return MulticlassToBinary(HistogramBinning(points_per_bin=20), **options).fit(*rows(0))


def own_rows(top, label):
    """Rows predicted `label`, in the form `ece` takes."""
    own = top.label == label
    return own, TopLabelPrediction(top.label[own], top.confidence[own])


def test_classes_that_fell_back_are_assessed_by_equal_width_and_no_others():
    """TL-ECE is the mean over classes of each one's own error, in its own kind of cells."""
    model, (proba, y) = fitted(), rows(1)
    assert [fallback.label for fallback in model.fallbacks_] == [3]
    strategy = model.strategy_for(as_predictions(proba))
    assert strategy == PerClass((3,))
    top = calibrated_scores(model, proba)
    assert calibrated_scores(None, top) is top  # what `recommend` gives if no calibrator helps
    expected = 0.0
    for label in range(4):
        own, item = own_rows(top, label)
        cells = "uniform" if label == 3 else "discrete"
        expected += own.mean() * ece(y[own], item, strategy=cells)
    summary = metrics(y, top, strategy=strategy)
    assert summary.tl_ece == pytest.approx(expected, abs=1e-12)
    assert summary.tl_ece not in (ece(y, top, strategy="discrete"), ece(y, top, strategy="uniform"))
    assert summary.bins == "one per value, 15 equal-width for 1 class"
    assert noise_floor(y, top, strategy=strategy, n_resamples=9).observed == pytest.approx(expected)


def test_confidence_error_of_values_per_class_is_that_of_equal_width_bins():
    """A cell of each value would hold one class: conf-ECE would be TL-ECE."""
    model, (proba, y) = fitted(fallback="pooled"), rows(1)
    top, strategy = calibrated_scores(model, proba), model.strategy_for(as_predictions(proba))
    assert strategy == PerClass()
    summary = metrics(y, top, strategy=strategy)
    pooled = ece(y, top, notion="confidence", strategy="uniform")
    assert summary.conf_ece == pytest.approx(pooled, abs=1e-15)
    assert summary.tl_ece == ece(y, top, strategy="discrete")
    assert summary.conf_ece <= ece(y, top, strategy="uniform")
    assert summary.bins == "one per value"


def test_cells_are_those_of_each_class_by_itself():
    proba, y = population(400, 3)
    strategy = PerClass((1,))
    problems = reduce_to_binary(y, proba.round(1), "class-wise")
    cells = bin_statistics(problems, n_bins=4, strategy=strategy)
    assert cells.strategy == "mixed"
    for label in range(3):
        alone = bin_statistics(problems, n_bins=4, strategy="uniform" if label == 1 else "discrete")
        for name in ("bin", "start", "stop", "lower", "upper", "count", "mean_score", "mean_outcome"):
            expected = getattr(alone, name)[alone.problem == label]
            np.testing.assert_array_equal(getattr(cells, name)[cells.problem == label], expected)
    assert cells.count.sum() == 3 * 400
    assert np.all(np.diff(cells.start) > 0)
    class_by_class = as_evidence(y, proba.round(1)).cells("class-wise", n_bins=4, strategy=strategy)
    assert class_by_class.strategy == "mixed"
    np.testing.assert_array_equal(class_by_class.mean_outcome, cells.mean_outcome)
    np.testing.assert_allclose(class_by_class.mean_score, cells.mean_score, atol=1e-13)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (MulticlassToBinary(PlattScaling()), "uniform"),
        (MulticlassToBinary(HistogramBinning(n_bins=3), notion="confidence"), "discrete"),
        (MulticlassToBinary(HistogramBinning(n_bins=3), notion="class-wise"), PerClass()),
        (MulticlassToBinary(HistogramBinning(n_bins=3), notion="class-wise", normalize=True), "uniform"),
        (MulticlassToBinary(HistogramBinning(n_bins=3), complete="rescale"), "uniform"),
        (MulticlassToBinary(HistogramBinning(points_per_bin=20), notion="top-k-label"), PerClass((3,))),
        (MulticlassToBinary(HistogramBinning(n_bins=3), notion="top-k-confidence"), "discrete"),
        (MulticlassToBinary(HistogramBinning(points_per_bin=10_000)), "uniform"),
    ],
)
def test_each_kind_of_calibrator_has_its_cells(model, expected):
    proba, y = rows(0)
    assert model.fit(proba, y).strategy_for(as_predictions(proba)) == expected
    assert calibrated_scores(model, proba).strategy == expected


@pytest.mark.parametrize(
    ("n_values", "n_rows", "expected"), [(6, 100, "discrete"), (6, 30, "uniform"), (40, 2000, "uniform")]
)
def test_few_stated_values_are_a_bin_each(n_values, n_rows, expected):
    stated = np.linspace(0.80, 0.86, n_values)[np.arange(n_rows) % n_values]
    rows = assessed_as_stated(ConfidencePrediction(stated, np.arange(n_rows) % 3 > 0))
    assert rows.strategy == metrics(rows).strategy == expected
    assert PlattScaling().fit(stated, rows.labels).strategy_for(rows) == expected
    by_value = sum(abs(sum(rows.labels[stated == item] - item)) for item in np.unique(stated)) / n_rows
    if expected == "discrete":
        assert metrics(rows).conf_ece == pytest.approx(by_value)


def test_the_column_of_a_calibrators_groups_is_found_by_its_values():
    proba, y = population(900, 3)
    site = np.repeat(["north", "south", "west"], 300)
    model = MulticlassToBinary(HistogramBinning(points_per_bin=50), by="group").fit(proba, y, groups=site)
    table = pd.DataFrame({"age": np.arange(900), "place": site, "other": "north-west"})
    found = calibrated_scores(model, Predictions(proba, y, metadata=table))
    np.testing.assert_array_equal(found.confidence, model.predict_top(proba, groups=site).confidence)
    np.testing.assert_array_equal(found.confidence, calibrated_scores(model, proba, groups=site).confidence)
    with pytest.raises(InputError, match="no further column"):
        calibrated_scores(model, Predictions(proba, y, metadata=table[["age", "other"]]))


def test_metrics_without_class_wise_numbers_have_all_others():
    proba, y = population(300, 3)
    every, fewer = (metrics(y, proba, class_wise=class_wise).row() for class_wise in (True, False))
    lost = {key for key in every if every[key] is not None and fewer[key] is None}
    assert "cw_ece" in lost
    assert {every["tl_ece"], every["brier"], every["accuracy"]} == {
        fewer["tl_ece"],
        fewer["brier"],
        fewer["accuracy"],
    }
    assert all(every[key] == fewer[key] for key in every if key not in lost)


def test_a_fit_carries_clusters_so_that_nothing_is_promised():
    rows = load_example("resnet").calibration.take(np.arange(1000))
    together = rows.with_cluster(np.arange(1000) // 20)
    binned = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=20))
    for fitted in (fit_on(clone(binned), together), clone(binned).fit(together)):
        card = calib.guarantee_card(fitted)
        assert (fitted.n_clusters_, card.applies) == (50, False)
    assert calib.guarantee_card(clone(binned).fit(rows)).applies


def test_a_fit_takes_labelled_predictions_alone():
    rows = load_example("resnet").calibration.take(np.arange(600))
    event = calib.BinaryPrediction(rows.proba[:, 0], rows.labels == 0, class_names=("no", "yes"))
    weights = np.arange(600.0)
    for calibrator, given, scores in (
        (PlattScaling(), event, event.score),
        (calib.TemperatureScaling(), rows, rows.proba),
        (MulticlassToBinary(), rows, rows.proba),
    ):
        alone = clone(calibrator).fit(given)
        assert alone.class_names_ == given.class_names
        beside = clone(calibrator).fit(scores, given.labels)
        np.testing.assert_array_equal(*(np.asarray(each.predict(scores)) for each in (alone, beside)))
        heavy = (
            clone(calibrator).fit(scores, given.labels, weights),
            clone(calibrator).fit(given.with_weights(weights)),
        )
        np.testing.assert_allclose(*(np.asarray(each.predict(scores)) for each in heavy), rtol=1e-9)
        with pytest.raises(InputError, match="true labels are needed"):
            clone(calibrator).fit(scores)
