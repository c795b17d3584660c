"""A model as one file: JSON for the calibrators, skops for the classifier."""

from __future__ import annotations

import io
import json
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calib import (
    CalibratedModel,
    CalibratorFileError,
    InputError,
    TemperatureScaling,
    load_model,
    save_model,
)
from calib.files.saved import loads

pytest.importorskip("skops", reason="the skops extra is not installed")

X, y = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[y]


class Own(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


def stored(model: CalibratedModel) -> io.BytesIO:
    file = io.BytesIO()
    save_model(model, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "model",
    [
        CalibratedModel(make_pipeline(StandardScaler(), LogisticRegression())),
        CalibratedModel(RidgeClassifier(), TemperatureScaling(), cv=3),
        CalibratedModel(FrozenEstimator(LogisticRegression().fit(X[::2], Y[::2])), TemperatureScaling()),
    ],
)
def test_a_loaded_model_predicts_the_same_bits(model, tmp_path):
    model.fit(X, Y)
    save_model(model, tmp_path / "model.calibmodel")
    again = load_model(tmp_path / "model.calibmodel")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.classes_.tolist() == model.classes_.tolist()
    assert (again.n_calibration_, again.n_features_in_) == (model.n_calibration_, 4)
    assert repr(again.calibrator) == repr(model.unfitted_calibrator)
    assert again.fit(X, Y).score(X, Y) > 0.8
    with zipfile.ZipFile(tmp_path / "model.calibmodel") as archive:
        names = set(archive.namelist())
        calibrator = loads(archive.read("calibrator-0.json"))
    assert names == {"model.json", "classifiers.skops"} | {
        f"calibrator-{number}.json" for number in range(len(model.pairs_))
    }
    assert calibrator.class_names_ == ("setosa", "versicolor", "virginica")


def test_types_of_strangers_are_built_only_where_they_are_trusted():
    file = stored(CalibratedModel(Own(), TemperatureScaling()).fit(X, Y))
    with pytest.raises(InputError, match=r"types that are not trusted: .*\.Own; if you know them") as told:
        load_model(file)
    file.seek(0)
    named = [name for name in str(told.value).split("'") if name.endswith(".Own")]
    assert load_model(file, trusted=named).predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda parts: parts.pop("calibrator-0.json"), "lacks the member .calibrator-0.json"),
        (lambda parts: parts.update({"model.json": b"{"}), "this is not a model file"),
        (lambda parts: parts.update({"model.json": b"[]"}), "not a model file"),
        (lambda parts: _edit(parts, format="calib-monitor"), "not a model file"),
        (lambda parts: _edit(parts, pairs=[]), "model file: pairs must be a list of at least 1"),
        (lambda parts: _edit(parts, pairs=[{"response": "eval", "scale": 1.0}]), r"pairs\[0\].response must"),
        (lambda parts: _edit(parts, version=2), "model file: version must be .* 1; got 2"),
        (lambda parts: parts.update({"calibrator-0.json": b"{}"}), "not a model file"),
    ],
)
def test_changed_files_are_refused(change, told):
    file = stored(CalibratedModel(LogisticRegression()).fit(X, Y))
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    changed.seek(0)
    with pytest.raises(CalibratorFileError, match=told):
        load_model(changed)


def _edit(parts, **values):
    parts["model.json"] = json.dumps(json.loads(parts["model.json"]) | values).encode()


def test_encrypted_damaged_and_deep_files_are_refused():
    """Bit 0 of the flags says that a member is encrypted; they stand 6 and 8 bytes into its two headers."""
    parts = io.BytesIO()
    with zipfile.ZipFile(parts, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b"{" + b" " * 500 + b"}")
    packed = bytearray(parts.getvalue())
    encrypted, damaged = bytearray(packed), bytearray(packed)
    encrypted[6] |= 1
    encrypted[packed.index(b"PK\x01\x02") + 8] |= 1
    damaged[40:44] = b"\xff\xff\xff\xff"  # just after the header of 30 bytes and the name
    deep = io.BytesIO()
    with zipfile.ZipFile(deep, "w") as archive:
        archive.writestr("model.json", b"[" * 200_000)
    for content in (bytes(encrypted), bytes(damaged), deep.getvalue()):
        with pytest.raises(InputError, match="model"):
            load_model(io.BytesIO(content))


def test_what_is_no_zip_is_refused():
    with pytest.raises(InputError, match="model file is damaged"):
        load_model(io.BytesIO(b"no zip"))


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    model = CalibratedModel(LogisticRegression()).fit(X, Y)
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(InputError, match=r'install "calib-diagnostics\[skops\]"'):
        save_model(model, io.BytesIO())
