"""Whether calibration changed over time: rows since a moment against the rows before it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError, TopLabelPrediction, over_time
from calib.stats.intervals import difference_limits, smallest_alpha


def rows(seed=0, n=3_000, before=0.0, later=0.0, label=None):
    """Return claims and days 0..99; confidence is too high by `before`, from day 60 on by `later`."""
    random = np.random.default_rng(seed)
    day, score, predicted = random.integers(0, 100, n), random.uniform(0.5, 1.0, n), random.integers(0, 3, n)
    off = np.where(day >= 60, later, before)
    if label is not None:
        off = np.where(predicted == label, off, before)
    right = random.random(n) < score - off
    return TopLabelPrediction(predicted, score, np.where(right, predicted, (predicted + 1) % 3)), day


@pytest.mark.parametrize(
    ("before", "later", "verdict"),
    [
        (0.0, 0.0, "no change"),
        (0.15, 0.15, "wrong from the start"),
        (0.0, 0.15, "changed"),
        (0.15, 0.0, "changed"),
    ],
)
def test_a_change_is_told_from_a_model_that_was_wrong_all_along(before, later, verdict):
    given, day = rows(before=before, later=later)
    found = over_time(given, time=day)
    assert found.verdict == verdict
    assert (found.since is not None) == found.split.changed == (verdict == "changed")
    assert found.split.lower <= before - later <= found.split.upper
    if found.since is not None:
        assert abs(found.since - 60) <= 4
        assert found.split.p < 1e-4


def test_the_difference_is_that_of_the_rows_on_both_sides():
    given, day = rows(later=0.15)
    split = over_time(given, time=day).split
    right, since = given.label == given.labels, day >= split.time
    gaps = [(right[side] - given.confidence[side]).mean() for side in (~since, since)]
    assert [split.before, split.since] == pytest.approx(gaps)
    assert split.difference == pytest.approx(gaps[1] - gaps[0])
    assert (split.n_before, split.n_since) == ((~since).sum(), since.sum())


def test_models_that_do_not_change_seldom_change():
    """Scores that say nothing about the outcome have gaps that differ with the mean score."""
    changed = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        scores, right = random.choice([0.05, 0.95], 500), np.zeros(500, dtype=bool)
        changed += over_time(right, scores, np.arange(500)).verdict == "changed"
    assert changed <= 6


def test_a_class_that_changed_is_named_at_one_false_discovery_rate():
    given, day = rows(n=6_000, later=0.25, label=2)
    found = over_time(given, time=day)
    assert [split.label for split in found.classes if split.changed] == [2]
    assert found.classes[0].label == 2
    assert all(split.changed == (split.lower > 0.0 or split.upper < 0.0) for split in found.classes)


def test_dates_weights_and_row_order_are_respected():
    given, day = rows(later=0.15)
    dates = (np.datetime64("2026-01-01") + day).astype(str)
    found = over_time(given, time=dates)
    assert found.since == pd.Timestamp("2026-01-01") + pd.Timedelta(days=over_time(given, time=day).since)
    assert found.blocks["rows"].sum() == len(day)
    assert found.blocks["first"].is_monotonic_increasing
    order = np.random.default_rng(1).permutation(len(day))
    again = over_time(given.take(order), time=dates[order])
    assert (again.since, again.verdict) == (found.since, found.verdict)
    assert again.split.difference == pytest.approx(found.split.difference)
    weight = np.random.default_rng(2).choice([0.0, 1.0, 3.0], len(day))
    weighted = over_time(given, time=day, sample_weight=weight).split
    gap = (given.label == given.labels) - given.confidence
    for mean, rows_ in ((weighted.before, day < weighted.time), (weighted.since, day >= weighted.time)):
        assert mean == pytest.approx(np.average(gap[rows_], weights=weight[rows_]))


def test_rows_of_a_cluster_are_no_evidence_of_their_own():
    """Patients come on one day each, and the rows of a patient are all right or all wrong."""
    random = np.random.default_rng(3)
    patient = np.repeat(np.arange(40), 50)
    right, scores = (random.random(40) < 0.7)[patient], np.full(2_000, 0.7)
    assert over_time(right, scores, patient, cluster=patient).verdict == "no change"
    assert over_time(right, scores, patient, cluster=np.arange(2_000)).verdict == "changed"


def test_what_has_no_times_is_refused():
    given, day = rows()
    for options, match in (
        ({}, "time is None"),
        ({"time": np.zeros(3_000)}, "1 different times"),
        ({"time": day, "cluster": (np.datetime64("2026-01-01") + day).astype(str)}, "blocks of time"),
        ({"time": day[:-1]}, "one value per row"),
    ):
        with pytest.raises(InputError, match=match):
            over_time(given, **options)


def test_p_is_the_level_at_which_the_interval_ends_at_0():
    given, day = rows(later=0.06)
    rows_ = calib.evidence.rows.Rows(given)
    own, rest, together = rows_.groups("half", ["a", "b"], (day >= 50).astype(int), "confidence").shares()
    p = smallest_alpha(partial(difference_limits, own, rest, together), 2)
    lower, upper = difference_limits(own, rest, together, p)
    assert np.minimum(np.abs(lower), np.abs(upper)) == pytest.approx(0.0, abs=1e-5)


def test_months_are_times_and_no_page_is_named():
    random = np.random.default_rng(0)
    scores, months = (
        random.uniform(0.6, 1.0, 600),
        pd.period_range("2025-01", periods=6, freq="M").repeat(100),
    )
    found = over_time(random.random(600) < scores - 0.2, scores, months)
    assert found.sentence.startswith("Wrong from the start (overconfident). No change was found")
    same = over_time(random.random(600) < scores - 0.2, scores, months.to_timestamp())
    assert same.blocks["first"].tolist() == found.blocks["first"].tolist()
