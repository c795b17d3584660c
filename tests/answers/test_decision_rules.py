"""Rules that accept or send to a person: against literal loops, and their promises in simulation."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from benchmarks.promises import CLUSTERED, RULES, clustered, rules
from benchmarks.simulation import means
from calib import (
    BinaryPrediction,
    ConfidencePrediction,
    InputError,
    PlattScaling,
    Predictions,
    TopLabelPrediction,
    decide,
    decision_curve,
    risk_coverage,
)
from calib.answers import choose_actions
from calib.answers.promises import STARTS, grid, passed, starts_of
from calib.files.saved import dumps, loads


def rows(n: int, seed: int = 0, n_classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(n_classes, 0.15), n)
    labels = (proba.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    return proba, labels


def literal_passed(accepted, wrong, risk, starts, level):
    def tail(k, n):
        return sum(comb(n, i) * risk**i * (1 - risk) ** (n - i) for i in range(k + 1)) if n else 1.0

    best = -1
    for start in starts:
        for j in range(start, len(accepted)):
            if tail(int(wrong[j]), int(accepted[j])) > level:
                break
            best = max(best, j)
    return best


@pytest.mark.parametrize("by", [None, "class"])
@pytest.mark.parametrize("accuracy", [0.8, 0.9, 0.95])
def test_thresholds_equal_a_literal_loop(accuracy, by):
    proba, labels = rows(700)
    predicted, confidence = proba.argmax(axis=1), proba.max(axis=1)
    rule = decide(labels, proba, accuracy=accuracy, by=by, promise="each", alpha=0.2)
    level = 0.2 / STARTS / (4 if by else 1)
    for code in range(4 if by else 1):
        chosen = predicted == code if by else np.ones(700, dtype=bool)
        accepted = [int((confidence[chosen] >= t).sum()) for t in grid()]
        wrong = [int((confidence[chosen & (predicted != labels)] >= t).sum()) for t in grid()]
        # From twice the rows that pass with none wrong, accuracy^n <= level, to all, in equal ratios.
        least = min(2 * np.log(level) / np.log(accuracy), accepted[-1])
        counts = [accepted[-1] * (least / accepted[-1]) ** (part / 3) for part in (3, 2, 1, 0)]
        starts = [next(at for at, n in enumerate(accepted) if n >= int(count)) for count in counts]
        assert starts == starts_of(np.array(accepted), 1 - accuracy, level)
        last = literal_passed(accepted, wrong, 1 - accuracy, starts, level)
        lowest = confidence[chosen].min()
        assert rule.thresholds[code] == (max(grid()[last], lowest) if last >= 0 else np.inf)
    taken = confidence >= (rule.thresholds[predicted] if by else rule.thresholds[0])
    np.testing.assert_array_equal(rule.accept(proba), taken)
    assert rule.effect.n_accepted == taken.sum()
    assert rule.effect.n_wrong == (taken & (predicted != labels)).sum()
    assert rule.coverage == taken.mean()
    if taken.any():
        exact = binomtest(int((taken & (predicted == labels)).sum()), int(taken.sum())).proportion_ci(
            0.95, "exact"
        )
        assert (rule.effect.lower, rule.effect.upper) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("setting", RULES, ids=lambda setting: f"{setting[0]}, {setting[3]}")
def test_accuracy_is_kept_as_often_as_promised(setting):
    """At most alpha = 10 % of draws miss; 60 draws, so 6 + 3 standard errors of 2.3."""
    assert means(rules(*setting), 60)["missed (up to 10 %)"] <= 13 / 60


def test_sequences_stop_at_the_first_failure():
    accepted, wrong = np.array([100, 200, 300, 400]), np.array([0, 100, 1, 1])
    assert passed(accepted, wrong, 0.1, (0,), 0.05) == 0
    assert passed(accepted, wrong, 0.1, (0, 2), 0.05) == 3
    assert passed(np.zeros(4, int), np.zeros(4, int), 0.1, (0,), 0.05) == -1


def test_a_target_out_of_reach_says_how_many_rows_would_do():
    proba, labels = rows(60)
    rule = decide(labels, proba, accuracy=0.99)
    assert np.isinf(rule.thresholds).all()
    assert rule.guarantee is None
    assert rule.coverage == 0.0
    assert np.isnan(rule.effect.accuracy)
    assert not rule.accept(proba).any()
    more = rows(4 * rule.needed, seed=1)
    assert decide(more[1], more[0], accuracy=0.99).coverage > 0.0
    wrong = decide(np.zeros(100, int), ConfidencePrediction(np.full(100, 0.999)), accuracy=0.9)
    assert wrong.needed is None
    assert "below 0.9" in wrong.sentence


def test_underconfident_models_pass_what_their_rows_support():
    humble = decide(np.ones(1_000, int), np.tile([0.2, 0.8], (1_000, 1)), accuracy=0.99)  # always right
    assert humble.coverage == 1.0
    random = np.random.default_rng(0)
    confidence = 0.34 + 0.5 * random.beta(3.0, 1.0, 1_500)  # at most 0.84
    right = random.random(1_500) < np.minimum(confidence + 0.15, 1.0)
    assert decide(right, ConfidencePrediction(confidence), accuracy=0.9).coverage > 0.3


def test_one_promise_for_all_classes_lets_more_pass_than_one_for_each():
    proba, labels = rows(3_000, n_classes=6)
    predicted = proba.argmax(axis=1)
    overall = decide(labels, proba, accuracy=0.9, by="class")
    each = decide(labels, proba, accuracy=0.9, by="class", promise="each")
    assert overall.coverage > each.coverage
    assert "all classes together" in overall.guarantee
    odd = np.where(labels == predicted, predicted, (predicted + 1) % 6)
    odd[predicted == 0] = 1  # class 0 is never right: nothing of it may pass
    rule = decide(odd, proba, accuracy=0.9, by="class")
    assert not rule.accept(proba)[predicted == 0].any()
    assert rule.coverage > 0.0


def test_recall_is_kept_beside_the_accuracy():
    random = np.random.default_rng(4)
    confidence = random.uniform(0.5, 1.0, 2_000)
    right = random.random(2_000) < confidence
    alone = decide(right, ConfidencePrediction(confidence), accuracy=0.85)
    kept = right[alone.accept(confidence)].sum() / right.sum()
    rule = decide(right, ConfidencePrediction(confidence), accuracy=0.85, recall=kept - 0.1)
    assert rule.coverage > 0
    assert f"at least {kept - 0.1:.4g} of the right predictions" in rule.guarantee
    assert decide(right, ConfidencePrediction(confidence), accuracy=0.85, recall=kept).coverage == 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cheapest_action_is_that_of_a_literal_loop(weighted):
    random = np.random.default_rng(5)
    proba = random.dirichlet(np.ones(3), 400)
    labels = np.array([random.choice(3, p=p) for p in proba])
    costs = random.uniform(0.0, 4.0, (3, 4))
    weights = random.integers(1, 4, 400) if weighted else None
    found = choose_actions(labels, proba, costs, sample_weight=weights)
    action = [
        min(range(4), key=lambda a: sum(p * costs[label, a] for label, p in enumerate(of))) for of in proba
    ]
    paid = [costs[label, a] for label, a in zip(labels, action, strict=True)]
    alone = [np.average(costs[labels, a], weights=weights) for a in range(4)]
    assert found.action.tolist() == action
    assert found.cost == pytest.approx(np.average(paid, weights=weights))
    assert found.saved == pytest.approx(min(alone) - found.cost)
    assert found.lower < found.cost < found.upper
    assert found.count.sum() == 400
    with pytest.raises(InputError, match="one row for each of 3 classes"):
        choose_actions(labels, proba, costs[:2])


def test_reviews_leave_as_many_rows_as_asked():
    proba, labels = rows(500)
    assert decide(labels, proba, reviews=50).effect.n_reviews == 50
    assert decide(labels, proba, reviews=0.1).effect.n_reviews == 50
    tied = np.repeat([0.5, 0.6, 0.9], [40, 40, 20])
    assert decide(np.ones(100), ConfidencePrediction(tied), reviews=60).effect.n_reviews == 40
    random = np.random.default_rng(0)
    kept = 0
    for _ in range(300):
        rule = decide(np.ones(80), ConfidencePrediction(random.random(80)), reviews=20, alpha=0.1)
        kept += rule.thresholds[0] <= float(rule.guarantee.split("at most ")[1].split()[0]) + 5e-5
    assert 0.85 <= kept / 300 <= 0.95  # the share below a threshold on uniform scores is the threshold


@pytest.mark.parametrize("by", [None, "class"])
def test_cost_is_the_smallest_of_all_thresholds(by):
    proba, labels = rows(300)
    rule = decide(labels, proba, cost=20, by=by)
    predicted, confidence = proba.argmax(axis=1), proba.max(axis=1)
    total = 0.0
    for code in range(4 if by else 1):
        chosen = predicted == code if by else np.ones(300, dtype=bool)
        total += min(
            20 * ((confidence >= t) & (predicted != labels) & chosen).sum()
            + ((confidence < t) & chosen).sum()
            for t in [0.0, *confidence, np.inf]
        )
    assert rule.effect.cost == pytest.approx(total / 300)
    assert rule.guarantee is None


def test_rule_applies_to_other_rows():
    proba, labels = rows(2_000)
    rule = decide(labels, proba, accuracy=0.9, by="class")
    fresh, truth = rows(1_000, seed=3)
    outcome = rule.evaluate(truth, fresh)
    taken = rule.accept(fresh)
    right = fresh.argmax(axis=1) == truth
    assert outcome.accuracy == pytest.approx(right[taken].mean())
    assert outcome.lower < outcome.accuracy < outcome.upper
    top = TopLabelPrediction(fresh.argmax(axis=1), fresh.max(axis=1))
    np.testing.assert_array_equal(rule.accept(top), taken)
    np.testing.assert_array_equal(rule.accept(Predictions(fresh, truth)), taken)
    assert rule.frame()["threshold"].tolist() == rule.thresholds.tolist()


@pytest.mark.parametrize("by", [None, "class"])
def test_binary_predictions_are_confident_at_both_ends(by):
    random = np.random.default_rng(0)
    p = random.random(3_000)
    y = (random.random(3_000) < p).astype(int)
    binary, columns = BinaryPrediction(p, y, ("no", "yes")), np.stack([1 - p, p], axis=1)
    rule, wanted = (decide(y, scores, accuracy=0.85, by=by) for scores in (binary, columns))
    assert rule.coverage > 0.1
    assert rule.accept(binary)[p.argmin()]
    np.testing.assert_array_equal(rule.thresholds, wanted.thresholds)
    np.testing.assert_array_equal(rule.accept(binary), wanted.accept(columns))
    assert vars(rule.evaluate(y, binary)) == vars(rule.evaluate(y, columns))
    assert risk_coverage(y, binary).aurc == pytest.approx(risk_coverage(y, columns).aurc)


def test_what_is_no_target_is_refused():
    proba, labels = rows(50)
    for wrong, words in (
        ({}, "one target"),
        ({"accuracy": 0.9, "cost": 3}, "one target"),
        ({"accuracy": 99}, r"share in \(0, 1\)"),
        ({"reviews": 50}, "below 50"),
        ({"reviews": -1}, "reviews must be"),
        ({"reviews": 5, "by": "class"}, "leave out by"),
        ({"cost": 1}, "above 1"),
        ({"cost": 3, "recall": 0.5}, "beside accuracy"),
        ({"accuracy": 0.9, "by": "group"}, "names no column"),
        ({"accuracy": 0.9, "alpha": 0}, "alpha"),
    ):
        with pytest.raises(InputError, match=words):
            decide(labels, proba, **wrong)
    rule = decide(labels, proba, cost=5, by="class")
    with pytest.raises(InputError, match="4 classes"):
        rule.accept(TopLabelPrediction([7], [0.9]))


def test_risk_coverage_is_that_of_a_literal_loop():
    random = np.random.default_rng(0)
    confidence, right = np.round(random.random(200), 2), random.integers(0, 2, 200)
    curve = risk_coverage(right, ConfidencePrediction(confidence))
    for t, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        taken = confidence >= t
        assert (coverage, risk) == pytest.approx((taken.mean(), 1 - right[taken].mean()))
    # The mean over random orders of ties of the mean risk of the first i rows.
    areas = []
    for _ in range(2_000):
        order = np.lexsort((random.random(200), -confidence))
        areas.append(np.mean(np.cumsum(1 - right[order]) / np.arange(1, 201)))
    assert curve.aurc == pytest.approx(np.mean(areas), abs=4 * np.std(areas) / np.sqrt(2_000))


def test_weighted_risk_coverage_is_that_of_a_literal_loop():
    random = np.random.default_rng(6)
    confidence, weight = random.permutation(np.linspace(0.2, 0.9, 80)), random.choice([0.0, 1.0, 2.5], 80)
    right = random.random(80) < confidence
    curve = risk_coverage(right, ConfidencePrediction(confidence), sample_weight=weight)
    risks, shares = [], []
    for row in np.argsort(-confidence):
        if weight[row]:
            accepted = confidence >= confidence[row]
            risks.append(float(weight[accepted & ~right].sum() / weight[accepted].sum()))
            shares.append(float(weight[row]))
    assert curve.risk == pytest.approx(risks)
    assert curve.coverage == pytest.approx(np.cumsum(shares) / np.sum(shares))
    assert curve.aurc == pytest.approx(np.average(risks, weights=shares))
    assert risk_coverage(
        right, ConfidencePrediction(confidence), sample_weight=7 * weight
    ).aurc == pytest.approx(curve.aurc)
    tied = np.round(confidence, 1)
    orders = [random.permutation(80) for _ in range(3)]
    found = {
        round(risk_coverage(right[o], ConfidencePrediction(tied[o]), sample_weight=weight[o]).aurc, 12)
        for o in orders
    }
    assert len(found) == 1
    equal = risk_coverage(right, ConfidencePrediction(tied), sample_weight=np.full(80, 3.0))
    assert equal.aurc == risk_coverage(right, ConfidencePrediction(tied)).aurc


def test_weighted_actions_are_those_of_repeated_rows():
    random = np.random.default_rng(7)
    score, times = np.round(random.random(60), 2), random.integers(0, 4, 60)
    happened = random.random(60) < score
    again = np.repeat(np.arange(60), times)
    curve = decision_curve(happened, score, sample_weight=times)
    repeated = decision_curve(happened[again], score[again])
    assert curve.model == pytest.approx(repeated.model)
    assert curve.everyone == pytest.approx(repeated.everyone)


def test_risk_coverage_of_one_class():
    proba, labels = rows(400)
    curve = risk_coverage(labels, proba, label=2)
    chosen = proba.argmax(axis=1) == 2
    assert curve.n_samples == chosen.sum()
    assert curve.risk[-1] == pytest.approx((labels[chosen] != 2).mean())
    with pytest.raises(InputError, match=r"0\.\.3"):
        risk_coverage(labels, proba, label=4)


def test_actions_are_counted():
    # By hand: each score s stands for 1,000 rows, of which 1,000 s are events.
    score = np.repeat([0.9, 0.5, 0.1], 1_000)
    happened = np.concatenate([np.arange(1_000) < events for events in (900, 500, 100)])
    rule = decide(happened.astype(int), score, sensitivity=0.85)
    counts = rule.counts
    assert 0.1 < rule.threshold <= 0.5
    assert (counts.hits, counts.missed, counts.needless, counts.left) == (1_400, 100, 600, 900)


def test_decision_curve_counts_hits_and_needless_actions():
    random = np.random.default_rng(0)
    score = random.random(300)
    happened = random.random(300) < score
    curve = decision_curve(happened, score)
    for t, model, everyone in zip(curve.threshold, curve.model, curve.everyone, strict=True):
        acted = score >= t
        hits, needless = (acted & happened).sum(), (acted & ~happened).sum()
        assert model == pytest.approx((hits - needless * t / (1 - t)) / 300)
        assert everyone == pytest.approx(happened.mean() - (~happened).mean() * t / (1 - t))
    with pytest.raises(InputError, match="one score per row"):
        decision_curve([0, 1], [[0.5, 0.4, 0.1], [0.2, 0.7, 0.1]])
    with pytest.raises(InputError, match=r"\(0, 1\)"):
        decision_curve(happened, score, thresholds=[0.0])


def test_clusters_of_one_row_are_independent_rows():
    proba, labels = rows(700)
    alone, of_one = (decide(labels, proba, accuracy=0.9, cluster=ids) for ids in (None, np.arange(700)))
    assert of_one.thresholds == pytest.approx(alone.thresholds)
    assert of_one.effect.lower == pytest.approx(alone.effect.lower, abs=2e-3)  # Student's quantile, n = 700


@pytest.mark.parametrize("setting", [CLUSTERED[1], CLUSTERED[5]], ids=lambda setting: setting[0])
def test_accuracy_is_kept_where_rows_belong_together(setting):
    """At most 10 % of draws miss; 40 draws, so 4 + 3 standard errors of 1.9. Untold, 15 to 47 % miss."""
    assert means(clustered(*setting), 40)["missed (up to 10 %)"] <= 10 / 40


def test_few_clusters_promise_nothing():
    proba, labels = rows(700)
    few, enough = (decide(labels, proba, accuracy=0.6, cluster=np.arange(700) % g) for g in (6, 20))
    assert (few.guarantee, enough.unpromised) == (None, None)
    assert "6; about 10" in few.unpromised
    assert enough.guarantee is not None


def test_reviews_of_clusters_are_promised_less_narrowly():
    """Confidence differs between 20 clusters: the share of rows below a threshold varies as 20 numbers do."""
    random = np.random.default_rng(0)
    common, cluster = random.random(20), np.repeat(np.arange(20), 50)
    score = np.clip(common[cluster] + 0.05 * random.standard_normal(1_000), 0.0, 1.0)
    told, untold = (
        decide(np.ones(1_000), ConfidencePrediction(score), reviews=0.2, cluster=ids)
        for ids in (cluster, None)
    )
    told, untold = (float(rule.guarantee.split("at most ")[1].split()[0]) for rule in (told, untold))
    assert untold < 0.23
    assert 0.3 < told < 0.5  # 0.2 + 1.3 standard errors of 0.09


def rows_of_types(n: int, seed: int = 0) -> tuple[ConfidencePrediction, np.ndarray]:
    """Confidences that are true for invoices and 20 points too high for letters."""
    random = np.random.default_rng(seed)
    kind = random.choice(["invoice", "letter"], n, p=[0.7, 0.3])
    confidence = random.uniform(0.6, 1.0, n)
    right = random.random(n) < confidence - np.where(kind == "letter", 0.2, 0.0)
    return ConfidencePrediction(confidence, right), kind


@pytest.mark.parametrize("promise", ["overall", "each"])
def test_a_threshold_for_each_value_of_a_column(promise):
    rows, kind = rows_of_types(6000)
    rule = decide(rows, accuracy=0.9, by=kind, promise=promise)
    assert rule.groups == ("invoice", "letter")
    assert rule.thresholds[0] < 0.95
    assert rule.guarantee is not None
    if promise == "each":
        assert np.isinf(rule.thresholds[1]), "no letter is right in 90 %"
    accepted = rule.accept(rows, kind)
    assert accepted.sum() == rule.effect.n_accepted
    assert rule.evaluate(rows, groups=kind).n_wrong == rule.effect.n_wrong
    assert not rule.accept(rows, np.full(6000, "parcel")).any()
    table = rule.frame().set_index("group")
    wrong = accepted & (rows.labels == 0)
    for name in ("invoice", "letter"):
        counts = (kind == name).sum(), accepted[kind == name].sum(), wrong[kind == name].sum()
        assert tuple(table.loc[name, ["n_samples", "n_accepted", "n_wrong"]]) == counts


def test_a_rule_by_group_says_what_it_needs():
    rows, kind = rows_of_types(2000)
    rule = decide(rows, accuracy=0.8, by=kind)
    with pytest.raises(InputError, match="a value for each row"):
        rule.accept(rows)
    with pytest.raises(InputError, match="a value for each row"):
        rule.evaluate(rows)
    with pytest.raises(InputError, match="leave out groups"):
        decide(rows, accuracy=0.8).accept(rows, kind)
    with pytest.raises(InputError, match="one value per row"):
        decide(rows, accuracy=0.8, by=kind[:5])
    with pytest.raises(InputError, match="no further column"):
        decide(rows, accuracy=0.8, by="kind")
    fitted = PlattScaling().fit(rows.confidence, rows.correct)
    with pytest.raises(InputError, match="named Series"):
        rule.carried_by(fitted)
    named = decide(rows, accuracy=0.8, by=pd.Series(kind, name="type"))
    loaded = loads(dumps(named.carried_by(fitted))).rule_
    given = replace(rows, metadata=pd.DataFrame({"type": [*kind[:-1], "never seen"]}))
    np.testing.assert_array_equal(loaded.accept(given), named.accept(rows, given.metadata["type"]))
    assert not loaded.accept(given)[-1]
    with pytest.raises(InputError, match="no further column 'type'"):
        loaded.accept(replace(rows, metadata=pd.DataFrame({"other": kind})))


def test_a_promise_that_the_larger_class_keeps_says_what_happens_to_the_events():
    score = np.repeat([0.001, 0.4, 0.9], [900, 60, 40])
    y = np.concatenate([np.zeros(900, int), np.repeat([0, 1], [40, 20]), np.repeat([1, 0], [36, 4])])
    rows = BinaryPrediction(score, y, ("no", "yes"))
    rule = decide(rows, accuracy=0.9)
    assert (rule.events.n_events, rule.events.larger) == (56, pytest.approx(0.944))
    accepted = rule.accept(rows)
    assert rule.events.n_missed == np.sum(accepted & (y == 1) & (score < 0.5)) == 20
    assert rule.events.words in rule.sentence
    assert rule.events.words not in decide(rows, accuracy=0.95).sentence
    two = np.column_stack([1 - score, score])
    assert decide(Predictions(two, y), accuracy=0.9).events == rule.events
    assert (
        decide(Predictions(two[:, ::-1], 1 - y), accuracy=0.9).events is None
    )  # the second class is frequent


def test_rows_of_clusters_are_not_counted_as_what_it_takes():
    random = np.random.default_rng(0)
    score = random.uniform(0.8, 1.0, 200)
    right = (random.random(200) < score).astype(int)
    alone = decide(right, ConfidencePrediction(score), accuracy=0.95)
    together = decide(right, ConfidencePrediction(score), accuracy=0.95, cluster=np.arange(200) // 10)
    assert f"at least {alone.needed:,} rows" in alone.sentence
    assert " rows, if" not in together.sentence
    assert together.n_clusters == 20


@pytest.mark.parametrize("kind", ["vectors", "event"])
def test_groups_whose_rows_all_have_weight_0_have_no_threshold(kind):
    proba, labels = rows(1_200, seed=3, n_classes=2)
    y, scores = (labels, proba) if kind == "vectors" else (labels == 1, proba[:, 1])
    site = np.array(["a", "b", "c"])[np.arange(1_200) % 3]
    counts = site != "b"
    rule = decide(y, scores, accuracy=0.8, by=site, sample_weight=counts)
    same = decide(y[counts], scores[counts], accuracy=0.8, by=site[counts])
    assert rule.groups == same.groups == ("a", "c")
    assert repr(rule.effect) == repr(same.effect)
    np.testing.assert_array_equal(rule.thresholds, same.thresholds)
    again = rule.evaluate(y, scores, site, sample_weight=counts)
    assert again.n_samples == 800
    assert again.n_accepted == same.effect.n_accepted


def test_rows_below_every_tested_threshold_are_not_accepted():
    rule = decide([0, 0, 1, 0, 0], np.zeros(5), accuracy=0.6, by=[0, 0, 1, 1, 2], cluster=[0, 0, 1, 1, 2])
    assert rule.effect.n_accepted == 0


def test_costs_of_each_row_go_with_rows_that_count():
    labels, event, weight = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4]), np.array([1, 0, 1, 1])
    costs = np.arange(16.0).reshape(4, 2, 2) % 5
    found = choose_actions(labels, event, costs, sample_weight=weight)
    same = choose_actions(labels[weight > 0], event[weight > 0], costs[weight > 0])
    assert found.cost == same.cost


def test_few_rows_that_are_all_right_are_too_few_and_not_too_often_wrong():
    for n in (1, 5, 9):
        rule = decide(np.ones(n), ConfidencePrediction(np.full(n, 0.9)), accuracy=0.9)
        assert 22 <= rule.needed <= 60  # 0.9 ** 22 is below 0.1
