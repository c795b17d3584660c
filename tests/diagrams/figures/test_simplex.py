"""The simplex figures by their traces: what is drawn is what was computed."""

import numpy as np
import pytest

from calib import InputError, Predictions, figures
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.diagrams import canonical_validity, cell_outlines, recalibration_map
from calib.diagrams.simplex import sample_rows, to_plane


def drawn(min_count=20, names=("a", "b", "c")):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 0.6, 0.4], size=3000)
    labels = (proba.cumsum(axis=1) > rng.random(3000)[:, None]).argmax(axis=1)
    calibrator = CanonicalBinning(GridScheme(5)).fit(proba[:1000], labels[:1000])
    evaluation = Predictions(proba[1000:], labels[1000:], names)
    result = recalibration_map(calibrator, evaluation)
    rows = sample_rows(evaluation.n_samples, 300)
    figure = figures.recalibration(
        result,
        evaluation.proba,
        rows=rows,
        outlines=cell_outlines(calibrator.scheme_),
        min_count=min_count,
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
    few = np.minimum(result.count, result.fitted_count) < min_count
    assert few.any() == (min_count > 0)
    shown = np.flatnonzero(~few)
    assert len(arrows.x) == 3 * len(shown)
    h = np.sqrt(0.75)
    for place, at in enumerate(shown):
        rows = result.position == at
        tail = evaluation.proba[rows].mean(axis=0)
        assert arrows.x[3 * place] == pytest.approx(tail[1] + tail[2] / 2)
        assert arrows.y[3 * place] == pytest.approx(tail[2] * h)
        head = result.head[at]
        assert arrows.x[3 * place + 1] == pytest.approx(head[1] + head[2] / 2)
        assert arrows.y[3 * place + 1] == pytest.approx(head[2] * h)
        assert np.isnan(arrows.x[3 * place + 2])
        hover = arrows.customdata[3 * place + 1]
        assert list(hover[:3]) == [result.cell[at], rows.sum(), result.fitted_count[at]]
        assert hover[8] == pytest.approx(tail[1])
        assert hover[9] == head[1]
        assert hover[10] == f"{(evaluation.labels[rows] == 1).mean():.3f}"


def test_points_are_rows_coloured_by_cell():
    figure, result, evaluation, rows = drawn()
    points = trace(figure, "predictions")
    np.testing.assert_allclose(np.column_stack([points.x, points.y]), to_plane(evaluation.proba[rows]))
    colours = np.array(points.marker.color)
    for position in range(len(result.cell)):
        assert len(set(colours[result.position[rows] == position])) <= 1
    assert len(set(colours)) == 8


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
    figure = figures.canonical_validity({"base": curve})
    np.testing.assert_allclose(figure.data[0].x, [0, 0, 7 / 15, 2])
    np.testing.assert_allclose(figure.data[0].y, [0, 0.25, 1, 1])
    assert figure.data[0].line.shape == "hv"


def test_the_triangle_needs_three_classes():
    data = Predictions(np.eye(4), [0, 1, 2, 3])
    calibrator = CanonicalBinning(SierpinskiScheme(1)).fit(data.proba, data.labels)
    with pytest.raises(InputError, match="three classes; got 4"):
        figures.recalibration(recalibration_map(calibrator, data), data.proba, rows=np.arange(4), outlines={})
