"""Weights in diagrams and tables: whole weights are repeated rows, and counts of rows stay counts of rows."""

import numpy as np
import pytest

import calib
from calib import InputError
from calib.diagrams import class_diagram, class_table, validity_curve, worst_cells
from calib.diagrams.reliability import wilson_interval
from calib.diagrams.validity import canonical_validity
from tests import oracles

N = 300
PROBA, Y = oracles.random_predictions(np.random.default_rng(0), N, 3, digits=2)
WEIGHTS = np.random.default_rng(1).integers(0, 4, N)
REPEATED = np.repeat(np.arange(N), WEIGHTS)
AGAIN, Y_AGAIN = PROBA[REPEATED], Y[REPEATED]


def same(found, expected, *names):
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-12)


def test_reliability_diagram_and_zoom():
    found = calib.reliability_diagram(Y, PROBA, n_bins=10, sample_weight=WEIGHTS)
    expected = calib.reliability_diagram(Y_AGAIN, AGAIN, n_bins=10)
    same(found, expected, "bin", "mean_confidence", "accuracy", "delta", "top_label", "tl_ece", "share")
    assert found.count.sum() == np.count_nonzero(WEIGHTS)
    top = PROBA.max(axis=1)
    for at, bin_ in enumerate(found.bin):
        inside = WEIGHTS[(top >= bin_ / 10) & (top < (bin_ + 1) / 10 + (bin_ == 9))].astype(float)
        rows = inside.sum() ** 2 / (inside**2).sum()
        ends = wilson_interval(found.accuracy[at], rows)
        assert (found.accuracy_lower[at], found.accuracy_upper[at]) == pytest.approx(ends)
    bin_ = int(found.bin[-1])
    zoom = calib.bin_zoom(Y, PROBA, bin_, n_bins=10, sample_weight=WEIGHTS)
    other = calib.bin_zoom(Y_AGAIN, AGAIN, bin_, n_bins=10)
    order = [zoom.label.tolist().index(label) for label in other.label]
    np.testing.assert_allclose(zoom.class_accuracy[order], other.class_accuracy)
    with pytest.raises(InputError, match="cannot use sample_weight"):
        found.means(top, top)
    worst = worst_cells(found.cells, 1, min_count=1).index[0]
    assert found.cells.share[worst] * abs(found.cells.gap[worst]) == pytest.approx(
        (expected.cells.share * np.abs(expected.cells.gap)).max()
    )


def test_class_table_and_class_diagram():
    options = {"n_bins": 5, "n_resamples": 50, "random_state": 0}
    found = class_table(Y, PROBA, sample_weight=WEIGHTS, **options)
    expected = class_table(Y_AGAIN, AGAIN, **options)
    same(found, expected, "accuracy", "confidence", "class_ece", "share", "tl_ece")
    kept = WEIGHTS > 0
    assert found.predicted.tolist() == np.bincount(PROBA[kept].argmax(axis=1), minlength=3).tolist()
    assert found.true.tolist() == np.bincount(Y[kept], minlength=3).tolist()
    for notion in ("top-label", "class-wise"):
        one = class_diagram(Y, PROBA, 1, notion=notion, sample_weight=WEIGHTS)
        same(one, class_diagram(Y_AGAIN, AGAIN, 1, notion=notion), "ece", "mean_score", "frequency")


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


def test_validity_curves_and_sweep():
    for options in ({}, {"reference": PROBA.round(1), "notion": "class-wise"}):
        found = validity_curve(Y, PROBA, sample_weight=WEIGHTS, **options)
        again = options | ({"reference": AGAIN.round(1)} if options else {})
        expected = validity_curve(Y_AGAIN, AGAIN, **again)
        for epsilon in (0.05, 0.1, 0.3):
            assert found.at(epsilon) == pytest.approx(expected.at(epsilon))
        same(found, expected, "gap")
    options = {"n_resamples": 30, "random_state": 0}
    perfect = validity_curve(Y, PROBA, sample_weight=WEIGHTS, **options).perfect_share
    assert perfect[-1] == pytest.approx(1.0)
    assert perfect[100] < validity_curve(Y_AGAIN, AGAIN, **options).perfect_share[100]  # more noise
    found = canonical_validity(Y, PROBA, np.arange(N) % 4, sample_weight=WEIGHTS)
    same(found, canonical_validity(Y_AGAIN, AGAIN, np.arange(N)[REPEATED] % 4), "epsilon", "share")
    found = calib.ece_sweep(Y, PROBA, n_bins=[3, 9], sample_weight=WEIGHTS)
    same(found, calib.ece_sweep(Y_AGAIN, AGAIN, n_bins=[3, 9]), "ece")
