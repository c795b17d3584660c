"""Whether a calibrator helps: against populations whose truth is known, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from calib import BinaryPrediction, TopLabelPrediction
from calib.answers.advice import confirm_choice
from calib.evidence.rows import Rows

ROWS, SAMPLES = 1_500, 100


def verdicts_of(before, after, chance):
    """Verdicts for (predicted class, confidences before and after, true outcome) of many samples."""
    random = np.random.default_rng(0)
    verdicts = []
    for _ in range(SAMPLES):
        latent = random.uniform(0.4, 1.0, ROWS)
        label = random.integers(0, 3, ROWS)
        y = np.where(random.random(ROWS) < chance(latent), label, 3)
        both = (Rows(TopLabelPrediction(label, of(latent), y)) for of in (before, after))
        verdicts.append(confirm_choice(*both).verdict)
    return np.array(verdicts)


def test_a_repair_is_called_better_and_its_opposite_worse():
    truth, over = (lambda h: h), (lambda h: h + 0.6 * (1 - h))
    assert (verdicts_of(over, truth, truth) == "better").mean() >= 0.95
    assert (verdicts_of(truth, over, truth) == "worse").mean() >= 0.95


def test_where_nothing_changes_a_direction_is_claimed_in_few_samples():
    # Both confidences are off by 0.05, in opposite directions: E[(h - p)^2] is 0.0025 for both.
    down, up = (lambda p: 0.2 + 0.6 * (p - 0.4) - 0.05), (lambda p: 0.2 + 0.6 * (p - 0.4) + 0.05)
    claimed = verdicts_of(down, up, lambda p: 0.2 + 0.6 * (p - 0.4)) != "no clear change"
    assert claimed.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SAMPLES)


def test_the_scores_are_those_of_the_rows_by_hand():
    # (0.8 - 1)^2 and (0.8 - 0)^2 in equal parts; and 0.5^2
    y = np.arange(400) % 2
    found = confirm_choice(*(Rows(BinaryPrediction(np.full(400, said), y)) for said in (0.8, 0.5)))
    assert (found.brier.estimate_a, found.brier.estimate_b) == pytest.approx((0.34, 0.25))
    # -log(0.8) and -log(0.2) in equal parts; and -log(0.5)
    assert (found.log_loss.estimate_a, found.log_loss.estimate_b) == pytest.approx((0.916291, 0.693147))
    assert found.verdict == "better"


def test_a_gain_of_one_score_with_a_loss_of_the_other_is_worse():
    """9 of 200 rows at 0.999999 are wrong: 13.8 nats each, but fewer squares than 0.6 for all rows."""
    y = (np.arange(2_000) % 200 >= 9).astype(int)
    found = confirm_choice(*(Rows(BinaryPrediction(np.full(2_000, said), y)) for said in (0.75, 0.999999)))
    assert found.brier.upper < 0.0 < found.log_loss.lower
    assert found.verdict == "worse"
