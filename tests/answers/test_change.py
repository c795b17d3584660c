"""Better, worse, or not distinguishable: against populations whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from calib import TopLabelPrediction, validity_curve
from calib.answers.change import change
from calib.evidence.rows import Rows

ROWS, SAMPLES = 1_500, 100


def samples(before, after, chance):
    """Verdicts for (predicted class, confidences before and after, true outcome) of many samples."""
    random = np.random.default_rng(0)
    verdicts = []
    for _ in range(SAMPLES):
        latent = random.uniform(0.4, 1.0, ROWS)
        label = random.integers(0, 3, ROWS)
        y = np.where(random.random(ROWS) < chance(latent), label, 3)
        verdicts.append(change(*(Rows(TopLabelPrediction(label, of(latent), y)) for of in (before, after))))
    return np.array([item.verdict for item in verdicts])


def test_a_repair_is_called_better_and_its_opposite_worse():
    truth, over = (lambda h: h), (lambda h: h + 0.6 * (1 - h))
    repaired, spoilt = samples(over, truth, truth), samples(truth, over, truth)
    assert (repaired == "better").mean() >= 0.95
    assert (spoilt == "worse").mean() >= 0.95
    assert not np.isin(repaired, ["worse", "mixed"]).any()


def test_where_nothing_changes_a_direction_is_claimed_in_few_samples():
    # Both confidences are off by 0.05, in opposite directions, so that neither number differs in truth:
    # E[(h - p)^2] is 0.0025 for both, and so is what it adds to the Brier score.
    down, up = (lambda p: 0.2 + 0.6 * (p - 0.4) - 0.05), (lambda p: 0.2 + 0.6 * (p - 0.4) + 0.05)
    claimed = samples(down, up, lambda p: 0.2 + 0.6 * (p - 0.4))
    assert (claimed != "not distinguishable").mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SAMPLES)


def test_sharper_and_less_calibrated_is_mixed():
    # One constant, right on average, is calibrated; the other knows more and says 0.12 too little: its
    # squared error is 0.0144, and its Brier score lower by Var(p) - 0.0144 = 0.0156.
    constant, sharp = (lambda p: np.full_like(p, 0.7)), (lambda p: p - 0.12)
    verdicts = samples(constant, sharp, lambda p: p)
    assert (verdicts == "mixed").mean() > 0.5


def test_words_name_both_numbers_and_the_level():
    label = np.zeros(400, dtype=int)
    y = np.where(np.arange(400) % 2, 0, 1)
    item = change(*(Rows(TopLabelPrediction(label, np.full(400, said), y)) for said in (0.9, 0.5)))
    assert item.words("TL-ECE", "Brier score").startswith(
        "Better: the squared l2 TL-ECE is lower (change -0.2"
    )
    assert "hold together with 95 %" in item.words("TL-ECE", "Brier score")


def test_the_error_in_the_same_cells_is_that_of_the_cells():
    # By hand: cells of the reference are {0, 1} and {2, 3}, with outcomes 1/2 and 1; means of the scores are
    # 0.7 and 0.85, so the error is (2 * 0.2 + 2 * 0.15) / 4.
    y, label = [0, 1, 0, 0], np.zeros(4, dtype=int)
    before = TopLabelPrediction(label, np.array([0.6, 0.8, 0.8, 0.9]))
    after = TopLabelPrediction(label, np.array([0.5, 0.5, 1.0, 1.0]))
    curve = validity_curve(y, before, reference=after, n_resamples=500, random_state=0)
    assert curve.error == pytest.approx(0.175)
    # A perfect model with these scores: E|mean of two Bernoulli - 0.7| and that of 0.85, by enumeration.
    expected = 0.0
    for p, q in ((0.6, 0.8), (0.8, 0.9)):
        chances = ((1 - p) * (1 - q), p * (1 - q) + q * (1 - p), p * q)
        expected += sum(c * abs(k / 2 - (p + q) / 2) for k, c in enumerate(chances)) / 2
    assert curve.perfect_error == pytest.approx(expected, abs=0.02)
