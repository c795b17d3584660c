"""Errors against the size of bins: refits equal a refit by hand, and figures show what was computed."""

from __future__ import annotations

import pytest

import calib
from calib import choose_points_per_bin, diagrams
from calib.calibrators.catalogue import named_methods
from calib.datasets import load_example, resnet_shaped
from calib.diagrams.bin_sweep import binned_sweeps
from tests.figures import accepted


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


def test_curve_of_k_draws_the_choice():
    rows = load_example("two-patients").calibration
    choice = choose_points_per_bin(rows, rows.labels, candidates=(20, 50, 100))
    curve, proposed, base = accepted(diagrams.draw_points_per_bin(choice)).data
    assert curve.x.tolist() == choice.points_per_bin.tolist()
    assert curve.y.tolist() == choice.brier.tolist()
    assert curve.error_y.array.tolist() == choice.standard_error.tolist()
    assert proposed.x.tolist() == [choice.chosen]
    assert set(base.y) == {choice.base_brier}
