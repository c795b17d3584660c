"""Weights in diagrams and tables: counts stay counts of rows, and noise goes by effective rows."""

import numpy as np
import pytest

import calib
from calib.diagrams import class_table, validity_curve, worst_cells
from calib.stats import wilson_interval
from tests import oracles

N = 300
PROBA, Y = oracles.random_predictions(np.random.default_rng(0), N, 3, digits=2)
WEIGHTS = np.random.default_rng(1).integers(0, 4, N)
REPEATED = np.repeat(np.arange(N), WEIGHTS)
AGAIN, Y_AGAIN = PROBA[REPEATED], Y[REPEATED]


def test_diagram_counts_rows_and_widens_by_effective_rows():
    found = calib.reliability_diagram(Y, PROBA, n_bins=10, sample_weight=WEIGHTS)
    expected = calib.reliability_diagram(Y_AGAIN, AGAIN, n_bins=10)
    assert found.pooled.count.sum() == np.count_nonzero(WEIGHTS)
    top = PROBA.max(axis=1)
    for at, bin_ in enumerate(found.pooled.bin):
        inside = WEIGHTS[(top >= bin_ / 10) & (top < (bin_ + 1) / 10 + (bin_ == 9))].astype(float)
        rows = inside.sum() ** 2 / (inside**2).sum()
        ends = wilson_interval(found.pooled.mean_outcome[at], rows)
        assert (found.accuracy_lower[at], found.accuracy_upper[at]) == pytest.approx(ends)
    worst = worst_cells(found.cells, 1, min_count=1).index[0]
    assert found.cells.share[worst] * abs(found.cells.gap[worst]) == pytest.approx(
        (expected.cells.share * np.abs(expected.cells.gap)).max()
    )


def test_clearest_of_many_classes_are_redrawn_with_their_weights():
    """Of 30 classes, one is far off: its p-value is refined, which draws anew from its rows alone."""
    n = 30 * 40
    label, random = np.repeat(np.arange(30), 40), np.random.default_rng(2)
    right = random.random(n) < np.where(label == 7, 0.1, 0.8)
    top = calib.TopLabelPrediction(label, np.full(n, 0.8))
    table = class_table(
        np.where(right, label, (label + 1) % 30),
        top,
        n_resamples=99,
        random_state=0,
        sample_weight=random.exponential(size=n),
    )
    assert table.flagged[7]
    assert table.p_value[7] < 1 / 100


def test_validity_curves():
    for options in ({}, {"reference": PROBA.round(1), "notion": "class-wise"}):
        found = validity_curve(Y, PROBA, sample_weight=WEIGHTS, **options)
        again = options | ({"reference": AGAIN.round(1)} if options else {})
        expected = validity_curve(Y_AGAIN, AGAIN, **again)
        for epsilon in (0.05, 0.1, 0.3):
            assert found.at(epsilon) == pytest.approx(expected.at(epsilon))
    options = {"n_resamples": 30, "random_state": 0}
    perfect = validity_curve(Y, PROBA, sample_weight=WEIGHTS, **options).perfect_share
    assert perfect[-1] == pytest.approx(1.0)
    assert perfect[100] < validity_curve(Y_AGAIN, AGAIN, **options).perfect_share[100]  # more noise
