"""Weights in the metrics: against literal loops; tests/test_weights.py holds what a weight is."""

import math

import numpy as np
import pytest

import calib
from calib import InputError, Predictions, TopLabelPrediction, bin_statistics, reduce_to_binary
from calib.data.notions import NOTIONS
from tests import oracles

N, L, B = 400, 4, 7
PROBA, Y = oracles.random_predictions(np.random.default_rng(0), N, L, digits=2)
WEIGHTS = np.random.default_rng(1).integers(0, 4, N)
TOP = TopLabelPrediction(PROBA.argmax(axis=1), PROBA.max(axis=1))


def weighted_cells(notion, strategy):
    """(claim, problem, bin) to (weight, weighted score, weighted outcome), row by row."""
    proba, y, weights = PROBA[WEIGHTS > 0], Y[WEIGHTS > 0], WEIGHTS[WEIGHTS > 0]
    table = {}
    ranks = range(L) if notion in oracles.NOTIONS[2:] else range(1)
    for i, row in enumerate(proba.tolist()):
        order = oracles.ranking(row)
        for rank in ranks:
            code = rank if notion == "class-wise" else order[rank]
            by_class = notion in ("top-label", "top-k-label")
            bin_ = row[code] if strategy == "discrete" else oracles.uniform_bin(row[code], B)
            cell = table.setdefault((rank, code if by_class else 0, bin_), [0.0, 0.0, 0.0])
            for at, value in enumerate((1.0, row[code], float(y[i] == code))):
                cell[at] += weights[i] * value
    return {key: (w, s / w, o / w) for key, (w, s, o) in table.items()}


@pytest.mark.parametrize("strategy", ["uniform", "discrete"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_errors_are_those_of_a_literal_weighted_loop(notion, strategy):
    cells = weighted_cells(notion, strategy)
    options = {"notion": notion, "n_bins": B, "strategy": strategy, "sample_weight": WEIGHTS}
    claims = {key[0] for key in cells}
    gaps = {key: abs(o - s) for key, (_, s, o) in cells.items()}
    for norm in (1, 2):
        per_claim = [
            math.fsum(cells[key][0] / WEIGHTS.sum() * gaps[key] ** norm for key in cells if key[0] == claim)
            ** (1 / norm)
            for claim in claims
        ]
        expected = math.fsum(per_claim) / len(claims)
        assert calib.ece(Y, PROBA, norm=norm, **options) == pytest.approx(expected, abs=1e-13)
    assert calib.mce(Y, PROBA, **options) == pytest.approx(max(gaps.values()), abs=1e-13)
    sharp = math.fsum(w * o**2 for w, _, o in cells.values()) / WEIGHTS.sum() / len(claims)
    assert calib.sharpness(Y, PROBA, **options) == pytest.approx(sharp, abs=1e-13)


def test_proper_scores_are_weighted_means_of_rows():
    total = WEIGHTS.sum()
    right = PROBA.argmax(axis=1) == Y
    assert calib.accuracy(Y, PROBA, sample_weight=WEIGHTS) == pytest.approx(WEIGHTS[right].sum() / total)
    squares = ((PROBA - np.eye(L)[Y]) ** 2).sum(axis=1)
    assert calib.brier_score(Y, PROBA, sample_weight=WEIGHTS) == pytest.approx(squares @ WEIGHTS / total)
    losses = -np.log(np.maximum(PROBA[np.arange(N), Y], 2.0**-52))
    assert calib.log_loss(Y, PROBA, sample_weight=WEIGHTS) == pytest.approx(losses @ WEIGHTS / total)
    of_top = ((TOP.confidence - right) ** 2) @ WEIGHTS / total
    assert calib.brier_score(Y, TOP, sample_weight=WEIGHTS) == pytest.approx(of_top)


def test_equal_mass_bins_hold_rows_and_their_means_are_weighted():
    problems = reduce_to_binary(Y, PROBA, "confidence", sample_weight=WEIGHTS + 1)
    plain = bin_statistics(reduce_to_binary(Y, PROBA, "confidence"), n_bins=B, strategy="quantile")
    cells = bin_statistics(problems, n_bins=B, strategy="quantile")
    assert cells.count.tolist() == plain.count.tolist()
    top, right = PROBA.max(axis=1), PROBA.argmax(axis=1) == Y
    for cell in range(len(cells.count)):
        inside = (top >= cells.lower[cell]) & (top <= cells.upper[cell])
        weights = (WEIGHTS + 1.0)[inside]
        assert cells.mean_outcome[cell] == pytest.approx(right[inside] @ weights / weights.sum())
        assert cells.effective[cell] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_debiased_l2_takes_off_the_noise_of_weighted_means():
    """Cells of a calibrated population with uneven weights: squares average 0, plug-in squares do not."""
    random = np.random.default_rng(2)
    squares, plain = [], []
    for _ in range(200):
        score = random.choice([0.3, 0.7], 60)
        outcome, weights = random.random(60) < score, random.exponential(size=60) ** 2
        top = TopLabelPrediction(np.zeros(60, int), score)
        problems = reduce_to_binary(np.where(outcome, 0, 1), top, "confidence", sample_weight=weights)
        cells = bin_statistics(problems, strategy="discrete")
        variance = cells.mean_outcome * (1 - cells.mean_outcome) / (cells.effective - 1)
        squares.append(cells.share @ (cells.gap**2 - variance))
        plain.append(cells.share @ cells.gap**2)
        found = calib.debiased_l2(problems, strategy="discrete")
        assert found == pytest.approx(math.sqrt(max(squares[-1], 0.0)))
    error = np.std(squares) / math.sqrt(len(squares))
    assert abs(np.mean(squares)) < 4 * error < np.mean(plain)


def test_a_tiny_weight_beside_large_ones_keeps_its_value():
    score = np.array([0.1] * 1000 + [0.9])
    weights = np.array([1e12] * 1000 + [1e-6])
    problems = reduce_to_binary(
        np.zeros(1001, int),
        TopLabelPrediction(np.zeros(1001, int), score),
        "confidence",
        sample_weight=weights,
    )
    cells = bin_statistics(problems, n_bins=10)
    assert cells.mean_score.tolist() == pytest.approx([0.1, 0.9], rel=1e-12)
    assert cells.mean_outcome.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(N - 1), "one weight per row"),
        (np.full(N, -1.0), "0 or more; got -1 in row 0"),
        (np.full(N, np.nan), "NaN or infinite"),
        (np.zeros(N), "0 in every row"),
        (["a"] * N, "must be numbers"),
        (np.ones((N, 1)), "vector"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, words):
    for scores in (PROBA, Predictions(PROBA / PROBA.sum(axis=1, keepdims=True)), TOP):
        with pytest.raises(InputError, match=words):
            calib.ece(Y, scores, sample_weight=weights)
        with pytest.raises(InputError, match=words):
            calib.accuracy(Y, scores, sample_weight=weights)


def test_problems_take_weights_only_when_they_are_made():
    with pytest.raises(InputError, match="reduce_to_binary"):
        calib.debiased_l2(reduce_to_binary(Y, PROBA, "top-label"), sample_weight=np.ones(N))
