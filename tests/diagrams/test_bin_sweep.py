"""Errors against the size of bins: refits equal a refit by hand, and figures show what was computed."""

from __future__ import annotations

import pytest

import calib
from calib import choose_points_per_bin, diagrams
from calib.datasets import load_example, resnet_shaped
from calib.diagrams.bin_sweep import refitted_rows
from tests.figures import accepted


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_rows_of_histogram_binning_are_refitted_with_each_number_of_bins(notion):
    example = resnet_shaped()
    calibration, evaluation = example.calibration, example.evaluation
    calibrator = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=15), notion=notion)
    rows = refitted_rows(calibrator, calibration, evaluation, 5)
    by_hand = calib.MulticlassToBinary(calib.HistogramBinning(n_bins=5), notion=notion)
    by_hand.fit(calibration.proba, calibration.labels)
    predict = by_hand.predict_top if notion == "top-label" else by_hand.predict_proba
    expected = calib.ece(evaluation.labels, predict(evaluation.proba), notion=notion, strategy="discrete")
    assert calib.ece_sweep(rows, notion=notion, n_bins=[5]).ece[0] == pytest.approx(expected, abs=1e-15)
    sweep = calib.ece_sweep(rows, notion=notion, n_bins=[5], metric="mce")
    assert list(sweep.frame().columns) == ["notion", "n_bins", "mce"]
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
