"""One contract: every function gives the same of rows and of the sums of the same rows, however divided."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib import BinaryPrediction, ConfidencePrediction, InputError, Predictions, TopLabelPrediction
from calib.evidence.rows import as_evidence
from calib.scale.batches import decide
from calib.scale.summary import combined, sums_of
from calib.stats import problem_floors
from calib.stats.bands import consistency_band
from calib.stats.intervals import interval_needs_rows, measure_interval
from calib.stats.measures import MEASURES
from tests.populations import population

KINDS = ["vectors", "top-label", "confidence", "binary"]
N, L = 400, 4


def sources(kind, weighted, n_parts, seed=0):
    """Rows of a kind, and the sums of the same rows in parts."""
    random = np.random.default_rng(seed)
    proba, labels = population(N, L, seed=seed)
    proba = proba.astype(np.float32)
    top, confidence = proba.argmax(axis=1), proba.max(axis=1)
    weights = random.choice([0.0, 0.5, 1.0, 2.0], N) if weighted else None
    if kind == "vectors":
        rows = as_evidence(labels, Predictions(proba), weights)
        columns = {f"p(c{code})": proba[:, code] for code in range(L)} | {"label": [f"c{y}" for y in labels]}
    elif kind == "top-label":
        rows = as_evidence(labels, TopLabelPrediction(top, confidence), weights)
        columns = {"predicted": [f"c{item}" for item in top], "confidence": confidence}
        columns |= {"label": [f"c{item}" for item in labels]}
    elif kind == "confidence":
        rows = as_evidence(labels == top, ConfidencePrediction(confidence), weights)
        columns = {"confidence": confidence, "correct": labels == top}
    else:
        score = proba[:, 0] / (proba[:, 0] + proba[:, 1])
        happened = random.random(N) < score
        rows = as_evidence(happened.astype(int), BinaryPrediction(score), weights)
        columns = {"p(yes)": score, "label": np.where(happened, "yes", "no")}
    if weighted:
        columns["sample_weight"] = weights
    batch = pa.RecordBatch.from_pydict(columns)
    reader = decide(batch)
    cuts = np.sort(random.choice(np.arange(1, N), n_parts - 1, replace=False))
    bounds = zip([0, *cuts], [*cuts, N], strict=True)
    parts = [reader.read(batch.slice(start, stop - start)) for start, stop in bounds]
    return rows, combined(sums_of(part, kind, class_wise=kind == "vectors") for part in parts)


def numbers(result):
    """Every number of a result, as a flat array."""
    table = result.frame() if hasattr(result, "frame") else np.atleast_1d(result)
    return table.select_dtypes("number").to_numpy(float).ravel() if hasattr(table, "columns") else table


def of_notions(function):
    return lambda source, notion: function(source, notion=notion)


FUNCTIONS = {
    "ece": of_notions(calib.ece),
    "mce": of_notions(calib.mce),
    "sharpness": of_notions(calib.sharpness),
    "floor": lambda source, notion: (
        calib.noise_floor(source, notion=notion, sampler="sums", n_resamples=50, random_state=0).samples
    ),
    "interval": of_notions(calib.error_interval),
    "decomposition": of_notions(calib.decomposition),
    "validity": lambda source, notion: (
        calib.validity_curve(source, notion=notion, n_resamples=20, random_state=0)
        .frame()
        .drop(columns="label")
        .to_numpy(float)
    ),
    "floors": lambda source, notion: problem_floors(source, notion=notion, n_resamples=50, random_state=0),
    "band": lambda source, notion: consistency_band(source, notion=notion, n_resamples=50, random_state=0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
@given(n_parts=st.integers(1, 5), seed=st.integers(0, 3))
def test_sums_tell_what_the_rows_tell(kind, weighted, name, n_parts, seed):
    rows, sums = sources(kind, weighted, n_parts, seed)
    for notion in sums.notions:
        several_claims = notion == "class-wise" and kind == "vectors"
        if several_claims and name in ("floor", "interval", "decomposition"):
            continue  # only rows tell which claims are about the same row
        expected, found = (numbers(FUNCTIONS[name](source, notion)) for source in (rows, sums))
        np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=str(notion))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_and_conclusions_of_sums_are_those_of_rows(kind, weighted):
    rows, sums = sources(kind, weighted, 3)
    expected, found = (calib.metrics(source) for source in (rows, sums))
    for key, measure in MEASURES.items():
        if measure.missing(sums) is not None:
            continue
        assert getattr(found, key) == pytest.approx(getattr(expected, key), abs=1e-10), key
        if getattr(found, key) is not None and not interval_needs_rows(sums, measure):
            ends = measure_interval(sums, key)
            assert ends == pytest.approx(measure_interval(rows, key), abs=1e-9), key
    conclusions = [calib.conclude(source) for source in (rows, sums)]
    # Sums hold no sum of squared weights times scores: the excess of `Shares` takes the mean score of a cell.
    np.testing.assert_allclose(*(numbers(item) for item in conclusions), atol=1e-5 if weighted else 1e-9)
    diagrams = [calib.reliability_diagram(source) for source in (rows, sums)]
    np.testing.assert_allclose(*(numbers(item) for item in diagrams), atol=1e-9)
    if kind in ("vectors", "top-label"):
        tables = [calib.class_table(source, n_resamples=50, random_state=0) for source in (rows, sums)]
        np.testing.assert_allclose(*(numbers(item) for item in tables), atol=1e-5 if weighted else 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_whole_numbers_are_rows_that_stand_there_as_often(kind):
    """Every number of the catalogue: a row of weight 2 counts as two rows, one of weight 0 as none."""
    rows, _ = sources(kind, weighted=False, n_parts=1)
    times = np.random.default_rng(1).integers(0, 3, N)
    repeated = np.repeat(np.arange(N), times)
    given = rows.predictions
    weighted, longer = as_evidence(given, None, times), as_evidence(given.take(repeated))
    for key, measure in MEASURES.items():
        if measure.missing(rows) is None:
            expected = measure.value(longer, n_bins=15, strategy="uniform")
            found = measure.value(weighted, n_bins=15, strategy="uniform")
            assert found == pytest.approx(expected, abs=1e-12), key


def test_what_sums_cannot_tell_is_said():
    _, sums = sources("vectors", weighted=False, n_parts=2)
    for call in (
        lambda: sums.problems(),
        lambda: sums.cells(strategy="quantile"),
        lambda: sums.draw(sums.cells(), "rows"),
        lambda: calib.error_interval(sums, notion="class-wise"),
        lambda: calib.noise_floor(sums, notion="class-wise", metric="mce"),
        lambda: calib.slices(sums, groups="site", notion="confidence"),
        lambda: calib.debiased_l2(sums),
        lambda: calib.auc(sums),
    ):
        with pytest.raises(InputError):
            call()
