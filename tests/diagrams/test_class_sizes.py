import numpy as np
import pytest

from calib import HistogramBinning, InputError, MulticlassToBinary, Predictions, datasets, diagrams, ece
from calib.diagrams.class_sizes import class_binning, plan_bins
from calib.diagrams.validity_plots import ValidityCurve
from tests.figures import accepted


@pytest.fixture(scope="module")
def covtype():
    return datasets.covtype_simulated(n_calibration=8_000, n_evaluation=20_000)


@pytest.fixture(scope="module")
def sparse():
    return datasets.many_classes(4_000, 100)


@pytest.mark.parametrize("options", [{"points_per_bin": 100}, {"n_bins": 50}])
def test_calibrated_classes_have_the_discrete_tl_ece(covtype, options):
    side = class_binning(covtype.calibration, covtype.evaluation, **options)
    rows = covtype.evaluation
    fitted = MulticlassToBinary(HistogramBinning(**options)).fit(
        covtype.calibration, covtype.calibration.labels
    )
    top = fitted.predict_top(rows)
    calibrated = np.flatnonzero(side.n_bins)
    for code in calibrated:
        of_class = rows.label == code
        expected = ece(rows.labels[of_class], top_of(top, of_class), strategy="discrete")
        assert side.ece[code] == pytest.approx(expected, abs=1e-12)
        # Base and calibrator share the cells, so the base model's error is at least that of one cell.
        hit = (rows.labels[of_class] == code).mean()
        assert side.base_ece[code] >= abs(hit - rows.confidence[of_class].mean()) - 1e-12
        assert side.n_bins[code] == len(fitted.calibrators_[code].values_)
    np.testing.assert_array_equal(side.n_calibration, np.bincount(covtype.calibration.label, minlength=7))
    np.testing.assert_array_equal(side.n_evaluation, np.bincount(rows.label, minlength=7))
    assert side.cells.count.sum() == 20_000


def top_of(top, rows):
    return type(top)(top.label[rows], top.confidence[rows])


def test_classes_without_bins_are_left_alone(sparse):
    side = class_binning(sparse.calibration, sparse.evaluation, points_per_bin=40)
    without = np.flatnonzero((side.n_bins == 0) & (side.n_evaluation > 0))
    assert len(without) > 10
    np.testing.assert_allclose(side.ece[without], side.base_ece[without])
    assert np.isnan(side.points_per_bin[without]).all()
    assert (side.points_per_bin[side.n_bins > 0] >= 40).all()
    of_class = sparse.evaluation.label == without[0]
    expected = ece(sparse.evaluation.labels[of_class], sparse.evaluation.proba[of_class])
    assert side.ece[without[0]] == pytest.approx(expected, abs=1e-6)
    assert len(side.frame(sparse.evaluation.class_names)) == 100


def curve_of(side, label, *, base=False):
    cells = side.base_cells if base else side.cells
    return ValidityCurve.of_cells(cells if label is None else cells.of(cells.label == label)).steps()


def test_validity_is_the_share_of_rows_within_eps(covtype):
    side = class_binning(covtype.calibration, covtype.evaluation, points_per_bin=100)
    for base in (False, True):
        for label in (None, 3):
            eps, share = curve_of(side, label, base=base)
            assert (eps[0], share[0], share[-1]) == (0.0, 0.0, pytest.approx(1.0))
            assert (np.diff(eps) >= 0).all()
            # The area above V is the mean gap, so the TL-ECE.
            area = np.sum(np.diff(share) * eps[1:])
            errors, n = (side.base_ece if base else side.ece), side.n_evaluation
            whole = np.nansum(errors * n) / n.sum()
            assert area == pytest.approx(whole if label is None else errors[label])


def test_floor_is_what_perfect_rows_show():
    rows = datasets.perfect(20_000, 4, random_state=0)
    side = class_binning(rows.calibration, rows.evaluation, points_per_bin=500)
    # The base model is perfect: its error is its floor, to within sampling error.
    assert np.mean(side.base_ece / side.base_floor) == pytest.approx(1.0, abs=0.25)
    assert (side.ece > 0.5 * side.floor).all()


def test_absent_top_classes_keep_their_place():
    proba = np.tile([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1]], (30, 1))
    rows = Predictions(proba, np.tile([0, 1], 30), ("a", "b", "c"))
    side = class_binning(rows, rows, points_per_bin=20)
    assert side.n_evaluation.tolist() == [60, 0, 0]
    assert side.n_bins.tolist() == [2, 0, 0]
    assert side.ece[0] == pytest.approx(0.0)
    # 0.6 is always right and 0.7 never: (0.4 + 0.7) / 2.
    assert side.base_ece[0] == pytest.approx(0.55)
    assert np.isnan(side.ece[1:]).all()
    assert len(side.frame(rows.class_names)) == 3
    assert side.cells_frame(rows.class_names)["class"].tolist() == ["a", "a"]


def test_plan_counts_bins_and_assesses_them_alike(sparse):
    plan = plan_bins(sparse.calibration, sparse.evaluation, points_per_bin=(20, 50, 5_000))
    rows = sparse.evaluation
    for k, bins, covered, error in zip(
        plan.points_per_bin, plan.n_bins, plan.covered, plan.tl_ece, strict=True
    ):
        fitted = MulticlassToBinary(HistogramBinning(points_per_bin=int(k)))
        fitted.fit(sparse.calibration, sparse.calibration.labels)
        np.testing.assert_array_equal(bins == 0, fitted.n_points_ < k)
        assert (bins <= np.maximum(fitted.n_points_ // k, 0)).all()
        assert covered == pytest.approx(np.isin(rows.label, np.flatnonzero(bins)).mean())
        assert error == pytest.approx(ece(fitted.predict_top(rows), strategy="uniform"), abs=1e-12)
    # With more points per bin than there are rows nothing is calibrated.
    assert plan.n_bins[-1].sum() == plan.covered[-1] == 0
    assert plan.tl_ece[-1] == pytest.approx(plan.base_tl_ece, abs=1e-12)
    assert plan.floor < plan.base_tl_ece
    counts = plan.class_counts()
    assert (counts.sum(axis=1) == 100).all()
    assert counts.index.tolist() == [20, 50, 5_000]
    assert len(plan.frame()) == 3


def test_wrong_use_is_refused(covtype):
    rows = covtype.evaluation
    with pytest.raises(InputError, match="give either points_per_bin or n_bins"):
        class_binning(rows, rows)
    with pytest.raises(InputError, match="true labels are needed"):
        plan_bins(rows, Predictions(rows.proba, class_names=rows.class_names))


def test_error_bars_and_floors_of_each_class(covtype):
    names = covtype.evaluation.class_names
    shares = np.bincount(covtype.evaluation.labels) / 20_000
    side = class_binning(covtype.calibration, covtype.evaluation, points_per_bin=100)
    figure = accepted(diagrams.draw_class_errors(side, [1, 3], shares, names, 0.2))
    base, hb, base_floor, floor = figure.data
    np.testing.assert_array_equal(base.x, side.base_ece[[1, 3]])
    np.testing.assert_array_equal(hb.x, side.ece[[1, 3]])
    np.testing.assert_array_equal(base_floor.x, side.base_floor[[1, 3]])
    np.testing.assert_array_equal(floor.x, side.floor[[1, 3]])
    assert "no bins" in figure.layout.yaxis.ticktext[1]  # class 4 is predicted for fewer than 100 rows
    assert f"{side.n_bins[1]} bins" in figure.layout.yaxis.ticktext[0]


def test_panels_show_cells_and_validity(covtype):
    side = class_binning(covtype.calibration, covtype.evaluation, points_per_bin=100)
    figure = accepted(diagrams.draw_class_panels(side, [0, 6], covtype.evaluation.class_names, 0.3))
    assert len(figure.data) == 8
    for start, code in ((0, 0), (4, 6)):
        own = side.cells.label == code
        base, base_validity, hb, validity = figure.data[start : start + 4]
        np.testing.assert_array_equal(base.x, side.base_cells.mean_score[own])
        np.testing.assert_array_equal(hb.x, side.cells.mean_score[own])
        np.testing.assert_array_equal(hb.y, side.cells.mean_outcome[own])
        np.testing.assert_array_equal(validity.y[:-1], curve_of(side, code)[1])
        np.testing.assert_array_equal(base_validity.x[:-1], curve_of(side, code, base=True)[0])
    assert [trace.showlegend for trace in figure.data] == [True, False, True, False, *[False] * 4]


def test_plan_stacks_classes_and_draws_the_errors(covtype):
    plan = plan_bins(covtype.calibration, covtype.evaluation, points_per_bin=(20, 100))
    figure = accepted(diagrams.draw_bin_plan(plan))
    stacked = np.sum([trace.y for trace in figure.data[:4]], axis=0)
    np.testing.assert_array_equal(stacked, [7, 7])
    np.testing.assert_array_equal(figure.data[4].y, plan.tl_ece)
    assert len(figure.data) == 7
