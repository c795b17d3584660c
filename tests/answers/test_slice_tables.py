"""Slices: differences and errors against literal code, floors against single runs, false discoveries."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

import calib
from calib import ConfidencePrediction, InputError, TopLabelPrediction, class_table, slices
from calib.answers.cuts import cut_column
from calib.answers.slice_tables import SLICE_COLUMNS, further_groups, slices_if_clustered, suspected_within
from calib.evidence.clusters import even_clusters
from calib.evidence.rows import Rows, as_evidence
from calib.stats.intervals import binomial_limits, few_clusters_factor
from tests import oracles

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
    assert texts["Differs"].tolist() == [str(flag) for flag in found.differs]


def test_scores_of_one_event_have_slices():
    random = np.random.default_rng(2)
    score = random.random(N)
    happened = random.random(N) < np.where(GROUPS == "south", score**3, score)
    table = slices(happened, score, GROUPS, **QUICK)
    assert table.group[0] == "south"
    assert table.above_noise.tolist() == [True, False, False]
    assert table.differs[0]
    assert table.differences()["group", "south"].startswith("predicted too high by more than all")


@pytest.mark.parametrize(("n_groups", "n_wrong"), [(3, 1), (50, 5)])
def test_wrong_groups_are_found(n_groups, n_wrong):
    random, found = np.random.default_rng(n_groups), []
    for _ in range(8):
        group = random.integers(0, n_groups, 300 * n_groups)
        score = random.uniform(0.5, 1.0, len(group))
        right = random.random(len(group)) < np.where(group < n_wrong, score - 0.15, score)
        top = TopLabelPrediction(np.zeros(len(group), int), score)
        table = slices(np.where(right, 0, 1), top, group.astype(str), n_resamples=200, random_state=random)
        found.append((table.differs & (table.group.astype(int) < n_wrong)).sum() / n_wrong)
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("off", [0.0, 0.15])
def test_random_groups_seldom_differ_whether_or_not_the_model_is_off(off):
    """By itself each group is above noise if the model is."""
    random, differ, above = np.random.default_rng(5), 0, []
    for _ in range(40):
        score = random.uniform(0.5, 1.0, 2_000)
        right = random.random(2_000) < score - off
        top = TopLabelPrediction(np.zeros(2_000, int), score)
        group = random.integers(0, 4, 2_000)
        table = slices(np.where(right, 0, 1), top, group.astype(str), n_resamples=99, random_state=random)
        differ += table.differs.any()
        above.append(table.above_noise.mean())
    assert differ <= 6  # 2 expected at most
    assert np.mean(above) == pytest.approx(1.0 if off else 0.0, abs=0.1)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).choice([1.0, 4.0], N)])
@pytest.mark.parametrize("clusters", [None, np.random.default_rng(2).integers(0, 60, N)])
def test_differences_and_their_intervals_are_those_of_the_two_sides(weights, clusters):
    """Each side alone gives the same gap and the same ends, by an independent path through its own rows."""
    rows = calib.Predictions(PROBA, Y, sample_weight=weights, cluster=clusters)
    table = slices(rows, groups=GROUPS, **QUICK)
    evidence, alpha = as_evidence(rows), 1.0 - table.level
    for at, name in enumerate(table.group):
        ends = []
        for mask in (name == GROUPS, name != GROUPS):
            side = evidence.take(np.flatnonzero(mask))
            says = np.average(PROBA[mask].max(axis=1), weights=None if weights is None else weights[mask])
            accuracy = side.mean("accuracy")
            n_rows, few = accuracy.value * (1.0 - accuracy.value) / accuracy.variance, 1.0
            if not evidence.clusters.independent:  # declared, or copies of rows
                sizes = np.bincount(np.unique(evidence.clusters.code[mask], return_inverse=True)[1])
                n_rows = min(n_rows, mask.sum())
                few = few_clusters_factor(even_clusters(sizes, evidence.dependence.correlation), alpha)
                n_rows *= few
            if weights is not None:  # -log(alpha / 2) rows of an average row's weight may be unseen
                alone, more = weights[mask].sum() ** 2 / (weights[mask] ** 2).sum(), -np.log(alpha / 2.0)
                rarer = min(accuracy.value, 1.0 - accuracy.value)
                left = rarer * (few / n_rows) + more / alone**2
                n_rows = min(n_rows, few * (rarer + more / alone) / left)
            low, high = binomial_limits(np.array([accuracy.value * n_rows]), np.array([n_rows]), alpha)
            ends.append((accuracy.value - says, low[0] - says, high[0] - says))
        right = (evidence.labels == PROBA.argmax(axis=1)).astype(float)
        each = np.ones(N) if weights is None else weights
        sums = np.zeros((2, evidence.clusters.n_clusters))  # residuals of the clusters on both sides
        few, squares = 1.0, [0.0, 0.0]  # scores of noise have a variance of their own
        for side, mask in enumerate((name == GROUPS, name != GROUPS)):
            for place, values in enumerate((right - PROBA.max(axis=1), right)):
                away = each * (values - np.average(values[mask], weights=each[mask])) * mask
                sums[side] = evidence.clusters.sums(away)
                squares[place] = sums[side] @ sums[side] / each[mask].sum() ** 2
            if not evidence.clusters.independent:
                code = evidence.clusters.code[mask]
                sizes = np.bincount(np.unique(code, return_inverse=True)[1])
                few = few_clusters_factor(even_clusters(sizes, evidence.dependence.correlation), alpha)
                squares = np.multiply(squares, len(sizes) / (len(sizes) - 1.0))
            further = max(squares[0] - squares[1], 0.0) * ndtri(alpha / 2.0) ** 2 / few
            gap, low, high = ends[side]
            ends[side] = (
                gap,
                gap - np.hypot(gap - low, further**0.5),
                gap + np.hypot(high - gap, further**0.5),
            )
        r = sums[0] @ sums[1] / np.sqrt((sums[0] @ sums[0]) * (sums[1] @ sums[1]))
        n_sides = [evidence.clusters.n_among(mask) for mask in (name == GROUPS, name != GROUPS)]
        if not evidence.clusters.independent:
            r /= np.sqrt(np.prod([n / (n - 1.0) for n in n_sides]))
        (own, low, high), (rest, low_rest, high_rest) = ends
        s, t = own - low, high_rest - rest
        assert table.gap[at] == pytest.approx(own)
        assert table.gap_of_rest[at] == pytest.approx(rest)
        assert table.lower[at] == pytest.approx(own - rest - np.sqrt(s * s + t * t - 2 * r * s * t))
        s, t = high - own, rest - low_rest
        assert table.upper[at] == pytest.approx(own - rest + np.sqrt(s * s + t * t - 2 * r * s * t))


def test_an_interval_excludes_0_where_the_group_differs_and_nowhere_else():
    random = np.random.default_rng(8)
    for seed in range(10):
        group = random.integers(0, 12, 4_000)
        score = random.uniform(0.5, 1.0, 4_000)
        right = random.random(4_000) < score - np.where(group < 3, 0.08, 0.0)
        table = slices(
            np.where(right, 0, 1),
            TopLabelPrediction(np.zeros(4_000, int), score),
            group.astype(str),
            n_resamples=20,
            random_state=seed,
        )
        assert (((table.lower > 0) | (table.upper < 0)) == table.differs).all()
        assert table.level == pytest.approx(1.0 - 0.05 * max(table.differs.sum(), 1) / 12)


def test_p_values_are_where_the_interval_touches_0():
    """12 of 20 against 15 of 20 at a score of 0.5: the same two Clopper-Pearson intervals, by scipy."""
    y = np.concatenate([np.repeat([1, 0], [12, 8]), np.repeat([1, 0], [15, 5])])
    table = slices(y, np.full(40, 0.5), np.repeat(["a", "b"], 20), notion="confidence", n_resamples=20)
    intervals = [
        stats.binomtest(right, 20).proportion_ci(1.0 - table.p[0], method="exact") for right in (12, 15)
    ]
    touches = 0.15 - np.hypot(0.75 - intervals[1].low, intervals[0].high - 0.6)
    assert touches == pytest.approx(0.0, abs=1e-5)


def test_one_event_in_a_small_group_of_rare_events_proves_nothing():
    """The group has 1 event and expects 0.07, the others have 3 and expect 9.3: p was 3e-6."""
    y, scores = np.zeros(300), np.repeat([0.0087, 0.032], [8, 292])
    y[[0, 8, 9, 10]] = 1
    table = slices(y, scores, np.repeat(["a", "b"], [8, 292]), n_resamples=0)
    # Chances of so many and so few events if both gaps are 0, by the binomial distribution.
    more, fewer = stats.binom.sf(0, 8, 0.0087), stats.binom.cdf(3, 292, 0.032)
    assert (table.p > more * fewer).all()


def test_a_column_with_one_group_has_nothing_to_be_compared_with():
    table = slices(Y, PROBA, np.repeat("one", N), **QUICK)
    assert np.isnan(table.difference[0])
    assert not table.differs[0]
    assert table.p[0] == 1.0


def test_a_group_that_is_predicted_less_low_is_not_called_predicted_high():
    """Both sides are right more often than they say, and less often: the words follow the group itself."""
    group, other = np.repeat([0, 1], 2_000), np.tile(np.arange(100), 40)
    for right in (70, 90), (10, 40):
        happened = other < np.where(group == 0, *right)
        table = slices(happened, np.full(4_000, 0.5), group.astype(str), n_resamples=20)
        said = {group: words.split(" than")[0] for (_, group), words in table.differences().items()}
        wanted = ["predicted too low by less", "predicted too low by more"]
        wanted = wanted if right[0] > 50 else ["predicted too high by more", "predicted too high by less"]
        assert [said["0"], said["1"]] == wanted


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
    assert table.above_noise.sum() <= 14  # from more redraws than were asked for
    assert set(table.group[table.differs].astype(int)) >= set(range(10))
    assert table.differs.sum() <= 14


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
    assert not apart.differs.any()
    both = found.column == "region, sex"
    assert sorted(found.group[both]) == ["north, f", "north, m", "south, f", "south, m"]
    assert found.differs[both].all()
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


def test_groups_are_ranked_by_p_then_by_the_size_of_the_difference():
    top = TopLabelPrediction(np.zeros(1_200, int), np.full(1_200, 0.8))
    y = np.repeat([0, 1, 0, 1, 0, 1], [240, 160, 120, 280, 320, 80])  # accuracies of 0.6, 0.3 and 0.8
    table = slices(y, top, np.repeat(["less", "most", "none"], 400), **QUICK)
    assert table.group.tolist() == ["most", "none", "less"]
    assert table.gap == pytest.approx([-0.5, 0.0, -0.2])
    assert table.gap_of_rest == pytest.approx([-0.1, -0.35, -0.25])
    assert table.differs.tolist() == [True, True, False]
    assert table.error == pytest.approx([0.5, 0.0, 0.2])
    assert table.above_noise.tolist() == [True, False, True]


def test_weights_that_predictions_came_with_are_used():
    weights = np.random.default_rng(1).choice([1.0, 4.0], N)
    given = slices(Y, PROBA, GROUPS, sample_weight=weights, **QUICK)
    own = slices(calib.Predictions(PROBA, Y, sample_weight=weights), groups=GROUPS, **QUICK)
    pd.testing.assert_frame_equal(own.frame(), given.frame())


@pytest.mark.parametrize("table", ["classes", "groups"])
def test_the_rows_needed_show_a_gap_of_five_points(table):
    def assessed(n):
        random = np.random.default_rng(7)
        label, group = random.integers(0, 4, n), random.integers(0, 4, n)
        y = np.where(random.random(n) < 0.7, label, (label + 1) % 4)
        rows = TopLabelPrediction(label, np.full(n, 0.7), y, tuple("abcd"))
        if table == "groups":
            return slices(rows, groups=group, **QUICK)
        return class_table(rows, n_resamples=20)

    few, column = assessed(400), "count" if table == "groups" else "predicted"
    count = getattr(few, column)
    factor = float(np.mean((count + few.rows_needed) / count))
    many = assessed(int(400 * factor))
    assert 4 < factor < 30
    # Five points show with these rows: few or none more are needed, and half of them are too few.
    assert (many.rows_needed < 0.15 * getattr(many, column)).all()
    half = assessed(int(200 * factor))
    assert (half.rows_needed > 0.6 * getattr(half, column)).all()


def columns_of(off=0.0, weights=None):
    """Evidence of 3,000 rows with further columns; scores of the site S3 are too high by `off`."""
    random = np.random.default_rng(5)
    score, site = random.uniform(0.5, 1.0, 3_000), random.integers(0, 4, 3_000)
    right = random.random(3_000) < score - off * (site == 3)
    columns = pd.DataFrame(
        {
            "site": [f"S{code}" for code in site],
            "random": random.integers(0, 8, 3_000),
            "wrong": np.where(right, "no", "yes"),
            "row": np.arange(3_000),
            "one": "same",
        }
    )
    return Rows(ConfidencePrediction(score, right, metadata=columns, sample_weight=weights))


@pytest.mark.parametrize("weights", [None, np.arange(3_000) % 5])
def test_further_columns_are_compared_unasked(weights):
    """Ids, a column of one value and a column that follows from the outcome have no groups to compare."""
    found = further_groups(columns_of(0.2, weights))
    assert set(found.column) == {"site", "random"}
    assert (found.column[0], found.group[0], found.differs[0]) == ("site", "S3", True)
    assert not found.differs[found.column == "random"].any()
    assert np.isnan(found.error).all()
    assert not found.above_noise.any()
    assert not further_groups(columns_of(0.0, weights)).differs.any()


def test_a_property_of_patients_is_not_accused_because_patients_differ():
    random, patient = np.random.default_rng(1), np.arange(4_000) % 80
    latent = np.sqrt(0.4) * random.standard_normal(80)[patient] + np.sqrt(0.6) * random.standard_normal(4_000)
    score = random.uniform(0.3, 1.0, 4_000)
    arm = np.arange(80) % 12
    columns = pd.DataFrame(
        {"code": [f"C{each}" for each in patient], "arm": [f"A{arm[each]}" for each in patient]}
    )
    rows = ConfidencePrediction(score, ndtr(latent) < score, metadata=columns)
    assert Rows(rows).suspected is not None
    assert slices(rows, groups="arm", n_resamples=0, notion="confidence").differs.any()
    assert not further_groups(Rows(rows)).differs.any()
    cut = cut_column(columns["arm"], name="arm")
    assert not slices_if_clustered(Rows(rows), [cut]).differs.any()
    assert suspected_within(Rows(rows), cut).column == "code"
    known = further_groups(Rows(rows.with_cluster(patient)))  # a column of known clusters is no group
    assert set(known.column) == {"arm"}
    assert not known.differs.any()


def test_predictions_without_further_columns_have_no_groups():
    assert further_groups(Rows(ConfidencePrediction(np.full(50, 0.8), np.arange(50) % 5 > 0))) is None
