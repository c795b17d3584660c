"""The grammar of the public functions: what comes first, what is named, and one place for defaults."""

from __future__ import annotations

import inspect

import pytest

from calib.data import defaults
from tests.public import public_functions, public_objects

FUNCTIONS = public_functions()

#: Arguments and the names of their defaults.
DEFAULTS = {"n_bins": "N_BINS", "random_state": "RANDOM_STATE", "level": "LEVEL", "fdr": "FDR"}
#: Functions whose argument means something else.
OTHER = {
    ("ece_sweep", "n_bins"): range(5, 26),
    ("sweep_models", "n_bins"): range(5, 26),
    ("class_binning", "n_bins"): None,  # bins of the calibrator, by default from points per bin
    ("problem_floors", "fdr"): None,  # without a false discovery rate, one level for every problem
}


def parameters():
    for name, function in FUNCTIONS.items():
        for parameter in inspect.signature(function).parameters.values():
            yield name, parameter


@pytest.mark.parametrize(("argument", "default"), DEFAULTS.items())
def test_defaults_stand_in_one_place(argument, default):
    found = {
        name: parameter.default
        for name, parameter in parameters()
        if parameter.name == argument and parameter.default is not inspect.Parameter.empty
    }
    expected = {name: OTHER.get((name, argument), getattr(defaults, default)) for name in found}
    assert found == expected


def test_labels_come_before_scores():
    """As scikit-learn does: metrics take (y_true, scores), what fits takes (proba, y)."""
    for name, function in FUNCTIONS.items():
        order = list(inspect.signature(function).parameters)
        if "y_true" in order:
            assert order[0] == "y_true", name
            assert order[1].startswith(("scores", "proba", "predicted", "announced", "rows")), name
        if "y" in order:
            assert order[:2] == ["proba", "y"], name


def test_every_function_of_labels_and_scores_takes_weights_clusters_or_one_thing():
    """Labels and scores, or labelled predictions or evidence alone; weights and clusters by name."""
    of_rows = {name: inspect.signature(each).parameters for name, each in FUNCTIONS.items()}
    of_rows = {name: each for name, each in of_rows.items() if {"y_true", "y"} & set(each)}
    assert len(of_rows) > 40
    for name, found in of_rows.items():
        second = list(found.values())["scores_b" in found and 2 or 1]
        assert second.default is None, name
        for option in ("sample_weight", "cluster"):
            assert found[option].kind is inspect.Parameter.KEYWORD_ONLY, name
            assert found[option].default is None, name


def test_options_are_named():
    named = {*DEFAULTS, "strategy", "norm", "n_resamples", "sample_weight"}
    by_position = [
        (name, parameter.name)
        for name, parameter in parameters()
        if parameter.name in named
        and parameter.default is not inspect.Parameter.empty
        and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    assert not by_position


def documented():
    """Public functions and classes, and the public methods and properties that calib gives these."""
    for name, each in public_objects().items():
        if callable(each):
            yield name, each
        for owner in each.__mro__ if isinstance(each, type) else ():
            for member, value in vars(owner).items() if owner.__module__.startswith("calib.") else ():
                if not member.startswith("_") and hasattr(value, "__get__"):
                    yield f"{name}.{member}", value


def test_public_names_and_their_methods_have_docstrings():
    assert [name for name, each in documented() if not inspect.getdoc(each)] == []
