"""Rows that belong together: the correlation, design effects, and rates that stay at their nominal levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.simulation import means
from benchmarks.sizes import HEAVY, QUESTIONS, perfect, rates
from calib import (
    ConfidencePrediction,
    InputError,
    Predictions,
    TopLabelPrediction,
    brier_score,
    calibration_test,
    conclude,
    decide,
    effective_sample,
    error_interval,
    metrics,
    noise_floor,
    paired_difference,
    slices,
)
from calib.answers.gate import gate as check_limits
from calib.answers.metric_tables import metric_intervals
from calib.evidence.clusters import Dependence, even_clusters_of, latent_correlation, outcome_correlation
from calib.evidence.rows import as_evidence
from calib.stats import calibration_slope, calibration_tests
from calib.stats.binless import calibration_frame
from calib.testing import assert_calibrated


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_correlation_of_many_clusters_is_found(correlation, power):
    """2,000 clusters of 5: the standard error of r is about 0.01, also if the model is too sure of itself."""
    proba, labels, cluster = perfect(np.random.default_rng(0), "", 2_000, 5, correlation)
    sharpened = proba**power / (proba**power).sum(axis=1, keepdims=True)
    rows = as_evidence(labels, Predictions(sharpened), cluster=cluster)
    assert rows.dependence.correlation == pytest.approx(correlation, abs=0.05)


def test_design_effect_is_the_variance_of_redrawn_sums():
    """Sums of outcomes under r over sums of independent ones: from 20,000 redraws, and by the formula."""
    random = np.random.default_rng(1)
    score, cluster = random.uniform(0.2, 0.9, 300), np.repeat(np.arange(30), 10)
    dependence = Dependence(cluster, 0.4)
    drawn = [(dependence.uniform(random) < score).sum() for _ in range(20_000)]
    own = (score * (1 - score)).sum()
    effect = dependence.design_effects(score, np.arange(300), np.zeros(300, int))[0][0, 0]
    assert effect == pytest.approx(np.var(drawn) / own, rel=0.06)  # the expansion ends after two terms


def test_range_effects_are_those_of_the_rows_inside():
    random = np.random.default_rng(2)
    score, row = random.random(400), np.arange(400)
    dependence, group, bin_ = Dependence(random.integers(0, 40, 400), 0.5), row % 3, (score * 5).astype(int)
    from_on, below = dependence.design_effects(score, row, group, bin_, 5)
    for item in range(3):
        for edge in range(5):
            for found, inside in ((from_on, bin_ >= edge), (below, bin_ <= edge)):
                chosen = inside & (group == item)
                alone = dependence.design_effects(score[chosen], row[chosen], np.zeros(chosen.sum(), int))
                assert found[item, edge] == pytest.approx(alone[0][0, 0])


def test_pairs_are_counted_by_hand():
    """Two clusters of two rows at 0.5, one right twice and one wrong twice: e e' is 0.25 in both.

    f = phi(0) and z = 0, so r = 0.25 / phi(0)^2 = 0.25 * 2 pi = 1.57, which is above the largest.
    With three right of four, e is 1/4 or -3/4: the sum of e e' is 1/16 - 3/16, and 2 pairs have -3/16 / 3
    each by chance, so that r is 0.
    """
    half, cluster = np.full(4, 0.5), np.array([0, 0, 1, 1])
    assert latent_correlation(half, np.array([1, 1, 0, 0]), cluster) == 0.999
    assert latent_correlation(half, np.array([1, 1, 0, 1]), cluster) == 0.0


def test_even_clusters_by_hand():
    """A cluster of three rows with 2, 1 and 0, and three single rows with -1 each: squares sum to 8.

    The squared sums of clusters are 9, 1, 1 and 1: products of different rows sum to 4. At the correlation 1
    the 6 ordered pairs would give 6 * 8/6 = 8, so that it is 1/2. The variances of the sums are then in the
    ratios 3 (1 + 2/2) = 6 to 1, 1 and 1, which are worth 9^2 / (6^2 + 3) = 81/39 equal clusters.
    """
    away, cluster = np.array([2.0, 1.0, 0.0, -1.0, -1.0, -1.0]), np.array([0, 0, 0, 1, 2, 3])
    assert even_clusters_of(np.bincount(cluster, away), away, cluster) == pytest.approx(81 / 39)
    alone = np.arange(6)
    assert even_clusters_of(away, away, alone) == pytest.approx(6.0)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
def test_many_clusters_tell_their_correlation(correlation):
    """40,000 clusters of five rows: the design effect 1 + 4 r is drawn with a relative error of 0.7 %."""
    dependence = Dependence(np.repeat(np.arange(40_000), 5), correlation)
    random = np.random.default_rng(0)
    drawn = [dependence.drawn_correlation(random) for _ in range(20)]
    assert np.mean(drawn) == pytest.approx(correlation, abs=0.01)
    assert dependence.highest_correlation(0.9) == pytest.approx(correlation, abs=0.02)


@pytest.mark.parametrize("r", [0.0, 0.3, 0.9])
def test_correlation_of_two_outcomes(r):
    """At the chance 1/2, both happen with the chance 1/4 + asin(r) / 2 pi; else by the bivariate normal."""
    assert outcome_correlation(0.5, r) == pytest.approx(2.0 * np.arcsin(r) / np.pi)
    both = stats.multivariate_normal.cdf(stats.norm.ppf([0.1, 0.1]), cov=[[1.0, r], [r, 1.0]])
    assert outcome_correlation(0.1, r) == pytest.approx((both - 0.01) / 0.09, abs=1e-6)


def test_rows_keep_their_chances():
    proba, labels, cluster = perfect(np.random.default_rng(3), "", 20, 10, 0.6)
    rows = as_evidence(labels, Predictions(proba), cluster=cluster)
    for notion in ("confidence", "top-label", "class-wise"):
        cells = rows.cells(notion, n_bins=5, variance=True)
        sums = rows.draw(cells)[0](np.random.default_rng(0), 4_000)
        error = sums.std(axis=1) / np.sqrt(4_000)
        assert np.all(np.abs(sums.mean(axis=1) - cells.count * cells.mean_score) <= 5 * error + 1e-9), notion
        assert sums.var(axis=1).sum() > 1.2 * cells.variance.sum()


def test_squares_compare_pairs_of_different_clusters():
    """The debiased square by a loop over pairs; rows of one cluster are not compared."""
    random = np.random.default_rng(6)
    score, outcome, cluster = random.random(40), random.random(40) < 0.5, np.arange(40) % 7
    squared, bin_ = 0.0, (score * 3).astype(int)
    for item in range(3):
        inside = np.flatnonzero(bin_ == item)
        pairs = [(i, j) for i in inside for j in inside if cluster[i] != cluster[j]]
        products = [(outcome[i] - score[i]) * (outcome[j] - score[j]) for i, j in pairs]
        squared += len(inside) / 40 * np.mean(products)
    other = paired_difference(outcome, score, score**2, notion="confidence", n_bins=3, cluster=cluster)
    assert other.squared_a == pytest.approx(squared)
    assert other.lower < other.difference < other.upper
    interval = error_interval(outcome, score, notion="confidence", n_bins=3, norm=2, cluster=cluster)
    assert interval.estimate == pytest.approx(np.sqrt(max(squared, 0.0)))
    assert interval.upper > error_interval(outcome, score, notion="confidence", n_bins=3, norm=2).upper


def test_clusters_of_one_row_are_independent_rows():
    proba, labels, _ = perfect(np.random.default_rng(4), "", 300, 1, 0.0)
    alone = as_evidence(labels, Predictions(proba), cluster=np.arange(300))
    assert (alone.dependence, alone.n_clusters) == (None, None)
    assert effective_sample(labels, proba, cluster=np.arange(300)).effective == pytest.approx(300)
    fewer = slice(0, 297)
    words = effective_sample(labels[fewer], proba[fewer], cluster=np.arange(297)).words
    assert words.count("297") == 3  # 300 if rounded to two digits


def test_numbers_do_not_depend_on_how_clusters_are_called():
    rng = np.random.default_rng(6)
    proba, labels, cluster = perfect(rng, "", 20, 30, 0.3)
    order = rng.permutation(len(labels))
    proba, labels, cluster = proba[order], labels[order], cluster[order]
    names = np.array([f"patient {code * 7 % 20}" for code in range(20)])
    found, told = [], set()
    for ids in (cluster, -5 * cluster, names[cluster], rng.permutation(names)[cluster]):
        floor = noise_floor(labels, proba, cluster=ids, n_resamples=50, random_state=0)
        found.append(floor.samples.tolist())
        told.add(conclude(labels, proba, cluster=ids).words())
    assert found == found[:1] * 4
    assert len(told) == 1


def test_few_clusters_do_not_tell():
    proba, labels, cluster = perfect(np.random.default_rng(5), "", 6, 50, 0.3)
    floor = noise_floor(labels, proba, cluster=cluster, n_resamples=50, random_state=0)
    assert floor.verdict.startswith("too few clusters to tell (6;")
    assert calibration_slope(labels, proba, cluster=cluster).untold == floor.untold
    assert np.isnan(calibration_frame(calibration_tests(labels, proba, cluster=cluster))["p"]).all()
    assert conclude(labels, proba, cluster=cluster).combined.untold == floor.untold
    assert "too few clusters" in effective_sample(labels, proba, cluster=cluster).words
    with pytest.raises(InputError, match="needs clusters"):
        effective_sample(labels, proba)


def test_a_suspected_column_is_asked_about_and_not_used():
    """Every claim about a perfect model is wrong; the limit is broken if rows are independent."""
    proba, labels, cluster = perfect(np.random.default_rng(8), "", 20, 100, 0.3)
    ids = pd.DataFrame({"donor": cluster})
    found, named = Predictions(proba, labels, metadata=ids), Predictions(proba, labels, cluster=cluster)
    alone = Predictions(proba, labels)
    said = conclude(found)
    assert said.pooled == conclude(alone).pooled != ()
    then = said.suspected
    assert (then.column, then.n_blank, then.worth.n_clusters) == ("donor", 0, 20)
    assert len(then.conclusion.frame()) == len(conclude(named).frame()) == 0
    assert conclude(named).suspected is conclude(found.independent()).suspected is None
    for told in (
        lambda rows: metric_intervals(as_evidence(rows), metrics(rows)),
        lambda rows: noise_floor(rows, n_resamples=50).samples.tolist(),
        lambda rows: calibration_test(rows, test="ks").p_value,
        lambda rows: slices(rows, groups=cluster % 2, n_resamples=50).p.tolist(),
        lambda rows: rows.split(0.5)[0].labels.tolist(),
    ):
        assert told(found) == told(found.independent()) == told(alone) != told(named)


def test_promises_are_the_more_careful_ones_for_suspected_clusters():
    proba, labels, cluster = perfect(np.random.default_rng(8), "", 20, 100, 0.3)
    ids = pd.DataFrame({"donor": cluster})
    found, named = Predictions(proba, labels, metadata=ids), Predictions(proba, labels, cluster=cluster)
    most = {"brier": brier_score(labels, proba) - 0.03}
    asked = [check_limits(rows, most=most) for rows in (found, named, found.independent())]
    assert [gate.answer for gate in asked] == ["undecided", "undecided", "broken"]
    assert [bool(gate.dependence) for gate in asked] == [True, False, False]
    rules = [decide(rows, accuracy=0.8) for rows in (found, named, found.independent())]
    assert rules[0].coverage == min(rule.coverage for rule in rules) < rules[2].coverage
    assert [rule.dependence is None for rule in rules] == [False, True, True]
    assert_calibrated(found)
    with pytest.raises(AssertionError):
        assert_calibrated(found.independent())


def test_groups_are_no_clusters_of_statements_about_them():
    """Countries as clusters, given or by a coarser column, do not change what is said about countries."""
    random = np.random.default_rng(3)
    country = np.repeat(np.arange(15), 200)
    confidence = random.uniform(0.6, 0.95, 3000)
    right = random.random(3000) < confidence - 0.125 * (country < 3)
    rows = ConfidencePrediction(confidence, right)
    plain = slices(rows, groups=country, notion="confidence", n_resamples=199)
    assert plain.above_noise.sum() == 3
    for cluster in (country, country // 2):
        table = slices(rows.with_cluster(cluster), groups=country, notion="confidence", n_resamples=199)
        assert table.p.tolist() == plain.p.tolist()
        given = rows.with_cluster(cluster)
        told, alone = (
            check_limits(each, most={"conf_ece": 0.2}, groups={"c": country}, n_resamples=0)
            for each in (given, rows.independent())
        )
        assert told.checks == alone.checks
    finer = slices(
        rows.with_cluster(np.arange(3000) // 10), groups=country, notion="confidence", n_resamples=199
    )
    assert finer.p.tolist() != plain.p.tolist()


@pytest.mark.thorough
@pytest.mark.parametrize("setting", [("", 20, 100, 0.3), (QUESTIONS, 200, 10, 0.8), (HEAVY, 30, 60, 0.3)])
def test_rates_of_perfect_models_stay_at_their_levels(setting):
    """60 files: a rate of 5 % has a standard error of 2.8 %; independent rows give 30 to 100 %."""
    found = means(rates(*setting, n=99), 60)
    for name, rate in found.items():
        assert rate <= 0.05 + 3 * 0.028, (name, rate)


def test_pairs_of_rows_that_belong_together_are_not_compared():
    proba, labels, cluster = perfect(np.random.default_rng(6), "", 30, 10, 0.3)
    rows = Predictions(proba, labels, cluster=cluster)
    assert [item.test for item in calibration_tests(labels, rows)] == ["kuiper", "ks", "spiegelhalter"]
    with pytest.raises(InputError, match="independent rows"):
        calibration_test(labels, rows, test="skce")


def test_slices_of_sites_find_nothing_in_perfect_models():
    """20 sites of 5 patients x 20 rows, FDR 5 %: some false slice in at most 10 % of 40 files."""
    false = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        proba, labels, cluster = perfect(random, "", 100, 20, 0.3)
        rows = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1), cluster=cluster)
        table = slices(labels, rows, cluster // 5, notion="confidence", n_resamples=199, random_state=seed)
        false.append(table.above_noise.any())
    assert stats.binomtest(int(sum(false)), 40, 0.1, alternative="greater").pvalue > 0.01
