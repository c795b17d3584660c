"""The area under the ROC curve: scikit-learn's number, DeLong's variance by its definition, and its ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calib import ConfidencePrediction, InputError, TopLabelPrediction, auc, metrics
from calib.answers.gate import gate
from calib.evidence.rows import as_evidence
from tests.oracles import random_predictions

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.booleans(), st.sampled_from(["float32", "float64"]))
def test_numbers_are_those_of_scikit_learn(seed, weighted, dtype):
    random = np.random.default_rng(seed)
    proba, y = random_predictions(random, 120, 4)
    proba, y[:4] = proba.round(int(random.integers(1, 9))).astype(dtype), np.arange(4)
    weights = random.random(120) if weighted else None
    exact = {"rel": 0, "abs": 1e-12}
    options = {"sample_weight": weights}
    right = y == proba.argmax(axis=1)
    if right.any() and not right.all():
        expected = roc_auc_score(right, proba.max(axis=1), **options)
        top = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
        assert auc(y, proba, notion="confidence", **options) == pytest.approx(expected, **exact)
        assert auc(y, top, **options) == pytest.approx(expected, **exact)
    each = [roc_auc_score(y == code, proba[:, code], **options) for code in range(4)]
    assert auc(y, proba, **options) == pytest.approx(np.mean(each), **exact)
    assert auc(y == 1, proba[:, 1], **options) == pytest.approx(each[1], **exact)


def components(happened, score, weights):
    """What each row adds to the area, from all pairs: its mean order against the other outcome."""
    order = np.sign(score[:, None] - score[None, :]) / 2 + 0.5
    total = {side: weights[happened == side].sum() for side in (True, False)}
    beaten = (order * weights)[:, ~happened].sum(axis=1) / total[False]
    beating = (order.T * weights)[:, happened].sum(axis=1) / total[True]
    area = beaten[happened] @ weights[happened] / total[True]
    added = np.empty(len(score))
    for side, component in ((True, beaten), (False, beating)):
        rows = happened == side
        few = np.sqrt(rows.sum() / (rows.sum() - 1))
        added[rows] = few * weights[rows] * (component[rows] - area) / total[side]
    return area, added


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_variance_is_delongs_by_all_pairs(weighted, clustered):
    """DeLong et al. (1988): S10 / m + S01 / n; for clusters (G / (G - 1))^2 times squares of their sums."""
    random = np.random.default_rng(3)
    proba, y = random_predictions(random, 60, 3)
    y[:6] = np.arange(6) % 3
    proba = proba.round(1) if clustered else proba  # equal rows would be a cluster
    weights = random.random(60) + 0.5 if weighted else np.ones(60)
    cluster = random.integers(0, 15, 60) if clustered else None
    rows = as_evidence(y, proba, weights if weighted else None, cluster=cluster)
    for notion, claims in (
        ("confidence", [(y == proba.argmax(axis=1), proba.max(axis=1))]),
        ("class-wise", [(y == code, proba[:, code]) for code in range(3)]),
    ):
        found = [components(*claim, weights / weights.mean()) for claim in claims]
        added = np.mean([item for _, item in found], axis=0)
        variance = added @ added
        if clustered:
            sums = np.array([added[cluster == code].sum() for code in np.unique(cluster)])
            variance = sums @ sums * (len(sums) / (len(sums) - 1)) ** 2
        area = rows.area(notion)
        assert area.value == pytest.approx(np.mean([item for item, _ in found]), abs=1e-12)
        assert area.variance == pytest.approx(variance, rel=1e-10)
    happened, score = y == 1, proba[:, 1]
    if not weighted and not clustered:  # the two sample variances of the paper
        order = np.sign(score[happened][:, None] - score[~happened]) / 2 + 0.5
        m, n = order.shape
        paper = order.mean(axis=1).var(ddof=1) / m + order.mean(axis=0).var(ddof=1) / n
        assert as_evidence(happened, score).area("class-wise").variance == pytest.approx(paper)


def test_ends_allow_for_rows_that_were_not_seen():
    """Perfect order of 10 and 40 rows: of 3.7 = -log(0.025) expected rows, none is seen in 2.5 % of cases."""
    y, score = np.repeat([1, 0], [10, 40]), np.repeat([0.9, 0.1], [10, 40])
    found = auc(y, score, interval=True)
    assert (found.estimate, found.upper) == (1.0, 1.0)
    assert found.lower == pytest.approx(1.0 + np.log(0.025) / 10)
    alike = auc(y, score, interval=True, cluster=np.repeat(np.arange(25), 2))
    assert alike.lower == pytest.approx(1.0 + np.log(0.025) / 5)


def test_an_unseen_row_is_as_large_as_the_dependence_of_rows_shows():
    """Twice 40 rows in order, but for two of each outcome: clusters of two equal rows double the variance."""
    y, score = np.repeat([1, 0], 40), np.repeat([0.9, 0.1], 40)
    score[[0, 1, 40, 41]] = 0.05, 0.05, 0.95, 0.95
    by_copies, across = np.arange(80) // 2, np.append(np.arange(40), (np.arange(40) + 20) % 40)
    for cluster, fewest in ((None, 40.0), (by_copies, 20.0), (across, 40.0)):
        assert as_evidence(y, score, cluster=cluster).area("class-wise").fewest == pytest.approx(fewest)


def test_an_area_needs_both_outcomes():
    all_right = ConfidencePrediction(np.array([0.9, 0.8]))
    with pytest.raises(InputError, match="both outcomes"):
        auc([1, 1], all_right)
    assert metrics([1, 1], all_right).top_auc is None
    (check,) = gate([1, 1], all_right, least={"top_auc": 0.5}).checks
    assert (check.answer, check.lower, check.upper) == ("undecided", 0.0, 1.0)
    proba = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.6, 0.3, 0.1]])
    assert auc([0, 1, 0], proba) == 1.0  # class 2 is never true
