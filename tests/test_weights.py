"""What a weight is, for every public function that takes weights: how often the row counts."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError
from calib.data.notions import NOTIONS
from calib.stats.measures import MEASURES
from tests.populations import drawn
from tests.public import public_functions

N, L = 240, 3
RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.dirichlet(np.ones(L), N)
Y = drawn(TRUTH, RANDOM)
PROBA = RANDOM.multinomial(20, TRUTH) / 20  # many scores are equal: repeated rows are no copies
WEIGHTS = RANDOM.integers(0, 4, N)
OTHER = np.sqrt(PROBA) / np.sqrt(PROBA).sum(axis=1, keepdims=True)
SQUARES = np.array([((scores - np.eye(L)[Y]) ** 2).sum(axis=1) for scores in (PROBA, OTHER)])

#: Every public function with weights and a result is here as soon as it is public. `rows_behind` gives places
#: of rows.
FUNCTIONS = {
    name: function
    for name, function in public_functions().items()
    if "sample_weight" in inspect.signature(function).parameters
    and name not in ("assert_calibrated", "rows_behind")
}
#: Functions whose guarantee counts rows: they refuse weights that differ.
REFUSING = {"calibration_band", "coarsen", "decide"}
#: Options that take other paths.
VARIANTS = {
    "notion": NOTIONS,
    "strategy": ("uniform", "discrete"),
    "rule": ("brier", "log_loss"),
    "metric": ("ece", "mce", "brier", "log_loss", "accuracy"),
    "norm": (1, 2),
    "aggregate": ("cell", "bin"),
    "key": tuple(MEASURES),
    "test": ("kuiper", "ks", "spiegelhalter"),
    "reference": (None, "rounded"),
}
#: Functions of P(Y = 1) alone.
OF_EVENTS = {
    *("calibration_by_centre", "calibration_in_the_large", "decision_curve", "observed_expected", "risk"),
}
#: Functions of the rows, and columns of results, that depend on how many rows bear the weight.
OF_COUNTS = {
    *(
        "best_set",
        "calibration_by_centre",
        "calibration_test",
        "choose_actions",
        "calibration_tests",
        "choose_points_per_bin",
    ),
    *("conclude", "confusions", "consistency_band", "debiased_l2", "effective_sample", "over_time"),
    *("measure_interval", "paired_difference", "problem_floors"),
    *("lesson", "recommend", "reduce_to_binary", "risk", "row_table"),
}
COLUMNS_OF_COUNTS = {
    *("Distinct scores", "above_noise", "accuracy_lower", "accuracy_shrunken", "accuracy_upper"),
    *("avoided_lower", "avoided_upper"),
    *("beyond_noise", "chosen", "corp_curve.weight", "count"),
    *("loess_curve.weight", "observed_expected.observed", "observed_expected.expected", "log_error"),
    "error_interval.estimate",
    *("flagged", "floor", "floor_upper"),
    *("frequency_lower", "frequency_upper", "in_the_large_lower", "in_the_large_upper"),
    *("intercept_lower", "intercept_upper", "least", "lower", "most", "n_distinct", "n_samples", "p"),
    *(
        "p_value",
        "perfect_mean",
        "perfect_q05",
        "perfect_q95",
        "predicted",
        "rows_needed",
        "smallest",
    ),
    *("slope_lower", "slope_upper", "standard_error", "true", "upper", "validity_curve.validity"),
    "weighted",
}


def parameters_of(name):
    return inspect.signature(FUNCTIONS[name]).parameters


def variants(name):
    """Options of a function, each path once; every notion with every strategy."""
    chosen = {key: values for key, values in VARIANTS.items() if key in parameters_of(name)}
    crossed = [chosen.pop(key, (None,)) for key in ("notion", "strategy")]
    for notion, strategy in product(*crossed):
        both = {"notion": notion, "strategy": strategy}
        yield {key: value for key, value in both.items() if value is not None}
    for key, values in chosen.items():
        yield from ({key: value} for value in values)


def called(name, options, rows=slice(None), **weights):
    """What a function says of some rows."""
    numbers = np.arange(N)[rows]
    given = {
        "y_true": Y[rows],
        "y": Y[rows],
        **dict.fromkeys(("scores", "proba", "predicted", "scores_a"), PROBA[rows]),
        "scores_b": OTHER[rows],
        "losses": SQUARES[:, rows],
        "cells": numbers % 4,
        "costs": 1.0 - np.eye(L),
        "centre": numbers % 5,
        "groups": np.array(["a", "b", "c"])[numbers % 3],
        "time": numbers,
        **{"bin": 9, "key": "tl_ece", "notion": "top-label", "tests": VARIANTS["test"]},
        **{"n_resamples": 20, "candidates": (20, 60), "methods": {"TS": calib.TemperatureScaling()}},
    }
    if name in OF_EVENTS:
        given |= {"y_true": (Y == 0)[rows], "scores": PROBA[rows, 0]}
    if name == "benefit_difference":
        given |= {"y_true": (Y == 0)[rows], "scores_a": PROBA[rows, 0], "scores_b": OTHER[rows, 0]}
    if name == "decide":
        given["accuracy"] = 0.6
    if name == "gate":
        given["most"] = {"brier": 0.4}
    if name == "coarsen":
        given["tree"] = [f"{k % 2};{k}" for k in range(L)]
    if name in ("class_diagram", "confusions"):
        given["label"] = 1
    if name == "effective_sample":
        given["cluster"] = numbers // 8
    given = {key: value for key, value in given.items() if key in parameters_of(name)}
    if options.get("reference") == "rounded":
        options = {"reference": PROBA[rows].round(1)}
    return FUNCTIONS[name](**given | options | weights)


def numbers_of(result, without=frozenset()):
    """Every number of a result, but those of some columns."""
    if isinstance(result, tuple | list):
        return np.concatenate([numbers_of(each, without) for each in result])
    if isinstance(result, pd.DataFrame):  # of rows, which have their weights as given
        result = result.drop(columns="weight", errors="ignore")
    if not hasattr(result, "frame"):
        return np.ravel(np.array(result, dtype=float))
    table = result.frame().drop(columns=["row", *without], errors="ignore")
    table = table.map(lambda each: np.nan if each is None else each).infer_objects()
    besides = [np.ravel(getattr(result, key)) for key in ("ece", "tl_ece") if hasattr(result, key)]
    return np.concatenate([table.select_dtypes(["number", "bool"]).to_numpy(float).ravel(), *besides]).astype(
        float
    )


def cases(name):
    """Variants of a function that there are, each with what it says of all rows without weights."""
    found = 0
    for options in variants(name):
        try:
            yield options, called(name, options)
        except InputError:
            with pytest.raises(InputError):
                called(name, options, sample_weight=np.ones(N))
        else:
            found += 1
    assert found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_weights_are_no_weights_and_weight_0_is_no_row(name):
    kept = WEIGHTS > 0
    for options, plain in cases(name):
        equal = called(name, options, sample_weight=np.full(N, 7))
        left = called(name, options, kept)
        found = called(name, options, sample_weight=kept)
        for some, others in ((equal, plain), (found, left)):
            without = {"weighted"}
            np.testing.assert_array_equal(
                numbers_of(some, without), numbers_of(others, without), err_msg=str(options)
            )


@pytest.mark.parametrize("name", sorted(REFUSING))
def test_weights_that_differ_are_refused_if_a_guarantee_counts_rows(name):
    with pytest.raises(InputError, match="weight"):
        called(name, {}, sample_weight=WEIGHTS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - REFUSING))
def test_only_ratios_of_weights_matter(name):
    for options, _ in cases(name):
        weighted = numbers_of(called(name, options, sample_weight=WEIGHTS))
        for factor in (1e250, 1e-250):
            scaled = numbers_of(called(name, options, sample_weight=WEIGHTS * factor))
            np.testing.assert_allclose(scaled, weighted, rtol=1e-9, atol=1e-12, err_msg=str(options))


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OF_COUNTS - REFUSING))
def test_whole_weights_are_repeated_rows(name):
    repeated, differs = np.repeat(np.arange(N), WEIGHTS), False
    without = {column.removeprefix(f"{name}.") for column in COLUMNS_OF_COUNTS}
    for options, plain in cases(name):
        expected, found, unweighted = (
            np.sort(numbers_of(result, without))  # tables have their rows in the order of counts
            for result in (
                called(name, options, repeated),
                called(name, options, sample_weight=WEIGHTS),
                plain,
            )
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=str(options))
        differs |= not np.array_equal(found, unweighted)
    assert differs
