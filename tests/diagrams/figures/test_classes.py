import numpy as np
import pytest

from calib import bin_statistics, datasets, figures, reduce_to_binary
from calib.diagrams import class_binning, class_diagram, class_heat, confusions, plan_bins


@pytest.fixture(scope="module")
def rows():
    return datasets.resnet_shaped().evaluation


@pytest.fixture(scope="module")
def covtype():
    return datasets.covtype_simulated(n_calibration=8_000, n_evaluation=10_000)


def test_heat_shows_every_cell_once_and_answers_clicks(rows):
    heat = class_heat(bin_statistics(reduce_to_binary(rows.labels, rows, "top-label"), n_bins=10))
    names = ["<b>%{x}</b>", *rows.class_names[1:]]
    figure = figures.heat(heat, names)
    sure, sparse, squares = figure.data
    shown = np.nan_to_num(np.asarray(sure.z)) + np.nan_to_num(np.asarray(sparse.z))
    np.testing.assert_allclose(shown, np.nan_to_num(heat.gap))
    assert sparse.opacity < sure.opacity
    assert (~np.isnan(sparse.z) <= (heat.count < 20)).all()
    assert figure.layout.coloraxis.cmax == -figure.layout.coloraxis.cmin == heat.limit
    assert sure.coloraxis == sparse.coloraxis == "coloraxis"
    assert figures.heat(heat, names, limit=0.7).layout.coloraxis.cmax == 0.7
    assert len(squares.x) == np.count_nonzero(heat.count)
    assert squares.selectedpoints == ()
    code, bin_ = squares.customdata[7][:2]
    assert figures.heat(heat, names, chosen=(code, bin_)).data[2].selectedpoints == (7,)
    assert (squares.marker.opacity, squares.selected.marker.opacity) == (0, 1)
    first = squares.customdata[0]
    row = heat.label.tolist().index(first[0])
    assert squares.y[0] == row
    assert first[6] == pytest.approx(heat.gap[row, first[1]])
    airplane = next(custom for custom in squares.customdata if custom[0] == 0)
    assert airplane[2].startswith("&lt;b&gt;")
    assert "%{x}" not in airplane[2]


def test_limit_of_colours_covers_most_cells(rows):
    heat = class_heat(bin_statistics(reduce_to_binary(rows.labels, rows, "top-label"), n_bins=10))
    gaps = np.abs(heat.gap[heat.count >= 20])
    assert (gaps <= heat.limit).mean() >= 0.95
    assert heat.limit == pytest.approx(round(heat.limit, 1))


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_class_diagram_is_drawn_as_computed(rows, notion):
    diagram = class_diagram(rows.labels, rows, 3, notion=notion)
    bars, marks = figures.class_reliability(diagram).data
    assert sum(bars.y) == pytest.approx(1.0)
    np.testing.assert_array_equal(marks.x, diagram.mean_score)
    np.testing.assert_array_equal(marks.y, diagram.frequency)
    np.testing.assert_allclose(marks.y + marks.error_y.array, diagram.frequency_upper)
    np.testing.assert_array_equal(np.asarray(marks.marker.opacity) < 1, diagram.count < 20)


def test_confusions_are_cut_to_a_few(rows):
    pair = confusions(rows.labels, rows.label, 0, n_classes=10)
    (bars,) = figures.confused(
        pair.truth_when_predicted, pair.count_when_predicted, rows.class_names, n_shown=3
    ).data
    assert list(bars.x) == pair.count_when_predicted[:3].tolist()
    assert len(bars.customdata) == 3


def test_shares_of_very_many_classes_have_ticks_that_differ():
    for n_classes, digits in ((2, 0), (10, 0), (1000, 2)):
        shares = {"true": np.full(n_classes, 1 / n_classes)}
        axis = figures.class_shares(shares, [str(code) for code in range(n_classes)]).layout.xaxis
        assert axis.tickformat == f".{digits}%"


def test_error_bars_and_floors_of_each_class(covtype):
    names = covtype.evaluation.class_names
    shares = np.bincount(covtype.evaluation.labels) / 10_000
    side = class_binning(covtype.calibration, covtype.evaluation, points_per_bin=100)
    figure = figures.class_errors(side, [1, 3], shares, names, 0.2)
    base, hb, base_floor, floor = figure.data
    np.testing.assert_array_equal(base.x, side.base_ece[[1, 3]])
    np.testing.assert_array_equal(hb.x, side.ece[[1, 3]])
    np.testing.assert_array_equal(base_floor.x, side.base_floor[[1, 3]])
    np.testing.assert_array_equal(floor.x, side.floor[[1, 3]])
    assert "no bins" in figure.layout.yaxis.ticktext[1]  # class 4 is predicted for fewer than 100 rows
    assert f"{side.n_bins[1]} bins" in figure.layout.yaxis.ticktext[0]


def test_panels_show_cells_and_validity(covtype):
    side = class_binning(covtype.calibration, covtype.evaluation, points_per_bin=100)
    figure = figures.class_panels(side, [0, 6], covtype.evaluation.class_names, 0.3)
    assert len(figure.data) == 8
    for start, code in ((0, 0), (4, 6)):
        own = side.label == code
        base, base_validity, hb, validity = figure.data[start : start + 4]
        np.testing.assert_array_equal(base.x, side.base_confidence[own])
        np.testing.assert_array_equal(hb.x, side.confidence[own])
        np.testing.assert_array_equal(hb.y, side.accuracy[own])
        np.testing.assert_array_equal(validity.y[:-1], side.validity(code)[1])
        np.testing.assert_array_equal(base_validity.x[:-1], side.validity(code, base=True)[0])
    assert [trace.showlegend for trace in figure.data] == [True, False, True, False, *[False] * 4]


def test_plan_stacks_classes_and_draws_the_errors(covtype):
    plan = plan_bins(covtype.calibration, covtype.evaluation, points_per_bin=(20, 100))
    figure = figures.bin_plan(plan)
    stacked = np.sum([trace.y for trace in figure.data[:4]], axis=0)
    np.testing.assert_array_equal(stacked, [7, 7])
    np.testing.assert_array_equal(figure.data[4].y, plan.tl_ece)
    assert len(figure.data) == 7
