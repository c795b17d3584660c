"""Figures of errors against the size of bins."""

from __future__ import annotations

from calib import choose_points_per_bin, diagrams
from calib.datasets import load_example
from tests.figures import accepted


def test_curve_of_k_draws_the_choice():
    rows = load_example("two-patients").calibration
    choice = choose_points_per_bin(rows, rows.labels, candidates=(20, 50, 100))
    curve, proposed, base = accepted(diagrams.draw_points_per_bin(choice)).data
    assert curve.x.tolist() == choice.points_per_bin.tolist()
    assert curve.y.tolist() == choice.brier.tolist()
    assert curve.error_y.array.tolist() == choice.standard_error.tolist()
    assert proposed.x.tolist() == [choice.chosen]
    assert set(base.y) == {choice.base_brier}
