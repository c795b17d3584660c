"""Errors against the size of bins: figures show what was computed."""

from __future__ import annotations

import pytest

import calib
from calib import choose_points_per_bin, diagrams
from calib.datasets import load_example, resnet_shaped
from tests.figures import accepted


def test_the_sweep_of_the_mce_averages_classes_in_each_bin():
    rows = resnet_shaped().evaluation
    sweep = calib.ece_sweep(rows, n_bins=[5, 20], metric="mce")
    assert list(sweep.frame().columns) == ["notion", "n_bins", "mce"]
    expected = [calib.mce(rows, n_bins=count, aggregate="bin") for count in (5, 20)]
    assert sweep.ece.tolist() == pytest.approx(expected)


def test_curve_of_k_draws_the_choice():
    rows = load_example("two-patients").calibration
    choice = choose_points_per_bin(rows, rows.labels, candidates=(20, 50, 100))
    curve, proposed, base = accepted(diagrams.draw_points_per_bin(choice)).data
    assert curve.x.tolist() == choice.points_per_bin.tolist()
    assert curve.y.tolist() == choice.brier.tolist()
    assert curve.error_y.array.tolist() == choice.standard_error.tolist()
    assert proposed.x.tolist() == [choice.chosen]
    assert set(base.y) == {choice.base_brier}
