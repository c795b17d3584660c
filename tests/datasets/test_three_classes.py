"""The simulated three-class problem: deterministic, miscalibrated, and repaired by binning the simplex."""

import numpy as np
import pytest

from calib import accuracy
from calib.calibrators.canonical import CanonicalBinning, SierpinskiScheme
from calib.datasets import load_example, three_classes
from calib.stats import canonical_ece, canonical_noise_floor


def test_sizes_are_the_papers_and_the_seed_fixes_the_rows():
    example = load_example("three-classes")
    assert (example.calibration.n_samples, example.evaluation.n_samples) == (40_671, 174_304)
    assert example.simulated
    small = [three_classes(n_calibration=50, n_evaluation=60, random_state=seed) for seed in (0, 0, 1)]
    prints = [example.evaluation.fingerprint for example in small]
    assert prints[0] == prints[1] != prints[2]


def test_binning_the_simplex_repairs_what_is_above_noise():
    example = three_classes(n_calibration=20_000, n_evaluation=20_000)
    rows = example.evaluation
    calibrator = CanonicalBinning(SierpinskiScheme(2)).fit(
        example.calibration.proba, example.calibration.labels
    )
    cells = calibrator.assign(rows.proba)
    floor = canonical_noise_floor(rows.labels, rows.proba, cells, n_resamples=50, random_state=0)
    assert floor.observed == pytest.approx(0.14, abs=0.02)
    assert floor.observed > 3 * floor.samples.max()
    assert canonical_ece(rows.labels, calibrator.predict_proba(rows.proba), cells) < 0.04
    assert accuracy(rows.labels, rows.proba) == pytest.approx(0.61, abs=0.02)
    assert np.bincount(rows.labels, minlength=3).min() > 4000
