"""Recalibration arrows, canonical errors and cell outlines against hand computation and slow loops."""

import numpy as np
import pytest

from calib import InputError, Predictions
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.diagrams import (
    canonical_validity,
    cell_outlines,
    compare_schemes,
    merge_classes,
    recalibration_map,
    renormalise_classes,
)
from calib.guarantees import multinomial_bound
from calib.metrics import canonical_ece, log_loss
from calib.metrics.canonical import cell_means
from calib.noise import canonical_noise_floor

SCHEMES = [
    SierpinskiScheme(1),
    SierpinskiScheme(3),
    GridScheme(1),
    GridScheme(5),
    ProjectionScheme(11),
    ProjectionScheme(14, "random", 3),
]


def simulated(n: int, n_classes: int = 3, seed: int = 0, sharpen: float = 1.0) -> Predictions:
    """Labels drawn from Dirichlet vectors; the prediction is the vector raised to a power."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_classes, 0.8), size=n)
    labels = (truth.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    powered = truth**sharpen
    return Predictions(powered / powered.sum(axis=1, keepdims=True), labels)


def by_loop(predictions: Predictions, proba, cells, norm):
    total = 0.0
    for cell in set(cells.tolist()):
        rows = [i for i in range(len(cells)) if cells[i] == cell]
        gap = np.eye(3)[predictions.labels[rows]].mean(axis=0) - proba[rows].mean(axis=0)
        total += len(rows) / len(cells) * (np.abs(gap).sum() if norm == 1 else np.sqrt((gap**2).sum()))
    return total


def area(corners: np.ndarray) -> float:
    """Area of a polygon on the simplex, as a share of the simplex."""
    x, y = corners[:, 0], corners[:, 1]
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def test_arrows_by_hand():
    # Cell 0 is {p_0 > 1/2}: calibration labels 0, 0, 1. Cell 3 is the middle, empty in calibration.
    calibrator = CanonicalBinning(SierpinskiScheme(1)).fit(
        [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.6, 0.2, 0.2]], [0, 0, 1]
    )
    evaluation = Predictions(
        [[0.4, 0.3, 0.3], [0.9, 0.1, 0.0], [0.7, 0.1, 0.2]], [2, 0, 1], class_names=["a", "b", "c"]
    )
    result = recalibration_map(calibrator, evaluation)
    assert result.cell.tolist() == [0, 3]
    assert result.count.tolist() == [2, 1]
    assert result.fitted_count.tolist() == [3, 0]
    assert result.position.tolist() == [1, 0, 0]
    np.testing.assert_allclose(result.tail, [[0.8, 0.1, 0.1], [0.4, 0.3, 0.3]])
    np.testing.assert_allclose(result.head, [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(result.observed, [[0.5, 0.5, 0], [0, 0, 1]])
    # |2/3 - 0.8| + |1/3 - 0.1| + 0.1 and |1/3 - 0.4| + 2 |1/3 - 0.3|
    np.testing.assert_allclose(result.length, [0.46667, 0.13333], atol=1e-5)
    frame = result.frame()
    assert frame.loc[1, "base_mean: a"] == 0.4
    assert frame["bound_l1_alpha_0.1"].tolist() == [pytest.approx(result.bound[0]), 2.0]
    # Two rows off by |0.5 - 0.8| + |0.5 - 0.1| + 0.1 = 0.8, one by 0.4 + 0.3 + 0.7 = 1.4.
    np.testing.assert_allclose(result.error_share, [1.6 / 3, 1.4 / 3])
    assert frame["share_of_canonical_ece"].sum() == pytest.approx(1.0)
    unlabelled = recalibration_map(calibrator, Predictions(evaluation.proba))
    assert unlabelled.observed is None
    assert unlabelled.error_share is None


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_outlines_cover_the_simplex_and_hold_the_rows_of_their_cell(scheme):
    data = simulated(4000)
    fitted = scheme.fit(data.proba)
    outlines = cell_outlines(fitted)
    assert sorted(outlines) == list(range(fitted.n_bins_))
    np.testing.assert_allclose(sum(area(corners) for corners in outlines.values()), 1.0)
    centres = np.array([corners.mean(axis=0) for corners in outlines.values()])
    np.testing.assert_array_equal(fitted.assign(np.maximum(centres, 0.0)), list(outlines))
    cells = fitted.assign(data.proba)
    for number, corners in outlines.items():
        own = data.proba[cells == number]
        assert (own <= corners.max(axis=0) + 1e-12).all()
        assert (own >= corners.min(axis=0) - 1e-12).all()


def test_grid_triangles_have_equal_area():
    outlines = cell_outlines(GridScheme(6).fit(np.eye(3)))
    np.testing.assert_allclose([area(corners) for corners in outlines.values()], 1 / 36)


def test_outlines_need_three_classes():
    with pytest.raises(InputError, match="this scheme has 4"):
        cell_outlines(GridScheme(2).fit(np.eye(4)))


@pytest.mark.parametrize("norm", [1, 2])
def test_canonical_ece_equals_a_slow_loop(norm):
    data = simulated(300, sharpen=2.0)
    cells = GridScheme(4).fit(data.proba).assign(data.proba)
    expected = by_loop(data, data.proba, cells, norm)
    assert canonical_ece(data.labels, data.proba, cells, norm=norm) == pytest.approx(expected)
    floor = canonical_noise_floor(data.labels, data.proba, cells, norm=norm, n_resamples=1)
    assert floor.observed == pytest.approx(expected)


def test_l1_error_is_at_least_the_l2_error_and_zero_on_the_fitting_rows():
    data = simulated(500)
    calibrator = CanonicalBinning(GridScheme(3)).fit(data.proba, data.labels)
    cells = calibrator.assign(data.proba)
    after = calibrator.predict_proba(data.proba)
    assert canonical_ece(data.labels, after, cells) == pytest.approx(0.0, abs=1e-12)
    one, two = (canonical_ece(data.labels, data.proba, cells, norm=norm) for norm in (1, 2))
    assert one >= two > 0


def test_noise_of_a_single_cell_is_multinomial():
    # One cell, p = (1/2, 1/4, 1/4), n = 400: E|freq - p| is close to sqrt(2 p (1 - p) / (pi n)) per class.
    proba = np.tile([0.5, 0.25, 0.25], (400, 1))
    floor = canonical_noise_floor(
        np.zeros(400, int), proba, np.zeros(400, int), n_resamples=2000, random_state=0
    )
    p = np.array([0.5, 0.25, 0.25])
    assert floor.mean == pytest.approx(np.sqrt(2 * p * (1 - p) / (np.pi * 400)).sum(), rel=0.03)


def test_noise_covers_a_perfect_model_and_exposes_a_sharpened_one():
    for sharpen, above in ((1.0, False), (1.6, True)):
        data = simulated(4000, seed=5, sharpen=sharpen)
        cells = SierpinskiScheme(2).fit(data.proba).assign(data.proba)
        floor, again = (
            canonical_noise_floor(data.labels, data.proba, cells, n_resamples=100, random_state=1)
            for _ in range(2)
        )
        np.testing.assert_array_equal(floor.samples, again.samples)
        assert floor.samples.shape == (100,)
        assert (floor.p_value < 0.02) == above


def test_validity_curve_by_hand():
    # Cell 0 (3 rows): frequencies (2/3, 1/3, 0) against (0.8, 0.1, 0.1) -> 7/15; cell 1 (1 row) exact.
    proba = np.array([[0.8, 0.1, 0.1]] * 3 + [[0.0, 0.0, 1.0]])
    curve = canonical_validity([0, 0, 1, 2], proba, [0, 0, 0, 1])
    np.testing.assert_allclose(curve.epsilon, [0.0, 7 / 15])
    np.testing.assert_allclose(curve.at([0.0, 0.46, 0.47, 2.0]), [0.25, 0.25, 1.0, 1.0])
    assert curve.frame()["share"].tolist() == [0.25, 1.0]


def test_multinomial_bound():
    # n = 1000, L = 3, alpha = 0.1: sqrt(2 (3 log 2 + log 10) / 1000) = sqrt(2 * 4.38203 / 1000)
    np.testing.assert_allclose(multinomial_bound([1000, 1, 0], 3), [0.0936162, 2.0, 2.0], atol=1e-6)
    assert multinomial_bound([1000], 3, n_bins=25)[0] > multinomial_bound([1000], 3)[0]
    with pytest.raises(InputError, match="alpha must be inside"):
        multinomial_bound([5], 3, alpha=0)


def test_multinomial_bound_holds_as_often_as_promised():
    rng = np.random.default_rng(0)
    p = np.array([0.6, 0.3, 0.1])
    frequencies = rng.multinomial(200, p, size=4000) / 200
    radius = multinomial_bound([200], 3, alpha=0.5)[0]
    assert (np.abs(frequencies - p).sum(axis=1) <= radius).mean() >= 0.5


def test_merging_keeps_two_classes_and_the_rest():
    data = Predictions(
        [[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], [3, 0], class_names=["a", "other", "c", "d"]
    )
    merged = merge_classes(data, 3, 1)
    np.testing.assert_allclose(merged.proba, [[0.4, 0.2, 0.4], [0.1, 0.1, 0.8]])
    assert merged.labels.tolist() == [0, 2]
    assert merged.class_names == ("d", "other", "other classes")
    of_three = merge_classes(simulated(5), 2, 0)
    assert of_three.class_names == ("2", "0", "1")
    with pytest.raises(InputError, match="choose 2 different class codes"):
        merge_classes(data, 1, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_renormalising_conditions_on_three_classes(dtype):
    data = Predictions(
        np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.4]], dtype=dtype), [3, 0, 1]
    )
    three = renormalise_classes(data, [3, 2, 1])
    np.testing.assert_allclose(three.proba, [[4 / 9, 3 / 9, 2 / 9], [0.5, 0.25, 0.25]], rtol=1e-6)
    assert three.proba.dtype == dtype
    assert three.labels.tolist() == [0, 2]
    assert three.class_names == ("3", "2", "1")
    with pytest.raises(InputError, match="no row is left"):
        renormalise_classes(data.take([1]), [1, 2, 3])
    unlabelled = Predictions([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0]])
    assert renormalise_classes(unlabelled, [1, 2, 3]).n_samples == 1


def test_comparison_agrees_with_the_parts():
    calibration, evaluation = simulated(1500, seed=1, sharpen=2), simulated(2000, seed=2, sharpen=2)
    schemes = {"Sierpinski": SierpinskiScheme(2), "grid": GridScheme(5), "cuts": ProjectionScheme(27)}
    comparison = compare_schemes(calibration, evaluation, schemes, epsilon=0.2)
    frame = comparison.frame().set_index("scheme")
    assert frame["bins"].tolist() == [13, 25, 27]
    assert frame.loc["cuts", "smallest of these"] >= 1501 // 27 - 1
    grid = comparison.calibrators[1]
    after = grid.predict_proba(evaluation.proba)
    assert frame.loc["grid", "log loss after"] == log_loss(evaluation.labels, after)
    cells = grid.assign(evaluation.proba)
    for when, proba in (("before", evaluation.proba), ("after", after)):
        means = cell_means(evaluation.labels, proba, cells)
        share = means.count[means.distance() <= 0.2].sum() / 2000
        assert frame.loc["grid", f"V(0.2) {when}"] == pytest.approx(share)
    assert (frame["canonical-ECE after"] < frame["canonical-ECE before"]).all()


def test_a_scheme_that_needs_more_rows_leaves_the_others_in():
    few, evaluation = simulated(8, seed=1), simulated(200, seed=2)
    schemes = {"cuts": ProjectionScheme(27), "grid": GridScheme(5)}
    found = compare_schemes(few, evaluation, schemes)
    assert found.names == ("grid",)
    assert "at least 26 calibration rows; got 8" in found.left_out["cuts"]
    frame = found.frame().set_index("scheme")
    assert frame.index.tolist() == ["grid", "cuts"]
    assert frame.loc["grid", "bins"] == 25
    assert frame.loc["cuts", "left out"] == found.left_out["cuts"]


def test_labels_are_required_where_they_are_used():
    with pytest.raises(InputError, match="needs the true labels"):
        canonical_ece(None, np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="norm must be 1"):
        canonical_ece([0, 1, 2], np.eye(3), [0, 1, 2], norm=3)
