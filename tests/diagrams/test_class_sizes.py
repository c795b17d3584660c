import numpy as np
import pytest

from calib import HistogramBinning, InputError, MulticlassToBinary, Predictions, datasets, diagrams, ece
from calib.diagrams.class_sizes import class_binning
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


def test_wrong_use_is_refused(covtype):
    rows = covtype.evaluation
    with pytest.raises(InputError, match="give either points_per_bin or n_bins"):
        class_binning(rows, rows)
    with pytest.raises(InputError, match="true labels are needed"):
        class_binning(rows, Predictions(rows.proba, class_names=rows.class_names), n_bins=5)


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
