"""Many curves end to end give what each curve gives alone, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import HistogramBinning, IsotonicCalibration, MulticlassToBinary
from calib.calibrators.curves import CurveSet, Lines, Logistic, Spline, Steps
from calib.calibrators.multiclass import ProblemCalibrators


def some_curves(kind, random, count):
    """Curves with up to 40 knots on a coarse grid that scores meet, some of them equal for `Steps`."""
    if kind is Logistic:
        shapes = random.random((count, 3)) * [3.0, 3.0, 1.0]
        shapes[::3, 1] = shapes[::3, 0]
        return [Logistic(*shape.tolist()) for shape in shapes]
    curves = []
    if kind is Spline:
        sizes = random.integers(1, 9, count)
        return [Spline(np.sort(random.normal(0, 3, m)), random.random(m), random.normal()) for m in sizes]
    for _ in range(count):
        size = int(random.integers(kind is Lines, 41))
        grid = np.sort(random.choice(65, size, replace=kind is Steps)) / 64
        curves.append(kind(grid, np.sort(random.random(size + (kind is Steps)))))
    return curves


@given(
    st.integers(0, 10**6),
    st.sampled_from([Steps, Lines, Logistic, Spline]),
    st.integers(1, 12),
)
def test_every_score_follows_the_curve_of_its_problem(seed, kind, count):
    random = np.random.default_rng(seed)
    curves = some_curves(kind, random, count)
    curve_of = random.integers(-1, count, 9)
    curve_of[0] = 0
    together = CurveSet(curves, curve_of)
    size = int(random.integers(1, 800))
    scores = np.where(random.random(size) < 0.5, random.random(size), random.integers(0, 65, size) / 64)
    problem = random.integers(0, 9, size)
    expected = scores.copy()
    for index, curve in enumerate(curves):
        chosen = curve_of[problem] == index
        expected[chosen] = curve(scores[chosen])
    assert np.array_equal(together(scores, problem), expected)
    columns = scores[: size // 9 * 9].reshape(-1, 9)
    by_column = together(columns, np.arange(9))
    assert np.array_equal(
        by_column, together(columns.ravel(), np.tile(np.arange(9), len(columns))).reshape(-1, 9)
    )


def test_lines_are_those_of_numpy():
    random = np.random.default_rng(3)
    for curve in some_curves(Lines, random, 50):
        scores = np.concatenate([random.random(500), curve.knots, [0.0, 1.0]])
        np.testing.assert_allclose(
            curve(scores), np.interp(scores, curve.knots, curve.values), rtol=0, atol=2e-16
        )


def test_knots_too_close_for_a_finite_slope_give_their_own_values():
    curve = Lines(np.array([0.0, 5e-324, 1.0]), np.array([0.25, 0.5, 0.75]))
    assert curve(np.array([0.0, 5e-324, 1.0])).tolist() == [0.25, 0.5, 0.75]


class Doubled(HistogramBinning):
    """A calibrator that does not say with its curve what it predicts."""

    def predict(self, scores):
        return super().predict(scores) / 2


@pytest.mark.parametrize("notion", ["top-label", "class-wise", "top-k-label"])
def test_a_calibrator_with_a_predict_of_its_own_is_asked(notion):
    random = np.random.default_rng(5)
    proba = random.dirichlet(np.ones(4), 600)
    labels = random.integers(0, 4, 600)
    models = [
        MulticlassToBinary(make(n_bins=3), notion=notion, min_points=100).fit(proba, labels)
        for make in (HistogramBinning, Doubled)
    ]
    binned, doubled = (
        model.calibrators_.predict(proba, np.arange(4))
        if notion == "class-wise"
        else model.calibrators_.predict(proba[:, 0], model.shape_.problems_of(proba.argmax(axis=1)))
        for model in models
    )
    left = proba if notion == "class-wise" else proba[:, 0]
    assert np.array_equal(doubled, np.where(binned == left, left, binned / 2))


def test_a_calibrator_shared_by_problems_is_stored_once():
    shared = IsotonicCalibration().fit([0.1, 0.4, 0.8], [0, 1, 1])
    other = IsotonicCalibration().fit([0.2, 0.3, 0.9], [0, 0, 1])
    distinct, curve_of = ProblemCalibrators((shared, None, other, shared)).distinct
    assert distinct == [shared, other]
    assert curve_of.tolist() == [0, -1, 1, 0]


def test_one_row_is_the_row_of_many():
    random = np.random.default_rng(7)
    proba = random.dirichlet(np.ones(30), 2000)
    model = MulticlassToBinary(IsotonicCalibration(), notion="class-wise").fit(
        proba, random.integers(0, 30, 2000)
    )
    whole = model.predict_proba(proba[:100])
    assert np.array_equal(np.concatenate([model.predict_proba(row[None]) for row in proba[:100]]), whole)
