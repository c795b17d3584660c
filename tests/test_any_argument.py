"""Every public function takes every kind of predictions and plain arrays: a result, or InputError."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calib
from calib import InputError, Predictions
from calib.answers.gate import gate
from calib.evidence.rows import as_evidence
from calib.testing import assert_calibrated
from tests.public import public_functions

N = 30
RANDOM = np.random.default_rng(0)
PROBA = RANDOM.dirichlet(np.ones(3), N)
LABELS = np.append([0, 1, 2], RANDOM.integers(0, 3, N - 3))
MANY = (RANDOM.random((N, 3)) < PROBA).astype(int)
TOP, RANKED = PROBA.argmax(axis=1), np.argsort(-PROBA, axis=1)[:, :2]
FITTED = calib.TemperatureScaling().fit(PROBA, LABELS)

#: What people pass in any place.
GIVEN: dict[str, Any] = {
    "vectors": Predictions(PROBA, LABELS),
    "unlabelled": Predictions(PROBA),
    "event": calib.BinaryPrediction(PROBA[:, 1], LABELS == 1),
    "confidence": calib.ConfidencePrediction(PROBA.max(axis=1), LABELS == TOP),
    "top label": calib.TopLabelPrediction(TOP, PROBA.max(axis=1), LABELS),
    "top k": calib.TopKPrediction(RANKED, np.take_along_axis(PROBA, RANKED, 1), LABELS),
    "multilabel": calib.MultilabelPrediction(PROBA, MANY),
    "summary": calib.scale.Sums(class_wise=True).update(LABELS, PROBA).summary(),
    "evidence": as_evidence(LABELS, PROBA),
    "problems": calib.reduce_to_binary(LABELS, PROBA),
    "labels": LABELS,
    "texts": np.array(["a", "b", "c"])[LABELS].tolist(),
    "matrix": PROBA,
    "column": PROBA[:, 1],
    "short": PROBA[:5],
    "cube": np.zeros((N, 2, 2)),
    "frame": pd.DataFrame(PROBA),
    "lazy": pl.LazyFrame(dict(zip("abc", PROBA.T, strict=True))),
    "mapping": {"site": LABELS},
    "number": 0.2,
    "text": "x",
    "nothing": None,
    "thing": object(),
}
#: What functions need beside labels and scores.
NEEDED: dict[str, dict[str, Any]] = {
    "calibration_by_centre": {"centre": LABELS},
    "decide": {"accuracy": 0.6},
    "gate": {"most": {"tl_ece": 0.2}},
    "over_time": {"time": np.arange(N)},
    "slices": {"groups": LABELS},
}
FEW = {"random_state": 0, "n_resamples": 5}
#: Functions that write, or whose argument is no data.
OTHERS = {"lesson", "save", "save_model"}
CALIBRATORS = ("HistogramBinning", "IsotonicCalibration", "LabelShiftCorrection", "MulticlassToBinary")
CALIBRATORS += ("TemperatureScaling", "TopVersusAllScaling", "VectorScaling", "VennAbersCalibration")


def of_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions of rows, and all that `dir(calib)` lists, as calls of one or two arguments."""
    for name, function in public_functions().items():
        parameters = inspect.signature(function).parameters
        positional = [each for each in parameters.values() if each.kind == each.POSITIONAL_OR_KEYWORD]
        if name in OTHERS or not positional or not ("y_true" in parameters or name in dir(calib)):
            continue
        options = {key: value for key, value in FEW.items() if key in parameters} | NEEDED.get(name, {})
        least = sum(each.default is each.empty for each in positional)
        yield name, partial(one if len(positional) == 1 else two, function, least, options)


def one(function: Callable[..., Any], least: int, options: dict[str, Any], a: Any) -> Any:
    return function(a, **options)


def two(function: Callable[..., Any], least: int, options: dict[str, Any], a: Any, b: Any) -> Any:
    """Call with a, and with b in every further place that is needed, at least in one unless it is None."""
    return function(a, *[b] * max(least - 1, b is not None), **options)


def of_options() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield calls with an option, a method or a field in the place of the argument."""
    few = {"n_resamples": 5}
    yield "weights", lambda a: calib.ece(LABELS, PROBA, sample_weight=a)
    yield "clusters", lambda a: calib.ece(LABELS, PROBA, cluster=a)
    yield "groups", lambda a: calib.slices(LABELS, PROBA, groups=a, **few)
    yield "groups of a gate", lambda a: gate(LABELS, PROBA, most={"ece": 1}, groups=a, **few)
    yield "limits", lambda a: gate(LABELS, PROBA, most=a, **few)
    yield "a limit", lambda a: assert_calibrated(LABELS, PROBA, conf_ece=a, **few)
    yield "baseline", lambda a: gate(LABELS, PROBA, baseline=a, **few)
    yield "time", lambda a: calib.over_time(LABELS, PROBA, time=a)
    yield "level", lambda a: calib.error_interval(LABELS, PROBA, level=a)
    yield "floor", lambda a: calib.verdict(a, "ECE")
    yield "name", lambda a: calib.verdict(calib.noise_floor(LABELS, PROBA, **few), a)
    yield "seed of a split", lambda a: Predictions(PROBA, LABELS).split(random_state=a)
    yield "seed of jitter", lambda a: calib.HistogramBinning(random_state=a).fit(PROBA[:, 1], LABELS == 1)
    for name in ("calibration_test", "noise_floor", "recommend", "slices"):
        yield f"seed of {name}", partial(seeded, name)
    yield "models", lambda a: calib.compare_models({"a": a, "b": a}, n_resamples=5)
    yield "pairs", lambda a: calib.compare_models({"a": (a, a)}, n_resamples=5)
    yield "calibrated", lambda a: calib.calibrated_scores(FITTED, a)
    for method in ("predict", "predict_proba", "predict_top"):
        yield method, getattr(FITTED, method)
    yield "Monitor", lambda a, b: calib.Monitor().update(a, b)
    yield "display", lambda a, b: calib.ReliabilityDisplay.from_predictions(a, b)
    for name in CALIBRATORS:
        yield f"fit {name}", partial(fitted, name)
    for name in ("Predictions", "BinaryPrediction", "ConfidencePrediction", "MultilabelPrediction"):
        yield name, partial(two, getattr(calib, name), 1, {})
    for name in ("TopLabelPrediction", "TopKPrediction"):
        yield name, partial(two, getattr(calib, name), 2, {})


def fitted(name: str, a: Any, b: Any) -> Any:
    return getattr(calib, name)().fit(a, b)


def seeded(name: str, a: Any) -> Any:
    few = {} if name == "recommend" else {"n_resamples": 5}
    options = few | NEEDED.get(name, {}) | {"random_state": a}
    return getattr(calib, name)(LABELS, PROBA, **options)


CALLS = dict(of_functions()) | dict(of_options())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_any_argument_gives_a_result_or_one_sentence(name):
    call, faults = CALLS[name], {}
    refusals = {"a limit": AssertionError, "assert_calibrated": AssertionError, "load": FileNotFoundError}
    expected = (InputError, refusals.get(name.removesuffix("_model"), InputError))
    for pair in product(GIVEN.values(), repeat=len(inspect.signature(call).parameters)):
        try:
            call(*pair)
        except expected:
            continue
        except Exception as error:
            places = [
                each for each in traceback.extract_tb(error.__traceback__) if "/calib/" in each.filename
            ]
            kinds = ", ".join(type(each).__name__ for each in pair)
            faults[type(error), *(places[-1][:2] if places else ())] = f"{error} ({kinds})"
    assert not faults


def test_a_lazy_table_gives_labels_and_scores():
    lazy = {"y": pl.LazyFrame({"label": LABELS}), "p": GIVEN["lazy"]}
    assert calib.ece(lazy["y"], lazy["p"]) == calib.ece(LABELS, PROBA)


def test_one_grammar_of_groups():
    for groups in (LABELS, pd.Series(LABELS, name="site"), {"site": LABELS}, pd.DataFrame({"site": LABELS})):
        table = calib.slices(LABELS, PROBA, groups=groups, n_resamples=5)
        checks = gate(LABELS, PROBA, most={"tl_ece": 1.0}, groups=groups, n_resamples=0).checks
        assert [check.n_samples for check in checks] == np.bincount(LABELS).tolist()
        assert sorted(table.frame()["count"]) == sorted(np.bincount(LABELS))


def test_an_estimate_is_a_number():
    estimate = calib.smooth_ece(LABELS, PROBA)
    assert float(estimate) == estimate.value
    with pytest.raises(InputError, match="Metrics holds several numbers"):
        float(calib.metrics(LABELS, PROBA))


def test_a_seed_is_refused_by_its_name():
    for random_state in ("a", -1, 0.5):
        with pytest.raises(InputError, match="random_state must be a whole number of at least 0"):
            calib.noise_floor(LABELS, PROBA, random_state=random_state)


@pytest.mark.parametrize(
    "name",
    [name for name in dir(calib) if inspect.isclass(each := getattr(calib, name)) and hasattr(each, "fit")],
)
def test_a_fit_without_its_arguments_names_the_class(name):
    cls = getattr(calib, name)
    required = [each for each in inspect.signature(cls).parameters.values() if each.default is each.empty]
    unfitted = cls(*[FITTED] * len(required))
    with pytest.raises(InputError, match=rf"^{name}\.fit: missing a required argument"):
        unfitted.fit()
    with pytest.raises(InputError, match=rf"^{name}\.fit: too many positional arguments"):
        unfitted.fit(*[PROBA] * 9)


def test_labelled_predictions_come_alone_before_a_positional_argument():
    y, proba = np.tile(LABELS, 4), np.tile(PROBA, (4, 1))
    rows, time, half = Predictions(proba, y), np.arange(len(y)), np.arange(len(y)) % 2
    tree = pd.DataFrame({"class": ["0", "1", "2"], "half": ["a", "a", "b"]})
    pairs = [
        (calib.over_time(rows, time).split.difference, calib.over_time(y, proba, time).split.difference),
        (calib.slices(rows, half, n_resamples=0).p, calib.slices(y, proba, half, n_resamples=0).p),
        (calib.coarsen(rows, tree).thresholds, calib.coarsen(rows, tree=tree).thresholds),
        (calib.class_diagram(rows, 0).cells.count, calib.class_diagram(y, proba, 0).cells.count),
    ]
    rule = calib.decide(rows, accuracy=0.5, by=half)
    pairs += [(rule.evaluate(rows, half).n_accepted, rule.evaluate(y, proba, half).n_accepted)]
    for short, long in pairs:
        np.testing.assert_array_equal(short, long)
    with pytest.raises(InputError, match="labels come first"):
        calib.ece(rows, PROBA)
