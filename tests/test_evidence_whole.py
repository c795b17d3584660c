"""Evidence travels whole: no public function forgets labels, weights or clusters, however it gets them."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    Predictions,
    TopKPrediction,
    TopLabelPrediction,
    calibrated_scores,
    reliability_diagram,
)
from calib.base.exceptions import InputError
from calib.calibrators.catalogue import BINARY, SCHEMES, make_calibrator, named_methods
from calib.calibrators.foreign import ForeignCalibrator
from calib.calibrators.label_shift import CorrectedCalibrator, LabelShiftCorrection
from calib.calibrators.scaling import TemperatureScaling
from calib.data.notions import PerClass
from calib.evidence.rows import Rows
from tests.populations import drawn
from tests.public import public_functions

#: Forty patients of ten rows, right or wrong together; weights are not equal.
N_CLUSTERS, EACH = 40, 10
N = N_CLUSTERS * EACH
RANDOM = np.random.default_rng(3)
CLUSTER = np.repeat(np.arange(N_CLUSTERS), EACH)
PROBA = np.repeat(RANDOM.dirichlet(np.full(3, 2.0), N_CLUSTERS), EACH, axis=0) * 0.9
PROBA += 0.1 * RANDOM.dirichlet(np.ones(3), N)
LABELS = np.repeat(drawn(PROBA[::EACH], RANDOM), EACH)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)

#: What functions need beside rows.
FURTHER: dict[str, dict[str, Any]] = {
    "bin_zoom": {"bin": 7},
    "calibration_by_centre": {"centre": np.arange(N) % 5},
    "canonical_ece": {"cells": np.arange(N) % 4},
    "canonical_noise_floor": {"cells": np.arange(N) % 4},
    "canonical_validity": {"cells": np.arange(N) % 4},
    "choose_actions": {"costs": 1.0 - np.eye(3)},
    "class_diagram": {"label": 1},
    "coarsen": {"tree": ["a;b", "a;c", "d;e"], "accuracy": 0.3},
    "confusions": {"label": 1},
    "decide": {"accuracy": 0.6},
    "gate": {"most": {"tl_ece": 0.2}},
    "over_time": {"time": np.arange(N)},
    "report": {"n_resamples": 50},
    "row_table": {"which": np.arange(5)},
    "rows_behind": {"cells": reliability_diagram(LABELS, PROBA).cells, "bin": 7},
    "slices": {"groups": np.arange(N) % 2},
}
#: Functions of P(Y = 1) alone.
OF_EVENTS = {
    *("calibration_by_centre", "calibration_in_the_large", "decision_curve", "observed_expected", "risk"),
}
#: Functions that refuse weights, or rows that belong together, in a sentence.
WITHOUT_WEIGHTS = {"calibration_band", "coarsen", "decide"}
WITHOUT_CLUSTERS = {"calibration_band"}
#: Results that no dependence of the rows changes: numbers, points and counts without their noise.
NOISE_FREE = {
    *("accuracy", "auc", "bin_statistics", "bin_zoom", "brier_score", "canonical_ece", "canonical_validity"),
    *("confusions", "corp_curve", "debiased_l2", "decision_curve", "decomposition", "ece", "ece_sweep"),
    *("log_loss", "mce", "metrics", "risk_coverage", "row_table", "sharpness", "smooth_ece"),
    *("reduce_to_binary", "rows_behind"),  # which names the clusters, and counts nothing
}


def functions() -> dict[str, Any]:
    """Return the public functions whose first arguments are labels and scores, by name."""
    found = {}
    for name, function in public_functions().items():
        names = list(inspect.signature(function).parameters)
        if names[:1] == ["y_true"] and "scores_a" not in names and name != "assert_calibrated":
            found[name] = function
    return found


FUNCTIONS = functions()


def options_of(name: str) -> dict[str, Any]:
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    few = {"random_state": 0, "n_resamples": 60}
    return {key: few[key] for key in few if key in parameters} | FURTHER.get(name, {})


def numbers(result: Any) -> list[Any]:
    """Return every number and text of a result, in order."""
    if isinstance(result, pd.DataFrame):
        return [result.to_json()]
    if isinstance(result, np.ndarray):
        return [result.dtype.kind, *result.ravel().tolist()]
    if isinstance(result, (list, tuple)):
        return [number for each in result for number in numbers(each)]
    if isinstance(result, dict):
        return [number for each in result.values() for number in numbers(each)]
    if hasattr(result, "html"):
        return numbers(result.frame()) + [result.sentence]
    if is_dataclass(result):
        return [number for field in fields(result) for number in numbers(getattr(result, field.name))]
    return [result]


def same(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    return all(
        np.isclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True)
        if isinstance(x, float) and isinstance(y, float)
        else type(x) is type(y) and (x is y or bool(np.all(x == y)))
        for x, y in zip(a, b, strict=True)
    )


def rows_for(name: str) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return labels, scores as an array, and the same as labelled predictions."""
    if name in OF_EVENTS:
        happened = (LABELS == 1).astype(int)
        return happened, PROBA[:, 1], BinaryPrediction(PROBA[:, 1], happened)
    return LABELS, PROBA, Predictions(PROBA, LABELS)


@pytest.mark.filterwarnings("ignore:use debiased_l2")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_predictions_evidence_and_an_idle_calibrator_give_one_result(name):
    function, options = FUNCTIONS[name], options_of(name)
    y, scores, rows = rows_for(name)
    weighting: dict[str, Any] = {} if name in WITHOUT_WEIGHTS else {"sample_weight": WEIGHTS}
    if name not in WITHOUT_CLUSTERS:
        weighting["cluster"] = CLUSTER
    held = rows.with_weights(weighting.get("sample_weight")).with_cluster(weighting.get("cluster"))
    expected = numbers(function(y, scores, **weighting, **options))
    assert same(expected, numbers(function(rows, **weighting, **options)))
    assert same(expected, numbers(function(held, **options)))
    assert same(expected, numbers(function(Rows(held), **options)))
    if name not in OF_EVENTS:
        idle = TemperatureScaling().fit(held, held.labels)
        idle.temperature_ = 1.0
        after = calibrated_scores(idle, held)
        assert after.cluster is held.cluster or np.array_equal(after.cluster, held.cluster)
        np.testing.assert_allclose(after.proba, PROBA, atol=1e-12)
        assert same(expected, numbers(function(after.with_scores(PROBA), **options)))


@pytest.mark.filterwarnings("ignore:use debiased_l2")
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NOISE_FREE))
def test_clusters_that_are_taken_away_change_what_depends_on_noise(name):
    function, options = FUNCTIONS[name], options_of(name)
    y, scores, _ = rows_for(name)
    if name in WITHOUT_CLUSTERS:
        with pytest.raises(InputError, match="clusters"):
            function(y, scores, cluster=CLUSTER, **options)
        return
    together = numbers(function(y, scores, cluster=CLUSTER, **options))
    alone = numbers(function(y, scores, cluster=np.arange(N), **options))
    assert not same(together, alone)


@pytest.mark.parametrize("name", sorted(WITHOUT_WEIGHTS))
def test_weights_that_cannot_be_used_are_refused(name):
    if name not in FUNCTIONS:
        pytest.skip(f"{name} takes no labels and scores")
    y, scores, _ = rows_for(name)
    with pytest.raises(InputError, match="weight"):
        FUNCTIONS[name](y, scores, sample_weight=WEIGHTS, **options_of(name))


def test_a_predicted_class_keeps_what_came_with_its_row():
    table = pd.DataFrame({"row": np.arange(N), "site": np.repeat(["a", "b"], N // 2)})
    rows = Predictions(
        PROBA,
        LABELS,
        ("x", "y", "z"),
        metadata=table,
        columns={"id": "row"},
        cluster=CLUSTER,
        sample_weight=WEIGHTS,
    )
    for kept in (rows.top, rows[::2].top, rows.with_strategy("discrete").top):
        assert (kept.columns, kept.class_names) == ({"id": "row"}, ("x", "y", "z"))
        assert kept.metadata is not None
        assert len({len(kept.cluster), len(kept.sample_weight), len(kept.labels), len(kept.metadata)}) == 1


#: Unfitted calibrators of every class, by their short name.
CALIBRATORS = {
    **named_methods(n_bins=5),
    **{name: make_calibrator(name) for name in SCHEMES},
    "Top-K": make_calibrator(notion="top-k-label", points_per_bin=20),
    "completed": make_calibrator(complete="rescale"),
    "by site": make_calibrator(by="group"),
    "other shares": CorrectedCalibrator(TemperatureScaling(), np.array([1.0, 2.0, 0.5])),
    "label shift": LabelShiftCorrection(target_shares=[0.2, 0.3, 0.5]),
    "foreign": ForeignCalibrator(LogisticRegression()),
}
TABLE = pd.DataFrame({"row": np.arange(N), "site": np.repeat(["a", "b"], N // 2), "fold": np.arange(N) % 5})
CARRIED = {
    "metadata": TABLE,
    "columns": {"id": "row", "fold": "fold"},
    "sample_weight": WEIGHTS,
    "cluster": CLUSTER,
    "coverage": 0.9,
}
ROWS = Predictions(PROBA, LABELS, ("x", "y", "z"), **CARRIED)


def predicting(calibrator: Any) -> dict[str, Any]:
    return {
        name: getattr(calibrator, name)
        for name in dir(calibrator)
        if name.startswith("predict") and hasattr(calibrator, name)
    }


def assert_carried(after: Any, rows: Any) -> None:
    for name in ("metadata", "columns", "sample_weight", "cluster", "coverage", "labels", "class_names"):
        assert getattr(after, name) is getattr(rows, name) or np.array_equal(
            getattr(after, name), getattr(rows, name)
        )


@pytest.mark.filterwarnings("ignore::calib.TooManyParametersWarning")
@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_predict_of_predictions_keeps_what_came_with_the_rows(name):
    calibrator = clone(CALIBRATORS[name])
    by_site = {"groups": TABLE["site"]} if name == "by site" else {}
    calibrator.fit(PROBA, LABELS, **by_site)
    kinds = {"predict_proba": Predictions, "predict_top": TopLabelPrediction, "predict_top_k": TopKPrediction}
    for method, predict in predicting(calibrator).items():
        after, array = predict(ROWS), predict(PROBA, **by_site if method != "predict" else {})
        assert_carried(after, ROWS)
        if method == "predict":
            if name != "completed":  # whose array has the classes of the model
                np.testing.assert_array_equal(after.label, array)
            assert_carried(calibrated_scores(calibrator, ROWS), ROWS)
            continue
        assert isinstance(after, kinds[method])
        expected = array if method == "predict_proba" else getattr(array, "confidence", array[1:])
        scores = after.confidence if method == "predict_top" else getattr(after, after.scored_by)
        np.testing.assert_array_equal(scores, np.reshape(expected, scores.shape))
        whole = method == "predict_proba"
        assert after.strategy == calibrator.strategy_for(ROWS, whole=whole)
        if name.startswith(("TL-HB", "CW-HB", *SCHEMES)):
            assert isinstance(after.strategy, PerClass)
    assert calibrator.predict(ROWS).strategy == calibrated_scores(calibrator, ROWS).strategy


@pytest.mark.parametrize("name", BINARY)
def test_every_calibrator_of_one_score_keeps_what_came_with_the_rows(name):
    happened = LABELS == 1
    calibrator = BINARY[name].make().fit(PROBA[:, 1], happened)
    for rows in (
        BinaryPrediction(PROBA[:, 1], happened, ("no", "yes"), **CARRIED),
        ConfidencePrediction(PROBA[:, 1], happened, **CARRIED),
        ROWS.top,
    ):
        after = calibrator.predict(rows)
        assert type(after) is type(rows)
        assert_carried(after, rows)
        scores = (getattr(each, rows.scored_by) for each in (rows, after))
        np.testing.assert_array_equal(calibrator.predict(next(scores)), next(scores))
        assert after.strategy == ("discrete" if name == "histogram" else "uniform")


def test_a_completed_confidence_is_assessed_at_its_values_and_the_completed_row_is_not():
    calibrator = make_calibrator(complete="rescale", points_per_bin=20).fit(PROBA, LABELS)
    assert calibrator.predict_proba(ROWS).strategy == "uniform"
    assert calibrator.predict_top(ROWS).strategy == PerClass()
