"""Columns in another order than in the fit: refused by every calibrator, never taken by position."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from calib import (
    BinaryPrediction,
    CanonicalBinning,
    GridScheme,
    InputError,
    MulticlassToBinary,
    PlattScaling,
    Predictions,
    TopKPrediction,
    TopLabelPrediction,
    calibrated_scores,
)
from calib.answers.calibrated import fit_on
from calib.calibrators.catalogue import named_methods
from calib.files.saved import dumps, loads

NAMES = ("ant", "bee", "cat")
GENERATOR = np.random.default_rng(0)
PROBA = GENERATOR.dirichlet(np.ones(3), 300)
LABELS = GENERATOR.integers(0, 3, 300)
ROWS = Predictions(PROBA, LABELS, NAMES)
METHODS = {
    **named_methods(None),
    "top-3": MulticlassToBinary(notion="top-k-label"),
    "bins": CanonicalBinning(GridScheme()),
}
OTHER = {
    "order": (
        Predictions(PROBA[:, ::-1], class_names=NAMES[::-1]),
        "another order than in the fit: 'cat' is at place 0",
    ),
    "frame": (
        pd.DataFrame(PROBA, columns=["p(bee)", "p(ant)", "p(cat)"]),
        "'bee' is at place 0, but the fit has 'ant'",
    ),
    "names": (Predictions(PROBA, class_names=("ant", "bee", "dog")), "class 'dog' was not in the fit"),
}


def predicting(calibrator) -> list:
    names = ("predict", "predict_proba", "predict_top", "predict_top_k", "assign")
    return [getattr(calibrator, name) for name in names if hasattr(calibrator, name)]


def refuses_other_orders(calibrator):
    for rows, words in OTHER.values():
        for predict in (*predicting(calibrator), lambda given: calibrated_scores(calibrator, given)):
            with pytest.raises(InputError, match=words):
                predict(rows)  # noqa: B023
    expected = [
        np.asarray(getattr(predict(Predictions(PROBA)), "confidence", 0))
        for predict in predicting(calibrator)
    ]
    found = [np.asarray(getattr(predict(ROWS), "confidence", 0)) for predict in predicting(calibrator)]
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.filterwarnings("ignore::calib.TooManyParametersWarning")
@pytest.mark.parametrize("name", METHODS)
def test_another_order_is_refused_with_the_difference(name):
    fitted = clone(METHODS[name]).fit(ROWS, LABELS)
    refuses_other_orders(fitted)
    refuses_other_orders(loads(dumps(fitted)))


@pytest.mark.parametrize("name", ["TS", "TL-HB", "CW-HB", "bins"])
def test_names_come_from_columns_and_from_rows_with_labels(name):
    refuses_other_orders(clone(METHODS[name]).fit(pd.DataFrame(PROBA, columns=NAMES), LABELS))
    refuses_other_orders(fit_on(clone(METHODS[name]), ROWS))


@pytest.mark.parametrize("name", ["TS", "TL-HB", "CW-HB"])
def test_default_names_are_taken_in_order(name):
    unnamed = clone(METHODS[name]).fit(PROBA, LABELS)
    assert unnamed.class_names_ is None
    again = clone(METHODS[name]).fit(ROWS, LABELS)
    for calibrator in (unnamed, again):
        for predict in predicting(calibrator):
            predict(PROBA)
            predict(Predictions(PROBA))
    refitted = again.fit(PROBA, LABELS)
    assert refitted.class_names_ is None


def test_lists_of_classes_go_by_their_names():
    top = TopLabelPrediction(ROWS.label, ROWS.confidence, LABELS, NAMES)
    calibrator = fit_on(MulticlassToBinary(PlattScaling()), top)
    with pytest.raises(InputError, match="order"):
        calibrator.predict_top(
            TopLabelPrediction(ROWS.label, ROWS.confidence, class_names=("bee", "ant", "cat"))
        )
    fewer = TopLabelPrediction([0, 1], [0.5, 0.6], class_names=("ant", "bee"))  # codes of the fit
    assert calibrator.predict_top(fewer).n_samples == 2
    listed = TopKPrediction([[0, 1]], [[0.5, 0.4]], class_names=("cat", "ant", "bee"))
    with pytest.raises(InputError, match="order"):
        calibrator.predict_top(listed)


def test_the_event_of_a_calibrator_is_known():
    rows = BinaryPrediction(PROBA[:, 0], LABELS == 0, ("no", "yes"))
    calibrator = fit_on(PlattScaling(), rows)
    with pytest.raises(InputError, match="order"):
        calibrated_scores(calibrator, rows.switched())
    assert calibrated_scores(calibrator, rows).n_samples == 300
