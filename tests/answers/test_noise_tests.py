"""A method against noise: its floors, and tests that need no bins."""

from __future__ import annotations

import numpy as np
import pytest

from calib import noise_floor
from calib.answers.conclusion import OF_ONE_CLAIM, BinlessTests, noise_tests, with_whole_vectors
from calib.answers.metric_tables import fold_errors, fold_texts
from calib.evidence.rows import Rows
from calib.stats.binless import calibration_slope, calibration_test
from tests.populations import dirichlet

DRAWS = {"n_resamples": 20, "random_state": 3}


@pytest.mark.parametrize("clustered", [False, True])
def test_floors_and_tests_are_the_librarys(clustered):
    rows = dirichlet(300, sharpen=2.0)
    rows = rows.with_cluster(np.arange(300) // 3) if clustered else rows
    found = noise_tests(Rows(rows), n_bins=10, **DRAWS)
    for notion in ("confidence", "top-label"):
        floor = noise_floor(rows, notion=notion, n_bins=10, **DRAWS)
        assert found.floors[notion].p_value == floor.p_value
        numbers = found.numbers()[notion]
        assert (numbers.perfect_mean, numbers.n_resamples) == (floor.mean, 20)
        assert numbers.perfect_q95 == floor.quantile(0.95)
    redraws = 20 if clustered else None  # the same outcomes are redrawn for floors and tests of clusters
    options = {"n_resamples": redraws, "random_state": 3}
    tests = [calibration_test(rows, test=test, **options) for test in OF_ONE_CLAIM]
    assert list(found.without_bins) == tests
    slope = calibration_slope(rows)
    assert found.without_bins.slope == slope
    assert found.p_values == [each.p_value for each in (*found.floors.values(), *tests, slope)]
    assert found.sentences == (*found.verdicts, *(test.words for test in tests), slope.words)
    assert len(found.verdicts) == len(found.floors) == 2


def test_the_test_of_whole_vectors_is_told_but_decides_nothing():
    evidence = Rows(dirichlet(300, sharpen=2.0))
    found = noise_tests(evidence, **DRAWS)
    added = with_whole_vectors(found, evidence, 3)
    assert found.without_bins.skce is None
    assert added.without_bins.skce.test == calibration_test(evidence, test="skce", random_state=3)
    assert added.p_values == found.p_values
    assert len(added.sentences) == len(found.sentences) + 1


def test_only_tests_of_whole_vectors_are_lost_to_weights():
    rows, weights = dirichlet(60), np.linspace(1.0, 2.0, 60)
    for given, n_lost in ((rows, 1), (rows.top, 0)):
        evidence = Rows(given.with_weights(weights))
        found = noise_tests(evidence, **DRAWS)
        lost = with_whole_vectors(found, evidence, 3).missing[len(found.missing) :]
        assert len(lost) == n_lost
        assert all(each.startswith("The kernel test of whole vectors cannot use weights") for each in lost)


def test_without_redraws_there_is_nothing_to_compare_with():
    rows = dirichlet(60)
    found = noise_tests(Rows(rows), n_resamples=0)
    assert (found.floors, found.verdicts, found.sentences, found.p_values) == ({}, (), (), [])
    assert found.without_bins == BinlessTests()


def test_fold_texts_have_a_column_per_fold_and_floors_of_errors():
    rows = dirichlet(60)
    table = fold_errors(rows, fold=np.arange(60) % 2, n_resamples=10)
    texts = fold_texts(table)
    assert list(texts.columns) == ["0 (n=30)", "1 (n=30)", "pooled (n=60)"]
    assert list(texts.index) == list(dict.fromkeys(table["title"]))
    error = table[(table["fold"] == "1") & (table["measure"] == "tl_ece")].iloc[0]
    assert texts.loc["TL-ECE", "1 (n=30)"] == f"{error['value']:.4f} ({error['floor']:.4f})"
    accuracy = table[(table["fold"] == "pooled") & (table["measure"] == "accuracy")].iloc[0]
    assert texts.loc["Accuracy", "pooled (n=60)"] == f"{accuracy['value']:.4f}"
