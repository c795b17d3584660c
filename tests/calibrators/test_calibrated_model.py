"""CalibratedModel: a classifier and a calibrator as one scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import calib
from calib import (
    CalibratedModel,
    DirichletScaling,
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    MulticlassToBinary,
    PlattScaling,
    TemperatureScaling,
    ece,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


CALIBRATORS = [
    None,
    MulticlassToBinary(HistogramBinning(points_per_bin=20), notion="confidence"),
    MulticlassToBinary(HistogramBinning(points_per_bin=10), notion="class-wise", normalize=True),
    MulticlassToBinary(complete="rescale"),
    TemperatureScaling(),
    DirichletScaling(l2=0.1),
]


def test_a_fitted_classifier_in_two_lines(digits):
    X, y = digits
    classifier = GaussianNB().fit(X[::2], y[::2])
    model = CalibratedModel(FrozenEstimator(classifier)).fit(X[1::2], y[1::2])
    top = model.predict_top(X)
    direct = MulticlassToBinary().fit(classifier.predict_proba(X[1::2]), y[1::2])
    assert np.array_equal(top.confidence, direct.predict_top(classifier.predict_proba(X)).confidence)
    assert model.n_calibration_ == len(X[1::2])
    assert np.array_equal(model.predict(X), classifier.predict(X))


def test_calibration_helps_on_new_rows(digits):
    """Naive Bayes is grossly overconfident on digits: TL-ECE falls on rows neither has seen."""
    X, y = digits
    train, new = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    base = GaussianNB().fit(X[train], y[train])
    model = CalibratedModel(GaussianNB(), calibration=0.5).fit(X[train], y[train])
    before = ece(y[new], base.predict_proba(X[new]))
    after = ece(y[new], model.predict_top(X[new]), strategy="discrete")
    assert after < before


@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_it_works_in_pipelines_and_cross_validation(digits, calibrator):
    X, y = digits[0][:1200], digits[1][:1200]
    names = np.array([f"digit {code}" for code in range(10)])[y]
    pipeline = make_pipeline(StandardScaler(), CalibratedModel(GaussianNB(), calibrator))
    predicted = cross_val_predict(pipeline, X, names, cv=3)
    assert np.mean(predicted == names) > 0.6
    assert cross_val_score(pipeline, X, names, cv=3).min() > 0.6
    proba = cross_val_predict(pipeline, X, names, cv=3, method="predict_proba")
    assert proba.shape == (len(X), 10)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert cross_val_score(pipeline, X, names, cv=3, scoring="neg_log_loss").max() < 0.0


def test_parameters_can_be_searched(digits):
    X, y = digits[0][:400], digits[1][:400]
    model = CalibratedModel(GaussianNB(), MulticlassToBinary(HistogramBinning()))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"calibratedmodel__calibrator__binary__points_per_bin": [5, 20]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.7


def test_division_is_stratified_and_leaves_every_class_a_row():
    y = np.repeat(["a", "b", "c"], [40, 8, 1])
    X = np.random.default_rng(0).normal(size=(49, 2))
    model = CalibratedModel(GaussianNB(), TemperatureScaling(), calibration=0.5).fit(X, y)
    assert model.n_calibration_ == 24  # 20 of a, 4 of b, 0 of c
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X).shape == (49, 3)


def test_equal_seeds_give_equal_models(digits):
    X, y = digits
    first, second, third = (
        CalibratedModel(GaussianNB(), random_state=seed).fit(X, y).predict_top(X).confidence
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_data_frames_and_top_k(digits):
    X, y = digits
    frame = pd.DataFrame(X).add_prefix("pixel")
    model = CalibratedModel(GaussianNB(), MulticlassToBinary(notion="top-k-label", top_k=2)).fit(frame, y)
    labels, confidences = model.predict_top_k(frame)
    assert labels.shape == confidences.shape == (len(X), 2)
    assert not hasattr(model, "predict_top")
    assert not hasattr(model, "predict_proba")


def test_calibrator_can_be_saved_with_the_names(digits, tmp_path):
    X, y = digits
    model = CalibratedModel(GaussianNB()).fit(X, y)
    calib.save(model.calibrator_, tmp_path / "cal.json", class_names=model.classes_)
    assert calib.load(tmp_path / "cal.json").class_names_ == tuple("0123456789")


def test_wrong_use_is_refused(digits):
    X, y = digits
    with pytest.raises(InputError, match="needs predict_proba; Perceptron has none"):
        CalibratedModel(Perceptron(), response="predict_proba").fit(X, y)
    with pytest.raises(InputError, match="needs predict_proba or decision_function; KMeans has none"):
        CalibratedModel(KMeans()).fit(X, y)
    with pytest.raises(InputError, match="this calibrator gives none; use ensemble=False"):
        CalibratedModel(GaussianNB(), MulticlassToBinary(notion="top-k-label"), cv=3).fit(X, y)
    with pytest.raises(InputError, match=r"pass MulticlassToBinary\(PlattScaling\(\)\)"):
        CalibratedModel(GaussianNB(), PlattScaling()).fit(X, y)
    with pytest.raises(InputError, match=r"calibration must be inside \(0, 1\)"):
        CalibratedModel(GaussianNB(), calibration=1.0).fit(X, y)
    with pytest.raises(InputError, match="leave none for the calibrator"):
        CalibratedModel(GaussianNB()).fit(X[:4], [0, 1, 2, 2])
    with pytest.raises(InputError, match="calibrator must be one such as .*'isotonic'"):
        CalibratedModel(GaussianNB(), "isotonic").fit(X, y)
    with pytest.raises(InputError, match="cv cannot be 'prefit'.*FrozenEstimator"):
        CalibratedModel(GaussianNB(), cv="prefit").fit(X, y)
    for labels in (np.where(y == y[1], None, y.astype(str)), np.where(y == y[1], np.nan, y)):
        with pytest.raises(InputError, match="y must not be missing; got .* in row 1"):
            CalibratedModel(GaussianNB()).fit(X, labels)
    few = GaussianNB().fit(X[y < 9], y[y < 9])
    with pytest.raises(InputError, match=r"y has the class .*9.*, which the estimator was not fitted on"):
        CalibratedModel(FrozenEstimator(few)).fit(X, y)
    with pytest.raises(InputError, match="y has the class"):
        CalibratedModel(FrozenEstimator(few)).fit(X, y.astype(str))


def test_clone_is_unfitted_and_equal():
    model = CalibratedModel(GaussianNB(), TemperatureScaling(), calibration=0.1, random_state=5)
    assert repr(clone(model)) == repr(model)


SMOOTH = MulticlassToBinary(PlattScaling(), notion="class-wise", normalize=True)
FREE = MulticlassToBinary(IsotonicCalibration(), notion="class-wise", normalize=True)


@pytest.mark.parametrize(
    "model",
    [
        CalibratedModel(LogisticRegression()),
        CalibratedModel(GaussianNB(), TemperatureScaling(), cv=2, ensemble=False),
        pytest.param(
            CalibratedModel(LogisticRegression(), FREE, cv=2, response="decision_function"),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_scikit_learns_own_checks_pass(model):
    """All of them; scikit-learn itself skips the one for array libraries that are not installed.

    That a weight of 2 equals two rows holds for calibrators that do not count rows: Platt's prior does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of the checks are few, and classes pure
        done = check_estimator(model, on_fail=None)
    assert [item["check_name"] for item in done if item["status"] == "failed"] == []
    assert {item["check_name"] for item in done if item["status"] == "skipped"} <= {"check_array_api_input"}
    assert len(done) > 50


@pytest.fixture(scope="module")
def three_classes():
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, flip_y=0.2, random_state=0)
    return X, np.array(["ant", "bee", "cat"])[y]


def test_vectors_are_completed_by_default(three_classes):
    X, y = three_classes
    model = CalibratedModel(LogisticRegression()).fit(X, y)
    proba, top = model.predict_proba(X), model.predict_top(X)
    assert np.array_equal(proba[np.arange(len(X)), top.label], top.confidence)
    assert np.allclose(proba.sum(axis=1), 1.0)
    complete = MulticlassToBinary(complete="rescale")
    assert np.array_equal(CalibratedModel(LogisticRegression(), complete).fit(X, y).predict_proba(X), proba)


def test_folds_give_averages_of_pairs_fitted_by_hand(three_classes):
    X, y = three_classes
    folds = StratifiedKFold(3)
    model = CalibratedModel(LogisticRegression(), TemperatureScaling(), cv=folds, n_jobs=1).fit(X, y)
    by_hand = []
    for train, test in folds.split(X, y):
        base = LogisticRegression().fit(X[train], y[train])
        codes = np.searchsorted(base.classes_, y[test])
        fitted = TemperatureScaling().fit(base.predict_proba(X[test]), codes)
        by_hand.append(fitted.predict_proba(base.predict_proba(X)))
    assert np.allclose(model.predict_proba(X), np.mean(by_hand, axis=0), rtol=0, atol=1e-12)
    assert np.array_equal(model.predict(X), model.classes_[np.mean(by_hand, axis=0).argmax(axis=1)])
    assert (len(model.pairs_), model.n_calibration_) == (3, 600)
    assert not hasattr(model, "calibrator_")
    assert np.array_equal(model.predict_top(X).confidence, model.predict_proba(X).max(axis=1))


def test_a_single_pair_predicts_the_class_of_its_calibrator():
    """The classifier says "a" with 0.75; of 40 rows 10 are "a", so that the calibrated confidence is 0.25.

    Its other class has the rest, 0.75: the largest number of the vector is not the predicted class's.
    """
    classifier = Recorder().fit(np.zeros((4, 1)), np.array(["a", "a", "a", "b"]))
    confidence = MulticlassToBinary(HistogramBinning(points_per_bin=40), notion="confidence")
    model = CalibratedModel(FrozenEstimator(classifier), confidence)
    model.fit(np.zeros((40, 1)), np.repeat(["a", "b"], [10, 30]))
    X = np.zeros((1, 1))
    top = model.predict_top(X)
    assert (top.label.tolist(), top.confidence.tolist()) == ([0], [0.25])
    assert model.predict(X).tolist() == ["a"]
    assert model.predict_proba(X).tolist() == [[0.25, 0.75]]


def test_two_pairs_predict_the_highest_average(three_classes):
    X, y = three_classes
    model = CalibratedModel(LogisticRegression(), TemperatureScaling(), cv=2).fit(X, y)
    proba, top = model.predict_proba(X), model.predict_top(X)
    assert np.array_equal(proba, (model.pairs_[0].proba(X) + model.pairs_[1].proba(X)) / 2)
    assert np.array_equal(top.label, proba.argmax(axis=1))
    assert np.array_equal(top.confidence, proba.max(axis=1))
    assert np.array_equal(model.predict(X), model.classes_[top.label])


def test_without_ensemble_one_calibrator_sees_the_scores_of_all_folds(three_classes):
    X, y = three_classes
    model = CalibratedModel(LogisticRegression(), TemperatureScaling(), cv=3, ensemble=False).fit(X, y)
    proba = cross_val_predict(LogisticRegression(), X, y, cv=StratifiedKFold(3), method="predict_proba")
    fitted = TemperatureScaling().fit(proba, np.searchsorted(model.classes_, y))
    assert model.calibrator_.temperature_ == pytest.approx(fitted.temperature_, rel=1e-12)
    assert np.array_equal(model.estimator_.coef_, LogisticRegression().fit(X, y).coef_)


@pytest.mark.parametrize("ensemble", [True, False])
def test_decision_values_of_two_classes_are_calibrated_as_scikit_learn_does(ensemble):
    """Its sigmoid is Platt's logistic regression of the same targets on the decision values."""
    X, y = make_classification(400, 6, flip_y=0.2, random_state=1)
    ours = CalibratedModel(RidgeClassifier(), SMOOTH, cv=3, ensemble=ensemble).fit(X, y)
    theirs = CalibratedClassifierCV(RidgeClassifier(), cv=3, ensemble=ensemble).fit(X, y)
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-4


def test_large_decision_values_do_not_saturate():
    """A multiple of the decision values, up to 16,000 times too large, gives the same probabilities."""
    X, y = make_classification(400, 6, flip_y=0.2, random_state=1)
    base = RidgeClassifier().fit(X[::2], y[::2])
    expected = CalibratedModel(FrozenEstimator(base), SMOOTH).fit(X[1::2], y[1::2]).predict_proba(X)
    base.coef_, base.intercept_ = base.coef_ * 16_000, base.intercept_ * 16_000
    large = CalibratedModel(FrozenEstimator(base), SMOOTH).fit(X[1::2], y[1::2])
    assert large.pairs_[0].scale > 100
    assert np.allclose(large.predict_proba(X), expected, rtol=0, atol=1e-6)


def test_a_class_that_a_fold_lacks_has_a_column(three_classes):
    """The only row of "bee" is in the first fold, so that its classifier knows two of the three classes."""
    X, y = three_classes
    rows = np.concatenate([np.flatnonzero(y == "bee")[:1], np.flatnonzero(y != "bee")])
    folds = [(np.arange(200, len(rows)), np.arange(200)), (np.arange(200), np.arange(200, len(rows)))]
    for response in ("predict_proba", "decision_function"):
        model = CalibratedModel(LogisticRegression(), TemperatureScaling(), cv=folds, response=response)
        proba = model.fit(X[rows], y[rows]).predict_proba(X)
        assert model.classes_.tolist() == ["ant", "bee", "cat"]
        assert proba.shape == (600, 3)
        assert np.allclose(proba.sum(axis=1), 1.0)
        item = clone(model).set_params(ensemble=False).fit(X[rows], y[rows])
        assert item.predict_proba(X).shape == (600, 3)


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier of class shares that notes the weights and further values it was fitted with."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.classes_, count = np.unique(y, return_counts=True)
        self.shares_, self.weight_, self.note_ = count / len(y), sample_weight, note
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def test_weights_reach_estimator_and_calibrator(three_classes):
    X, y = three_classes
    weight = np.where(y == "bee", 3.0, 1.0)
    model = CalibratedModel(Recorder(), SMOOTH, calibration=0.5).fit(X, y, sample_weight=weight)
    assert sorted(set(model.estimator_.weight_.tolist())) == [1.0, 3.0]
    assert len(model.estimator_.weight_) == len(X) - model.n_calibration_
    # Scores are constant: calibrated, they are the weighted shares of the rows, up to the prior of Platt.
    count = np.array([np.sum(y == name) for name in model.classes_]) / 2 * [1, 3, 1]
    assert np.allclose(model.predict_proba(X)[0], count / count.sum(), atol=0.01)
    with pytest.raises(InputError, match="cannot use sample_weight"):
        CalibratedModel(Recorder(), Unweighted()).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("cv", "ensemble", "refused"),
    [
        (LeaveOneOut(), True, True),
        (LeaveOneOut(), False, True),
        (21, True, True),  # 21 folds of a class of 20 rows
        (KFold(30, shuffle=True, random_state=0), False, True),
        ([(np.arange(2, 60), np.arange(2)), (np.arange(58), [58, 59])], True, True),  # rows of both classes
        ([(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))], True, False),
        ([(np.arange(1, 60), [0]), (np.arange(59), [59])], False, False),  # one calibrator for both rows
        ([(np.arange(20, 60), np.arange(0, 20, 3)), (np.arange(40), np.arange(40, 60))], True, True),
        (20, True, False),
    ],
)
def test_folds_too_small_to_calibrate_on_are_refused(cv, ensemble, refused):
    """Rows 0, 3, 6, ... are of class "a" alone."""
    y = np.array(["a", "b", "b"] * 20)
    X = np.random.default_rng(0).normal(size=(60, 2)) + (y == "a")[:, None]
    model = CalibratedModel(LogisticRegression(), SMOOTH, cv=cv, ensemble=ensemble)
    if not refused:
        assert model.fit(X, y).predict_proba(X).std() > 0.05
        return
    with pytest.raises(InputError, match="Use fewer folds"):
        model.fit(X, y)
    if not isinstance(cv, list):  # scikit-learn trusts folds that are given row by row
        with pytest.raises(ValueError, match="fold|LeaveOneOut"):
            CalibratedClassifierCV(LogisticRegression(), cv=cv, ensemble=ensemble).fit(X, y)


def test_weights_that_the_estimator_cannot_use_are_told(three_classes):
    X, y = three_classes
    weight = np.where(y == "bee", 3.0, 1.0)
    neighbours = CalibratedModel(KNeighborsClassifier(), SMOOTH)
    with pytest.warns(UserWarning, match="KNeighborsClassifier.fit has no such argument"):
        model = neighbours.fit(X, y, sample_weight=weight)
    assert not np.array_equal(model.predict_proba(X), clone(neighbours).fit(X, y).predict_proba(X))
    pipeline = make_pipeline(StandardScaler(), Recorder())
    with pytest.warns(UserWarning, match="as step__sample_weight"):
        CalibratedModel(pipeline, SMOOTH).fit(X, y, sample_weight=weight)
    # Neither a frozen estimator nor a pipeline whose step gets the weights misses them: no warning.
    CalibratedModel(FrozenEstimator(KNeighborsClassifier().fit(X, y)), SMOOTH).fit(X, y, sample_weight=weight)
    both = {"sample_weight": weight, "recorder__sample_weight": weight}
    assert CalibratedModel(pipeline, SMOOTH).fit(X, y, **both).estimator_[-1].weight_ is not None


class Unweighted(TemperatureScaling):
    def fit(self, proba, y):
        return super().fit(proba, y)


def test_metadata_are_routed_to_whatever_requests_them(three_classes):
    X, y = three_classes
    groups = np.arange(len(X)) % 5
    with config_context(enable_metadata_routing=True):
        estimator = Recorder().set_fit_request(sample_weight=False, note=True)
        model = CalibratedModel(estimator, SMOOTH, cv=GroupKFold(5)).set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=np.ones(len(X)), note=np.arange(len(X)), groups=groups)
        for number, pair in enumerate(model.pairs_):
            assert pair.estimator.weight_ is None
            assert len(set((pair.estimator.note_ % 5).tolist())) == 4, number
        with pytest.raises(TypeError, match="unexpected argument"):
            model.fit(X, y, another=1)


def test_names_of_features_are_those_of_the_estimator(three_classes):
    X, y = three_classes
    frame = pd.DataFrame(X).add_prefix("f")
    model = CalibratedModel(LogisticRegression(), cv=2).fit(frame, y)
    assert model.n_features_in_ == 8
    assert model.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(frame[frame.columns[::-1]])
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")


def test_files_of_models_and_calibrators_are_told_apart(three_classes, tmp_path):
    model = CalibratedModel(GaussianNB()).fit(*three_classes)
    with pytest.raises(InputError, match=r"`calib.save_model` stores a CalibratedModel"):
        calib.save(model, tmp_path / "model.json")
    calib.save_model(model, tmp_path / "model.skops")
    with pytest.raises(InputError, match="use calib.load_model"):
        calib.load(tmp_path / "model.skops")
