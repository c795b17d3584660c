"""Arguments as people confuse them: scores with an axis too many, and labels in the place of scores."""

from __future__ import annotations

import inspect
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    LabelShiftCorrection,
    Monitor,
    MulticlassToBinary,
    Predictions,
    TemperatureScaling,
    calibration_by_centre,
    ece,
    examine,
    observed_expected,
    over_time,
    paired_difference,
    read,
    risk,
    slices,
)
from calib.calibrators.catalogue import BINARY, VECTOR, CatalogueEntry
from calib.cli.parser import main
from calib.data import validation
from calib.diagrams.class_sizes import class_binning
from calib.stats import calibration_tests
from tests.populations import population
from tests.public import public_functions

N = 200
PROBA, LABELS = population(N, 3, seed=0)
EVENT = PROBA[:, 1]
HAPPENED = (LABELS == 1).astype(np.int64)
#: What functions need beside labels and scores.
NEEDED = {
    "bin": 3,
    "cells": np.arange(N) % 4,
    "costs": 1.0 - np.eye(3),
    "groups": np.arange(N) % 2,
    "key": "conf_ece",
    "label": 1,
    "notion": "confidence",
    "which": np.arange(5),
}
OPTIONS = {
    "coarsen": {"tree": ["a;b", "a;c", "d;e"]},
    "decide": {"accuracy": 0.9},
    "gate": {"most": {"ece": 0.5}},
}
#: Functions that need one of these although it has a default: labelled predictions may come before it alone.
NEEDING = {
    "bin_zoom": ("bin",),
    "class_diagram": ("label",),
    "confusions": ("label",),
    **dict.fromkeys(("canonical_ece", "canonical_noise_floor", "canonical_validity"), ("cells",)),
    "choose_actions": ("costs",),
    "slices": ("groups",),
    "row_table": ("which",),
}


#: The public functions whose first two arguments are labels and scores, by name.
FUNCTIONS = {
    name: public
    for name, public in public_functions().items()
    if list(inspect.signature(public).parameters)[:2]
    in (["y_true", "scores"], ["y_true", "proba"], ["y_true", "predicted"], ["y_true", "scores_a"])
    and name != "rows_behind"  # which needs the cells of these rows
}


def call(name: str, y_true, scores):
    """Call a public function with labels and scores, whatever else it needs, and a seed if it takes one."""
    public = FUNCTIONS[name]
    parameters = inspect.signature(public).parameters
    further = {
        item: NEEDED[item]
        for item in parameters
        if item in NEEDING.get(name, ())
        or (item in NEEDED and parameters[item].default is inspect.Parameter.empty)
    }
    if "scores_b" in parameters:
        further["scores_b"] = scores
    if "random_state" in parameters:
        further["random_state"] = 0
    return public(y_true, scores, **further, **OPTIONS.get(name, {}))


def test_there_are_functions_of_scores():
    assert {"accuracy", "canonical_ece", "ece", "paired_interval", "slices"} < set(FUNCTIONS)


@pytest.mark.filterwarnings("ignore:use debiased_l2")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_swapped_arguments_are_told(name):
    swapped = [(PROBA, LABELS), (PROBA, LABELS[:, None]), (Predictions(PROBA, LABELS), LABELS)]
    swapped += [(EVENT, HAPPENED), (EVENT.tolist(), HAPPENED.astype(float).tolist())]
    swapped += [(EVENT, np.array(["no", "yes"])[HAPPENED])]
    for y_true, scores in swapped:
        with pytest.raises(InputError, match="swapped"):
            call(name, y_true, scores)


@pytest.mark.parametrize("name", [*BINARY, *VECTOR, "reduction"])
def test_calibrators_tell_swapped_arguments(name):
    calibrator = (BINARY | VECTOR | {"reduction": CatalogueEntry(MulticlassToBinary, "", "")})[name].make()
    with pytest.raises(InputError, match="swapped"):
        calibrator.fit(*((HAPPENED, EVENT) if name in BINARY else (LABELS, PROBA)))


def test_hard_scores_are_not_taken_for_labels():
    assert ece(HAPPENED, HAPPENED.astype(float)) == 0.0
    assert ece(HAPPENED.astype(float), EVENT) == ece(HAPPENED, EVENT)


@pytest.mark.filterwarnings("ignore:use debiased_l2")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_column_of_scores_is_one_score_per_row(name):
    """Keras gives the sigmoid of its last layer as (n, 1)."""

    def outcome(scores) -> object:
        try:
            return call(name, HAPPENED, scores)
        except InputError as error:
            return error

    expected = outcome(EVENT)
    for column in (EVENT[:, None], EVENT[:, None].tolist(), pd.DataFrame({"score": EVENT})):
        found = outcome(column)
        assert isinstance(found, InputError) == isinstance(expected, InputError)
        if isinstance(expected, InputError):
            assert "count from 1" not in str(found)
        else:
            assert repr(found) == repr(expected)


@pytest.mark.parametrize("name", BINARY)
def test_calibrators_of_one_score_take_a_column(name):
    expected, found = (BINARY[name].make().fit(scores, HAPPENED) for scores in (EVENT, EVENT[:, None]))
    assert np.array_equal(found.predict(EVENT[:, None]), expected.predict(EVENT))


def test_predictions_of_one_score_take_a_column():
    for kind, field in ((BinaryPrediction, "score"), (ConfidencePrediction, "confidence")):
        rows = kind(EVENT[:, None], HAPPENED[:, None])
        assert np.array_equal(getattr(rows, field), EVENT)
        assert rows.fingerprint == kind(EVENT, HAPPENED).fingerprint


@pytest.mark.parametrize("use", [Predictions, TemperatureScaling().fit, MulticlassToBinary().fit])
def test_what_needs_a_vector_says_what_to_make_of_a_column(use):
    with pytest.raises(InputError, match="pass the two columns"):
        use(EVENT[:, None], HAPPENED)


def npz(scores: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, probs=scores, labels=HAPPENED)
    return file.getvalue()


@pytest.mark.parametrize(
    "source",
    [
        npz,
        lambda scores: {"probs": scores, "labels": HAPPENED},
        lambda scores: json.dumps({"probs": scores.tolist(), "labels": HAPPENED.tolist()}).encode(),
    ],
)
def test_files_read_a_column_as_one_score_per_row(source):
    rows = read(source(EVENT[:, None]))
    assert rows.kind == "binary"
    assert np.array_equal(rows.score, EVENT)
    assert np.array_equal(rows.labels, HAPPENED)


def test_command_line_reads_a_column_as_one_score_per_row(tmp_path, capsys):
    file = tmp_path / "keras.npz"
    file.write_bytes(npz(EVENT[:, None]))
    assert main(["metrics", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"][0]["ece"] == ece(HAPPENED, EVENT)


@pytest.mark.parametrize("rows", [BinaryPrediction(EVENT, HAPPENED), ConfidencePrediction(EVENT, HAPPENED)])
def test_bins_of_classes_say_that_they_need_classes(rows):
    with pytest.raises(InputError, match="needs the predicted class of each row"):
        class_binning(rows, rows, n_bins=5)


def test_a_column_of_ones_is_no_vector_of_a_single_class():
    """Its rows sum to 1, as vectors do: the kernel test of vectors must not be among the tests."""
    tests = calibration_tests(HAPPENED, np.ones((N, 1)))
    assert [item.test for item in tests] == ["kuiper", "ks", "spiegelhalter"]


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-label"])
@pytest.mark.parametrize("binary", [HistogramBinning(), IsotonicCalibration()], ids=["binning", "isotonic"])
def test_a_matrix_is_checked_once_in_a_fit(notion, binary):
    """Swapped arguments, names of columns, numbers: validation sees the matrix for these alone."""
    generator = np.random.default_rng(0)
    matrix, labels = generator.dirichlet(np.ones(4), 500), generator.integers(0, 4, 500)
    callers = []

    def watch(frame, event, argument):
        code, caller = frame.f_code, frame.f_back
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
        if event == "call" and code.co_filename == validation.__file__ != caller.f_code.co_filename:
            callers.extend(caller.f_code.co_name for item in given if item is matrix)

    sys.setprofile(watch)
    try:
        MulticlassToBinary(binary, notion=notion).fit(matrix, labels)
    finally:
        sys.setprofile(None)
    assert callers == ["labelled", "as_predictions", "as_predictions", "as_predictions"]


def test_groups_are_compared_by_their_text():
    for values in ([2, 10, 2, 1], [2.0, 10.0, 2.0, 1.0], ["2", "10", "2", "1"], [2, "10", 2.0, 1]):
        code, names = validation.as_groups(values, 4)
        assert (code.tolist(), names) == ([2, 1, 2, 0], ("1", "10", "2"))  # in the order of texts
    code, names = validation.as_groups(["b", None, "", "a"], 4)
    assert (code.tolist(), names) == ([2, 0, 0, 1], ("(missing)", "a", "b"))
    code, names = validation.as_groups(pd.Series([0.5, np.nan], index=[7, 3]), 2)
    assert (code.tolist(), names) == ([1, 0], ("(missing)", "0.5"))


@pytest.mark.parametrize("values", [["a", "b"], [["a"], ["b"], ["c"]], "a"])
def test_groups_that_are_not_a_value_per_row_are_refused(values):
    with pytest.raises(InputError, match="one value per row"):
        validation.as_groups(values, 3)


HIDDEN = np.arange(N) % 3 == 0
#: Masked values of every kind, and what takes them.
MASKED = {
    "labels": (lambda values: ece(values, PROBA), LABELS),
    "outcomes": (lambda values: ece(values, EVENT), HAPPENED),
    "true or false": (lambda values: ece(values, EVENT), HAPPENED == 1),
    "texts": (lambda values: Predictions(PROBA, values, ["a", "b", "c"]), np.array(list("abc"))[LABELS]),
    "scores": (lambda values: ece(HAPPENED, values), EVENT),
    "matrix": (lambda values: ece(LABELS, values), PROBA),
    "weights": (lambda values: ece(LABELS, PROBA, sample_weight=values), np.ones(N)),
    "clusters": (lambda values: ece(LABELS, PROBA, cluster=values), np.arange(N)),
    "times": (lambda values: Monitor().update(LABELS, PROBA, time=values), np.arange(N)),
    "dates": (lambda v: Monitor().update(LABELS, PROBA, time=v), np.datetime64("2026-01-01") + np.arange(N)),
    "fit": (lambda values: TemperatureScaling().fit(PROBA, values), LABELS),
    "file": (lambda values: read({"p": PROBA, "label": LABELS, "sample_weight": values}), np.ones(N)),
    "array": (lambda values: examine(values, LABELS).predictions(), PROBA),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_values_are_missing(name):
    use, given = MASKED[name]
    mask = HIDDEN if given.ndim == 1 else np.repeat(HIDDEN[:, None], given.shape[1], axis=1)
    use(np.ma.array(given, mask=False))
    with pytest.raises(InputError):
        use(np.ma.array(given, mask=mask))


def test_rows_with_masked_labels_are_left_out():
    masked = np.ma.array(LABELS, mask=HIDDEN)
    rows = examine(PROBA, masked).fix("labels_missing").predictions()
    np.testing.assert_array_equal(rows.labels, LABELS[~HIDDEN])


@pytest.mark.parametrize(
    "scores",
    [
        PROBA[:, :, None],
        PROBA[None],
        np.datetime64("2026-01-01") + np.arange(N),
        np.full((N, 3), np.datetime64("2026-01-01")),
        np.full(N, np.timedelta64(0, "s")),
        pd.Series(pd.date_range("2026", periods=N)),
        pd.DataFrame(dict.fromkeys("abc", pd.date_range("2026", periods=N))),
    ],
    ids=lambda scores: f"{type(scores).__name__}{scores.ndim}",
)
def test_what_holds_no_scores_is_told(scores):
    for use in (ece, lambda y, s: read(s), lambda y, s: read({"p": s, "label": y}), paired_first):
        with pytest.raises(InputError):
            use(HAPPENED, scores)


def paired_first(y_true, scores):
    return paired_difference(y_true, scores, EVENT)


def test_a_column_of_labels_is_an_array_of_labels():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4])
    assert ece(y[:, None], p) == ece(y, p)


def test_the_labels_of_labelled_rows_are_no_times_or_groups_of_them():
    rows, named = Predictions(PROBA, LABELS), Predictions(PROBA, LABELS, class_names=("a", "b", "c"))
    for function in (over_time, slices, calibration_by_centre, Monitor().update):
        for given, labels in (
            (rows, LABELS),
            (rows, LABELS.tolist()),
            (named, np.array(list("abc"))[LABELS]),
        ):
            with pytest.raises(InputError, match="swapped"):
                function(given, labels)
    assert slices(rows, groups=LABELS).frame().shape[0] == 3


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_no_class_and_no_event(missing):
    proba = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    message = r"labels must not be missing; got .* in row 1.*pandas.notna"
    labels = np.array(["a", missing, "b"], dtype=object)  # three texts, and three columns
    for use in (
        lambda: ece(labels, proba),
        lambda: TemperatureScaling().fit(proba, labels),
        lambda: Predictions(proba, labels, class_names=["a", "b", "c"]),
        lambda: observed_expected(np.array(["yes", missing, "yes"], dtype=object), proba[:, 0]),
        lambda: risk(np.array([1, missing, 0], dtype=object), proba[:, 0]),
    ):
        with pytest.raises(InputError, match=message):
            use()


def test_one_score_per_row_is_no_vector():
    with pytest.raises(InputError, match=r"got shape \(3,\).*pass the two columns"):
        LabelShiftCorrection(target_shares=0.1).fit(np.array([0.2, 0.4, 0.7]), [0, 1, 1])
