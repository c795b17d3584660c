"""The reliability diagram: what is drawn is what was computed, and what a perfect model shows."""

from __future__ import annotations

import numpy as np
import pytest

from calib import BinaryPrediction, TopLabelPrediction, datasets, diagrams, noise_floor, reliability_diagram
from calib.stats.frequencies import binomial_deviation
from tests.figures import accepted


@pytest.fixture(scope="module")
def rows():
    return datasets.resnet_shaped().evaluation


@pytest.fixture(scope="module")
def diagram(rows):
    return reliability_diagram(rows.labels, rows, n_bins=15)


def test_gaps_of_a_perfect_model_are_its_noise_floor():
    # All rows of a cell have one score, so that the cells of redrawn rows are binomial without approximation.
    label = np.repeat([0, 1, 2], [40, 15, 5])
    confidence = np.repeat([0.9, 0.7, 0.72], [40, 15, 5])
    y = np.where(np.arange(60) % 5 == 0, 3, label)
    top = TopLabelPrediction(label, confidence)
    diagram = reliability_diagram(y, top, n_bins=10)
    apart = noise_floor(y, top, notion="top-label", n_bins=10, n_resamples=4_000, random_state=0)
    found = diagram.pooled.share @ diagram.perfect_gaps[1]
    assert found == pytest.approx(apart.mean, abs=5 * apart.samples.std() / np.sqrt(4_000))
    # Pooled, 20 rows of 0.7 and 0.72 count as 20 of their mean, 0.705.
    expected = binomial_deviation(np.array([20, 40]), np.array([0.705, 0.9]))
    np.testing.assert_allclose(diagram.perfect_gaps[0], expected)


def test_both_panels_and_their_gaps_are_drawn_as_computed(diagram, rows):
    drawn = accepted(diagrams.draw_reliability(diagram, rows.class_names, named=[3]))
    pooled, perfect, below, above, line, dots, perfect_apart, less, more = drawn.data
    np.testing.assert_array_equal(pooled.x, diagram.pooled.mean_score)
    np.testing.assert_array_equal(pooled.y, diagram.pooled.mean_outcome)
    np.testing.assert_allclose(pooled.y + pooled.error_y.array, diagram.accuracy_upper)
    np.testing.assert_allclose(np.add(below.y, above.y), diagram.pooled.gap)
    np.testing.assert_allclose(np.subtract(more.y, less.y), diagram.delta)
    np.testing.assert_allclose(np.add(more.y, less.y), diagram.pooled.gap, atol=1e-12)
    np.testing.assert_allclose((np.divide(perfect.y, 2.0), perfect_apart.y), diagram.perfect_gaps)
    cells = diagram.cells
    assert sorted(zip(dots.x, dots.y, strict=True)) == sorted(
        zip(cells.mean_score, cells.mean_outcome, strict=True)
    )
    order = np.argsort([custom[5] for custom in dots.customdata])
    assert (np.diff(np.asarray(dots.marker.size)[order]) >= 0).all()
    joined = (cells.label == 3) & (cells.count >= 20)
    np.testing.assert_array_equal(line.x, cells.mean_score[joined])
    coloured = {
        custom[1]
        for custom, colour in zip(dots.customdata, dots.marker.color, strict=True)
        if "138,144,153" not in colour
    }
    assert coloured == {3}
    texts = [note.text for note in drawn.layout.annotations]
    assert f"<b>{rows.class_names[3]}</b>" in texts
    ranges = [drawn.layout[name].range for name in ("xaxis", "xaxis2", "xaxis3", "xaxis4")]
    assert len(set(ranges)) == 1


def test_panels_by_themselves_have_the_axes_of_both(diagram):
    both = accepted(diagrams.draw_reliability(diagram)).layout
    for panel in ("pooled", "classes"):
        own = accepted(diagrams.draw_reliability(diagram, panels=(panel,))).layout
        assert (own.xaxis.range, own.yaxis.range) == (both.xaxis.range, both.yaxis.range)
        assert own.yaxis2.range == both.yaxis3.range
        assert (
            own.yaxis2.nticks >= 5
        )  # plotly's step is up to 2.5 ranges / nticks: only 0 would have a number


def test_clearest_classes_and_bin(diagram):
    # The example makes airplane and cat overconfident and horse underconfident.
    assert set(diagram.clearest[:3].tolist()) == {0, 3, 7}
    cells = diagram.cells
    z = np.abs(cells.gap) / np.sqrt(cells.mean_score * (1 - cells.mean_score) / cells.count)
    assert diagram.clearest_bin == cells.bin[np.argmax(np.where(cells.count >= 20, z, 0))]


def test_a_bin_can_be_opened_after_its_rows_were_listed(rows):
    listed = reliability_diagram(rows, n_bins=15)
    diagrams.rows_behind(rows, cells=listed.cells, bin=8)
    assert listed.zoom(8).cells.count.sum() == listed.zoom(8).star[2]


def test_names_are_escaped(diagram, rows):
    names = ["<b>%{x}</b>", *rows.class_names[1:]]
    drawn = diagrams.draw_reliability(diagram, names, named=[0])
    assert "<b>%" not in str(drawn)


def test_one_event_has_one_panel():
    score = np.linspace(0.05, 0.95, 40)
    item = reliability_diagram(np.arange(40) % 3 == 0, BinaryPrediction(score), n_bins=5)
    pooled, perfect, below, above = accepted(diagrams.draw_reliability(item, event="Y")).data
    np.testing.assert_array_equal(pooled.y, item.pooled.mean_outcome)
    np.testing.assert_allclose(np.subtract(above.y, below.y), item.delta)
    np.testing.assert_allclose(perfect.y, 2.0 * item.perfect_gaps[0])


def test_bin_in_detail_is_sorted_by_the_gap(diagram, rows):
    zoom = diagram.zoom(8)
    _, dots = accepted(diagrams.draw_zoom(zoom, rows.class_names)).data
    order = np.argsort(zoom.cells.gap, kind="stable")
    np.testing.assert_allclose(dots.x, zoom.cells.gap[order])
    np.testing.assert_allclose(
        dots.x + dots.error_x.array, (zoom.accuracy_upper - zoom.cells.mean_score)[order]
    )
    assert [custom[-1] for custom in dots.customdata] == zoom.cells.label[order].tolist()
    beyond = np.array(dots.marker.color) != "#8A9099"
    np.testing.assert_array_equal(beyond, zoom.beyond_noise[order])


def test_the_axis_of_stars_reaches_down_to_marks_below_zero():
    # All say 0.3. Three rows predicted 0 are wrong (gap 0.3), one predicted 1 is right (gap 0.7): pooled 0.25
    # is less than 0.3, so the plus is at 0.3 - (0.75 x 0.3 + 0.25 x 0.7) = -0.1.
    first, second = [0.3, 0.25, 0.25, 0.2], [0.25, 0.3, 0.25, 0.2]
    diagram = reliability_diagram([2, 2, 2, 1], np.array([first, first, first, second]), n_bins=10)
    assert diagram.top_label.tolist() == pytest.approx([-0.1])
    _, plus, star = (drawn := accepted(diagrams.draw_stars(diagram))).data
    assert (plus.y.tolist(), star.y.tolist()) == (
        diagram.top_label.tolist(),
        diagram.pooled.mean_outcome.tolist(),
    )
    assert drawn.layout.yaxis.range == pytest.approx((-0.12, 1.04))
