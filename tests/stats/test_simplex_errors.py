"""Canonical calibration error against a slow loop, and its noise floor by hand."""

import numpy as np
import pytest

from calib import InputError, Predictions
from calib.calibrators.canonical import CanonicalBinning, GridScheme, SierpinskiScheme
from calib.stats import canonical_ece, canonical_noise_floor
from tests.populations import dirichlet


def by_loop(predictions: Predictions, proba, cells, norm):
    total = 0.0
    for cell in set(cells.tolist()):
        rows = [i for i in range(len(cells)) if cells[i] == cell]
        gap = np.eye(3)[predictions.labels[rows]].mean(axis=0) - proba[rows].mean(axis=0)
        total += len(rows) / len(cells) * (np.abs(gap).sum() if norm == 1 else np.sqrt((gap**2).sum()))
    return total


@pytest.mark.parametrize("norm", [1, 2])
def test_canonical_ece_equals_a_slow_loop(norm):
    data = dirichlet(300, sharpen=2.0)
    cells = GridScheme(4).fit(data.proba).assign(data.proba)
    expected = by_loop(data, data.proba, cells, norm)
    assert canonical_ece(data.labels, data.proba, cells, norm=norm) == pytest.approx(expected)
    floor = canonical_noise_floor(data.labels, data.proba, cells, norm=norm, n_resamples=1)
    assert floor.observed == pytest.approx(expected)


def test_l1_error_is_at_least_the_l2_error_and_zero_on_the_fitting_rows():
    data = dirichlet(500)
    calibrator = CanonicalBinning(GridScheme(3)).fit(data.proba, data.labels)
    cells = calibrator.assign(data.proba)
    after = calibrator.predict_proba(data.proba)
    assert canonical_ece(data.labels, after, cells) == pytest.approx(0.0, abs=1e-12)
    item, two = (canonical_ece(data.labels, data.proba, cells, norm=norm) for norm in (1, 2))
    assert item >= two > 0


def test_noise_of_a_single_cell_is_multinomial():
    # One cell, p = (1/2, 1/4, 1/4), n = 400: E|freq - p| is close to sqrt(2 p (1 - p) / (pi n)) per class.
    proba = np.tile([0.5, 0.25, 0.25], (400, 1))
    floor = canonical_noise_floor(
        np.zeros(400, int), proba, np.zeros(400, int), n_resamples=2000, random_state=0
    )
    p = np.array([0.5, 0.25, 0.25])
    assert floor.mean == pytest.approx(np.sqrt(2 * p * (1 - p) / (np.pi * 400)).sum(), rel=0.03)


def test_noise_covers_a_perfect_model_and_exposes_a_sharpened_one():
    for sharpen, above in ((1.0, False), (1.6, True)):
        data = dirichlet(4000, seed=5, sharpen=sharpen)
        cells = SierpinskiScheme(2).fit(data.proba).assign(data.proba)
        floor, again = (
            canonical_noise_floor(data.labels, data.proba, cells, n_resamples=100, random_state=1)
            for _ in range(2)
        )
        np.testing.assert_array_equal(floor.samples, again.samples)
        assert floor.samples.shape == (100,)
        assert (floor.p_value < 0.02) == above


def test_labels_are_required_where_they_are_used():
    with pytest.raises(InputError, match="true labels are needed"):
        canonical_ece(None, np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="norm"):
        canonical_ece([0, 1, 2], np.eye(3), [0, 1, 2], norm=3)
