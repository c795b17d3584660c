"""CalibratedModel: a classifier and a calibrator as one scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calib
from calib import (
    CalibratedModel,
    DirichletScaling,
    HistogramBinning,
    InputError,
    MulticlassToBinary,
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
    if hasattr(pipeline, "predict_proba"):
        proba = cross_val_predict(pipeline, X, names, cv=3, method="predict_proba")
        assert proba.shape == (len(X), 10)
    assert hasattr(pipeline.fit(X, names), "predict_proba") == (
        calibrator is not None and hasattr(calibrator, "predict_proba")
    )


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
    with pytest.raises(InputError, match="Perceptron has none"):
        CalibratedModel(Perceptron()).fit(X, y)
    with pytest.raises(InputError, match=r"calibration must be inside \(0, 1\)"):
        CalibratedModel(GaussianNB(), calibration=1.0).fit(X, y)
    with pytest.raises(InputError, match="leave none for the calibrator"):
        CalibratedModel(GaussianNB()).fit(X[:4], [0, 1, 2, 2])
    few = GaussianNB().fit(X[y < 9], y[y < 9])
    with pytest.raises(InputError, match=r"y has the class .*9.*, which the estimator was not fitted on"):
        CalibratedModel(FrozenEstimator(few)).fit(X, y)
    with pytest.raises(InputError, match="y has the class"):
        CalibratedModel(FrozenEstimator(few)).fit(X, y.astype(str))


def test_clone_is_unfitted_and_equal():
    model = CalibratedModel(GaussianNB(), TemperatureScaling(), calibration=0.1, random_state=5)
    assert repr(clone(model)) == repr(model)
