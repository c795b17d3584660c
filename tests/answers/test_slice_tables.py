"""Slices: errors against a literal loop, floors against single runs, false discoveries and power."""

import time

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError, TopLabelPrediction, slices
from calib.answers.slice_tables import SLICE_COLUMNS
from tests import oracles
from tests.populations import drawn

N = 600
RANDOM = np.random.default_rng(0)
PROBA, Y = oracles.random_predictions(RANDOM, N, 3, digits=2)
GROUPS = RANDOM.choice(["north", "south", "west"], N, p=[0.5, 0.4, 0.1])
QUICK = {"n_resamples": 60, "random_state": 0}
MANY = {"n_resamples": 1_000, "random_state": 0}


@pytest.mark.parametrize("notion", ["top-label", "confidence"])
def test_each_group_is_assessed_alone(notion):
    weights = np.random.default_rng(1).integers(0, 3, N)
    for of_rows in ({}, {"sample_weight": weights}):
        table = slices(Y, PROBA, GROUPS, notion=notion, n_bins=5, **MANY, **of_rows)
        assert sorted(table.group) == ["north", "south", "west"]
        for at, group in enumerate(table.group):
            rows = (group == GROUPS) & (weights > 0 if of_rows else True)
            item = {"sample_weight": weights[rows]} if of_rows else {}
            expected = calib.ece(Y[rows], PROBA[rows], notion=notion, n_bins=5, **item)
            assert table.error[at] == pytest.approx(expected)
            floor = calib.noise_floor(
                Y[rows], PROBA[rows], notion=notion, n_bins=5, n_resamples=1_000, random_state=1, **item
            )
            assert table.floor[at] == pytest.approx(floor.mean, rel=0.15)
            assert table.floor_upper[at] == pytest.approx(floor.quantile(0.95), rel=0.25)
            assert table.accuracy[at] == pytest.approx(calib.accuracy(Y[rows], PROBA[rows], **item))
            assert table.count[at] == rows.sum()
        assert table.share.sum() == pytest.approx(1.0)
    assert (np.diff(table.p) >= 0).all()
    pd.testing.assert_series_equal(table.frame()["error"], pd.Series(table["error"], name="error"))


def test_columns_of_a_table_are_cut_each_and_judged_together():
    table = pd.DataFrame(
        {"region": GROUPS, "age": np.random.default_rng(1).normal(40, 10, N), "day": ["2024-01-09"] * N}
    )
    found = slices(Y, PROBA, table, cuts={"age": [30, 50]}, **QUICK)
    assert len(found) == 3 + 3 + 1
    assert set(found.group[found.column == "age"]) == {"below 30", "30 to 50", "50 and more"}
    assert found.group[found.column == "day"].tolist() == ["2024-01"]
    whole = calib.ece(Y, PROBA)
    assert found.error[found.column == "day"][0] == pytest.approx(whole)
    texts = found.texts()
    assert list(texts.columns) == [head for head, _ in SLICE_COLUMNS.values()]
    assert texts["Rows"].tolist() == [f"{count:,}" for count in found.count]
    assert texts["Error"].tolist() == [f"{error:.4f}" for error in found.error]
    assert texts["Share"].tolist() == [f"{share:.1%}" for share in found.share]
    assert texts["Above noise"].tolist() == [str(flag) for flag in found.above_noise]


def test_scores_of_one_event_have_slices():
    random = np.random.default_rng(2)
    score = random.random(N)
    happened = random.random(N) < np.where(GROUPS == "south", score**3, score)
    table = slices(happened, score, GROUPS, **QUICK)
    assert table.group[0] == "south"
    assert table.above_noise.tolist() == [True, False, False]
    assert table.words() == "1 of 3 groups is above noise (false discovery rate 5%)"


@pytest.mark.parametrize(("n_groups", "n_wrong"), [(3, 1), (50, 5)])
def test_wrong_groups_are_found_and_few_others(n_groups, n_wrong):
    random, found, false = np.random.default_rng(n_groups), [], []
    for _ in range(8):
        group = random.integers(0, n_groups, 300 * n_groups)
        score = random.uniform(0.5, 1.0, len(group))
        right = random.random(len(group)) < np.where(group < n_wrong, score - 0.15, score)
        top = TopLabelPrediction(np.zeros(len(group), int), score)
        table = slices(np.where(right, 0, 1), top, group.astype(str), n_resamples=200, random_state=random)
        wrong = table.group[table.above_noise].astype(int) < n_wrong
        found.append(wrong.sum() / n_wrong)
        false.append((~wrong).sum() / max(len(wrong), 1))
    assert np.mean(found) > 0.9
    assert np.mean(false) < 0.12  # 5 % expected; the standard error of 8 tables is about 3 %


def test_calibrated_groups_are_seldom_flagged():
    random, flagged = np.random.default_rng(5), 0
    for _ in range(30):
        y = drawn(PROBA / PROBA.sum(axis=1, keepdims=True), random)
        proba = PROBA / PROBA.sum(axis=1, keepdims=True)
        flagged += slices(y, proba, GROUPS, n_resamples=99, random_state=random).above_noise.any()
    assert flagged <= 6  # 1.5 expected


def test_2000_groups_are_quick_and_the_clearest_stand_out():
    random = np.random.default_rng(6)
    group = random.integers(0, 2_000, 30_000)
    label, score = random.integers(0, 10, 30_000), random.uniform(0.7, 1.0, 30_000)
    right = random.random(30_000) < np.where(group < 10, 0.02, score)
    started = time.perf_counter()
    top = TopLabelPrediction(label, score)
    table = slices(np.where(right, label, (label + 1) % 10), top, group, random_state=0, n_bins=5)
    assert time.perf_counter() - started < 60
    assert set(table.group[table.above_noise].astype(int)) >= set(range(10))
    assert table.above_noise.sum() <= 14
    assert table.p[0] < 1 / 1_001  # from more redraws than were asked for


def test_pairs_of_columns_show_what_either_alone_hides():
    """North women and south men are off by 0.1 up, the others down: each column is right on average."""
    random = np.random.default_rng(0)
    region = np.repeat(["north", "south"], 2_000)
    sex = np.tile(np.repeat(["f", "m"], 1_000), 2)
    off = np.where((region == "north") == (sex == "f"), 0.1, -0.1)
    y = (random.random(4_000) < 0.6 + off).astype(int)
    table = pd.DataFrame({"region": region, "sex": sex})
    apart = slices(y, np.full(4_000, 0.6), table, notion="confidence", **QUICK)
    found = slices(y, np.full(4_000, 0.6), table, notion="confidence", pairs=True, **QUICK)
    assert not apart.above_noise.any()
    both = found.column == "region, sex"
    assert sorted(found.group[both]) == ["north, f", "north, m", "south, f", "south, m"]
    assert found.above_noise[both].all()
    assert not found.above_noise[~both].any()
    expected = slices(y, np.full(4_000, 0.6), np.char.add(region, sex), notion="confidence", **QUICK)
    assert sorted(found.error[both]) == pytest.approx(sorted(expected.error))


def test_what_cannot_be_sliced_is_refused():
    with pytest.raises(InputError, match="groups is None"):
        slices(Y, PROBA)
    with pytest.raises(InputError, match="has 10 rows"):
        slices(Y, PROBA, GROUPS[:10])
    with pytest.raises(InputError, match="notion must be"):
        slices(Y, PROBA, GROUPS, notion="class-wise")
    with pytest.raises(InputError, match="cuts names column 'age'"):
        slices(Y, PROBA, pd.DataFrame({"region": GROUPS}), cuts={"age": [1]})
    with pytest.raises(InputError, match="no column to cut"):
        slices(Y, PROBA, pd.DataFrame(index=range(N)))
    with pytest.raises(InputError, match="a column of the table"):
        slices(Y, PROBA, GROUPS, **QUICK)["size"]


def test_groups_of_equal_p_are_ranked_by_how_far_they_exceed_their_floors():
    """Both gaps, 0.2 and 0.5 of 400 rows, are above every redraw: their p-values are the least there is."""
    top = TopLabelPrediction(np.zeros(1_200, int), np.full(1_200, 0.8))
    y = np.repeat([0, 1, 0, 1, 0, 1], [240, 160, 120, 280, 320, 80])  # accuracies of 0.6, 0.3 and 0.8
    table = slices(y, top, np.repeat(["less", "most", "none"], 400), **QUICK)
    assert table.group.tolist() == ["most", "less", "none"]
    assert table.p[0] == table.p[1] < 0.05 < table.p[2]
    assert table.error == pytest.approx([0.5, 0.2, 0.0])
    assert table.above_noise.tolist() == [True, True, False]
