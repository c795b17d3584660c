"""Recalibration arrows, cell outlines, three-class views and compared schemes, against hand computation."""

import numpy as np
import pytest
from matplotlib.path import Path

from calib import InputError, Predictions, diagrams
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.diagrams import (
    canonical_validity,
    cell_outlines,
    merge_classes,
    recalibration_map,
    renormalise_classes,
)
from calib.diagrams.simplex_maps import _regions, most_mistaken, sample_rows, to_log_ratios, to_plane
from tests.figures import accepted
from tests.populations import dirichlet

SCHEMES = [
    SierpinskiScheme(1),
    SierpinskiScheme(3),
    GridScheme(1),
    GridScheme(5),
    ProjectionScheme(11),
    ProjectionScheme(14, "random", 3),
]


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
    assert result.means.cell.tolist() == [0, 3]
    assert result.means.count.tolist() == [2, 1]
    assert result.fitted_count.tolist() == [3, 0]
    assert result.means.position.tolist() == [1, 0, 0]
    np.testing.assert_allclose(result.means.predicted, [[0.8, 0.1, 0.1], [0.4, 0.3, 0.3]])
    np.testing.assert_allclose(result.head, [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(result.means.observed, [[0.5, 0.5, 0], [0, 0, 1]])
    # |2/3 - 0.8| + |1/3 - 0.1| + 0.1 and |1/3 - 0.4| + 2 |1/3 - 0.3|
    np.testing.assert_allclose(result.length, [0.46667, 0.13333], atol=1e-5)
    frame = result.frame()
    assert frame.loc[1, "base_mean: a"] == 0.4
    assert frame["bound_l1_alpha_0.1"].tolist() == [pytest.approx(result.bound[0]), 2.0]
    # Two rows off by |0.5 - 0.8| + |0.5 - 0.1| + 0.1 = 0.8, one by 0.4 + 0.3 + 0.7 = 1.4.
    np.testing.assert_allclose(result.error_share, [1.6 / 3, 1.4 / 3])
    assert frame["share_of_canonical_ece"].sum() == pytest.approx(1.0)
    unlabelled = recalibration_map(calibrator, Predictions(evaluation.proba))
    assert unlabelled.means.observed is None
    assert unlabelled.error_share is None


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_outlines_cover_the_simplex_and_hold_the_rows_of_their_cell(scheme):
    data = dirichlet(4000)
    fitted = scheme.fit(data.proba)
    outlines = cell_outlines(fitted)
    assert sorted(outlines) == list(range(fitted.n_bins_))
    np.testing.assert_allclose(sum(area(corners) for corners in outlines.values()), 1.0)
    centres = np.array([corners.mean(axis=0) for corners in outlines.values()])
    np.testing.assert_array_equal(fitted.assign(np.maximum(centres, 0.0)), list(outlines))
    cells = fitted.assign(data.proba)
    for number, corners in outlines.items():
        in_cell = data.proba[cells == number]
        assert (in_cell <= corners.max(axis=0) + 1e-12).all()
        assert (in_cell >= corners.min(axis=0) - 1e-12).all()


def test_grid_triangles_have_equal_area():
    outlines = cell_outlines(GridScheme(6).fit(np.eye(3)))
    np.testing.assert_allclose([area(corners) for corners in outlines.values()], 1 / 36)


def test_outlines_need_three_classes():
    with pytest.raises(InputError, match="this scheme has 4"):
        cell_outlines(GridScheme(2).fit(np.eye(4)))


def test_merging_keeps_two_classes_and_the_rest():
    data = Predictions(
        [[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], [3, 0], class_names=["a", "other", "c", "d"]
    )
    merged = merge_classes(data, 3, 1)
    np.testing.assert_allclose(merged.proba, [[0.4, 0.2, 0.4], [0.1, 0.1, 0.8]])
    assert merged.labels.tolist() == [0, 2]
    assert merged.class_names == ("d", "other", "other classes")
    of_three = merge_classes(dirichlet(5), 2, 0)
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


def test_classes_that_are_mistaken_for_each_other_come_first():
    # Classes 1 and 2 are confused 3 times, 2 and 3 twice, 0 never, though 0 is the most frequent.
    true = [0] * 20 + [1, 1, 2, 3, 2, 3]
    predicted = [0] * 20 + [2, 2, 1, 2, 3, 3]
    rows = Predictions(np.eye(4)[predicted], true)
    assert set(most_mistaken(rows, 2)) == {1, 2}
    assert set(most_mistaken(rows)) == {1, 2, 3}
    never = Predictions(np.eye(4)[true], true)
    assert most_mistaken(never) == [0, 1, 2]
    with pytest.raises(InputError, match="labels"):
        most_mistaken(Predictions(np.eye(4)[predicted]))


def test_log_ratios_keep_the_corners_and_open_them():
    corners = np.eye(3)
    np.testing.assert_allclose(to_log_ratios(corners), to_plane(corners), atol=1e-12)
    np.testing.assert_allclose(to_log_ratios(np.full((1, 3), 1 / 3)), [[0.5, np.sqrt(1 / 12)]])
    # By hand: p = (0.98, 0.01, 0.01) has log-ratio ln(0.01 / 0.98) = -4.585 against class 0, and the corner
    # ln(0.0001) = -9.21; the way from the middle to the corner is covered to their ratio, 0.4978.
    middle, corner = np.array([0.5, np.sqrt(1 / 12)]), np.zeros(2)
    way = np.log(0.98 / 0.01) / -np.log(1e-4)
    np.testing.assert_allclose(to_log_ratios([[0.98, 0.01, 0.01]])[0], middle + way * (corner - middle))


def drawn(min_count=20, names=("a", "b", "c")):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 0.6, 0.4], size=3000)
    labels = (proba.cumsum(axis=1) > rng.random(3000)[:, None]).argmax(axis=1)
    calibrator = CanonicalBinning(GridScheme(5)).fit(proba[:1000], labels[:1000])
    evaluation = Predictions(proba[1000:], labels[1000:], names)
    result = recalibration_map(calibrator, evaluation)
    rows = sample_rows(evaluation.n_samples, 300)
    figure = accepted(
        diagrams.draw_recalibration(
            result,
            evaluation.proba,
            rows=rows,
            outlines=cell_outlines(calibrator.scheme_),
            min_count=min_count,
        )
    )
    return figure, result, evaluation, rows


def trace(figure, name):
    return next(part for part in figure.data if part.name == name)


def test_corners_of_the_plane():
    np.testing.assert_allclose(to_plane(np.eye(3)), [[0, 0], [1, 0], [0.5, 0.8660254]])
    np.testing.assert_allclose(to_plane([[1 / 3, 1 / 3, 1 / 3]]), [[0.5, 0.8660254 / 3]])


@pytest.mark.parametrize("min_count", [0, 20, 60])
def test_arrows_go_from_the_mean_base_prediction_to_the_recalibrated_vector(min_count):
    figure, result, evaluation, _ = drawn(min_count)
    arrows = trace(figure, "arrows")
    few = np.minimum(result.means.count, result.fitted_count) < min_count
    assert few.any() == (min_count > 0)
    shown = np.flatnonzero(~few)
    assert len(arrows.x) == 3 * len(shown)
    h = np.sqrt(0.75)
    for place, at in enumerate(shown):
        rows = result.means.position == at
        tail = evaluation.proba[rows].mean(axis=0)
        assert arrows.x[3 * place] == pytest.approx(tail[1] + tail[2] / 2)
        assert arrows.y[3 * place] == pytest.approx(tail[2] * h)
        head = result.head[at]
        assert arrows.x[3 * place + 1] == pytest.approx(head[1] + head[2] / 2)
        assert arrows.y[3 * place + 1] == pytest.approx(head[2] * h)
        assert np.isnan(arrows.x[3 * place + 2])
        hover = arrows.customdata[3 * place + 1]
        assert list(hover[:3]) == [result.means.cell[at], rows.sum(), result.fitted_count[at]]
        assert hover[8] == pytest.approx(tail[1])
        assert hover[9] == head[1]
        assert hover[10] == f"{(evaluation.labels[rows] == 1).mean():.3f}"


def test_regions_of_tips_hold_the_frequencies_as_often_as_they_say():
    random = np.random.default_rng(0)
    truth, held = np.array([0.6, 0.3, 0.1]), []
    for _ in range(400):
        frequency = random.multinomial(200, truth) / 200
        (outline,) = _regions(frequency[None], np.array([200]))
        assert outline.sum(axis=1) == pytest.approx(1.0)
        assert (outline >= 0.0).all()
        held.append(Path(outline[:, :2]).contains_point(truth[:2]))
    assert np.mean(held) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 400))


def test_points_are_rows_coloured_by_cell():
    figure, result, evaluation, rows = drawn()
    points = trace(figure, "predictions")
    np.testing.assert_allclose(np.column_stack([points.x, points.y]), to_plane(evaluation.proba[rows]))
    colours = np.array(points.marker.color)
    for position in range(len(result.means.cell)):
        assert len(set(colours[result.means.position[rows] == position])) <= 1
    assert len(set(colours)) == 7
    assert "#F0E442" not in colours


def test_outlines_are_the_cells():
    figure, *_ = drawn()
    x = np.array(trace(figure, "cells").x)
    assert np.isnan(x).sum() == 25
    assert np.flatnonzero(np.isnan(x))[0] == 4  # a triangle, closed


def test_class_names_stay_text():
    figure, *_ = drawn(names=("<b>x</b>", "%{x}", "a very long class name indeed"))
    corners = [note.text for note in figure.layout.annotations]
    assert corners[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert corners[1] != "%{x}"
    assert corners[2] == "a very long cla…"
    assert trace(figure, "arrows").customdata[0][3] == "&lt;b&gt;x&lt;/b&gt;"


def test_all_points_are_drawn_when_few_and_a_fixed_sample_when_many():
    np.testing.assert_array_equal(sample_rows(5, 5), np.arange(5))
    many = sample_rows(1000, 100)
    assert len(np.unique(many)) == 100
    np.testing.assert_array_equal(many, sample_rows(1000, 100))


def test_validity_steps():
    data = Predictions([[0.8, 0.1, 0.1]] * 3 + [[0.0, 0.0, 1.0]], [0, 0, 1, 2])
    curve = canonical_validity(data.labels, data.proba, [0, 0, 0, 1])
    figure = accepted(diagrams.draw_validity({"base": curve}))
    np.testing.assert_allclose(figure.data[0].x, [0, 0, 7 / 15, 1])
    np.testing.assert_allclose(figure.data[0].y, [0, 0.25, 1, 1])
    assert figure.data[0].line.shape == "hv"


def test_the_triangle_needs_three_classes():
    data = Predictions(np.eye(4), [0, 1, 2, 3])
    calibrator = CanonicalBinning(SierpinskiScheme(1)).fit(data.proba, data.labels)
    with pytest.raises(InputError, match="three classes; got 4"):
        accepted(
            diagrams.draw_recalibration(
                recalibration_map(calibrator, data), data.proba, rows=np.arange(4), outlines={}
            )
        )
