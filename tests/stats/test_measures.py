"""The table of reported numbers: it says which estimator each is, and every table of numbers reads it."""

from __future__ import annotations

import numpy as np
import pytest

from calib import auc, bootstrap_interval, metrics, noise_floor
from calib.answers.metric_tables import METRIC_COLUMNS
from calib.data.predictions import TopLabelPrediction
from calib.stats.measures import ECES, MEASURES
from tests.oracles import random_predictions


@pytest.fixture(scope="module")
def rows():
    return random_predictions(np.random.default_rng(0), 300, 4)


@pytest.mark.parametrize("key", [key for key in MEASURES if key != "conf_mce"])
def test_options_of_a_number_give_the_number(rows, key):
    proba, y = rows
    measure = MEASURES[key]
    if measure.missing("vectors"):
        proba, y = proba[:, 1], y == 1
        assert measure.missing("binary") is None
    summary = metrics(y, proba)
    top = None if proba.ndim == 1 else TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
    scores = top if key.startswith("top_") else proba
    if measure.is_error:
        options = {**measure.options, "notion": measure.notion, "n_resamples": 2}
        number = noise_floor(y, proba, random_state=0, **options).observed
    elif measure.metric == "auc":
        number = auc(y, scores, notion=measure.notion)
    else:
        number = bootstrap_interval(y, scores, metric=measure.metric).estimate
    assert number == pytest.approx(getattr(summary, key), abs=1e-12)


def test_every_table_reads_the_table():
    of_table = [key for key in MEASURES if key != "conf_mce"]  # a limit alone
    assert [MEASURES[key].title for key in of_table] == [METRIC_COLUMNS[key] for key in of_table]
    titles = [item.title for item in MEASURES.values()]
    assert len(set(titles)) == len(titles)
    assert {notion: item.title for notion, item in ECES.items()} == {
        "confidence": "conf-ECE",
        "top-label": "TL-ECE",
        "class-wise": "CW-ECE",
    }
