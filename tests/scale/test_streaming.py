"""Sums of batches: equal to what all rows give at once, for every division, order and process."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import calib
from calib import InputError, scale
from calib.stats.measures import MEASURES
from tests.data.test_kinds import Tensor
from tests.populations import population

N, L = 900, 4
PROBA, LABELS = population(N, L, seed=5)
NAMES = ("cat", "dog", "elk", "fox")
RIGHT = PROBA.argmax(axis=1) == LABELS
WEIGHTS = np.arange(N) % 3
ROWS = {
    "matrix": (LABELS, PROBA),
    "float32 tensors": (LABELS, PROBA.astype(np.float32)),
    "vectors": (None, calib.Predictions(PROBA, LABELS, NAMES)),
    "weighted vectors": (None, calib.Predictions(PROBA, LABELS, sample_weight=WEIGHTS)),
    "one score": (LABELS == 0, PROBA[:, 0]),
    "binary": (None, calib.BinaryPrediction(PROBA[:, 0], LABELS == 0, ("other", "cat"))),
    "confidence": (None, calib.ConfidencePrediction(PROBA.max(axis=1), RIGHT)),
    "top-label": (None, calib.TopLabelPrediction(PROBA.argmax(axis=1), PROBA.max(axis=1), LABELS)),
}


def batches(y, scores, tensors=False):
    for start in range(0, N, 70):
        part = slice(start, min(start + 70, N))
        if y is None:
            yield None, scores.take(np.arange(N)[part])
        elif tensors:
            yield Tensor(y[part], "torch.int64", False), Tensor(scores[part])
        else:
            yield y[part], scores[part]


@pytest.mark.parametrize("name", ROWS)
def test_numbers_are_those_of_all_rows_at_once(name):
    y, scores = ROWS[name]
    sums = scale.Sums()
    for batch in batches(y, scores, tensors="tensors" in name):
        assert sums.update(*batch) is sums
    found = sums.compute(n_bins=10)
    expected = calib.metrics(scores.labels if y is None else y, scores, n_bins=10, class_wise=False)
    assert found.n_samples == expected.n_samples
    assert found.kind == expected.kind
    compared = 0
    for key in MEASURES:
        if found.values.get(key) is not None:
            assert found.values[key] == pytest.approx(expected.values[key], abs=1e-9), key
            compared += 1
    assert compared >= 4


def test_division_order_and_process_change_no_bit():
    y, scores = ROWS["vectors"]
    parts = list(batches(y, scores))
    whole = scale.Sums(class_wise=True).update(LABELS, scores)
    first, second = scale.Sums(class_wise=True), scale.Sums(class_wise=True)
    for batch in parts[::-2]:
        first.update(*batch)
    for batch in parts[-2::-2]:
        second.update(*batch)
    merged = scale.Sums(class_wise=True).merge(pickle.loads(pickle.dumps(second))).merge(first)
    assert merged.n_samples == N
    assert merged.summary().digest == whole.summary().digest
    assert merged.summary().class_names == NAMES
    assert merged.compute().values == whole.compute().values
    assert calib.ece(whole.summary(), notion="class-wise") == pytest.approx(
        calib.ece(LABELS, PROBA, notion="class-wise"), abs=1e-12
    )


def test_a_summary_goes_to_files_and_merges_once(tmp_path):
    sums = scale.Sums().update(*ROWS["matrix"])
    scale.save(sums.summary(), tmp_path / "loop.calib.json.gz")
    kept = scale.load(tmp_path / "loop.calib.json.gz")
    assert kept.digest == sums.summary().digest
    with pytest.raises(InputError, match="overlap"):
        kept.merge(sums.summary())
    assert scale.Sums().merge(kept).update(LABELS[:5], PROBA[:5]).n_samples == N + 5


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        (LABELS[:3], np.full((3, 3), 1 / 3)),
        (LABELS[:3] == 0, PROBA[:3, 0]),
        (LABELS[:3] + L, PROBA[:3]),
        (LABELS[:3], PROBA[:3] * np.nan),
        (None, PROBA[:3]),
        (None, calib.Predictions(PROBA[:3], LABELS[:3], sample_weight=[1, 2, 3])),
        (None, calib.Predictions(PROBA[:3], LABELS[:3], cluster=[0, 0, 1])),
        (LABELS[:3], calib.TopKPrediction([[0, 1]] * 3, [[0.6, 0.3]] * 3)),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_changes_nothing(y, scores):
    sums = scale.Sums().update(*ROWS["matrix"])
    before = sums.summary().digest
    with pytest.raises(InputError):
        sums.update(y, scores)
    assert sums.summary().digest == before


def test_nothing_and_itself_are_refused():
    sums = scale.Sums()
    with pytest.raises(InputError, match="no rows"):
        sums.compute()
    with pytest.raises(InputError, match="twice"):
        sums.merge(sums)
