"""Calibrators of other packages in comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from calib import CalibratorFileError, ForeignCalibrator, InputError, TemperatureScaling, compare_models, save
from calib.calibrators.catalogue import name_of
from calib.datasets import load_example


class Power:
    """As other packages are written: no clone, no checks, fits in place; p to a power, fitted by a grid."""

    def fit(self, proba, y):
        losses = [-np.log(self._raised(proba, power)[np.arange(len(y)), y]).mean() for power in POWERS]
        self.power = POWERS[int(np.argmin(losses))]

    def predict_proba(self, proba):
        return self._raised(proba, self.power)

    def _raised(self, proba, power):
        raised = proba**power
        return raised / raised.sum(axis=1, keepdims=True)


POWERS = np.linspace(0.3, 2.0, 171)


class OfOneScore:
    """Gives P(Y = 1) alone, by `transform`."""

    def __init__(self, shape=(-1,)):
        self.shape = shape

    def fit(self, proba, y):
        self.share = y.mean()

    def transform(self, proba):
        return np.full(len(proba), self.share).reshape(self.shape)


class Broken(Power):
    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, proba):
        return self.answer(proba)


@pytest.fixture(scope="module")
def example():
    return load_example("resnet")


def test_powers_of_probabilities_are_temperature_scaling(example):
    """p^a, normalised, is softmax(log p / T) with T = 1 / a; the grid has steps of 0.01."""
    rows, test = example.calibration, example.evaluation
    foreign = ForeignCalibrator(Power()).fit(rows.proba, rows.labels)
    temperature = TemperatureScaling().fit(rows.proba, rows.labels).temperature_
    assert foreign.calibrator_.power == pytest.approx(1.0 / temperature, abs=0.01)
    assert np.allclose(foreign.predict_proba(test.proba).sum(axis=1), 1.0)
    assert np.array_equal(foreign.predict(test.proba), test.proba.argmax(axis=1))
    assert name_of(foreign) == "Power"
    assert name_of(clone(foreign).set_params(name="p^a")) == "p^a"


def test_any_object_takes_part_in_a_comparison(example):
    methods = {
        "TS": TemperatureScaling(),
        "power": Power(),
        "logistic": LogisticRegression(),
        "broken": Broken(lambda proba: proba[:, :2]),
    }
    pair = example.calibration, example.evaluation
    board = compare_models({"a": pair}, methods, n_resamples=1)
    entries = {entry.method: entry for entry in board.entries}
    ts, power = entries["TS"].metrics, entries["power"].metrics
    assert power.brier == pytest.approx(ts.brier, abs=1e-4)
    assert power.conf_ece == pytest.approx(ts.conf_ece, abs=1e-3)
    assert entries["logistic"].failure in (None, "")
    assert "broken gave shape" in entries["broken"].failure
    assert "power" in set(board.frame()["method"])


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_score_of_two_classes_becomes_a_vector(shape):
    proba = np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.4, 0.6]])
    foreign = ForeignCalibrator(OfOneScore(shape)).fit(proba, [0, 1, 1, 1])
    assert foreign.predict_proba(proba).tolist() == [[0.25, 0.75]] * 4


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda proba: proba * 2.0, "must lie in"),
        (lambda proba: proba * 0.5, r"gave do not sum to 1; row \d+ sums to 0\.5"),
        (lambda proba: proba * np.nan, "gave"),
        (lambda proba: 1 / 0, "Broken.predict_proba failed: ZeroDivisionError"),
    ],
)
def test_what_is_no_probability_is_refused(example, answer, told):
    foreign = ForeignCalibrator(Broken(answer)).fit(example.calibration.proba, example.calibration.labels)
    with pytest.raises(InputError, match=told):
        foreign.predict_proba(example.evaluation.proba)


def test_wrong_use_is_refused(example, tmp_path):
    rows = example.calibration
    with pytest.raises(InputError, match="object needs fit, and predict_proba or transform"):
        ForeignCalibrator(object()).fit(rows.proba, rows.labels)
    with pytest.raises(InputError, match="is given no weights"):
        ForeignCalibrator(Power()).fit(rows.proba, rows.labels, np.ones(len(rows.labels)))
    with pytest.raises(CalibratorFileError):
        save(ForeignCalibrator(Power()).fit(rows.proba, rows.labels), tmp_path / "cal.json")
