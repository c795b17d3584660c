"""Debiased, swept and smooth estimates: by hand, by literal formulas, and against the authors' packages."""

from __future__ import annotations

import numpy as np
import pytest

from calib import TopLabelPrediction, debiased_l2, ece, reduce_to_binary, smooth_ece


def binary(n=2000, seed=5, power=1.5):
    """Scores f uniform, outcomes with P(Z = 1) = f^power, as a prediction of class 0."""
    random = np.random.default_rng(seed)
    f = random.random(n)
    z = random.random(n) < f**power
    return f, z, 1 - z.astype(int), TopLabelPrediction(np.zeros(n, int), f)


def test_debiased_by_hand():
    """One cell of 4 rows at 0.5, three of them right: gap 0.25, variance 0.75 * 0.25 / 3 = 0.0625.

    The squared gap is 0.0625 as well, so nothing is left.
    """
    top = TopLabelPrediction(np.zeros(4, int), np.full(4, 0.5))
    assert debiased_l2([0, 0, 0, 1], top, notion="confidence") == 0.0
    # All four right: gap 0.5, variance 0.
    assert debiased_l2([0, 0, 0, 0], top, notion="confidence") == pytest.approx(0.5)


def test_debiased_matches_the_authors_package():
    """uncertainty-calibration 0.1.4: get_calibration_error(f, z, p=2, debias=True) printed these."""
    _, _, y, top = binary()
    assert debiased_l2(y, top, notion="confidence") == pytest.approx(0.1073752656092077, abs=1e-12)


def test_debiased_is_centred_where_the_plug_in_is_not():
    squares, plugged = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        f = random.random(150)
        y = (random.random(150) >= f).astype(int)
        problems = reduce_to_binary(y, TopLabelPrediction(np.zeros(150, int), f), "confidence")
        squares.append(debiased_l2(problems, n_bins=15) ** 2)
        plugged.append(ece(y, TopLabelPrediction(np.zeros(150, int), f), norm=2, strategy="quantile") ** 2)
    assert np.mean(squares) < 0.35 * np.mean(plugged)  # not 0: negative estimates are cut off


def literal_smooth(f, z, sigma, grid):
    """smECE_sigma by its definition: a Gaussian kernel reflected at 0 and 1, summed over images."""
    images = np.concatenate([sign * f + 2 * k for k in range(-2, 3) for sign in (1, -1)])
    residual = np.tile((z - f) / len(f), len(images) // len(f))
    kernel = np.exp(-0.5 * ((grid[:, None] - images) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    return np.mean(np.abs(kernel @ residual))  # midpoint rule on [0, 1]


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_smooth_is_the_fixed_point(power):
    f, z, y, top = binary(300, 3, power)
    value = smooth_ece(y, top).value
    grid = (np.arange(800) + 0.5) / 800
    assert literal_smooth(f, z, value, grid) == pytest.approx(value, rel=2e-3)


def test_smooth_matches_the_authors_package():
    """relplot 1.0: smECE(f, z) printed this; it normalises by an approximate density, hence 1 %."""
    _, _, y, top = binary()
    assert smooth_ece(y, top).value == pytest.approx(0.0991953006446435, rel=0.01)


def test_smooth_on_the_reference_file(shared_data):
    """relplot 1.0 on the top confidences of the test rows: 0.01502, found to within 0.001."""
    data = np.load(shared_data / "cifar10_resnet50.npz")
    logits = data["test_logits"].astype(np.float64)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    assert smooth_ece(data["test_labels"], proba).value == pytest.approx(0.01502, abs=1e-3)


def test_smooth_at_the_ends():
    sure = TopLabelPrediction(np.zeros(50, int), np.ones(50))
    assert smooth_ece(np.zeros(50, int), sure).value == pytest.approx(0.0, abs=1e-8)
    # Always sure and always wrong: all mass stays at residual -1, whatever the width.
    assert smooth_ece(np.ones(50, int), sure).value == pytest.approx(1.0)


def test_smooth_per_class():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(4), 500)
    y = random.integers(0, 4, 500)
    result = smooth_ece(y, proba, notion="class-wise")
    assert result.problem.tolist() == [0, 1, 2, 3]
    assert result.value == pytest.approx(result.ece.mean())
    assert len(result.frame()) == 4
    top = TopLabelPrediction(np.zeros(500, int), proba[:, 2])
    assert result.ece[2] == pytest.approx(smooth_ece((y != 2).astype(int), top).value)


def test_class_wise_is_the_root_of_the_mean_of_squares():
    proba, y = (
        np.random.default_rng(0).dirichlet(np.ones(3), 300),
        np.random.default_rng(1).integers(0, 3, 300),
    )
    squares = [
        debiased_l2(
            (y == code).astype(int),
            np.column_stack([1 - proba[:, code], proba[:, code]]),
            notion="class-wise",
        )
        ** 2
        for code in range(3)
    ]
    assert debiased_l2(y, proba, notion="class-wise") ** 2 == pytest.approx(np.mean(squares), abs=1e-12)
