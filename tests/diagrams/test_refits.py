"""Histogram binning refitted for every number of bins: equal to the metrics of a refit by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import calib
from calib.calibrators.catalogue import named_methods
from calib.datasets import resnet_shaped
from calib.diagrams import refits
from calib.diagrams.refits import binned_sweeps


def test_sweep_of_histogram_binning_refits_with_every_number_of_bins():
    example = resnet_shaped()
    calibration, evaluation = example.calibration, example.evaluation
    calibrator = named_methods()["TL-HB"]
    sweeps = binned_sweeps(calibrator, calibration, evaluation, [5, 15])
    by_hand = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=5)).fit(calibration, calibration.labels)
    top = by_hand.predict_top(evaluation)
    assert sweeps["top-label"].ece[0] == calib.ece(evaluation.labels, top, strategy="discrete")
    assert sweeps["confidence"].n_bins.tolist() == [5, 15]
    (mce_sweep,) = binned_sweeps(
        calibrator, calibration, evaluation, [5, 15], notions=("top-label",), metric="mce"
    ).values()
    assert mce_sweep.ece[0] == calib.mce(evaluation.labels, top, strategy="discrete", aggregate="bin")
    assert list(mce_sweep.frame().columns) == ["notion", "n_bins", "mce"]
    class_wise = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=3), notion="class-wise")
    refitted = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=5), notion="class-wise")
    scores = refitted.fit(calibration.proba, calibration.labels).predict_proba(evaluation.proba)
    (cw_sweep,) = binned_sweeps(class_wise, calibration, evaluation, [5], notions=("class-wise",)).values()
    expected = calib.ece(evaluation.labels, scores, notion="class-wise", strategy="discrete")
    assert cw_sweep.ece[0] == pytest.approx(expected)
    assert calibrator.binary.n_bins == 15
    assert not hasattr(calibrator, "calibrators_")


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def tied(request):
    """Rows with few distinct scores, classes with too few rows for some B, and one that nobody predicts."""
    random = np.random.default_rng(5)
    rows = []
    for n_samples in (260, 900):
        proba = random.dirichlet([3.0, 2.0, 1.0, 0.4, 0.05, 1e-3], n_samples).round(2)
        proba[:, 0] += 1.0 - proba.sum(axis=1)
        proba = np.clip(proba, 0.0, 1.0)
        proba /= proba.sum(axis=1, keepdims=True)
        rows.append(calib.Predictions(proba.astype(request.param), random.integers(0, 6, n_samples)))
    return rows


@pytest.mark.parametrize("notion", ["top-label", "confidence"])
@pytest.mark.parametrize("metric", ["ece", "mce"])
def test_refits_from_sorted_scores_equal_those_of_rows(monkeypatch, tied, notion, metric):
    calibrator = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=15), notion=notion)
    assert refits.keeps_classes(calibrator, *tied)
    fitted = clone(calibrator).fit(tied[0], tied[0].labels)
    assert len(fitted.fallbacks_) == (3 if notion == "top-label" else 0)
    by_scores = binned_sweeps(calibrator, *tied, metric=metric)
    monkeypatch.setattr(refits, "keeps_classes", lambda *arguments: False)
    by_rows = binned_sweeps(calibrator, *tied, metric=metric)
    for name, sweep in by_rows.items():
        np.testing.assert_allclose(by_scores[name].ece, sweep.ece, rtol=1e-12)
        assert np.ptp(sweep.ece) > 0.0


def test_refits_go_through_rows_where_a_row_can_change_its_problem_or_its_weight(tied):
    calibration, evaluation = tied
    weighted = calib.Predictions(
        evaluation.proba, evaluation.labels, sample_weight=np.linspace(0.5, 1.5, evaluation.n_samples)
    )
    plain = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=15))
    assert not refits.keeps_classes(plain, calibration, weighted)
    for changed in (
        {"notion": "class-wise"},
        {"complete": "rescale"},
        {"fallback": "pooled"},
        {"binary": calib.HistogramBinning(n_bins=15, ties="randomize")},
    ):
        assert not refits.keeps_classes(clone(plain).set_params(**changed), calibration, evaluation)
